"""The quorum as several nodes tell it: with a leader, without, in part, against each other, and from liars."""

from __future__ import annotations

import threading
import time

import pytest

from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.cluster.quorum.observation import DiskSeen
from kafkactl.cluster.quorum.state import Mode, QuorumState
from kafkactl.commands.demo.broker import CLOSE, SILENCE, FakeBroker, Raw, Reply
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.attempts import SilentNodes
from kafkactl.kafka.client import Client
from kafkactl.net.transport import Address
from kafkactl.quorum.health import check_health, is_broken
from tests.kafka.quorum_nodes import (
    CLUSTER_ID,
    DENIED,
    INVALID_REQUEST,
    NOT_LEADER,
    Quorum,
    client_at,
    directory,
    quorum_body,
    running,
)

NODE_TIMEOUT_MS = 1_500.0


def look(quorum: Quorum, *ids: int, role: Role = Role.CONTROLLER, **changes) -> QuorumState:
    return look_with(quorum.client(*ids, role=role), **changes)


def look_at(*addresses: Address) -> QuorumState:
    return look_with(client_at(*addresses))


def look_with(client: Client, **changes) -> QuorumState:
    with client, QuorumObserver(client, node_timeout_ms=NODE_TIMEOUT_MS) as observer:
        return observer.observe(**changes)


def ids(findings) -> set[str]:
    return {finding.id for finding in findings}


@pytest.mark.parametrize("start", [(1,), (2,), (1, 2, 3)])
def test_any_controller_leads_to_the_leader_and_to_all_the_others(start):
    with running(Quorum(observers=(11,))) as quorum:
        state = look(quorum, *start)
    assert (state.cluster_id, state.leader_id, state.leader_epoch, state.high_watermark) == (CLUSTER_ID, 2, 7, 995)
    assert (state.mode, state.kraft_version, state.majority, state.tolerates) == (Mode.DYNAMIC, 1, 2, 1)
    assert [(voter.id, voter.alive, voter.directory_id) for voter in state.voters] == [
        (id, True, directory(id)) for id in (1, 2, 3)
    ]
    assert [observer.id for observer in state.observers] == [11]
    assert {id: (node.answers, node.role) for id, node in state.nodes.items()} == dict.fromkeys(
        (1, 2, 3), (True, Role.CONTROLLER)
    )
    assert {(probe.endpoint.port, probe.node_id) for probe in state.probes} == {
        (at.port, id) for id, at in quorum.endpoints.items()
    }
    assert check_health(state) == ()


def test_through_a_broker_the_controllers_are_asked_too():
    with running(Quorum(), brokers=(21,)) as quorum:
        state = look(quorum, role=Role.BROKER)
    assert (state.leader_id, state.cluster_id, state.kraft_version) == (2, CLUSTER_ID, 1)
    assert {id for id, node in state.nodes.items() if node.role is Role.CONTROLLER} == {1, 2, 3}
    assert check_health(state) == ()


def test_unreachable_controllers_leave_the_brokers_view():
    with running(Quorum(), brokers=(21,), down=(1, 2, 3)) as quorum:
        broker = str(quorum.brokers[21].address)
        state = look(quorum, role=Role.BROKER)
    assert (state.leader_id, state.kraft_version, state.sources["kraft_version"]) == (2, 1, broker)
    assert [voter.alive for voter in state.voters] == [None, True, None], "one look shows nobody fetch"
    assert (state.nodes, state.probes) == ({}, ())
    assert ids(check_health(state)) == {"controllers-out-of-reach"}


def test_unreachable_broker_does_not_hide_the_controllers():
    with running(Quorum(kraft_version=0, version=1), brokers=(21,)) as quorum:
        broker = quorum.brokers[21].address
        state = look_with(client_at(Address("127.0.0.1", 1), broker, role=Role.BROKER))
    assert (state.leader_id, ids(check_health(state))) == (2, {"bootstrap-node-silent"})


def test_combined_nodes_are_controllers():
    with running(Quorum(observers=(4,)), brokers=(1, 2, 21)) as quorum:
        state = look(quorum, role=Role.BROKER)
    assert {id: node.role for id, node in state.nodes.items()} == dict.fromkeys((1, 2, 3, 4), Role.CONTROLLER)


