"""Failures of all file operations of an apply of several nodes, receipts included; then a second run."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.files.filesystem import Filesystem, OsFilesystem
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.api.fleet import Context, apply_nodes, observe_nodes, whole_outcome
from kafkactl.storage.fleet.check import ApplyRequest, check_apply
from kafkactl.storage.fleet.plan import plan_fleet
from kafkactl.storage.fleet.plan_file import FleetPlan
from kafkactl.storage.model import KAFKACTL_LOCK, is_staged_name
from tests.fakes.faulty_filesystem import Fault, FaultyFilesystem, Killed
from tests.storage.fleet.fleets import FleetBuilder
from tests.storage.nodes import FixedSource

SAMPLE_EVERY = 17  # which no number of faults divides


@dataclass(frozen=True)
class World:
    """A planned fleet of two controllers and a broker whose disks are below `root`."""

    root: Path
    plan: FleetPlan

    @property
    def receipts(self) -> Path:
        return self.root / "plan.json.receipts"

    def build(self) -> None:
        for name in ("disks", self.receipts.name):
            shutil.rmtree(self.root / name, ignore_errors=True)

    def apply(self, files: Filesystem) -> tuple[Outcome, list[str]]:
        """Apply as the command does: look, check, write. Return the outcome and the ids of all findings."""
        release, request = find_release(self.plan.kafka_version), ApplyRequest()
        here = observe_nodes(self.plan.nodes, self.receipts, release)
        checked = check_apply(self.plan, here, request, release)
        if any(node.outcome is Outcome.REFUSED for node in checked):
            return Outcome.REFUSED, [finding.id for node in checked for finding in node.findings]
        context = Context(
            plan=self.plan, plan_sha256="0" * 64, receipts=self.receipts, request=request, reason="", now_ms=lambda: 0
        )
        applied = apply_nodes(here, checked, files, context, workers=1)
        return whole_outcome(result.outcome for result in applied), [
            finding.id for node in applied for finding in node.findings
        ]

    def planned(self) -> dict[str, bytes]:
        return {
            f"{directory.path}/{file.name}": file.content
            for node in self.plan.nodes
            for directory in node.directories
            for file in directory.files
        }

    def found(self) -> dict[str, bytes]:
        """Return every file on the disks except kafkactl's own lock and temporary files, which are harmless."""
        return {
            str(path): path.read_bytes()
            for path in (self.root / "disks").rglob("*")
            if path.is_file() and path.name != KAFKACTL_LOCK and not is_staged_name(path.name)
        }


def planned_world(root: Path, kafka_version: str) -> World:
    """Return a planned fleet; its configurations are written below `root`."""
    builder = FleetBuilder(
        controllers=(1, 2), brokers=(4,), inventory={"kafka_version": kafka_version}, folder=str(root / "disks")
    )
    asked = builder.request()
    for entry, config in zip(asked.inventory.nodes, asked.configs, strict=True):
        (root / f"{entry.id}.properties").write_bytes(config.data)
    plan = plan_fleet(
        type(asked)(
            inventory=asked.inventory,
            configs=tuple(
                type(config)(path=str(root / f"{entry.id}.properties"), data=config.data)
                for entry, config in zip(asked.inventory.nodes, asked.configs, strict=True)
            ),
            new_cluster_id=asked.new_cluster_id,
        ),
        FixedSource(),
    )
    assert plan.outcome is Outcome.PLANNED, plan.findings
    return World(root, plan)


@pytest.fixture(params=["4.3.1", "4.4.0"])
def world(request) -> Iterator[World]:
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="kafkactl-crash-", dir=memory if memory.is_dir() else None))
    yield planned_world(root, request.param)
    shutil.rmtree(root)


def operations(world: World) -> list[str]:
    world.build()
    files = FaultyFilesystem(world.root)
    assert world.apply(files)[0] is Outcome.DONE
    return files.operations


def fail_once(world: World, number: int, fault: Fault) -> None:
    """Fail once, then apply the same again: everything is as planned, every node has its receipt."""
    world.build()
    scratch = world.root / "kept"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    files = FaultyFilesystem(scratch, fail_at=number, fault=fault, seed=number)
    try:
        outcome, ids = world.apply(files)
        assert outcome in {Outcome.DONE, Outcome.PARTIAL, Outcome.FAILED, Outcome.NOTHING_TO_DO}
        if outcome is Outcome.DONE and "receipt-not-written" not in ids:
            assert world.found() == world.planned()
    except Killed:
        if fault is Fault.POWER_LOSS:
            files.lose_power()
    outcome, ids = world.apply(OsFilesystem())
    assert outcome in {Outcome.DONE, Outcome.NOTHING_TO_DO}, ids
    assert world.found() == world.planned()
    receipts = [json.loads(path.read_text()) for path in sorted(world.receipts.glob("node-*.json"))]
    assert [receipt["node_id"] for receipt in receipts] == [1, 2, 4]
    assert world.apply(OsFilesystem())[0] is Outcome.NOTHING_TO_DO


def run_points(world: World, every: int) -> int:
    ran = 0
    done = operations(world)
    kinds = [(number, fault) for number, name in enumerate(done) for fault in Fault]
    for number, fault in kinds[::every]:
        if fault is Fault.SHORT_WRITE and done[number] != "write":
            continue
        try:
            fail_once(world, number, fault)
        except AssertionError as error:
            error.add_note(f"operation {number} ({done[number]}), {fault}")
            raise
        ran += 1
    return ran


@pytest.mark.slow
def test_apply_of_a_fleet_that_fails_can_be_finished(world):
    assert run_points(world, SAMPLE_EVERY) > 20
