"""A cluster in each state of its migration, as an observation, with everything that checks look at.

Two brokers and one controller with whole files, one of everything in ZooKeeper (`zk_trees.small`), and from the copy on
the image that Kafka's copy makes of it. A healthy one trips no check; a test changes one thing of it:

    world("M6").file(3001, "zookeeper.metadata.migration.enable", None).observation()
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kafkactl.core.frozen import changed
from kafkactl.core.values import Role, Uuid
from kafkactl.metadata.image.model import Image, LogRecord
from kafkactl.metadata.replay.reference import replay
from kafkactl.migration.copy.records import copy_batches
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.observed.log_facts import AbortedCopy, LogFacts, RegistrationSeen, ScramRemoval
from kafkactl.migration.observed.observation import (
    ApiVersionsSeen,
    Mode,
    NodeSeen,
    Observation,
    QuorumSeen,
    ReplicaSeen,
    ServerSeen,
)
from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.schema.definitions import message
from kafkactl.storage.partition_folders import PartitionIds
from tests.migration.zk_trees import CLUSTER_ID, ORDERS_ID, small, text, without

TIME_MS = 1_790_000_100_000
LEVEL = 20
COPY_BEGIN, COPY_END, END = 81, 236, 300
STATES = ("M0", "M2", "M3", "M4", "M4L", "M5", "M6", "M7", "M8", "M11")
# Questions that no observation at M0 answers without hooks, in the order of their checks.
OPEN_AT_M0 = (
    "zookeeper-health-unknown",
    "log-directories-unknown",
    "automation-unknown",
    "node-connectivity-unknown",
    "disk-topic-ids-unknown",
)
_LOGS = ("/brokers/topics/logs", "/brokers/topics/logs/partitions/0/state", "/admin/delete_topics/logs")
_COMMON = {
    "super.users": "User:ANONYMOUS;User:admin",
    "password.encoder.secret": "secret",
    "delegation.token.secret.key": "key",
    "log.dirs": "/data",
}
_ZOOKEEPER = {"zookeeper.connect": "zk:2181/kafka"}
_FLAG = {"zookeeper.metadata.migration.enable": "true"}
_QUORUM = {
    "controller.quorum.voters": "3001@c1:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
}
_ACL = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
_STANDARD = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


def broker_file(id: int, mode: Mode) -> dict[str, str]:
    """Return the server.properties of a broker in a mode."""
    listeners = {"listeners": f"PLAINTEXT://127.0.0.1:{9090 + id},SASL://127.0.0.1:{9190 + id}"}
    names = {"inter.broker.listener.name": "PLAINTEXT"}
    protocols = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"}
    own = {"broker.id": str(id), "inter.broker.protocol.version": "3.8", **protocols}
    plain = {**own, **_ZOOKEEPER, **_COMMON, **_ACL, **listeners, **names}
    if mode is Mode.ZK:
        return plain
    if mode is Mode.MIGRATING:
        return {**plain, **_FLAG, **_QUORUM}
    return {"process.roles": "broker", "node.id": str(id), **_QUORUM, **_COMMON, **_STANDARD, **listeners, **names}


def controller_file(id: int, *, final: bool = False) -> dict[str, str]:
    """Return the server.properties of a controller."""
    own = {"process.roles": "controller", "node.id": str(id), "listeners": "CONTROLLER://127.0.0.1:9093"}
    rest = {"inter.broker.listener.name": "PLAINTEXT", **_QUORUM, **_COMMON, **_STANDARD, "log.dirs": "/meta"}
    return {**own, **rest, **({} if final else {**_ZOOKEEPER, **_FLAG})}


@dataclass
class World:
    """State of a cluster; see `world`. `modes` None: the broker is down. `state` is that of the log, None: no log."""

    modes: dict[int, Mode | None]
    controllers: dict[int, bool]
    state: int | None
    data: dict[str, bytes | None]
    files: dict[int, dict[str, str]]
    registered: dict[int, bool] = field(default_factory=dict)
    ready: dict[int, bool] = field(default_factory=dict)
    observers: tuple[int, ...] = ()
    formatted: bool = True
    leader: int | None = 3001
    log: dict[str, Any] = field(default_factory=dict)
    image: Image = field(default_factory=Image)
    metrics: dict[int, dict[str, float]] = field(default_factory=dict)
    meta: dict[int, dict[str, str]] = field(default_factory=dict)
    versions: dict[int, str | None] = field(default_factory=dict)
    persistent: bool = False
    has_tree: bool = True
    chroot: str = "/kafka"
    migration_age_ms: int = 300
    acl: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    fenced: tuple[int, ...] = ()
    strays: dict[int, tuple[str, ...]] = field(default_factory=dict)
    ids: dict[int, PartitionIds | None] = field(default_factory=dict)
    servers: tuple[ServerSeen, ...] | None = None
    addresses: dict[int, str] = field(default_factory=dict)

    def but(self, **changes: Any) -> Self:
        """Return it with fields set."""
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        return self

    def znode(self, path: str, data: bytes | None) -> Self:
        """Return it with a znode put."""
        self.data[path] = data
        return self

    def no_znode(self, *paths: str) -> Self:
        """Return the observation without znodes."""
        self.data = without(self.data, paths)
        return self

    def file(self, id: int, key: str, value: str | None) -> Self:
        """Return it with a key of a node's file set, or taken out."""
        self.files[id].pop(key, None)
        if value is not None:
            self.files[id][key] = value
        return self

    def logged(self, **facts: Any) -> Self:
        """Return it with fields of the log's facts set."""
        self.log |= facts
        return self

    def replayed(self, *records: tuple[str, dict[str, Any]], offset: int = 240) -> Self:
        """Return it with records behind the copy, in the log and in the image."""
        found = [LogRecord(offset + at, 1, TIME_MS, record(type_, **data)) for at, (type_, data) in enumerate(records)]
        self.image = replay(found, self.image).image
        self.log["since_copy"] = (*self.log.get("since_copy", ()), *found)
        removed = tuple(
            ScramRemoval(offset=entry.offset, mechanism=entry.record.data["Mechanism"], user=entry.record.data["Name"])
            for entry in found
            if entry.record.type == "RemoveUserScramCredentialRecord"
        )
        self.log["scram_removed_since_snapshot"] = (*self.log.get("scram_removed_since_snapshot", ()), *removed)
        return self

    def observation(self) -> Observation:
        """Return the value."""
        return Observation(
            time_ms=TIME_MS,
            connect="zk:2181" + self.chroot,
            chroot=self.chroot,
            servers=self.servers,
            nodes=(*(self._broker(id) for id in self.modes), *(self._controller(id) for id in self.controllers)),
            tree=tree_of(self._znodes()) if self.has_tree else None,
            logs={} if self.state is None else dict.fromkeys(self.controllers, self._facts()),
        )

    def _broker(self, id: int) -> NodeSeen:
        mode = self.modes[id]
        up = mode is not None
        return self._node(
            id=id,
            role=Role.BROKER,
            alive=up,
            mode=mode,
            meta_properties=self.meta.get(id, {"version": "0", "broker.id": str(id), "cluster.id": CLUSTER_ID}),
            api_versions=api(ready=self.ready.get(id, mode is Mode.MIGRATING)) if up else None,
            quorum=QuorumSeen(closed=True) if mode in (Mode.ZK, Mode.MIGRATING) else None,
        )

    def _controller(self, id: int) -> NodeSeen:
        up = self.controllers[id]
        meta = {"version": "1", "node.id": str(id), "cluster.id": CLUSTER_ID, "directory.id": str(uuid(id))}
        return self._node(
            id=id,
            role=Role.CONTROLLER,
            alive=up,
            mode=Mode.KRAFT if up else None,
            meta_properties=self.meta.get(id, meta) if self.formatted else None,
            api_versions=api(ready=self.ready.get(id, True), level=LEVEL) if up else None,
            quorum=self._quorum() if up and self.leader is not None else None,
        )

    def _node(self, *, id: int, **seen: Any) -> NodeSeen:
        config = self.files.get(id)
        return NodeSeen(
            id=id,
            address=self.addresses.get(id),
            config=config,
            config_text=None if config is None else "".join(f"{key}={value}\n" for key, value in config.items()),
            kafka_version=self.versions.get(id, "3.9.2"),
            metrics=self.metrics.get(id),
            strays=self.strays.get(id),
            partition_ids=self.ids.get(id, PartitionIds(topic_ids={"orders": ORDERS_ID})),
            **seen,
        )

    def _quorum(self) -> QuorumSeen:
        if self.leader == -1:  # as a controller answers that does not lead
            return QuorumSeen(partition_error=6)
        if self.leader == -31:  # as one answers that denies the question
            return QuorumSeen(error_code=31)
        return QuorumSeen(
            leader_id=self.leader,
            leader_epoch=1,
            high_watermark=self.log.get("end_offset", END),
            voters=tuple(ReplicaSeen(id=id) for id in self.controllers),
            observers=tuple(ReplicaSeen(id=id) for id in self.observers),
        )

    def _facts(self) -> LogFacts:
        end = self.log.get("end_offset", END)
        facts: dict[str, Any] = {
            "image": changed(self.image, features={"metadata.version": LEVEL}, zk_migration_state=self.state),
            "first_offset": 0,
            "last_offset": end - 1,
            "end_offset": end,
            "epoch": 1,
            "migration_states": ((3, self.state),),
            "registrations": {id: self._registration(id, migrating) for id, migrating in self.registered.items()},
        }
        return LogFacts(**facts | self.log)

    def _registration(self, id: int, migrating: bool) -> RegistrationSeen:
        return RegistrationSeen(
            id=id, offset=10 + id, epoch=10 + id, migrating=migrating, fenced=id in self.fenced,
            in_controlled_shutdown=False, incarnation_id=uuid(id), endpoints=(), features={},
            directories=(uuid(100 + id),), rack=None, ever_migrating=True,
        )  # fmt: skip

    def _znodes(self) -> tuple[Znode, ...]:
        return tuple(
            Znode(
                path=path,
                data=content,
                version=7,
                czxid=100,
                mzxid=200,
                mtime_ms=TIME_MS - (self.migration_age_ms if path == "/migration" else 0),
                ephemeral_owner=72 if self._is_ephemeral(path, content) else 0,
                acl=self.acl.get(path, ()),
            )
            for path, content in self.data.items()
        )

    def _is_ephemeral(self, path: str, content: bytes | None) -> bool:
        if path == "/controller":
            return not self.persistent and b'"kraftControllerEpoch":-1' in (content or b"")
        return path.startswith("/brokers/ids/")