def test_dead_voter_is_found_by_the_leaders_clock():
    with running(Quorum(ages_ms={3: 60_000}), down=(3,)) as quorum:
        state = look(quorum, 1, 2)
    assert [voter.alive for voter in state.voters] == [True, True, False]
    assert (state.tolerates, state.nodes[3].answers) == (0, False)
    found = check_health(state)
    assert ids(found) == {"voter-is-dead"}
    assert not is_broken(state, found)


def test_fetch_timeout_of_the_leader_limits_the_silence_of_a_voter():
    with running(Quorum(ages_ms={3: 9_000}, settings={"controller.quorum.fetch.timeout.ms": "5000"})) as quorum:
        assert look(quorum).voters[2].alive is True
        quorum.ages_ms = {3: 11_000}
        assert look(quorum).voters[2].alive is False


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("false", False), (None, False)])
def test_auto_join_is_read_from_the_settings(value, expected):
    settings = {} if value is None else {"controller.quorum.auto.join.enable": value}
    with running(Quorum(settings=settings)) as quorum:
        assert {node.auto_join for node in look(quorum).nodes.values()} == {expected}


def test_before_3_9_the_quorum_is_static_and_names_no_directory():
    with running(Quorum(kraft_version=0, version=1), brokers=(21,)) as quorum:
        state = look(quorum, role=Role.BROKER)
        direct = look(quorum)
    assert (state.mode, state.kraft_version) == (direct.mode, direct.kraft_version) == (Mode.STATIC, 0)
    assert {voter.directory_id for voter in state.voters} == {None}
    assert state.nodes == {}  # a broker of 3.8 does not know the endpoints of controllers


def test_directory_ids_in_a_static_quorum_are_not_shown():
    quorum = Quorum(kraft_version=0)
    shown = [quorum._replica(id, 2) | {"ReplicaDirectoryId": directory(id)} for id in (1, 2, 3)]
    quorum.overrides[2, "DescribeQuorum"] = Reply(body=quorum_body(leader=2, epoch=7, voters=shown))
    with running(quorum):
        assert {voter.directory_id for voter in look(quorum, 2).voters} == {None}


def test_port_without_a_listener_is_found():
    with running(Quorum(endpoints={3: Address("127.0.0.1", 1)})) as quorum:
        state = look(quorum)
    found = check_health(state)
    assert ids(found) == {"voter-endpoint-silent", "voter-endpoint-not-registered"}
    assert {finding.subject for finding in found} == {"controller 3"}


def test_other_spelling_of_a_registered_address_is_equal():
    with running(Quorum()) as quorum:
        quorum.endpoints[3] = Address("127.1", quorum.endpoints[3].port)
        assert check_health(look(quorum)) == ()


def test_port_where_another_controller_answers_is_found():
    with running(Quorum()) as quorum:
        quorum.endpoints[3] = quorum.endpoints[1]
        found = check_health(look(quorum))
    assert ids(found) == {"voter-endpoint-of-another", "voter-endpoint-not-registered"}
    assert {finding.subject for finding in found} == {"controller 3"}


def test_port_of_a_broker_in_the_voter_set_is_found():
    with running(Quorum(), brokers=(21,)) as quorum:
        quorum.endpoints[3] = quorum.brokers[21].address
        assert "voter-endpoint-of-another" in ids(check_health(look(quorum)))


def test_port_of_another_cluster_in_the_voter_set_is_found():
    with running(Quorum()) as quorum, running(Quorum(cluster_id="AAAAAAAAAAAAAAAAAAAAEQ")) as other:
        quorum.endpoints[3] = other.endpoints[3]
        found = check_health(look(quorum))
    assert "voter-endpoint-of-another" in ids(found)


def test_without_a_leader_every_controller_is_asked_whom_it_follows():
    with running(Quorum(leader_id=9, epoch=12), down=(3,)) as quorum:
        state = look(quorum, 1)
    assert (state.leader_id, state.leader_epoch, state.high_watermark) == (-1, 12, None)
    assert {id: (node.answers, node.leader_id) for id, node in state.nodes.items()} == {
        1: (True, 9), 2: (True, 9), 3: (False, None),
    }  # fmt: skip
    assert (state.voters, state.tolerates, state.to_dict()["majority"]) == ((), None, None)
    found = check_health(state)
    assert {"no-quorum-leader", "voters-not-known"} <= ids(found)
    assert is_broken(state, found)


