"""Settings that some releases refuse, each with these releases: asked of kafkactl and of Kafka's own classes.

`tests/roll/rules/test_refusals.py` asks kafkactl, `tests/lab/roll/test_setting_rules.py` both.
"""

from __future__ import annotations

from kafkactl.protocol.catalog.releases import release_names

BROKER = {
    "process.roles": "broker",
    "node.id": "11",
    "log.dirs": "/var/lib/kafka",
    "listeners": "PLAINTEXT://localhost:9092",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
}


def since(name: str, until: str = release_names()[-1]) -> tuple[str, ...]:
    """Return the releases from one to another."""
    names = release_names()
    return names[names.index(name) : names.index(until) + 1]


# key, value, the releases that refuse it.
FILE_REFUSALS: list[tuple[str, str, tuple[str, ...]]] = [
    ("log.segment.bytes", "100000", since("4.0")),
    ("metadata.log.segment.bytes", "1048576", since("4.1")),
    ("remote.log.manager.copier.thread.pool.size", "-1", ("3.8", *since("4.0"))),
    ("remote.log.manager.expiration.thread.pool.size", "-1", ("3.8", *since("4.0"))),
    ("controller.quorum.election.timeout.ms", "-1", since("4.1")),
    ("controller.quorum.fetch.timeout.ms", "-1", since("4.1")),
    ("controller.quorum.request.timeout.ms", "-1", since("4.1")),
    ("controller.quorum.append.linger.ms", "-1", since("4.1")),
    ("log.dirs", "/a,", since("4.2")),
    ("listeners", "PLAINTEXT://localhost:9092,", since("4.2")),
    ("advertised.listeners", "PLAINTEXT://localhost:9092,", since("4.2")),
    ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter,", since("4.2")),
    ("ssl.enabled.protocols", "TLSv1.3,", since("4.2")),
    ("num.replica.fetchers", "0", since("4.2")),
    ("remote.log.manager.follower.thread.pool.size", "0", since("4.2")),
    ("group.coordinator.rebalance.protocols", "classic,unknown", ("3.7", *since("4.0"))),
    ("group.coordinator.rebalance.protocols", "classic,streams", since("3.7", "4.0")),
    ("group.coordinator.append.linger.ms", "-1", since("3.8", "4.1")),
    ("share.coordinator.append.linger.ms", "-1", since("4.0", "4.1")),
    ("share.coordinator.snapshot.update.records.per.snapshot", "501", since("4.0")),
    ("group.consumer.assignors", "uniform,range", since("3.5", "3.9")),
    ("inter.broker.protocol.version", "3.9", since("3.3", "3.8")),
    ("inter.broker.protocol.version", "3.9-IV0", since("3.3", "3.7")),
    ("inter.broker.protocol.version", "3.8", since("3.3", "3.7")),
    ("inter.broker.protocol.version", "4.0", since("3.3", "3.9")),
    ("inter.broker.protocol.version", "4.0-IV0", since("3.3", "3.8")),
]
# Settings that are refused only together, with the rest of the file or with a default: what is set, the releases.
COMBINATIONS: list[tuple[dict[str, str], tuple[str, ...]]] = [
    ({"group.share.record.lock.duration.ms": "120000"}, since("3.9")),
    ({"group.share.partition.max.record.locks": "20000"}, since("3.9")),
    ({"group.share.partition.max.record.locks": "5000"}, since("4.3")),
    ({"group.share.record.lock.duration.ms": "5000000"}, since("3.9")),
    (
        {
            "group.consumer.heartbeat.interval.ms": "15000",
            "group.consumer.session.timeout.ms": "15000",
            "group.consumer.max.heartbeat.interval.ms": "15000",
            "group.consumer.min.session.timeout.ms": "15000",
            "group.consumer.max.session.timeout.ms": "60000",
        },
        since("4.0"),
    ),
    (
        {
            "remote.log.storage.system.enable": "true",
            "log.dirs": "/a,/b",
            "remote.log.storage.manager.class.name": "org.example.Store",
            "remote.log.metadata.manager.class.name": "org.example.Meta",
        },
        since("3.6", "3.7"),
    ),
    ({"cordoned.log.dirs": "/elsewhere"}, since("4.3")),
    ({"cordoned.log.dirs": "*,/var/lib/kafka"}, since("4.3")),
    ({"node.id": "1"}, since("3.3")),
    ({"node.id": "11", "broker.id": "12"}, since("3.3")),
    ({"process.roles": "broker,broker"}, since("3.3", "4.1")),
    (
        {
            "process.roles": "controller",
            "node.id": "1",
            "listeners": "CONTROLLER://localhost:9093",
            "advertised.listeners": "CONTROLLER://localhost:9093",
        },
        since("3.3", "3.8"),
    ),
    (
        {
            "process.roles": "controller",
            "node.id": "1",
            "listeners": "CONTROLLER://localhost:9093",
            "inter.broker.listener.name": "CONTROLLER",
        },
        since("4.0"),
    ),
    (
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        },
        since("3.3", "3.8"),
    ),
    (
        {
            "listeners": "PLAINTEXT://127.0.0.1:9092,V6://[::1]:9092",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,V6:PLAINTEXT,CONTROLLER:PLAINTEXT",
        },
        since("3.3", "3.5"),
    ),
    ({"controller.listener.names": " CONTROLLER ,X"}, ()),
    ({"controller.quorum.voters": "1@localhost:9093,"}, since("3.3")),
    ({"controller.quorum.voters": "1@http://localhost:9093"}, ()),
    ({"control.plane.listener.name": "PLAINTEXT"}, since("3.3", "3.9")),
    ({"log.cleaner.threads": "1", "log.cleaner.dedupe.buffer.size": "1000"}, since("3.3")),
    ({"replica.fetch.wait.max.ms": "40000"}, since("3.3")),
    ({"queued.max.request.bytes": "1000"}, since("3.3")),
    ({"offsets.commit.required.acks": "9"}, since("3.3", "3.9")),
    ({"group.coordinator.rebalance.protocols": "consumer"}, since("3.7")),
    ({"controller.quorum.auto.join.enable": "true"}, since("4.2")),
    ({"process.roles": ""}, ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.2", "4.3", "4.4")),
    ({"log.retention.ms": "0"}, since("3.3")),
    ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, since("3.3")),
    ({"process.roles": "controller", "node.id": "1", "listeners": "CONTROLLER://localhost:9093"}, ()),
]
# Settings of a topic in the metadata log: key, value, the releases whose brokers do not start with it.
TOPIC_REFUSALS: list[tuple[str, str, tuple[str, ...]]] = [
    ("segment.bytes", "100000", since("4.1")),
    ("segment.bytes", "1048576", ()),
    ("compression.gzip.level", "15", since("3.8")),
    ("cleanup.policy", "compact,", since("3.3")),
    ("message.format.version", "3.0", ()),
    ("message.downconversion.enable", "true", ()),
    ("message.timestamp.difference.max.ms", "5", ()),
    ("retention.ms", "-1", ()),
    ("retention.ms", "-2", since("3.3")),
    ("remote.storage.enable", "true", ()),
]
# Keys that some releases do not have; every release takes a file with them.
REMOVED = (
    "zookeeper.set.acl",
    "zookeeper.session.timeout.ms",
    "inter.broker.protocol.version",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "log.message.downconversion.enable",
    "eligible.leader.replicas.enable",
    "delegation.token.master.key",
    "offsets.commit.required.acks",
    "password.encoder.secret",
    "password.encoder.old.secret",
    "auto.include.jmx.reporter",
    "reserved.broker.max.id",
    "leader.imbalance.per.broker.percentage",
    "controlled.shutdown.max.retries",
)
