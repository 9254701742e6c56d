"""Addresses that belong to another cluster than the one that a change was planned for: nothing is sent there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafkactl.adapters.kafka.client import Client, Limits
from kafkactl.adapters.kafka.cluster_view import Role
from kafkactl.adapters.kafka.live_quorum import LiveQuorum
from kafkactl.adapters.kafka.retries import Backoff
from kafkactl.change.clock import Deadline
from kafkactl.errors import RefusedError
from kafkactl.features.change.results import update_features_request
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.findings import Outcome
from kafkactl.operations.features.change import LiveFeatures, change_features
from kafkactl.operations.nodes.unregister import observe_and_plan, unregister_node
from kafkactl.playground.broker import Action, Asked, Reply
from kafkactl.playground.quorum import FakeQuorum
from kafkactl.protocol.framing import Response
from kafkactl.quorum.step import Action as Does
from kafkactl.quorum.step import Step
from tests.adapters.kafka.unregistering_cluster import DEAD_CONTROLLER, UnregisteringCluster

LIMITS = Limits(timeout_ms=30_000, request_timeout_ms=5_000, backoff=Backoff(first_ms=5, rounds=3))
OTHER = "b3RoZXItY2x1c3Rlci0xMg"
RAISE = FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 25})


class PassingQuorum(FakeQuorum):
    """Its addresses pass to another cluster at one request; `tells` False: as controllers before 3.7."""

    def __init__(self, passes_at: str = "", *, tells: bool = True) -> None:
        super().__init__(controllers=2, voters=(1, 2), metadata_version=20)
        self.passes_at, self.tells = passes_at, tells

    def answer(self, asked: Asked, node_id: int) -> Action | None:
        if asked.name == "DescribeCluster" and not self.tells:
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
    with PassingQuorum(tells=request.param) as quorum:
        yield quorum


def test_a_change_leaves_only_to_the_cluster_that_it_was_planned_for(passing: PassingQuorum) -> None:
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


def test_a_change_of_levels_ends_as_refused_where_the_addresses_pass_on() -> None:
    with PassingQuorum("UpdateFeatures") as quorum, client_of(quorum) as client:
        deadline = Deadline.after(30_000, client.clock)
        try:
            outcome = change_features(client, RAISE, deadline=deadline, tell=lambda event: None).plan.outcome
        except RefusedError as error:
            assert error.id == "cluster-id-mismatch"
        else:
            assert outcome is Outcome.REFUSED  # the nodes were seen to be others before the request
        assert quorum.effects == []


def test_a_conversion_is_not_sent_to_another_cluster() -> None:
    convert = Step(
        number=1, action=Does.UPGRADE, key=None, voters_before=frozenset(), voters_after=frozenset(), alive=frozenset()
    )
    with PassingQuorum() as quorum, client_of(quorum) as client, LiveQuorum(client) as world:
        world.look()
        quorum.cluster_id = OTHER
        with pytest.raises(RefusedError, match=OTHER):
            world.send(convert, ())
        assert quorum.effects == []


@pytest.mark.parametrize("when", ["before-the-look", "before-the-request"])
def test_a_node_of_another_cluster_is_not_unregistered(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