def test_without_a_leader_a_static_quorum_has_its_configured_voters():
    with running(Quorum(kraft_version=0, leader_id=9), down=(2, 3)) as quorum:
        entries = ",".join(f"{id}@{at}" for id, at in quorum.endpoints.items())
        quorum.settings["controller.quorum.voters"] = entries
        state = look(quorum, 1)
    assert [(voter.id, voter.alive) for voter in state.voters] == [(1, True), (2, False), (3, False)]
    assert (state.leader_id, state.majority, state.tolerates) == (-1, 2, -1)
    assert state.sources["voters"] == "controller.quorum.voters"


def test_without_a_leader_a_dynamic_quorum_has_the_voters_of_a_disk():
    from kafkactl.cluster.quorum.voter_sets import Voter

    voters = tuple(Voter(node_id=id, directory_id=directory(id), endpoints=()) for id in (1, 2, 3))
    disk = DiskSeen(path="/c1", node_id=1, cluster_id=CLUSTER_ID, directory_id=directory(1), voters=voters)
    with running(Quorum(leader_id=9), down=(2, 3)) as quorum:
        state = look(quorum, 1, disks=[disk])
    assert [(voter.id, voter.alive) for voter in state.voters] == [(1, True), (2, False), (3, False)]
    assert (state.tolerates, state.sources["voters"]) == (-1, "the log in /c1")


def test_broker_that_waits_for_a_leader_names_the_controllers():
    quorum = Quorum(leader_id=9, overrides={(21, "DescribeQuorum"): SILENCE})
    with running(quorum, brokers=(21,), down=(3,)):
        servers = ",".join(str(at) for at in quorum.endpoints.values())
        quorum.settings["controller.quorum.bootstrap.servers"] = servers
        state = look(quorum, role=Role.BROKER)
    assert (state.leader_id, state.cluster_id) == (-1, CLUSTER_ID)
    assert {id: node.answers for id, node in state.nodes.items() if id != 21} == {1: True, 2: True, 3: False}


def test_broker_that_cannot_reach_the_leader_is_named_as_a_broker():
    quorum = Quorum(overrides={(21, "DescribeQuorum"): SILENCE})
    with running(quorum, brokers=(21, 22)):
        state = look(quorum, role=Role.BROKER)
        at = str(quorum.brokers[21].address)
    assert state.leader_id == 2
    (waiting,) = state.findings
    assert (waiting.id, waiting.subject) == ("broker-waits-for-leader", "broker 21")
    assert waiting.evidence == {"address": at, "error": "connection-timed-out"}
    assert "holds it while it cannot reach one" in waiting.message


@pytest.mark.parametrize("brokers", [(21,), (21, 22)])
def test_quorum_that_brokers_may_not_describe_is_not_one_without_a_leader(brokers: tuple[int, ...]):
    quorum = Quorum(overrides={(id, "DescribeQuorum"): Reply(body={"ErrorCode": DENIED}) for id in brokers})
    with running(quorum, brokers=brokers), pytest.raises(UnreachableError) as caught:
        look(quorum, role=Role.BROKER)
    assert caught.value.id == "not-authorised"


def test_controllers_are_asked_together_with_all_brokers_if_one_waits(monkeypatch: pytest.MonkeyPatch):
    asked: list[set[Address]] = []
    visit_all = QuorumObserver._visit_all

    def recorded(observer, places, **options):
        asked.append(set(places))
        return visit_all(observer, places, **options)

    monkeypatch.setattr(QuorumObserver, "_visit_all", recorded)
    quorum = Quorum(overrides={(id, "DescribeQuorum"): SILENCE for id in (21, 22, 23)})
    with running(quorum, brokers=(21, 22, 23)):
        quorum.settings["controller.quorum.bootstrap.servers"] = ",".join(map(str, quorum.endpoints.values()))
        state = look(quorum, role=Role.BROKER)
        first, *rest = (quorum.brokers[id].address for id in (21, 22, 23))
        others = set(rest)
    assert (state.leader_id, state.tolerates) == (2, 1)
    assert {finding.subject for finding in state.findings} == {
        "broker 21", *(f"broker {address}" for address in others)
    }  # fmt: skip
    together = next(addresses for addresses in asked if others <= addresses)
    controllers = set(map(str, quorum.endpoints.values()))
    assert {str(address) for address in together - others} == {*controllers, str(first)}


