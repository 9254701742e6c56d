"""Settings in the metadata log that a release refuses: which node they stop, and how they are removed.

The real starts are in tests/lab/storage/test_verify_starts.py, the bounds in tests/lab/storage/test_topic_settings.py.
"""

from __future__ import annotations

import pytest

from kafkactl.core.values import Uuid
from kafkactl.metadata.log.stored_settings import StoredSettings, settings_after
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import metadata_record
from tests.storage.verify.nodes import SEGMENT, _batch, blocker_ids

TOPIC, BROKER = 2, 4
SMALL = Uuid(b"\x11" * 16)


def config(kind, name, key, value):
    data = {"ResourceType": kind, "ResourceName": name, "Name": key, "Value": value}
    return encode_record(metadata_record(4), 0, data)


def topic(name, topic_id):
    return encode_record(metadata_record(2), 0, {"Name": name, "TopicId": topic_id})


def removed(topic_id):
    return encode_record(metadata_record(9), 0, {"TopicId": topic_id})


def with_records(node, *records):
    """Append a batch to the log of a node that has run once."""
    node.started_once()
    path = node.path(f"d1/{SEGMENT}")
    path.write_bytes(path.read_bytes() + _batch([(None, record) for record in records], 4, 1))
    return node


@pytest.fixture
def ran(node):
    return node("4.0.2").format(static=True)


def test_small_segment_of_any_topic_ends_brokers_from_41_on(ran):
    with_records(ran, topic("small", SMALL), config(TOPIC, "small", "segment.bytes", "100000"))
    assert ran.verify("4.0.2").will_start
    for version in ("4.1.2", "4.2.1", "4.3.1", "4.4.0"):
        answer = ran.verify(version)
        assert answer.will_start is False
        assert answer.expected_failure.message == (
            "Invalid value 100000 for configuration segment.bytes: Value must be at least 1048576"
        )
        (found,) = [finding for finding in answer.findings if finding.id == "topic-setting-refused"]
        assert found.message.startswith("topic small: ")
        assert "Kafka 4.0 or earlier" in found.next_step
        assert "--entity-name small --delete-config segment.bytes" in found.next_step
        assert found.evidence["settings"] == [{"key": "segment.bytes", "topics": ["small"]}]


@pytest.mark.parametrize(
    "later",
    [
        config(TOPIC, "small", "segment.bytes", None),
        config(TOPIC, "small", "segment.bytes", "1048576"),
        removed(SMALL),
    ],
)
def test_setting_that_is_gone_ends_no_start(ran, later):
    with_records(ran, topic("small", SMALL), config(TOPIC, "small", "segment.bytes", "100000"), later)
    assert ran.verify("4.3.1").will_start


def test_unknown_topic_setting_ends_no_start(ran):
    with_records(ran, config(TOPIC, "small", "message.format.version", "3.0"), config(TOPIC, "small", "x", "y"))
    assert ran.verify("4.3.1").will_start


def test_controller_starts_and_is_warned_of_the_brokers(node):
    made = node("4.0.2").format(static=True, roles="controller")
    with_records(made, config(TOPIC, "small", "segment.bytes", "100000"))
    answer = made.verify("4.3.1")
    assert answer.will_start
    assert ("topic-setting-refused", "warning") in [(found.id, found.severity.value) for found in answer.findings]


def test_two_refused_settings_are_listed_and_only_the_common_words_are_foretold(ran):
    with_records(
        ran,
        config(TOPIC, "b", "segment.bytes", "100000"),
        config(TOPIC, "a", "segment.bytes", "100000"),
        config(TOPIC, "c", "retention.ms", "-7"),
    )
    answer = ran.verify("4.3.1")
    assert answer.expected_failure.message == "Error starting LogManager"
    (found,) = [finding for finding in answer.findings if finding.id == "topic-setting-refused"]
    assert "topics a, b: " in found.message and "topic c: " in found.message
    assert "Kafka 4.0" not in found.next_step  # no release takes the retention


@pytest.mark.parametrize(("name", "is_own"), [("", True), ("1", True), ("2", False)])
def test_refused_dynamic_setting_is_ignored_by_its_broker(ran, name, is_own):
    with_records(ran, config(BROKER, name, "log.segment.bytes", "100000"))
    answer = ran.verify("4.1.2")
    assert answer.will_start and blocker_ids(answer) == []
    assert ("dynamic-setting-refused" in [found.id for found in answer.findings]) is is_own


def test_log_before_the_snapshot_does_not_change_its_settings():
    before, log = StoredSettings(), StoredSettings()
    before.values = {(TOPIC, "small"): {"segment.bytes": "1"}, (TOPIC, "gone"): {"retention.ms": "1"}}
    log.add({"ResourceType": TOPIC, "ResourceName": "small", "Name": "retention.ms", "Value": "5"})
    log.remove_topic(SMALL, None)
    found = dict(settings_after(before, {SMALL: "gone"}, log))
    assert found == {(TOPIC, "small"): {"segment.bytes": "1", "retention.ms": "5"}}


def test_settings_of_clients_are_not_kept():
    log = StoredSettings()
    log.add({"ResourceType": 16, "ResourceName": "x", "Name": "interval.ms", "Value": "5"})
    assert log.values == {}
