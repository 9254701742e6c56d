"""A znode as a value, and the lines of `zk.jsonl.gz` that keep one each.

The law: what a file does not say is unknown, not wrong; a line that cannot be read costs that line alone and is told.
Data may be hidden: `<redacted>` where secrets were taken out, `<no-permission>` where the observer was not let in.
Data and ACL ids never appear in a repr, for both may hold secrets.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from kafkactl.frozen import frozen
from kafkactl.plan import Finding, Severity

MAX_LINE_BYTES: Final = 64 << 20  # ten times what any jute.maxbuffer in use lets through
_CHUNK_BYTES: Final = 1 << 16
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
    """Why the data of a znode is not known; the value is what stands in its place in a file."""

    REDACTED = "<redacted>"
    NO_PERMISSION = "<no-permission>"


@frozen
class ZnodeAcl:
    """One entry of a znode's access list. `perms`: READ 1, WRITE 2, CREATE 4, DELETE 8, ADMIN 16."""

    perms: int
    scheme: str
    id: str = field(repr=False)  # of scheme digest: a user with the hash of a password


@frozen
class Znode:
    """A znode: its data and what ZooKeeper's Stat says. Times in milliseconds since the epoch.

    `data` is None for null data (ZooKeeper tells null from empty) and where it is `hidden`. `ephemeral_owner` is the
    session of an ephemeral znode, 0 for a persistent one. `untold` names the numbers that a file leaves out: the 0 that
    stands for each is unknown.
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
    """What a saved tree holds, in the order of its lines, and what was wrong with the file."""

    znodes: tuple[Znode, ...]
    findings: tuple[Finding, ...]

    @property
    def is_whole(self) -> bool:
        """Whether a znode that is not among them was not in ZooKeeper either."""
        return not self.findings


# --- writing ------------------------------------------------------------------------------------------------------


def encode_znodes(znodes: Iterable[Znode]) -> bytes:
    """The bytes of `zk.jsonl.gz`; the same znodes always give the same bytes."""
    packer = zlib.compressobj(wbits=_GZIP_WBITS)
    return b"".join([*(packer.compress(render_znode(one).encode() + b"\n") for one in znodes), packer.flush()])


def render_znode(znode: Znode) -> str:
    """One line without its end, in ASCII."""
    line = {
        "path": znode.path,
        "data": _data_text(znode),
        **{name: None if name in znode.untold else getattr(znode, name) for name in _NUMBERS},
        "acl": [[one.perms, one.scheme, one.id] for one in znode.acl],
    }
    return json.dumps(line, separators=(",", ":"))


def _data_text(znode: Znode) -> str | None:
    if znode.hidden is not None:
        return znode.hidden.value
    return None if znode.data is None else base64.b64encode(znode.data).decode("ascii")


# --- reading ------------------------------------------------------------------------------------------------------


def decode_znodes(data: bytes, *, file: str) -> SavedZnodes:
    """Read a saved tree, gzipped or plain. Never raises for what it holds; see the findings."""
    unpacking = _Unpacking(data)
    troubles: dict[str, list[int]] = {}
    znodes = []
    for number, line in enumerate(_lines(unpacking.chunks()), start=1):
        if not line.strip():
            continue
        try:
            znodes.append(parse_znode(line))
        except ValueError as error:
            troubles.setdefault(str(error), []).append(number)
    findings = [_unreadable(file, reason, numbers) for reason, numbers in troubles.items()]
    if unpacking.trouble:
        findings.append(_cut(file, unpacking.trouble, len(znodes)))
    return SavedZnodes(znodes=tuple(znodes), findings=tuple(findings))


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
        untold=frozenset(name for name in _NUMBERS if fields.get(name) is None),
        **{name: _read_number(fields, name) for name in _NUMBERS},
    )


def _read_path(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ValueError("path is no absolute path")
    if value != "/" and (value.endswith("/") or "//" in value):
        raise ValueError("path has an empty part")
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
        raise ValueError("data is no base64") from None


def _read_number(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if value is None:
        return 0
    if type(value) is not int:
        raise ValueError(f"{name} is no whole number")
    return value


def _read_acl(value: object) -> tuple[ZnodeAcl, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError("acl is no list")
    entries = []
    for one in value:
        if not (isinstance(one, list) and [type(part) for part in one] == [int, str, str]):
            raise ValueError("an entry of acl is not [perms, scheme, id]")
        entries.append(ZnodeAcl(perms=one[0], scheme=one[1], id=one[2]))
    return tuple(entries)


class _Unpacking:
    """The bytes of a file in chunks; `trouble` says afterwards why not all of them came."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.trouble: str | None = None

    def chunks(self) -> Iterator[bytes]:
        if not self._data.startswith(_GZIP_MAGIC):
            yield self._data
            return
        rest = self._data
        while rest:
            member = zlib.decompressobj(wbits=_GZIP_WBITS)
            while rest and not member.eof:
                try:
                    yield member.decompress(rest, _CHUNK_BYTES)
                except zlib.error:
                    self.trouble = "its compressed bytes are damaged"
                    return
                rest = member.unused_data if member.eof else member.unconsumed_tail
            if not member.eof:
                yield member.flush()
                self.trouble = "it is cut off"


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends. Of a line that is too long only so much is kept that its length shows it."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for part in whole:
            yield b"".join([*parts, part])
            parts, size = [], 0
        if size <= MAX_LINE_BYTES:
            parts.append(last)
            size += len(last)
    if size:
        yield b"".join(parts)


def _unreadable(file: str, reason: str, numbers: list[int]) -> Finding:
    named = ", ".join(str(number) for number in numbers[:_LINES_NAMED])
    more = f" and {len(numbers) - _LINES_NAMED} more" if len(numbers) > _LINES_NAMED else ""
    return Finding(
        id="znode-line-unreadable",
        severity=Severity.BLOCKER,
        subject=file,
        message=f"line {named}{more}: {reason}; these znodes are missing from the tree",
        evidence={"reason": reason, "lines": numbers[:_LINES_NAMED], "count": len(numbers)},
        next_step="Save the tree again with `kafkactl migrate observe`.",
    )


def _cut(file: str, trouble: str, read: int) -> Finding:
    return Finding(
        id="saved-tree-damaged",
        severity=Severity.BLOCKER,
        subject=file,
        message=f"{trouble}; {read} znodes were read before that",
        evidence={"znodes_read": read},
        next_step="Copy the file again, or save the tree again with `kafkactl migrate observe`.",
    )