def test_controllers_configured_with_different_voters_are_reported():
    def configured(text):
        def answer(asked):
            if asked.body["Resources"][0]["ResourceName"] not in ("1", "2"):
                return None
            name = asked.body["Resources"][0]["ResourceName"]
            configs = [{"Name": "controller.quorum.voters", "Value": text}]
            return Reply(body={"Results": [{"ResourceType": 4, "ResourceName": name, "Configs": configs}]})

        return answer

    overrides = {
        (1, "DescribeConfigs"): configured("1@a:1,2@b:1"), (2, "DescribeConfigs"): configured("1@a:1,3@c:1"),
    }  # fmt: skip
    with running(Quorum(kraft_version=0, overrides=overrides)) as quorum:
        assert "configured-voters-differ" in ids(check_health(look(quorum)))


def test_of_two_leaders_the_one_of_the_newer_epoch_counts():
    old = quorum_body(leader=1, epoch=6, voters=[Quorum()._replica(id, 2) for id in (1, 2, 3)])
    with running(Quorum(overrides={(1, "DescribeQuorum"): Reply(body=old)})) as quorum:
        state = look(quorum)
    assert (state.leader_id, state.leader_epoch) == (2, 7)
    assert ids(check_health(state)) == {"superseded-leader"}


def test_controller_of_another_cluster_does_not_answer_for_a_dead_one_of_its_id():
    other_id = "AAAAAAAAAAAAAAAAAAAAEQ"
    with running(Quorum(), down=(3,)) as quorum, running(Quorum(cluster_id=other_id, epoch=99)) as other:
        stranger = other.controllers[3].address
        state = look_at(quorum.controllers[1].address, stranger)
    assert (state.cluster_id, state.nodes[3].answers, state.voters[2].alive) == (CLUSTER_ID, False, None)
    found = [finding for finding in state.findings if finding.id == "node-of-another-cluster"]
    assert str(stranger) in {finding.subject for finding in found}
    assert {finding.evidence["cluster_id"] for finding in found} == {other_id}


def test_controllers_of_two_clusters_are_not_mixed():
    with running(Quorum()) as quorum, running(Quorum(cluster_id="AAAAAAAAAAAAAAAAAAAAEQ", epoch=99)) as other:
        state = look_at(quorum.controllers[1].address, other.controllers[2].address)
    assert (state.cluster_id, state.leader_epoch) == (CLUSTER_ID, 7)
    assert "node-of-another-cluster" in ids(check_health(state))


def test_denied_question_is_unknown_and_reported():
    denied = {
        "DescribeCluster": Reply(body={"ErrorCode": DENIED}),
        "DescribeConfigs": Reply(body={"Results": [{"ErrorCode": DENIED, "ResourceType": 4, "ResourceName": "0"}]}),
    }
    overrides = {(id, name): reply for id in (1, 2, 3) for name, reply in denied.items()}
    with running(Quorum(overrides=overrides)) as quorum:
        state = look(quorum, 2)
    assert (state.cluster_id, state.leader_id, state.tolerates) == (None, 2, None)
    assert {node.auto_join for node in state.nodes.values()} == {None}
    assert {probe.node_id for probe in state.probes} == {None}
    found = [finding for finding in state.findings if finding.id == "question-denied"]
    assert {finding.subject for finding in found} == set(denied)
    assert not is_broken(state, check_health(state))


@pytest.mark.parametrize(("refusing", "step"), [((1,), "super.users"), ((1, 3), "super.users")])
def test_question_that_some_controllers_deny_leads_to_their_files(refusing, step):
    refusal = Reply(body=quorum_body(top=DENIED))
    overrides = {(id, "DescribeQuorum"): refusal for id in refusing}
    with running(Quorum(overrides=overrides)) as quorum:
        state = look(quorum, 2)
    (found,) = [finding for finding in state.findings if finding.id == "question-denied"]
    assert step in found.next_step and "kafka-acls.sh" not in found.next_step
    assert len(found.evidence["addresses"]) == len(refusing)


def test_absence_of_a_leader_is_not_claimed_where_the_question_is_refused():
    refusal = Reply(body=quorum_body(top=DENIED))
    overrides = {(id, "DescribeQuorum"): refusal for id in (1, 2, 3)}
    with running(Quorum(overrides=overrides)) as quorum, pytest.raises(UnreachableError) as caught:
        look(quorum)
    assert caught.value.id == "not-authorised"


def test_leader_that_only_others_can_see_is_reported():
    with running(Quorum(epoch=12), down=(2,)) as quorum:
        state = look(quorum, 1, 3)
    assert state.leader_id == -1
    (found,) = [finding for finding in state.findings if finding.id == "leader-not-reached"]
    assert (found.subject, found.evidence["leader_epoch"]) == ("controller 2", 12)


