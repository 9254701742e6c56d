"""Configurations of nodes, good and bad, to ask both Kafka and kafkactl whether they can be loaded.

A variant is a base (a kind of node) and what is changed in it; None removes a key. Each is tried on every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.lab.harness import releases

Changes = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Variant:
    """Configuration, described by how it differs from its base; `extra` is raw text at the end of the file."""

    base: str
    changes: Changes = field(default_factory=dict)
    extra: str = ""

    @property
    def name(self) -> str:
        """Return words for a test report."""
        changes = ",".join(f"{key}={value}" for key, value in self.changes.items())
        return f"{self.base}[{changes}{self.extra!r}]" if self.extra else f"{self.base}[{changes}]"

    def render(self, release: str, log_dirs: str) -> str:
        """Return the file for a release. `log_dirs` is the value of log.dirs where the variant does not set it."""
        settings: dict[str, str | None] = {**_base(self.base, release), "log.dirs": log_dirs, **self.changes}
        lines = [f"{key}={value}\n" for key, value in settings.items() if value is not None]
        return "".join(lines) + self.extra


def _base(kind: str, release: str) -> dict[str, str | None]:
    static = kind.endswith("-static") or releases.release(release).number < (3, 9)
    quorum = {"controller.quorum.voters": "1@localhost:9093"}
    if not static:
        quorum = {"controller.quorum.bootstrap.servers": "localhost:9093"}
    return {**_ROLES[kind.removesuffix("-static")], "controller.listener.names": "CONTROLLER", **quorum}


_ROLES: dict[str, dict[str, str | None]] = {
    "controller": {"process.roles": "controller", "node.id": "1", "listeners": "CONTROLLER://localhost:9093"},
    "broker": {"process.roles": "broker", "node.id": "2", "listeners": "PLAINTEXT://localhost:9092"},
    "combined": {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    },
}


def _of(base: str, *changes: Changes) -> tuple[Variant, ...]:
    return tuple(Variant(base, change) for change in changes)


_PROTOCOLS = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
_SASL = {"listeners": "SASL_PLAINTEXT://localhost:9092", "security.inter.broker.protocol": "SASL_PLAINTEXT"}

PLAIN: tuple[Variant, ...] = tuple(
    Variant(base)
    for base in ("controller", "broker", "combined", "controller-static", "broker-static", "combined-static")
)

ROLES_AND_IDS: tuple[Variant, ...] = (
    *_of(
        "combined",
        {"process.roles": None},
        {"process.roles": ""},
        {"process.roles": None, "zookeeper.connect": "localhost:2181"},
        {"process.roles": "broker,broker"},
        {"process.roles": "broker, controller , broker"},
        {"process.roles": "Broker"},
        {"process.roles": "broker,"},
        {"process.roles": ",broker"},
        {"process.roles": " controller , broker "},
        {"process.roles": "zookeeper"},
        {"node.id": None},
        {"node.id": "-1"},
        {"node.id": "-7"},
        {"node.id": "x"},
        {"node.id": ""},
        {"node.id": " 1 "},
        {"node.id": "+1"},
        {"node.id": "0001"},
        {"node.id": "1.0"},
        {"node.id": "2147483648"},
        {"node.id": None, "broker.id": "1"},
        {"broker.id": "1"},
        {"broker.id": "2"},
        {"node.id": None, "broker.id": "-1"},
        {"reserved.broker.max.id": "-1"},
        {"node.id": "${env:NODE_ID}"},
        {"node.id": "2000"},
    ),
)

DIRECTORIES: tuple[Variant, ...] = _of(
    "combined",
    {"log.dirs": None},
    {"log.dirs": ""},
    {"log.dirs": None, "log.dir": "/tmp/kafkactl-none/a"},
    {"log.dirs": None, "log.dir": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/b"},
    {"log.dirs": None, "log.dir": ""},
    {"log.dirs": ","},
    {"log.dirs": "/tmp/kafkactl-none/a,,/tmp/kafkactl-none/b"},
    {"log.dirs": "/tmp/kafkactl-none/a, /tmp/kafkactl-none/b ,"},
    {"log.dirs": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/a"},
    {"log.dirs": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/a/"},
    {"metadata.log.dir": "/tmp/kafkactl-none/m"},
    {"metadata.log.dir": "/tmp/kafkactl-none/m,/tmp/kafkactl-none/n"},
    {"metadata.log.dir": " /tmp/kafkactl-none/m "},
    {"metadata.log.dir": ""},
)

QUORUM: tuple[Variant, ...] = (
    *_of(
        "combined-static",
        {"controller.quorum.voters": ""},
        {"controller.quorum.voters": None},
        {"controller.quorum.voters": "2@localhost:9093"},
        {"controller.quorum.voters": "1@localhost:9093,2@b:9093"},
        {"controller.quorum.voters": "1@localhost:9093, 2@b:9093 "},
        {"controller.quorum.voters": "1@localhost:9093,"},
        {"controller.quorum.voters": "1@localhost:9093,1@localhost:9094"},
        {"controller.quorum.voters": "1@localhost"},
        {"controller.quorum.voters": "1@:9093"},
        {"controller.quorum.voters": "@localhost:9093"},
        {"controller.quorum.voters": "a@localhost:9093"},
        {"controller.quorum.voters": "-1@localhost:9093,1@localhost:9093"},
        {"controller.quorum.voters": "1@[::1]:9093"},
        {"controller.quorum.voters": "1@::1:9093"},
        {"controller.quorum.voters": "1@localhost:70000"},
        {"controller.quorum.voters": "1@localhost:99999999999"},
        {"controller.quorum.voters": "1@local host:9093"},
        {"controller.quorum.voters": "1@x/localhost:9093"},
        {"controller.quorum.voters": "1@http://localhost:9093"},
        {"controller.quorum.voters": "1@localhost:9093@x"},
        {"controller.quorum.voters": "1@localhost:9093@"},
        {"controller.quorum.voters": "1@localhost:9093:JEXY6aqzQY-32P5TStzaFg"},
        {"controller.quorum.voters": "1@0.0.0.0:0"},
        {"controller.quorum.bootstrap.servers": "localhost:9093"},
    ),
    *_of(
        "combined",
        {"controller.quorum.bootstrap.servers": ""},
        {"controller.quorum.bootstrap.servers": "localhost"},
        {"controller.quorum.bootstrap.servers": "localhost:x"},
        {"controller.quorum.bootstrap.servers": "[::1]:9093, b:1"},
        {"controller.quorum.bootstrap.servers": "localhost:9093,"},
        {"controller.quorum.bootstrap.servers": "localhost:70000"},
    ),
    *_of(
        "broker-static",
        {"node.id": "1"},
        {"controller.quorum.voters": "1@localhost:9093,2@localhost:9094"},
        {"controller.quorum.voters": ""},
    ),
    *_of("broker", {"controller.quorum.auto.join.enable": "true"}, {"controller.quorum.auto.join.enable": "maybe"}),
    *_of("controller", {"controller.quorum.auto.join.enable": "true"}),
)

LISTENERS: tuple[Variant, ...] = (
    *_of(
        "combined",
        {"listeners": None},
        {"listeners": ""},
        {"listeners": "PLAINTEXT://localhost:9092"},
        {"listeners": "CONTROLLER://localhost:9093"},
        {"listeners": "PLAINTEXT://localhost:9092,controller://localhost:9093"},
        {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9092"},
        {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"},
        {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.2:9092"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://[::1]:9092"},
        {"listeners": "PLAINTEXT://:0,CONTROLLER://:0"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://:-1"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://:99999"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,PLAINTEXT://:9094"},
        {"listeners": "PLAINTEXT://:9092 , CONTROLLER://:9093"},
        {"listeners": "PLAINTEXT://:9092,,CONTROLLER://:9093"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER:9093"},
        {"listeners": "PLAINTEXT://:9092,9093"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://host name:9093"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,EXTRA://:9094"},
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,://:9094"},
        {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093"},
        {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://0.0.0.0:9093"},
        {"listeners": "SSL://localhost:9092,CONTROLLER://:9093", "security.inter.broker.protocol": "SSL"},
        {"listeners": "PLAINTEXT://:9092,SSL://:9094,CONTROLLER://:9093"},
        {"listeners": "PLAINTEXT://:9092,SSL://:9093", "controller.listener.names": "SSL"},
        {"controller.listener.names": None},
        {"controller.listener.names": ""},
        {"controller.listener.names": "controller"},
        {"controller.listener.names": "CONTROLLER,"},
        {"controller.listener.names": " CONTROLLER "},
        {"controller.listener.names": "CONTROLLER,OTHER"},
        {"controller.listener.names": "CONTROLLER, OTHER", "listeners": "PLAINTEXT://:1,CONTROLLER://:2,OTHER://:3"},
        {"controller.listener.names": "CONTROLLER,CONTROLLER"},
        {"controller.listener.names": "CONTROLLER,PLAINTEXT"},
        {"advertised.listeners": "PLAINTEXT://localhost:9092"},
        {"advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"},
        {"advertised.listeners": "CONTROLLER://localhost:9093"},
        {"advertised.listeners": ""},
        {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
        {"advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://0.0.0.0:9093"},
        {"advertised.listeners": "PLAINTEXT://:9092"},
        {"advertised.listeners": "PLAINTEXT://[::]:9092"},
        {"advertised.listeners": "SSL://localhost:9092"},
        {"advertised.listeners": "PLAINTEXT://localhost:9092,SSL://localhost:9094"},
        {"advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9092"},
        {"advertised.listeners": "nonsense"},
        {"listener.security.protocol.map": _PROTOCOLS},
        {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
        {"listener.security.protocol.map": ""},
        {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:plaintext"},
        {"listener.security.protocol.map": "controller:PLAINTEXT,PLAINTEXT:PLAINTEXT"},
        {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"},
        {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT"},
        {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:TLS"},
        {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"},
        {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,controller:SSL"},
        {"inter.broker.listener.name": "PLAINTEXT"},
        {"inter.broker.listener.name": "plaintext"},
        {"inter.broker.listener.name": "CONTROLLER"},
        {"inter.broker.listener.name": "NOPE"},
        {"inter.broker.listener.name": ""},
        {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
        {"security.inter.broker.protocol": "SSL"},
        {"security.inter.broker.protocol": "plaintext"},
        {"early.start.listeners": "PLAINTEXT"},
        {"early.start.listeners": "NOPE"},
        {"early.start.listeners": ""},
        {"early.start.listeners": "PLAINTEXT,,CONTROLLER"},
        {"control.plane.listener.name": "CONTROLLER"},
        {"control.plane.listener.name": ""},
    ),
    *_of(
        "controller",
        {"listeners": None},
        {"listeners": "CONTROLLER://localhost:9093,PLAINTEXT://localhost:9092"},
        {"advertised.listeners": "CONTROLLER://localhost:9093"},
        {"advertised.listeners": "CONTROLLER://0.0.0.0:9093"},
        {"advertised.listeners": "PLAINTEXT://localhost:9092"},
        {"advertised.listeners": ""},
        {"controller.listener.names": None},
        {"inter.broker.listener.name": "CONTROLLER"},
        {"inter.broker.listener.name": "PLAINTEXT"},
        {"inter.broker.listener.name": "NOPE"},
        {"listeners": "CONTROLLER://:9093"},
        {"listeners": "CONTROLLER://[::1]:9093"},
        {"listeners": "A://:1,B://:2", "controller.listener.names": "B,A"},
        {"listeners": "A://:1,B://:2", "controller.listener.names": "B"},
    ),
    *_of(
        "broker",
        {"controller.listener.names": None},
        {"controller.listener.names": ""},
        {"controller.listener.names": "PLAINTEXT"},
        {"controller.listener.names": "SSL"},
        {"controller.listener.names": "CONTROLLER,OTHER"},
        {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"},
        {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
        {"listeners": "SSL://localhost:9092", "security.inter.broker.protocol": "SSL"},
        {
            "listeners": "SSL://localhost:9092",
            "security.inter.broker.protocol": "SSL",
            "listener.security.protocol.map": _PROTOCOLS,
        },
        {**_SASL, "listener.security.protocol.map": _PROTOCOLS},
        {**_SASL, "listener.security.protocol.map": _PROTOCOLS, "sasl.enabled.mechanisms": "PLAIN"},
        {**_SASL, "listener.security.protocol.map": _PROTOCOLS, "sasl.mechanism.inter.broker.protocol": "PLAIN"},
        {
            **_SASL,
            "listener.security.protocol.map": _PROTOCOLS,
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        },
    ),
)

VALUES: tuple[Variant, ...] = _of(
    "combined",
    {"num.io.threads": "0"},
    {"num.io.threads": "-1"},
    {"num.io.threads": "eight"},
    {"num.network.threads": " 3 "},
    {"background.threads": "0"},
    {"log.retention.hours": "0"},
    {"log.retention.ms": "0"},
    {"log.retention.ms": "-5"},
    {"log.retention.minutes": "0"},
    {"log.retention.bytes": "9999999999999999999"},
    {"log.roll.ms": "0"},
    {"log.roll.ms": "-1"},
    {"log.roll.hours": "0"},
    {"log.roll.jitter.ms": "-1"},
    {"log.segment.bytes": "13"},
    {"log.segment.bytes": "1048576"},
    {"log.cleaner.threads": "0"},
    {"log.cleaner.threads": "-1"},
    {"log.cleaner.dedupe.buffer.size": "1048576"},
    {"log.cleaner.dedupe.buffer.size": "1048577"},
    {"log.cleaner.dedupe.buffer.size": "2097153", "log.cleaner.threads": "2"},
    {"log.cleaner.min.cleanable.ratio": "1.5"},
    {"log.cleaner.min.cleanable.ratio": "0.5f"},
    {"log.cleaner.min.cleanable.ratio": "half"},
    {"log.cleaner.io.max.bytes.per.second": "1.7976931348623157E308"},
    {"log.cleaner.io.max.bytes.per.second": "0x1p3"},
    {"log.cleanup.policy": "compact,delete"},
    {"log.cleanup.policy": "shred"},
    {"log.cleanup.policy": ""},
    {"log.cleanup.policy": "delete,delete"},
    {"log.message.timestamp.type": "createtime"},
    {"log.message.format.version": "0.8.0"},
    {"compression.type": "lzma"},
    {"compression.type": "uncompressed"},
    {"compression.gzip.level": "0"},
    {"compression.gzip.level": "-1"},
    {"compression.zstd.level": "23"},
    {"offsets.topic.replication.factor": "0"},
    {"offsets.topic.replication.factor": "40000"},
    {"offsets.commit.required.acks": "4"},
    {"offsets.commit.required.acks": "-2"},
    {"replica.fetch.wait.max.ms": "40000"},
    {"replica.lag.time.max.ms": "400"},
    {"queued.max.request.bytes": "1"},
    {"socket.request.max.bytes": "0"},
    {"connections.max.idle.ms": "100"},
    {"connections.max.idle.ms": "101"},
    {"connections.max.idle.ms": "-1"},
    {"max.connections.per.ip": "0"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
    {"max.connections.per.ip.overrides": "127.0.0.1:five"},
    {"max.connections.per.ip.overrides": "127.0.0.1"},
    {"max.connections.per.ip.overrides": "a b:5"},
    {"max.connections.per.ip.overrides": "::1:5"},
    {"auto.create.topics.enable": "yes"},
    {"auto.create.topics.enable": "TRUE"},
    {"unclean.leader.election.enable": ""},
    {"group.consumer.heartbeat.interval.ms": "100"},
    {"group.consumer.heartbeat.interval.ms": "60000"},
    {"group.consumer.session.timeout.ms": "1000"},
    {"group.consumer.session.timeout.ms": "5000", "group.consumer.min.session.timeout.ms": "1000"},
    {"group.consumer.max.session.timeout.ms": "1000"},
    {"group.share.session.timeout.ms": "1000"},
    {"group.share.heartbeat.interval.ms": "60000"},
    {"group.share.record.lock.duration.ms": "1000"},
    {"group.share.record.lock.duration.ms": "15000", "group.share.min.record.lock.duration.ms": "20000"},
    {"group.share.max.share.sessions": "100"},
    {"group.share.assignors": "a,b"},
    {"group.streams.rack.aware.assignment.tags": "a,a"},
    {"group.streams.rack.aware.assignment.tags": "a,b"},
    {"cordoned.log.dirs": "*"},
    {"cordoned.log.dirs": "*,x"},
    {"cordoned.log.dirs": "x"},
    {"cordoned.log.dirs": "x", "process.roles": "controller", "listeners": "CONTROLLER://localhost:9093"},
    {"log.dirs": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/b", "cordoned.log.dirs": "/tmp/kafkactl-none/b"},
    {"log.dirs": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/b", "cordoned.log.dirs": "/tmp/kafkactl-none/b/"},
    {"log.dirs": "/tmp/kafkactl-none/a", "cordoned.log.dirs": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/a"},
    {"offsets.topic.compression.codec": "-1"},
    {"offsets.topic.compression.codec": "0"},
    {"offsets.topic.compression.codec": "4"},
    {"offsets.topic.compression.codec": "5"},
    {"share.coordinator.state.topic.compression.codec": "-1"},
    {"share.coordinator.state.topic.compression.codec": "4"},
    {"share.coordinator.state.topic.compression.codec": "99"},
    {"offsets.topic.compression.codec": "99", "group.consumer.session.timeout.ms": "1000"},
    {"group.streams.session.timeout.ms": "1000"},
    {"group.streams.num.standby.replicas": "5"},
    {"group.streams.heartbeat.interval.ms": "45000"},
    {"group.coordinator.rebalance.protocols": "consumer"},
    {"group.coordinator.rebalance.protocols": "classic"},
    {"group.coordinator.rebalance.protocols": "classic,nonsense"},
    {"group.consumer.migration.policy": "Upgrade"},
    {"group.consumer.migration.policy": "sidegrade"},
    {"inter.broker.protocol.version": "3.3"},
    {"inter.broker.protocol.version": "3.0-IV0"},
    {"inter.broker.protocol.version": "3.0"},
    {"inter.broker.protocol.version": "2.8"},
    {"inter.broker.protocol.version": "9.9"},
    {"inter.broker.protocol.version": "3.3.1"},
    {"inter.broker.protocol.version": "4.0-IV0"},
    {"inter.broker.protocol.version": ""},
    {"unstable.feature.versions.enable": "true"},
    {"unstable.feature.versions.enable": "x"},
    {"unstable.metadata.versions.enable": "x"},
    {"zookeeper.metadata.migration.enable": "true"},
    {"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": "localhost:2181"},
    {"zookeeper.session.timeout.ms": "soon"},
    {"broker.rack": "r1"},
    {"ssl.client.auth": "perhaps"},
    {"ssl.keystore.password": "secret"},
    {"principal.builder.class": ""},
    {"broker.session.timeout.ms": "100"},
    {"metadata.log.segment.bytes": "8"},
    {"metadata.log.max.snapshot.interval.ms": "-1"},
    {"remote.log.storage.system.enable": "true"},
    {"remote.log.storage.system.enable": "true", "log.dirs": "/tmp/kafkactl-none/a,/tmp/kafkactl-none/b"},
    {"some.plugin.key": "${vault:a:b}"},
)

TEXT: tuple[Variant, ...] = (
    Variant("combined", {}, "node.id=7\n"),
    Variant("combined", {}, "node.id = 1\r\n"),
    Variant("combined", {}, "broken=\\u12\n"),
    Variant("combined", {}, "\\\n"),
    Variant("combined", {}, "node.id\n"),
    Variant("combined", {"log.dirs": None}, "log.dirs=/tmp/kafkactl-none/a,\\\n   /tmp/kafkactl-none/b\n"),
    Variant("combined", {"log.dirs": None}, "log.dirs : /tmp/kafkactl-none/\\u0061\n"),
)

PROVIDERS: tuple[Variant, ...] = (Variant("combined", {"config.providers": "env", "broker.rack": "${env:PATH}"}),)

ALL: tuple[Variant, ...] = (*PLAIN, *ROLES_AND_IDS, *DIRECTORIES, *QUORUM, *LISTENERS, *VALUES, *TEXT)
