"""Observations of a migration in each of its states, as values: three brokers, one controller, one topic.

`Seen` has a knob for each witness, set to what a healthy cluster shows; a test turns the one that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kafkactl.core.frozen import changed
from kafkactl.core.values import Role, Uuid
from kafkactl.metadata.image.model import Image
from kafkactl.migration.observed.log_facts import AbortedCopy, ControllerSeen, LogFacts, RegistrationSeen
from kafkactl.migration.observed.observation import (
    ApiVersionsSeen,
    IdentitySeen,
    Mode,
    NodeSeen,
    Observation,
    QuorumSeen,
    ReplicaSeen,
)
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import Znode
from tests.migration.zk_trees import CLUSTER_ID, ORDERS_ID, text

TIME_MS = 1_790_000_100_000
PLAIN = "broker.id={id}\nzookeeper.connect=zk:2181/kafka\ninter.broker.protocol.version=3.8\n"
MIGRATING = PLAIN + (
    "zookeeper.metadata.migration.enable=true\ncontroller.quorum.voters=3001@c1:9093\n"
    "controller.listener.names=CONTROLLER\n"
)
KRAFT = (
    "node.id={id}\nprocess.roles=broker\ncontroller.quorum.voters=3001@c1:9093\ncontroller.listener.names=CONTROLLER\n"
)
CONTROLLER = "node.id={id}\nprocess.roles=controller\ncontroller.quorum.voters=3001@c1:9093\n"
FILES = {Mode.ZK: PLAIN, Mode.MIGRATING: MIGRATING, Mode.KRAFT: KRAFT}
ZK, MIG, KR = Mode.ZK, Mode.MIGRATING, Mode.KRAFT
COPY_BEGIN, COPY_END = 81, 236


@dataclass
class Seen:
    """State of a cluster. `modes`: how each broker runs, None for one that is down. `registered`: by broker id, whether
    as migrating. `controllers`: by id, whether it is alive. `log` is the state in the log, None for no log. `foreign`:
    the cluster that a controller says it is of."""

    modes: dict[int, Mode | None] = field(default_factory=lambda: {1: ZK, 2: ZK, 3: ZK})
    files: dict[int, Mode] = field(default_factory=dict)
    controllers: dict[int, bool | None] = field(default_factory=dict)
    flags: dict[int, bool] = field(default_factory=dict)
    formatted: bool = True
    log: int | None = None
    end: int = 40
    epoch: int = 1
    registered: dict[int, bool] = field(default_factory=dict)
    fenced: tuple[int, ...] = ()
    copy: tuple[int | None, int | None] = (None, None)
    aborts: int = 0
    metric: int | None = None
    holder: str | None = "zk"
    holder_kraft_epoch: int = 1
    zk_epoch: int = 4
    state_epoch: int = 3
    migration: int | str | None = None
    migration_version: int = 2
    migration_age_ms: int = 300
    has_tree: bool = True
    topics: bool = True
    meta_version: dict[int, str] = field(default_factory=dict)
    leader: bool = True
    foreign: dict[int, str] = field(default_factory=dict)
    version: str = "3.9.2"

    def but(self, **changes: Any) -> Seen:
        return replace(self, **changes)

    def observation(self) -> Observation:
        made = self._observation()
        for id, cluster in self.foreign.items():
            made = answering(made, f"controller {id}", cluster_id=cluster)
        return made

    def _observation(self) -> Observation:
        return Observation(
            time_ms=TIME_MS,
            connect="zk:2181/kafka",
            nodes=(*(self._broker(id) for id in self.modes), *(self._controller(id) for id in self.controllers)),
            tree=tree_of(self._znodes()) if self.has_tree else None,
            logs=self._logs(),
        )

    def _broker(self, id: int) -> NodeSeen:
        mode = self.modes[id]
        file = FILES[self.files.get(id, mode or ZK)].format(id=id)
        return NodeSeen(
            id=id,
            role=Role.BROKER,
            alive=mode is not None,
            kafka_version=self.version,
            mode=mode,
            config_text=file,
            config=properties(file),
            meta_properties={"version": self.meta_version.get(id, "0"), "broker.id": str(id), "cluster.id": CLUSTER_ID},
            api_versions=None if mode is None else api(ready=mode is MIG, level=20 if mode is KR else None),
            quorum=None if mode is None else QuorumSeen(closed=True) if mode is not KR else self._quorum(),
            metrics=None if mode is None else {"ZkMigrationState": 4.0},
        )

    def _controller(self, id: int) -> NodeSeen:
        alive = self.controllers[id]
        flag = self.flags.get(id, True)
        file = CONTROLLER.format(id=id) + ("zookeeper.metadata.migration.enable=true\n" if flag else "")
        state = self.metric if self.metric is not None else self.log
        return NodeSeen(
            id=id,
            role=Role.CONTROLLER,
            alive=alive,
            config_text=file,
            config=properties(file),
            meta_properties={"version": "1", "node.id": str(id), "cluster.id": CLUSTER_ID} if self.formatted else None,
            api_versions=api(ready=flag, level=20) if alive else None,
            quorum=self._quorum() if alive and self.leader else None,
            metrics={"ZkMigrationState": float(-1 if state is None else state)} if alive else None,
        )

    def _quorum(self) -> QuorumSeen | None:
        live = [id for id, alive in self.controllers.items() if alive]
        if not live:
            return None  # a broker on KRaft forwards the question
        observers = [id for id, mode in self.modes.items() if mode in (MIG, KR)]
        return QuorumSeen(
            leader_id=live[0],
            leader_epoch=self.epoch,
            high_watermark=self.end,
            voters=tuple(ReplicaSeen(id=id, log_end_offset=self.end) for id in self.controllers),
            observers=tuple(ReplicaSeen(id=id, log_end_offset=self.end) for id in observers),
        )

    def _logs(self) -> Mapping[int, LogFacts]:
        if self.log is None:
            return {}
        begin, end = self.copy
        facts = LogFacts(
            image=Image(zk_migration_state=self.log),
            first_offset=0,
            last_offset=self.end - 1,
            end_offset=self.end,
            epoch=self.epoch,
            migration_states=((3, 2), (235, self.log)) if self.log == 1 else ((3, self.log),),
            copy_begin=begin,
            copy_end=end,
            aborted_copies=tuple(
                AbortedCopy(begin=at, abort=at + 1, records=0, reason=None) for at in range(self.aborts)
            ),
            registrations={id: self._registration(id, migrating) for id, migrating in self.registered.items()},
            controllers={id: controller(id) for id in self.controllers},
        )
        return dict.fromkeys(self.controllers, facts) or {3001: facts}

    def _registration(self, id: int, migrating: bool) -> RegistrationSeen:
        return RegistrationSeen(
            id=id,
            offset=10 + id,
            epoch=10 + id,
            migrating=migrating,
            fenced=id in self.fenced,
            in_controlled_shutdown=False,
            incarnation_id=uuid(id),
            endpoints=(),
            features={},
            directories=(),
            rack=None,
            ever_migrating=True,
        )

    def _znodes(self) -> tuple[Znode, ...]:
        data: dict[str, bytes | None] = {
            "/cluster/id": text({"version": "1", "id": CLUSTER_ID}),
            "/controller_epoch": str(self.zk_epoch).encode(),
            "/brokers/ids": None,
            "/brokers/topics": None,
        }
        for id, mode in self.modes.items():
            if mode in (ZK, MIG):
                data[f"/brokers/ids/{id}"] = _broker_znode(id)
        if self.topics:
            data["/brokers/topics/orders"] = text({"version": 3, "topic_id": ORDERS_ID, "partitions": {"0": [1, 2, 3]}})
            state = {
                "controller_epoch": self.state_epoch,
                "leader": 1,
                "version": 1,
                "leader_epoch": 4,
                "isr": [1, 2, 3],
            }
            data["/brokers/topics/orders/partitions/0/state"] = text(state)
        if self.holder is not None:
            kraft = self.holder != "zk"
            holder = {"version": 2, "brokerid": 3001 if kraft else 1, "timestamp": "1", "kraftControllerEpoch": -1}
            data["/controller"] = text(holder | ({"kraftControllerEpoch": self.holder_kraft_epoch} if kraft else {}))
        if self.migration is not None:
            data["/migration"] = b"" if self.migration == "empty" else _migration(self.migration)
        return tuple(self._znode(path, content) for path, content in data.items())

    def _znode(self, path: str, data: bytes | None) -> Znode:
        session = path.startswith("/brokers/ids/") or (
            path == "/controller" and self.holder in ("zk", "kraft-ephemeral")
        )
        is_memory = path == "/migration"
        return Znode(
            path=path,
            data=data,
            version=self.migration_version if is_memory else 7,
            czxid=100,
            mzxid=200,
            mtime_ms=TIME_MS - self.migration_age_ms if is_memory else TIME_MS,
            ephemeral_owner=72 if session else 0,
        )


def properties(file: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.splitlines())


def api(*, ready: bool, level: int | None) -> ApiVersionsSeen:
    return ApiVersionsSeen(
        supported={18: (0, 4)} | ({55: (0, 2)} if level else {}),
        supported_features={"metadata.version": (1, 21)},
        finalized_features={"metadata.version": level} if level else {},
        finalized_epoch=0,
        zk_migration_ready=ready,
    )


def controller(id: int) -> ControllerSeen:
    return ControllerSeen(id=id, offset=5, zk_migration_ready=True, incarnation_id=uuid(id), endpoints=(), features={})


def uuid(number: int) -> Uuid:
    return Uuid((number + 1000).to_bytes(16, "big"))


def _broker_znode(id: int) -> bytes:
    return text({"version": 4, "host": "b", "port": 9090 + id, "jmx_port": -1, "timestamp": "1",
                 "endpoints": [f"PLAINTEXT://b:{9090 + id}"], "listener_security_protocol_map": {}})  # fmt: skip


def _migration(offset: int | str) -> bytes:
    return text({"version": 0, "kraft_controller_id": 3001, "kraft_controller_epoch": 1,
                 "kraft_metadata_offset": offset, "kraft_metadata_epoch": 1})  # fmt: skip


def without(observation: Observation, **fields: Any) -> Observation:
    """Return the same with fields of every node taken out."""
    return changed(observation, nodes=tuple(changed(node, **fields) for node in observation.nodes))


def answering(observation: Observation, name: str, **identity: Any) -> Observation:
    """Return the same, and a node says who it is: by default the one that the inventory names."""
    usual = {"cluster_id": CLUSTER_ID, "node_id": int(name.rpartition(" ")[2])}
    nodes = (
        changed(node, identity=IdentitySeen(**(usual | identity))) if node.name == name else node
        for node in observation.nodes
    )
    return changed(observation, nodes=tuple(nodes))


_UP = {3001: True}
_COPIED = Seen(
    modes={1: MIG, 2: MIG, 3: MIG}, controllers=_UP, log=1, end=300, registered={1: True, 2: True, 3: True},
    copy=(COPY_BEGIN, COPY_END), holder="kraft", migration=298, migration_version=60,
)  # fmt: skip
HEALTHY: dict[str, Seen] = {
    "M0": Seen(),
    "M2": Seen(controllers={3001: False}),
    "M3": Seen(controllers=_UP, log=2, migration=-1, migration_version=0),
    "M4": Seen(modes={1: MIG, 2: ZK, 3: ZK}, controllers=_UP, log=2, migration=-1, registered={1: True}),
    "M4L": Seen(modes={1: MIG, 2: MIG, 3: ZK}, controllers=_UP, log=2, migration=-1, registered={1: True, 2: True}),
    "M5": _COPIED.but(log=2, end=120, copy=(COPY_BEGIN, None), migration=-1, migration_version=1),
    "M6": _COPIED,
    "M7": _COPIED.but(modes={1: KR, 2: MIG, 3: MIG}, registered={1: False, 2: True, 3: True}),
    "M8": _COPIED.but(modes={1: KR, 2: KR, 3: KR}, registered={1: False, 2: False, 3: False}),
    "M10": _COPIED.but(
        modes={1: KR, 2: KR, 3: KR}, registered={1: False, 2: False, 3: False}, log=3,
        controllers={3001: True, 3002: True}, flags={3001: False},
    ),
    "M11": _COPIED.but(
        modes={1: KR, 2: KR, 3: KR}, registered={1: False, 2: False, 3: False}, log=3, flags={3001: False},
    ),
}  # fmt: skip
