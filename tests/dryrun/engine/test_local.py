"""Reading a log into a state: generated logs against the answer that their generator knows, and broken ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.log_generator import LogGenerator, Shape
from bench.log_state import expected_of
from bench.make_metadata_log import write_log
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Severity
from kafkactl.dryrun.engine.local import GAP, Loaded, load
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.image.model import EMPTY
from kafkactl.metadata.replay.reference import replay
from tests.metadata.snapshots import encode_snapshot

SMALL = Shape(records=4_000, partitions=300, brokers=5, epochs=3)


@dataclass
class File:
    data: bytes
    name: str = "a file"
    kind: str = "segment"
    base_offset: int | None = 0
    epoch: int | None = None
    piece_bytes: int = 1 << 16
    opened: int = field(default=0)

    def pieces(self) -> Iterable[bytes]:
        self.opened += 1
        return (self.data[at : at + self.piece_bytes] for at in range(0, len(self.data), self.piece_bytes))


def whole(shape: Shape) -> tuple[bytes, LogGenerator]:
    generator = LogGenerator(shape)
    return b"".join(generator.batches()), generator


@pytest.mark.parametrize("seed", range(5))
def test_generated_logs_lead_where_the_generator_says(seed: int) -> None:
    data, generator = whole(Shape(records=4_000, partitions=300, brokers=3 + seed, seed=seed, elr=seed % 2 == 0))
    expected = generator.expected()
    found = load([File(data, piece_bytes=1_000 + seed)], [])
    assert expected_of(found.image) == expected.state
    assert (found.last_offset, found.records) == (expected.last_offset, expected.records)
    assert found.counts == expected.by_type
    assert found.log_bytes == expected.bytes == len(data)
    assert {finding.id for finding in found.findings} <= {"aborted-transaction"}
    assert {finding.id for finding in lint(found.image)} <= {"leaderless-partition", "live-replica-not-elected"}


def test_same_shape_gives_the_same_bytes(tmp_path: Path) -> None:
    assert whole(SMALL)[0] == whole(SMALL)[0]
    small = Shape(records=4_000, partitions=300, brokers=5, epochs=3, segment_bytes=50_000)
    expected = write_log(tmp_path / "log", small)
    files = sorted((tmp_path / "log" / "__cluster_metadata-0").glob("*.log"))
    assert len(files) > 3
    found = load([File(path.read_bytes(), base_offset=int(path.stem)) for path in files], [])
    assert expected_of(found.image) == expected.state


def cut(data: bytes, offset: int) -> int:
    """Return the position of the first batch that begins at or behind an offset."""
    at = 0
    while int.from_bytes(data[at : at + 8], "big") < offset:
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return at


def offset(data: bytes, at: int) -> int:
    """Return the offset of the batch there."""
    return int.from_bytes(data[at : at + 8], "big")


def checkpoint(data: bytes, at: int) -> tuple[File, int]:
    end = offset(data, at)
    state = load([File(data[:at])], [])
    written = encode_snapshot(
        state.image, epoch=state.last_epoch, last_contained_log_timestamp_ms=state.last_timestamp_ms, now_ms=1
    )
    return File(written, name="a checkpoint", kind="checkpoint", base_offset=end, epoch=state.last_epoch), end


def test_checkpoint_and_the_log_after_it_give_the_image_of_the_whole_log() -> None:
    data, _ = whole(SMALL)
    begin = cut(data, 2_000)
    snapshot, end = checkpoint(data, begin)
    full = load([File(data)], [])
    found = load([File(data[begin:], base_offset=end)], [snapshot])
    assert image_sha256(found.image) == image_sha256(full.image)
    assert (found.snapshot_offset, found.first_offset, found.committed_offset) == (end, end, end - 1)
    both = load([File(data)], [snapshot])
    assert image_sha256(both.image) == image_sha256(full.image)
    assert (both.snapshot_offset, both.first_offset, both.last_offset) == (end, 0, full.last_offset)
    assert (both.counts, both.records, both.log_bytes) == (full.counts, full.records, full.log_bytes)
    assert both.first_timestamp_ms == full.first_timestamp_ms
    early = load([File(data)], [snapshot], at=1_000)
    assert (early.snapshot_offset, early.last_offset) == (None, 1_000)


def test_segments_before_the_checkpoint_are_counted_and_their_damage_is_reported() -> None:
    data, _ = whole(SMALL)
    begin = cut(data, 2_000)
    snapshot, end = checkpoint(data, begin)
    found = load([File(data[:begin])], [snapshot])
    full = load([File(data[:begin])], [])
    assert (found.counts, found.leader, found.voters) == (full.counts, full.leader, full.voters)
    assert (found.last_offset, found.snapshot_offset) == (end - 1, end)
    hole, middle = cut(data, 500), cut(data, 900)
    split = load([File(data[:hole]), File(data[middle:], base_offset=900)], [snapshot])
    assert gaps(split) == [(Severity.WARNING, offset(data, hole), offset(data, middle))]
    assert image_sha256(split.image) == image_sha256(load([File(data)], []).image)
    before = load([File(data[:hole]), File(data[begin:], base_offset=end)], [snapshot])
    assert gaps(before) == [(Severity.WARNING, offset(data, hole), end)]
    assert gaps(load([File(data[begin:], base_offset=end)], [snapshot])) == []
    over = load([File(data[:hole]), File(data[cut(data, 2_500) :], base_offset=2_500)], [snapshot])
    assert {severity for severity, _, _ in gaps(over)} == {Severity.BLOCKER}
    broken = load([File(data[: hole + 70] + bytes([data[hole + 70] ^ 1]) + data[hole + 71 :])], [snapshot])
    assert "damaged-log" in ids(broken)
    assert (broken.last_offset, broken.snapshot_offset) == (end - 1, end)
    assert image_sha256(broken.image) == image_sha256(load([], [snapshot]).image)
    hurt = File(data[: hole + 70] + bytes([data[hole + 70] ^ 1]) + data[hole + 71 :])
    past = load([hurt], [snapshot], past_damage=True)
    assert image_sha256(past.image) == image_sha256(load([File(data)], []).image)


def test_nothing_behind_the_offset_asked_for_is_missed() -> None:
    data, _ = whole(SMALL)
    early = load([File(data, piece_bytes=10_000)], [], at=1_000)
    assert (early.records, ids(early)) == (1_001, set())


def test_checkpoint_is_loaded_alone() -> None:
    data, _ = whole(SMALL)
    snapshot, end = checkpoint(data, cut(data, 2_000))
    found = load([], [snapshot])
    assert (found.last_offset, found.records, found.snapshot_offset) == (end - 1, 0, end)
    assert found.image != EMPTY


def test_checkpoint_without_its_end_is_not_used() -> None:
    data, _ = whole(SMALL)
    snapshot, _ = checkpoint(data, cut(data, 2_000))
    snapshot.data = snapshot.data[:-100]
    found = load([File(data)], [snapshot])
    assert "damaged-checkpoint" in {finding.id for finding in found.findings}
    assert found.snapshot_offset is None


def test_late_log_without_checkpoint_is_refused() -> None:
    data, _ = whole(SMALL)
    begin = cut(data, 2_000)
    with pytest.raises(InputError) as caught:
        load([File(data[begin:], base_offset=2_000)], [])
    assert caught.value.id == "log-start-missing"


def ids(found: Loaded) -> set[str]:
    return {finding.id for finding in found.findings} - {"aborted-transaction"}


def gaps(found: Loaded) -> list[tuple[Severity, int, int]]:
    gap_findings = [finding for finding in found.findings if finding.id == GAP]
    return [(finding.severity, finding.evidence["expected"], finding.evidence["found"]) for finding in gap_findings]


def test_damage_ends_the_log() -> None:
    data, _ = whole(SMALL)
    begin = cut(data, 1_000)
    hurt = data[: begin + 70] + bytes([data[begin + 70] ^ 1]) + data[begin + 71 :]
    sound = load([File(data[:begin])], [])
    for segments in ([File(hurt)], [File(hurt[: cut(data, 1_500)]), File(data[cut(data, 1_500) :], base_offset=1_500)]):
        found = load(segments, [])
        assert ids(found) == {"damaged-log"}
        assert (found.last_offset, found.records) == (sound.last_offset, sound.records)
        assert image_sha256(found.image) == image_sha256(sound.image)


def test_damage_is_reported_and_read_past_on_demand() -> None:
    data, _ = whole(SMALL)
    middle = len(data) // 2
    hurt = File(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    found = load([hurt], [], past_damage=True)
    assert {"damaged-log", "offset-gap"} <= ids(found)
    assert found.last_offset == load([File(data)], []).last_offset
    assert ids(load([File(data[:-5])], [])) == {"torn-tail"}


def test_missing_segment_is_reported() -> None:
    data, _ = whole(SMALL)
    head, tail = cut(data, 1_000), cut(data, 2_000)
    base = int.from_bytes(data[tail : tail + 8], "big")
    found = load([File(data[:head]), File(data[tail:], base_offset=base)], [])
    assert "offset-gap" in ids(found)


def test_records_go_one_by_one_as_in_pieces() -> None:
    data, _ = whole(Shape(records=500, partitions=50, brokers=3))
    byte = load([File(data, piece_bytes=1)], [])
    assert image_sha256(byte.image) == image_sha256(load([File(data)], []).image)
    assert replay([]).image == EMPTY
