"""Changes of configuration that the controller refuses, stores without effect, or that delete data.

Answers of 3.6.2 to 4.4.0, each to some 80 requests on one log; tests/lab/dryrun/setting_requests.py has them all.
"""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenarios.alter_config import alter_config, parse_entity
from kafkactl.metadata.image.model import Image
from tests.dryrun.clusters import cluster

REMOTE = "remote.storage.enable"
ENABLED = {"remote.log.storage.system.enable": "true"}


def world(kafka: str, *stored: str, static: dict[str, str] | None = None) -> tuple[Image, Facts]:
    image, facts = cluster(f"kafka {kafka}\nbrokers 1 2 3\ntopic t {' '.join(stored)}\n  1 | 1 2 3 | 1 2 3")
    return image, changed(facts, static=static or {}, static_known=static is not None)


def asked(world: tuple[Image, Facts], *words: str, entity: str = "topic:t", through_broker: bool = False) -> Prediction:
    pairs = [word.partition("=") for word in words]
    given = {key: value for key, equals, value in pairs if equals}
    deleted = [key for key, equals, _ in pairs if not equals]
    return alter_config(*world, parse_entity(entity), given, deleted, through_broker=through_broker)


def message(found: Prediction) -> str | None:
    assert found.verdict is Verdict.REFUSED
    return found.effects["server_error"].message


def ids(found: Prediction) -> set[str]:
    return {finding.id for finding in found.findings}


@pytest.mark.parametrize(
    "kafka, change, words",
    [
        ("3.9", "no.such.key=1", "Unknown topic config name: no.such.key"),
        ("4.3", "retention.ms=7d", "Invalid value 7d for configuration retention.ms: Not a number of type LONG"),
        ("4.3", "segment.bytes=100000", "Value must be at least 1048576"),
        ("4.3", "message.format.version=3.0", "Unknown topic config name: message.format.version"),
        ("3.7", "compression.gzip.level=-1", "Unknown topic config name: compression.gzip.level"),
        ("4.3", "cleanup.policy=shred", "String must be one of: compact, delete"),
        ("4.3", "preallocate=yes", "Expected value to be either true or false"),
    ],
)
def test_unknown_names_and_bad_values_are_refused(kafka: str, change: str, words: str) -> None:
    assert words in (message(asked(world(kafka), change)) or "")


@pytest.mark.parametrize(
    "kafka, change",
    [
        ("4.0", "segment.bytes=100000"),
        ("3.9", "message.format.version=3.0"),
        ("4.3", "cleanup.policy="),
        ("4.3", "compression.gzip.level=-1"),
        ("4.3", "retention.bytes=-5"),
        ("4.3", "no.such.key"),
        ("4.3", "local.retention.ms=700000000"),  # not judged while the topic is not tiered
    ],
)
def test_values_that_look_wrong_are_accepted_where_the_release_accepts_them(kafka: str, change: str) -> None:
    assert asked(world(kafka), change).verdict is Verdict.OK


@pytest.mark.parametrize("kafka, verdict", [("4.1", Verdict.REFUSED), ("4.2", Verdict.OK)])
def test_stored_unknown_name_refuses_every_change_until_4_2(kafka: str, verdict: Verdict) -> None:
    found = asked(world(kafka, "message.format.version=3.0"), "segment.ms=100")
    assert found.verdict is verdict
    assert asked(world(kafka, "message.format.version=3.0"), "message.format.version").verdict is Verdict.OK


@pytest.mark.parametrize(
    "stored, change, words",
    [
        ([f"{REMOTE}=true"], [f"{REMOTE}=false"], "It is invalid to disable remote storage without deleting"),
        ([f"{REMOTE}=true"], [REMOTE], "It is invalid to disable remote storage without deleting"),
        (["cleanup.policy=compact"], [f"{REMOTE}=true"], "only supports topics with cleanup.policy=delete"),
        ([f"{REMOTE}=true"], ["cleanup.policy=compact,delete"], "only supports topics with cleanup.policy=delete"),
        ([f"{REMOTE}=true"], ["local.retention.ms=700000000"], "Value must not be more than retention.ms"),
        ([f"{REMOTE}=true", "retention.bytes=10"], ["local.retention.bytes=-1"], "Value must not be -1"),
        ([f"{REMOTE}=true", "local.retention.ms=9"], ["remote.log.copy.disable=true"], "the identical value"),
        ([], ["min.compaction.lag.ms=9", "max.compaction.lag.ms=5"], "conflict topic config setting"),
    ],
)
def test_invalid_combinations_are_refused(stored: list[str], change: list[str], words: str) -> None:
    found = asked(world("4.3", *stored, static=ENABLED), *change)
    assert words in (message(found) or "")


