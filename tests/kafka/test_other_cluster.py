"""Addresses that belong to another cluster than the one that a change was planned for: nothing is sent there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.cluster.api.unregister import observe_and_plan, unregister_node
from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.commands.demo.broker import Action, Asked, Reply
from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.features.api.change import LiveFeatures, change_features
from kafkactl.features.change.results import update_features_request
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.files.journal import open_journal
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.framing import Response
from kafkactl.quorum.change.goals import reassignment
from kafkactl.quorum.change.ports import QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out
from kafkactl.quorum.io.live_quorum import LiveQuorum
from kafkactl.quorum.step import Action as Does
from kafkactl.quorum.step import Step
from tests.fakes.faulty_quorum import FaultyQuorum
from tests.fakes.proxy import Fault
from tests.fakes.scaled_clock import ScaledClock
from tests.kafka.fault_cases import KEYS
from tests.kafka.unregistering_cluster import DEAD_CONTROLLER, UnregisteringCluster

LIMITS = Limits(timeout_ms=30_000, request_timeout_ms=5_000, backoff=Backoff(first_ms=5, rounds=3))
OTHER = "b3RoZXItY2x1c3Rlci0xMg"
RAISE = FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 25})


class PassingQuorum(FakeQuorum):
    """Quorum whose addresses pass to another cluster at one request; `tells` False: as controllers before 3.7."""

    def __init__(self, passes_at: str = "", *, describes: bool = True) -> None:
        super().__init__(controllers=2, voters=(1, 2), metadata_version=20)
        self.passes_at, self.describes = passes_at, describes

    def answer(self, asked: Asked, node_id: int) -> Action | None:
        if asked.name == "DescribeCluster" and not self.describes:
            return Reply(body={"ErrorCode": 35})
        if asked.name == "Fetch" and asked.body.get("ClusterId") not in (None, self.cluster_id):
            return Reply(body={"ErrorCode": 104})
        answer = super().answer(asked, node_id)
        if asked.name == self.passes_at:
            self.cluster_id, self.passes_at = OTHER, ""
        return answer


def client_of(quorum: FakeQuorum) -> Client:
    return Client(quorum.addresses, Role.CONTROLLER, limits=LIMITS, randomness=lambda: 0.5)


@pytest.fixture(params=[True, False], ids=["described", "only-by-fetch"])
def passing(request: pytest.FixtureRequest) -> Iterator[PassingQuorum]:
    with PassingQuorum(describes=request.param) as quorum:
        yield quorum


def test_change_leaves_only_to_the_cluster_that_it_was_planned_for(passing: PassingQuorum) -> None:
    body = update_features_request(RAISE.levels, UpgradeType.UPGRADE, validate_only=False, timeout_ms=1_000)
    meant = passing.cluster_id
    with client_of(passing) as client:
        passing.cluster_id = OTHER
        with pytest.raises(RefusedError, match=meant) as caught:
            client.ask_active_controller("UpdateFeatures", body, changes=True, cluster_id=meant)
        assert (caught.value.id, caught.value.exit_code, passing.effects) == ("cluster-id-mismatch", 3, [])
        client.ask_active_controller("UpdateFeatures", body, changes=True, cluster_id=OTHER)
        assert len(passing.effects) == 1


def test_levels_of_another_cluster_are_not_changed_after_the_dry_run() -> None:
    with PassingQuorum() as quorum, client_of(quorum) as client:
        port = LiveFeatures(client)
        port.observe(RAISE)
        port.validate(RAISE.levels, UpgradeType.UPGRADE)
        quorum.cluster_id = OTHER
        with pytest.raises(RefusedError, match=OTHER):
            port.send(RAISE.levels, UpgradeType.UPGRADE)
        with pytest.raises(RefusedError, match=OTHER):
            port.observe(RAISE)
        assert quorum.effects == []


def test_change_of_levels_ends_as_refused_where_the_addresses_pass_on() -> None:
    with PassingQuorum("UpdateFeatures") as quorum, client_of(quorum) as client:
        deadline = Deadline.after(30_000, client.clock)
        try:
            outcome = change_features(client, RAISE, deadline=deadline, tell=lambda event: None).plan.outcome
        except RefusedError as error:
            assert error.id == "cluster-id-mismatch"
        else:
            assert outcome is Outcome.REFUSED  # the nodes were seen to be others before the request
        assert quorum.effects == []


def test_conversion_is_not_sent_to_another_cluster() -> None:
    convert = Step(
        number=1, action=Does.UPGRADE, key=None, voters_before=frozenset(), voters_after=frozenset(), alive=frozenset()
    )
    with PassingQuorum() as quorum, client_of(quorum) as client, LiveQuorum(client) as world:
        world.observe_nodes()
        quorum.cluster_id = OTHER
        with pytest.raises(RefusedError, match=OTHER):
            world.send(convert, ())
        assert quorum.effects == []


@pytest.mark.parametrize("when", ["before-the-look", "before-the-request"])
def test_node_of_another_cluster_is_not_unregistered(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = UnregisteringCluster()
    with cluster.client(Role.CONTROLLER) as client:
        view, plan = observe_and_plan(client, DEAD_CONTROLLER, None)
        assert plan.outcome is Outcome.PLANNED
        ask = client.ask_active_controller

        def ask_after_passing(*words: Any, **more: Any) -> Response:
            cluster.cluster_id = OTHER if more.get("changes") else cluster.cluster_id
            return ask(*words, **more)

        monkeypatch.setattr(client, "ask_active_controller", ask_after_passing)
        if when == "before-the-look":
            cluster.cluster_id = OTHER
        with pytest.raises(RefusedError, match=OTHER):
            unregister_node(client, plan, view.state)
    assert cluster.sent == []


class StrayQuorum(FakeQuorum):
    """At one look the addresses in `stray` lead to another cluster, whose log is far ahead; `looks` are left to it.

    `after_change`: so many looks, after the voters were changed for the first time.
    """

    stray: frozenset[int] = frozenset()
    looks = 0
    after_change = 0

    def answer(self, asked: Asked, node_id: int) -> Action | None:
        if node_id not in self.stray or not self.looks:
            answer = super().answer(asked, node_id)
            if self.effects and self.after_change:
                self.looks, self.after_change = self.after_change, 0
            return answer
        cluster_id, watermark, epoch, log = self.cluster_id, self.high_watermark, self.epoch, self._log
        self.cluster_id, self.high_watermark, self.epoch = OTHER, 9_000_000, 99
        try:
            answer = super().answer(asked, node_id)
        finally:
            self.cluster_id, self.high_watermark, self.epoch, self._log = cluster_id, watermark, epoch, log
        self.looks -= asked.name == "DescribeQuorum"
        return answer


def test_answers_of_another_cluster_are_not_evidence() -> None:
    with (
        StrayQuorum(controllers=3, voters=(1, 2, 3)) as quorum,
        client_of(quorum) as client,
        LiveQuorum(client) as world,
    ):
        quorum.stray, quorum.looks = frozenset({2}), 100
        state = world.observe()
        assert (state.cluster_id, state.leader_epoch, state.has_leader) == (quorum.cluster_id, quorum.epoch, True)
        assert state.high_watermark is not None and state.high_watermark < 9_000_000
        assert (state.nodes[2].cluster_id, state.nodes[2].leader_id) == (OTHER, None)
        found = {finding.id: finding.evidence for finding in state.findings}
        assert found["controller-not-asked"]["error"] == "node-of-another-cluster"
        quorum.stray = frozenset({1, 2, 3})
        with pytest.raises(UnreachableError, match=f"cluster {OTHER}, not of {quorum.cluster_id}"):
            world.observe()


@pytest.mark.slow
def test_run_that_met_another_cluster_is_resumed(tmp_path: Path) -> None:
    goal, ends = reassignment("1,2,3"), []
    with StrayQuorum(controllers=3) as quorum:
        for strays in (True, False):
            with (
                client_of(quorum) as client,
                LiveQuorum(client) as world,
                open_journal(str(tmp_path / "journal"), subject="quorum", cluster_id=quorum.cluster_id) as kept,
            ):
                quorum.stray, quorum.after_change = frozenset({1}), 3 if strays else 0
                with contextlib.suppress(UnreachableError):
                    done = carry_out(world, goal, kept, policy=QuorumWaitPolicy(), clock=ScaledClock(10))
                    ends.append(done.outcome)
        assert ends[-1] in (Outcome.DONE, Outcome.NOTHING_TO_DO)
        assert quorum.effects == [("add", 2), ("add", 3)]


def test_half_open_connection_leaves_time_for_a_new_one() -> None:
    with (
        FaultyQuorum(controllers=3, voters=(1, 2, 3)) as quorum,
        client_of(quorum) as client,
        QuorumObserver(client, node_timeout_ms=4_000) as observer,
    ):
        observer.observe()
        quorum.network.arm(Fault.SILENCE, KEYS["ApiVersions"])
        observer.observe()
        assert quorum.network.struck == 1
        assert [visit.error for visit in observer.visits] == [None, None, None]


def test_addresses_of_two_clusters_are_refused_by_every_change() -> None:
    with FakeQuorum(controllers=1, metadata_version=20) as first, FakeQuorum(controllers=1) as other:
        other.cluster_id = OTHER
        dead = Address("127.0.0.1", 1)
        client = Client([dead, *first.addresses, *other.addresses], Role.CONTROLLER, limits=LIMITS)
        with client:
            for begin in (
                lambda: LiveFeatures(client).observe(RAISE),
                lambda: LiveQuorum(client),
                lambda: observe_and_plan(client, 7, None),
            ):
                with pytest.raises(RefusedError) as caught:
                    begin()
                assert caught.value.id == "bootstrap-of-several-clusters"
                both_clusters = f"{first.cluster_id} ({first.address(1)}); {OTHER} ({other.address(1)})"
                assert caught.value.message.endswith(both_clusters)
        with Client([dead, *first.addresses], Role.CONTROLLER, limits=LIMITS) as sound:
            sound.check_one_cluster()  # one that is dead says nothing against the others
