"""Equality of `rollback --dry-run` and the driver: one list, from every phase, and after a killed run."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import remembered_of
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.rollback_case import NOTHING, JournalFacts
from kafkactl.migration.steps.step import Move, Step
from tests.fakes.interruption import Fuse, killed_at_every_act
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import at_phase, fused, inventory_of, open_context
from tests.migration.driver.test_rollback import PHASES, go_back

Word = tuple[str, str, str | None]


def word(step: Step) -> Word:
    return step.action.value, step.target, None if step.file is None else step.file.value


def shown(cluster: FakeCluster, remembered: JournalFacts = NOTHING) -> list[Word]:
    """Return the pending steps of the dry run."""
    plan = plan_rollback(FakeWorld(cluster).observe(), inventory_of(cluster), remembered=remembered)
    assert plan.outcome is not Outcome.REFUSED, plan.findings
    return [word(step) for step in plan.pending]


def words_of(result: RunResult) -> list[Word]:
    assert result.outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO), result.findings
    return [word(step.step) for step in result.steps]


def assert_same(expected: list[Word], found: list[Word]) -> None:
    """Check that steps, actions and their order are the same; which broker is elected, and so comes last, is chance.

    An election takes milliseconds: when the driver comes to wait for it, it is there.
    """
    over = Move.WAIT_ZOOKEEPER_CONTROLLER.value
    expected, found = ([step for step in words if step[0] != over] for words in (expected, found))
    assert Counter(found) == Counter(expected)
    assert [step[0] for step in found] == [step[0] for step in expected]


@pytest.mark.parametrize("phase", ["M0", *PHASES])
def test_driver_does_what_was_shown(phase: str, tmp_path: Path) -> None:
    cluster = at_phase(phase)
    expected = shown(cluster)
    assert_same(expected, words_of(go_back(FakeWorld(cluster), tmp_path)))
    assert bool(expected) is (phase != "M0")


@pytest.mark.parametrize("phase", ["M3", "M6", "M8"])
def test_controller_that_cannot_be_seen_is_wiped_as_shown(phase: str, tmp_path: Path) -> None:
    # Its host is gone; what was formatted for this try has to go all the same.
    cluster = at_phase(phase)
    cluster.stop(3003)
    expected = shown(cluster)
    assert [step[1] for step in expected if step[0] == "wipe-disk"] == [f"controller {id}" for id in (3001, 3002, 3003)]
    assert_same(expected, words_of(go_back(FakeWorld(cluster), tmp_path)))


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["M4", "M6", "M8"])
@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.campaign)])
def test_after_a_run_was_killed_the_rest_is_what_is_shown(stride: int, phase: str, tmp_path: Path) -> None:
    # With the journal that it left. A step that was carried out unseen may be looked at once more, or not.
    def resume(cluster: FakeCluster, folder: Path, _: Fuse) -> Outcome:
        context = open_context(FakeWorld(cluster), folder)
        with context.journal, context.lock:
            remembered = remembered_of(context.journal.recorded)
        expected = shown(cluster, remembered)
        result = go_back(FakeWorld(cluster), folder)
        assert_same(expected, words_of(result))
        return result.outcome

    start = at_phase(phase)
    acts = killed_at_every_act(
        tmp_path, lambda: copy.deepcopy(start), fused(go_back), lambda _: None, resume=resume, first=7, every=stride
    )
    assert acts > 6 + 2 * stride


def test_shown_rollback_includes_facts_from_the_journal() -> None:
    # In ZooKeeper mode without a sign of a migration: the origin of the leftovers cannot be observed.
    cluster = at_phase("M0")
    cluster.stop(2)
    cluster.nodes[1].file = (cluster.nodes[1].file or "") + "zookeeper.metadata.migration.enable=true\n"
    assert shown(cluster) == []
    begun = JournalFacts(goes_back=True, begun=frozenset({"broker 2"}), wiped=frozenset({"controller 3001"}))
    assert shown(cluster, begun) == [
        (Move.RESTORE_CONFIG.value, "broker 1", "original"),
        (Move.RESTART_NODE.value, "broker 2", "original"),
        (Move.WIPE_DISK.value, "controller 3002", None),
        (Move.WIPE_DISK.value, "controller 3003", None),
    ]
