"""The live side of a change, over sockets: a request goes to the leader that was observed, and to no other."""

from __future__ import annotations

from kafkactl.commands.demo.quorum import NOT_LEADER, FakeQuorum, directory_of
from kafkactl.core.values import ReplicaKey, Role
from kafkactl.kafka.client import Client
from kafkactl.quorum.io.live_quorum import LiveQuorum
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.step import Action, Step


def _removal(quorum, node_id):
    keys = frozenset(ReplicaKey(node_id=voter, directory_id=directory_of(voter)) for voter in quorum.voters)
    gone = ReplicaKey(node_id=node_id, directory_id=directory_of(node_id))
    return Step(number=1, action=Action.REMOVE, key=gone, voters_before=keys, voters_after=keys - {gone}, alive=keys)


def test_leader_elected_after_the_look_gets_no_request():
    # It has seen no voter fetch, so nothing of what was observed says that a majority follows it.
    with FakeQuorum(voters=(1, 2, 3)) as quorum, Client(quorum.addresses, Role.CONTROLLER) as client:
        with LiveQuorum(client) as world:
            assert world.observe().leader_id == 1
            with quorum.lock:
                quorum.leader_id, quorum.epoch = 2, quorum.epoch + 1
            answer = world.send(_removal(quorum, 3), ())
            assert (answer.code, quorum.effects) == (NOT_LEADER, [])
            assert world.sample() is None, "who led does not any more"
            assert world.observe().leader_id == 2
            assert world.send(_removal(quorum, 3), ()) == Answer(code=0)
        assert quorum.effects == [("remove", 3)]


def test_glance_notices_a_voter_that_stops_answering():
    with (
        FakeQuorum(voters=(1, 2, 3)) as quorum,
        Client(quorum.addresses, Role.CONTROLLER) as client,
        LiveQuorum(client) as world,
    ):
        world.observe()
        first = world.sample()
        assert first is not None
        assert {node.id: node.answers for node in first.nodes.values()} == {1: True, 2: True, 3: True}
        quorum.kill(3)
        for _ in range(2):
            later = world.sample()
            assert later is not None
            assert {node.id: node.answers for node in later.nodes.values()} == {1: True, 2: True, 3: False}