def test_leader_whose_connection_was_lost_is_asked_once_more():
    lost: list[str] = []

    def at_first(asked):
        lost.append(asked.name)
        return CLOSE if len(lost) == 1 else None

    with running(Quorum(epoch=12)) as quorum:
        script = quorum.controllers[2].script
        quorum.controllers[2].script = lambda asked: at_first(asked) or script(asked)
        state = look(quorum, 1, 2, 3)
    assert (state.leader_id, lost[0], is_broken(state, check_health(state))) == (2, "ApiVersions", False)


def test_leader_that_is_elected_during_the_observation_is_found():
    asked_before: list[str] = []

    def not_yet(asked):
        asked_before.append(asked.name)
        is_first = asked.name == "DescribeQuorum" and asked_before.count(asked.name) == 1
        return Reply(body=quorum_body(error=NOT_LEADER)) if is_first else None

    with running(Quorum(epoch=12)) as quorum:
        script = quorum.controllers[2].script
        quorum.controllers[2].script = lambda asked: not_yet(asked) or script(asked)
        state = look(quorum, 1, 2, 3)
    assert (state.leader_id, state.leader_epoch, is_broken(state, check_health(state))) == (2, 12, False)


def test_leader_out_of_reach_is_not_called_absent():
    with running(Quorum(epoch=12), down=(2,)) as quorum:
        findings = check_health(look(quorum, 1, 3))
    (found,) = [finding for finding in findings if finding.id == "no-quorum-leader"]
    assert found.message.startswith("no controller that answered leads the quorum")


def test_silent_bootstrap_node_is_reported_and_the_others_answer():
    with running(Quorum()) as quorum:
        state = look_at(Address("127.0.0.1", 1), quorum.controllers[1].address)
    assert (state.leader_id, ids(state.findings)) == (2, {"bootstrap-node-silent"})


