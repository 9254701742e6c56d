"""Invariants, broken by hand: the monitor reports the invariant, and nothing if the same is done right."""

from __future__ import annotations

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.simulator.invariants import Monitor, Shadow, voters_in
from kafkactl.simulator.machine import directory_id, endpoint_of
from kafkactl.simulator.raft.log import Batch, RecordKind, Voters
from kafkactl.simulator.raft.voters import VoterSet
from tests.simulator.raft.quorum import kafka_accepts

DISKS = {node: directory_id(node, 0) for node in (1, 2, 3, 4)}


def voters(*nodes: int, disk: int = 0) -> VoterSet:
    return VoterSet(
        Voter(node_id=node, directory_id=directory_id(node, disk), endpoints=(endpoint_of(node),)) for node in nodes
    )


def batch(base: int, epoch: int, content: object = "x", records: int = 1) -> Batch:
    return Batch(base, base + records, epoch, RecordKind.DATA, content, 100)


class Quorum:
    """Quorum of three logs and a monitor."""

    def __init__(self) -> None:
        self.logs = {node: Shadow() for node in (1, 2, 3)}
        self.disks = dict(DISKS)
        self.monitor = Monitor(lambda: [(node, self.disks[node], log) for node, log in self.logs.items()])

    def append(self, node: int, *batches: Batch, synced: bool = True) -> None:
        self.monitor.appended(node, self.logs[node], batches)
        if synced:
            self.logs[node].durable = self.logs[node].end

    def watermark(self, node: int, now: int, before: int = -1, *, leads: bool = True) -> None:
        self.monitor.watermark(node, before, now, self.logs[node], voters(1, 2, 3) if leads else None)

    @property
    def broken(self) -> list[str]:
        return [violation.invariant for violation in self.monitor.violations]


@pytest.fixture
def quorum() -> Quorum:
    """Return nodes 1 and 2 have offsets 0 and 1 of epoch 1, committed; node 3 has offset 0."""
    made = Quorum()
    for node in (1, 2):
        made.append(node, batch(0, 1), batch(1, 1))
    made.append(3, batch(0, 1))
    made.watermark(1, 2)
    assert not made.broken
    return made


def test_second_leader_in_an_epoch_breaks_election_safety(quorum):
    quorum.monitor.leads(1, DISKS[1], 1, quorum.logs[1])
    quorum.monitor.leads(1, DISKS[1], 1, quorum.logs[1])
    assert not quorum.broken
    quorum.monitor.leads(2, DISKS[2], 1, quorum.logs[2])
    assert quorum.broken == ["election-safety"]


def test_leader_does_not_truncate(quorum):
    quorum.append(1, batch(2, 1))
    quorum.monitor.truncated(1, quorum.logs[1], 2, 2, epoch=1, leads=True)
    assert quorum.broken == ["leader-append-only"]


def test_logs_that_end_alike_are_alike(quorum):
    quorum.append(3, batch(1, 1, "another"))
    assert quorum.broken == ["log-matching"]


def test_log_has_no_hole(quorum):
    quorum.append(3, batch(2, 1))
    assert "log-matching" in quorum.broken


def test_leader_has_all_that_is_committed(quorum):
    quorum.monitor.leads(2, DISKS[2], 2, quorum.logs[2])
    assert not quorum.broken
    quorum.monitor.leads(3, DISKS[3], 3, quorum.logs[3])
    assert quorum.broken == ["leader-completeness"]


def test_leader_that_counted_its_votes_late_need_not_have_what_a_newer_one_committed(quorum):
    quorum.monitor.leads(2, DISKS[2], 5, quorum.logs[2])
    quorum.append(2, batch(2, 5))
    quorum.append(3, batch(1, 1), batch(2, 5))
    quorum.watermark(2, 3, before=2)
    quorum.monitor.leads(1, DISKS[1], 4, quorum.logs[1])
    assert not quorum.broken
    quorum.monitor.leads(1, DISKS[1], 6, quorum.logs[1])
    assert quorum.broken == ["leader-completeness"]


def test_change_of_a_committed_record_is_a_violation(quorum):
    quorum.watermark(2, 2, leads=False)
    assert not quorum.broken
    quorum.append(3, batch(1, 2))
    quorum.watermark(3, 2, leads=False)
    assert quorum.broken == ["state-machine-safety"]


def test_only_a_leader_commits(quorum):
    quorum.append(2, batch(2, 1))
    quorum.watermark(2, 3, leads=False)
    assert quorum.broken == ["state-machine-safety"]


def test_watermark_does_not_fall(quorum):
    quorum.watermark(1, 1, before=2)
    assert quorum.broken == ["monotonic-watermark"]


