"""`kafkactl log verify`: what is wrong with a log, and which node went its own way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import decode_batches, encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.metadata.goldens import golden

HOSTILE_LINES = {"log verify": ("{log}", "--bundle {bundle}", "--bundle {text}")}

SEGMENT = golden("segment-4.4.0-standalone.log.bin")
SNAPSHOT = golden("snapshot-4.4.0-standalone.checkpoint.bin")
FIRST = "00000000000000000000.log"
STARTS = [found.header.position for found in decode_batches(SEGMENT)]


def noops(base_offset: int, epoch: int = 1, count: int = 1, timestamp_ms: int = 5) -> bytes:
    value = encode_record(message("NoOpRecord"), 0, {})
    return encode_batch(
        [(None, value)] * count, base_offset=base_offset, timestamp_ms=timestamp_ms, partition_leader_epoch=epoch
    )


@pytest.fixture
def node(tmp_path: Path):
    """Make the folder of a node: files by name, cluster id."""

    def make(name: str, files: dict[str, bytes], cluster_id: str = "abc", node_id: int = 1) -> Path:
        log = tmp_path / name / "__cluster_metadata-0"
        log.mkdir(parents=True)
        (log.parent / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n")
        for file, data in files.items():
            (log / file).write_bytes(data)
        return log

    return make


def verified(kafkactl, *paths: object) -> tuple[int, dict, dict[str, str]]:
    run = kafkactl("log", "verify", *paths, "-o", "json")
    answer = run.json
    return run.code, answer, {finding["id"]: finding["severity"] for finding in answer["findings"]}


def test_sound_log_is_verified(kafkactl, node):
    log = node("a", {FIRST: SEGMENT, "00000000000000000025-0000000001.checkpoint": SNAPSHOT})
    code, answer, found = verified(kafkactl, log)
    assert (code, found) == (0, {})
    (source,) = answer["sources"]
    assert source["cluster_id"] == "abc"
    assert (source["first_offset"], source["end_offset"], source["records"]) == (0, 30, 27)
    assert source["newest_snapshot"] == {"offset": 25, "epoch": 1}
    assert "sound" in kafkactl("log", "verify", log.parent).stdout


def test_log_is_not_compared_with_itself(kafkactl, node, tmp_path: Path):
    log = node("a", {FIRST: SEGMENT})
    (tmp_path / "link").symlink_to(log.parent)
    code, answer, found = verified(kafkactl, log, log, f"{log}/", log.parent, tmp_path / "link")
    assert (code, [source["path"] for source in answer["sources"]]) == (0, [str(log)])
    assert found == {"named-twice": "info"}
    assert f"{log} and {log}/ and {log.parent} and {tmp_path}/link are one log" in answer["findings"][0]["message"]
    _, _, found = verified(kafkactl, log, log)
    assert found == {}
    assert (answer["ranking"], answer["reference"]) == ([], None)


def test_torn_tail_and_zeros_are_not_a_problem(kafkactl, node):
    code, answer, found = verified(kafkactl, node("torn", {FIRST: SEGMENT[:-3]}))
    assert (code, found) == (0, {"torn-tail": "warning"})
    assert answer["sources"][0]["would_cut"]["position"] == STARTS[-1]
    code, _, found = verified(kafkactl, node("zeros", {FIRST: SEGMENT + bytes(500)}))
    assert (code, found) == (0, {"metadata-log-zero-tail": "info"})


def test_zeros_stand_for_records_that_another_log_has(kafkactl, node):
    # If the file was not extended by Kafka but by a power failure (4.3.1: a broker had 4 records more).
    whole, zeros = node("whole", {FIRST: SEGMENT}), node("zeros", {FIRST: SEGMENT[: STARTS[-3]] + bytes(500)})
    code, answer, found = verified(kafkactl, zeros, whole)
    assert (code, found) == (0, {"metadata-log-zero-tail": "info", "damaged-log-ranked": "warning"})
    (ranked,) = [finding for finding in answer["findings"] if finding["id"] == "damaged-log-ranked"]
    assert (ranked["subject"], ranked["evidence"]["best"]) == (f"log {zeros}", str(whole))
    assert ranked["evidence"]["offset"] < ranked["evidence"]["best_offset"] == 30
    assert verified(kafkactl, node("ahead", {FIRST: SEGMENT + bytes(500)}), whole)[2] == {
        "metadata-log-zero-tail": "info"
    }


def test_damage_in_the_middle_is_reported(kafkactl, node):
    hurt = bytearray(SEGMENT)
    hurt[STARTS[5] + 70] ^= 1
    log = node("hurt", {FIRST: bytes(hurt), "00000000000000000030.log": noops(30)})
    code, answer, found = verified(kafkactl, log)
    assert (code, found) == (7, {"metadata-log-damaged": "blocker"})
    cut = answer["sources"][0]["would_cut"]
    assert cut["position"] == STARTS[5]
    assert cut["segments_dropped"] == ["00000000000000000030.log"]
    assert cut["readable_batches"] == len(STARTS) - 6 + 1
    assert "bytes from offset" in kafkactl("log", "verify", log).stdout


def test_as_lines_the_findings_are_not_lost(kafkactl, node):
    log = node("gap", {FIRST: SEGMENT, "00000000000000000040.log": noops(40)})
    run = kafkactl("log", "verify", log, "-o", "jsonl")
    assert (run.code, json.loads(run.stdout)["path"]) == (7, str(log))
    assert [json.loads(line)["id"] for line in run.stderr.splitlines()] == ["metadata-log-gap"]


def test_leader_epoch_regression_is_reported(kafkactl, node):
    log = node("epoch", {FIRST: noops(0, 3) + noops(1, 2) + noops(2, 3) + noops(3, 1)})
    code, answer, found = verified(kafkactl, log)
    assert (code, found) == (7, {"leader-epoch-regression": "blocker"})
    (reported,) = answer["findings"]
    assert reported["evidence"] == {"offset": 1, "epoch": 2, "epoch_before": 3}
    assert "1 more like it" in reported["message"]
    assert verified(kafkactl, node("rising", {FIRST: noops(0, 1) + noops(1, 2)}))[::2] == (0, {})


def test_missing_offsets_are_reported(kafkactl, node):
    log = node("gap", {FIRST: SEGMENT, "00000000000000000040.log": noops(40)})
    assert verified(kafkactl, log)[::2] == (7, {"metadata-log-gap": "blocker"})
    (log / "00000000000000000041-0000000001.checkpoint").write_bytes(SNAPSHOT)
    assert verified(kafkactl, log)[::2] == (0, {"metadata-log-gap": "info"})


def test_missing_and_late_snapshots_are_reported(kafkactl, node):
    log = node("s", {"00000000000000000040.log": noops(40)})
    assert verified(kafkactl, log)[2] == {"metadata-log-without-snapshot": "blocker"}
    snapshot = log / "00000000000000000041-0000000001.checkpoint"
    snapshot.write_bytes(SNAPSHOT)
    assert verified(kafkactl, log)[::2] == (0, {})
    snapshot.write_bytes(SNAPSHOT[:-70])
    assert verified(kafkactl, log)[::2] == (7, {"checkpoint-truncated": "blocker"})
    hurt = bytearray(SNAPSHOT)
    hurt[200] ^= 1
    snapshot.write_bytes(bytes(hurt))
    assert verified(kafkactl, log)[::2] == (7, {"broken-checkpoint": "blocker"})
    snapshot.rename(log / "00000000000000000050-0000000001.checkpoint").write_bytes(SNAPSHOT)
    assert verified(kafkactl, log)[::2] == (0, {"snapshot-beyond-log": "warning"})


def test_records_that_do_not_decode(kafkactl, node):
    newer = encode_batch([(None, b"\1\x7f\0")], base_offset=30, timestamp_ms=1, partition_leader_epoch=1)
    assert verified(kafkactl, node("n", {FIRST: SEGMENT + newer}))[::2] == (7, {"metadata-log-undecodable": "blocker"})
    begin = encode_record(message("BeginTransactionRecord"), 0, {})
    opened = encode_batch([(None, begin)], base_offset=30, timestamp_ms=1, partition_leader_epoch=1)
    assert verified(kafkactl, node("t", {FIRST: SEGMENT + opened}))[::2] == (0, {"transaction-open": "info"})


def test_renamed_segment_is_reported(kafkactl, node):
    log = node("r", {"00000000000000000100.log": noops(30), "00000000000000000100-0000000001.checkpoint": SNAPSHOT})
    assert "segment-not-named-by-its-offset" in verified(kafkactl, log)[2]


def test_equal_logs_of_nodes_are_accepted(kafkactl, node):
    first = node("1", {FIRST: SEGMENT})
    two = node("2", {FIRST: SEGMENT[: STARTS[-2]]})
    code, answer, found = verified(kafkactl, two, first)
    assert (code, found, answer["divergences"]) == (0, {}, [])
    assert answer["reference"] == str(first)


def test_uncommitted_tail_is_reported(kafkactl, node):
    first = node("1", {FIRST: SEGMENT + noops(30, epoch=3)})
    # The only voter of this log is node 1: what it wrote itself would be committed.
    two = node("2", {FIRST: SEGMENT + noops(30, epoch=2, count=4)}, node_id=2)
    code, answer, found = verified(kafkactl, first, two)
    assert (code, found) == (0, {"uncommitted-tail": "warning"})
    assert answer["divergences"] == [
        {"path": str(two), "offset": 30, "epoch": 2, "reference_epoch": 3, "offsets_behind": 4}
    ]


def test_different_committed_parts_are_reported(kafkactl, node):
    first = node("1", {FIRST: SEGMENT + noops(30, epoch=3) + noops(31, epoch=3)})
    two = node("2", {FIRST: SEGMENT + noops(30, epoch=2)})
    (first / "00000000000000000031-0000000003.checkpoint").write_bytes(SNAPSHOT)
    assert verified(kafkactl, first, two)[::2] == (7, {"committed-log-diverged": "blocker"})
    three = node("3", {FIRST: SEGMENT + noops(30, timestamp_ms=6)})
    four = node("4", {FIRST: SEGMENT + noops(30, timestamp_ms=7)})
    assert verified(kafkactl, three, four)[::2] == (7, {"committed-log-diverged": "blocker"})


def test_nodes_of_several_clusters_are_reported(kafkactl, node):
    # They are not the same log, of course: that one went its own way is not said.
    first, second = node("1", {FIRST: SEGMENT}), node("2", {FIRST: noops(0, epoch=2)}, cluster_id="xyz")
    code, answer, found = verified(kafkactl, first, second)
    assert (code, found, answer["divergences"]) == (7, {"several-clusters": "blocker"}, [])


def test_single_file_is_verified(kafkactl, tmp_path: Path):
    path = tmp_path / "copy-of-a-segment"
    path.write_bytes(noops(77, count=3))
    code, answer, found = verified(kafkactl, path)
    assert (code, found, answer["sources"][0]["end_offset"]) == (0, {}, 80)
    checkpoint = tmp_path / "x.checkpoint"
    checkpoint.write_bytes(SNAPSHOT)
    code, answer, _ = verified(kafkactl, checkpoint)
    assert (code, answer["sources"][0]["records"] > 5) == (0, True)


def epochs_in(log: Path, text: str) -> Path:
    (log / "leader-epoch-checkpoint").write_text(text)
    return log


THREE_EPOCHS = b"".join(noops(at, epoch) for at, epoch in ((0, 1), (1, 1), (2, 3), (3, 4), (4, 4)))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("0\n3\n1 0\n3 2\n4 3\n", None),
        ("0\n2\n1 0\n3 2\n", None),  # it lags: a start adds what is behind
        ("0\n4\n1 0\n3 2\n4 3\n7 5\n", None),  # an election whose first batch was never written
        ("0\n3\n1 0\n3 1\n4 3\n", {"epoch": 3, "start_offset": 1, "log_start_offset": 2}),
        ("0\n2\n1 0\n4 3\n", {"epoch": 3, "start_offset": None, "log_start_offset": 2}),
        ("0\n4\n1 0\n2 1\n3 2\n4 3\n", {"epoch": 2, "start_offset": 1, "log_start_offset": None}),
    ],
)
def test_leader_epochs_are_compared_with_the_log(kafkactl, node, text, reported):
    log = epochs_in(node("n1", {FIRST: THREE_EPOCHS}), text)
    code, answer, found = verified(kafkactl, log)
    assert (code, found) == (0, {} if reported is None else {"leader-epochs-differ": "warning"})
    assert [finding["evidence"] for finding in answer["findings"]] == ([] if reported is None else [reported])


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("0\n1\n4 4\n", None),
        ("0\n2\n3 2\n4 3\n", None),
        ("0\n2\n3 2\n4 4\n", {"epoch": 4, "start_offset": 4, "log_start_offset": 3}),
        ("0\n2\n3 1\n4 3\n", {"epoch": 3, "start_offset": 1, "log_start_offset": 2}),
    ],
)
def test_first_leader_epoch_begins_where_snapshots_cut_the_log(kafkactl, node, text, reported):
    # The segment of the oldest snapshot begins before it; the file does not (seen on 3.3.2 to 4.4.0).
    snapshots = {f"{end:020}-{epoch:010}.checkpoint": SNAPSHOT for end, epoch in ((2, 1), (4, 4))}
    log = epochs_in(node("n1", {FIRST: THREE_EPOCHS, **snapshots}), text)
    _, answer, _ = verified(kafkactl, log)
    differing = [finding["evidence"] for finding in answer["findings"] if finding["id"] == "leader-epochs-differ"]
    assert differing == ([] if reported is None else [reported])


def test_epoch_behind_the_end_shows_that_the_log_lost_its_end(kafkactl, node):
    files = {FIRST: THREE_EPOCHS}
    log = epochs_in(node("n1", files), "0\n5\n1 0\n3 2\n4 3\n6 9\n8 12\n")
    code, answer, found = verified(kafkactl, log)
    assert (code, found) == (0, {"epoch-beyond-log": "warning"})
    assert answer["findings"][0]["evidence"] == {"epoch": 6, "start_offset": 9, "end_offset": 5}
    zeros = epochs_in(node("n2", {FIRST: THREE_EPOCHS + bytes(500)}), "0\n4\n1 0\n3 2\n4 3\n6 9\n")
    assert verified(kafkactl, zeros)[2] == {"metadata-log-zero-tail": "info", "epoch-beyond-log": "warning"}
    damaged = epochs_in(node("n3", {FIRST: THREE_EPOCHS[:-1] + b"x" + noops(5, 4)}), "0\n4\n1 0\n3 2\n4 3\n6 9\n")
    assert verified(kafkactl, damaged)[2] == {"metadata-log-damaged": "blocker"}
    covered = {**files, f"{10:020}-{6:010}.checkpoint": SNAPSHOT}
    log = epochs_in(node("n4", covered), "0\n4\n1 0\n3 2\n4 3\n6 9\n")
    assert verified(kafkactl, log)[2] == {"snapshot-beyond-log": "warning"}


def test_log_emptied_after_its_snapshot_is_damaged_and_nothing_else(kafkactl, node):
    log = epochs_in(node("n1", {FIRST: b"", f"{10:020}-{6:010}.checkpoint": SNAPSHOT}), "0\n2\n1 0\n3 2\n")
    assert verified(kafkactl, log)[::2] == (7, {"metadata-log-damaged": "blocker"})


def test_unreadable_leader_epoch_checkpoint_is_reported(kafkactl, node):
    log = epochs_in(node("n1", {FIRST: THREE_EPOCHS}), "x\n")
    assert verified(kafkactl, log)[::2] == (7, {"broken-leader-epoch-checkpoint": "blocker"})


def hurt(data: bytes, batch: int) -> bytes:
    """Return the log with a wrong bit in one of its batches."""
    at = [found.header.position for found in decode_batches(data)][batch] + 70
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def offset_of(batch: int) -> int:
    return list(decode_batches(SEGMENT))[batch].header.base_offset


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_sound_log_is_better_than_a_damaged_one(kafkactl, node, order):
    logs = [node("damaged", {FIRST: hurt(SEGMENT, 5)}), node("sound", {FIRST: SEGMENT})]
    code, answer, found = verified(kafkactl, *(logs[at] for at in order))
    assert (code, found) == (7, {"metadata-log-damaged": "blocker", "damaged-log-ranked": "warning"})
    assert (answer["divergences"], answer["reference"]) == ([], str(logs[1]))
    assert [(log["path"], log["end_offset"], log["is_damaged"]) for log in answer["ranking"]] == [
        (str(logs[1]), 30, False), (str(logs[0]), offset_of(5), True),
    ]  # fmt: skip
    reported = next(finding for finding in answer["findings"] if finding["id"] == "damaged-log-ranked")
    assert reported["subject"] == f"log {logs[0]}"
    assert f"{logs[1]} is the better disk: it reaches offset 30" in reported["message"]
    assert f"Best disk: {logs[1]}" in kafkactl("log", "verify", *logs).stdout


def test_damaged_log_may_be_longer(kafkactl, node):
    # Only its valid part counts, and what can be read after that nowhere else is named.
    longer = node("longer", {FIRST: hurt(SEGMENT, 5) + noops(30, count=40)})
    sound = node("sound", {FIRST: SEGMENT[: STARTS[10]]})
    code, answer, found = verified(kafkactl, longer, sound)
    assert (code, answer["reference"], answer["divergences"]) == (7, str(sound), [])
    assert "uncommitted-tail" not in found
    reported = next(finding for finding in answer["findings"] if finding["id"] == "damaged-log-ranked")
    assert "Records up to offset 69 can be read after the damage, and no other log has them" in reported["message"]
    short = node("short", {FIRST: SEGMENT[: STARTS[3]]})
    answer = verified(kafkactl, short, longer)[1]
    assert [log["path"] for log in answer["ranking"]] == [str(longer), str(short)]
    reported = next(finding for finding in answer["findings"] if finding["id"] == "damaged-log-ranked")
    assert "this is the best disk nevertheless" in reported["message"]


def test_undamaged_log_of_three_is_ranked_first(kafkactl, node):
    logs = [
        node("a", {FIRST: hurt(SEGMENT, 9)}),
        node("b", {FIRST: SEGMENT + noops(30, epoch=2)}),
        node("c", {FIRST: hurt(SEGMENT, 4) + noops(30, epoch=7)}),
    ]
    code, answer, found = verified(kafkactl, *logs)
    assert (code, set(found)) == (7, {"metadata-log-damaged", "damaged-log-ranked"})
    assert [Path(log["path"]).parent.name for log in answer["ranking"]] == ["b", "a", "c"]


def test_gap_ends_the_valid_part_and_equal_logs_prefer_the_whole_one(kafkactl, node):
    sound = node("sound", {FIRST: SEGMENT})
    gap = node("gap", {FIRST: SEGMENT, "00000000000000000040.log": noops(40, epoch=3)})
    code, answer, found = verified(kafkactl, gap, sound)
    assert (code, answer["divergences"], answer["reference"]) == (7, [], str(sound))
    assert set(found) == {"metadata-log-gap", "damaged-log-ranked"}


def test_snapshot_beyond_the_damage_is_a_place(kafkactl, node):
    # A broken one is none.
    name = "00000000000000000025-0000000001.checkpoint"
    with_snapshot = node("snapshot", {FIRST: hurt(SEGMENT, 5), name: SNAPSHOT})
    short = node("short", {FIRST: SEGMENT[: STARTS[10]]})
    answer = verified(kafkactl, short, with_snapshot)[1]
    assert (answer["ranking"][0]["path"], answer["ranking"][0]["end_offset"]) == (str(with_snapshot), 25)
    (with_snapshot / name).write_bytes(SNAPSHOT[:-70])
    assert verified(kafkactl, short, with_snapshot)[1]["ranking"][0]["path"] == str(short)


@pytest.mark.parametrize(
    "files",
    [
        {FIRST: b""},
        {FIRST: bytes(4096)},
        {FIRST: SEGMENT[:30]},
        {FIRST: SEGMENT[: STARTS[1]]},  # a LeaderChange and nothing else
        {FIRST: b"", "00000000000000000000-0000000000.checkpoint": SNAPSHOT[:0]},
    ],
    ids=["empty", "zeros", "torn", "control", "cut"],
)
def test_empty_log_is_not_sound(kafkactl, node, files):
    log = node("empty", files)
    code, _, found = verified(kafkactl, log)
    assert (code, found["empty-metadata-log"]) == (7 if "blocker" in found.values() else 6, "warning")
    assert "is sound" not in kafkactl("log", "verify", log).stdout
    other = node("other", {FIRST: SEGMENT})
    code, _, found = verified(kafkactl, log, other)
    assert (code, found["empty-metadata-log"]) == (7, "blocker")


def test_snapshot_alone_is_something(kafkactl, node):
    assert verified(kafkactl, node("s", {"00000000000000000025-0000000001.checkpoint": SNAPSHOT}))[::2] == (0, {})
