"""A leader that cannot be asked: followers show if it leads, or that silence says nothing from here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.commands.demo.broker import SILENCE, FakeBroker, Reply
from kafkactl.core.findings import Finding
from kafkactl.core.values import Role
from kafkactl.net.transport import Address
from kafkactl.quorum.health import check_health, is_broken
from kafkactl.status.next_command import Target
from kafkactl.status.observation import ObservedQuorum
from kafkactl.status.quorum_area import quorum_area
from tests.kafka.quorum_nodes import DENIED, VOTE, Quorum, client_at, running

LEADER, FOLLOWER = 2, 3
SETTINGS = {
    "controller.quorum.fetch.timeout.ms": "50",
    "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:2,3@127.0.0.1:3",
}
OLD, PRE_VOTE = (0, 1), (0, 2)
DEAD = (1, LEADER)
NODE_TIMEOUT_MS = 3_000  # nodes that are down refuse at once; the others may be slow on a busy machine
pytestmark = pytest.mark.slow  # followers are observed for longer than their fetch timeout


def observed(*addresses: Address, role: Role = Role.CONTROLLER) -> QuorumState:
    observer = QuorumObserver(client_at(*addresses, role=role), node_timeout_ms=NODE_TIMEOUT_MS, watches_followers=True)
    with observer:
        return observer.observe()


def verdict(state: QuorumState) -> tuple[str, str | None, Any]:
    findings = check_health(state)
    seen = ObservedQuorum(state=state, findings=findings, is_broken=is_broken(state, findings))
    area = quorum_area(replace_quorum(seen), Target())
    return area.verdict, area.headline, area.counts["leader_id"]


def replace_quorum(seen: ObservedQuorum) -> Any:
    from tests.status.worlds import HEALTHY

    return replace(HEALTHY, quorum=seen)


def unreached(state: QuorumState) -> Finding:
    (found,) = [finding for finding in state.findings if finding.id == "leader-not-reached"]
    return found


def one_follower(quorum: Quorum, votes: tuple[int, int]) -> Address:
    quorum.controllers[FOLLOWER].ranges[VOTE] = votes
    return quorum.controllers[FOLLOWER].address


def test_voter_that_still_follows_after_its_fetch_timeout_proves_a_leader_out_of_reach() -> None:
    with running(Quorum(settings=SETTINGS, kraft_version=0, version=1), down=DEAD) as quorum:
        state = observed(one_follower(quorum, OLD))
    assert state.leader_out_of_reach
    assert "it leads out of reach, since controller 3 was observed to fetch from it" in unreached(state).message
    assert [voter.alive for voter in state.voters] == [None, None, True], "no silence is evidence then"
    assert verdict(state) == ("unknown", "the leader of the quorum was not reached: controller 2", None)


def test_voter_that_gives_its_leader_up_shows_that_none_leads() -> None:
    quorum = Quorum(settings=SETTINGS, kraft_version=0, version=1)
    with running(quorum, down=DEAD):
        asked: list[int] = []

        def follows(_: Any) -> Reply:
            asked.append(1)
            leader = (LEADER, 7) if len(asked) == 1 else (-1, 8)
            current = {"LeaderId": leader[0], "LeaderEpoch": leader[1]}
            return Reply(body={"Responses": [{"Partitions": [{"ErrorCode": 6, "CurrentLeader": current}]}]})

        quorum.overrides[FOLLOWER, "Fetch"] = follows
        state = observed(one_follower(quorum, OLD))
    assert not state.leader_out_of_reach
    assert "leader-not-reached" not in {finding.id for finding in state.findings}
    assert verdict(state) == ("problem", "no controller leads the quorum", -1)


def test_leader_that_is_elected_during_the_watch_is_asked() -> None:
    quorum = Quorum(settings=SETTINGS, kraft_version=0, version=1)
    with running(quorum, down=(LEADER,)):
        asked: list[int] = []

        def elects(_: Any) -> Reply:
            asked.append(1)
            if len(asked) > 1:
                quorum.leader_id, quorum.epoch = 1, 8
            current = {"LeaderId": quorum.leader_id, "LeaderEpoch": quorum.epoch}
            return Reply(body={"Responses": [{"Partitions": [{"ErrorCode": 6, "CurrentLeader": current}]}]})

        quorum.overrides[FOLLOWER, "Fetch"] = elects
        quorum.controllers[1].ranges[VOTE] = OLD
        state = observed(one_follower(quorum, OLD))
    assert (state.leader_id, state.leader_epoch, len(asked)) == (1, 8, 2)


@pytest.mark.parametrize(
    ("votes", "settings"),
    [
        (PRE_VOTE, SETTINGS),
        (OLD, {**SETTINGS, "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:2"}),
        (OLD, {**SETTINGS, "controller.quorum.fetch.timeout.ms": "60000"}),
    ],
    ids=["a voter of 4.0 keeps the leader that it lost", "so does an observer", "nor is a minute waited"],
)
def test_follower_that_may_have_lost_its_leader_proves_neither(
    votes: tuple[int, int], settings: dict[str, str]
) -> None:
    with running(Quorum(settings=settings, kraft_version=0, version=1), down=DEAD) as quorum:
        address = one_follower(quorum, votes)
        state = observed(address)
        place = str(quorum.endpoints[LEADER])
    finding = unreached(state)
    assert place in finding.evidence["addresses"]
    assert finding.message.endswith("it may have ended, or may lead out of reach")
    headline = "controller 2, which others follow, does not answer here: it has ended, or leads out of reach"
    assert verdict(state) == ("problem", headline, -1)


@pytest.mark.parametrize("names_itself", [True, False])
def test_node_that_runs_and_is_silent_at_its_own_address_makes_other_silence_uncertain(names_itself: bool) -> None:
    quorum = Quorum(settings={"controller.quorum.fetch.timeout.ms": "50"})
    if not names_itself:
        quorum.overrides[FOLLOWER, "DescribeConfigs"] = Reply(body={"Results": [{"ErrorCode": DENIED}]})
    with running(quorum, down=(1, LEADER, FOLLOWER)):
        with FakeBroker(quorum.controllers[FOLLOWER].script, versions=quorum.controllers[FOLLOWER].ranges) as forwarded:
            state = observed(forwarded.address)
        own = str(quorum.endpoints[FOLLOWER])
    assert state.leader_out_of_reach
    assert own in unreached(state).message
    assert {node.answers for id, node in state.nodes.items() if id != FOLLOWER} <= {None}
    assert verdict(state) == ("unknown", "the leader of the quorum was not reached: controller 2", None)


@pytest.mark.parametrize("role", list(Role))
def test_combined_node_left_alone_is_a_problem_by_its_broker_and_by_its_controller(role: Role) -> None:
    # The broker holds the question for the quorum, as it does while it cannot reach the leader.
    quorum = Quorum(settings={"process.roles": "broker,controller"})
    with running(quorum, brokers=(FOLLOWER,), down=DEAD):
        places = [str(at) for at in quorum.endpoints.values()]
        quorum.settings["controller.quorum.bootstrap.servers"] = ",".join(places)
        usual = quorum.brokers[FOLLOWER].script
        quorum.brokers[FOLLOWER].script = lambda asked: SILENCE if asked.name == "DescribeQuorum" else usual(asked)
        nodes = quorum.brokers if role is Role.BROKER else quorum.controllers
        state = observed(nodes[FOLLOWER].address, role=role)
    assert not state.leader_out_of_reach
    assert verdict(state)[0] == "problem"