def test_switching_tiered_storage_off_with_its_data_is_accepted_and_warned_of() -> None:
    found = asked(world("4.3", f"{REMOTE}=true"), f"{REMOTE}=false", "remote.log.delete.on.disable=true")
    assert (found.verdict, ids(found)) == (Verdict.OK, {"remote-data-deleted"})


def test_retention_in_the_file_of_the_controller_counts_and_that_of_the_cluster_does_not() -> None:
    # Measured on 3.9.2 and 4.3.1.
    image, facts = world("4.3", f"{REMOTE}=true", static={**ENABLED, "log.retention.minutes": "10"})
    image = changed(image, configs={**image.configs, (4, ""): {"log.retention.ms": "1000"}})
    assert asked((image, facts), "local.retention.ms=2000").verdict is Verdict.OK
    found = asked((image, facts), "local.retention.ms=700000")
    assert (message(found) or "").endswith("retention.ms property value: 600000")


def test_tiered_storage_of_the_cluster_is_unknown_without_the_file_or_a_tiered_topic() -> None:
    found = asked(world("4.3"), f"{REMOTE}=true")
    assert (found.verdict, ids(found)) == (Verdict.UNKNOWN, {"tiered-storage-unknown"})
    assert "functionality is disabled" in (message(asked(world("4.3", static={}), f"{REMOTE}=true")) or "")
    assert asked(world("4.3", static=ENABLED), f"{REMOTE}=true").verdict is Verdict.OK
    compacted = asked(world("4.3", "cleanup.policy=compact"), f"{REMOTE}=true")
    assert compacted.verdict is Verdict.REFUSED, "in both cases"


def test_nodes_that_do_not_exist_have_no_configuration() -> None:
    assert message(asked(world("4.3"), "log.retention.ms=1", entity="broker:99")) == "No node with id 99 found."
    assert asked(world("4.3"), "log.retention.ms=1", entity="broker:2").verdict is Verdict.OK


def test_value_that_no_broker_can_read_is_stored_by_the_controller_and_refused_by_a_broker() -> None:
    found = asked(world("4.3"), "log.retention.ms=7d", entity="cluster")
    assert (found.verdict, ids(found)) == (Verdict.DEGRADED, {"setting-stored-and-ignored"})
    assert "7d" in (message(asked(world("4.3"), "log.retention.ms=7d", entity="cluster", through_broker=True)) or "")


@pytest.mark.parametrize(
    "stored, change, expires",
    [
        ("", "retention.ms=1000", True),
        ("retention.ms=1000", "retention.ms=500", True),
        ("retention.ms=1000", "retention.ms=5000", False),
        ("retention.bytes=-1", "retention.bytes=5000", True),
        ("retention.ms=1000", "retention.ms=-1", False),
    ],
)
def test_lower_retention_is_a_warning(stored: str, change: str, expires: bool) -> None:
    found = asked(world("4.3", *stored.split()), change)
    assert (found.verdict, "records-expire" in ids(found)) == (Verdict.OK, expires)


@pytest.mark.parametrize("kafka, verdict", [("3.6", Verdict.DEGRADED), ("3.7", Verdict.OK)])
def test_min_isr_above_the_replicas_stops_writes_until_3_7(kafka: str, verdict: Verdict) -> None:
    assert asked(world(kafka), "min.insync.replicas=4").verdict is verdict


LISTENER = "listener.name.external"
MAP = "listener.security.protocol.map=A:SSL"


