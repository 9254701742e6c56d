"""The whole tree as Kafka writes it, and any bytes in any place of it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import DelegationToken, ScramCredential
from kafkactl.migration.zktree.parse import parse_saved_tree, parse_znodes
from kafkactl.migration.zktree.values import (
    KafkaTree,
    ZkAcl,
    ZkBroker,
    ZkController,
    ZkFeatures,
    ZkMigration,
    ZkPartition,
    ZkPartitionState,
    ZkProducerIds,
    ZkReassignment,
    ZkTopic,
)
from kafkactl.migration.zktree.znode import Hidden, Znode, encode_znodes
from tests.migration.zk_trees import (
    CLUSTER_ID,
    CREDENTIAL,
    LOGS_ID,
    ORDERS_ID,
    config,
    ids,
    parsed,
    small,
    text,
    znodes,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=8,
)


def test_healthy_tree_is_parsed_without_findings():
    assert parsed().findings == ()
    assert parsed().hidden == ()


def test_cluster_is_parsed():
    tree = parsed()
    assert tree.cluster_id == CLUSTER_ID
    assert tree.controller == ZkController(broker_id=1, kraft_epoch=-1, ephemeral=True, version=7)
    assert not tree.controller.is_kraft
    assert tree.controller_epoch == 3
    assert tree.migration is None
    assert tree.features == ZkFeatures(version=2, enabled=True, levels={})
    assert sorted(tree.brokers) == [1, 2]
    assert tree.brokers[2] == ZkBroker(
        id=2,
        epoch=107,
        version=5,
        endpoints=("PLAINTEXT://127.0.0.1:9092", "SASL://127.0.0.1:9192"),
        security_protocols={"PLAINTEXT": "PLAINTEXT", "SASL": "SASL_PLAINTEXT"},
        rack="r2",
        features={},
    )


def test_topics_are_parsed():
    tree = parsed()
    state = ZkPartitionState(
        leader=2, leader_epoch=4, isr=(2,), leader_recovery_state=0, controller_epoch=3, partition_epoch=7
    )
    assert tree.topics["orders"].id == Uuid.parse(ORDERS_ID)
    assert tree.topics["orders"].partitions[1] == ZkPartition(
        replicas=(2, 1), adding_replicas=(), removing_replicas=(), state=state
    )
    moving = tree.topics["logs"].partitions[0]
    assert (moving.replicas, moving.adding_replicas, moving.removing_replicas) == ((2, 1), (2,), (1,))
    assert tree.pending_deletions == ("logs",)
    assert tree.topic_configs == {"orders": {"retention.ms": "1000", "cleanup.policy": "compact"}}


def test_settings_of_brokers_and_clients_are_parsed():
    tree = parsed()
    assert tree.broker_configs[""] == {"log.cleaner.threads": "2"}
    assert list(tree.broker_configs["1"]) == ["listener.name.sasl.ssl.key.password"]
    assert tree.client_quotas == {
        (("user", None),): {"consumer_byte_rate": 2e6},
        (("user", "alice"),): {"producer_byte_rate": 1024.5},
        (("client-id", "app*1"), ("user", "alice")): {"request_percentage": 50.0},
        (("client-id", None), ("user", "alice")): {"request_percentage": 25.0},
        (("client-id", "slow"),): {"producer_byte_rate": 1.0},
        (("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
    }
    keys = ScramCredential(salt=b"\1" * 32, stored_key=b"\2" * 32, server_key=b"\3" * 32, iterations=4096)
    assert tree.scram == {(1, "alice"): keys, (2, "bob@x.com"): keys}


def test_acls_and_tokens_are_parsed():
    tree = parsed()
    assert tree.acls == (
        _acl(4, "kafka-cluster", 3, "User:kafka", "*", 9, 3),
        _acl(2, "orders", 3, "User:alice", "*", 3, 3),
        _acl(2, "orders", 3, "User:eve", "10.0.0.9", 2, 2),
        _acl(3, "app-", 4, "User:alice", "*", 3, 3),
    )
    assert tree.delegation_tokens == {
        "tok1": DelegationToken(
            token_id="tok1",
            owner="User:alice",
            requester="User:bob",
            renewers=("User:carol*",),
            issue_timestamp_ms=1790000000000,
            max_timestamp_ms=1790604800000,
            expiration_timestamp_ms=1790086400000,
        )
    }


def _acl(*values: object) -> ZkAcl:
    names = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    return ZkAcl(**dict(zip(names, values, strict=True)))


def test_work_in_progress_is_parsed():
    partitions = [{"topic": "orders", "partition": 1, "replicas": [1, 2]}]
    tree = parsed(
        {
            "/admin/reassign_partitions": text({"version": 1, "partitions": partitions}),
            "/admin/preferred_replica_election": text({"version": 1, "partitions": partitions}),
            "/isr_change_notification/isr_change_0000000007": text({"version": 1, "partitions": []}),
        }
    )
    assert tree.producer_ids == ZkProducerIds(broker_id=2, start=4000, end=4999)
    assert tree.reassignments == (ZkReassignment(topic="orders", partition=1, replicas=(1, 2)),)
    assert tree.preferred_elections == (("orders", 1),)
    assert tree.notifications["/config/changes"] == 1
    assert tree.notifications["/isr_change_notification"] == 1
    assert tree.findings == ()


def test_migration_znode_and_controller_are_parsed():
    fields = {"kraft_controller_id": 3001, "kraft_controller_epoch": 1, "kraft_metadata_epoch": 1}
    written = text({"version": 0, "kraft_metadata_offset": 1 << 40, **fields})
    holder = text({"version": 2, "brokerid": 3001, "timestamp": "1", "kraftControllerEpoch": 1})
    tree = parsed({"/migration": written, "/controller": holder})
    assert tree.migration == ZkMigration(
        controller_id=3001,
        controller_epoch=1,
        metadata_offset=1 << 40,
        metadata_epoch=1,
        version=7,
        mtime_ms=1790000000000,
    )
    assert tree.controller.is_kraft


def test_old_layouts_are_parsed():
    tree = parsed(
        {
            "/controller": text({"version": 1, "brokerid": 2, "timestamp": "1"}),
            "/brokers/ids/1": text({"version": 1, "host": "h", "port": 9092, "jmx_port": -1, "timestamp": "1"}),
            "/brokers/topics/logs": text({"version": 1, "partitions": {"0": [1]}}),
            "/feature": text(
                {"version": 1, "status": 1, "features": {"f": {"min_version_level": 1, "max_version_level": 3}}}
            ),
            "/delegation_token/tokens/tok1": text(
                {
                    "version": 1,
                    "owner": "User%3Aa",
                    "renewers": [],
                    "issueTimestamp": 1,
                    "maxTimestamp": 2,
                    "expiryTimestamp": 3,
                    "tokenId": "tok1",
                }
            ),
        }
    )
    assert tree.controller.kraft_epoch is None
    assert tree.brokers[1].endpoints == ("PLAINTEXT://h:9092",)
    assert tree.features.levels == {"f": 3}
    assert tree.delegation_tokens["tok1"].requester == "User:a"
    assert tree.topics["logs"] == ZkTopic(
        name="logs",
        id=None,
        partitions={
            0: ZkPartition(
                replicas=(1,),
                adding_replicas=(),
                removing_replicas=(),
                state=parsed().topics["logs"].partitions[0].state,
            )
        },
    )
    assert ids(tree) == ["topic-without-id"]


def test_saved_tree_under_a_chroot_is_the_same():
    tree, findings = parse_saved_tree(encode_znodes(znodes(small(), "/kafka")), file="zk.jsonl.gz")
    assert tree == parsed()
    assert findings == ()
    assert str(tree.topics["logs"].id) == LOGS_ID


def test_hidden_znodes_are_unknown():
    hidden = [
        Znode(path=znode.path, data=None, hidden=Hidden.NO_PERMISSION)
        if znode.path.startswith("/config/users/")
        else znode
        for znode in znodes(small())
    ]
    tree = parse_znodes(hidden)
    assert tree.scram == {}
    assert "/config/users/alice" in tree.hidden
    assert ids(tree) == ["znodes-hidden"]


def test_values_that_were_taken_out_are_unknown():
    tree = parsed(
        {
            "/config/users/alice": config(**{"SCRAM-SHA-256": "<redacted>", "producer_byte_rate": "1"}),
            "/config/brokers/1": config(**{"ssl.key.password": "<redacted>"}),
        }
    )
    assert set(tree.hidden) == {"/config/users/alice SCRAM-SHA-256", "/config/brokers/1 ssl.key.password"}
    assert (("user", "alice"),) in tree.client_quotas
    assert ids(tree) == ["znodes-hidden"]


def test_no_secret_is_shown():
    secret = base64.b64encode(b"\2" * 32).decode()
    assert secret in CREDENTIAL
    tree = parsed(
        {"/config/users/alice": config(**{"SCRAM-SHA-256": CREDENTIAL + "!", "producer_byte_rate": CREDENTIAL})}
    )
    shown = repr(tree) + repr([finding.to_dict() for finding in tree.findings])
    assert secret not in shown
    assert repr(b"\2" * 32) not in shown
    assert ids(tree, "/config/users/alice") == ["broken-scram-credential", "quota-not-a-number"]


@given(st.sampled_from(sorted(small())), st.none() | st.binary(max_size=20) | JSON.map(text))
def test_any_bytes_in_any_place_are_parsed_without_an_exception(path, data):
    tree = parsed({path: data})
    assert isinstance(tree, KafkaTree)
    assert all(finding.id and finding.message for finding in tree.findings)


@given(st.sampled_from(sorted(small())), st.data())
def test_every_prefix_of_a_znode_is_read_or_reported(path, data):
    content = small()[path]
    if not content:
        return
    cut = content[: data.draw(st.integers(1, len(content) - 1))] if len(content) > 1 else b"{"
    found_ids = [*ids(parsed({path: cut}), path)]
    notification = path.startswith("/config/changes")
    assert notification or found_ids or not cut.strip(), cut


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.lists(st.text("ab%+<>0", min_size=1, max_size=3), min_size=1, max_size=4), st.binary(max_size=5))
    )
)
def test_any_names_below_any_root_are_parsed_without_an_exception(found):
    roots = (
        "/config/users",
        "/config/brokers",
        "/brokers/topics",
        "/brokers/ids",
        "/kafka-acl",
        "/delegation_token/tokens",
    )
    extra = {f"{roots[at % len(roots)]}/{'/'.join(parts)}": data for at, (parts, data) in enumerate(found)}
    parsed(extra)
