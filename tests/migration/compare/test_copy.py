"""The prediction of the copy against its records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.frozen import changed
from kafkactl.core.values import Uuid
from kafkactl.migration.compare.copy import copy_compared, copy_findings
from kafkactl.migration.copy.records import copy_batches
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.password_encoder import first_opening
from kafkactl.migration.zktree.redact import redact_znodes
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import json_name
from tests.migration.compare.trees import tree_from, trees
from tests.migration.zk_trees import config, small
from tests.migration.zktree.test_password_encoder import encrypted

RULES = copy_rules(KafkaVersion(3, 9, 2))
KEY = "listener.name.sasl.ssl.key.password"


def _written(tree, decode=str):
    batches = copy_batches(tree, RULES, acl_id=lambda n: Uuid((n + 5).to_bytes(16, "big")), decode_password=decode)
    return [
        decode_record(encode_record(message(record.type), record.version, record.data))
        for batch in batches
        for record in batch
    ]


def _small(**more):
    return parse_tree(tree_from({**small(), "/config/brokers/1": config(**{KEY: encrypted("pw", "right")}), **more}))


@pytest.mark.slow
@given(trees())
def test_prediction_of_any_tree_is_what_its_copy_writes(data):
    tree = parse_tree(tree_from(data))
    assert copy_compared(tree, _written(tree), RULES)[0] == ()


@pytest.mark.slow
@given(trees(), st.data())
def test_one_record_that_is_missing_is_one_difference(data, choice):
    tree = parse_tree(tree_from(data))
    records = _written(tree)[1:-1]
    at = choice.draw(st.integers(0, len(records) - 1))
    (found,) = copy_compared(tree, records[:at] + records[at + 1 :], RULES)[0]
    assert (found.entity, found.kraft, found.explained) == (records[at].type, None, None)
    assert [finding.id for finding in copy_findings([found])] == ["migration-copy-not-as-predicted"]


def test_partition_has_the_name_of_its_topic():
    tree = _small()
    stay = {name: topic for name, topic in tree.topics.items() if name not in tree.pending_deletions}
    names = {f"{name}-{number}" for name, topic in stay.items() for number in topic.partitions}
    lacking = [record for record in _written(tree) if record.type != "PartitionRecord"]
    found = copy_compared(tree, lacking, RULES)[0]
    assert {difference.key for difference in found if difference.entity == "PartitionRecord"} == names


def test_passwords_are_opened_where_they_can_be():
    tree = _small()
    records = _written(tree, lambda value: first_opening(value, ["right"]))
    assert copy_compared(tree, records, RULES, secrets=("right",))[0] == ()
    assert copy_compared(tree, records, RULES)[0] == ()  # unknown
    taken = _written(tree)  # the cipher text, as controllers without the secret write it
    (found,) = copy_compared(tree, taken, RULES, secrets=("right",))[0]
    assert (found.entity, found.zookeeper, found.kraft) == (
        "ConfigRecord",
        {"value": "<redacted>"},
        {"value": "<redacted>"},
    )


@pytest.mark.parametrize(("field", "value", "explained"), [("LeaderEpoch", 9, True), ("Replicas", [2, 3], False)])
def test_leaders_move_between_the_saved_tree_and_the_copy(field, value, explained):
    tree = _small()
    records = _written(tree, lambda value: first_opening(value, ["right"]))
    at = next(at for at, record in enumerate(records) if record.type == "PartitionRecord")
    records[at] = changed(records[at], data={**records[at].data, field: value})
    (found,) = copy_compared(tree, records, RULES, secrets=("right",))[0]
    assert (found.explained is not None) is explained
    assert (found.kraft == {json_name(field): value}) is True


def test_value_hidden_in_the_saved_tree_is_unknown():
    # A tree that was saved without secrets predicts no credential, no token and no password.
    tree = _small()
    records = _written(tree, lambda value: first_opening(value, ["right"]))
    whole = tree_from({**small(), "/config/brokers/1": config(**{KEY: encrypted("pw", "right")})})
    hidden = parse_tree(tree_of(tuple(redact_znodes(whole.znodes.values()))))
    found, unknown = copy_compared(hidden, records, RULES, secrets=("right",))
    assert found == ()
    assert {"UserScramCredentialRecord", "ConfigRecord"} <= {value.entity for value in unknown}