@pytest.mark.parametrize(
    "kafka, entity, change, words",
    [
        ("4.3", "broker:2", "advertised.listeners=PLAINTEXT://h:9092", "dynamically: advertised.listeners"),
        ("3.9", "broker:2", "advertised.listeners=PLAINTEXT://h:9092", "Raft-based metadata quorum"),
        ("3.9", "cluster", "advertised.listeners=PLAINTEXT://h:9092", "level, broker id must be specified"),
        ("3.9", "broker:2", "log.dirs=/data", "dynamically: log.dirs"),
        ("4.3", "cluster", "num.partitions=3", "dynamically: num.partitions"),
        ("3.9", "broker:2", "remote.log.reader.threads=9", "dynamically: remote.log.reader.threads"),
        ("4.3", "cluster", MAP, "level, broker id must be specified: listener.security"),
        ("4.3", "cluster", "cordoned.log.dirs=", "level, broker id must be specified: cordoned"),
        ("4.3", "broker:2", "ssl.keystore.location=/k", "only per-listener using the listener prefix: ssl.keystore"),
        ("3.9", "cluster", f"{LISTENER}.ssl.client.auth=none", f"must be specified: {LISTENER}.ssl.client.auth"),
        ("4.3", "cluster", f"{LISTENER}.num.partitions=4", f"must be specified: {LISTENER}.num.partitions"),
        ("4.3", "cluster", f"{LISTENER}.max.connections=ten", "Invalid value ten for configuration max.connections"),
        ("3.9", "broker:2", "follower.replication.throttled.rate=10MB", "Not a number of type LONG"),
        ("4.3", "cluster", "leader.replication.throttled.rate=-5", "Value must be at least 0"),
        ("3.6", "broker:2", "replica.alter.log.dirs.io.max.bytes.per.second=x", "Not a number of type LONG"),
    ],
)
def test_setting_that_brokers_cannot_use_is_refused_by_brokers_and_stored_by_the_controller(
    kafka: str, entity: str, change: str, words: str
) -> None:
    # Measured on 3.9.2 and 4.3.1; which key belongs where is from the jars of every release.
    refused = asked(world(kafka), change, entity=entity, through_broker=True)
    assert words in (message(refused) or "")
    assert refused.effects["server_error"].name == "INVALID_REQUEST"
    stored = asked(world(kafka), change, entity=entity)
    (finding,) = (found for found in stored.findings if found.id == "setting-stored-and-ignored")
    assert (stored.verdict, finding.evidence["key"]) == (Verdict.DEGRADED, change.partition("=")[0])
    assert words in finding.message


@pytest.mark.parametrize(
    "kafka, entity, change",
    [
        ("4.3", "broker:2", "listeners=PLAINTEXT://h:9092"),
        ("4.3", "broker:2", f"{LISTENER}.ssl.keystore.location=/k"),
        ("4.3", "broker:2", f"{LISTENER}.num.partitions=4"),
        ("4.3", "cluster", f"{LISTENER}.max.connections=100"),
        ("4.3", "cluster", "group.coordinator.cached.buffer.max.bytes=2000000"),
        ("3.9", "cluster", "follower.replication.throttled.rate=1000000"),
        ("4.3", "broker:2", "no.such.key=1"),
        ("4.3", "broker:2", "log.dirs"),
    ],
)
def test_setting_that_brokers_take_while_they_run_is_accepted(kafka: str, entity: str, change: str) -> None:
    for through_broker in (False, True):
        found = asked(world(kafka), change, entity=entity, through_broker=through_broker)
        assert (found.verdict, ids(found)) == (Verdict.OK, set()), through_broker


def test_all_settings_of_a_broker_are_ignored_with_stored_advertised_listeners_until_3_9() -> None:
    found = asked(world("3.9"), "advertised.listeners=PLAINTEXT://h:9092", entity="broker:2")
    assert "ignore all dynamic settings of that broker" in found.findings[0].message
    later = asked(world("4.0"), "advertised.listeners=PLAINTEXT://h:9092", entity="broker:2")
    assert "ignore it" in later.findings[0].message


def test_number_of_threads_is_assumed_to_be_near_the_number_in_force() -> None:
    found = asked(world("4.3"), "num.io.threads=100", "log.retention.ms=100000", entity="cluster")
    (assumption,) = found.assumptions
    assert assumption.startswith("num.io.threads: at least half and at most twice")


@pytest.mark.parametrize("kafka", ["3.6", "3.9", "4.3"])
@pytest.mark.parametrize(
    "change",
    [
        "listeners=PLAINTEXT://:9092,SECURE://:9093",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT",
        "principal.builder.class=com.example.Builder",
        "ssl.engine.factory.class=com.example.Factory",
        f"{LISTENER}.ssl.keystore.location=/etc/kafka/new.jks",
        f"{LISTENER}.sasl.jaas.config=com.example.Login required;",
    ],
)
def test_setting_that_each_broker_compares_with_its_host_is_an_assumption(kafka: str, change: str) -> None:
    for through_broker, effect in ((True, "refuses the change"), (False, "ignores it")):
        found = asked(world(kafka), change, "log.retention.ms=100000", entity="broker:2", through_broker=through_broker)
        (assumption,) = found.assumptions
        assert assumption.startswith(f"{change.partition('=')[0]}: fits the file, the class path and the files")
        assert assumption.endswith(effect)


def test_classes_of_all_brokers_are_an_assumption_and_plain_settings_are_not() -> None:
    found = asked(world("4.3"), "metric.reporters=com.example.Reporter", entity="cluster")
    assert found.assumptions[0].startswith("metric.reporters: fits")
    assert asked(world("4.3"), "log.retention.ms=100000", entity="cluster").assumptions == ()
