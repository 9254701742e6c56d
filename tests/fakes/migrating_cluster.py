"""A simulated cluster that migrates from ZooKeeper to KRaft, as an operator sees it, with a count of what harms it.

Time passes only when the code under test waits. What each kind of node does when it starts, and what the controllers do
on their own, was measured on Kafka 3.9.2 (the runs of docs/proof/migration.md): the copy begins when the last broker
has registered, a broker started earlier with its KRaft file makes strays, deleting `/controller` under running
controllers is a split brain, a `/migration` left of an earlier attempt empties ZooKeeper, a leader without the flag
finalizes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.values import Role, Uuid
from kafkactl.migration.copy.records import copy_batches
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.observed.observation import (
    ApiVersionsSeen,
    Mode,
    NodeSeen,
    Observation,
    QuorumSeen,
    ReplicaSeen,
)
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.tree import Tree, tree_of
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.text.properties import parse_properties
from tests.fakes.migration_log import MIGRATION, NONE, POST_MIGRATION, PRE_MIGRATION, STATE, FakeLog
from tests.migration.zk_trees import CLUSTER_ID, LOGS_ID, small, text

LEVEL = 20  # metadata.version 3.8-IV0
DESCRIBE_QUORUM = 55
_NOT_CLOSED = {0: (0, 11), 3: (0, 12), 18: (0, 3)}


def broker_file(id: int) -> str:
    """Return the file of a broker before anything begins."""
    return (
        f"# broker {id}, by hand\nbroker.id={id}\nlisteners=PLAINTEXT://127.0.0.1:{9090 + id}\nlog.dirs=/data/{id}\n"
        "zookeeper.connect=zk:2181\ninter.broker.protocol.version=3.8\ndelegation.token.secret.key=s3cret\n"
    )


def controller_file(id: int) -> str:
    """Return the file of a controller as the operator prepared it."""
    voters = ",".join(f"{number}@127.0.0.1:{6090 + number % 10}" for number in (3001, 3002, 3003))
    return (
        f"process.roles=controller\nnode.id={id}\nlisteners=CONTROLLER://127.0.0.1:{6090 + id % 10}\n"
        f"controller.listener.names=CONTROLLER\ncontroller.quorum.voters={voters}\nlog.dirs=/meta/{id}\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        "zookeeper.connect=zk:2181\nzookeeper.metadata.migration.enable=true\ninter.broker.listener.name=PLAINTEXT\ndelegation.token.secret.key=s3cret\n"
    )


@dataclass
class FakeNode:
    """A node: its file, its disks, and the process while there is one."""

    id: int
    role: Role
    file: str | None
    running: bool = False
    enabled: bool = True
    runs_with: Mapping[str, str] = field(default_factory=dict)
    starts: int = 0
    formatted: str | None = None  # its cluster id
    registered: int = -1  # the start whose registration is in the log
    follows: int | None = None  # the controller in a broker's metadata cache
    strays: bool = False
    killed_ms: float = 0.0
    paused: bool = False  # SIGSTOP: it takes connections and says nothing

    @property
    def name(self) -> str:
        return f"{self.role} {self.id}"

    @property
    def mode(self) -> Mode:
        """Return the mode by the file that it runs with."""
        if "process.roles" in self.runs_with:
            return Mode.KRAFT
        return Mode.MIGRATING if self.has_flag else Mode.ZK

    @property
    def has_flag(self) -> bool:
        return self.runs_with.get("zookeeper.metadata.migration.enable") == "true"


class FakeCluster:
    """Brokers 1 to 3, controllers 3001 to 3003, and a ZooKeeper."""

    def __init__(self, *, brokers: int = 3, controllers: int = 3) -> None:
        self.now_ms = 1_790_000_000_000.0
        self.harm: list[str] = []
        self.zookeeper_up = True
        self.znodes: dict[str, Znode] = {}
        self.zxid = 500
        self.nodes = {
            **{n: FakeNode(n, Role.BROKER, broker_file(n)) for n in range(1, brokers + 1)},
            **{n: FakeNode(n, Role.CONTROLLER, controller_file(n)) for n in range(3001, 3001 + controllers)},
        }
        self.logs = [FakeLog(self.now_ms)]
        self.leader: int | None = None
        self.copying = 0
        self.dual_write = False
        self.emptying_from: float | None = None
        self.driver: tuple[str, object] | None = None  # who holds the lock in ZooKeeper
        for path, data in small().items():
            if not path.startswith(("/brokers/ids/", "/controller")) and path != "/admin/delete_topics/logs":
                self.put(path, data)
        logs = {"removing_replicas": {}, "partitions": {"0": [2, 1]}, "adding_replicas": {}, "version": 3}
        self.put("/brokers/topics/logs", text({**logs, "topic_id": LOGS_ID}))
        for path, leader in (("orders/partitions/1", 2), ("logs/partitions/0", 1)):
            state = {"controller_epoch": 2, "leader": leader, "version": 1, "leader_epoch": 4, "isr": [1, 2]}
            self.put(f"/brokers/topics/{path}/state", text(state))
        self.put("/controller_epoch", b"2")
        for node in self.brokers:
            self.start(node.id)
        self.tick()

    @property
    def log(self) -> FakeLog:
        """Return the quorum's log; after a new format another one."""
        return self.logs[-1]

    @property
    def brokers(self) -> list[FakeNode]:
        return [node for node in self.nodes.values() if node.role is Role.BROKER]

    @property
    def controllers(self) -> list[FakeNode]:
        return [node for node in self.nodes.values() if node.role is Role.CONTROLLER]

    @property
    def quorum(self) -> list[FakeNode]:
        """Return the controllers that run on formatted disks."""
        return [controller for controller in self.controllers if controller.running and controller.formatted]

    def put(self, path: str, data: bytes | None, *, owner: int = 0) -> None:
        """Create a znode, or change its data."""
        self.zxid += 1
        old = self.znodes.get(path)
        kept: dict[str, Any] = {"czxid": self.zxid, "version": 0}
        if old is not None:
            kept = {"czxid": old.czxid, "version": old.version + 1}
        self.znodes[path] = Znode(
            path=path, data=data, mzxid=self.zxid, mtime_ms=int(self.now_ms), ephemeral_owner=owner, **kept
        )

    def remove(self, path: str) -> None:
        """Delete a znode."""
        if path == "/controller" and self.quorum and self.log.state in (MIGRATION, PRE_MIGRATION):
            self.harm.append("/controller deleted while a controller lives")
        del self.znodes[path]

    def controller_znode(self) -> dict[str, Any] | None:
        """Return the content of `/controller`."""
        found = self.znodes.get("/controller")
        if found is None:
            return None
        known: dict[str, Any] = json.loads(found.data) if found.data and found.data.startswith(b"{") else {}
        return known or {"brokerid": -1, "kraftControllerEpoch": -1}

    def start(self, id: int) -> None:
        """Start the process with the file that is there."""
        node = self.nodes[id]
        if node.running or node.file is None:
            return
        node.runs_with = dict(parse_properties(node.file.encode(), file=f"{id}.properties").mapping)
        if node.role is Role.CONTROLLER and node.formatted is None:
            return  # it ends with "No meta.properties found"
        if node.mode is not Mode.KRAFT and not self.zookeeper_up:
            return
        if node.role is Role.BROKER and node.mode is Mode.KRAFT and self.log.state not in (MIGRATION, POST_MIGRATION):
            node.strays = True
            self.harm.append(f"strays on broker {id}")
            return
        node.running, node.follows = True, None
        node.starts += 1
        if node.role is Role.BROKER and node.mode is not Mode.KRAFT:
            if f"/brokers/ids/{id}" in self.znodes:
                node.running = False  # the session of the process that was killed still lives
                self.harm.append(f"broker {id} died of its own znode")
                return
            self.put(f"/brokers/ids/{id}", _registered(id), owner=1000 * id + node.starts)
        if self.dual_write and node.role is Role.BROKER:
            self._stamp_states()
        self.tick()

    def stop(self, id: int) -> bool:
        """Send SIGTERM; return False if the process does not end (it waits for controllers that are gone)."""
        node = self.nodes[id]
        if not node.running:
            return True
        if node.mode is Mode.MIGRATING and (node.follows or 0) > 3000 and not self.quorum:
            return False
        node.running = False
        if node.role is Role.BROKER and node.mode is not Mode.KRAFT:
            self._end_session(node)
        if id == self.leader:
            self.leader = None
        self.tick()
        return True

    def kill(self, id: int) -> None:
        """Send SIGKILL; the session, if any, ends later."""
        self.nodes[id].running, self.nodes[id].killed_ms = False, self.now_ms
        self.leader = None if id == self.leader else self.leader

    def _end_session(self, node: FakeNode) -> None:
        self.znodes.pop(f"/brokers/ids/{node.id}", None)
        found = self.controller_znode()
        if found is not None and found["brokerid"] == node.id and self.znodes["/controller"].ephemeral_owner:
            del self.znodes["/controller"]

    def format(self, id: int, cluster_id: str) -> None:
        """Format the disks; if no other controller has a log, the quorum begins again."""
        if self.log.end_offset and not any(controller.formatted for controller in self.controllers):
            self.logs.append(FakeLog(self.now_ms))
            self.copying, self.dual_write = 0, False
            for node in self.nodes.values():
                node.registered = -1
        self.nodes[id].formatted = cluster_id

    def wipe(self, id: int) -> None:
        """Empty the disks of a stopped node."""
        if self.nodes[id].running:
            self.harm.append(f"disks of {id} wiped while it runs")
        self.nodes[id].formatted = None

    def advance(self, duration_ms: float) -> None:
        """Time passes."""
        self.now_ms += duration_ms
        self.log.now_ms = self.now_ms
        for node in self.brokers:  # sessions of killed processes
            if not node.running and f"/brokers/ids/{node.id}" in self.znodes and self.now_ms >= node.killed_ms + 6_000:
                self._end_session(node)
        if self.leader is not None:
            self.log.no_ops(min(20, max(1, int(duration_ms / 500))))
        self.tick()

    def tick(self) -> None:
        """Do everything that follows at once."""
        self._elect_in_zookeeper()
        self._elect_in_kraft()
        self._register()
        self._migrate()
        found = self.controller_znode()
        for node in self.brokers:
            if node.running and node.mode is not Mode.KRAFT and found is not None and self.zookeeper_up:
                is_living = found["kraftControllerEpoch"] < 0 or self.leader is not None
                node.follows = found["brokerid"] if is_living else node.follows

    def _elect_in_zookeeper(self) -> None:
        able = [broker for broker in self.brokers if broker.running and broker.mode is not Mode.KRAFT]
        if not self.zookeeper_up or "/controller" in self.znodes or not able:
            return
        if self.quorum and self.log.state == MIGRATION:
            self.harm.append("split brain")
        first = able[0]
        epoch = int(self.znodes["/controller_epoch"].data or b"0") + 1
        self.put("/controller_epoch", str(epoch).encode())
        self.put("/controller", _controller(first.id, -1), owner=1000 * first.id + first.starts)
        if self.highest_state_epoch() > epoch:
            self.harm.append("partitions whose state a newer controller wrote")
        self._stamp_states()

    def highest_state_epoch(self) -> int:
        """Return the highest epoch of the partitions' states in ZooKeeper."""
        return max(
            json.loads(z.data or b"{}")["controller_epoch"] for p, z in self.znodes.items() if p.endswith("/state")
        )

    def _stamp_states(self) -> None:
        """Write the epoch of a controller that moves a leader into the state."""
        found = self.controller_znode()
        if found is None or not self.zookeeper_up:
            return
        zookeeper = int(self.znodes["/controller_epoch"].data or b"0")
        epoch = self.log.epoch if found["kraftControllerEpoch"] >= 0 else zookeeper
        for path in [znode for znode in self.znodes if znode.endswith("/state")]:
            state = json.loads(self.znodes[path].data or b"{}")
            if state["controller_epoch"] <= epoch:
                self.put(path, text({**state, "controller_epoch": epoch}))

    def _elect_in_kraft(self) -> None:
        alive = self.quorum
        if len(alive) * 2 <= len(self.controllers):
            self.leader = None
            return
        if self.leader is not None:
            return
        leader = alive[0]
        self.leader = leader.id
        self.log.lead(leader.id, [controller.id for controller in self.controllers])
        if self.log.state is None:
            self.log.bootstrap(LEVEL, PRE_MIGRATION if leader.has_flag else NONE)
            if not leader.has_flag:
                self.harm.append("burnt quorum")
        elif self.log.state == MIGRATION and not leader.has_flag:
            self.log.append((STATE, 0, {"ZkMigrationState": POST_MIGRATION}))
            self.dual_write = False
            if any(broker.running and broker.mode is not Mode.KRAFT for broker in self.brokers):
                self.harm.append("finalized with a broker on ZooKeeper")

    def _register(self) -> None:
        if self.leader is None:
            return
        for node in self.quorum:
            if node.registered != node.starts:
                node.registered = node.starts
                self.log.register_controller(node.id, ready=node.has_flag)
        for node in self.brokers:
            if not node.running or node.mode is Mode.ZK or node.registered == node.starts:
                continue
            migrating = node.mode is Mode.MIGRATING
            levels = (LEVEL, LEVEL) if migrating else (1, 21)
            node.registered = node.starts
            self.log.register_broker(node.id, migrating=migrating, levels=levels, incarnation=node.starts)

    def _migrate(self) -> None:
        if self.leader is None or not self.nodes[self.leader].has_flag or not self.zookeeper_up:
            return
        if self.log.state == PRE_MIGRATION:
            if "/migration" not in self.znodes:
                self.put("/migration", _migration(-1, -1, -1, -1))
            self._copy()
        elif self.log.state == MIGRATION:
            self.dual_write = True
            if "/migration" in self.znodes:
                self._claim()
                self.put("/migration", _migration(self.log.end_offset - 1, self.leader, self.log.epoch, self.log.epoch))

    def _copy(self) -> None:
        wanted = {broker.id for broker in self.brokers}
        if wanted - set(self.log.facts.registrations):
            return
        stale = json.loads(self.znodes["/migration"].data or b"{}")["kraft_metadata_offset"] > 0
        self._claim()
        if stale:
            self.harm.append("ZooKeeper emptied by a stale /migration")
            return
        for node in self.brokers:
            if node.running and node.mode is Mode.ZK:
                self.harm.append(f"copy with broker {node.id} on ZooKeeper")
        self.copying += 1
        if self.copying < 2:  # claimed, and not yet copied
            return
        tree = parse_tree(self.tree())
        rules = copy_rules(KafkaVersion(3, 9, 2))
        for batch in copy_batches(tree, rules, acl_id=lambda n: Uuid(bytes(14) + n.to_bytes(2, "big"))):
            self.log.append_copied(batch)
        self.dual_write = True

    def _claim(self) -> None:
        found = self.controller_znode()
        assert self.leader is not None
        if found is not None and (found["brokerid"], found["kraftControllerEpoch"]) == (self.leader, self.log.epoch):
            return
        epoch = int(self.znodes["/controller_epoch"].data or b"0") + 1
        self.put("/controller_epoch", str(epoch).encode())
        self.put("/controller", _controller(self.leader, self.log.epoch))
        if json.loads(self.znodes["/migration"].data or b"{}")["kraft_metadata_offset"] < 0:
            self.put("/migration", _migration(-1, self.leader, -1, self.log.epoch))

    def tree(self) -> Tree:
        """Return ZooKeeper's tree."""
        return tree_of(self.znodes.values(), "")

    def observe(self) -> Observation:
        """Return all that there is to see."""
        if not self.zookeeper_up:
            raise UnreachableError("ZooKeeper does not answer", id="zookeeper-unreachable")
        seen = tuple(self._seen(node) for node in self.nodes.values())
        logs = {finding.id: self.log.facts for finding in self.quorum} if self.leader is not None else {}
        return Observation(time_ms=int(self.now_ms), connect="zk:2181", nodes=seen, tree=self.tree(), logs=logs)

    def _seen(self, node: FakeNode) -> NodeSeen:
        meta = {"version": "1", "cluster.id": node.formatted, "node.id": str(node.id)} if node.formatted else None
        if node.role is Role.BROKER:
            meta = {"version": "0", "cluster.id": CLUSTER_ID, "broker.id": str(node.id)}
            if node.starts > 1:
                meta["directory.id"] = str(Uuid(bytes(15) + bytes([node.id])))
        config = None if node.file is None else dict(parse_properties(node.file.encode(), file="f").mapping)
        common: dict[str, Any] = {
            "id": node.id, "role": node.role, "alive": node.running, "kafka_version": "3.9.2",
            "config_text": node.file, "config": config, "meta_properties": meta,
        }  # fmt: skip
        if not node.running:
            return NodeSeen(**common)
        is_kraft = node.mode is Mode.KRAFT
        supported = {**_NOT_CLOSED, **({DESCRIBE_QUORUM: (0, 2)} if is_kraft else {})}
        api = ApiVersionsSeen(
            supported=supported,
            supported_features={"metadata.version": (1, 21)},
            finalized_features={"metadata.version": LEVEL} if is_kraft and self.log.state is not None else {},
            finalized_epoch=self.log.end_offset if is_kraft else 0,
            zk_migration_ready=node.has_flag,
        )
        metrics = {"ZkMigrationState": float(4 if not is_kraft else -1 if self.log.state is None else self.log.state)}
        return NodeSeen(**common, mode=node.mode, api_versions=api, quorum=self._quorum_seen(node), metrics=metrics)

    def _quorum_seen(self, node: FakeNode) -> QuorumSeen | None:
        if node.mode is not Mode.KRAFT:
            return QuorumSeen(closed=True)
        if self.leader is None or (node.role is Role.CONTROLLER and node.id != self.leader):
            return QuorumSeen(partition_error=6)
        end, now = self.log.end_offset, int(self.now_ms)
        at = {"log_end_offset": end, "last_fetch_timestamp_ms": now, "last_caught_up_timestamp_ms": now}
        followers = [broker for broker in self.brokers if broker.running and broker.mode is not Mode.ZK]
        return QuorumSeen(
            leader_id=self.leader,
            leader_epoch=self.log.epoch,
            high_watermark=end,
            voters=tuple(ReplicaSeen(id=controller.id, **at) for controller in self.controllers),
            observers=tuple(ReplicaSeen(id=follower.id, **at) for follower in followers),
        )

    def read(self, path: str) -> Znode | None:
        """Return one znode."""
        if not self.zookeeper_up:
            raise UnreachableError("ZooKeeper does not answer", id="zookeeper-unreachable")
        return self.znodes.get(path)

    def write(self, path: str, version: int, change: Callable[[], None]) -> None:
        """Change a znode that must have this version."""
        found = self.read(path)
        if found is None:
            raise RefusedError(f"{path} is not there any more", id="znode-gone")
        if found.version != version:
            raise RefusedError(f"{path} has another version", id="znode-changed")
        change()
        self.tick()


def _registered(id: int) -> bytes:
    return text(
        {"features": {}, "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"}, "rack": None, "version": 5,
         "endpoints": [f"PLAINTEXT://127.0.0.1:{9090 + id}"], "jmx_port": -1, "port": 9090 + id, "host": "127.0.0.1",
         "timestamp": "1790000000000"}
    )  # fmt: skip


def _controller(id: int, kraft_epoch: int) -> bytes:
    return text({"version": 2, "brokerid": id, "timestamp": "1", "kraftControllerEpoch": kraft_epoch})


def _migration(offset: int, id: int, epoch: int, controller_epoch: int) -> bytes:
    return text(
        {"version": 0, "kraft_metadata_offset": offset, "kraft_controller_id": id, "kraft_metadata_epoch": epoch,
         "kraft_controller_epoch": controller_epoch}
    )  # fmt: skip
