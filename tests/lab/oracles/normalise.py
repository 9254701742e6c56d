"""Trees that two tools wrote, made comparable: times, checksums over times, and ids that were drawn at random.

An independent reader of what is compared: nothing here comes from kafkactl, so that no mistake of ours can hide itself.
"""

from __future__ import annotations

import base64
import re
import struct
from pathlib import Path

from tests.lab.harness import java

_DATE = re.compile(rb"^#[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d [A-Z]{3,4} \d{4}$", re.MULTILINE)
_DIRECTORY_ID = re.compile(rb"^directory\.id=(.*)$", re.MULTILINE)
_BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")


def tree(root: Path, given_ids: set[str]) -> dict[str, tuple[str, bytes]]:
    """Return every name below `root` -> (kind and mode, normalised content)."""
    found = {}
    for path in sorted(root.rglob("*")):
        mode = f"{path.lstat().st_mode & 0o7777:04o}"
        if (path.name, mode) == ("bootstrap.checkpoint", "0600"):
            mode = "0644"  # with SCRAM credentials in it ours is for its owner alone, Kafka's for everybody
        name = str(path.relative_to(root))
        if path.is_dir():
            found[name] = (f"directory {mode}", b"")
        else:
            found[name] = (f"file {mode}", _content(path, given_ids))
    return found


def _content(path: Path, given_ids: set[str]) -> bytes:
    content = path.read_bytes()
    if path.name == "meta.properties":
        return _properties(content, given_ids)
    if path.name.endswith(".checkpoint") and len(content) > 61:
        return _checkpoint(content, _random_id(path, given_ids))
    return content


def _properties(content: bytes, given_ids: set[str]) -> bytes:
    content = _DATE.sub(b"#DATE", content)
    if (java.version_of(java.java_home()) or 0) > 17:  # JDK 18 and later sort the keys; ours has the order of 17
        content = b"\n".join(sorted(content.split(b"\n")))
    return _DIRECTORY_ID.sub(lambda found: _id_line(found, given_ids), content)


def _id_line(found: re.Match[bytes], given_ids: set[str]) -> bytes:
    text = found[1].decode()
    if text in given_ids:
        return found[0]
    assert len(base64.urlsafe_b64decode(text + "==")) == 16 and len(text) == 22, text
    return b"directory.id=RANDOM"


def _random_id(checkpoint: Path, given_ids: set[str]) -> bytes | None:
    """Return the id of the directory that a checkpoint lies in, if it was drawn at random."""
    for folder in (checkpoint.parent, checkpoint.parent.parent):
        if (folder / "meta.properties").is_file():
            found = _DIRECTORY_ID.search((folder / "meta.properties").read_bytes())
            if found and found[1].decode() not in given_ids:
                return base64.urlsafe_b64decode(found[1] + b"==")
            return None
    return None


def _checkpoint(content: bytes, random_id: bytes | None) -> bytes:
    """Return the batches without times and checksums; checksums are checked first."""
    out, position = b"", 0
    while position < len(content):
        length = struct.unpack_from(">i", content, position + 8)[0]
        out += _batch(content[position : position + 12 + length], random_id)
        position += 12 + length
    return out


def _batch(batch: bytes, random_id: bytes | None) -> bytes:
    fields = list(_BATCH_HEADER.unpack_from(batch))
    assert fields[4] == _crc32c(batch[21:]), "checksum"
    fields[4] = fields[7] = fields[8] = 0
    body = batch[_BATCH_HEADER.size :]
    if fields[5] & 0x20 and fields[0] == 0:
        body = _without_header_time(body)
    if random_id is not None:
        body = body.replace(random_id, bytes(16))
    return _BATCH_HEADER.pack(*fields) + body


def _without_header_time(body: bytes) -> bytes:
    """Leave out the time in the SnapshotHeaderRecord, the first control record: its value ends with int64 time and
    empty tags."""
    size = body[0] // 2  # zigzag, one byte: a header record is short
    end = 1 + size - 1  # before the record's (empty) headers
    return body[: end - 9] + (b"T" * 8 if any(body[end - 9 : end - 1]) else bytes(8)) + body[end - 1 :]


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
