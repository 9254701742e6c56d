"""Observed state of the quorum against the operator's statement that a controller's disk is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.core.findings import Finding, Severity, blocker, warning
from kafkactl.core.frozen import changed
from kafkactl.storage.format.lost_disk import LostDisk, check_lost_disk, needs_quorum
from kafkactl.storage.model import DirectoryState, GuardOverrides, ObservedDirectory, ObservedNode, QuorumSeen
from tests.storage.nodes import CLUSTER_ID, a_config, blank, with_meta

CONFIRMED = GuardOverrides(replace_lost_metadata_disk=True, verified_quorum=True)
DISK = ObservedDirectory(path="/data/d1", real_path="/data/d1", state=DirectoryState.DIRECTORY)


def state(alive: dict[int, bool | None], *, leader: int = 2, **changes: Any) -> QuorumState:
    voters = tuple(Replica(id=key, alive=is_alive, evidence="did not advance") for key, is_alive in alive.items())
    known: dict[str, Any] = {"cluster_id": CLUSTER_ID, "mode": None, "kraft_version": 0, "high_watermark": 9}
    return QuorumState(**known, leader_id=leader, leader_epoch=3, voters=voters, **changes)


def check(
    quorum: QuorumSeen | None, *, overrides: GuardOverrides = CONFIRMED, controller: bool = True
) -> list[Finding]:
    lost = LostDisk(node_id=1, cluster_id=CLUSTER_ID, is_controller=controller, overrides=overrides, quorum=quorum)
    first, *others = check_lost_disk(lost, DISK, [DISK], {})
    assert first.id == "metadata-disk-lost"
    return others


def seen(alive: dict[int, bool | None], **changes: Any) -> list[tuple[str, Severity]]:
    return [(finding.id, finding.severity) for finding in check(QuorumSeen(state=state(alive, **changes)))]


REFUSED = [("majority-not-proven", Severity.BLOCKER)]


@pytest.mark.parametrize(
    ("alive", "expected"),
    [
        ({1: False, 2: True, 3: True}, []),
        ({1: None, 2: True, 3: True}, []),
        ({1: False, 2: True, 3: False}, REFUSED),
        ({1: False, 2: True, 3: None}, REFUSED),
        ({1: False, 2: True, 3: True, 4: True, 5: False}, []),
        ({1: False, 2: True, 3: True, 4: False, 5: False}, REFUSED),
        ({2: True, 3: True}, []),  # dynamic, and removed: the others are the whole set
        ({2: True, 3: False}, REFUSED),
    ],
)
def test_majority_without_this_voter_has_to_be_observed_to_follow(
    alive: dict[int, bool | None], expected: list[tuple[str, Severity]]
) -> None:
    assert seen(alive) == expected


def test_refusal_shows_the_sum_and_who_does_not_follow() -> None:
    (finding,) = check(QuorumSeen(state=state({1: False, 2: True, 3: False})))
    assert "without controller 1" in finding.message
    assert "voters {1,2,3}, majority 2, alive {2}" in finding.message
    assert "controller 3 did not advance" in finding.message
    assert "controller 1 did not advance" not in finding.message


def test_controller_with_this_id_that_runs_is_not_a_lost_disk_and_does_not_count_for_the_majority() -> None:
    assert seen({1: True, 2: True, 3: True}) == [("controller-runs-elsewhere", Severity.BLOCKER)]
    assert seen({1: True, 2: True, 3: False}) == [("controller-runs-elsewhere", Severity.BLOCKER), *REFUSED]


def test_another_cluster_is_refused() -> None:
    healthy = state({2: True, 3: True})
    assert check(QuorumSeen(state=healthy)) == []
    other = check(QuorumSeen(state=changed(healthy, cluster_id="other")))
    assert [finding.id for finding in other] == ["cluster-id-mismatch"]


def test_quorum_that_changed_while_it_was_watched_is_refused() -> None:
    finding = blocker("quorum-not-steady", "quorum", "the leader changed", "Run it again.")
    assert seen({1: None, 2: None, 3: None}, findings=(finding,)) == [("quorum-not-steady", Severity.BLOCKER)]


def test_controllers_that_answer_and_no_leader_are_refused() -> None:
    assert seen({2: None, 3: None}, leader=-1) == [("no-quorum-leader", Severity.BLOCKER)]


def test_leader_that_others_follow_out_of_sight_leaves_the_operators_word() -> None:
    finding = warning("leader-not-reached", "controller 2", "controller 3 follows controller 2", "Ask it.")
    (found,) = check(QuorumSeen(state=state({2: None, 3: None}, leader=-1, findings=(finding,))))
    assert (found.id, found.severity) == ("quorum-not-observed", Severity.WARNING)
    assert "controller 3 follows controller 2" in found.message


@pytest.mark.parametrize(
    ("voters", "refused", "expected"),
    [
        ({1, 2, 3}, {2, 3}, REFUSED),
        ({1, 2, 3}, {2}, REFUSED),  # 3 alone can never be a majority
        ({1, 2, 3}, set(), [("quorum-not-observed", Severity.WARNING)]),
        ({1, 2, 3, 4, 5}, {2}, [("quorum-not-observed", Severity.WARNING)]),
        ({1, 2, 3, 4, 5}, {2, 3}, REFUSED),
        (set(), set(), [("quorum-not-observed", Severity.WARNING)]),
        ({1}, set(), REFUSED),  # the only voter: no other node holds the log
        ({1, 2}, {2}, [("quorum-not-observed", Severity.WARNING)]),  # the other voter holds all that is committed
    ],
)
def test_refused_connections_decide_for_a_static_quorum_without_answers(
    voters: set[int], refused: set[int], expected: list[tuple[str, Severity]]
) -> None:
    quorum = QuorumSeen(reason="no way", voter_ids=frozenset(voters), refused=frozenset(refused))
    assert [(finding.id, finding.severity) for finding in check(quorum)] == expected


def test_two_static_voters_cannot_have_a_leader_while_one_has_no_disk() -> None:
    quorum = QuorumSeen(state=state({1: None, 2: None}, leader=-1), voter_ids=frozenset({1, 2}))
    assert [finding.id for finding in check(quorum)] == ["quorum-not-observed"]


def test_without_both_words_the_quorum_is_not_mentioned() -> None:
    dead = QuorumSeen(state=state({1: False, 2: True, 3: False}))
    assert check(dead, overrides=GuardOverrides(replace_lost_metadata_disk=True)) == []
    assert check(dead, controller=False) == []
    assert check(None) == []


def test_quorum_is_asked_only_if_the_format_depends_on_the_answer() -> None:
    config = a_config(log_dirs=("/data/d1", "/data/d2"))
    lost = ObservedNode(directories=(blank("/data/d1"), with_meta("/data/d2", "version=1\n")))
    assert needs_quorum(config, lost, CONFIRMED)
    assert not needs_quorum(config, lost, GuardOverrides(replace_lost_metadata_disk=True))
    assert not needs_quorum(config, lost, GuardOverrides(verified_quorum=True))
    assert not needs_quorum(a_config(log_dirs=("/data/d1", "/data/d2"), roles="broker"), lost, CONFIRMED)
    fresh = ObservedNode(directories=(blank("/data/d1"), blank("/data/d2")))
    assert needs_quorum(config, fresh, CONFIRMED)  # its only disk may be the lost one
    whole = ObservedNode(directories=(with_meta("/data/d1", "version=1\n"), blank("/data/d2")))
    assert not needs_quorum(config, whole, CONFIRMED)
