"""Plans against a model of the controller: what is planned is accepted, what is cut short is taken up again."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.features.plan.change import upgrade_type
from kafkactl.features.plan.plan import FeaturePlan, plan_change
from kafkactl.features.plan.predict import predicted_acceptance
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.protocol.catalog.consequences import downgrade_floor
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.releases import find_release
from tests.features.clusters import Cluster, Node, ranges

RELEASES = ("3.6", "3.7", "3.9", "4.0", "4.1", "4.3", "4.4")
WORDS = (frozenset(), frozenset(), frozenset(), frozenset({"gone"}), frozenset({"silent"}), frozenset({"unregistered"}))
NAMES = (METADATA_VERSION, *features_of(find_release("4.4")))


@st.composite
def clusters(draw: st.DrawFn, calm: bool) -> Cluster:
    """Return clusters: a calm one has nodes of one release that live; another has anything."""
    kafka = draw(st.sampled_from(RELEASES))
    found = Cluster(active=1)
    if draw(st.booleans()):
        found.words.add("dynamic")
    found.nodes.append(Node(id=1, role=Role.CONTROLLER, kafka=kafka))
    for node_id in range(2, 2 + draw(st.integers(0, 4))):
        node = Node(id=node_id, role=draw(st.sampled_from(list(Role))), kafka=kafka)
        if not calm:
            node.kafka = draw(st.sampled_from([kafka, *RELEASES]))
            node.words = draw(st.sampled_from(WORDS))
        found.nodes.append(node)
    for name, supported in ranges(kafka).items():
        found.levels[name] = draw(st.integers(supported.lowest, supported.highest))
    return found


@st.composite
def requests(draw: st.DrawFn, found: Cluster, calm: bool) -> FeatureRequest:
    """Return requests: a calm one is what the command's direction and the nodes' ranges allow; another may be
    anything."""
    supported = ranges(found.nodes[0].kafka)
    upgrade = draw(st.booleans())
    release = find_release(found.nodes[0].kafka)
    levels = {}
    for name in draw(
        st.lists(st.sampled_from(list(supported) if calm else NAMES), min_size=1, max_size=6, unique=True)
    ):
        now, highest = found.levels.get(name, 0), supported[name].highest if name in supported else 0
        lowest = downgrade_floor(release, now) if name == METADATA_VERSION else 0
        sane = st.integers(now, max(now, highest)) if upgrade else st.integers(min(lowest, now), now)
        levels[name] = draw(sane if calm else st.one_of(sane, st.integers(0, 35)))
    if calm and KRAFT_VERSION in levels:
        levels[KRAFT_VERSION] = found.levels[KRAFT_VERSION] or int(upgrade and release.name >= "4.1")
    return FeatureRequest(
        operation=Operation.UPGRADE if upgrade else Operation.DOWNGRADE,
        levels=levels,
        unsafe=not upgrade and draw(st.booleans()),
        release_version="4.3" if calm else draw(st.sampled_from([None, "4.3"])),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Cluster, FeatureRequest]:
    calm = draw(st.booleans())
    found = draw(clusters(calm))
    return found, draw(requests(found, calm))


CASES = cases()


def serve(found: Cluster, levels: dict[str, int], kind: object, only: int | None = None) -> bool:
    """Act as the controller: take what it accepts, all or the first `only` features, and let nodes register."""
    accepted = predicted_acceptance(found.state(), levels, kind)
    if False in accepted.values():
        return False
    for name in list(levels)[:only]:
        found.levels[name] = levels[name]
    if found.levels[METADATA_VERSION] >= 15:
        for node in found.nodes:
            if node.answers:
                node.words -= {"unregistered"}
    return True


def carry_out(found: Cluster, request: FeatureRequest) -> FeaturePlan:
    """Plan, take one step, look again, plan again, until there is none left; the last plan."""
    for _ in range(10):
        plan = plan_change(found.state(), request)
        if not plan.steps:
            return plan
        step = plan.steps[0]
        assert serve(found, step.levels, step.type), f"refused: {step.text}"
    raise AssertionError("does not end")


@given(CASES)
def test_plan_without_blockers_reaches_its_goal(case: tuple[Cluster, FeatureRequest]) -> None:
    found, request = deepcopy(case)
    plan = plan_change(found.state(), request)
    for step in plan.steps:
        assert serve(found, step.levels, step.type), f"refused: {step.text}"
    if plan.outcome is not Outcome.REFUSED:
        assert {name: found.levels.get(name, 0) for name in request.levels} == request.levels
        assert plan_change(found.state(), request).outcome is Outcome.NOTHING_TO_DO


@given(CASES, st.integers(0, 4), st.integers(0, 4))
def test_interrupted_change_is_taken_up_where_it_stood(
    case: tuple[Cluster, FeatureRequest], after: int, features: int
) -> None:
    # Cut after any step, and (3.x) within one: the next run reaches the goal, or has the same to say.
    found, request = deepcopy(case)
    first = plan_change(found.state(), request)
    for number, step in enumerate(first.steps):
        if number == after:
            serve(found, step.levels, step.type, only=min(features, len(step.levels)))
            break
        serve(found, step.levels, step.type)
    last = carry_out(found, request)
    if first.outcome is Outcome.REFUSED:
        assert last == first
    else:
        assert last.outcome is Outcome.NOTHING_TO_DO
        assert {name: found.levels.get(name, 0) for name in request.levels} == request.levels


@given(CASES)
def test_change_that_kafka_refuses_is_blocked(case: tuple[Cluster, FeatureRequest]) -> None:
    found, request = case
    plan = plan_change(found.state(), request)
    moving = {change.name: change.after for change in plan.changes if change.moves}
    accepted = predicted_acceptance(found.state(), moving, upgrade_type(request))
    if False in accepted.values():
        assert plan.outcome is Outcome.REFUSED
        assert blockers(plan.findings)


@given(CASES)
def test_steps_hold_every_change_once_and_kraft_version_alone(case: tuple[Cluster, FeatureRequest]) -> None:
    found, request = case
    plan = plan_change(found.state(), request)
    sent = [name for step in plan.steps for name in step.levels]
    moving = [change.name for change in plan.changes if change.moves]
    assert sorted(sent) == ([] if plan.outcome is Outcome.REFUSED else sorted(moving))
    for step in plan.steps:
        assert KRAFT_VERSION not in step.levels or (list(step.levels) == [KRAFT_VERSION] and step is plan.steps[-1])


@given(CASES)
def test_rollback_that_is_promised_is_there(case: tuple[Cluster, FeatureRequest]) -> None:
    # After an upgrade, every change called reversible can be undone alone, by Kafka's rules.
    found, request = deepcopy(case)
    plan = plan_change(found.state(), request)
    for step in plan.steps:
        serve(found, step.levels, step.type)
    if request.operation is not Operation.UPGRADE or plan.outcome is not Outcome.PLANNED:
        return
    for change in plan.changes:
        if change.moves and change.reversible:
            back = FeatureRequest(operation=Operation.DOWNGRADE, levels={change.name: change.before})
            accepted = predicted_acceptance(found.state(), back.levels, upgrade_type(back))
            assert accepted[change.name] is not False, change