@pytest.mark.parametrize(
    ("greeting", "error"),
    [
        (Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not-kafka"),
        (CLOSE, "connection-closed"),
        (SILENCE, "connection-timed-out"),
    ],
)
def test_port_without_kafka_is_unreachable(greeting, error):
    with FakeBroker(greeting=greeting) as node, pytest.raises(UnreachableError) as caught:
        look_at(node.address)
    assert caught.value.id == error


def test_every_silent_address_is_named():
    with FakeBroker(greeting=SILENCE) as paused:
        address = paused.address
        with pytest.raises(UnreachableError) as caught:
            look_at(Address("127.0.0.1", 1), address)
    assert caught.value.message == "nothing listens on 127.0.0.1:1"
    assert caught.value.cause == f"{address} did not answer in time"


def test_disks_answer_where_no_node_does():
    disk = DiskSeen(path="/c1", node_id=1, cluster_id=CLUSTER_ID, leader_epoch=3, static_voters=(1, 2), kraft_version=0)
    with running(Quorum(), down=(1,)) as quorum:
        state = look_with(client_at(quorum.endpoints[1]), disks=[disk])
    assert (state.leader_id, state.leader_epoch, [voter.id for voter in state.voters]) == (-1, 3, [1, 2])


def test_brokers_port_named_as_a_controllers_is_refused():
    with running(Quorum(), brokers=(21,)) as quorum, pytest.raises(UnreachableError) as caught:
        look_at(quorum.brokers[21].address)
    assert caught.value.id == "wrong-endpoint-type"


@pytest.mark.parametrize(
    "answer",
    [
        Reply(body={"ErrorCode": 0, "Topics": [], "Nodes": []}),
        Reply(body={"ErrorCode": 0, "Topics": [{"TopicName": "__cluster_metadata", "Partitions": []}], "Nodes": []}),
        Reply(body=quorum_body(error=-1)),
        Reply(body=quorum_body(error=3)),
        Reply(cut=11),
        Raw(b"\x00\x00\x00\x04\xff\xff\xff\xff"),
        Raw(b"\x7f\xff\xff\xff"),
        CLOSE,
        SILENCE,
    ],
    ids=[
        "no-topic",
        "no-partition",
        "unknown-error",
        "unknown-topic",
        "cut",
        "correlation",
        "huge",
        "closed",
        "silent",
    ],
)
def test_leader_that_answers_nonsense_is_not_a_leader(answer):
    with running(Quorum(overrides={(2, "DescribeQuorum"): answer})) as quorum:
        state = look(quorum)
    assert state.leader_id == -1
    assert "controller-not-asked" in ids(state.findings)


@pytest.mark.parametrize(
    "words", ["", "expected  or empty", f"expected {2**80} or empty string", "Unexpected broker id, expected 3 or"]
)
def test_node_without_an_identity_has_no_id(words):
    result = {"ErrorCode": INVALID_REQUEST, "ErrorMessage": words, "ResourceType": 4, "ResourceName": "0"}
    override = {(2, "DescribeConfigs"): Reply(body={"Results": [result]})}
    with running(Quorum(overrides=override)) as quorum:
        state = look(quorum, 1)
    assert state.leader_id == 2
    assert [probe.node_id for probe in state.probes if probe.endpoint.port == quorum.endpoints[2].port] == [None]


def test_observer_keeps_its_connections_and_sees_what_changes():
    with (
        running(Quorum()) as quorum,
        quorum.client() as client,
        QuorumObserver(client, node_timeout_ms=NODE_TIMEOUT_MS) as observer,
    ):
        assert observer.observe().leader_id == 2
        quorum.leader_id, quorum.epoch = 3, 8
        state = observer.observe()
        assert (state.leader_id, state.leader_epoch) == (3, 8)
        assert {node.connections for node in quorum.controllers.values()} == {1}
        quorum.controllers[1].hang_up()
        assert observer.observe().nodes[1].answers is True
        assert quorum.controllers[1].connections == 2


LONG_MS = 60_000.0


@pytest.mark.parametrize("named", [(1, 2, 3), (2,)])
def test_voter_that_was_silent_does_not_delay_an_observation_with_a_leader(named):
    # The timeout does not depend on a name at the start or in the voter set.
    silent = SilentNodes()
    is_over = threading.Event()
    with (
        running(Quorum(overrides={(3, "DescribeCluster"): lambda _: is_over.wait(30) and None})) as quorum,
        quorum.client(*named, timeout_ms=LONG_MS) as client,
        QuorumObserver(client, node_timeout_ms=LONG_MS, silent=silent) as observer,
    ):
        silent.add(quorum.controllers[3].address)
        began = time.monotonic()
        assert [observer.observe().nodes[3].answers for _ in range(3)] == [False] * 3
        assert time.monotonic() - began < 30
        is_over.set()
        while quorum.controllers[3].address in silent and time.monotonic() - began < 60:
            time.sleep(0.01)
        assert observer.observe().nodes[3].answers is True


def test_silent_node_that_is_elected_is_found():
    # If the others name no leader it is waited for.
    silent = SilentNodes()
    with (
        running(Quorum(leader_id=3, late_s={3: 0.6})) as quorum,
        quorum.client() as client,
        QuorumObserver(client, node_timeout_ms=10_000, silent=silent) as observer,
    ):
        silent.add(quorum.controllers[3].address)
        assert observer.observe().leader_id == 3


@pytest.mark.parametrize("silent_ids", [(11,), (12,), (11, 12)])
def test_broker_that_was_silent_is_asked_together_with_the_next_one(silent_ids):
    silent = SilentNodes()
    is_over = threading.Event()
    hang = {(id, "DescribeCluster"): lambda _: is_over.wait(30) and None for id in silent_ids}
    with (
        running(Quorum(overrides=hang), brokers=(11, 12, 13)) as quorum,
        quorum.client(role=Role.BROKER, timeout_ms=LONG_MS) as client,
        QuorumObserver(client, node_timeout_ms=LONG_MS, silent=silent) as observer,
    ):
        for id in silent_ids:
            silent.add(quorum.brokers[id].address)
        began = time.monotonic()
        state = observer.observe()
        assert time.monotonic() - began < 30
        is_over.set()
        assert state.leader_id == 2
        assert ids(state.findings) == {"bootstrap-node-silent"}
        assert {finding.subject for finding in state.findings} == {str(quorum.brokers[id].address) for id in silent_ids}


def test_formerly_silent_broker_is_asked_first():
    silent = SilentNodes()
    with (
        running(Quorum(), brokers=(11, 12)) as quorum,
        quorum.client(role=Role.BROKER) as client,
        QuorumObserver(client, node_timeout_ms=NODE_TIMEOUT_MS, silent=silent) as observer,
    ):
        for broker in quorum.brokers.values():
            silent.add(broker.address)
        assert observer.observe().leader_id == 2
        assert quorum.brokers[12].connections == 0
