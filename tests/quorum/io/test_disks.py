"""Quorum state on disks: golden logs of real nodes, logs of our own, and damage of every kind."""

from __future__ import annotations

import os

import pytest

from kafkactl.cluster.io.quorum_assembly import assembled
from kafkactl.cluster.quorum.voter_sets import Voter, voters_data
from kafkactl.core.errors import InputError
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.log.checkpoint import encode_first_checkpoint
from kafkactl.metadata.log.quorum_state import QuorumStateFile
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record
from kafkactl.quorum.io.disks import read_disk, read_disks
from tests.metadata.goldens import golden
from tests.metadata.log.quorum_state_writer import encode_quorum_state

CLUSTER_ID = "qcW5mzVjTpOjVnxJ0WmYIg"


def directory(node_id):
    return Uuid(b"\x10" + bytes(14) + bytes([node_id]))


def voter(node_id):
    endpoint = Endpoint(listener="CONTROLLER", host=f"c{node_id}", port=9093)
    return Voter(node_id=node_id, directory_id=directory(node_id), endpoints=(endpoint,))


def noop(offset, epoch=1):
    value = encode_record(metadata_record(20), 0, {})
    return encode_batch([(None, value)], base_offset=offset, timestamp_ms=1, partition_leader_epoch=epoch)


def voters_batch(offset, ids, epoch=1):
    record = encode_control_record(ControlType.KRAFT_VOTERS, voters_data([voter(id) for id in ids]))
    return encode_batch([record], base_offset=offset, timestamp_ms=1, partition_leader_epoch=epoch, is_control=True)


@pytest.fixture
def disk(tmp_path):
    """Make the metadata directory of a node; `files` go into the log's folder."""

    def make(node_id=1, cluster_id=CLUSTER_ID, **files):
        root = tmp_path / f"c{node_id}"
        log = root / "__cluster_metadata-0"
        log.mkdir(parents=True)
        lines = ["version=1", f"cluster.id={cluster_id}", f"node.id={node_id}", f"directory.id={directory(node_id)}"]
        (root / "meta.properties").write_text("\n".join(lines) + "\n")
        for name, content in files.items():
            (log / name).write_bytes(content)
        return root

    return make


FIRST = f"{0:020}-{0:010}.checkpoint"
SEGMENT = f"{0:020}.log"


def first_checkpoint(*ids):
    return encode_first_checkpoint(now_ms=1, kraft_version=1, voters=[voter(id) for id in ids])


def election(**changes):
    fields = {"data_version": 1, "leader_id": 2, "leader_epoch": 4, "voted_id": -1}
    return encode_quorum_state(QuorumStateFile(**(fields | changes)))


def ids(readings):
    return [finding.id for reading in readings for finding in reading.findings]


def test_whole_disk_is_read(disk):
    log = noop(0) + voters_batch(1, (1, 2), epoch=3) + noop(2, epoch=4)
    root = disk(**{FIRST: first_checkpoint(1, 2, 3), SEGMENT: log, "quorum-state": election()})
    reading = read_disk(str(root))
    seen = reading.seen
    assert reading.findings == ()
    assert (seen.node_id, seen.cluster_id, seen.directory_id) == (1, CLUSTER_ID, directory(1))
    assert (seen.leader_id, seen.leader_epoch, seen.last_epoch, seen.log_end_offset) == (2, 4, 4, 3)
    assert (seen.kraft_version, [member.node_id for member in seen.voters]) == (1, [1, 2])
    assert read_disk(str(root / "__cluster_metadata-0")).seen == seen.__class__(
        **{name: getattr(seen, name) for name in seen.__slots__ if name != "path"},
        path=str(root / "__cluster_metadata-0"),
    )


def test_snapshot_overrides_the_log_before_it(disk):
    snapshot = f"{9:020}-{5:010}.checkpoint"
    log = voters_batch(0, (1,)) + noop(1)
    seen = read_disk(str(disk(**{snapshot: first_checkpoint(1, 2, 3), SEGMENT: log}))).seen
    assert (seen.last_epoch, seen.log_end_offset, len(seen.voters)) == (5, 9, 3)


def test_static_quorum_has_its_voters_in_quorum_state(disk):
    state = election(data_version=0, cluster_id=CLUSTER_ID, current_voters=(1, 2, 3))
    seen = read_disk(str(disk(**{SEGMENT: noop(0), "quorum-state": state}))).seen
    assert (seen.static_voters, seen.voters, seen.kraft_version) == ((1, 2, 3), None, None)


def test_formatted_disk_before_its_first_start_is_read(disk):
    reading = read_disk(str(disk(**{FIRST: first_checkpoint(1)})))
    assert (reading.findings, reading.seen.leader_epoch, reading.seen.log_end_offset) == ((), None, 0)
    assert [member.node_id for member in reading.seen.voters] == [1]


