"""Forecast of a copy before it is made: outcome, sizes and time."""

from __future__ import annotations

import pytest

from kafkactl.core.explanations import explanations
from kafkactl.core.findings import blocker, warning
from kafkactl.core.frozen import changed
from kafkactl.migration.copy.forecast import _BY_FINDING, CopyOutcome, forecast_copy, sizes_of
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.znode import Hidden
from kafkactl.protocol.catalog.releases import KafkaVersion
from tests.migration.zk_trees import small, without, znodes

RULES = copy_rules(KafkaVersion(3, 9))
# `logs` waits for its deletion and has a replica on a broker that is gone.
HEALTHY = without(small(), ["/brokers/topics/logs", "/brokers/topics/logs/partitions/0/state"])


def _forecast(tree=None, **options):
    return forecast_copy(parse_znodes(znodes(HEALTHY)) if tree is None else tree, RULES, **options)


def test_healthy_tree_is_copied_whole():
    found = _forecast()
    assert found.outcome is CopyOutcome.COMPLETES
    assert found.records == sum(found.by_type.values()) == sum(len(batch) for batch in found.contents)
    assert not {"BeginTransactionRecord", "EndTransactionRecord"} & set(found.by_type)
    assert found.by_type["ZkMigrationStateRecord"] == 1 and found.batches == 1
    assert found.sizes == sizes_of(parse_znodes(znodes(HEALTHY)))


def test_every_word_of_the_table_is_a_finding():
    ids = [id_ for many in _BY_FINDING.values() for id_ in many]
    assert len(ids) == len(set(ids))
    assert set(ids) <= set(explanations())


@pytest.mark.parametrize("outcome", [outcome for outcome in CopyOutcome if outcome is not CopyOutcome.COMPLETES])
def test_each_finding_of_the_table_decides(outcome):
    for id_ in _BY_FINDING[outcome]:
        assert _forecast(findings=[blocker(id_, "x", "y")]).outcome is outcome
        assert _forecast(findings=[warning(id_, "x", "y")]).outcome is CopyOutcome.COMPLETES


def test_heaviest_finding_counts():
    findings = [blocker(_BY_FINDING[outcome][0], "x", "y") for outcome in CopyOutcome if outcome in _BY_FINDING]
    assert _forecast(findings=findings).outcome is CopyOutcome.EXITS
    assert _forecast(findings=reversed(findings)).outcome is CopyOutcome.EXITS


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/config/users/alice", CopyOutcome.NOT_KNOWN),
        ("/kafka-acl/Topic/my topic", CopyOutcome.NOT_KNOWN),
        ("/brokers/topics/orders", CopyOutcome.NOT_KNOWN),
        ("/config/brokers/1 ssl.keystore.password", CopyOutcome.COMPLETES),  # a value alone: a record all the same
        ("/controller", CopyOutcome.COMPLETES),  # not copied
    ],
)
def test_hidden_data_makes_the_forecast_inexact(path, outcome):
    tree = changed(parse_znodes(znodes(HEALTHY)), hidden=(path,))
    found = _forecast(tree)
    assert (found.outcome, found.is_exact) == (outcome, False)


def test_copy_of_an_unreadable_znode_is_unknown():
    every = [
        changed(znode, data=None, hidden=Hidden.NO_PERMISSION) if znode.path == "/config/users/alice" else znode
        for znode in znodes(HEALTHY)
    ]
    assert _forecast(parse_znodes(every)).outcome is CopyOutcome.NOT_KNOWN


@pytest.mark.slow
def test_forecast_is_larger_with_more_partitions():
    tree = parse_znodes(znodes(HEALTHY))
    (orders,) = tree.topics.values()
    partition = next(iter(orders.partitions.values()))
    grown = changed(tree, topics={"orders": changed(orders, partitions=dict.fromkeys(range(20_000), partition))})
    few, many = _forecast(tree), _forecast(grown)
    assert few.seconds < many.seconds and few.bytes < many.bytes
    assert many.by_type["PartitionRecord"] == 20_000
