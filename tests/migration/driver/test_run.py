"""The driver migrates a fake cluster: to the end, killed anywhere, and stopped where it has to stop."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest

from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import RefusedError, UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import Outcome, blocker
from kafkactl.core.values import Role
from kafkactl.migration.driver.guards import ForwardGuard
from kafkactl.migration.driver.journal import BACK, FINALIZE, FORWARD
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import ForwardRoute, RollbackRoute, identity_of
from kafkactl.migration.driver.run import run_migration
from kafkactl.migration.driver.stops import moved_against, not_caught_up
from kafkactl.migration.observed.observation import Mode, NodeSeen, Observation, QuorumSeen, ReplicaSeen
from kafkactl.migration.steps.step import Barrier
from tests.fakes.interruption import killed_at_every_act
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import ALL, FAIL, LATE, LIE, TWICE, FakeWorld
from tests.fakes.migration_log import MIGRATION, POST_MIGRATION
from tests.fakes.run_context import at_phase, fused, open_context
from tests.migration.driver.test_rollback import EVERY, assert_back
from tests.migration.observations import OPEN_AT_M0
from tests.sampling import one_in

JOURNALS = Path(__file__).parents[2] / "change/journals"  # written by the version before the engine
KNOWN = frozenset(OPEN_AT_M0)


def forward(world: FakeWorld, folder: Path, *, goal: str = FORWARD, until: str | None = None, **more) -> RunResult:
    context = open_context(world, folder)
    with context.journal, context.lock:
        guard = ForwardGuard(context, accepted=more.pop("accepted", KNOWN))
        plan = ForwardRoute(context.inventory, finalize=goal == FINALIZE)
        is_there = (lambda state: state == until) if until else (lambda _: False)
        return run_migration(
            context, plan, goal=goal, identity=identity_of(context.inventory), guard=guard, is_there=is_there, **more
        )


def back(world: FakeWorld, folder: Path) -> RunResult:
    context = open_context(world, folder)
    with context.journal, context.lock:
        return run_migration(
            context, RollbackRoute(context.inventory), goal=BACK, identity=identity_of(context.inventory)
        )


def assert_on_kraft(cluster: FakeCluster) -> None:
    assert cluster.harm == []
    assert cluster.log.state == MIGRATION and cluster.dual_write
    assert all(broker.running and broker.mode is Mode.KRAFT for broker in cluster.brokers)


def test_migration_is_finalized_and_a_rollback_is_refused_afterwards(tmp_path: Path) -> None:
    cluster = FakeCluster()
    world = FakeWorld(cluster)
    result = forward(world, tmp_path)
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M8"), result.findings
    assert_on_kraft(cluster)
    assert forward(world, tmp_path).outcome is Outcome.NOTHING_TO_DO
    result = forward(world, tmp_path, goal=FINALIZE)
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M11"), result.findings
    assert cluster.log.state == POST_MIGRATION and cluster.harm == []
    assert not any(controller.has_flag for controller in cluster.controllers)
    leader_last = [step.step.target for step in result.steps if step.step.action == "restart-node"]
    assert leader_last[-1] == "controller 3001"  # it led before
    assert back(world, tmp_path).outcome is Outcome.REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("until", ["M3", "M4", "M4L", "M6"])
def test_run_ends_at_the_given_state_and_is_resumed(until: str, tmp_path: Path) -> None:
    cluster = FakeCluster()
    result = forward(FakeWorld(cluster), tmp_path, until=until)
    assert (result.outcome, result.state_after) == (Outcome.DONE, until), result.findings
    assert forward(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_on_kraft(cluster)


@pytest.mark.slow
def test_migration_is_done_after_a_rollback(tmp_path: Path) -> None:
    cluster = FakeCluster()
    assert forward(FakeWorld(cluster), tmp_path, until="M6").outcome is Outcome.DONE
    assert back(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_back(cluster)
    result = forward(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.DONE, result.findings
    assert_on_kraft(cluster)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("then", ["resume", "rollback"])
def test_killed_at_an_act_the_next_run_gets_there(then: str, every: int, tmp_path: Path) -> None:
    # Before and after hooks, changes of a znode, and looks: thinned here, all of them in the campaign.
    start, first = FakeCluster(), 1 if then == "resume" else min(2, every)
    go, check = (forward, assert_on_kraft) if then == "resume" else (back, assert_back)
    acts = killed_at_every_act(
        tmp_path, lambda: copy.deepcopy(start), fused(forward), check, resume=fused(go), first=first, every=every
    )
    assert acts > 80


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("every", EVERY)
def test_killed_finalization_is_completed_by_the_next_run(every: int, tmp_path: Path) -> None:
    def finalize(world: FakeWorld, folder: Path) -> RunResult:
        return forward(world, folder, goal=FINALIZE)

    def check(cluster: FakeCluster) -> None:
        assert cluster.log.state == POST_MIGRATION and cluster.harm == []
        assert all(controller.running and not controller.has_flag for controller in cluster.controllers)

    start = at_phase("M8")
    assert killed_at_every_act(tmp_path, lambda: copy.deepcopy(start), fused(finalize), check, every=every) > 60


@pytest.mark.parametrize(
    ("sample", "phase", "go", "outcome"),
    one_in(
        3,
        [
            ("killed", "M4L", "forward", Outcome.DONE),
            ("killed", "M4L", "back", Outcome.DONE),
            ("failed-then-killed-twice", "M4", "forward", Outcome.DONE),
            ("unknown", "M4", "back", Outcome.DONE),
            ("rolled-back", "M0", "forward", Outcome.DONE),
            ("failed-then-killed-twice", "M8", "forward", Outcome.REFUSED),  # which no step of it explains
        ],
    ),
)
def test_journal_of_the_version_before_is_resumed(
    sample: str, phase: str, go: str, outcome: Outcome, tmp_path: Path
) -> None:
    shutil.copy(JOURNALS / f"migration-{sample}.jsonl", tmp_path / "journal.jsonl")
    cluster = at_phase(phase)
    result = (forward if go == "forward" else back)(FakeWorld(cluster), tmp_path)
    assert result.outcome is outcome, result.findings
    assert cluster.harm == []


def test_unknown_checks_have_to_be_accepted_by_id(tmp_path: Path) -> None:
    cluster = FakeCluster()
    result = forward(FakeWorld(cluster), tmp_path, accepted=frozenset({"zookeeper-health-unknown"}))
    assert result.outcome is Outcome.REFUSED
    assert {finding.evidence["check"] for finding in result.findings} == {"C-40", "C-41", "C-42", "C-43"}
    assert "--accept automation-unknown" in next(
        finding.advice for finding in result.findings if finding.evidence["check"] == "C-41"
    )
    assert not any(controller.formatted for controller in cluster.controllers)


@pytest.mark.slow
def test_run_is_refused_at_the_barrier_before_the_last_broker(tmp_path: Path) -> None:
    cluster = FakeCluster()

    def ask(_route, step):
        return blocker("not-confirmed", "migration", "no") if step.barrier is Barrier.LAST_BROKER else None

    result = forward(FakeWorld(cluster), tmp_path, ask=ask)
    assert (result.outcome, result.state_after) == (Outcome.PARTIAL, "M4L")
    assert cluster.controller_znode()["kraftControllerEpoch"] == -1
    assert forward(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE


@pytest.mark.slow
def test_blocker_during_a_run_stops_the_run(tmp_path: Path) -> None:
    cluster = FakeCluster()
    assert forward(FakeWorld(cluster), tmp_path, until="M4L").outcome is Outcome.DONE
    cluster.put("/config/clients/slow", b'{"version":1,"config":{"producer_byte_rate":"abc"}}')  # kills the controllers
    result = forward(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.REFUSED
    assert cluster.controller_znode()["kraftControllerEpoch"] == -1
    assert cluster.harm == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "node", "fault", "id"),
    [
        (Verb.RESTART, 2, FAIL, "hook-failed"),
        (Verb.RESTART, 2, LIE, "step-not-confirmed"),
        (Verb.PUT_CONFIG, 2, LIE, "config-not-written"),
        (Verb.FORMAT, 3001, FAIL, "hook-failed"),
        (Verb.START, 3002, LIE, "started-node-ended"),
        (Verb.RESTART, 2, TWICE, None),
        (Verb.FORMAT, 3001, TWICE, None),
        (Verb.PUT_CONFIG, 2, LATE, None),
        (Verb.RESTART, 3, LATE, "hook-timed-out"),
    ],
)
def test_migration_is_done_after_a_faulty_hook(
    verb: Verb, node: int, fault: str, id: str | None, tmp_path: Path
) -> None:
    cluster = FakeCluster()
    world = FakeWorld(cluster)
    if verb is Verb.RESTART:
        world.verbs = world.verbs - {Verb.STOP}
    world.faults = [(verb, node, fault)]
    result = forward(world, tmp_path)
    assert [finding.id for finding in result.findings if finding.severity == "blocker"] == ([] if id is None else [id])
    if id is not None:
        assert result.outcome is (
            Outcome.UNKNOWN
            if id == "hook-timed-out"
            else Outcome.PARTIAL
            if result.steps[0].state == "done"
            else Outcome.FAILED
        )
        result = forward(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.DONE, result.findings
    assert_on_kraft(cluster)


@pytest.mark.slow
def test_without_hooks_an_operator_does_it_all(tmp_path: Path) -> None:
    cluster = FakeCluster()
    world = FakeWorld(cluster, verbs=frozenset({Verb.GET_CONFIG, Verb.FS_PROBE}))
    events = []

    def operator(request):
        events.append(request.instruction)
        world.carry_out(request)

    world.operator = operator
    result = forward(world, tmp_path)
    assert result.outcome is Outcome.DONE, result.findings
    assert_on_kraft(cluster)
    assert "restart broker 2" in events


@pytest.mark.slow
def test_unobserved_strays_have_to_be_accepted(tmp_path: Path) -> None:
    cluster = FakeCluster()
    verbs = ALL - {Verb.FS_PROBE}
    result = forward(FakeWorld(cluster, verbs=verbs), tmp_path)
    assert (result.outcome, result.state_after) == (Outcome.PARTIAL, "M6")
    assert {finding.id for finding in result.findings} == {"stray-check-unavailable"}
    assert (
        forward(FakeWorld(cluster, verbs=verbs), tmp_path, accepted=KNOWN | {"stray-check-unavailable"}).outcome
        is Outcome.DONE
    )


def test_deletion_that_nothing_confirms_is_an_unknown_outcome(tmp_path: Path) -> None:
    cluster = at_phase("M6")
    world = FakeWorld(cluster)

    def lose(path: str) -> None:
        if path == "/controller":
            cluster.remove(path)
            raise UnknownOutcomeError("nobody can say", id="zookeeper-write-unknown")

    world.before_write = lose
    result = back(world, tmp_path)
    assert (result.outcome, result.steps[1].state) == (Outcome.UNKNOWN, "unknown")
    assert back(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_back(cluster)


def test_operator_who_does_nothing_is_waited_for_with_reminders(tmp_path: Path) -> None:
    cluster = FakeCluster()
    result = forward(FakeWorld(cluster, verbs=frozenset({Verb.GET_CONFIG, Verb.FORMAT})), tmp_path)
    assert [finding.id for finding in result.findings] == ["step-not-confirmed"]
    assert "was requested from the operator" in result.findings[0].message


@pytest.mark.slow
def test_zookeeper_that_is_away_for_a_while_is_waited_for(tmp_path: Path) -> None:
    cluster = FakeCluster()
    world, looks = FakeWorld(cluster), []

    def lose() -> None:
        looks.append(1)
        if len(looks) == 40:
            world.unreachable = 5

    world.on_act = lose
    assert forward(world, tmp_path).outcome is Outcome.DONE
    assert_on_kraft(cluster)


@pytest.mark.slow
def test_zookeeper_that_stays_away_ends_the_run_where_it_is_safe(tmp_path: Path) -> None:
    cluster = FakeCluster()
    world, looks = FakeWorld(cluster), []

    def lose() -> None:
        looks.append(1)
        if len(looks) == 40:
            world.unreachable = 10_000

    world.on_act = lose
    result = forward(world, tmp_path)
    assert result.outcome in (Outcome.UNKNOWN, Outcome.PARTIAL)
    assert result.findings[-1].id == "zookeeper-unreachable"
    assert forward(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_on_kraft(cluster)


def test_nothing_is_begun_where_nothing_is_seen(tmp_path: Path) -> None:
    world = FakeWorld(FakeCluster())
    world.unreachable = 1
    with pytest.raises(UnreachableError):
        forward(world, tmp_path)


def test_second_driver_is_refused(tmp_path: Path) -> None:
    world = FakeWorld(FakeCluster())
    context = open_context(world, tmp_path)
    with context.journal, pytest.raises(RefusedError) as caught:
        forward(world, tmp_path)
    assert caught.value.id == "another-kafkactl-is-changing"


@pytest.mark.slow
def test_cluster_in_another_state_than_the_journal_has_to_be_accepted(tmp_path: Path) -> None:
    cluster = FakeCluster()
    assert forward(FakeWorld(cluster), tmp_path, until="M6").outcome is Outcome.DONE
    elsewhere = at_phase("M3")
    result = forward(FakeWorld(elsewhere), tmp_path)
    assert result.outcome is Outcome.REFUSED
    (found,) = [finding for finding in result.findings if finding.id == "journal-and-cluster-disagree"]
    assert {"what": "state", "journal": "M6", "observed": "M3"} in found.evidence["table"]
    result = forward(FakeWorld(elsewhere), tmp_path, accept_observed=True)
    assert result.outcome is Outcome.DONE, result.findings


def test_znode_that_another_process_changes_meanwhile_stops_it_and_the_next_run_continues(tmp_path: Path) -> None:
    cluster = at_phase("M6")
    world, struck = FakeWorld(cluster), []

    def meddle(path: str) -> None:
        if not struck:
            struck.append(path)
            cluster.put(path, cluster.znodes[path].data)

    world.before_write = meddle
    result = back(world, tmp_path)
    assert (result.outcome, result.findings[-1].id) == (Outcome.PARTIAL, "znode-changed")
    assert back(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_back(cluster)


def test_strays_stop_the_roll(tmp_path: Path) -> None:
    cluster = at_phase("M6")
    world = FakeWorld(cluster)

    def strays(_step) -> None:
        if cluster.nodes[1].mode is Mode.KRAFT:
            cluster.nodes[1].strays = True

    world.on_act = lambda: strays(None)
    result = forward(world, tmp_path)
    assert result.outcome is Outcome.PARTIAL
    assert result.findings[-1].id == "partitions-became-strays"
    assert [broker.mode for broker in cluster.brokers].count(Mode.KRAFT) == 1


@pytest.mark.slow
def test_journal_keeps_the_trees_of_both_barriers(tmp_path: Path) -> None:
    cluster = FakeCluster()
    forward(FakeWorld(cluster), tmp_path, until="M6")
    context = open_context(FakeWorld(cluster), tmp_path)
    with context.journal as journal:
        assert len(journal.recorded.trees) == 3  # before anything, before the first broker, before the last
        assert journal.kept(journal.recorded.trees[0]).startswith(b"\x1f\x8b")


@pytest.mark.parametrize(
    ("end_offset", "high_watermark", "says"),
    [
        (880, 900, ()),
        (80, 900, ("controller 7 has 80 of 900 records",)),
        (-1, 9, ("controller 7 has -1 of 9 records",)),
        (9, None, ("no controller leads",)),
    ],
)
def test_controller_counts_when_it_has_caught_up(
    end_offset: int, high_watermark: int | None, says: tuple[str, ...]
) -> None:
    voters = (ReplicaSeen(id=7, log_end_offset=end_offset),)
    quorum = QuorumSeen(leader_id=1, leader_epoch=2, high_watermark=high_watermark, voters=voters)
    seen = Observation(time_ms=0, nodes=(NodeSeen(id=1, role=Role.CONTROLLER, quorum=quorum),))
    assert not_caught_up(seen, 7) == says


@pytest.mark.parametrize(
    ("phase", "goal", "act", "id"),
    [
        ("M6", FORWARD, 12, "concurrent-migration-change"),
        ("M6", BACK, 12, "controller-still-runs"),  # the other one starts them again
    ],
)
def test_driver_in_the_other_direction_is_detected(phase: str, goal: str, act: int, id: str, tmp_path: Path) -> None:
    # Whatever knows no lock is not kept out; that the state goes the other way shows it.
    cluster, acts = at_phase(phase), []
    world = FakeWorld(cluster)

    def meddle() -> None:
        acts.append(1)
        if len(acts) == act + 1:
            other = FakeWorld(cluster)
            held, cluster.driver = cluster.driver, None  # hands, and tools that know no lock
            result = back(other, tmp_path / "other") if goal == FORWARD else forward(other, tmp_path / "other")
            cluster.driver = held
            assert result.outcome in (Outcome.DONE, Outcome.PARTIAL, Outcome.UNKNOWN), result.findings

    world.on_act = meddle
    (tmp_path / "other").mkdir()
    result = forward(world, tmp_path) if goal == FORWARD else back(world, tmp_path)
    assert result.findings[-1].id == id, result.findings
    assert result.findings[-1].advice and cluster.harm == []


@pytest.mark.parametrize(
    ("goal", "before", "now", "against"),
    [
        (FORWARD, "M6", "M0", True),
        (FORWARD, "M6", "M4L", True),
        (FORWARD, "M8", "M7", False),
        (FORWARD, "M6", "lost-quorum", False),
        (FORWARD, "M5", "M4L", False),  # the last broker crashed before the copy began
        (FORWARD, None, "M0", False),
        (FINALIZE, "M10", "M8", True),
        (BACK, "M8", "M6", False),
        (BACK, "M6", "M0", False),
        (BACK, "M4", "M6", True),
        (BACK, "M0", "M3", True),
    ],
)
def test_move_against_the_goal_is_recognised(goal: str, before: str | None, now: str, against: bool) -> None:
    assert moved_against(goal, before, now) is against
