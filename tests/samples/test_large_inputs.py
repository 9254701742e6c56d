"""Files near 64 MiB, sound and hostile: read or refused in memory that is bounded.

What is read in pieces takes at most 64 MiB whatever the size of the file; what is held whole takes at most so many
bytes for each byte of it. Each file is read in a process of its own, whose address space is limited to that.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from kafkactl.change.journal_lines import Entry, JournalText, entry_line, new_entry, read_journal
from kafkactl.core.errors import DecodeError, InputError, RefusedError
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.metadata.log.scan import Contents, FoundBatch, walk_batches
from kafkactl.migration.zktree.znode import decode_znodes, encode_znodes
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.tiered.io.listing import read_listing
from tests.campaigns.fuzz.target import MOST_MEMORY_BYTES, execute
from tests.metadata.goldens import GOLDEN
from tests.migration.zk_trees import small, znodes
from tests.repository.tree import ROOT
from tests.samples.hostile_inputs import MIGRATION, chained

DECLARED = (DecodeError, InputError, RefusedError)
_PIECE_BYTES = 1 << 16


@dataclass(frozen=True)
class Large:
    """A reader of files, the bytes of memory that a byte of the file may take, and what files are filled with."""

    read: Callable[[Path], object]
    times: int
    fillings: dict[str, Callable[[int], bytes]]


def _walk(path: Path) -> object:
    contents, size = Contents(), path.stat().st_size
    for found in walk_batches(_pieces(path), size, file="f"):
        if isinstance(found, FoundBatch):
            contents.add(found, file="f")
    return contents.batches


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(_PIECE_BYTES), b"")


def _repeated(content: bytes) -> Callable[[int], bytes]:
    return lambda size: content * (size // len(content))


def _one_batch(size: int) -> bytes:
    """Return a batch that says that it goes on to the end of the file."""
    head = encode_batch([(None, b"x" * 100)], base_offset=0, timestamp_ms=1)
    return head[:8] + (size - 12).to_bytes(4, "big") + head[12:] + b"\1" * (size - len(head))


def _packed(content: bytes) -> bytes:
    pack = zlib.compressobj(6, wbits=31)
    return pack.compress(content) + pack.flush()


def _journal(size: int) -> bytes:
    """Return a sound one of many entries."""
    entries: list[Entry] = []
    text = JournalText(entries=cast("tuple[Entry, ...]", entries))  # grows with the list, for a copy each takes hours
    for kind, content in (MIGRATION[0], MIGRATION[1]):
        entries.append(new_entry(text, kind, content, at_ms=1))
    length = len(entry_line(entries[-1]))
    while len(entries) * length < size:
        entries.append(new_entry(text, *MIGRATION[1], at_ms=1))
    return b"".join(map(entry_line, entries[: size // length]))


def _tree(size: int) -> bytes:
    """Return znodes whose data does not get smaller when it is packed; base64 makes it a third larger before."""
    rng = random.Random(1)
    data = {f"/config/clients/c{number}": rng.randbytes(100_000) for number in range(size // 102_000)}
    return encode_znodes(znodes({**small(), **data}, "/kafka"))


_BATCH = encode_batch([(None, b"\1\x14\0\0")] * 50, base_offset=0, timestamp_ms=1)
_CHECKPOINT = (GOLDEN / "snapshot-4.4.0-standalone.checkpoint.bin").read_bytes()
_DEEP = {"brackets": lambda size: b"[" * size, "objects": lambda size: b'{"a":' * (size // 5)}
_LINE = json.dumps({"Key": "orders-0/1.log", "Size": 7, "LastModified": "2026-01-01T00:00:00Z"}).encode() + b"\n"
READERS = {
    "segment": Large(
        _walk,
        0, {"batches": _repeated(_BATCH), "one batch": _one_batch, "zeros": bytes, "noise": _repeated(b"\2\0\xff")},
    ),
    "checkpoint": Large(
        lambda path: decode_checkpoint(path.read_bytes()),
        24, {"one": _repeated(_CHECKPOINT), "one batch": _one_batch, "zeros": bytes},
    ),
    "journal": Large(
        lambda path: read_journal(path.read_bytes(), file="f", subject="migration", cluster_id="c").entries,
        12, {"lines": _journal, "edited": _repeated(chained(MIGRATION)), "zeros": bytes, **_DEEP},
    ),
    "saved tree": Large(
        lambda path: decode_znodes(path.read_bytes(), file="f"),
        16, {"tree": _tree, "zeros": bytes, "packed zeros": lambda size: _packed(bytes(size)),
             "brackets": lambda size: _packed(b"[" * size)},
    ),
    "listing": Large(
        lambda path: len(read_listing(str(path)).objects),
        16, {"lines": _repeated(_LINE), "zeros": bytes, **_DEEP},
    ),
}  # fmt: skip
CASES = [(name, filling) for name, reader in READERS.items() for filling in reader.fillings]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "filling"), CASES)
def test_file_of_some_megabytes_is_bounded(name: str, filling: str, tmp_path: Path) -> None:
    check_bounded(name, filling, 4 << 20, tmp_path)


def check_bounded(name: str, filling: str, size: int, folder: Path) -> None:
    file = folder / "input"
    file.write_bytes(READERS[name].fillings[filling](size))
    words = [sys.executable, "-m", "tests.samples.test_large_inputs", name, str(file)]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]


def main(name: str, path: str) -> None:
    """Read one file with limited memory. What is loaded once is loaded before, by reading a file that is empty."""
    reader, file = READERS[name], Path(path)
    empty = file.with_name("empty")
    empty.write_bytes(b"")
    execute(lambda _: reader.read(empty), DECLARED, b"")
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = now + MOST_MEMORY_BYTES + reader.times * file.stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(execute(lambda _: reader.read(file), DECLARED, b""))


if __name__ == "__main__":
    main(*sys.argv[1:])