def api(*, ready: bool, level: int | None = None) -> ApiVersionsSeen:
    """Return a node's ApiVersions answer."""
    return ApiVersionsSeen(
        supported={18: (0, 4)},
        supported_features={"metadata.version": (1, 21)},
        finalized_features={} if level is None else {"metadata.version": level},
        finalized_epoch=0,
        zk_migration_ready=ready,
    )


def holder(id: int, epoch: int = -1) -> bytes:
    """Return `/controller`."""
    return text({"version": 2, "brokerid": id, "timestamp": "1790000000000", "kraftControllerEpoch": epoch})


def migration(offset: int) -> bytes:
    """Return `/migration`."""
    return text({"version": 0, "kraft_controller_id": 3001, "kraft_controller_epoch": 1,
                 "kraft_metadata_offset": offset, "kraft_metadata_epoch": 1})  # fmt: skip


def state(**fields: Any) -> bytes:
    """Return a partition's state."""
    usual = {"controller_epoch": 3, "leader": 1, "version": 1, "leader_epoch": 4, "isr": [1, 2]}
    return text(usual | fields)


def record(type_: str, **data: Any) -> MetadataRecord:
    """Return a record in its newest version, fields that are not given at their defaults."""
    spec = message(type_)
    return decode_record(encode_record(spec, spec.valid_versions.highest, data))


