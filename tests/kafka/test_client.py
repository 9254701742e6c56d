"""The client against scripted clusters: who is asked, how often, and what is never sent twice."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import CLOSE, SILENCE, Action, Asked, FakeBroker, Reply
from kafkactl.core.errors import KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.kafka import client as clients
from kafkactl.kafka.attempts import Ask, SilentNodes, all_at_once
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.connection import Access, Connection
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.framing import Response

CONTROLLER = {52: (0, 2), 70: (0, 0)}
UPDATE = {"timeoutMs": 1000, "FeatureUpdates": []}
LIMITS = Limits(timeout_ms=3000, request_timeout_ms=400, backoff=Backoff(first_ms=1, rounds=3))


def quorum_answer(*, leads: bool, leader_id: int = 1) -> Reply:
    partition = {"PartitionIndex": 0, "ErrorCode": 0 if leads else 6, "LeaderId": leader_id}
    return Reply(body={"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [partition]}]})


class Controller(FakeBroker):
    """A controller that leads, or does not; answers to single requests can be set."""

    def __init__(self, *, leads: bool = False, answers: dict[str, Action] | None = None, **more: Any) -> None:
        self.leads = leads
        self.answers = answers or {}
        self.peers: list[tuple[int, FakeBroker]] = []
        self.active_id = -1
        super().__init__(self._answer, versions=CONTROLLER, **more)

    def _answer(self, asked: Asked) -> Action | None:
        if asked.name in self.answers:
            return self.answers[asked.name]
        if asked.name == "DescribeQuorum":
            return quorum_answer(leads=self.leads)
        if asked.name == "DescribeCluster":
            assert asked.body["EndpointType"] == 2
            nodes = [{"BrokerId": i, "Host": p.address.host, "Port": p.address.port} for i, p in self.peers]
            body = {"ClusterId": "c", "ControllerId": self.active_id, "Brokers": nodes, "EndpointType": 2}
            return Reply(body=body)
        return Reply(body={"ErrorCode": 0 if self.leads else 41}) if asked.name == "UpdateFeatures" else None


@contextlib.contextmanager
def running(*brokers: FakeBroker) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for broker in brokers:
            stack.enter_context(broker)
        yield


def client_of(*brokers: FakeBroker, role: Role = Role.CONTROLLER, limits: Limits = LIMITS) -> Client:
    return Client([broker.address for broker in brokers], role, limits=limits, randomness=lambda: 0.5)


def refused(act: Callable[[], object], kind: type[KafkactlError] = UnreachableError) -> KafkactlError:
    with pytest.raises(kind) as caught:
        act()
    return caught.value


def dead_address() -> Address:
    with FakeBroker() as gone:
        return gone.address


class TestTheActiveController:
    def test_is_found_among_the_bootstrap_controllers(self) -> None:
        first, second = Controller(), Controller(leads=True)
        with running(first, second), client_of(first, second) as client:
            assert client.find_leader() == second.address
            client.ask_active_controller("DescribeQuorum", {"Topics": []})
            assert first.names() == ["DescribeQuorum"], "the second question goes to the leader at once"

    def test_is_found_through_a_controller_that_knows_it(self) -> None:
        first, second, third = Controller(), Controller(), Controller(leads=True)
        first.peers, first.active_id = [(1, first), (2, second), (3, third)], 3
        with running(first, second, third), client_of(first) as client:
            assert client.find_leader() == third.address
            assert second.names() == []

    @pytest.mark.parametrize("describe", [None, Reply(body={"ErrorCode": 31}), Reply(body={"ErrorCode": 35}), CLOSE])
    def test_is_found_without_describe_cluster(self, describe: Action | None) -> None:
        first, second = Controller(), Controller(leads=True)
        if describe is None:
            del first.ranges[60]
        else:
            first.answers["DescribeCluster"] = describe
        with running(first, second), client_of(first, second) as client:
            assert client.find_leader() == second.address

    def test_dead_bootstrap_node_is_passed_over(self) -> None:
        leader = Controller(leads=True)
        with running(leader), Client([dead_address(), leader.address], Role.CONTROLLER, limits=LIMITS) as client:
            assert client.find_leader() == leader.address

    def test_silent_bootstrap_node_does_not_use_up_the_time(self) -> None:
        silent, leader = Controller(greeting=SILENCE), Controller(leads=True)
        with running(silent, leader), client_of(silent, leader) as client:
            began = time.monotonic()
            assert client.find_leader() == leader.address
            assert time.monotonic() - began < 30

    def test_silent_node_is_waited_for_shortly_where_others_can_be_asked(self, monkeypatch) -> None:
        # A paused controller in front of the leader cost each command with --from-cluster 30 s.
        monkeypatch.setattr(clients, "_CONTACT_MS", 100.0)
        silent, leader = Controller(greeting=SILENCE), Controller(leads=True)
        began = time.monotonic()
        with running(silent, leader), client_of(silent, leader, limits=Limits()) as client:
            assert client.find_leader() == leader.address
        assert time.monotonic() - began < 30

    def test_slow_node_is_waited_for_longer_each_time(self, monkeypatch) -> None:
        monkeypatch.setattr(clients, "_CONTACT_MS", 20.0)
        first, second = Controller(), Controller(leads=True, greeting=SILENCE)
        waits: list[float] = []
        connect = clients.connect

        def connected(address: Address, access: Access, deadline: Deadline) -> Connection:
            if address == second.address:
                waits.append(deadline.left_ms)
            second.greeting = None if len(waits) > 5 else SILENCE
            return connect(address, access, deadline)

        monkeypatch.setattr(clients, "connect", connected)
        limits = Limits(backoff=Backoff(first_ms=1, rounds=9))
        with running(first, second), client_of(first, second, limits=limits) as client:
            assert client.find_leader() == second.address
        assert waits[:6] == pytest.approx([20, 40, 80, 160, 320, 320], rel=0.4)

    def test_node_that_hangs_is_asked_last_from_then_on(self) -> None:
        # Else each call would wait for it again: a paused controller made a dry run of features take 35 s.
        hangs = Controller(leads=True, answers={"DescribeQuorum": SILENCE, "UpdateFeatures": SILENCE})
        leader = Controller(leads=True)
        with running(hangs, leader), client_of(hangs, leader) as client:
            assert client.find_leader() == leader.address
            asked = len(hangs.names())
            with client.sibling(Role.CONTROLLER, client.bootstrap) as other:
                other.ask_active_controller("UpdateFeatures", UPDATE)
            assert len(hangs.names()) == asked

    def test_node_that_answers_again_has_its_place_again(self) -> None:
        first, second = Controller(leads=True, answers={"DescribeQuorum": SILENCE}), Controller(leads=True)
        with running(first, second), client_of(first, second) as client:
            assert client.find_leader() == second.address
            first.answers.clear()
            client.versions([first.address])
            with client.sibling(Role.CONTROLLER, client.bootstrap) as other:
                assert other.find_leader() == first.address

    def test_none_leads(self) -> None:
        first, second = Controller(), Controller()
        with running(first, second), client_of(first, second) as client:
            error = refused(client.find_leader)
            assert (error.id, error.exit_code) == ("no-active-controller", 4)
            assert first.names().count("DescribeQuorum") == LIMITS.backoff.rounds

    def test_question_follows_a_leader_that_changes(self) -> None:
        first, second = Controller(leads=True), Controller()
        with running(first, second), client_of(first, second) as client:
            assert client.find_leader() == first.address
            first.leads, second.leads = False, True
            client.ask_active_controller("DescribeQuorum", {"Topics": []})
            assert client.find_leader() == second.address

    def test_broker_that_forwarded_to_yesterdays_leader_is_asked_again(self) -> None:
        answers = iter([quorum_answer(leads=False), quorum_answer(leads=True)])
        broker = FakeBroker(lambda asked: next(answers) if asked.name == "DescribeQuorum" else None)
        with broker, client_of(broker, role=Role.BROKER) as client:
            answer = client.ask_active_controller("DescribeQuorum", {"Topics": []})
        assert answer.body["Topics"][0]["Partitions"][0]["ErrorCode"] == 0


class TestChanges:
    def test_goes_to_the_leader_once(self) -> None:
        first, second = Controller(), Controller(leads=True)
        with running(first, second), client_of(first, second) as client:
            answer = client.ask_active_controller("UpdateFeatures", UPDATE, changes=True)
            assert answer.body["ErrorCode"] == 0
            assert (first.names() + second.names()).count("UpdateFeatures") == 1

    @pytest.mark.parametrize("action", [CLOSE, SILENCE, Reply(cut=5), Reply(correlation_id=99)])
    def test_lost_reply_is_unknown_and_not_sent_again(self, action: Action) -> None:
        leader = Controller(leads=True, answers={"UpdateFeatures": action})
        with running(leader), client_of(leader) as client:
            ask = lambda: client.ask_active_controller("UpdateFeatures", UPDATE, changes=True)  # noqa: E731
            error = refused(ask, UnknownOutcomeError)
            assert (error.id, error.exit_code) == ("reply-lost", 6)
            assert leader.names().count("UpdateFeatures") == 1

    def test_leader_that_lost_its_office_leaves_the_outcome_unknown(self) -> None:
        leader = Controller(leads=True, answers={"UpdateFeatures": Reply(body={"ErrorCode": 41})})
        with running(leader), client_of(leader) as client:
            ask = lambda: client.ask_active_controller("UpdateFeatures", UPDATE, changes=True)  # noqa: E731
            assert refused(ask, UnknownOutcomeError).id == "leadership-lost"
            assert leader.names().count("UpdateFeatures") == 1

    def test_broker_forwards_and_only_one_is_asked(self) -> None:
        first, second = FakeBroker(), FakeBroker()
        with running(first, second), client_of(first, second, role=Role.BROKER) as client:
            client.ask_active_controller("UpdateFeatures", UPDATE, changes=True)
            assert (first.names(), second.names()) == (["UpdateFeatures"], [])

    def test_broker_that_cannot_be_reached_is_passed_over_for_a_change_too(self) -> None:
        with FakeBroker() as broker:
            addresses = [dead_address(), broker.address]
            with Client(addresses, Role.BROKER, limits=LIMITS) as client:
                client.ask_active_controller("UpdateFeatures", UPDATE, changes=True)
                assert broker.names() == ["UpdateFeatures"]

    def test_hung_up_connection_is_noticed_before_a_change_is_sent(self) -> None:
        with FakeBroker() as broker, client_of(broker, role=Role.BROKER) as client:
            client.ask_any("DescribeCluster", {})
            broker.hang_up()
            time.sleep(0.05)
            client.ask_any("UpdateFeatures", UPDATE, changes=True)
            assert broker.connections == 2
            assert broker.names() == ["DescribeCluster", "UpdateFeatures"]


class TestQuestions:
    def test_are_asked_again_after_a_lost_answer(self) -> None:
        count = iter(range(10))

        def script(asked: Asked) -> Action | None:
            return CLOSE if asked.name == "DescribeCluster" and next(count) == 0 else None

        with FakeBroker(script) as broker, client_of(broker, role=Role.BROKER) as client:
            assert client.cluster().nodes == ()
            assert broker.names() == ["DescribeCluster", "SaslHandshake", "DescribeCluster"], "why, then once more"

    def test_stop_at_what_will_not_pass(self) -> None:
        broker = FakeBroker()
        del broker.ranges[60]
        with broker, client_of(broker, role=Role.BROKER) as client:
            assert refused(client.cluster).id == "request-not-supported"
            assert broker.connections == 1

    def test_no_answer_at_all_is_an_error_that_names_every_address(self) -> None:
        address, other = dead_address(), dead_address()
        error = refused(Client([address, other], Role.BROKER, limits=LIMITS).cluster)
        assert (error.id, error.exit_code) == ("connection-refused", 4)
        assert str(address) in error.message
        assert str(other) in (error.cause or "")

    @pytest.mark.parametrize(("role", "ranges"), [(Role.CONTROLLER, {}), (Role.BROKER, CONTROLLER)])
    def test_wrong_kind_of_port_is_reported(self, role: Role, ranges: dict[int, tuple[int, int]]) -> None:
        with FakeBroker(versions=ranges) as broker, client_of(broker, role=role) as client:
            error = refused(client.cluster)
            assert (error.id, error.exit_code) == ("wrong-endpoint-type", 4)
            assert "--bootstrap-" in (error.next_step or "")

    def test_brokers_of_the_cluster_are_listed(self) -> None:
        nodes = [
            {"BrokerId": 2, "Host": "b", "Port": 2, "Rack": "r", "IsFenced": True},
            {"BrokerId": 1, "Host": "a", "Port": 1},
        ]
        body = {"ClusterId": "abc", "ControllerId": 2, "Brokers": nodes}
        script = lambda asked: Reply(body=body) if asked.name == "DescribeCluster" else None  # noqa: E731
        with FakeBroker(script) as broker, client_of(broker, role=Role.BROKER) as client:
            view = client.cluster()
            assert [(node.id, str(node.address), node.rack, node.fenced) for node in view.nodes] == [
                (1, "a:1", None, False),
                (2, "b:2", "r", True),
            ]
            assert (view.cluster_id, view.node(3)) == ("abc", None)
            assert broker.asked[-1].body["IncludeFencedBrokers"]

    def test_wait_between_rounds_grows_with_jitter(self) -> None:
        waits: list[float] = []

        class Watch:
            def now_ms(self) -> float:
                return sum(waits)

            def sleep_ms(self, duration_ms: float) -> None:
                waits.append(duration_ms)

        deadline = Deadline.after(60_000, Watch())
        assert list(Backoff(rounds=6).each_round(deadline, lambda: 0.0)) == list(range(6))
        assert waits == [80, 160, 320, 640, 800]
        assert list(Backoff().each_round(Deadline.after(50, Watch()), lambda: 0.0)) == [0]


def question(client: Client, name: str, body: dict[str, Any]) -> Ask[Response]:
    return lambda address, _: client.ask_node(address, name, body)


def minute() -> Deadline:
    return Deadline.after(60_000, SystemClock())


class TestAllAtOnce:
    def test_every_node_has_an_answer_or_an_error(self) -> None:
        well, silent = Controller(leads=True), Controller(greeting=SILENCE)
        gone = dead_address()
        with running(well, silent), client_of(well) as client:
            began = time.monotonic()
            addresses = [well.address, silent.address, gone, well.address]
            found = all_at_once(addresses, question(client, "DescribeQuorum", {"Topics": []}), minute())
            assert time.monotonic() - began < 30
            assert list(found) == [well.address, silent.address, gone]
            ids = [
                answer.id if isinstance(answer, KafkactlError) else type(answer).__name__ for answer in found.values()
            ]
            assert ids == [Response.__name__, "connection-timed-out", "connection-refused"]

    def test_one_answer_is_enough_after_a_while(self) -> None:
        first, second = Address("a", 1), Address("b", 1)
        is_over = threading.Event()

        def ask(address: Address, _: Deadline) -> str:
            return "late" if address == second and is_over.wait(10) else "at once"

        found = all_at_once([second, first], ask, minute(), soon=Deadline.after(1, SystemClock()))
        is_over.set()
        assert found[first] == "at once"
        assert isinstance(late := found[second], UnreachableError) and late.id == "connection-timed-out"

    def test_node_that_was_silent_is_not_waited_for_before_it_answers(self) -> None:
        first, second = Address("a", 1), Address("b", 1)
        may_answer, questions = threading.Event(), list[Address]()

        def ask(address: Address, _: Deadline) -> str:
            questions.append(address)
            return "late" if address == second and may_answer.wait(30) else "at once"

        silent = SilentNodes()
        silent.add(second)
        for _ in range(3):
            found = all_at_once([second, first], ask, minute(), silent=silent)
            assert found[first] == "at once"
            assert isinstance(late := found[second], UnreachableError) and late.id == "connection-timed-out"
        assert questions.count(second) == 1, "its first question is still open"
        may_answer.set()
        until = time.monotonic() + 30
        while second in silent and time.monotonic() < until:
            time.sleep(0.01)
        assert list(all_at_once([second, first], ask, minute(), silent=silent).values()) == ["late", "at once"]

    def test_silent_node_is_waited_for_where_the_others_do_not_say_enough(self) -> None:
        first, second = Address("a", 1), Address("b", 1)
        is_over, questions = threading.Event(), list[Address]()

        def ask(address: Address, _: Deadline) -> str:
            questions.append(address)
            if address == first:
                return "follows"
            return "hangs" if questions.count(second) == 1 and is_over.wait(30) else "leads"

        silent = SilentNodes()
        silent.add(second)
        all_at_once([second, first], ask, minute(), silent=silent)
        found = all_at_once([second, first], ask, minute(), silent=silent, is_enough=lambda said: "leads" in said)
        assert found == {second: "leads", first: "follows"}
        assert second not in silent
        is_over.set()

    def test_node_without_an_answer_in_the_whole_time_is_silent(self) -> None:
        first, second = Address("a", 1), Address("b", 1)
        is_over = threading.Event()

        def ask(address: Address, _: Deadline) -> bool:
            return address == first or is_over.wait(30)

        silent = SilentNodes()
        all_at_once([first, second], ask, Deadline.after(1, SystemClock()), silent=silent)
        is_over.set()
        assert second in silent and first not in silent

    def test_contact_that_takes_longer_goes_on_and_is_used(self) -> None:
        is_asked = threading.Event()

        def slowly(asked: Asked) -> Action | None:
            return None if asked.name != "ApiVersions" or is_asked.wait(10) else CLOSE

        slow, well = FakeBroker(slowly), FakeBroker()
        with running(slow, well), client_of(slow, well, role=Role.BROKER, limits=Limits()) as client:
            found = client.versions(client.bootstrap, soon_ms=1)
            assert isinstance(found[slow.address], UnreachableError)
            assert client.cluster() and well.names() == ["DescribeCluster"], "the slow one is asked last"
            is_asked.set()
            client.ask_node(slow.address, "DescribeCluster", {})
            assert (slow.connections, slow.names()) == (1, ["DescribeCluster"])

    def test_contact_that_goes_on_ends_with_the_client(self, monkeypatch: pytest.MonkeyPatch) -> None:
        is_closed, made = threading.Event(), threading.Event()
        opened: list[Connection] = []
        connect = clients.connect

        def connected(address: Address, access: Access, deadline: Deadline) -> Connection:
            connection = connect(address, access, deadline)
            if address == slow.address and is_closed.wait(10):
                opened.append(connection)
                monkeypatch.setattr(connection, "close", lambda close=connection.close: (close(), made.set()))
            return connection

        monkeypatch.setattr(clients, "connect", connected)
        slow, well = FakeBroker(), FakeBroker()
        with running(slow, well):
            with client_of(slow, well, role=Role.BROKER, limits=Limits()) as client:
                client.versions(client.bootstrap, soon_ms=1)
            is_closed.set()
            assert made.wait(10) and opened

    def test_versions_are_those_of_now(self) -> None:
        with Controller(finalized={"metadata.version": 7}) as node, client_of(node) as client:
            client.versions([node.address])
            node.finalized = {"metadata.version": 8}
            (versions,) = client.versions([node.address]).values()
            assert not isinstance(versions, KafkactlError)
            assert versions.finalized == {"metadata.version": 8}
            assert node.connections == 1

    def test_bug_in_a_thread_is_not_swallowed(self) -> None:
        with FakeBroker() as broker, client_of(broker, role=Role.BROKER) as client:
            with pytest.raises(KafkactlError) as caught:
                ask = question(client, "DescribeCluster", {"Nonsense": 1})
                for answer in all_at_once([broker.address], ask, minute()).values():
                    assert isinstance(answer, KafkactlError)
                    raise answer
            assert caught.value.id == "no-such-field"

    def test_separate_connection_is_opened(self) -> None:
        with FakeBroker() as broker, client_of(broker, role=Role.BROKER) as client:
            client.ask_any("DescribeCluster", {})
            with client.open_connection(broker.address):
                assert broker.connections == 2


def test_repr_of_access_has_no_secret() -> None:
    assert "Access(" in repr(Access())
