"""Unread data in a comparison: unknown, never different; and no znode, however damaged, stops a comparison."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.metadata.image.model import Partitions
from kafkactl.migration.compare.case import is_withheld
from kafkactl.migration.compare.comparison import CompareFacts, compared
from kafkactl.migration.compare.phase import Phase, PhaseFacts, phase_of
from kafkactl.migration.zktree.redact import redact_znodes
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import Hidden
from tests.migration.compare.trees import copied, tree_from
from tests.migration.zk_trees import small, znodes

DUAL = CompareFacts(phase=PhaseFacts(state=1, kraft_holds=True, migration_offset=500))
IMAGE = copied(tree_from(small()))
PATHS = sorted(small())


def _unexplained(znodes_):
    return [(difference.entity, difference.key) for difference in compared(tree_of(znodes_), IMAGE, DUAL).unexplained]


@given(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(list(Hidden)), max_size=8))
def test_hidden_data_is_not_a_difference(hidden):
    shown = [
        replace(znode, data=None, hidden=hidden[znode.path]) if znode.path in hidden else znode
        for znode in znodes(small())
    ]
    assert _unexplained(shown) == []


@pytest.mark.parametrize("path", PATHS)
def test_unreadable_path_hides_the_paths_below(path):
    # Without the right to read a znode its children are not known either.
    kept = [znode for znode in znodes(small()) if not znode.path.startswith(f"{path}/")]
    closed = [replace(znode, data=None, hidden=Hidden.NO_PERMISSION) if znode.path == path else znode for znode in kept]
    assert _unexplained(closed) == []


@pytest.mark.parametrize(
    "root",
    [
        "/brokers/ids", "/brokers/topics", "/config/topics", "/config/brokers", "/config/users", "/config/clients",
        "/latest_producer_id_block", "/cluster/id", "/kafka-acl", "/kafka-acl-extended", "/delegation_token",
    ],
)  # fmt: skip
def test_part_that_was_not_saved_is_unknown(root):
    kept = [znode for znode in znodes(small()) if not (znode.path == root or znode.path.startswith(f"{root}/"))]
    answer = compared(tree_of(kept), IMAGE, DUAL)
    assert [difference.key for difference in answer.unexplained if (difference.znode or "").startswith(root)] == []
    assert any(root in unknown.reason for unknown in answer.unknown)


def test_redacted_tree_is_as_equal_as_the_whole_one():
    assert _unexplained(redact_znodes(znodes(small()))) == []


def test_redacted_log_is_as_equal_as_the_whole_one():
    scram = {key: replace(credential, salt=b"<redacted>", stored_key=b"<redacted>", server_key=b"<redacted>")
             for key, credential in IMAGE.scram.items()}  # fmt: skip
    configs = {key: dict.fromkeys(held, "<redacted>") for key, held in IMAGE.configs.items()}
    answer = compared(tree_from(small()), replace(IMAGE, scram=scram, configs=configs), DUAL)
    assert answer.unexplained == ()
    assert {unknown.entity for unknown in answer.unknown} == {"scram-credential", "topic-config", "broker-config"}


def test_hidden_entity_of_one_side_only_is_a_difference():
    image = replace(IMAGE, scram={}, configs={key: held for key, held in IMAGE.configs.items() if key != (4, "1")})
    found = [
        (difference.entity, difference.key)
        for difference in compared(tree_of(redact_znodes(znodes(small()))), image, DUAL).unexplained
    ]
    assert found == [
        ("broker-config", "1"),
        ("scram-credential", "alice SCRAM-SHA-256"),
        ("scram-credential", "bob@x.com SCRAM-SHA-512"),
    ]


@given(st.dictionaries(st.sampled_from(PATHS), st.one_of(st.none(), st.binary(max_size=12), st.sampled_from(
    [b"{}", b"[]", b"null", b"1", b'{"version":1}', b'{"version":1,"config":{"a":1}}', b'{"version":1,"acls":[{}]}']
)), max_size=6))  # fmt: skip
def test_no_damaged_znode_stops_a_comparison(spoilt):
    answer = compared(tree_from({**small(), **spoilt}), IMAGE, DUAL)
    json.dumps([difference.to_dict() for difference in answer.differences])
    assert answer.counts is not None


def test_replicas_are_known_where_the_state_is_hidden():
    path = "/brokers/topics/orders/partitions/0/state"
    hidden = [
        replace(znode, data=None, hidden=Hidden.REDACTED) if znode.path == path else znode for znode in znodes(small())
    ]
    (id,) = IMAGE.topics
    topic = IMAGE.topics[id]
    states = dict(topic.partitions.states)
    states[0] = ((2, 1), *states[0][1:])
    image = replace(IMAGE, topics={id: replace(topic, partitions=Partitions(states))})
    (found,) = compared(tree_of(hidden), image, DUAL).unexplained
    assert (found.key, found.zookeeper, found.kraft) == ("orders-0", {"replicas": [1, 2]}, {"replicas": [2, 1]})


def test_words_for_what_is_withheld():
    assert is_withheld("<redacted>")
    assert is_withheld(b"<no-permission>")
    assert not is_withheld("redacted")
    assert not is_withheld(b"\xff")


EMPTY = copied(tree_from({path: None for path in small() if path.count("/") <= 2}))


@pytest.mark.parametrize(
    ("facts", "phase", "explained"),
    [
        (PhaseFacts(state=2, kraft_holds=False, migration_offset=-1), Phase.BEFORE_COPY, True),
        (PhaseFacts(state=2, kraft_holds=True, migration_offset=-1), Phase.BEFORE_COPY, True),
        (PhaseFacts(state=2, kraft_holds=True, migration_offset=133), Phase.STALE_MIRROR, False),
        (PhaseFacts(state=2, kraft_holds=False, migration_offset=133), Phase.BEFORE_COPY, True),
        (PhaseFacts(state=1, kraft_holds=True, migration_offset=133), Phase.DUAL_WRITE, False),
        (PhaseFacts(state=1, kraft_holds=False, migration_offset=133), Phase.DUAL_WRITE, False),  # split brain
        (PhaseFacts(state=1, kraft_holds=False, controllers_gone=True), Phase.ROLLED_BACK, True),
        (PhaseFacts(state=1, kraft_holds=True, controllers_gone=True), Phase.DUAL_WRITE, False),
        (PhaseFacts(state=3), Phase.FINALIZED, True),
        (PhaseFacts(state=0), Phase.UNKNOWN, False),
        (PhaseFacts(state=0, kraft_holds=True), Phase.UNKNOWN, False),
        (PhaseFacts(state=0, kraft_holds=False), Phase.BEFORE_COPY, True),  # burnt
        (PhaseFacts(kraft_holds=False, migration_offset=-1), Phase.BEFORE_COPY, True),  # 3.4
        (PhaseFacts(kraft_holds=False, migration_offset=133), Phase.UNKNOWN, False),
        (PhaseFacts(), Phase.UNKNOWN, False),
    ],
)
def test_differences_are_explained_by_the_phase(facts, phase, explained):
    assert phase_of(facts) is phase
    image = replace(EMPTY, brokers=IMAGE.brokers)
    answer = compared(tree_from(small()), image, CompareFacts(phase=facts))
    topics = [
        difference for difference in answer.differences if difference.entity == "topic" and difference.key == "orders"
    ]
    assert [difference.explained is not None for difference in topics] == [explained]
    ids = {Phase.BEFORE_COPY: "comparison-before-copy", Phase.STALE_MIRROR: "mirror-without-copy",
           Phase.UNKNOWN: "comparison-phase-unknown"}  # fmt: skip
    assert [finding.id for finding in answer.findings] == ([ids[phase]] if phase in ids else [])


def test_znode_newer_than_the_log_is_explained():
    # The log was saved first, and ZooKeeper moved on.
    at = 1790000000000  # mtime of every znode
    image = replace(IMAGE, configs={**IMAGE.configs, (2, "orders"): {"retention.ms": "5"}})
    facts = PhaseFacts(state=1, kraft_holds=True, migration_offset=900, last_offset=800, log_end_ms=at - 1)
    differences = compared(tree_from(small()), image, CompareFacts(phase=facts)).differences
    (found,) = [difference for difference in differences if difference.entity == "topic-config"]
    assert found.rule == "younger-than-the-log"
    for other in (replace(facts, log_end_ms=at), replace(facts, last_offset=900), replace(facts, log_end_ms=None)):
        assert len(compared(tree_from(small()), image, CompareFacts(phase=other)).unexplained) == 1
