"""Generates logs of `__remote_log_metadata` and, from its own books, what an audit must find in them.

Records are written as brokers write them: one a batch, by an idempotent producer, user partitions in turn, each in the
metadata partition that its hash says. Nothing of the fold is used here.

python -m bench.tiered_generator FOLDER --segments 1000000 --shape diverse
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.primitives import base128
from kafkactl.tiered.api.verbs import Audit
from kafkactl.tiered.partitioner import metadata_partition_of
from kafkactl.tiered.records import PartitionKey

BEGIN_MS = 1_700_000_000_000
STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
STARTED, FINISHED, DELETING, DELETED = range(4)
FINDINGS = ("orphan-copy", "superseded", "dangling-delete", "deletes-refused")
_HEAD = struct.Struct(">qiibIhiqqqhii")
_CHECKED = struct.Struct(">hiqqqhii")
_BASE = struct.Struct(">qqiqq")
_EPOCH = struct.Struct(">iqB")
_UPDATE = struct.Struct(">iq")
_SEGMENT_BYTES = 64 * 1024 * 1024
_TURN = 4  # records of a partition before the next one's


@dataclass(frozen=True)
class Group:
    """Topics that are alike: `topics` of so many `partitions`, each with `living` segments at the end, after so many
    that were copied and deleted again.

    Every `epoch_every` segments another leader takes over in the middle of a segment. Of each hundred copies so many
    fail and are retried (`retries`), and are copied once more by the next leader (`again`); of each hundred deletes
    so many are refused once. `refused` is the number of segments at the head whose delete is still being refused.
    """

    name: str
    topics: int
    partitions: int
    living: int
    deleted: int = 0
    epoch_every: int = 0
    retries: int = 0
    again: int = 0
    refusals: int = 0
    refused: int = 0
    custom_bytes: int = 0


@dataclass(frozen=True)
class Shape:
    """Groups of topics, and how many partitions the metadata topic has."""

    name: str
    groups: tuple[Group, ...]
    metadata_partitions: int = 50
    seed: int = 1


def regular(segments: int) -> Shape:
    """Return one hundred topics of ten partitions, all alike: nothing failed, nothing was deleted."""
    topics = max(1, min(100, segments // 1000))
    return Shape("regular", (Group("events", topics, 10, max(1, segments // (topics * 10))),))


def diverse(segments: int) -> Shape:
    """Return many small topics, some with long histories, one partition with a tenth of all; failed copies,
    leaders that change, refused deletes. `segments` is the number of living ones."""
    tenth = max(10, segments // 10)
    return Shape(
        "diverse",
        (
            Group("orders.eu-west-1.very-long-name", max(1, tenth // 20), 4, 5, deleted=3, epoch_every=3, retries=5),
            Group("clicks", 4, 16, max(1, 3 * tenth // 64), deleted=6 * tenth // 64, epoch_every=40,
                  retries=2, refusals=3,
                  custom_bytes=60),
            Group("one", 1, 1, tenth, deleted=tenth, epoch_every=100, again=2),
            Group("audit-log", 20, 6, max(2, 3 * tenth // 120), epoch_every=500, again=1, refused=1, custom_bytes=24),
            Group("short", 3, 50, max(1, 2 * tenth // 150), deleted=tenth // 150, retries=10,
                  refusals=20, epoch_every=7),
        ),
    )  # fmt: skip


def deleting(segments: int) -> Shape:
    """Return a ledger: of `segments` that were ever copied 99 % are deleted."""
    return Shape("deleting", (Group("events", 40, 10, segments // 40_000, deleted=99 * segments // 40_000),))


def few(segments: int) -> Shape:
    """Return one partition with all segments."""
    return Shape("one partition", (Group("one", 1, 1, segments, epoch_every=1000),), metadata_partitions=5)


def many(segments: int) -> Shape:
    """Return one topic of 10,000 partitions."""
    return Shape("10,000 partitions", (Group("wide", 1, 10_000, max(1, segments // 10_000)),))


SHAPES = {"regular": regular, "diverse": diverse, "deleting": deleting, "few": few, "many": many}


@dataclass
class Expected:
    """Expected result of an audit: sums, a digest of what is reported for each partition, and segments by finding."""

    records: int = 0
    bytes: int = 0
    segments: int = 0
    partitions: int = 0
    living_bytes: int = 0
    by_state: dict[str, int] = field(default_factory=dict)
    status: str = ""
    found: dict[str, int] = field(default_factory=dict)


class Partition:
    """The history of one user partition, with its books."""

    def __init__(self, group: Group, topic: str, topic_id: bytes, number: int, random_of: random.Random) -> None:
        self.topic, self.topic_id, self.number = topic, topic_id, number
        self.by_state: Counter[int] = Counter()
        self.highest: dict[int, int] = {}
        self.copied_bytes = 0
        self.found: Counter[str] = Counter()
        self.readable: list[tuple[int, int]] = []
        self._group = group
        self._random = random_of
        name = topic.encode()
        self._place = base128(len(name) + 1) + name + topic_id + number.to_bytes(4, "big") + b"\0"
        self._ids = 0

    def values(self) -> Iterator[tuple[bytes, int]]:
        """Yield values of records with their times."""
        group, chance = self._group, self._random.randrange
        living: list[tuple[bytes, int, int, int]] = []
        total = group.living + group.deleted
        epoch = start = 0
        copied: list[tuple[tuple[int, int], ...]] = []
        now = BEGIN_MS + self.number
        for at in range(total):
            now += 60_000
            length = 900 + chance(200)
            end = start + length
            epochs: tuple[tuple[int, int], ...] = ((epoch, start),)
            if group.epoch_every and at and at % group.epoch_every == 0:
                epochs = ((epoch, start), (epoch + 1, start + length // 2))
                epoch += 1
            copied = [*copied[-1:], epochs]
            if chance(100) < group.retries:
                orphan = self._new_id()
                yield self._started(orphan, (start, end), epochs, now), now
                yield self._update(orphan, DELETING, now), now
                yield self._update(orphan, DELETED, now), now
            size = length * 1000 + chance(1000)
            made = self._new_id()
            yield self._started(made, (start, end), epochs, now, size), now
            yield self._update(made, FINISHED, now + 500), now
            living.append((made, start, end, size))
            if chance(100) < group.again:
                # The next leader copies the range once more: the copy before it is listed, and not mapped any more.
                self.by_state[FINISHED] += 1
                self.copied_bytes += size
                self.found["superseded"] += 1
                epoch += 1
                end += 500
                epochs = (*epochs, (epoch, end - 500 + 1))
                made = self._new_id()
                yield self._started(made, (start, end), epochs, now, size), now
                yield self._update(made, FINISHED, now + 500), now
                living[-1] = made, start, end, size
            for place, (in_epoch, _) in enumerate(epochs):
                last = epochs[place + 1][1] - 1 if place + 1 < len(epochs) else end
                self.highest[in_epoch] = max(self.highest.get(in_epoch, -1), last)
            start = end + 1
            if len(living) > group.living:
                gone = living.pop(0)[0]
                for _ in range(2 if chance(100) < group.refusals else 1):
                    yield self._update(gone, DELETING, now), now
                yield self._update(gone, DELETED, now), now
        for segment, *_ in living[: group.refused]:
            for _ in range(3):
                yield self._update(segment, DELETING, now), now
            self.by_state[DELETING] += 1
            self.found["dangling-delete"] += 1
            self.found["deletes-refused"] += 1
        self._end(living[group.refused :])

    def _end(self, living: list[tuple[bytes, int, int, int]]) -> None:
        self.by_state[FINISHED] += len(living)
        self.copied_bytes += sum(size for *_, size in living)
        self.readable = [(start, end) for _, start, end, _ in living]

    def status(self) -> tuple[Any, ...]:
        """Return what an audit must say about it."""
        return (
            self.topic,
            self.number,
            sum(self.by_state.values()),
            sorted((STATES[state], count) for state, count in self.by_state.items() if count),
            self.copied_bytes,
            min((start for start, _ in self.readable), default=None),
            max((end for _, end in self.readable), default=None),
            sorted(self.highest.items()),
        )

    def _new_id(self) -> bytes:
        self._ids += 1
        return self._random.randbytes(16)

    def _started(
        self, segment: bytes, offsets: tuple[int, int], epochs: tuple[tuple[int, int], ...], now: int, size: int = 1
    ) -> bytes:
        parts = [b"\1\0\0", self._place, segment, b"\0", _BASE.pack(*offsets, 1, now, now), base128(len(epochs) + 1)]
        parts += [_EPOCH.pack(epoch, first, 0) for epoch, first in epochs]
        parts += [size.to_bytes(4, "big"), b"\0", bytes([STARTED]), b"\1\0\1\1"]
        return b"".join(parts)

    def _update(self, segment: bytes, state: int, now: int) -> bytes:
        custom = b"\0"
        if state == FINISHED and self._group.custom_bytes:
            custom = base128(self._group.custom_bytes + 1) + bytes(self._group.custom_bytes)
        return b"".join((b"\1\1\0", self._place, segment, b"\0", _UPDATE.pack(1, now), custom, bytes([state]), b"\0"))


def batch_of(value: bytes, offset: int, time_ms: int, sequence: int) -> bytes:
    """Return a batch with one record, as a broker's producer makes it."""
    content = b"\0\0\0\1" + base128(len(value) << 1) + value + b"\0"
    body = base128(len(content) << 1) + content
    checked = _CHECKED.pack(0, 0, time_ms, time_ms, 4000, 0, sequence & 0x7FFFFFFF, 1) + body
    return (
        _HEAD.pack(offset, 9 + len(checked), 0, 2, crc32c(checked), 0, 0, time_ms, time_ms, 4000, 0,
                   sequence & 0x7FFFFFFF, 1)[:21] + checked
    )  # fmt: skip


