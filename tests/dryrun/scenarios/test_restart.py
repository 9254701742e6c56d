"""State of a starting node where it differs from the controller's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.appended_records import encoded, record
from kafkactl.dryrun.controller.facts import facts_of
from kafkactl.dryrun.engine import deltas
from kafkactl.dryrun.engine.loader import Started, started
from kafkactl.dryrun.engine.local import load
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenarios.restart import restart
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.record_batch import encode_batch
from tests.dryrun.clusters import cluster
from tests.dryrun.engine.test_local import File
from tests.secrets_scan import leaks

HOSTILE_LINES = {"dryrun restart": ("{log}", "--bundle {bundle}")}

INPUTS = {"restart": [{}]}

LEVEL = record("FeatureLevelRecord", {"Name": "metadata.version", "FeatureLevel": 25})


def user(name: str, mechanism: int = 1) -> MetadataRecord:
    keys: dict[str, Any] = {"Salt": b"s", "StoredKey": b"k", "ServerKey": b"k", "Iterations": 4096}
    return record("UserScramCredentialRecord", {"Name": name, "Mechanism": mechanism, **keys})


def no_user(name: str, mechanism: int = 1) -> MetadataRecord:
    return record("RemoveUserScramCredentialRecord", {"Name": name, "Mechanism": mechanism})


def topic(number: int) -> MetadataRecord:
    return record("TopicRecord", {"Name": f"t{number}", "TopicId": Uuid(bytes([9] * 15 + [number]))})


def no_topic(number: int) -> MetadataRecord:
    return record("RemoveTopicRecord", {"TopicId": Uuid(bytes([9] * 15 + [number]))})


def config(number: int, value: str | None = "1") -> MetadataRecord:
    return record(
        "ConfigRecord", {"ResourceType": 2, "ResourceName": f"t{number}", "Name": "retention.ms", "Value": value}
    )


BEGIN, END, ABORT, NOOP = (
    record(f"{name}Record", {}) for name in ("BeginTransaction", "EndTransaction", "AbortTransaction", "NoOp")
)


def log(*groups: Sequence[MetadataRecord]) -> File:
    """Return a segment with a batch a group, the level of metadata.version before them."""
    data, offset = b"", 0
    for group in ((LEVEL,), *groups):
        values = [(None, encoded(entry)) for entry in group]
        data += encode_batch(values, base_offset=offset, timestamp_ms=1)
        offset += len(values)
    return File(data)


def started_from(file: File) -> tuple[Started, Prediction]:
    found = started([file], [])
    image = load([file], []).image
    return found, restart(image, facts_of(image, static={}), [found])


def ids(found: Prediction) -> set[str]:
    return {finding.id for finding in found.findings}


def test_users_behind_the_removal_in_hash_order_are_lost() -> None:
    # a, b and c hash in this order; the removal of a empties the map, and b goes nowhere.
    found, prediction = started_from(log([user("a")], [user("b")], [no_user("a")]))
    assert (found.image.scram, prediction.verdict) == ({}, Verdict.DEGRADED)
    assert ids(prediction) == {"scram-users-lost-on-restart"}
    assert prediction.effects["differences"][0]["change"] == "removed"
    assert {difference["key"] for difference in prediction.effects["differences"]} == set(
        prediction.findings[0].evidence["users"]
    )


def test_users_before_the_removal_in_hash_order_stay() -> None:
    _, prediction = started_from(log([user("a")], [user("b")], [no_user("b")]))
    assert (prediction.verdict, prediction.findings) == (Verdict.OK, ())


def test_mechanisms_are_apart() -> None:
    found, _ = started_from(log([user("a", 1), user("b", 2)], [no_user("a", 1)]))
    assert list(found.image.scram) == [(2, "b")]


def test_read_of_its_own_loses_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "READ_BYTES", 1)
    _, prediction = started_from(log([user("a")], [user("b")], [no_user("a")]))
    assert prediction.verdict is Verdict.OK


def test_configs_of_a_topic_made_and_removed_in_one_read_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    file = log([topic(1), config(1)], [no_topic(1)])
    found, prediction = started_from(file)
    assert found.image.configs == {(2, "t1"): {"retention.ms": "1"}}
    assert ids(prediction) == {"orphan-topic-configs-on-restart"}
    monkeypatch.setattr(deltas, "READ_BYTES", 1)
    assert started_from(file)[1].verdict is Verdict.OK


def test_orphans_go_with_the_next_topic_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    orphans = log([topic(1), config(1)], [no_topic(1)])
    end = encode_batch([(None, encoded(no_topic(2)))], base_offset=5, timestamp_ms=1)
    again = record("TopicRecord", {"Name": "t1", "TopicId": Uuid(bytes([9] * 15 + [2]))})
    file = File(orphans.data + encode_batch([(None, encoded(again))], base_offset=4, timestamp_ms=1) + end)
    monkeypatch.setattr(deltas, "READ_BYTES", len(orphans.data))
    assert started([file], []).image.configs == {}


@pytest.mark.parametrize(
    "behind, leaks", [([], 0), ([[NOOP]], 1), ([[BEGIN, topic(2), END]], 1)], ids=["nothing", "a no-op", "another"]
)
def test_records_after_an_abort_decide_if_aborted_ones_take_effect(
    behind: list[list[MetadataRecord]], leaks: int
) -> None:
    # As Kafka's own classes did: forgotten only if nothing follows in the same read.
    found, prediction = started_from(log([BEGIN, topic(1)], [ABORT], *behind))
    assert found.phantoms == leaks
    assert ("t1" in found.image.topic_ids) == bool(leaks)
    assert (ids(prediction) == {"aborted-records-take-effect"}) == bool(leaks)


def test_secret_that_differs_is_seen_and_not_shown() -> None:
    # Of a token its id is a secret, of a configuration its value.
    token = {"Owner": "User:eve", "Requester": "User:eve", "Renewers": [], "IssueTimestamp": 1, "MaxTimestamp": 2,
             "ExpirationTimestamp": 2, "TokenId": "hunter1"}  # fmt: skip
    secret = {"ResourceType": 4, "ResourceName": "1", "Name": "my.plugin.key", "Value": "hunter2"}
    aborted = [BEGIN, record("DelegationTokenRecord", token), record("ConfigRecord", secret)]
    found, prediction = started_from(log(aborted, [ABORT], [NOOP]))
    assert found.phantoms == 2
    assert {(difference["part"], difference["key"]) for difference in prediction.effects["differences"]} == {
        ("delegation_tokens", "<redacted>"), ("configs", "broker 1"),
    }  # fmt: skip
    assert not leaks(repr(prediction.effects) + repr(prediction.findings))


def test_records_before_a_transaction_are_kept() -> None:
    found, _ = started_from(log([topic(1), BEGIN, topic(2)], [ABORT]))
    assert list(found.image.topic_ids) == ["t1"]


def test_open_transaction_has_no_effect_yet() -> None:
    found, _ = started_from(log([topic(1)], [BEGIN, topic(2)]))
    assert list(found.image.topic_ids) == ["t1"]


def test_log_without_defects_has_the_same_state() -> None:
    generator = LogGenerator(Shape(records=60, partitions=40, brokers=3, seed=4))
    file = File(b"".join(generator.batches()))
    found = started([file], [])
    assert image_sha256(found.image) == image_sha256(load([file], []).image)


@pytest.mark.parametrize("node, expected", [(None, []), (1, []), (3000, []), (77, ["node 77"])])
def test_node_missing_in_the_log_is_reported(node: int | None, expected: list[str]):
    image, facts = cluster("brokers 1 2")
    found = restart(image, facts, [], node, voters=[3000])
    assert [finding.subject for finding in found.findings if finding.id == "node-not-in-log"] == expected
    assert found.verdict is Verdict.OK


# Kafka's ScramImageTest: the image, then the records of its delta, as (user, mechanism) and None for a removal.
_HELD = (user("alpha"), user("beta"), user("alpha", 2), user("gamma", 2))
_DELTA = (no_user("alpha", 2), no_user("gamma", 2), user("alpha"), user("alpha", 2))


@pytest.mark.parametrize("taken, controller, node", [(0, 4, 4), (1, 3, 2), (2, 2, 2), (3, 2, 2), (4, 3, 3)])
def test_restart_keeps_the_users_that_the_scram_delta_keeps(taken: int, controller: int, node: int) -> None:
    # What ScramDelta.apply makes of the log in one read, measured on 4.3.1: after the first removal alone gamma goes
    # with alpha, for the removal empties its mechanism and gamma comes after it in the hash table. In separate reads it
    # stays, as with the controller.
    file = log(_HELD, *((entry,) for entry in _DELTA[:taken]))
    found, prediction = started_from(file)
    assert (len(load([file], []).image.scram), len(found.image.scram)) == (controller, node)
    assert (prediction.verdict is Verdict.OK) is (controller == node)


def test_user_set_in_the_request_that_removes_the_last_one() -> None:
    # One batch of one request: the image of every node loses gamma at once (4.3.1), the controller and the brokers'
    # caches have it until they restart.
    file = log((user("alpha", 2),), (no_user("alpha", 2), user("gamma", 2)))
    found, prediction = started_from(file)
    assert (len(load([file], []).image.scram), len(found.image.scram)) == (1, 0)
    assert prediction.verdict is not Verdict.OK
