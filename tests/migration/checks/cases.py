"""Cases of checks, each one change to a healthy cluster: number of the check, finding, state, change."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import NamedTuple

from kafkactl.metadata.image.model import Image
from kafkactl.migration.observed.observation import Mode, ServerSeen
from kafkactl.migration.zktree.znode import ZnodeAcl
from kafkactl.storage.partition_folders import PartitionIds
from tests.migration.observations import World, aborted, holder, migration, state
from tests.migration.zk_trees import LOGS_ID, ORDERS_ID, config, text

FLAG = "zookeeper.metadata.migration.enable"
ENCRYPTED = (
    "keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/CBC/PKCS5Padding,keyLength:128,salt:"
    + base64.b64encode(b"s" * 32).decode()
    + ",iterations:10,encryptedPassword:"
    + base64.b64encode(b"p" * 16).decode()
    + ",passwordLength:3,initializationVector:"
    + base64.b64encode(b"i" * 16).decode()
)
OTHER_CLUSTER = "Another-cluster-id-22ch"
ORDERS = "/brokers/topics/orders"
STATE_0 = f"{ORDERS}/partitions/0/state"
SAME_HOST = {1: "kafka-1:9092", 2: "kafka-2:9092", 3001: "kafka-1:9093"}
_SCRAM = {"Salt": b"s", "StoredKey": b"k", "ServerKey": b"v", "Iterations": 4096}


class Case(NamedTuple):
    check: str
    id: str
    state: str
    change: Callable[[World], World]
    severity: str = "blocker"


def _topic(**fields: object) -> bytes:
    usual = {"version": 3, "topic_id": ORDERS_ID, "partitions": {"0": [1, 2], "1": [2, 1]}}
    return text(usual | {"adding_replicas": {}, "removing_replicas": {}} | fields)


_NO_ID = text({"version": 1, "partitions": {"0": [1, 2], "1": [2, 1]}})


def _ids(orders: str) -> PartitionIds:
    return PartitionIds(topic_ids={"orders": orders})


def _blind(seen: World) -> World:
    seen.files.pop(1)
    return seen


def _scram_controllers(seen: World) -> World:
    protocols = "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    seen = seen.file(3001, "listener.security.protocol.map", protocols)
    return seen.file(3001, "sasl.mechanism.controller.protocol", "SCRAM-SHA-512")


def _users(*, added: tuple[str, ...], removed: str) -> Callable[[World], World]:
    made = [("UserScramCredentialRecord", {"Name": name, "Mechanism": 2, **_SCRAM}) for name in added]
    gone = ("RemoveUserScramCredentialRecord", {"Name": removed, "Mechanism": 2})
    return lambda seen: seen.replayed(*made, gone)


def _secrets(value: str) -> Callable[[World], World]:
    entry = config(**{"listener.name.sasl.ssl.key.password": ENCRYPTED})
    return lambda seen: seen.znode("/config/brokers/1", entry).file(3001, "password.encoder.secret", value or None)


def _with_rules(seen: World) -> World:
    """Return brokers that map certificates to short names, a controllers' listener with TLS, and no rule at the
    controller."""
    for id in seen.modes:
        seen.file(id, "ssl.principal.mapping.rules", "RULE:^CN=(.*?),.*$/$1/,DEFAULT")
    seen.file(3001, "super.users", "User:b1;User:b2;User:admin")
    return seen.file(3001, "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL,CONTROLLER:SSL")


IDENTITY = (
    Case("C-01", "cluster-id-mismatch", "M3", lambda seen: seen.but(meta={3001: {"cluster.id": OTHER_CLUSTER}})),
    Case("C-01", "cluster-id-mismatch", "M0", lambda seen: seen.but(meta={1: {"cluster.id": OTHER_CLUSTER}})),
    Case("C-01", "broken-cluster-id-znode", "M0", lambda seen: seen.znode("/cluster/id", b"{")),
    Case("C-02", "chroot-mismatch", "M2", lambda seen: seen.file(3001, "zookeeper.connect", "zk:2181")),
    Case("C-02", "chroot-mismatch", "M3", lambda seen: seen.file(3001, "zookeeper.connect", "zk:2181/kafka/two/")),
    Case("C-02", "zookeeper-servers-differ", "M3", lambda seen: seen.file(3001, "zookeeper.connect", "zk9:2181/kafka"),
         "warning"),
    Case("C-01", "broker-without-cluster-id", "M0", lambda seen: seen.but(meta={2: {"version": "0", "broker.id": "2"}}),
         "info"),
    Case("C-02", "zookeeper-connect-refused", "M2",
         lambda seen: seen.file(3001, "zookeeper.connect", "zk:2181/kafka/")),
    Case("C-02", "zookeeper-server-name-impossible", "M2",
         lambda seen: seen.file(3001, "zookeeper.connect", "zk1:2181;zk2:2181/kafka")),
    Case("C-02", "chroot-mismatch", "M2", lambda seen: seen.file(3001, "zookeeper.connect", "zk:2181/ kafka")),
    Case("C-02", "chroot-mismatch", "M4", lambda seen: seen.file(2, "zookeeper.connect", "zk:2181/other")),
    Case("C-02", "zookeeper-server-name-impossible", "M2",
         lambda seen: seen.file(3001, "zookeeper.connect", "zk:2181,zk2:2181 zk3:2181/kafka"), "warning"),
    Case("C-02", "zookeeper-servers-in-chroot", "M0",
         lambda seen: seen.file(1, "zookeeper.connect", "zk1:2181/kafka,zk2:2181/kafka"), "warning"),
    Case("C-03", "nodes-of-several-releases", "M0", lambda seen: seen.but(versions={2: "3.9.1"}), "warning"),
    Case("C-03", "release-cannot-migrate", "M0", lambda seen: seen.but(versions={1: "3.3.2", 2: "3.3.2"})),
    Case("C-03", "release-cannot-migrate", "M3", lambda seen: seen.but(versions={3001: "4.0.0"})),
    Case("C-03", "check-unknown", "M0", lambda seen: seen.but(versions={1: "3.8", 2: "3.8"}), "warning"),
    Case("C-03", "release-with-migration-bugs", "M0", lambda seen: seen.but(versions={1: "3.7.0", 2: "3.7.0"}),
         "warning"),
    Case("C-03", "release-loses-data-in-migration", "M0", lambda seen: seen.but(versions={1: "3.4.1", 2: "3.4.1"})),
    Case("C-04", "inter-broker-protocol-differs", "M0",
         lambda seen: seen.file(2, "inter.broker.protocol.version", "3.7")),
    Case("C-04", "inter-broker-protocol-too-old", "M0",
         lambda seen: seen.file(2, "inter.broker.protocol.version", "3.5")),
    Case("C-04", "jbod-before-3-7-iv2", "M0",
         lambda seen: seen.file(2, "inter.broker.protocol.version", "3.7-IV1").file(2, "log.dirs", "/a,/b")),
    Case("C-04", "message-format-version-set", "M0",
         lambda seen: seen.file(2, "log.message.format.version", "2.8"), "warning"),
    Case("C-05", "inter-broker-protocol-not-metadata-version", "M3",
         lambda seen: seen.file(1, "inter.broker.protocol.version", None)),
    Case("C-05", "inter-broker-protocol-not-metadata-version", "M6",
         lambda seen: seen.file(2, "inter.broker.protocol.version", "3.9")),
    Case("C-05", "metadata-version-too-old", "M2", lambda seen: seen.but(state=2).logged(
        image=Image(features={"metadata.version": 12}), migration_states=())),
    Case("C-06", "finalized-features-in-zookeeper", "M0", lambda seen: seen.znode(
        "/feature", text({"features": {"x": {"max_version_level": 2}}, "version": 2, "status": 1})), "warning"),
    Case("C-06", "broken-feature-znode", "M0", lambda seen: seen.znode("/feature", b"")),
    Case("C-07", "dynamic-quorum-needs-3-9-iv0", "M2", lambda seen: seen.file(
        3001, "controller.quorum.voters", None).file(3001, "controller.quorum.bootstrap.servers", "c1:9093")),
    Case("C-07", "quorum-style-differs", "M6", lambda seen: seen.file(
        1, "controller.quorum.voters", None).file(1, "controller.quorum.bootstrap.servers", "c1:9093"), "warning"),
    Case("C-07", "quorum-voters-differ", "M6", lambda seen: seen.file(1, "controller.quorum.voters", "3002@c1:9093")),
    Case("C-08", "controller-disk-of-earlier-attempt", "M2",
         lambda seen: seen.but(state=1).logged(copy_begin=81, copy_end=236)),
)  # fmt: skip

NODES = (
    Case("C-10", "broker-id-not-written", "M0", lambda seen: seen.file(1, "broker.id", None)),
    Case("C-10", "broker-id-mismatch", "M0", lambda seen: seen.file(1, "broker.id", "7")),
    Case("C-10", "broker-id-mismatch", "M0", lambda seen: seen.but(meta={1: {"broker.id": "7"}})),
    Case("C-10", "broker-id-above-reserved", "M0", lambda seen: seen.file(2, "reserved.broker.max.id", "1")),
    Case("C-11", "controller-id-is-broker-id", "M2", lambda seen: seen.znode("/config/brokers/3001", config(a="1"))),
    Case("C-11", "controller-id-is-broker-id", "M6", lambda seen: seen.znode(
        ORDERS, _topic(partitions={"0": [3001, 2], "1": [2, 1]}))),
    Case("C-12", "broker-file-half-edited", "M0", lambda seen: seen.file(1, FLAG, "true")),
    Case("C-12", "broker-file-half-edited", "M0", lambda seen: seen.file(1, "controller.listener.names", "CONTROLLER")),
    Case("C-12", "broker-file-half-edited", "M6", lambda seen: seen.file(
        1, "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT")),
    Case("C-13", "controller-not-alone", "M2", lambda seen: seen.file(3001, "process.roles", "broker,controller")),
    Case("C-13", "controller-without-zookeeper", "M2", lambda seen: seen.file(3001, "zookeeper.connect", None)),
    Case("C-13", "inter-broker-listener-mismatch", "M2",
         lambda seen: seen.file(3001, "inter.broker.listener.name", "INTERNAL")),
    Case("C-13", "inter-broker-listener-mismatch", "M2", lambda seen: seen
         .file(3001, "inter.broker.listener.name", None)
         .znode("/brokers/ids/1", text({"version": 4, "host": "b", "port": 1, "jmx_port": -1, "timestamp": "1",
                                        "endpoints": ["SASL://b:1"]}))),
    Case("C-13", "inter-broker-listener-differs", "M2",
         lambda seen: seen.file(3001, "inter.broker.listener.name", "SASL"), "warning"),
    Case("C-13", "inter-broker-listener-without-protocol", "M2",
         lambda seen: seen.file(3001, "listener.security.protocol.map", "CONTROLLER:PLAINTEXT")),
    Case("C-13", "controller-lacks-zookeeper-settings", "M2",
         lambda seen: seen.file(1, "zookeeper.ssl.client.enable", "true")),
    Case("C-13", "controller-lacks-zookeeper-settings", "M2",
         lambda seen: seen.file(1, "zookeeper.max.in.flight.requests", "20"), "warning"),
    Case("C-13", "controller-without-flag", "M2", lambda seen: seen.file(3001, FLAG, None)),
    Case("C-13", "controller-without-flag", "M3", lambda seen: seen.but(ready={3001: False})),
    Case("C-13", "accidental-finalization", "M6", lambda seen: seen.file(3001, FLAG, "false")),
    Case("C-13", "accidental-finalization", "M7", lambda seen: seen.but(ready={3001: False})),
    Case("C-13", "finalization-begun", "M8", lambda seen: seen.file(3001, FLAG, None), "warning"),
    Case("C-19", "kraft-file-before-copy", "M4", lambda seen: seen.file(1, "process.roles", "broker")),
    Case("C-19", "kraft-file-before-copy", "M3", lambda seen: seen.but(modes={1: Mode.KRAFT, 2: Mode.ZK})),
    Case("C-19", "zookeeper-settings-on-kraft-broker", "M8",
         lambda seen: seen.file(1, "zookeeper.connect", "zk:2181/kafka"), "warning"),
    Case("C-19", "zookeeper-authorizer-on-kraft", "M8", lambda seen: seen.file(
        1, "authorizer.class.name", "kafka.security.authorizer.AclAuthorizer")),
    Case("C-19", "control-plane-listener-not-registered", "M0", lambda seen: seen.but(versions={1: "3.8.1", 2: "3.8.1"})
         .file(1, "control.plane.listener.name", "SASL")),
    Case("C-19", "control-plane-listener-not-in-kraft", "M0",
         lambda seen: seen.file(1, "control.plane.listener.name", "SASL"), "info"),
    Case("C-19", "setting-names-zookeeper", "M0",
         lambda seen: seen.file(1, "vendor.access.rule.providers", "ZK_ACL,LDAP"), "info"),
    Case("C-19", "setting-names-zookeeper", "M8",
         lambda seen: seen.file(1, "listener.name.sasl.vendor.store", "com.example.ZooKeeperStore"), "warning"),
    Case("C-62", "directory-shared-by-nodes", "M2", lambda seen: seen.but(addresses=SAME_HOST).file(
        3001, "log.dirs", "/data")),
    Case("C-62", "directory-shared-by-nodes", "M3", lambda seen: seen.but(addresses=SAME_HOST).file(
        3001, "metadata.log.dir", "/data/kraft/")),
    Case("C-63", "ip-quota-of-host-name", "M0", lambda seen: seen.znode(
        "/config/ips/gateway.example", config(connection_creation_rate="10")), "warning"),
    Case("C-20", "policy-not-on-controllers", "M2",
         lambda seen: seen.file(1, "create.topic.policy.class.name", "a.Policy"), "warning"),
    Case("C-20", "principal-builder-on-kraft", "M0",
         lambda seen: seen.file(1, "principal.builder.class", "a.Builder"), "warning"),
    Case("C-21", "node-file-refused", "M3", lambda seen: seen.file(3001, "listeners", "OTHER://127.0.0.1:9093")),
    Case("C-22", "file-not-in-effect", "M3", lambda seen: seen.but(ready={1: True, 3001: True}), "warning"),
)  # fmt: skip

ACCESS = (
    Case("C-14", "zookeeper-authorizer-on-kraft", "M2", lambda seen: seen.file(
        3001, "authorizer.class.name", "kafka.security.authorizer.AclAuthorizer")),
    Case("C-14", "controller-without-authorizer", "M2", lambda seen: seen.file(3001, "authorizer.class.name", None)),
    Case("C-14", "super-users-missing-on-controller", "M2", lambda seen: seen.file(3001, "super.users", None)),
    Case("C-14", "super-users-missing-on-controller", "M3", lambda seen: seen.file(3001, "super.users", "User:admin")),
    Case("C-14", "super-users-missing-on-controller", "M2", lambda seen: seen.file(3001, "super.users", "User:other")
         .file(3001, "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_SSL")),
    Case("C-14", "super-users-differ", "M3", lambda seen: seen.file(3001, "super.users", "User:ANONYMOUS"), "warning"),
    Case("C-14", "controllers-not-allowed-on-broker", "M3", lambda seen: seen.file(1, "super.users", "User:admin")),
    Case("C-14", "principal-rules-differ", "M3", _with_rules, "blocker"),
    Case("C-14", "principal-rules-differ", "M6", _with_rules, "warning"),
    Case("C-14", "principal-rules-carried-over", "M2", lambda seen: _with_rules(seen).file(3001, FLAG, None), "info"),
    Case("C-15", "zookeeper-set-acl-differs", "M2", lambda seen: seen.file(1, "zookeeper.set.acl", "true"), "warning"),
    Case("C-15", "check-unknown", "M2", lambda seen: seen.but(
        acl={"/controller_epoch": (ZnodeAcl(perms=31, scheme="sasl", id="kafka"),)}), "warning"),
    Case("C-16", "encoder-secret-missing", "M2", _secrets("")),
    Case("C-16", "encoder-secret-wrong", "M3", _secrets("another")),
    Case("C-16", "check-unknown", "M3", _secrets("<redacted>"), "warning"),
    Case("C-16", "cipher-text-copied-as-password", "M6", lambda seen: seen.replayed(("ConfigRecord", {
        "ResourceType": 4, "ResourceName": "1", "Name": "listener.name.sasl.ssl.key.password", "Value": ENCRYPTED}))),
    Case("C-17", "delegation-token-key-mismatch", "M2",
         lambda seen: seen.file(3001, "delegation.token.secret.key", None)),
    Case("C-17", "delegation-token-key-mismatch", "M2",
         lambda seen: seen.file(3001, "delegation.token.secret.key", "another")),
    Case("C-18", "znode-near-jute-maxbuffer", "M0", lambda seen: seen.znode("/config/topics/orders", b" " * 900_000),
         "warning"),
    Case("C-18", "znode-near-jute-maxbuffer", "M0", lambda seen: seen.znode("/config/topics/orders", b" " * 4_000_000)),
)  # fmt: skip

HEALTH = (
    Case("C-31", "no-controller", "M0", lambda seen: seen.no_znode("/controller")),
    Case("C-31", "controller-not-a-live-broker", "M0", lambda seen: seen.znode("/controller", holder(9))),
    Case("C-31", "several-controllers", "M0", lambda seen: seen.but(metrics={
        1: {"ActiveControllerCount": 1.0},
        2: {"kafka.controller:type=KafkaController,name=ActiveControllerCount": 1}})),
    Case("C-31", "split-brain", "M6", lambda seen: seen.znode("/controller", holder(1))),
    Case("C-31", "quorum-without-leader", "M6", lambda seen: seen.but(leader=-1)),
    Case("C-31", "quorum-question-denied", "M6", lambda seen: seen.but(leader=-31), "warning"),
    Case("C-31", "check-unknown", "M6", lambda seen: seen.but(leader=None), "warning"),
    Case("C-31", "quorum-without-leader", "M8", lambda seen: seen.but(controllers={3001: False})),
    Case("C-31", "quorum-without-leader", "M6", lambda seen: seen.but(
        leader=None, controllers={3001: True, 3002: False, 3003: False})),
    Case("C-31", "controller-znode-of-former-leader", "M6", lambda seen: seen.but(leader=3002), "warning"),
    Case("C-31", "controller-down", "M6", lambda seen: seen.but(controllers={3001: True, 3002: False}), "warning"),
    Case("C-31", "few-controllers", "M6", lambda seen: seen, "info"),
    Case("C-32", "broker-down", "M0", lambda seen: seen.but(modes={1: None, 2: Mode.ZK})),
    Case("C-32", "broker-not-in-zookeeper", "M0", lambda seen: seen.no_znode("/brokers/ids/2")),
    Case("C-32", "broker-not-in-inventory", "M0", lambda seen: seen.but(modes={1: Mode.ZK})),
    Case("C-33", "offline-partitions", "M0", lambda seen: seen.znode(STATE_0, state(leader=-1, isr=[1]))),
    Case("C-33", "under-replicated-partitions", "M0", lambda seen: seen.znode(STATE_0, state(isr=[1])), "warning"),
    Case("C-33", "under-replicated-partitions", "M0", lambda seen: seen.znode(STATE_0, state(isr=[1]))
         .but(modes={1: Mode.ZK, 2: None})),
    Case("C-33", "under-replicated-partitions", "M8", lambda seen: seen.replayed(("PartitionChangeRecord", {
        "TopicId": _id(), "PartitionId": 0, "Isr": [1]})), "warning"),
    Case("C-33", "under-replicated-partitions", "M8", lambda seen: seen.replayed(("PartitionChangeRecord", {
        "TopicId": _id(), "PartitionId": 0, "Isr": [1]})).but(fenced=(2,))),
    Case("C-33", "partitions-with-one-replica", "M0", lambda seen: seen.znode(ORDERS, _topic(
        partitions={"0": [1], "1": [2, 1]})).znode(STATE_0, state(isr=[1])), "info"),
    Case("C-34", "reassignment-before-migration", "M0", lambda seen: seen.znode(ORDERS, _topic(
        adding_replicas={"0": [2]})), "warning"),
    Case("C-34", "reassignment-before-migration", "M4L", lambda seen: seen.znode(ORDERS, _topic(
        adding_replicas={"0": [2]}))),
    Case("C-34", "legacy-reassignment-lost", "M0", lambda seen: seen.znode("/admin/reassign_partitions", text(
        {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]})), "warning"),
    Case("C-35", "topic-deletion-before-migration", "M0",
         lambda seen: seen.znode("/admin/delete_topics/orders", None), "warning"),
    Case("C-35", "topic-deletion-before-migration", "M4L",
         lambda seen: seen.znode("/admin/delete_topics/orders", None)),
    Case("C-36", "replica-on-absent-broker", "M0", lambda seen: seen.znode(ORDERS, _topic(
        partitions={"0": [1, 2], "1": [2, 9]}))),
    Case("C-36", "replica-on-absent-broker", "M8", lambda seen: seen.replayed(("PartitionChangeRecord", {
        "TopicId": _id(), "PartitionId": 0, "Replicas": [1, 9], "Isr": [1, 9]}))),
    Case("C-39", "preferred-election-pending", "M0", lambda seen: seen.znode("/admin/preferred_replica_election", text(
        {"version": 1, "partitions": [{"topic": "orders", "partition": 0}]})), "warning"),
    Case("C-39", "notification-backlog", "M0", lambda seen: seen.but(data=seen.data | {
        f"/config/changes/config_change_{at:010}": b"" for at in range(150)}), "info"),
    Case("C-40", "log-directory-offline", "M3", lambda seen: seen.but(metrics={1: {"OfflineLogDirectoryCount": 1.0}})),
    Case("C-30", "check-unknown", "M0", lambda seen: seen, "warning"),
    Case("C-30", "check-unknown", "M6", lambda seen: seen.but(has_tree=False), "warning"),
    Case("C-30", "zookeeper-server-silent", "M0", lambda seen: seen.but(servers=_servers("leader", "follower", None)),
         "warning"),
    Case("C-30", "zookeeper-leader-not-seen", "M0",
         lambda seen: seen.but(servers=_servers("follower", "follower", "follower")), "warning"),
    Case("C-41", "check-unknown", "M8", lambda seen: seen, "warning"),
    Case("C-42", "check-unknown", "M3", lambda seen: seen, "warning"),
    Case("X-5.2", "check-unknown", "M7", lambda seen: seen, "warning"),
    Case("X-5.2", "partitions-became-strays", "M7", lambda seen: seen.but(strays={1: ("/data/orders-0.1234-stray",)})),
)  # fmt: skip

DATA = (
    Case("C-37", "partition-numbers-not-consecutive", "M0",
         lambda seen: seen.znode(ORDERS, _topic(partitions={"0": [1, 2], "2": [2, 1]})), "warning"),
    Case("C-37", "topic-without-id", "M0", lambda seen: seen.znode(ORDERS, _NO_ID)),
    Case("C-37", "topic-without-id", "M4L", lambda seen: seen.znode(ORDERS, _NO_ID).but(ids={1: None, 2: None})),
    Case("C-37", "topic-without-id", "M0", lambda seen: seen.znode(ORDERS, _NO_ID).but(
        ids=dict.fromkeys((1, 2), PartitionIds())), "warning"),
    Case("C-43", "topic-id-differs-on-disk", "M0", lambda seen: seen.but(ids={2: _ids(LOGS_ID)})),
    Case("C-43", "topic-id-differs-on-disk", "M4L", lambda seen: seen.but(
        ids={2: PartitionIds(topic_ids={"orders": ORDERS_ID}, other_ids={"/data/orders-1": LOGS_ID})})),
    Case("C-43", "topic-id-differs-on-disk", "M7", lambda seen: seen.but(ids={2: _ids(LOGS_ID)})),
    Case("C-43", "partition-without-topic-id", "M0", lambda seen: seen.but(
        ids={1: PartitionIds(without_id=("/data/orders-0",))}), "warning"),
    Case("C-43", "partition-without-topic-id", "M6", lambda seen: seen.but(
        ids={1: PartitionIds(without_id=("/data/orders-0",))})),
    Case("C-43", "check-unknown", "M0", lambda seen: seen.but(ids={1: None}), "warning"),
    Case("C-37", "unreadable-topic-znode", "M4L", lambda seen: seen.znode(ORDERS, b'{"version":3,"parti')),
    Case("C-38", "partition-state-contradiction", "M0", lambda seen: seen.znode(STATE_0, state(leader=2, isr=[1]))),
    Case("C-38", "partition-without-state", "M0", lambda seen: seen.no_znode(STATE_0), "warning"),
    Case("C-38", "controller-epoch-behind-states", "M0", lambda seen: seen.znode(STATE_0, state(controller_epoch=10))),
    Case("C-38", "rollback-needs-controller-epoch", "M6",
         lambda seen: seen.znode(STATE_0, state(controller_epoch=10)), "warning"),
    Case("C-38", "rollback-needs-controller-epoch", "M3", lambda seen: seen.logged(epoch=10), "warning"),
    Case("C-50", "broken-broker-znode", "M0", lambda seen: seen.znode("/brokers/ids/nine", b"{}")),
    Case("C-51", "topic-config-unknown", "M0", lambda seen: seen.znode(
        "/config/topics/orders", config(**{"retention.sm": "1"})), "warning"),
    Case("C-51", "topic-config-invalid", "M0", lambda seen: seen.znode(
        "/config/topics/orders", config(**{"retention.ms": "1d"})), "warning"),
    Case("C-51", "topic-config-invalid", "M0", lambda seen: seen.znode(
        "/config/topics/orders", config(**{"cleanup.policy": "compact,purge"})), "warning"),
    Case("C-51", "config-znode-ignored", "M0", lambda seen: seen.znode("/config/topics/orders", b'{"version":1,"con')),
    Case("C-51", "broken-config-znode", "M4L", lambda seen: seen.znode("/config/brokers/x", config(a="1"))),
    Case("C-52", "quota-not-a-number", "M4L", lambda seen: seen.znode(
        "/config/clients/slow", config(producer_byte_rate="abc"))),
    Case("C-52", "unexpected-config-znode", "M0", lambda seen: seen.znode("/config/users/alice/odd", b""), "warning"),
    Case("C-53", "broken-scram-credential", "M0", lambda seen: seen.znode(
        "/config/users/alice", config(**{"SCRAM-SHA-256": "salt=xx"}))),
    Case("C-54", "duplicate-client-entity", "M0", lambda seen: seen.znode(
        "/config/users/%61lice", config(producer_byte_rate="1"))),
    Case("C-54", "entity-name-not-escaped", "M0", lambda seen: seen.znode(
        "/config/users/carol@x", config(producer_byte_rate="1")), "warning"),
    Case("C-55", "acl-of-unknown-resource-type", "M0", lambda seen: seen.znode("/kafka-acl/Nonsense/a", b"{}")),
    Case("C-55", "acl-znode-ignored", "M0", lambda seen: seen.znode("/kafka-acl/Topic/orders", b"{")),
    Case("C-56", "broken-producer-id-block-znode", "M0", lambda seen: seen.znode("/latest_producer_id_block", text(
        {"version": 1, "broker": 2, "block_start": "x", "block_end": "4999"}))),
    Case("C-56", "producer-id-block-odd", "M0", lambda seen: seen.znode("/latest_producer_id_block", text(
        {"version": 1, "broker": 2, "block_start": "4000", "block_end": "4998"})), "warning"),
    Case("C-56", "producer-ids-behind-zookeeper", "M6", lambda seen: seen.znode("/latest_producer_id_block", text(
        {"version": 1, "broker": 2, "block_start": "9000", "block_end": "9999"}))),
    Case("C-57", "broken-delegation-token-znode", "M0", lambda seen: seen.znode(
        "/delegation_token/tokens/tok1", text({"version": 9}))),
    Case("C-57", "delegation-tokens-expired", "M0", lambda seen: seen.znode("/delegation_token/tokens/tok2", text(
        {"owner": "User%3Aa", "tokenRequester": "User%3Aa", "renewers": [], "issueTimestamp": 1, "maxTimestamp": 2,
         "expiryTimestamp": 3, "tokenId": "tok2", "version": 3})), "info"),
    Case("C-58", "stale-migration-znode", "M0", lambda seen: seen.znode("/migration", migration(133))),
    Case("C-58", "stale-migration-znode", "M3", lambda seen: seen.znode("/migration", migration(133))),
    Case("C-58", "empty-migration-znode", "M0", lambda seen: seen.znode("/migration", b"")),
    Case("C-58", "migration-znode-missing", "M3", lambda seen: seen.no_znode("/migration")),
    Case("C-58", "migration-znode-deleted", "M6", lambda seen: seen.no_znode("/migration")),
    Case("C-58", "stale-migration-in-progress", "M5", lambda seen: seen.logged(copy_begin=None, copy_records=())
         .znode("/migration", migration(133))),
    Case("C-59", "copy-in-progress", "M5", lambda seen: seen, "info"),
    Case("C-59", "copy-failed", "M5", lambda seen: seen.but(controllers={3001: False})),
    Case("C-59", "copy-failed", "M5", lambda seen: seen.logged(copy_begin=None, copy_records=(),
                                                            aborted_copies=(aborted(),))),
    Case("C-59", "kraft-controller-left-over", "M5", lambda seen: seen.logged(copy_begin=None, copy_records=())
         .znode("/controller", holder(3009, 1))),
    Case("C-59", "kraft-controller-left-over", "M5", lambda seen: seen.logged(copy_begin=None, copy_records=())
         .but(registered={})),
    Case("C-59", "claim-interrupted", "M5", lambda seen: seen.logged(copy_begin=None, copy_records=())),
    Case("C-59", "persistent-controller-znode", "M0", lambda seen: seen.but(persistent=True)),
    Case("C-60", "orphan-topic-config", "M0", lambda seen: seen.znode(
        "/config/topics/ghost", config(**{"retention.ms": "1"})), "info"),
    Case("C-60", "config-of-absent-broker", "M0",
         lambda seen: seen.znode("/config/brokers/9", config(a="1")), "warning"),
)  # fmt: skip

MEASURED = (
    Case("X-2.1", "registered-broker-without-flag", "M4", lambda seen: seen.but(modes={1: Mode.ZK, 2: Mode.ZK})),
    Case("X-2.1", "registered-broker-without-flag", "M6", lambda seen: seen.but(ready={1: False, 3001: True})),
    Case("C-64", "dynamic-listeners-not-in-kraft", "M0", lambda seen: seen.znode("/config/brokers/1", config(
        **{"advertised.listeners": "PLAINTEXT://b1.example:9091,SASL://127.0.0.1:9191"})), "warning"),
    Case("C-64", "dynamic-listeners-not-in-kraft", "M6", lambda seen: seen.replayed(("ConfigRecord", {
        "ResourceType": 4, "ResourceName": "2", "Name": "listeners", "Value": "PLAINTEXT://b2.example:9092"}))),
    Case("C-64", "dynamic-listeners-not-in-kraft", "M0", lambda seen: seen.znode("/config/brokers/2", config(
        listeners="PLAINTEXT://127.0.0.1:9092,SASL://127.0.0.1:9192,MORE://127.0.0.1:9292")), "warning"),
    Case("C-64", "dynamic-protocol-map-lacks-controllers", "M2", lambda seen: seen.znode("/config/brokers/1", config(
        **{"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"}))),
    Case("C-64", "check-unknown", "M0", lambda seen: _blind(seen.znode("/config/brokers/1", config(
        listeners="PLAINTEXT://b1:9091"))), "warning"),
    Case("C-65", "scram-on-controller-listener", "M2", _scram_controllers),
    Case("X-2.1", "kraft-broker-on-zookeeper", "M8", lambda seen: seen.but(modes={1: Mode.ZK, 2: Mode.KRAFT})),
    Case("C-33", "under-replicated-partitions", "M7", lambda seen: seen.but(
        modes={1: Mode.ZK, 2: Mode.MIGRATING}, fenced=(1,)).replayed(("PartitionChangeRecord", {
            "TopicId": _id(), "PartitionId": 0, "Isr": [2]}))),
    Case("X-2.1", "registered-broker-absent", "M4", lambda seen: seen.no_znode("/brokers/ids/1")),
    Case("X-2.1", "registered-broker-absent", "M6", lambda seen: seen.no_znode("/brokers/ids/1")),
    Case("X-2.1", "entered-broker-not-registered", "M4", lambda seen: seen.but(registered={})),
    Case("X-2.1", "broker-state-inconsistent", "M4", lambda seen: seen.but(observers=()), "warning"),
    Case("X-2.1", "broker-state-inconsistent", "M3", lambda seen: seen.but(observers=(1,)), "warning"),
    Case("X-2.1", "broker-unknown-to-kraft", "M6", lambda seen: seen.but(registered={1: True})),
    Case("X-2.1", "broker-registered-nowhere", "M8", lambda seen: seen.but(registered={1: False})),
    Case("X-2.1", "broker-fenced", "M8", lambda seen: seen.but(fenced=(1,))),
    Case("X-4", "finalized-with-zookeeper-broker", "M11", lambda seen: seen.but(registered={1: False, 2: True})),
    Case("X-4", "finalized-with-zookeeper-broker", "M11",
         lambda seen: seen.but(modes={1: Mode.KRAFT, 2: Mode.MIGRATING})),
    Case("X-4", "quorum-started-without-flag", "M3", lambda seen: seen.but(state=0)),
    Case("X-4", "flag-after-finalization", "M11", lambda seen: seen.but(ready={3001: True}), "warning"),
    Case("X-7.2", "duplicate-directory-id", "M6", lambda seen: seen.but(meta={
        id: {"version": "0", "broker.id": str(id), "directory.id": "same"} for id in (1, 2)})),
    Case("X-2", "broker-formatted-for-kraft", "M8",
         lambda seen: seen.but(meta={1: {"version": "1", "node.id": "1"}}), "warning"),
    Case("X-2", "broker-formatted-for-kraft", "M0", lambda seen: seen.but(
        meta={1: {"version": "1", "node.id": "1"}}), "warning"),
    Case("X-3", "migration-driver-stuck", "M6",
         lambda seen: seen.znode("/migration", migration(240)).but(migration_age_ms=30_000)),
    Case("X-3", "zookeeper-behind", "M6", lambda seen: seen.znode("/migration", migration(240)), "warning"),
    Case("X-3", "migration-znode-incomplete", "M6", lambda seen: seen.znode("/migration", migration(-1))),
    Case("X-3", "zookeeper-write-lag", "M6", lambda seen: seen.but(metrics={3001: {"ZkWriteBehindLag": 413.0}}),
         "warning"),
    Case("X-3-D4", "client-metrics-in-dual-write", "M6", lambda seen: seen.replayed(("ConfigRecord", {
        "ResourceType": 16, "ResourceName": "sub", "Name": "interval.ms", "Value": "1000"}))),
    Case("X-3-D5", "quota-removal-not-mirrored", "M6", lambda seen: seen.replayed(("ClientQuotaRecord", {
        "Entity": [{"EntityType": "client-id", "EntityName": "slow"}], "Key": "producer_byte_rate", "Value": 0.0,
        "Remove": True}))),
    Case("X-3-D2", "recreated-topic-not-mirrored", "M6", lambda seen: seen.znode(ORDERS, _topic(topic_id=LOGS_ID))),
    Case("X-3-D2", "topic-not-mirrored", "M6", lambda seen: seen.replayed(
        ("TopicRecord", {"Name": "late", "TopicId": _id(7)}), offset=280).znode("/migration", migration(250))
        .but(migration_age_ms=30_000)),
    Case("X-3-D2", "partitions-not-mirrored", "M6", lambda seen: seen.no_znode(STATE_0)),
    Case("X-3-D2", "topic-not-mirrored", "M6", lambda seen: seen.no_znode(
        ORDERS, STATE_0, f"{ORDERS}/partitions/1/state")),
    Case("X-3-D2", "topic-only-in-zookeeper", "M6", lambda seen: seen.but(image=Image())),
    Case("X-3", "zookeeper-and-kraft-differ", "M6", lambda seen: seen.replayed(("UserScramCredentialRecord", {
        "Name": "eve", "Mechanism": 1, "Salt": b"s", "StoredKey": b"k", "ServerKey": b"v", "Iterations": 4096}))),
    Case("X-3", "zookeeper-and-kraft-differ", "M6", lambda seen: seen.replayed(("ConfigRecord", {
        "ResourceType": 2, "ResourceName": "orders", "Name": "segment.ms", "Value": "1"}))),
    Case("C-18", "topic-too-large-for-zookeeper", "M6", lambda seen: seen.replayed(
        ("TopicRecord", {"Name": "wide", "TopicId": _id(7)}),
        *(("PartitionRecord", {"TopicId": _id(7), "PartitionId": at, "Isr": [1, 2], "Leader": 1,
                               "Replicas": [1_000_000_001, 1_000_000_002] * 80}) for at in range(600)))),
    # {alice, bob@x.com}, alice removed: lost by the order of the names. {alice, bob}: not (measured page, 5.1).
    Case("X-5.1", "scram-users-lost-on-restart", "M6", _users(added=("alice", "bob@x.com"), removed="alice")),
    Case("X-5.1", "scram-removed-in-dual-write", "M6", _users(added=("alice", "bob"), removed="alice"), "warning"),
)  # fmt: skip


def _policies(**given: str) -> Callable[[World], World]:
    """Return a case with settings in the files of all brokers; `_` in a name is a dot."""

    def change(world: World) -> World:
        for id in world.modes:
            for name, value in given.items():
                world.file(id, name.replace("_", "."), value)
        return world

    return change


_REPLICAS = "default.replication.factor"
_SHARED = _policies(default_replication_factor="3")
DECIDED = (
    *(
        Case("C-61", "controller-setting-differs", state, _SHARED, "warning")
        for state in ("M3", "M4L", "M5", "M6", "M8", "M11")
    ),
    Case("C-61", "controller-setting-differs", "M2", lambda seen: _SHARED(seen).file(3001, _REPLICAS, "1"), "warning"),
    Case(
        "C-61",
        "brokers-settings-differ",
        "M0",
        lambda seen: seen.file(2, "message.max.bytes", "1").file(1, _REPLICAS, "2"),
        "warning",
    ),
    Case("C-61", "controller-setting-differs", "M11", _policies(create_topic_policy_class_name="a.Policy"), "warning"),
    Case("C-61", "settings-shown-differently", "M3", _policies(message_max_bytes="7"), "info"),
)
CASES = (*IDENTITY, *NODES, *ACCESS, *HEALTH, *DATA, *MEASURED, *DECIDED)


def _servers(*modes: str | None) -> tuple[ServerSeen, ...]:
    return tuple(ServerSeen(address=f"zk{at}:2181", mode=mode, version="3.8.4") for at, mode in enumerate(modes))


def _id(number: int | None = None):
    from kafkactl.core.values import Uuid
    from tests.migration.observations import uuid

    return Uuid.parse(ORDERS_ID) if number is None else uuid(number)
