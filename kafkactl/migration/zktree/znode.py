"""A znode as a value, and the lines of `zk.jsonl.gz` that keep one each.

Invariant: what a file does not say is unknown, not wrong; a line that cannot be read is reported, and only it is lost.
Data may be hidden: `<redacted>` where secrets were taken out, `<no-permission>` if the observer was not let in.
Data and ACL ids never appear in a repr, for both may hold secrets.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import first_few

# A cluster of 200,000 partitions has 450,000 znodes: two a partition and some a topic.
MOST_ZNODES: Final = 2_000_000
MOST_UNPACKED_BYTES: Final = 1 << 30
MAX_LINE_BYTES: Final = 8 << 20  # above what any jute.maxbuffer in use lets through
# What a file may become is bounded by its size, too. A znode takes 15 to 35 bytes of the file of a real tree, and 5.4
# if all partitions were made at one moment, which is 72 times as large unpacked. `migrate observe` leaves out the
# parent of every partition's state, so that one line means two znodes.
_BYTES_A_ZNODE: Final = 2
_ALWAYS_ZNODES: Final = 10_000
_TIMES_UNPACKED: Final = 128
_ALWAYS_UNPACKED_BYTES: Final = 16 << 20
_MOST_PATH_BYTES: Final = 64 << 10
_MOST_LEVELS: Final = 100  # of a path: Kafka's own have 7
_CHUNK_BYTES: Final = 1 << 16
_NAMES_AT_MOST: Final = 10_000  # different ACLs, and sets of names, that are kept to be shared
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WBITS: Final = 31  # zlib's word for "with a gzip header"
_LINES_NAMED: Final = 5  # of all lines that are wrong in the same way
_NUMBERS: Final = (
    "version",
    "cversion",
    "czxid",
    "mzxid",
    "pzxid",
    "ctime_ms",
    "mtime_ms",
    "ephemeral_owner",
    "num_children",
)


class Hidden(StrEnum):
    """Reason why the data of a znode is not known; the value is what replaces it in a file."""

    REDACTED = "<redacted>"
    NO_PERMISSION = "<no-permission>"


@frozen
class ZnodeAcl:
    """An entry of a znode's access list. `perms`: READ 1, WRITE 2, CREATE 4, DELETE 8, ADMIN 16."""

    perms: int
    scheme: str
    id: str = field(repr=False)  # of scheme digest: a user with the hash of a password


@frozen
class Znode:
    """A znode: its data and what ZooKeeper's Stat says. Times in milliseconds since the epoch.

    `data` is None for null data (which is not empty data) and if it is `hidden`. `ephemeral_owner` is the
    session of an ephemeral znode, 0 for a persistent one. `untold` names the numbers that a file leaves out: the 0 that
    each means is unknown.
    """

    path: str
    data: bytes | None = field(repr=False)
    version: int = 0
    cversion: int = 0
    czxid: int = 0
    mzxid: int = 0
    pzxid: int = 0
    ctime_ms: int = 0
    mtime_ms: int = 0
    ephemeral_owner: int = 0
    num_children: int = 0
    acl: tuple[ZnodeAcl, ...] = ()
    hidden: Hidden | None = None
    untold: frozenset[str] = frozenset()


@frozen
class SavedZnodes:
    """Content of a saved tree, in the order of its lines, and the errors of the file."""

    znodes: tuple[Znode, ...]
    findings: tuple[Finding, ...]

    @property
    def is_whole(self) -> bool:
        """Return True if a znode that is not among them was not in ZooKeeper either."""
        return not self.findings


def encode_znodes(znodes: Iterable[Znode]) -> bytes:
    """Return the bytes of `zk.jsonl.gz`; the same znodes always give the same bytes."""
    packer = zlib.compressobj(wbits=_GZIP_WBITS)
    return b"".join([*(packer.compress(render_znode(znode).encode() + b"\n") for znode in znodes), packer.flush()])