def _partitions(shape: Shape) -> list[Partition]:
    random_of = random.Random(shape.seed)
    made = []
    for group in shape.groups:
        for number in range(group.topics):
            topic, topic_id = f"{group.name}-{number}", random_of.randbytes(16)
            made += [Partition(group, topic, topic_id, at, random_of) for at in range(group.partitions)]
    return made


class _Log:
    """Metadata partition on its way to a disk."""

    def __init__(self, folder: Path) -> None:
        self.offset = self.bytes = self.size = 0
        self._folder = folder
        self._parts: list[bytes] = []
        self._file: Path | None = None
        folder.mkdir(parents=True)

    def add(self, value: bytes, time_ms: int) -> None:
        batch = batch_of(value, self.offset, time_ms, self.offset)
        if self._file is None or self.size + len(batch) > _SEGMENT_BYTES:
            self.flush()
            self._file, self.size = self._folder / f"{self.offset:020}.log", 0
        self.offset += 1
        self.size += len(batch)
        self.bytes += len(batch)
        self._parts.append(batch)
        if len(self._parts) >= 2000:
            self.flush()

    def flush(self) -> None:
        if self._file is not None and self._parts:
            with self._file.open("ab") as file:
                file.write(b"".join(self._parts))
        self._parts = []


def write_logs(folder: Path, shape: Shape) -> Expected:
    """Write the metadata partitions into FOLDER as a broker has them, and FOLDER/expected.json."""
    logs = [_Log(folder / f"__remote_log_metadata-{at}") for at in range(shape.metadata_partitions)]
    partitions = _partitions(shape)
    pending = [
        (logs[metadata_partition_of(PartitionKey(partition.topic_id, partition.number), len(logs))], partition.values())
        for partition in partitions
    ]
    while pending:  # in turn, some records of each
        going = []
        for log, values in pending:
            taken = list(islice(values, _TURN))
            for value, time_ms in taken:
                log.add(value, time_ms)
            if len(taken) == _TURN:
                going.append((log, values))
        pending = going
    for log in logs:
        log.flush()
    expected = _expected(partitions, logs)
    (folder / "expected.json").write_text(json.dumps(asdict(expected), indent=1) + "\n")
    return expected


