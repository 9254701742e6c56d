"""Blank controllers that the running quorum knows already, from its answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import Mode, QuorumState, Replica
from kafkactl.cluster.quorum.voters import DynamicVoter
from kafkactl.core.values import Role, Uuid
from kafkactl.storage.format.running_quorum import BlankController, check_running_quorum
from kafkactl.storage.model import FormatRequest, GuardOverrides, QuorumSeen, VoterMode
from tests.storage.nodes import CLUSTER_ID, a_config

OWN, OTHER = Uuid(b"\x40" + bytes(15)), Uuid(b"\x41" + bytes(15))


def node(mode=VoterMode.INITIAL_CONTROLLERS, directory_id=OWN, confirmed=False, static=False):
    overrides = GuardOverrides(replace_lost_metadata_disk=confirmed, verified_quorum=confirmed)
    request = FormatRequest(cluster_id=CLUSTER_ID, voter_mode=mode, overrides=overrides)
    voters = (DynamicVoter(node_id=1, host="a", port=1, directory_id=directory_id),)
    named = voters if mode is VoterMode.INITIAL_CONTROLLERS else None
    return BlankController(
        config=a_config("4.3", roles="controller", static=static),
        cluster_id=CLUSTER_ID,
        request=request,
        voters=named,
    )


def quorum(*, cluster_id=CLUSTER_ID, leader=2, epoch=7, own=None, registered=(2, 3), loaded=True, voters=(1, 2, 3)):
    """Return a quorum in which voter 1 is the node; the leader never had a fetch from it unless `own` says so."""
    replicas = tuple(
        (own or Replica(id=1, directory_id=OWN)) if number == 1 else Replica(id=number, log_end_offset=100)
        for number in voters
    )
    state = QuorumState(
        cluster_id=cluster_id, mode=Mode.DYNAMIC, kraft_version=1, leader_id=leader, leader_epoch=epoch,
        high_watermark=100, voters=replicas,
        nodes={2: ClusterNode(id=2, role=Role.CONTROLLER, answers=True, leader_epoch=epoch)},
    )  # fmt: skip
    known = None if registered is None else frozenset(registered)
    return QuorumSeen(state=state, registered=known, has_loaded=loaded)


def ids(blank, seen):
    return [finding.id for finding in check_running_quorum(blank, seen)]


REFUSED = ["quorum-already-runs"]
CASES = {
    "registered": (node(), quorum(registered=(1, 2, 3)), REFUSED),
    "never registered, others are": (node(), quorum(), []),
    "fetched in this epoch": (node(), quorum(own=Replica(id=1, directory_id=OWN, log_end_offset=9)), REFUSED),
    "registrations not shown": (node(), quorum(registered=None), REFUSED),
    "no registrations in use": (node(), quorum(registered=()), REFUSED),
    "no registrations, first leader": (node(), quorum(registered=(), epoch=1), []),
    "not a voter": (node(), quorum(voters=(2, 3)), REFUSED),
    "other directory id": (node(directory_id=OTHER), quorum(), REFUSED),
    "standalone": (node(VoterMode.STANDALONE), quorum(epoch=1), REFUSED),
    "joins": (node(VoterMode.NO_INITIAL_CONTROLLERS), quorum(registered=(1, 2, 3)), []),
    "static": (node(VoterMode.UNSPECIFIED, static=True), quorum(registered=(1, 2, 3)), REFUSED),
    "static, -N changes nothing": (
        node(VoterMode.NO_INITIAL_CONTROLLERS, static=True), quorum(registered=(1, 2, 3)), REFUSED,
    ),
    "cluster id not shown": (node(), quorum(cluster_id=None, registered=(1, 2)), REFUSED),
    "other cluster": (node(), quorum(cluster_id="another"), ["controllers-of-another-cluster"]),
    "epoch 0": (node(), quorum(leader=-1, epoch=0, loaded=False), []),
    "no leader, and metadata was read": (node(), quorum(leader=-1, registered=(1,)), REFUSED),
    "no leader, and nothing was read yet": (node(), quorum(leader=-1, registered=(), loaded=False), []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_blank_controller_is_refused_if_the_quorum_has_met_it(case):
    blank, seen, expected = CASES[case]
    assert ids(blank, seen) == expected


def test_missing_answer_is_reported_only_for_a_disk_confirmed_as_new():
    silent = QuorumSeen(reason="nobody answers")
    assert ids(node(), silent) == []
    assert ids(node(confirmed=True), silent) == ["quorum-not-observed"]


def test_process_that_could_not_be_asked_is_reported():
    assert ids(node(), QuorumSeen(reason="the login is refused", is_reached=True)) == ["running-quorum-not-asked"]
    assert ids(node(VoterMode.NO_INITIAL_CONTROLLERS), QuorumSeen(reason="refused", is_reached=True)) == []


def test_confirmed_disk_is_a_warning_and_the_quorum_needs_a_majority_without_it():
    seen = quorum(registered=(1, 2, 3))
    state = replace(seen.state, voters=tuple(replace(voter, alive=voter.id != 1) for voter in seen.state.voters))
    (finding,) = check_running_quorum(node(confirmed=True), replace(seen, state=state))
    assert finding.severity == "warning"
    dead = replace(seen.state, voters=tuple(replace(voter, alive=voter.id == 2) for voter in seen.state.voters))
    assert "majority-not-proven" in ids(node(confirmed=True), replace(seen, state=dead))
