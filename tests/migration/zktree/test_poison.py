"""Poison: znodes that stop the copy, and those that are lost without a word. One row a kind."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Severity
from kafkactl.migration.zktree.json import BrokenError, NotJsonError, parse_json
from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.settings import desanitize, parse_credential
from tests.migration.zk_trees import CREDENTIAL, ORDERS_ID, acls, config, ids, parsed, small, text, without, znodes

ORDERS = "/brokers/topics/orders"
STATE = f"{ORDERS}/partitions/0/state"
TOKEN = "/delegation_token/tokens/tok1"
BLOCK = "/latest_producer_id_block"

LETHAL = [
    ("/cluster/id", text({"version": "1"}), "broken-cluster-id-znode"),
    ("/controller", text({"brokerid": "1"}), "broken-controller-znode"),
    ("/controller", b"", "broken-controller-znode"),
    ("/controller_epoch", b"3 ", "broken-controller-epoch-znode"),
    ("/controller_epoch", None, "broken-controller-epoch-znode"),
    ("/migration", text({"version": 1}), "broken-migration-znode"),
    ("/migration", b"", "empty-migration-znode"),
    ("/migration", None, "empty-migration-znode"),
    ("/brokers/ids/three", b"{}", "broken-broker-znode"),
    ("/brokers/ids/1", text({"version": 5, "jmx_port": -1}), "broken-broker-znode"),
    ("/feature", text({"version": 2, "features": {}}), "broken-feature-znode"),
    ("/feature", text({"version": 3, "features": {}, "status": 1}), "broken-feature-znode"),
    (ORDERS, b"", "broken-topic-znode"),
    (ORDERS, text({"partitions": {"zero": [1]}}), "broken-topic-znode"),
    (ORDERS, text({"partitions": {"0": ["1"]}}), "broken-topic-znode"),
    (ORDERS, text({"partitions": {}, "topic_id": "short"}), "broken-topic-znode"),
    (STATE, text({"leader": 1}), "broken-partition-state-znode"),
    (STATE, b"", "broken-partition-state-znode"),
    ("/config/topics/orders", text({"config": {"retention.ms": 1000}}), "broken-config-znode"),
    ("/config/brokers/one", config(), "broken-config-znode"),
    ("/config/users/100%", config(), "broken-config-znode"),
    ("/config/users/alice", config(producer_byte_rate="abc"), "quota-not-a-number"),
    ("/config/users/alice/clients/app%2A1", config(request_percentage=""), "quota-not-a-number"),
    ("/config/users/alice/clients/app%2A1", config(**{"SCRAM-SHA-256": CREDENTIAL}), "quota-not-a-number"),
    ("/config/users/alice", config(**{"SCRAM-SHA-256": "salt=xx"}), "broken-scram-credential"),
    ("/kafka-acl/Topic/orders", text({"version": 2, "acls": []}), "broken-acl-znode"),
    ("/kafka-acl/Topic/orders", acls(("alice", "Allow", "Read", "*")), "broken-acl-znode"),
    ("/kafka-acl/Topic/orders", acls(("User:a", "Any", "Read", "*")), "broken-acl-znode"),
    (TOKEN, text({"version": 4}), "broken-delegation-token-znode"),
    (TOKEN, b" ", "broken-delegation-token-znode"),
    (
        BLOCK,
        text({"version": 1, "broker": 2, "block_start": "abc", "block_end": "1"}),
        "broken-producer-id-block-znode",
    ),
    (BLOCK, text({"version": 1, "broker": 2, "block_start": 1, "block_end": 2}), "broken-producer-id-block-znode"),
    (BLOCK, text({"broker": 2, "block_start": "0", "block_end": "9999999999"}), "broken-producer-id-block-znode"),
    (BLOCK, b"", "broken-producer-id-block-znode"),
    ("/admin/reassign_partitions", b"{}", "broken-admin-znode"),
    ("/admin/preferred_replica_election", b"no", "broken-admin-znode"),
]
SILENT = [
    (ORDERS, b'{"partitions":', "unreadable-topic-znode"),
    (STATE, b'{"leader":1', "partition-state-ignored"),
    ("/config/topics/orders", b'{"version":1,"config":{"ret', "config-znode-ignored"),
    ("/config/topics/orders", b"[]", "config-znode-ignored"),
    ("/config/topics/orders", text({"version": 1}), "config-znode-ignored"),
    ("/config/users/alice", b"x", "config-znode-ignored"),
    ("/kafka-acl/Topic/orders", b"x", "acl-znode-ignored"),
    ("/kafka-acl-extended/prefixed/Group/app-", b"x", "acl-znode-ignored"),
    ("/kafka-acl/Topics/orders", acls(), "acl-of-unknown-resource-type"),
    ("/kafka-acl/TOPIC/orders", acls(), "acl-of-unknown-resource-type"),
    ("/kafka-acl/Topic/orders", acls(("User:a", "Allow", "Fly", "*")), "acl-with-unknown-word"),
    (TOKEN, b"x", "delegation-token-ignored"),
]


@pytest.mark.parametrize(("path", "data", "id"), [*LETHAL, *SILENT])
def test_poison_is_a_blocker(path, data, id):
    tree = parsed({path: data})
    (finding,) = [finding for finding in tree.findings if finding.subject in (path, path.rpartition("/")[0])]
    assert finding.id == id
    assert finding.severity is Severity.BLOCKER


HARMLESS = [
    ("/config/topics/orders", b""),
    ("/config/topics/orders", None),
    ("/config/users/alice", config(producer_byte_rate=" 1e3d ")),
    ("/kafka-acl/Topic/orders", b""),
    ("/kafka-acl/Topic/orders", acls(("User:", "ALLOW", "DESCRIBECONFIGS", ""))),
    (TOKEN, b""),
    (BLOCK, None),
    (STATE, small()[STATE] + b" trailing text"),
    (STATE, b"\xef\xbb\xbf" + small()[STATE]),
    (STATE, small()[STATE].decode().encode("utf-16-be")),
    ("/kafka-acl/Nothing", None),
]


@pytest.mark.parametrize(("path", "data"), HARMLESS)
def test_znode_that_kafka_reads_has_no_finding(path, data):
    assert parsed({path: data}).findings == ()


SMALLER = [
    ("/config/topics/ghost", config(), "orphan-topic-config", Severity.INFO),
    ("/config/brokers/9", config(), "config-of-absent-broker", Severity.WARNING),
    ("/config/users/alice/other", config(), "unexpected-config-znode", Severity.WARNING),
    ("/kafka-acl-extended/PREFIXED", None, "acl-of-unknown-pattern-type", Severity.WARNING),
    ("/isr_change_notification/other", b"", "unexpected-notification-znode", Severity.INFO),
    ("/config/users/bob@x.com", config(), "duplicate-client-entity", Severity.BLOCKER),
]


@pytest.mark.parametrize(("path", "data", "id", "severity"), SMALLER)
def test_harmless_oddity_of_a_znode_is_reported(path, data, id, severity):
    (finding,) = parsed({path: data}).findings
    assert (finding.id, finding.subject, finding.severity) == (id, path, severity)


def test_invalid_ids_of_topics_are_reported():
    twin = text({"version": 3, "partitions": {}, "topic_id": ORDERS_ID})
    none = text({"version": 3, "partitions": {}, "topic_id": "A" * 22})
    assert ids(parsed({"/brokers/topics/twin": twin})) == ["duplicate-topic-id"]
    assert ids(parsed({"/brokers/topics/none": none})) == ["duplicate-topic-id"]


def test_partition_without_a_state_is_reported():
    tree = parse_znodes(znodes(without(small(), [STATE])))
    assert ids(tree) == ["partition-without-state"]
    assert tree.topics["orders"].partitions[0].state is None


def test_broken_znode_does_not_affect_others():
    tree = parsed({path: data for path, data, _ in LETHAL})
    assert tree.client_quotas[("client-id", "slow"),] == {"producer_byte_rate": 1.0}
    assert "logs" in tree.topics


@pytest.mark.parametrize(
    ("name", "entity"),
    [("a%40b", "a@b"), ("a+b", "a b"), ("a%20b", "a b"), ("%C3%A4", "ä"), ("%C3", "\ufffd"), ("ä", "ä"), ("%", None),
     ("%4", None), ("%zz", None), ("", "")],
)  # fmt: skip
def test_names_are_desanitized(name, entity):
    assert desanitize(name) == entity


@pytest.mark.parametrize(
    "text",
    ["", "salt", "=x", CREDENTIAL + ",more=1", CREDENTIAL.replace("4096", "many"), CREDENTIAL.replace("AQ", "*"),
     CREDENTIAL.replace("salt", "Salt"), CREDENTIAL.replace(",", ",,", 1)],
)  # fmt: skip
def test_invalid_credentials_are_refused(text):
    assert parse_credential(text) is None


def test_comma_behind_a_credential_is_nothing():
    assert parse_credential(CREDENTIAL + ",") == parse_credential(CREDENTIAL)


@pytest.mark.parametrize("data", [b"{", b"nul", b"NaN", b"[Infinity]", b"\xff", b'"\x01"', b"[" * 2000 + b"]" * 2000])
def test_invalid_json_is_refused(data):
    with pytest.raises(NotJsonError):
        parse_json(data)


def test_null_data_is_broken_and_not_silent():
    with pytest.raises(BrokenError) as error:
        parse_json(None)
    assert not isinstance(error.value, NotJsonError)
