"""ZooKeeper against KRaft: equal if the copy is faithful, and one difference for one change, on either side."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.migration.compare.comparison import CompareFacts, compare, compared
from kafkactl.migration.compare.phase import PhaseFacts
from tests.migration.compare.trees import copied, registered, tree_from, trees
from tests.migration.zk_trees import CREDENTIAL, config, small, text
from tests.migration.zktree.test_password_encoder import encrypted

DUAL = CompareFacts(phase=PhaseFacts(state=1, kraft_holds=True, migration_offset=500), secrets=("right",))


def _small(changes=None, gone=()):
    data = {
        **small(),
        "/config/brokers/1": config(**{"listener.name.sasl.ssl.key.password": encrypted("pw", "right")}),
        **(changes or {}),
    }
    return tree_from({path: value for path, value in data.items() if path not in gone})


IMAGE = copied(_small(), secrets=("right",))


def _names(differences):
    return [(difference.entity, difference.key) for difference in differences]


def test_faithful_copy_has_no_unexplained_difference():
    answer = compared(_small(), IMAGE, DUAL)
    assert answer.unexplained == ()
    assert [(difference.entity, difference.key, difference.rule) for difference in answer.differences] == [
        ("topic", "logs", "pending-deletion")
    ]
    assert answer.unknown == ()
    assert answer.findings == ()


@pytest.mark.slow
@given(trees())
def test_copy_of_any_tree_has_no_differences_from_the_tree(data):
    tree = tree_from(data)
    assert compared(tree, copied(tree), DUAL).differences == ()


_BEHIND_THE_BACK = {
    "config value": ("/config/topics/orders", config(**{"retention.ms": "999", "cleanup.policy": "compact"}),
                     ("topic-config", "orders"), {"retention.ms": "999"}, {"retention.ms": "1000"}),
    "config gone": ("/config/topics/orders", config(), ("topic-config", "orders"), None,
                    {"retention.ms": "1000", "cleanup.policy": "compact"}),
    "config cut off": ("/config/topics/orders", b'{"version":1,"conf', ("topic-config", "orders"), None, None),
    "leader": ("/brokers/topics/orders/partitions/1/state",
               text({"controller_epoch": 3, "leader": 1, "version": 1, "leader_epoch": 5, "isr": [2, 1]}),
               ("partition", "orders-1"), {"leader": 1, "leader_epoch": 5, "isr": [1, 2]},
               {"leader": 2, "leader_epoch": 4, "isr": [2]}),
    "quota": ("/config/clients/slow", config(producer_byte_rate="2"), ("client-quota", "client-id slow"),
              {"producer_byte_rate": 2.0}, {"producer_byte_rate": 1.0}),
    "quota of all users": ("/config/users/<default>", config(), ("client-quota", "user <default>"), None,
                           {"consumer_byte_rate": 2000000.0}),
    "quota of a user's client": ("/config/users/alice/clients/app%2A1", config(request_percentage="51"),
                                 ("client-quota", "user alice, client-id app*1"), {"request_percentage": 51.0},
                                 {"request_percentage": 50.0}),
    "scram gone": ("/config/users/bob%40x.com", config(), ("scram-credential", "bob@x.com SCRAM-SHA-512"), None, None),
    "scram iterations": ("/config/users/bob%40x.com", config(**{"SCRAM-SHA-512": CREDENTIAL.replace("4096", "8192")}),
                         ("scram-credential", "bob@x.com SCRAM-SHA-512"), {"iterations": 8192}, {"iterations": 4096}),
    "producer ids": ("/latest_producer_id_block",
                     text({"version": 1, "broker": 2, "block_start": "5000", "block_end": "5999"}),
                     ("producer-ids", "next"), {"broker": 2, "block_start": 5000, "block_end": 5999},
                     {"next_producer_id": 5000}),
    "password": ("/config/brokers/1", config(**{"listener.name.sasl.ssl.key.password": encrypted("other", "right")}),
                 ("broker-config", "1"), {"listener.name.sasl.ssl.key.password": "<redacted>"},
                 {"listener.name.sasl.ssl.key.password": "<redacted>"}),
    "new topic": ("/brokers/topics/ghost", text({"partitions": {}, "topic_id": "q8jYpF3nTeKz0g2GQ2hVcg", "version": 3}),
                  ("topic", "ghost"), {"topic_id": "q8jYpF3nTeKz0g2GQ2hVcg", "partitions": 0}, None),
    "acl": ("/kafka-acl/Cluster/kafka-cluster", text({"version": 1, "acls": []}),
            ("acl", "CLUSTER kafka-cluster LITERAL"), None, ["User:kafka ALLOW CLUSTER_ACTION from *"]),
    "acl that nobody reads": ("/kafka-acl/Tpoic/orders", text({"version": 1, "acls": []}),
                              ("acl", "/kafka-acl/Tpoic"), "not read by Kafka", None),
}  # fmt: skip


@pytest.mark.parametrize("case", _BEHIND_THE_BACK)
def test_change_behind_the_back_is_that_difference_and_no_other(case):
    path, data, name, zookeeper, kraft = _BEHIND_THE_BACK[case]
    (found,) = compared(_small({path: data}), IMAGE, DUAL).unexplained
    assert (found.entity, found.key) == name
    if zookeeper is not None:
        assert found.zookeeper == zookeeper
    if kraft is not None:
        assert found.kraft == kraft
    assert not _repeats_a_secret(found)


def _repeats_a_secret(difference):
    shown = json.dumps(difference.to_dict())
    return any(word in shown for word in ("keyLength", '"pw"', "stored_key=", "AgICAg", "other"))


@pytest.mark.slow
@given(trees(), st.data())
def test_one_change_of_any_tree_is_one_difference(data, choice):
    # Some znode of an entity is lost, or an entity of the image.
    tree = tree_from(data)
    image = copied(tree)
    lost = [path for path in data if path.count("/") == 3 and path.startswith(("/config/", "/kafka-acl/"))]
    entities = [("acls", id) for id in image.acls] + [("topic_ids", name) for name in image.topic_ids]
    entities += [("client_quotas", quota) for quota in image.client_quotas] + [
        ("scram", credential) for credential in image.scram
    ]
    chosen = choice.draw(st.sampled_from(lost + entities)) if lost + entities else None
    if chosen is None:
        return
    if isinstance(chosen, str):
        below = {path: value for path, value in data.items() if path != chosen}
        found = compare(tree_from(below), image, DUAL)
        # A user's znode may hold a quota and a credential: these are two entities.
        assert {difference.znode for difference in found} == {chosen}
        assert all(difference.zookeeper is None or difference.entity == "acl" for difference in found)
    else:
        part, key = chosen
        changed = {name: value for name, value in getattr(image, part).items() if name != key}
        found = compare(tree, replace(image, **{part: changed}), DUAL)
        assert len([difference for difference in found if difference.entity != "partition"]) == 1
    assert all(difference.explained is None for difference in found)


@pytest.mark.parametrize(
    ("broker", "start", "end", "next_id", "equal"),
    [
        (2, 4000, 4999, 5000, True),  # right after the copy
        (-1, 5000, 5999, 5000, True),  # the mirror wrote the block that KRaft gives out from
        (-1, 5000, 5999, 6000, True),
        (2, 5000, 5999, 5000, False),  # a ZooKeeper controller gave this block away: KAFKA-15552
        (-1, 5000, 5999, 4000, False),
    ],
)
def test_producer_ids_are_compared(broker, start, end, next_id, equal):
    block = text({"version": 1, "broker": broker, "block_start": str(start), "block_end": str(end)})
    image = replace(IMAGE, next_producer_id=next_id)
    found = compared(_small({"/latest_producer_id_block": block}), image, DUAL).unexplained
    assert _names(found) == ([] if equal else [("producer-ids", "next")])


def test_emptied_znodes_are_none():
    # What the mirror leaves of a deleted quota or credential.
    data = {"/config/users/gone": config(), "/config/clients/gone": config(), "/config/ips/10.9.9.9": config()}
    assert compared(_small(data), IMAGE, DUAL).unexplained == ()


def test_epoch_of_a_partition_is_not_compared():
    tree = _small()
    later = {path: replace(znode, version=znode.version + 40) for path, znode in tree.znodes.items()}
    assert compared(replace(tree, znodes=later), IMAGE, DUAL).unexplained == ()


def test_expired_tokens_may_vanish_and_others_may_not():
    token = IMAGE.delegation_tokens["tok1"]
    gone = replace(IMAGE, delegation_tokens={})
    late, early = (replace(DUAL, time_ms=token.expiration_timestamp_ms + shift) for shift in (1, -1))
    assert _names(compared(_small(), gone, late).unexplained) == []
    assert _names(compared(_small(), gone, early).unexplained) == [("delegation-token", "tok1")]


def test_topic_that_was_created_again_is_one_difference():
    topics = {id: replace(topic, id=topic.id) for id, topic in IMAGE.topics.items()}
    (old,) = topics
    other = type(old)(bytes([9]) * 16)
    image = replace(IMAGE, topics={other: replace(topics[old], id=other)}, topic_ids={"orders": other})
    (found,) = compared(_small(), image, DUAL).unexplained
    assert (found.entity, found.key, found.kraft["topic_id"]) == ("topic", "orders", str(other))


def test_missing_partition_state_is_explained_only_if_the_copy_lacked_it():
    path = "/brokers/topics/orders/partitions/0/state"
    tree = _small(gone=[path])
    image = copied(tree, secrets=("right",))
    (topic_id,) = image.topics
    met = replace(DUAL, copied=frozenset({(topic_id, 0)}))
    assert _names(compared(tree, image, met).unexplained) == []
    assert _names(compared(tree, image, replace(DUAL, copied=frozenset())).unexplained) == [("partition", "orders-0")]
    assert _names(compared(tree, image, DUAL).unexplained) == [("partition", "orders-0")]


@pytest.mark.parametrize(
    ("path", "data", "entity"),
    [
        ("/kafka-acl/Topic/cut", b'{"version":1,"ac', "acl"),
        ("/delegation_token/tokens/cut", b'{"own', "delegation-token"),
        ("/config/clients/cut", b'{"version":1,"con', "client-quota"),
        ("/config/ips/1.2.3.4", config(connection_creation_rate="many"), "client-quota"),
        ("/config/users/eve", config(**{"SCRAM-SHA-256": "salt=xx"}), "scram-credential"),
        ("/brokers/topics/orders/partitions/0/state", b'{"leader":1,"leade', "partition"),
        ("/brokers/topics/cut", b'{"partitions":{"0"', "topic"),
    ],
)
def test_unreadable_znode_is_a_difference_even_where_kraft_has_nothing(path, data, entity):
    tree = _small({path: data})
    (topic_id,) = IMAGE.topics
    facts = replace(DUAL, copied=frozenset({(topic_id, 0)}))
    found = compared(tree, copied(tree, secrets=("right",)), facts).unexplained
    assert [(difference.entity, difference.znode) for difference in found] == [(entity, path)]
    assert not _repeats_a_secret(found[0])


def test_config_without_a_place_in_zookeeper_is_unexplained():
    image = replace(IMAGE, configs={**IMAGE.configs, (16, "sub"): {"interval.ms": "1000"}})
    (found,) = compared(_small(), image, DUAL).unexplained
    assert (found.entity, found.key) == ("config", "client-metrics sub")


def test_names_that_were_copied_with_their_escapes():
    # KAFKA-16222, as real clusters of 3.7.0 have it.
    answer = compared(_small(), copied(_small(), secrets=("right",), patch=(3, 7, 0)), DUAL)
    (found,) = answer.findings
    assert (found.id, found.evidence["count"]) == ("names-copied-escaped", 4)
    assert ("scram-credential", "bob%40x.com SCRAM-SHA-512") in _names(answer.unexplained)
    assert ("client-quota", "user ") in _names(answer.unexplained)


def test_password_without_its_secret_is_unknown():
    answer = compared(_small(), IMAGE, replace(DUAL, secrets=()))
    assert answer.unexplained == ()
    assert [(unknown.entity, unknown.key) for unknown in answer.unknown] == [
        ("broker-config", "1 listener.name.sasl.ssl.key.password")
    ]
    assert [finding.id for finding in answer.findings] == ["comparison-incomplete"]


@pytest.mark.parametrize("hidden", [False, True])
def test_copied_cipher_text_is_found_without_any_secret(hidden):
    key = "listener.name.sasl.ssl.key.password"
    image = copied(_small())  # without a decoder, as controllers without the secret copy
    shown = {"/config/brokers/1": config(**{key: "<redacted>"})} if hidden else None
    answer = compared(_small(shown), image, replace(DUAL, secrets=()))
    (found,) = answer.unexplained
    assert (found.entity, found.key) == ("broker-config", "1")
    assert [finding.id for finding in answer.findings] == ["password-copied-encrypted"]
    assert not _repeats_a_secret(found)


def _with_broker(id, **changes):
    from kafkactl.migration.zktree.parse import parse_tree

    broker = parse_tree(_small()).brokers[id]
    return replace(IMAGE, brokers={**IMAGE.brokers, id: registered(id, broker, **changes)})


@pytest.mark.parametrize(
    ("changes", "kraft"),
    [
        ({"fenced": True}, {"fenced": True}),
        ({"rack": "elsewhere"}, {"rack": "elsewhere"}),
        ({"is_migrating_zk_broker": False}, {"mode": "kraft"}),
        ({"listeners": ()}, {}),
    ],
)
def test_broker_must_be_registered_as_it_is(changes, kraft):
    (found,) = compared(_small(), _with_broker(2, **changes), DUAL).unexplained
    assert (found.entity, found.key, found.kraft) == ("broker", "2", kraft)


def test_broker_missing_in_kraft_is_unexplained():
    # A plain broker that joined during dual write: no error anywhere, and its clients get nothing.
    image = replace(IMAGE, brokers={1: IMAGE.brokers[1]})
    assert _names(compared(_small(), image, DUAL).unexplained) == [("broker", "2")]


def test_stopped_broker_and_a_broker_on_kraft_are_not_a_problem():
    tree = _small(gone=["/brokers/ids/2"])
    assert compared(tree, _with_broker(2, is_migrating_zk_broker=False), DUAL).unexplained == ()
    stopped = compared(tree, _with_broker(2, fenced=True), DUAL)
    assert [
        (difference.key, difference.rule) for difference in stopped.differences if difference.entity == "broker"
    ] == [("2", "stopped-broker")]
    assert _names(compared(tree, IMAGE, DUAL).unexplained) == [("broker", "2")]


@pytest.mark.parametrize(("ibp", "equal"), [("3.8", True), ("3.8-IV0", True), ("3.8.1", True), ("3.9", False)])
def test_release_must_be_the_same_to_the_level(ibp, equal):
    facts = replace(DUAL, inter_broker_protocol={1: ibp, 2: ibp})
    found = compared(_small(), IMAGE, facts).unexplained
    assert [(difference.key, difference.kraft) for difference in found] == (
        [] if equal else [("metadata.version", "3.8-IV0")]
    )


def test_controllers_of_another_cluster_are_reported():
    facts = replace(DUAL, cluster_ids={"controller 3001": "another", "controller 3002": "Some-cluster-id_22char"})
    (found,) = compared(_small(), IMAGE, facts).unexplained
    assert (found.entity, found.kraft) == ("cluster-id", {"controller 3001": "another"})
