"""A cluster on ZooKeeper that can be brought to every phase of its migration, and back.

::

    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.fill()
        cluster.reach("M6")

States are those of `kafkactl migrate status`: M0 plain ZooKeeper, M3 controllers up, M4 some brokers in migration mode,
M4L all but one, M6 dual write, M7 some brokers on KRaft, M8 all of them, M11 finalized. Nothing here is gated as an
operator's migration must be: a test may do things in the wrong order. Brokers are 1, 2 …, controllers 3001 …; the
ZooKeeper is 3.8.4, whatever the release.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kafkactl.core.findings import Outcome
from kafkactl.files.config_providers import resolve
from kafkactl.files.entropy import SystemSource
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.migration.io.zookeeper.client import ZooKeeper, open_zookeeper
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import FormatRequest, VoterMode
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.ports import HOST, free_port, release_port
from tests.lab.harness.server import READY_S
from tests.lab.harness.zookeeper import ZooKeeperEnsemble, ZooKeeperNode
from tests.lab.migration import chores as migration_chores
from tests.lab.migration import log as migration_log
from tests.lab.migration.configs import LOGIN, Plan

FIRST_CONTROLLER = 3001
STATES = ("M0", "M3", "M4", "M4L", "M6", "M7", "M8", "M11")
DUAL_WRITE = re.compile(r"KRAFT_CONTROLLER_TO_BROKER_COMM (?:to|but found) DUAL_WRITE")  # the latter up to 3.6.1
_POLL_S = 0.1
T = TypeVar("T")


class MigrationCluster:
    """Migrating cluster. `plan` has ports and files; `node(id)` returns a node, `zookeeper` the server."""

    def __init__(
        self, release: str, workdir: Path, *, brokers: int = 2, controllers: int = 1, chroot: str = "/kafka",
        ibp: str | None = None, metadata_version: str | None = None,
        broker_settings: Mapping[str, str] | None = None, controller_settings: Mapping[str, str] | None = None,
        zookeeper: ZooKeeperNode | ZooKeeperEnsemble | None = None,
    ) -> None:  # fmt: skip
        """Take a release: `ibp` and `metadata_version` are the release's own unless given; settings are added to every
        file.

        Without a `zookeeper` there is one server.
        """
        self.release = release
        self.workdir = workdir
        self.logs = workdir / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.zookeeper = zookeeper or ZooKeeperNode(workdir)
        self.metadata_version = metadata_version or ibp or release.rpartition(".")[0]
        self.plan = Plan(
            connect=self.zookeeper.connect + chroot,
            workdir=workdir,
            ibp=ibp or release.rpartition(".")[0],
            brokers={broker: (free_port(), free_port()) for broker in range(1, brokers + 1)},
            controllers={FIRST_CONTROLLER + number: free_port() for number in range(controllers)},
            broker_settings=broker_settings or {},
            controller_settings=controller_settings or {},
        )
        self.chroot = chroot
        self._nodes: dict[int, KafkaNode] = {}
        self._reached: list[str] = []
        for node_id in (*self.broker_ids, *self.controller_ids):
            self.write(node_id, self.plan.phases(node_id)[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill everything and give the ports back."""
        for node in self._nodes.values():
            node.kill()
        self.zookeeper.kill()
        ports = [port for pair in self.plan.brokers.values() for port in pair]
        for port in (*ports, *self.plan.controllers.values(), *self.zookeeper.ports):
            release_port(port)

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Return 1, 2 …"""
        return tuple(self.plan.brokers)

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Return 3001 …"""
        return tuple(self.plan.controllers)

    @property
    def connect(self) -> str:
        """Return `zookeeper.connect`, with the chroot."""
        return self.plan.connect

    @property
    def bootstrap_server(self) -> str:
        """Return the PLAINTEXT listeners of all brokers."""
        return ",".join(f"{HOST}:{plain}" for plain, _ in self.plan.brokers.values())

    @property
    def bootstrap_controller(self) -> str:
        """Return the listeners of all controllers."""
        return ",".join(f"{HOST}:{port}" for port in self.plan.controllers.values())

    def config_file(self, node_id: int) -> Path:
        """Return the file that the node starts with."""
        return self.workdir / f"node-{node_id}.properties"

    def metadata_log(self, controller_id: int = FIRST_CONTROLLER) -> Path:
        """Return a controller's `__cluster_metadata-0`."""
        return self.plan.log_dir(controller_id) / "__cluster_metadata-0"

    def node(self, node_id: int) -> KafkaNode:
        """Return a node as its file stood when it was started last."""
        if node_id not in self._nodes:
            file = self.config_file(node_id)
            self._nodes[node_id] = KafkaNode(self.release, file, self.logs, name=f"node-{node_id}")
        return self._nodes[node_id]

    def write(self, node_id: int, phase: str, **changed: str | None) -> Path:
        """Give a node the file of a phase; keys (`_` for `.`) are put in, or taken out where None."""
        found: dict[str, Any] = self.plan.config(node_id, phase)
        found |= {key.replace("_", "."): value for key, value in changed.items()}
        write_config(self.config_file(node_id), {key: value for key, value in found.items() if value is not None})
        return self.config_file(node_id)

    def start(self, *node_ids: int, wait: bool = True) -> None:
        """Start nodes with the files that stand on disk."""
        for node_id in node_ids:
            self._nodes.pop(node_id, None)
            self.node(node_id).start()
        for node_id in node_ids if wait else ():
            self.node(node_id).wait_ready(READY_S)

    def stop(self, *node_ids: int, grace_s: float = 60) -> None:
        """Send SIGTERM, and SIGKILL if that is not enough."""
        for node_id in node_ids:
            self.node(node_id).stop(grace_s)

    def kill(self, *node_ids: int) -> None:
        """Send SIGKILL, and wait for the end of the broker's `/brokers/ids/N`, because a start before that fails."""
        for node_id in node_ids:
            self.node(node_id).kill()
        for node_id in set(node_ids) & set(self.broker_ids):
            self.wait_for(lambda node_id=node_id: self.znode(f"/brokers/ids/{node_id}") is None, "forgot the broker")  # type: ignore[misc]

    def restart(self, node_id: int, phase: str | None = None, *, wait: bool = True) -> None:
        """Stop and start a node, with the file of another phase where one is named."""
        self.stop(node_id)
        if phase is not None:
            self.write(node_id, phase)
        self.start(node_id, wait=wait)

    def format_controllers(self, *, cluster_id: str | None = None) -> None:
        """Format the controllers' disks with the cluster's id and `metadata_version`."""
        for node_id in self.controller_ids:
            file = self.config_file(node_id)
            known = find_release(self.release)
            node = read_node_config(file.read_bytes(), file=str(file), release=known, resolve=resolve)
            request = FormatRequest(
                cluster_id=cluster_id or self.cluster_id(),
                release_version=self.metadata_version,
                voter_mode=VoterMode.UNSPECIFIED,
                initial_controllers="",
            )
            applied = apply_plan(plan_format(request, node, observe_node(node), known, SystemSource()), OsFilesystem())
            if applied.outcome is not Outcome.DONE:
                raise LabError(f"controller {node_id} is not formatted: {applied.findings}")

    def reach(self, state: str) -> None:
        """Reach that state from nothing, forward, over all states before it that were not reached yet."""
        for stage in STATES[: STATES.index(state) + 1]:
            if stage not in self._reached:
                getattr(self, f"_to_{stage.lower()}")()
                self._reached.append(stage)

    def _to_m0(self) -> None:
        self.zookeeper.start().wait_ready()
        self.start(*self.broker_ids)
        self.wait_for(lambda: self.znode("/controller"), "a controller")

    def _to_m3(self) -> None:
        self.format_controllers()
        self.start(*self.controller_ids)
        self.wait_for(lambda: self.znode("/migration"), "/migration")

    def _to_m4(self) -> None:
        self.enter(self.broker_ids[0])

    def _to_m4l(self) -> None:
        self.enter(*self.broker_ids[1:-1])

    def _to_m6(self) -> None:
        self.enter(self.broker_ids[-1])
        self.wait_dual_write()

    def _to_m7(self) -> None:
        self.to_kraft(self.broker_ids[0])

    def _to_m8(self) -> None:
        self.to_kraft(*self.broker_ids[1:])

    def _to_m11(self) -> None:
        for node_id in self.controller_ids:
            self.restart(node_id, "final")

    def enter(self, *broker_ids: int) -> None:
        """Restart brokers in migration mode, one after the other, each until it is registered."""
        for broker_id in broker_ids:
            before = self._registrations(broker_id)
            self.restart(broker_id, "migration")
            self.wait_for(lambda b=broker_id, n=before: self._registrations(b) > n, "registered the broker")  # type: ignore[misc]

    def to_kraft(self, *broker_ids: int) -> None:
        """Restart brokers with their KRaft file, one after the other."""
        for broker_id in broker_ids:
            self.restart(broker_id, "kraft")

    def wait_dual_write(self, timeout_s: float = READY_S) -> None:
        """Wait until some controller has logged the dual write, and `/migration` has an offset."""
        logs = [controller.log_text for controller in self.controllers]
        self.wait_for(lambda: any(DUAL_WRITE.search(text()) for text in logs), "dual write", timeout_s)
        self.wait_for(lambda: self.migration().get("kraft_metadata_offset", -1) > 0, "an offset in /migration")

    @property
    def controllers(self) -> list[KafkaNode]:
        """Return the controllers that were started."""
        return [self._nodes[controller_id] for controller_id in self.controller_ids if controller_id in self._nodes]

    def _registrations(self, broker_id: int) -> int:
        """Return how often the controllers have registered this broker, by the records in their log."""
        found = (
            record for _, record in migration_log.records(self.metadata_log()) if record.type == "RegisterBrokerRecord"
        )
        return sum(record.data["BrokerId"] == broker_id for record in found)

    def znode(self, path: str) -> Znode | None:
        """Return one znode, below the chroot."""
        with self.open_zookeeper() as zookeeper:
            return zookeeper.read(path)

    def open_zookeeper(self) -> ZooKeeper:
        """Return a session below the chroot; a context manager."""
        return open_zookeeper(self.connect, timeout_ms=20_000)

    def cluster_id(self) -> str:
        """Return what `/cluster/id` says."""
        return str(self._json("/cluster/id")["id"])

    def migration(self) -> dict[str, Any]:
        """Return what `/migration` says; empty if there is none."""
        return self._json("/migration")

    def controller(self) -> dict[str, Any]:
        """Return what `/controller` says; empty if there is none."""
        return self._json("/controller")

    def _json(self, path: str) -> dict[str, Any]:
        znode = self.znode(path)
        found: dict[str, Any] = {} if znode is None or not znode.data else json.loads(znode.data)
        return found

    def fill(self) -> str:
        """Return every kind of metadata (see `MigrationChores.java`); what was done and what was refused, a line
        each."""
        return self.chores("fill")

    def administrator(self) -> dict[str, str]:
        """Return the client properties of one who may do everything, and make delegation tokens."""
        ports = ",".join(f"{HOST}:{sasl}" for _, sasl in self.plan.brokers.values())
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{LOGIN};"}
        return {"bootstrap.servers": ports} | login

    def chores(self, *words: str) -> str:
        """Run an administrator's words; its lines. Raises LabError if one failed."""
        return migration_chores.run(self, words)

    def wait_for(self, holds: Callable[[], T], what: str, timeout_s: float = READY_S) -> T:
        """Ask until the answer is true, and return it; LabError names what did not come."""
        deadline = time.monotonic() + timeout_s
        while not (answer := holds()):
            if time.monotonic() > deadline:
                raise LabError(f"the migrating cluster had not {what} within {timeout_s} s")
            time.sleep(_POLL_S)
        return answer
