"""An operator who carries out the plans of a migration on a real cluster, one step after the other."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from itertools import groupby

from kafkactl.core.findings import Outcome, blockers
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.saved_observation import observation_from
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.forward import plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.step import File, Move, Step, Way
from kafkactl.migration.steps.table import observed_state
from tests.lab.migration.cluster import MigrationCluster

_PHASES = {File.ORIGINAL: "zk", File.MIGRATION: "migration", File.KRAFT: "kraft", File.FINAL: "final"}
STEP_S = 180.0
Plan = Callable[[Observation, Inventory], Way]


def inventory_of(cluster: MigrationCluster) -> Inventory:
    """Return the inventory as an operator on the nodes' own machine would write it, with the logs of controllers that
    are down."""
    lines = ["[zookeeper]", f'connect = "{cluster.connect}"', "[hooks]", 'template = "local"']
    for id, (port, _) in cluster.plan.brokers.items():
        lines += ["[[nodes]]", f"id = {id}", 'role = "broker"', f'address = "127.0.0.1:{port}"']
        lines.append(f'config = "{cluster.config_file(id)}"')
    for id, port in cluster.plan.controllers.items():
        lines += ["[[nodes]]", f"id = {id}", 'role = "controller"', f'address = "127.0.0.1:{port}"']
        lines += [f'config = "{cluster.config_file(id)}"', f'log = "{cluster.metadata_log(id)}"']
    return parse_inventory("\n".join(lines), file=str(cluster.workdir / "migration.toml"))


class Operator:
    """Operator that carries out a plan. `states` are the observed ones, in their order."""

    def __init__(self, cluster: MigrationCluster) -> None:
        self.cluster = cluster
        self.inventory = inventory_of(cluster)
        self.states: list[str] = []
        self.done: list[str] = []

    def look(self) -> Observation:
        observation = observation_from(observe(self.inventory, timeout_ms=60_000))
        self.states.append(observed_state(observation).state.value)
        return observation

    def go(self, plan: Plan, *, until: Callable[[str], bool]) -> Observation:
        """Step after step, until a state is reached or nothing is left."""
        waited: set[str] = set()
        while True:
            observation = self.look()
            if until(self.states[-1]):
                return observation
            found = plan(observation, self.inventory)
            assert not blockers(found.findings), found.findings
            left = [step for step in found.pending if _word(step) not in waited]
            if found.outcome is Outcome.NOTHING_TO_DO or not left:
                return observation
            step = left[0]
            self.done.append(_word(step))
            self._do(step)
            if step.action is Move.WAIT_BROKER_FOLLOWS_CONTROLLER:
                waited.add(_word(step))  # no observation shows it
            else:
                self._until_seen(step, plan)

    def back(self) -> Observation:
        """Go back to M0, and wipe the disks that are left over: a start on one of them would continue with the old
        log."""
        last = self.go(plan_rollback, until=lambda _: False)
        assert [finding.id for finding in plan_forward(last, self.inventory).findings] == ["controller-disk-left-over"]
        for id in self.cluster.controller_ids:
            shutil.rmtree(self.cluster.plan.log_dir(id), ignore_errors=True)
        return last

    def _until_seen(self, step: Step, plan: Plan) -> None:
        deadline = time.monotonic() + STEP_S
        while True:
            observation = self.look()
            if _word(step) not in [_word(pending) for pending in plan(observation, self.inventory).pending]:
                return
            assert time.monotonic() < deadline, (step, observed_state(observation))
            time.sleep(0.5)

    def _do(self, step: Step) -> None:
        cluster, node = self.cluster, step.node
        match step.action:
            case Move.PUT_CONFIG | Move.RESTORE_CONFIG:
                assert node is not None and step.file is not None
                cluster.write(node, _PHASES[step.file])
            case Move.FORMAT_DISK:
                cluster.format_controllers()
            case Move.START_NODE:
                assert node is not None
                cluster.start(node)
            case Move.RESTART_NODE:
                assert node is not None
                cluster.restart(node)
            case Move.STOP_CONTROLLERS:
                cluster.stop(*cluster.controller_ids)
            case Move.RAISE_CONTROLLER_EPOCH:
                self._set(step)
            case Move.DELETE_CONTROLLER_ZNODE | Move.DELETE_MIGRATION_ZNODE:
                self._delete(step)
            case Move.WAIT_BROKER_FOLLOWS_CONTROLLER:
                time.sleep(3)
            case Move.WIPE_DISK:
                assert node is not None
                shutil.rmtree(cluster.plan.log_dir(node))

    def _set(self, step: Step) -> None:
        assert step.path is not None and step.version is not None
        with self.cluster.open_zookeeper() as zookeeper:
            zookeeper.set(step.path, str(step.value).encode(), step.version)

    def _delete(self, step: Step) -> None:
        assert step.path is not None
        with self.cluster.open_zookeeper() as zookeeper:
            found = zookeeper.read(step.path)  # /migration may have moved until the controllers were gone
            assert found is not None
            zookeeper.delete(step.path, found.version)

    @property
    def course(self) -> list[str]:
        """Return the states without repetition."""
        return [state for state, _ in groupby(self.states)]


def _word(step: Step) -> str:
    return f"{step.action.value} {step.target} {step.file}"


def delete(cluster: MigrationCluster, path: str) -> None:
    with cluster.open_zookeeper() as zookeeper:
        znode = zookeeper.read(path)
        assert znode is not None
        zookeeper.delete(path, version=znode.version)
