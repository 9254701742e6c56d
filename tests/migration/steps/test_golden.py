"""States, checks and ways on captures of a real cluster (`tests.campaigns.goldens.states`, Kafka 3.9.2)."""

from __future__ import annotations

import io
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kafkactl.core.findings import Outcome, blockers
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.io.saved_observation import load_observation
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.forward import next_step, plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.step import Move
from kafkactl.migration.steps.table import State, observed_state, state_of_evidence

_FOLDER = Path(__file__).parents[2] / "golden" / "states"
_END = ["stop-controllers", "delete-migration-znode", "wait-zookeeper-controller"]
_TAKEN = ["stop-controllers", "delete-controller-znode", "delete-migration-znode", "wait-zookeeper-controller"]
_WIPE = ["wipe-disk 3001"]
_THREE = ["wipe-disk 3001", "wipe-disk 3002", "wipe-disk 3003"]
_BACK_OF_THREE = [f"{word} {id}" for id in (1, 2, 3) for word in ("restore-config", "restart-node")]


def _roll(*ids: int) -> list[str]:
    waits = [f"wait-broker-follows-controller {id}" for id in ids]
    return [*waits, *(f"{word} {id}" for id in ids for word in ("restore-config", "restart-node"))]


# Each capture: its state, and the remaining steps of its rollback (None: refused).
CAPTURES: dict[str, tuple[str, list[str] | None]] = {
    "M0": ("M0", []),
    "M2": ("M2", _WIPE),
    "M3": ("M3", [*_END, *_WIPE]),
    "M4L": ("M4L", [*_END, *_roll(1), *_WIPE]),
    "M4": ("M4", [*_END, *_roll(1), *_THREE]),
    "M8-three-controllers": ("M8", [*_BACK_OF_THREE, *_TAKEN, *_roll(1, 2, 3), *_THREE]),
    "M8-controller-without-flag": (
        "M8",
        ["restore-config 3001", "restart-node 3001", *_BACK_OF_THREE, *_TAKEN, *_roll(1, 2, 3), *_THREE],
    ),
    "M10": ("M10", None),
    "M6": ("M6", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "M7": ("M7", ["restore-config 1", "restart-node 1", *_TAKEN, *_roll(1, 2), *_WIPE]),
    "M8": (
        "M8",
        ["restore-config 1", "restart-node 1", "restore-config 2", "restart-node 2", *_TAKEN, *_roll(1, 2), *_WIPE],
    ),
    "M6-back-from-kraft": ("M6", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "lost-quorum": ("lost-quorum", [*_TAKEN[1:], *_roll(1, 2), *_WIPE]),
    "incomplete-rollback-migration-left": ("incomplete-rollback", ["delete-migration-znode", *_roll(2, 1), *_WIPE]),
    "incomplete-rollback-one-rolled": ("incomplete-rollback", [*_roll(2), *_WIPE]),
    "M0-rolled-back": ("M0", []),
    "M4L-left-again": ("M4L", [*_END, *_WIPE]),
    "M6-again": ("M6", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "split-brain": ("split-brain", [*_END, *_roll(1, 2), *_WIPE]),
    "M6-healed": ("M6", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "quorum-without-migration-flag": (
        "quorum-without-migration-flag",
        ["stop-controllers", "wait-zookeeper-controller", *_WIPE],
    ),
    "copy-crashed": ("copy-crashed", [*_TAKEN[1:], *_roll(1, 2), *_WIPE]),
    "M6-after-a-crash": ("M6", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "stale-migration": ("stale-migration", [*_END, *_roll(1, 2), *_WIPE]),
    "stale-migration-claimed": ("stale-migration", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "M6-after-a-stale-one": ("M6", [*_TAKEN, *_roll(1, 2), *_WIPE]),
    "lost-migration-znode": ("lost-migration-znode", None),
    "lost-migration-znode-made-anew": ("lost-migration-znode", None),
    "finalized-with-zookeeper-broker": ("finalized-with-zookeeper-broker", None),
    "M11": ("M11", None),
}
HEALTHY = ("M0", "M3", "M6", "M8", "M11")


@pytest.mark.parametrize(("name", "code"), [("M8-controller-without-flag", 7), ("M8-three-controllers", 0)])
def test_controller_without_the_flag_is_an_alarm(kafkactl, tmp_path: Path, name: str, code: int) -> None:
    with tarfile.open(fileobj=io.BytesIO((_FOLDER / f"{name}.tar.gz").read_bytes())) as archive:
        archive.extractall(tmp_path, filter="data")
    run = kafkactl("migrate", "status", "--observation", str(tmp_path), "-o", "json")
    assert run.code == code
    assert ("finalization-begun" in [gate["id"] for gate in run.json["gates"]]) is (code == 7)


@cache
def capture(name: str) -> Observation:
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO((_FOLDER / f"{name}.tar.gz").read_bytes())) as archive:
            archive.extractall(folder, filter="data")
        return load_observation(folder)


def test_every_capture_has_a_case() -> None:
    assert sorted(CAPTURES) == sorted(path.name.removesuffix(".tar.gz") for path in _FOLDER.iterdir())


@pytest.mark.parametrize("name", CAPTURES)
def test_state_of_a_real_cluster_is_recognised(name: str) -> None:
    assert observed_state(capture(name)).state == CAPTURES[name][0]


@pytest.mark.parametrize("name", CAPTURES)
def test_rollback_of_a_real_cluster_has_the_expected_steps(name: str) -> None:
    plan, expected = plan_rollback(capture(name)), CAPTURES[name][1]
    assert (plan.outcome is Outcome.REFUSED) is (expected is None), plan.findings
    left = [step.action.value if step.node is None else f"{step.action} {step.node}" for step in plan.pending]
    assert sorted(left) == sorted(expected or [])
    assert _without_brokers(left) == _without_brokers(expected or [])


def _without_brokers(actions: list[str]) -> list[str]:
    """Leave out the brokers: which of two was elected, and so comes last, is chance."""
    return [action for action in actions if not action[-1].isdecimal()]


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_blocks_a_healthy_cluster(name: str) -> None:
    seen = capture(name)
    assert blockers(gates_of(State(name), seen)) == []
    assert plan_forward(seen).outcome is (Outcome.NOTHING_TO_DO if name == "M11" else Outcome.PLANNED)


def test_broker_that_left_again_is_reported() -> None:
    found = gates_of(State.M4L, capture("M4L-left-again"))
    assert "registered-broker-without-flag" in [finding.id for finding in blockers(found)]


def test_second_try_after_a_rollback_is_stopped_by_what_is_left_over() -> None:
    plan = plan_forward(capture("M0-rolled-back"))
    assert (plan.outcome, plan.findings[0].id) == (Outcome.REFUSED, "controller-disk-left-over")
    evidence = evidence_of(capture("M0-rolled-back"))
    step = next_step(evidence, state_of_evidence(evidence))
    assert step is not None
    assert (step.action, step.target) == (Move.WIPE_DISK, "controller 3001")
