"""Changes of levels and registrations on a simulated cluster: killed at every action, the next run reaches the goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.change.engine import End, Engine
from kafkactl.change.journal import RunJournal
from kafkactl.change.progress import in_silence
from kafkactl.change.reply import Reply
from kafkactl.cluster.registrations import Registrations
from kafkactl.cluster.state import ClusterState
from kafkactl.cluster.unregister_plan import UnregisterPlan, plan_unregister
from kafkactl.cluster.unregister_run import RegistryWaitPolicy, UnregisterJourney
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.features.change.results import FeatureResult, no_response
from kafkactl.features.change.run import FeatureJourney, FeatureWaitPolicy
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.request import FeatureRequest, Operation
from tests.fakes.interruption import Fuse, killed_at_every_act
from tests.features.clusters import Cluster
from tests.quorum.scripted_port import SteppedClock

MADE, LOST, NEVER, REFUSED, NOT_SENT = "made", "lost", "never", "refused", "not-sent"
UP = {"metadata.version": 25, "transaction.version": 2}
TEXT = """
levels metadata.version=20 kraft.version=1 group.version=0
controllers 1* 2 3
controllers 9 gone
brokers 4 5
brokers 6 gone
"""


@dataclass
class SimulatedCluster:
    """Both ports onto a cluster of text lines, in time. `reactions` are used up by the requests that change it."""

    reactions: list[str] = field(default_factory=list)
    text: str = TEXT
    clock: SteppedClock = field(default_factory=SteppedClock)
    fuse: Fuse = field(default_factory=Fuse)
    sent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster = Cluster()
        for line in self.text.strip().splitlines():
            self.cluster.read(line)

    def _act(self) -> None:
        self.fuse()
        self.clock.sleep_ms(10)

    def _react(self, request: str) -> str:
        self._act()
        reaction = self.reactions.pop(0) if self.reactions else MADE
        if reaction == NOT_SENT:
            raise UnreachableError("no node answers", id="connection-refused")
        self.sent.append(request)
        return reaction

    def observe(self, request: FeatureRequest | None = None) -> ClusterState:
        self._act()
        return self.cluster.state()

    def observe_levels(self, request: FeatureRequest | None = None) -> ClusterState:
        return self.observe(request)

    def validate(self, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
        self._act()
        return tuple(_accepted(name) for name in levels)


class Levels(SimulatedCluster):
    def send(self, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
        reaction = self._react(" ".join(f"{name}={level}" for name, level in levels.items()))
        if reaction in (MADE, LOST):
            self.cluster.levels |= levels
        self._act()
        if reaction == REFUSED:
            return tuple(
                FeatureResult(name=level, reply=Reply.REFUSED, error_code=95, message="no") for level in levels
            )
        return tuple(map(_accepted, levels)) if reaction == MADE else no_response(levels, "no answer")


class Registry(SimulatedCluster):
    def registrations(self) -> Registrations | None:
        return self.observe().registrations

    def send(self, plan: UnregisterPlan) -> tuple[Reply, str]:
        reaction = self._react(f"{plan.role} {plan.node_id}")
        if reaction in (MADE, LOST):
            self.cluster.nodes = [node for node in self.cluster.nodes if node.id != plan.node_id]
        self._act()
        return (Reply.ACCEPTED, "") if reaction == MADE else (Reply.UNCLEAR, "no answer")


def _accepted(name: str) -> FeatureResult:
    return FeatureResult(name=name, reply=Reply.ACCEPTED, error_code=0, message="")


def upgrade(cluster: Levels, levels: Mapping[str, int] = UP) -> End:
    policy = FeatureWaitPolicy(observe_every_ms=50, settle_ms=1_000, grace_ms=100, proof_ms=500)
    request = FeatureRequest(operation=Operation.UPGRADE, levels=levels)
    until = Deadline.after(60_000, cluster.clock)
    journey = FeatureJourney(cluster, request, deadline=until, policy=policy, tell=in_silence)
    end = Engine(journey, RunJournal(), clock=cluster.clock, policy=policy).to_the_end()
    proof = journey.prove()
    assert (proof is not None) is any(result.outcome is Outcome.DONE for result in journey.resolved)
    return end


def unregister(cluster: Registry, node_id: int = 6) -> Outcome:
    """Unregister as the command does: a plan, to which the operator agrees, then the journey."""
    before = cluster.observe()
    plan = plan_unregister(before, node_id)
    if plan.outcome is not Outcome.PLANNED:
        return plan.outcome
    policy = RegistryWaitPolicy(observe_every_ms=50, outcome_timeout_ms=300)
    journey = UnregisterJourney(cluster, plan, before, stopped=False, policy=policy)
    return Engine(journey, RunJournal(), clock=cluster.clock, policy=policy).to_the_end().outcome


@pytest.mark.parametrize(
    ("reactions", "outcome", "requests"),
    [
        ([], Outcome.DONE, 2),
        ([LOST, LOST], Outcome.DONE, 2),
        ([NEVER], Outcome.UNKNOWN, 1),
        ([MADE, NEVER], Outcome.UNKNOWN, 2),
        ([REFUSED], Outcome.FAILED, 1),
        ([MADE, REFUSED], Outcome.PARTIAL, 2),
        ([NOT_SENT], Outcome.FAILED, 0),
    ],
)
def test_levels_are_raised_step_by_step(reactions: list[str], outcome: Outcome, requests: int) -> None:
    cluster = Levels(reactions=reactions)
    assert (upgrade(cluster).outcome, len(cluster.sent)) == (outcome, requests), cluster.sent


@pytest.mark.parametrize("reactions", [[], [LOST, LOST]])
def test_change_of_levels_is_resumed_after_a_kill_at_every_act(tmp_path: Path, reactions: list[str]) -> None:
    def go(cluster: Levels, _: Path, fuse: Fuse) -> Outcome:
        cluster.fuse = fuse
        return upgrade(cluster).outcome

    def check(cluster: Levels) -> None:
        assert {name: cluster.cluster.levels[name] for name in UP} == UP
        assert len(cluster.sent) == len(set(cluster.sent)) == 2, "a level is asked for once"

    assert killed_at_every_act(tmp_path, lambda: Levels(reactions=list(reactions)), go, check) > 10


@pytest.mark.parametrize(
    ("reactions", "outcome"),
    [([], Outcome.DONE), ([LOST], Outcome.DONE), ([NEVER], Outcome.UNKNOWN), ([NOT_SENT], Outcome.FAILED)],
)
def test_node_is_unregistered(reactions: list[str], outcome: Outcome) -> None:
    cluster = Registry(reactions=reactions)
    assert unregister(cluster) is outcome
    assert len(cluster.sent) == (0 if outcome is Outcome.FAILED else 1)


@pytest.mark.parametrize("reactions", [[], [LOST]])
def test_unregistration_is_resumed_after_a_kill_at_every_act(tmp_path: Path, reactions: list[str]) -> None:
    def go(cluster: Registry, _: Path, fuse: Fuse) -> Outcome:
        cluster.fuse = fuse
        return unregister(cluster)

    def check(cluster: Registry) -> None:
        assert cluster.sent == [f"{Role.BROKER} 6"]
        assert [node.id for node in cluster.cluster.nodes] == [1, 2, 3, 9, 4, 5]

    assert killed_at_every_act(tmp_path, lambda: Registry(reactions=list(reactions)), go, check) > 5