@pytest.mark.parametrize(
    ("name", "epoch", "dynamic"),
    [("segment-4.3.1-static.log.bin", None, None), ("segment-4.4.0-standalone.log.bin", None, None)],
)
def test_segments_of_real_nodes_are_read_without_findings(disk, name, epoch, dynamic):
    reading = read_disk(str(disk(**{SEGMENT: golden(name)})))
    assert reading.findings == ()
    assert reading.seen.log_end_offset > 0 and reading.seen.last_epoch >= 1


def test_newest_of_several_disks_has_the_voters(disk):
    older = disk(1, **{FIRST: first_checkpoint(1, 2, 3), SEGMENT: noop(0)})
    newer = disk(2, **{FIRST: first_checkpoint(1, 2, 3), SEGMENT: noop(0) + voters_batch(1, (2, 3), epoch=2)})
    state = assembled((), disks=[reading.seen for reading in read_disks([str(older), str(newer)])])
    assert [(member.id, member.log_end_offset, member.alive) for member in state.voters] == [
        (2, 2, None),
        (3, None, None),
    ]
    assert (state.leader_id, state.cluster_id, state.tolerates) == (-1, CLUSTER_ID, None)


def test_disk_of_another_cluster_is_left_out(disk):
    first = disk(1, **{FIRST: first_checkpoint(1)})
    other = disk(2, cluster_id="AAAAAAAAAAAAAAAAAAAAEQ", **{FIRST: first_checkpoint(7), SEGMENT: noop(0)})
    state = assembled((), disks=[reading.seen for reading in read_disks([str(first), str(other)])])
    assert [member.id for member in state.voters] == [1]
    assert [finding.id for finding in state.findings if finding.id == "disk-of-another-cluster"] == [
        "disk-of-another-cluster"
    ]


@pytest.mark.parametrize(
    ("tail", "finding"),
    [
        (noop(2)[:-3], "log-cut-short"),
        (b"\x00" * 70, "log-cut-short"),
        (noop(2)[:-1] + b"\xff", "log-cut-short"),
        (
            encode_batch([(b"\x00\x00\x00\x06", b"\xff")], base_offset=2, timestamp_ms=1, is_control=True),
            "disk-not-read",
        ),
    ],
    ids=["cut", "zeros", "crc", "bad-voters"],
)
def test_log_counts_up_to_its_damage(disk, tail, finding):
    root = disk(**{SEGMENT: noop(0) + noop(1) + tail, f"{9:020}.log": noop(9)})
    reading = read_disk(str(root))
    assert (ids([reading]), reading.seen.log_end_offset) == ([finding], 2)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"data_version":9}', b"\xff\xfe", b"{}" * 10_000])
def test_quorum_state_of_any_bytes_is_reported(disk, content):
    reading = read_disk(str(disk(**{SEGMENT: noop(0), "quorum-state": content})))
    assert ids([reading]) == ["disk-not-read"]
    assert (reading.seen.leader_epoch, reading.seen.log_end_offset) == (None, 1)


@pytest.mark.parametrize("content", [None, b"version=1\n", b"version=x\nnode.id=\xff"])
def test_meta_properties_without_an_id_leave_the_node_unknown(disk, content):
    root = disk(**{SEGMENT: noop(0)})
    (root / "meta.properties").unlink()
    if content is not None:
        (root / "meta.properties").write_bytes(content)
    reading = read_disk(str(root))
    assert (ids([reading]), reading.seen.node_id, reading.seen.log_end_offset) == (["disk-not-read"], None, 1)


@pytest.mark.parametrize("content", [b"", b"x" * 61, golden("first-4.4.0-standalone.checkpoint.bin")[:80]])
def test_snapshot_of_any_bytes_is_reported_as_not_read(disk, content):
    reading = read_disk(str(disk(**{FIRST: content, SEGMENT: noop(0)})))
    assert (reading.seen.voters, reading.seen.log_end_offset, ids([reading])) == (None, 1, ["disk-not-read"])


def test_names_that_are_not_segments_are_ignored(disk):
    names = ["1.log", "x" * 20 + ".log", f"{0:020}.log.deleted", "leader-epoch-checkpoint"]
    assert read_disk(str(disk(**dict.fromkeys(names, b"rubbish")))).findings == ()


@pytest.mark.parametrize("path", ["nowhere", "file", "empty", "zero\0byte"])
def test_path_without_a_metadata_log_is_refused(tmp_path, path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as caught:
        read_disks([str(tmp_path / path)])
    assert caught.value.id == "log-dir-unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_segment_is_reported(disk):
    root = disk(**{SEGMENT: noop(0), "quorum-state": election()})
    (root / "__cluster_metadata-0" / SEGMENT).chmod(0)
    reading = read_disk(str(root))
    assert (ids([reading]), reading.seen.leader_epoch) == (["disk-not-read"], 4)
