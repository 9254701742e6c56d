"""Records of a tree's copy: replayed, they are the tree; and the differences between releases."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import LogRecord
from kafkactl.metadata.replay.reference import replay
from kafkactl.migration.copy.records import copy_batches, joined, sanitize
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.settings import desanitize
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.schema.definitions import message
from tests.migration.zk_trees import CREDENTIAL, LOGS_ID, ORDERS_ID, config, parsed, small, text, without, znodes


def _acl_id(number: int) -> Uuid:
    return Uuid((number + 1000).to_bytes(16, "big"))


def _batches(tree=None, version="3.9.2", **options):
    rules = copy_rules(KafkaVersion(*(int(part) for part in version.split("."))))
    return list(copy_batches(parsed() if tree is None else tree, rules, acl_id=_acl_id, **options))


def _records(*args, **options):
    return [record for batch in _batches(*args, **options) for record in batch]


def _of(type_, records):
    return [record.data for record in records if record.type == type_]


def test_small_tree_is_copied():
    types = [[record.type for record in batch] for batch in _batches()]
    assert types[0] == ["BeginTransactionRecord"]
    assert types[2:] == [["ZkMigrationStateRecord", "EndTransactionRecord"]]
    assert types[1] == [
        "TopicRecord",
        *["ConfigRecord"] * 2,
        *["PartitionRecord"] * 2,
        *["ConfigRecord"] * 2,
        *("ClientQuotaRecord", "UserScramCredentialRecord", "ClientQuotaRecord"),  # the default user, alice
        "UserScramCredentialRecord",  # bob
        *["ClientQuotaRecord"] * 4,
        "ProducerIdsRecord",
        *["AccessControlEntryRecord"] * 4,
        "DelegationTokenRecord",
    ]


def test_without_transactions_only_the_state_is_added():
    batches = _batches(transactions=False)
    assert [record.type for record in batches[-1]] == ["ZkMigrationStateRecord"]
    assert batches[0][0].type == "TopicRecord"


def test_replayed_it_is_the_tree():
    # Through real bytes: what is lost or bent on the way would show here.
    tree = parsed()
    log = []
    for offset, record in enumerate(_records()):
        data = encode_record(message(record.type), record.version, record.data)
        log.append(LogRecord(offset, 1, 0, decode_record(data)))
    image = replay(log).image
    orders = image.topics[Uuid.parse(ORDERS_ID)]
    assert image.zk_migration_state == 1
    assert image.transaction is None
    assert list(image.topic_ids) == ["orders"]
    assert orders.partitions[1].isr == (2,)
    assert (orders.partitions[1].leader, orders.partitions[1].leader_epoch) == (2, 4)
    assert orders.partitions[1].partition_epoch == 7
    assert image.configs[2, "orders"] == tree.topic_configs["orders"]
    assert {name: image.configs[4, name] for name in ("", "1")} == tree.broker_configs
    assert image.client_quotas == tree.client_quotas
    assert image.scram == tree.scram
    assert image.delegation_tokens == tree.delegation_tokens
    assert image.next_producer_id == 5000
    assert sorted(acl.principal for acl in image.acls.values()) == sorted(acl.principal for acl in tree.acls)


def test_moving_partition_keeps_its_move():
    tree = parse_znodes(znodes(without(small(), ["/admin/delete_topics/logs"])))
    (moving,) = [record for record in _of("PartitionRecord", _records(tree)) if str(record["TopicId"]) == LOGS_ID]
    assert (moving["Replicas"], moving["AddingReplicas"], moving["RemovingReplicas"]) == ([2, 1], [2], [1])


def test_partition_without_a_state_starts_again():
    tree = parse_znodes(znodes(without(small(), ["/brokers/topics/orders/partitions/0/state"])))
    first = _of("PartitionRecord", _records(tree))[0]
    assert (first["Isr"], first["Leader"], first["LeaderEpoch"], first["PartitionEpoch"]) == ([1, 2], 1, 0, 0)


def test_passwords_go_through_the_encoder_and_nothing_else_does():
    found = _of("ConfigRecord", _records(decode_password=lambda value: f"<{value}>"))
    changed = [record["Name"] for record in found if record["Value"].startswith("<")]
    assert changed == ["listener.name.sasl.ssl.key.password"]


def test_small_batches_are_joined_and_large_ones_kept():
    assert list(joined([(1,), (2, 3), (4,) * 9, (), (5,)], 3)) == [(1, 2, 3), (4,) * 9, (5,)]
    assert list(joined([(1,), (), (2,)], 0)) == [(1,), (2,)]


def test_many_acls_of_a_resource_are_divided():
    entries = [{"principal": f"User:{number}", "permissionType": "Allow", "operation": "Read", "host": "*"}
               for number in range(250)]  # fmt: skip
    tree = parsed({"/kafka-acl/Topic/orders": text({"version": 1, "acls": entries})})
    sizes = [len(batch) for batch in _batches(tree, "3.5.2") if batch[0].type == "AccessControlEntryRecord"]
    assert sorted(sizes) == [1, 1, 50, 100, 100]


@pytest.mark.parametrize(
    ("version", "next_id"), [("3.5.1", 4000), ("3.5.2", 5000), ("3.6.0", 4000), ("3.6.1", 5000), ("3.7.0", 5000)]
)
def test_next_producer_id_is_copied(version, next_id):
    (record,) = _of("ProducerIdsRecord", _records(version=version))
    assert record["NextProducerId"] == next_id


@pytest.mark.parametrize(("version", "tokens"), [("3.5.2", 0), ("3.6.0", 1)])
def test_tokens_are_copied_by_releases_that_support_them(version, tokens):
    assert len(_of("DelegationTokenRecord", _records(version=version))) == tokens


@pytest.mark.parametrize(("version", "brokers"), [("3.5.1", {"1"}), ("3.5.2", {"", "1"})])
def test_default_of_all_brokers_is_copied(version, brokers):
    found = [record for record in _of("ConfigRecord", _records(version=version)) if record["ResourceType"] == 4]
    assert {record["ResourceName"] for record in found} == brokers


@pytest.mark.parametrize(("version", "topics"), [("3.6.0", ["logs", "orders"]), ("3.6.1", ["orders"])])
def test_topics_that_wait_for_their_deletion_are_copied_by_some_releases(version, topics):
    assert [record["Name"] for record in _of("TopicRecord", _records(version=version))] == topics


@pytest.mark.parametrize(("version", "plain"), [("3.6.1", False), ("3.6.2", True), ("3.7.0", False), ("3.7.1", True)])
def test_names_of_clients_are_copied(version, plain):
    records = _records(version=version)
    users = [record["Name"] for record in _of("UserScramCredentialRecord", records)]
    assert users == ["alice", "bob@x.com" if plain else "bob%40x.com"]
    names = {part["EntityName"] for record in _of("ClientQuotaRecord", records) for part in record["Entity"]}
    assert ("app*1" in names, "app%2A1" in names) == (plain, not plain)
    assert (None in names, "" in names) == (plain, not plain)


def test_changes_are_joined_into_batches_since_3_6_2():
    assert len(_batches(version="3.6.1")) > 10
    assert len(_batches(version="3.6.2")) == 3


@pytest.mark.parametrize("version", ["3.4.1", "4.0.0", "2.8.0"])
def test_release_that_is_not_known(version):
    with pytest.raises(InputError) as error:
        _batches(version=version)
    assert error.value.id == "migration-release-unknown"


def test_release_without_a_patch_is_its_newest():
    assert copy_rules(KafkaVersion(3, 7)) == copy_rules(KafkaVersion(3, 7, 2))


@pytest.mark.parametrize("name", ["a@b", "a b+*c", "äö", "~x", "plain-1.2_3"])
def test_names_come_back(name):
    assert desanitize(sanitize(name)) == name


def test_secret_is_absent_from_a_repr():
    tree = parsed({"/config/users/alice": config(**{"SCRAM-SHA-256": CREDENTIAL})})
    assert repr(b"\2" * 32) not in repr(_records(tree))
