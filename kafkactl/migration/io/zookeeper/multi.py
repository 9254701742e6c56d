"""Many reads in one request: ZooKeeper's multiRead (since 3.6, ZOOKEEPER-1962), which kazoo does not know.

A request is a list of operations, each after a header (type, done, error), closed by a header that says done; the
answer has the same shape, with an error's code in the place of a result that is refused. Written as kazoo's own
requests are: `type`, `serialize` and `deserialize`.
"""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

GET_DATA: Final = 4
GET_CHILDREN: Final = 8
NO_NODE: Final = -101
NO_AUTH: Final = -102

_HEADER: Final = struct.Struct("!iBi")
_INT: Final = struct.Struct("!i")
_STAT: Final = struct.Struct("!qqqqiiiqiiq")
_DONE: Final = _HEADER.pack(-1, 1, -1)
_ERROR: Final = -1

# czxid, mzxid, ctime, mtime, version, cversion, aversion, ephemeralOwner, dataLength, numChildren, pzxid
Stat: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int]
Data: TypeAlias = tuple[bytes | None, Stat]
Answer: TypeAlias = Data | list[str] | int  # what GET_DATA or GET_CHILDREN gives, or the code of an error


class MultiRead:
    """Equal reads of several paths in one request."""

    type = 22

    def __init__(self, operation: int, paths: list[str]) -> None:
        self._operation = operation
        self._paths = paths
        self.answer_bytes = 0  # of the answer, after it is there

    def serialize(self) -> bytes:
        """Return the request without its header."""
        header = _HEADER.pack(self._operation, 0, -1)
        parts = []
        for path in self._paths:
            name = path.encode("utf-8")
            parts.append(header + _INT.pack(len(name)) + name + b"\0")
        return b"".join(parts) + _DONE

    def deserialize(self, data: bytes, offset: int) -> list[Answer]:
        """Return one answer for each path, in order. Raise ValueError and struct.error for an answer of another
        shape."""
        self.answer_bytes = len(data) - offset
        read = _read_data if self._operation == GET_DATA else _read_children
        answers: list[Answer] = []
        for _ in self._paths:
            kind, done, code = _HEADER.unpack_from(data, offset)
            offset += _HEADER.size
            if done or kind not in (self._operation, _ERROR):
                raise ValueError("the answer is not that of a multiRead")
            if kind == _ERROR:
                answers.append(code)
                offset += _INT.size
                continue
            answer, offset = read(data, offset)
            answers.append(answer)
        return answers


def _read_data(data: bytes, offset: int) -> tuple[Data, int]:
    (length,) = _INT.unpack_from(data, offset)
    offset += _INT.size
    value = None
    if length >= 0:
        _check_length(length, data, offset)
        value = bytes(data[offset : offset + length])
        offset += length
    return (value, _STAT.unpack_from(data, offset)), offset + _STAT.size


def _read_children(data: bytes, offset: int) -> tuple[list[str], int]:
    (count,) = _INT.unpack_from(data, offset)
    offset += _INT.size
    names = []
    for _ in range(count):
        (length,) = _INT.unpack_from(data, offset)
        offset += _INT.size
        _check_length(length, data, offset)
        names.append(str(data[offset : offset + length], "utf-8", "surrogatepass"))
        offset += length
    return names, offset


def _check_length(length: int, data: bytes, offset: int) -> None:
    """Raise ValueError for a text that would end before it begins, or after the answer."""
    if not 0 <= length <= len(data) - offset:
        raise ValueError("a length in the answer is none")