def _expected(partitions: list[Partition], logs: list[_Log]) -> Expected:
    states: Counter[int] = Counter()
    found: Counter[str] = Counter()
    for partition in partitions:
        states.update(partition.by_state)
        found.update(partition.found)
    return Expected(
        records=sum(log.offset for log in logs),
        bytes=sum(log.bytes for log in logs),
        segments=sum(states.values()),
        partitions=len(partitions),
        living_bytes=sum(partition.copied_bytes for partition in partitions),
        by_state={STATES[state]: states[state] for state in sorted(states) if states[state]},
        status=digest_of(partition.status() for partition in partitions),
        found={id: found[id] for id in FINDINGS if found[id]},
    )


def digest_of(rows: Iterator[tuple[Any, ...]]) -> str:
    """Return a digest of what is reported for each partition, by name and number."""
    digest = hashlib.sha256()
    for row in sorted(rows, key=lambda row: row[:2]):
        digest.update(repr(row).encode())
    return digest.hexdigest()


def found_by(answer: Audit) -> Expected:
    """Return an audit's answer in the form of what is expected; `bytes` is not in it."""
    totals = answer.totals
    found: Counter[str] = Counter()
    for finding in answer.findings:
        found[finding.id] += finding.evidence.get("segments_total", 1)
    rows = (
        (
            row.topic, row.partition, row.segments, sorted(row.by_state.items()), row.bytes,
            row.remote_start_offset, row.remote_end_offset,
            sorted((held.leader_epoch, held.highest_offset) for held in row.highest_offsets),
        )
        for row in answer.partitions
    )  # fmt: skip
    return Expected(
        records=totals.records,
        bytes=0,
        segments=totals.segments,
        partitions=totals.partitions,
        living_bytes=totals.bytes,
        by_state=dict(totals.by_state),
        status=digest_of(rows),
        found={id: found[id] for id in found if found[id]},
    )


def main() -> None:
    """Write logs as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--shape", choices=SHAPES, default="regular")
    asked = parser.parse_args()
    expected = write_logs(asked.folder, SHAPES[asked.shape](asked.segments))
    print(json.dumps(asdict(expected), indent=1))


if __name__ == "__main__":
    main()