def test_majority_has_what_is_committed(quorum):
    quorum.append(1, batch(2, 1))
    quorum.append(2, batch(2, 1), synced=False)
    quorum.watermark(1, 3, before=2)
    assert quorum.broken == ["majority-has-committed"]


def test_disk_of_another_identity_does_not_count(quorum):
    quorum.append(1, batch(2, 1))
    quorum.append(2, batch(2, 1))
    quorum.disks[2] = directory_id(2, 1)
    quorum.watermark(1, 3, before=2)
    assert quorum.broken == ["majority-has-committed"]


def test_epoch_of_a_disk_does_not_fall(quorum):
    quorum.monitor.state_written(1, DISKS[1], 5, None)
    quorum.monitor.state_written(1, directory_id(1, 1), 0, None)
    assert not quorum.broken
    quorum.monitor.state_written(1, DISKS[1], 4, None)
    assert quorum.broken == ["monotonic-epoch"]


def test_second_vote_in_an_epoch_is_reported(quorum):
    quorum.monitor.state_written(1, DISKS[1], 5, (2, DISKS[2]))
    quorum.monitor.voted(1, DISKS[1], 5, (2, DISKS[2]))
    quorum.monitor.state_written(1, DISKS[1], 6, (3, DISKS[3]))
    assert not quorum.broken
    quorum.monitor.voted(1, DISKS[1], 6, (2, DISKS[2]))
    assert quorum.broken == ["one-vote-an-epoch"]


def test_voter_sets_overlap_by_the_exact_rule(quorum):
    quorum.monitor.voters_changed(1, voters(1, 2, 3), voters(1, 2, 3, 4))
    quorum.monitor.voters_changed(1, voters(1, 2, 3), voters(1, 2))
    assert not quorum.broken
    replaced = VoterSet((*voters(1, 2).voters, *voters(3, disk=1).voters))
    assert kafka_accepts(voters(1, 2, 3), replaced)
    quorum.monitor.voters_changed(1, voters(1, 2, 3), replaced)
    assert quorum.broken == ["voter-sets-overlap"]


def test_nothing_below_the_watermark_is_truncated(quorum):
    quorum.append(2, batch(2, 1))
    quorum.monitor.truncated(2, quorum.logs[2], 2, 2, epoch=1, leads=False)
    assert not quorum.broken
    quorum.monitor.truncated(2, quorum.logs[2], 1, 2, epoch=1, leads=False)
    assert quorum.broken == ["no-truncation-below-watermark"]


def test_truncation_of_a_committed_record_is_a_violation(quorum):
    quorum.monitor.truncated(2, quorum.logs[2], 1, -1, epoch=1, leads=False)
    assert quorum.broken == ["no-truncation-below-watermark"]


def test_replica_without_the_newer_epoch_may_truncate_its_records(quorum):
    # An observer has a record that a newer leader commits, and follows an older one, elected late, that lacks it.
    quorum.append(1, batch(2, 1))
    quorum.append(2, batch(2, 1))
    quorum.append(3, batch(1, 1), batch(2, 1))
    quorum.monitor.leads(1, DISKS[1], 7, quorum.logs[1])
    quorum.watermark(1, 3, before=2)
    quorum.monitor.truncated(3, quorum.logs[3], 2, -1, epoch=6, leads=False)
    assert not quorum.broken
    quorum.monitor.truncated(2, quorum.logs[2], 2, -1, epoch=7, leads=False)
    assert quorum.broken == ["no-truncation-below-watermark"]


def test_snapshot_holds_what_is_committed(quorum):
    quorum.monitor.restarted_at(3, quorum.logs[3], 2)
    assert not quorum.broken
    assert quorum.logs[3].number_at(2) == quorum.logs[1].number_at(2)
    quorum.append(3, batch(2, 2))
    quorum.monitor.restarted_at(3, quorum.logs[3], 3)
    assert quorum.broken == ["state-machine-safety"]


def test_log_is_cleaned_up_to_what_is_committed(quorum):
    quorum.append(1, batch(2, 1))
    quorum.monitor.cleaned(1, quorum.logs[1], 2)
    assert not quorum.broken
    assert quorum.logs[1].ends == [3]
    quorum.monitor.cleaned(1, quorum.logs[1], 3)
    assert quorum.broken == ["state-machine-safety"]


def test_batch_names_its_voters():
    control = Batch(0, 1, 1, RecordKind.CONTROL, (Voters(voters(1, 2)),), 100)
    assert voters_in(control) == voters(1, 2)
    assert voters_in(batch(0, 1, (Voters(voters(1, 2)),))) is None
