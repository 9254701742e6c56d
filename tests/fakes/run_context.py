"""Context of a run on the fake cluster: inventory, a journal in a folder, files for every phase, short timeouts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.values import Role
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.migration.driver.moves import RunContext
from kafkactl.migration.driver.ports import MigrationWaitPolicy, RunResult
from kafkactl.migration.driver.routes import identity_of
from kafkactl.migration.inventory import Inventory, InventoryNode, ZooKeeperPlace
from kafkactl.migration.io.journal import MigrationJournal, open_migration_journal
from kafkactl.migration.observed.observation import Observation
from tests.fakes.interruption import Fuse, Go
from tests.fakes.migrating_cluster import FakeCluster, FakeNode, broker_file
from tests.fakes.migration_hooks import FakeWorld
from tests.migration.zk_trees import CLUSTER_ID

POLICY = MigrationWaitPolicy(gate_ms=120_000, operator_ms=120_000, gone_ms=20_000, znode_ms=30_000)
FLAG = "zookeeper.metadata.migration.enable=true\n"
QUORUM = (
    "controller.listener.names=CONTROLLER\ncontroller.quorum.voters=3001@127.0.0.1:6091,3002@127.0.0.1:6092,"
    "3003@127.0.0.1:6093\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
)


def address_of(node: FakeNode) -> str:
    """Return where a node listens, by its own file."""
    return f"127.0.0.1:{(9090 if node.role is Role.BROKER else 6090) + node.id % 10}"


def inventory_of(cluster: FakeCluster) -> Inventory:
    """Return the inventory as its operator would write it."""
    nodes = tuple(
        InventoryNode(
            id=node.id,
            role=node.role,
            host="127.0.0.1",
            address=address_of(node),
            config=f"/etc/kafka/{node.id}.properties",
            log_dirs=(f"/data/{node.id}",),
        )
        for node in cluster.nodes.values()
    )
    return Inventory(file="inventory.toml", zookeeper=ZooKeeperPlace(connect="zk:2181"), nodes=nodes, journal="journal")


class Unsynced(OsFilesystem):
    """A disk that is not waited for: a driver that is killed here leaves the machine running."""

    def fsync(self, descriptor: int) -> None:
        """Do nothing."""

    def fsync_directory(self, path: str) -> None:
        """Do nothing."""


class PlainFiles:
    """Files of every phase, as short as the fake cluster needs them."""

    def content(
        self, node: InventoryNode, phase: str, current: bytes | None, _observation: Observation
    ) -> bytes | Finding:
        if node.role is Role.CONTROLLER:
            assert current is not None
            kept = [line for line in current.decode().splitlines() if not line.startswith("zookeeper.")]
            return (
                "\n".join(kept) + "\n" + (FLAG + "zookeeper.connect=zk:2181\n" if phase == "migration" else "")
            ).encode()
        text = broker_file(node.id)
        if phase == "migration":
            text += FLAG + QUORUM
        elif phase == "kraft":
            text = (
                f"process.roles=broker\nnode.id={node.id}\nlisteners=PLAINTEXT://127.0.0.1:{9090 + node.id}\n{QUORUM}"
            )
        return text.encode()

    def keep_originals(self, journal) -> None:
        """Do nothing: the original files are known."""

    def objections(self, seen, steps) -> tuple[Finding, ...]:
        """Return no objections."""
        return ()

    def settle(self, journal, seen, steps) -> tuple[str, ...]:
        """Do nothing."""
        return ()


def open_context(world: FakeWorld, folder: Path) -> RunContext:
    """Return a context with the journal of the folder open; close `context.journal`."""
    inventory = inventory_of(world.cluster)
    journal: MigrationJournal = open_migration_journal(
        str(folder / "journal.jsonl"), cluster_id=CLUSTER_ID, identity=identity_of(inventory), files=Unsynced()
    )
    return RunContext(
        world=world,
        inventory=inventory,
        journal=journal,
        files=PlainFiles(),
        policy=POLICY,
        tell=lambda _: None,
        cluster_id=CLUSTER_ID,
        release="3.8",
        format_flags={},
        lock=world.lock(journal.path),
    )


def at_phase(phase: str) -> FakeCluster:
    """Return a fake cluster that was brought to a phase by hand: M0, M3, M4, M4L, M6, M7, M8."""
    cluster = FakeCluster()
    order = ["M0", "M3", "M4", "M4L", "M6", "M7", "M8"]
    for step in order[1 : order.index(phase) + 1]:
        match step:
            case "M3":
                for controller in cluster.controllers:
                    cluster.format(controller.id, CLUSTER_ID)
                for finding in cluster.controllers:
                    cluster.start(finding.id)
            case "M4" | "M4L" | "M6":
                _again(cluster, {"M4": 1, "M4L": 2, "M6": 3}[step], broker_file, FLAG + QUORUM)
            case "M7":
                _again(cluster, 1, _kraft, "")
            case "M8":
                _again(cluster, 2, _kraft, "")
                _again(cluster, 3, _kraft, "")
        for _ in range(4):
            cluster.advance(1_000)
    assert cluster.harm == []
    return cluster


def _kraft(id: int) -> str:
    return f"process.roles=broker\nnode.id={id}\nlisteners=PLAINTEXT://127.0.0.1:{9090 + id}\n{QUORUM}"


def _again(cluster: FakeCluster, id: int, file: object, more: str) -> None:
    assert callable(file)
    assert cluster.stop(id)
    cluster.nodes[id].file = file(id) + more
    cluster.start(id)


def fused(go: Callable[[FakeWorld, Path], RunResult]) -> Go[FakeCluster]:
    """Return a run as the harness of interruptions calls it: each hook, look and change of a znode is an act."""

    def run(cluster: FakeCluster, folder: Path, fuse: Fuse) -> Outcome:
        world = FakeWorld(cluster)
        world.on_act = fuse
        return go(world, folder).outcome

    return run
