"""Reasons for which a configuration is refused: id, Kafka's text, exit code 2."""

from __future__ import annotations

import pytest

from tests.storage.config.node_configs import BROKER, COMBINED, CONTROLLER, read, refused, text


@pytest.mark.parametrize(
    ("data", "release", "id", "words"),
    [
        (b"", "3.3", "missing-process-roles", "Missing required configuration `zookeeper.connect`"),
        (
            b"",
            "4.4",
            "missing-config-key",
            'Missing required configuration "process.roles" which has no default value.',
        ),
        (b"# only a comment\n", "4.0", "missing-config-key", '"process.roles"'),
        (text(COMBINED)[:36], "4.1", "missing-config-key", '"node.id"'),
        (text(COMBINED, node_id=None), "3.9", "missing-node-id", "Missing configuration `node.id` which is required"),
        (text(COMBINED, node_id=None), "4.0", "missing-config-key", '"node.id" which has no default value'),
        (text(COMBINED, node_id="-1"), "3.9", "missing-node-id", "Missing configuration `node.id`"),
        (text(COMBINED, node_id="-1"), "4.0", "invalid-config-value", "Value must be at least 0"),
        (text(COMBINED, node_id="one"), "4.0", "invalid-config-value", "Not a number of type INT"),
        (text(COMBINED, broker_id="2"), "4.3", "node-id-differs-from-broker-id", "to the same value as `broker.id`"),
        (text(COMBINED, process_roles="observer"), "4.3", "invalid-config-value", "String must be one of: broker"),
        (text(COMBINED, process_roles="broker,broker"), "4.1", "duplicate-process-role", "Duplicate role names found"),
        (text(COMBINED, log_dirs="/a,,/b"), "4.2", "invalid-config-value", "'log.dirs' values must not be empty."),
        (
            text(BROKER) + b"offsets.topic.compression.codec=-1",
            "3.3",
            "unknown-compression-id",
            "Unknown compression type id: -1",
        ),
        (
            text(CONTROLLER) + b"share.coordinator.state.topic.compression.codec=99",
            "4.4",
            "unknown-compression-id",
            "Unknown compression type id: 99",
        ),
        (
            text(BROKER) + b"share.coordinator.snapshot.update.records.per.snapshot=600",
            "4.2",  # the constructor checks it; from 4.3 on, the definition of the key
            "config-values-conflict",
            "share.coordinator.snapshot.update.records.per.snapshot must be between [0, 500]",
        ),
        (
            text(BROKER) + b"share.coordinator.snapshot.update.records.per.snapshot=600",
            "4.3",
            "invalid-config-value",
            "Value must be no more than 500",
        ),
        (
            text(BROKER, log_dirs="/a") + b"cordoned.log.dirs=/a/",
            "4.4",
            "config-values-conflict",
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /a/",
        ),
        (
            text(BROKER, log_dirs="/a") + b"cordoned.log.dirs=*,/a",
            "4.3",
            "config-values-conflict",
            "When cordoned.log.dirs is set to *, it must not contain other values",
        ),
        (
            text(CONTROLLER) + b"group.streams.rack.aware.assignment.tags=a,a",
            "4.4",
            "config-values-conflict",
            "group.streams.rack.aware.assignment.tags must not contain duplicate tag keys.",
        ),
        (text(COMBINED, log_dirs=""), "4.1", "no-log-directory", "At least one log directory must be defined"),
        (
            text(COMBINED, log_dirs="/a,/b") + b"remote.log.storage.system.enable=true",
            "3.7",
            "tiered-storage-requires-one-directory",
            "Multiple log directories `/a,/b` are not supported when remote log storage is enabled",
        ),
        (text(COMBINED, metadata_log_dir=""), "4.3", "empty-metadata-log-dir", "metadata.log.dir is empty"),
        (text(COMBINED, controller_quorum_voters=None), "3.8", "no-controller-quorum", "must contain a parseable set"),
        (text(COMBINED, controller_quorum_voters=None), "4.3", "no-controller-quorum", "either controller.quorum.boot"),
        (text(COMBINED, controller_quorum_voters="1@x"), "4.3", "invalid-config-value", "Failed to parse host name"),
        (
            text(COMBINED, controller_quorum_voters="2@x:1"),
            "4.3",
            "controller-not-among-voters",
            "must be included in the",
        ),
        (text(BROKER, node_id="1"), "4.3", "broker-is-voter", "must not be included in the set of voters"),
        (
            text(BROKER) + b"controller.quorum.auto.join.enable=true",
            "4.2",
            "auto-join-on-broker",
            "only supported when process.roles contains the 'controller' role",
        ),
        (
            text(COMBINED) + b"inter.broker.protocol.version=2.8",
            "3.6",
            "inter-broker-protocol-before-kraft",
            "non-KRaft",
        ),
        (text(COMBINED) + b"inter.broker.protocol.version=9.9", "3.6", "invalid-config-value", "not a valid version"),
        (text(COMBINED, listeners="PLAINTEXT:9092"), "4.3", "invalid-listeners", "Unable to parse"),
        (
            text(COMBINED, listeners="X://:1,CONTROLLER://:2"),
            "4.3",
            "invalid-listeners",
            "No security protocol defined",
        ),
        (text(COMBINED, listeners="PLAINTEXT://:1,CONTROLLER://:1"), "4.3", "invalid-listeners", "a different port"),
        (
            text(COMBINED, listeners="PLAINTEXT://1.1.1.1:1,CONTROLLER://2.2.2.2:1"),
            "4.3",
            "invalid-listeners",
            "one needs to be IPv4 and the other IPv6",
        ),
        (
            text(COMBINED, listeners="PLAINTEXT://1.1.1.1:1,CONTROLLER://[::1]:1"),
            "3.5",
            "invalid-listeners",
            "Each listener must have a different port",
        ),
        (text(COMBINED, listeners="PLAINTEXT://:1,PLAINTEXT://:2"), "4.3", "invalid-listeners", "a different name"),
        (
            text(COMBINED, listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT:TLS"),
            "4.3",
            "invalid-security-protocol",
            "Invalid security protocol `TLS`",
        ),
        (
            text(COMBINED, listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT"),
            "4.3",
            "invalid-config-map",
            "Error parsing configuration property 'listener.security.protocol.map'",
        ),
        (text(COMBINED, early_start_listeners="X"), "4.3", "unknown-early-start-listener", "is not contained in"),
        (
            text(COMBINED, controller_listener_names="OTHER") + b"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,"
            b"CONTROLLER:PLAINTEXT\n",
            "4.3",
            "no-controller-listener",
            "at least one value",
        ),
        (
            text(COMBINED, controller_listener_names="CONTROLLER,OTHER"),
            "4.3",
            "controller-listener-not-opened",
            "must only contain values appearing in the 'listeners'",
        ),
        (
            text(COMBINED, listeners="CONTROLLER://:9093"),
            "4.3",
            "no-broker-listener",
            "There must be at least one broker advertised listener",
        ),
        (
            text(COMBINED, inter_broker_listener_name="CONTROLLER"),
            "4.3",
            "inter-broker-listener-not-advertised",
            "must be a listener name defined in advertised.listeners",
        ),
        (
            text(COMBINED, inter_broker_listener_name="NOPE"),
            "4.3",
            "invalid-inter-broker-listener",
            "not found in listener.security.protocol.map",
        ),
        (
            text(COMBINED, inter_broker_listener_name="PLAINTEXT", security_inter_broker_protocol="SSL"),
            "4.3",
            "invalid-inter-broker-listener",
            "Only one of inter.broker.listener.name and security.inter.broker.protocol",
        ),
        (
            text(COMBINED, advertised_listeners="PLAINTEXT://h:1,SSL://h:2"),
            "4.3",
            "advertised-listener-not-opened",
            "equal to or a subset of the ones defined in listeners",
        ),
        (
            text(COMBINED, advertised_listeners="PLAINTEXT://0.0.0.0:1"),
            "4.3",
            "nonroutable-advertised-listener",
            "nonroutable meta-address 0.0.0.0",
        ),
        (
            text(COMBINED, advertised_listeners="PLAINTEXT://h:1,CONTROLLER://h:2"),
            "3.8",
            "controller-listener-advertised",
            "must not contain KRaft controller listeners",
        ),
        (
            text(CONTROLLER, advertised_listeners="CONTROLLER://h:2"),
            "3.8",
            "controller-advertises",
            "must be empty when process.roles=controller",
        ),
        (
            text(CONTROLLER, listeners="CONTROLLER://:1,PLAINTEXT://:2"),
            "4.3",
            "foreign-listener-on-controller",
            "must only contain KRaft controller listeners",
        ),
        (
            text(CONTROLLER, inter_broker_listener_name="CONTROLLER"),
            "4.0",
            "inter-broker-listener-on-controller",
            "must not contain an explicitly set inter.broker.listener.name",
        ),
        (
            text(BROKER, controller_listener_names=None),
            "4.1",
            "missing-controller-listener-names",
            "must contain at least one value when running KRaft with just the broker role",
        ),
        (
            text(BROKER, controller_listener_names="PLAINTEXT"),
            "4.3",
            "controller-listener-on-broker",
            "must not contain a value appearing in the 'listeners'",
        ),
        (
            text(BROKER, listener_security_protocol_map="PLAINTEXT:PLAINTEXT"),
            "4.3",
            "controller-listener-without-protocol",
            "Controller listener with name CONTROLLER defined in controller.listener.names not found",
        ),
        (
            text(COMBINED, control_plane_listener_name="CONTROLLER"),
            "3.9",
            "control-plane-listener-in-kraft",
            "is not supported in KRaft mode",
        ),
        (
            text(BROKER, listeners="SASL_PLAINTEXT://:1", security_inter_broker_protocol="SASL_PLAINTEXT")
            + b"listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SSL\n"
            + b"sasl.enabled.mechanisms=PLAIN\n",
            "4.3",
            "sasl-mechanism-not-enabled",
            "must be included in sasl.enabled.mechanisms",
        ),
        (
            text(COMBINED) + b"group.coordinator.rebalance.protocols=consumer\n",
            "4.3",
            "classic-protocol-disabled",
            "Disabling the 'classic' protocol is not supported",
        ),
        (
            text(COMBINED) + b"log.retention.ms=0\n",
            "4.3",
            "config-values-conflict",
            "log.retention.ms must be unlimited",
        ),
        (text(COMBINED) + b"a=\\u12\n", "4.3", "malformed-unicode-escape", "Malformed \\uxxxx encoding in line 7"),
        (b"\xff\xfe" + "process.roles=broker\n".encode("utf-16-le"), "4.3", "missing-config-key", "process.roles"),
    ],
)
def test_wrong_configuration_is_refused_with_id_and_message(data: bytes, release: str, id: str, words: str):
    error = refused(data, release)
    assert error.id == id
    assert words in error.message


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.0", "4.4"])
@pytest.mark.parametrize("id", range(5))
def test_every_compression_type_is_an_id(release: str, id: int):
    for key in ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"):
        assert read(text(COMBINED) + f"{key}={id}\n".encode(), release).node_id == 1


def test_cordoned_directories_may_be_all_or_some():
    for base, named in ((BROKER, "*"), (BROKER, "/b"), (BROKER, "/b,/b"), (BROKER, ""), (CONTROLLER, "/elsewhere")):
        assert read(text(base, log_dirs="/a,/b") + f"cordoned.log.dirs={named}\n".encode(), "4.4")
    assert read(text(BROKER, log_dirs="/a") + b"cordoned.log.dirs=/b\n", "4.2")  # no such key yet