def render_znode(znode: Znode) -> str:
    """Return one line without its end, in ASCII."""
    line = {
        "path": znode.path,
        "data": _data_text(znode),
        **{name: None if name in znode.untold else getattr(znode, name) for name in _NUMBERS},
        "acl": [[acl.perms, acl.scheme, acl.id] for acl in znode.acl],
    }
    return json.dumps(line, separators=(",", ":"))


def _data_text(znode: Znode) -> str | None:
    if znode.hidden is not None:
        return znode.hidden.value
    return None if znode.data is None else base64.b64encode(znode.data).decode("ascii")


def decode_znodes(data: bytes, *, file: str) -> SavedZnodes:
    """Read a saved tree, gzipped or plain; for what cannot be read of it see the findings.

    Raises InputError `saved-tree-too-large` if it holds more than a file of its size may.
    """
    unpacking = _Unpacking(data, file)
    most = min(MOST_ZNODES, max(_ALWAYS_ZNODES, len(data) // _BYTES_A_ZNODE))
    unreadable: dict[str, _Unreadable] = {}
    znodes: list[Znode] = []
    folders: set[str] = {"", "/"}
    left = most
    for number, line in _lines(unpacking.chunks()):
        left -= 1
        try:
            znode = parse_znode(line)
        except ValueError as error:
            unreadable.setdefault(str(error), _Unreadable()).add(number)
        else:
            left -= _add_parents(znode.path, folders)
            znodes.append(znode)
        if left < 0:
            raise _too_large(file, f"more than {most} znodes, lines and folders", len(data))
    findings = [_unreadable(file, reason, fault) for reason, fault in unreadable.items()]
    if unpacking.fault:
        findings.append(_cut(file, unpacking.fault, len(znodes)))
    return SavedZnodes(znodes=tuple(znodes), findings=tuple(findings))


def _add_parents(path: str, folders: set[str]) -> int:
    """Add the parents of a path to the folders of the tree, and return how many of them are new.

    >>> _add_parents("/brokers/topics/t/partitions/0/state", folders := {"", "/", "/brokers", "/brokers/topics"})
    3
    >>> _add_parents("/brokers/topics/t/partitions/1/state", folders)
    1
    """
    before = len(folders)
    while (path := path.rpartition("/")[0]) not in folders:
        folders.add(path)
    return len(folders) - before


def _too_large(file: str, what: str, size: int) -> InputError:
    return InputError(
        f"the saved tree {file} has {size} bytes and holds {what}, which is the limit for a file of its size",
        id="saved-tree-too-large",
    )


class _Unreadable:
    """Lines that are wrong in the same way: how many, and the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self.lines: list[int] = []

    def add(self, number: int) -> None:
        self.count += 1
        if len(self.lines) < _LINES_NAMED:
            self.lines.append(number)


def parse_znode(line: bytes) -> Znode:
    """Read one line. Raises ValueError with a reason that repeats nothing of the data."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"longer than {MAX_LINE_BYTES} bytes")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("no JSON object")
    data, hidden = _read_data(fields.get("data"))
    return Znode(
        path=_read_path(fields.get("path")),
        data=data,
        hidden=hidden,
        acl=_read_acl(fields.get("acl")),
        untold=_names(tuple(name for name in _NUMBERS if fields.get(name) is None)),
        **{name: _read_number(fields, name) for name in _NUMBERS},
    )


@functools.lru_cache(maxsize=_NAMES_AT_MOST)
def _names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names)


def _read_path(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ValueError("path is not an absolute path")
    if value != "/" and (value.endswith("/") or "//" in value):
        raise ValueError("path has an empty part")
    if len(value) > _MOST_PATH_BYTES or value.count("/") > _MOST_LEVELS:
        raise ValueError(f"path is longer than {_MOST_PATH_BYTES} characters, or deeper than {_MOST_LEVELS} levels")
    return value


def _read_data(value: object) -> tuple[bytes | None, Hidden | None]:
    if value is None:
        return None, None
    if not isinstance(value, str):
        raise ValueError("data is neither base64 nor null")
    if value in Hidden.__members__.values():
        return None, Hidden(value)
    try:
        return base64.b64decode(value.encode("ascii"), validate=True), None
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("data is not base64") from None


def _read_number(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if value is None:
        return 0
    if type(value) is not int:
        raise ValueError(f"{name} is not a whole number")
    return value


def _read_acl(value: object) -> tuple[ZnodeAcl, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError("acl is not a list")
    entries = []
    for entry in value:
        if not (isinstance(entry, list) and [type(part) for part in entry] == [int, str, str]):
            raise ValueError("an entry of acl is not [perms, scheme, id]")
        entries.append((entry[0], entry[1], entry[2]))
    return _acl(tuple(entries))


@functools.lru_cache(maxsize=_NAMES_AT_MOST)
def _acl(entries: tuple[tuple[int, str, str], ...]) -> tuple[ZnodeAcl, ...]:
    """Return the ACL of these entries, cached: nearly all znodes have one of a few."""
    return tuple(ZnodeAcl(perms=perms, scheme=scheme, id=id) for perms, scheme, id in entries)


class _Unpacking:
    """The bytes of a file in chunks; `fault` says afterwards why not all of them came."""

    def __init__(self, data: bytes, file: str) -> None:
        self._data = data
        self._file = file
        self.fault: str | None = None

    def chunks(self) -> Iterator[bytes]:
        """Yield the chunks. Raise InputError `saved-tree-too-large`."""
        if not self._data.startswith(_GZIP_MAGIC):
            for at in range(0, len(self._data), _CHUNK_BYTES):
                yield self._data[at : at + _CHUNK_BYTES]
            return
        most = min(MOST_UNPACKED_BYTES, max(_ALWAYS_UNPACKED_BYTES, _TIMES_UNPACKED * len(self._data)))
        left = most
        for chunk in self._unpacked():
            left -= len(chunk)
            if left < 0:
                raise _too_large(self._file, f"more than {most} bytes when unpacked", len(self._data))
            yield chunk

    def _unpacked(self) -> Iterator[bytes]:
        at, data = 0, self._data
        while at < len(data):
            member, fed = zlib.decompressobj(wbits=_GZIP_WBITS), b""
            while not member.eof and (fed or at < len(data)):
                if not fed:
                    fed = data[at : at + _CHUNK_BYTES]
                    at += len(fed)
                try:
                    yield member.decompress(fed, _CHUNK_BYTES)
                except zlib.error:
                    self.fault = "its compressed bytes are damaged"
                    return
                fed = member.unconsumed_tail
            at -= len(member.unused_data)
            if not member.eof:
                yield member.flush()
                self.fault = "it is cut off"


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank with their numbers, without their ends.

    Of a line that is too long only so much is kept that its length shows it.
    """
    parts: list[bytes] = []
    size, number = 0, 1
    for chunk in chunks:
        if not parts and (not chunk or chunk.isspace()):
            number += chunk.count(b"\n")
            continue
        *whole, last = chunk.split(b"\n")
        for part in whole:
            line = b"".join([*parts, part]) if parts else part
            if line and not line.isspace():
                yield number, line
            parts, size = [], 0
            number += 1
        if last and size <= MAX_LINE_BYTES:
            parts.append(last)
            size += len(last)
    line = b"".join(parts)
    if line and not line.isspace():
        yield number, line


def _unreadable(file: str, reason: str, fault: _Unreadable) -> Finding:
    named = first_few([str(line) for line in fault.lines], _LINES_NAMED, count=fault.count)
    return Finding(
        id="znode-line-unreadable",
        severity=Severity.BLOCKER,
        subject=file,
        message=f"line {named}: {reason}; these znodes are missing from the tree",
        evidence={"reason": reason, "lines": fault.lines, "count": fault.count},
    )


def _cut(file: str, fault: str, read: int) -> Finding:
    return Finding(
        id="saved-tree-damaged",
        severity=Severity.BLOCKER,
        subject=file,
        message=f"{fault}; {read} znodes were read before that",
        evidence={"znodes_read": read},
    )
