"""Predicted copies of trees against those of real clusters: byte for byte, and batch by batch.

The files are of real migrations (`tests/campaigns/goldens/migrations.py`). Only ids of ACLs are drawn, and the order is
that of hash sets.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kafkactl.migration.zktree.password_encoder import PasswordDecodeError, decode_password
from tests.migration.copy.proof import assert_same_batches, assert_same_records, read_copy, read_tree, rules_of

GOLDENS = Path(__file__).parents[2] / "golden" / "migrations"
RELEASES = sorted(path.name for path in GOLDENS.iterdir() if path.is_dir())


@cache
def _tree(release: str):
    return read_tree(GOLDENS / release)


@pytest.fixture(params=RELEASES)
def release(request):
    return request.param


@pytest.fixture
def real(release, tmp_path):
    return read_copy(GOLDENS / release, tmp_path)


def test_records_are_those_of_the_real_copy(release, real):
    assert_same_records(_tree(release), release, real)


def test_in_the_order_of_the_real_copy_the_batches_are_the_same(release, real):
    assert_same_batches(_tree(release), release, real)


def test_kinds_come_in_the_predicted_order(release, real):
    kinds = [record.type for batch in real[:-1] for record in batch if record.type != "BeginTransactionRecord"]
    firsts = [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
    assert [first for first in firsts if first != "ClientQuotaRecord"] == [
        "TopicRecord",
        *sorted({"ConfigRecord", "PartitionRecord"}, key=firsts.index),
        "UserScramCredentialRecord",
        "ProducerIdsRecord",
        "AccessControlEntryRecord",
        *(["DelegationTokenRecord"] if rules_of(release).tokens else []),
    ]
    assert firsts.index("ClientQuotaRecord") < firsts.index("ProducerIdsRecord")


def test_every_kind_of_entity_is_in_the_goldens(release):
    tree = _tree(release)
    assert len(tree.client_quotas) == 11
    assert {acl.pattern_type for acl in tree.acls} == {3, 4}
    assert {acl.resource_type for acl in tree.acls} == {2, 3, 4, 5, 6, 7}
    assert len(tree.scram) == 4 and tree.delegation_tokens and tree.producer_ids
    assert {"", "1", "2"} == set(tree.broker_configs)
    (moving,) = tree.topics["moving"].partitions.values()
    assert (moving.adding_replicas, moving.removing_replicas) == ((2,), (1,))
    assert not tree.findings


def test_another_secret_does_not_open_the_passwords(release):
    value = _tree(release).broker_configs["1"]["listener.name.later.ssl.keystore.password"]
    with pytest.raises(PasswordDecodeError) as caught:
        decode_password(value, "another")
    assert value not in str(caught.value)