def whole(entry: MetadataRecord) -> MetadataRecord:
    """Return it with the fields that are at their defaults."""
    return decode_record(encode_record(message(entry.type), entry.version, entry.data))


def uuid(number: int) -> Uuid:
    """Return an id that no other entity has."""
    return Uuid((number + 1000).to_bytes(16, "big"))


def healthy_tree() -> dict[str, bytes | None]:
    """Return one of everything, nothing under way, all replicas in sync."""
    data = without(small(), _LOGS)
    return data | {"/brokers/topics": None, "/brokers/topics/orders/partitions/1/state": state(leader=2, isr=[2, 1])}


def copied(data: Mapping[str, bytes | None]) -> tuple[tuple[MetadataRecord, ...], Image]:
    """Return the records that the copy makes of a tree, and their image."""
    tree = parse_znodes([Znode(path=path, data=content) for path, content in data.items()])
    batches = list(copy_batches(tree, copy_rules(KafkaVersion(3, 9, 2)), acl_id=lambda at: uuid(5000 + at)))
    records = tuple(whole(entry) for batch in batches for entry in batch)
    return records, replay(LogRecord(COPY_BEGIN + at, 1, TIME_MS, entry) for at, entry in enumerate(records)).image


def world(name: str) -> World:
    """Return the healthy cluster in a state."""
    modes: dict[int, Mode | None] = dict.fromkeys((1, 2), Mode.MIGRATING)
    kraft = {"M7": (1,), "M8": (1, 2), "M11": (1, 2)}.get(name, ())
    plain = {"M0": (1, 2), "M2": (1, 2), "M3": (1, 2), "M4": (2,), "M4L": (2,)}.get(name, ())
    modes |= dict.fromkeys(kraft, Mode.KRAFT) | dict.fromkeys(plain, Mode.ZK)
    controllers = {} if name == "M0" else {3001: name != "M2"}
    final = name == "M11"
    made = World(
        modes=modes,
        controllers=controllers,
        state=None if name in ("M0", "M2") else 3 if final else 1 if name in ("M6", "M7", "M8") else 2,
        data=healthy_tree(),
        files={id: broker_file(id, mode or Mode.ZK) for id, mode in modes.items()}
        | {id: controller_file(id, final=final) for id in controllers},
        registered={id: id not in kraft for id in modes if id not in plain},
        ready={3001: not final},
        observers=tuple(id for id in modes if id not in plain),
    )  # fmt: skip
    if name not in ("M0", "M2"):
        made.znode("/migration", migration(-1))
    if name in ("M5", "M6", "M7", "M8", "M11"):
        _claim(made, name)
    return made.no_znode(*(f"/brokers/ids/{id}" for id in kraft))


def _claim(made: World, name: str) -> None:
    records, image = copied(made.data)
    made.znode("/controller", holder(3001, 1)).znode("/controller_epoch", b"4")
    if name == "M5":
        made.logged(copy_begin=COPY_BEGIN, copy_records=records[1:9], end_offset=100)
        return
    made.image = image
    made.znode("/migration", migration(END - 2))
    made.logged(copy_begin=COPY_BEGIN, copy_end=COPY_END, copy_records=records[1:-1])


def aborted(begin: int = COPY_BEGIN) -> AbortedCopy:
    """Return a copy that was undone."""
    return AbortedCopy(begin=begin, abort=begin + 3, records=0, reason="Controller failover")
