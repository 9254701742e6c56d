"""Settings that some releases refuse, each with these releases: asked of kafkactl and of Kafka's own classes.

`tests/roll/rules/test_refusals.py` asks kafkactl, `tests/lab/roll/test_setting_rules.py` both.
"""

from __future__ import annotations

from kafkactl.features.catalog.releases import release_names

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
    ("inter.broker.protocol.version", "3.9", since("3.3", "3.7")),
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
