"""Ways to damage the disks of a node, each a function of the folder that holds its directories.

Kept apart from the catalogue so that this reads as what it is: small edits of files.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafkactl.metadata.io.metadata_log import scan_metadata_log
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record

Damage = Callable[[Path], None]

METADATA = "d1/__cluster_metadata-0"
FIRST_CHECKPOINT = f"{METADATA}/00000000000000000000-0000000000.checkpoint"
SEGMENT = f"{METADATA}/00000000000000000000.log"
QUORUM_STATE = f"{METADATA}/quorum-state"
BOOTSTRAP = "d1/bootstrap.checkpoint"
OTHER_ID = "qqqqqqqqqqqqqqqqqqqqqg"


def untouched(root: Path) -> None:
    """Check that nothing is wrong."""


def steps(*damages: Damage) -> Damage:
    """Run the steps one after the other."""

    def run(root: Path) -> None:
        for damage in damages:
            damage(root)

    return run


def removed(name: str) -> Damage:
    """Return a step by which a file or folder is gone."""

    def run(root: Path) -> None:
        target = root / name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()

    return run


def holds(name: str, content: bytes | str) -> Damage:
    """Return a step by which a file has this content, whatever it had before."""

    def run(root: Path) -> None:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    return run


def folder(name: str) -> Damage:
    """Return a step by which a folder is there."""
    return lambda root: (root / name).mkdir(parents=True)


def linked(name: str, target: str) -> Damage:
    """Return a step that makes a symbolic link to another place on the node's disks, or to an absolute path."""
    return lambda root: (root / name).symlink_to(root / target)


def renamed(name: str, new: str) -> Damage:
    """Return a step by which a file has another name."""
    return lambda root: (root / name).rename(root / new) and None


def replaced(name: str, pattern: str, replacement: str) -> Damage:
    """Return a step by which a text file reads otherwise; the pattern must be in it."""

    def run(root: Path) -> None:
        target = root / name
        text, count = re.subn(pattern, replacement, target.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
        assert count == 1, (name, pattern)
        target.write_text(text, encoding="utf-8")

    return run


def property_of(directory: str, pattern: str, replacement: str) -> Damage:
    """Return a step by which a line of a directory's meta.properties reads otherwise."""
    return replaced(f"{directory}/meta.properties", pattern, replacement)


def added(name: str, content: bytes) -> Damage:
    """Append bytes to the end of a file."""
    return changed(name, lambda data: data + content)


def changed(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Return a step by which the bytes of a file are others."""

    def run(root: Path) -> None:
        target = root / name
        target.chmod(0o644)
        target.write_bytes(change(target.read_bytes()))

    return run


def cut(name: str, size: int) -> Damage:
    """Return a step by which a file ends after `size` bytes (negative: that many are missing)."""
    return changed(name, lambda data: data[:size])


def cut_in_batch(name: str, batch: int, size: int) -> Damage:
    """Return a step by which a file ends `size` bytes into one of its batches."""
    return changed(name, lambda data: data[: batches(data)[batch][0] + size])


def flipped(name: str, batch: int, offset: int) -> Damage:
    """Return a step by which one bit is wrong, `offset` bytes into a batch; bytes from 21 on are covered by its CRC."""

    def change(data: bytes) -> bytes:
        position = batches(data)[batch][0] + offset
        return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]

    return changed(name, change)


def in_snapshot(age: int, damage: Callable[[str], Damage]) -> Damage:
    """Damage to a snapshot behind the first offset: -1 is the newest, -2 the one before."""

    def run(root: Path) -> None:
        names = sorted(
            file.name for file in (root / METADATA).glob("*.checkpoint") if not file.name.startswith("0" * 20)
        )
        damage(f"{METADATA}/{names[age]}")(root)

    return run


def without_producer_snapshots(root: Path) -> None:
    """Remove the state of producers, which a clean end writes at the end offset of the log."""
    for file in (root / METADATA).glob("*.snapshot"):
        file.unlink()


def batches(data: bytes) -> list[tuple[int, int]]:
    """Return position and size of the whole batches of a file, found by their lengths alone."""
    found, position = [], 0
    while position + 12 <= len(data):
        size = 12 + struct.unpack_from(">i", data, position + 8)[0]
        if size < 61 or position + size > len(data):
            break
        found.append((position, size))
        position += size
    return found


def stored(*records: tuple[int, dict[str, Any]]) -> Damage:
    """Return a step by which the log of a node that ran once has more records at its end, each an api key and its
    fields (version 0)."""

    def run(root: Path) -> None:
        found = scan_metadata_log(str(root / "d1")).contents
        framed = [(None, encode_record(metadata_record(key), 0, data)) for key, data in records]
        batch = encode_batch(
            framed, base_offset=found.end_offset, timestamp_ms=0, partition_leader_epoch=found.last_epoch or 0
        )
        with (root / SEGMENT).open("ab") as file:
            file.write(batch)

    return run
