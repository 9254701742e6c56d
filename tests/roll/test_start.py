"""A start under another release: the rows of the measured tables, each with what released Kafka did."""

from __future__ import annotations

import pytest

from kafkactl.roll.start import forecast_start
from tests.roll.rolls import JAVA, Roll, config


def starts(roll: Roll, to: str | None, id: int):
    case = roll.case(to)
    found = forecast_start(case, case.observation.node(id))
    return found.will_start, None if found.failure is None else found.failure.phase.value


@pytest.mark.parametrize(
    ("present", "level", "to", "id", "phase"),
    [
        # A binary below the finalized level: exit or hang, by what lies in the log.
        ("4.3.1", 30, "3.9.2", 11, "load"),
        ("4.3.1", 30, "3.9.2", 1, "load"),
        ("4.0.2", 25, "3.9.2", 11, "register"),
        ("4.0.2", 25, "3.9.2", 1, "load"),
        ("4.4.0", 33, "4.3.1", 11, "register"),
        ("4.4.0", 33, "4.3.1", 1, "load"),
        ("4.3.1", 30, "4.0.2", 11, "load"),
        ("4.3.1", 30, "4.0.2", 1, "load"),
        ("3.9.2", 21, "3.7.2", 11, "register"),
        ("3.9.2", 21, "3.7.2", 1, "load"),
        # A binary above it.
        ("3.9.2", 5, "4.0.2", 11, "register"),
        ("3.9.2", 5, "4.0.2", 1, "load"),
        ("3.9.2", 5, "4.3.1", 1, "load"),
    ],
)
def test_binary_outside_the_finalized_level_does_not_start(present, level, to, id, phase):
    assert starts(Roll(present, level=level), to, id) == (False, phase)


@pytest.mark.parametrize(
    ("present", "level", "to"),
    [
        ("3.7.2", 19, "4.3.1"),
        ("3.9.2", 21, "4.3.1"),
        ("4.3.1", 30, "4.4.0"),
        ("3.7.2", 19, "3.9.2"),
        ("3.9.2", 21, "4.0.2"),
        ("4.0.2", 25, "4.3.1"),
        # Back, before a level was raised, or lowered within a band.
        ("4.3.1", 21, "3.9.2"),
        ("4.3.1", 19, "3.7.2"),
        ("4.4.0", 30, "4.3.1"),
        ("4.2.1", 25, "4.0.2"),
        ("3.9.2", 19, "3.7.2"),
    ],
)
@pytest.mark.parametrize("id", [1, 11])
def test_binary_within_the_finalized_level_starts(present, level, to, id):
    assert starts(Roll(present, level=level), to, id) == (True, None)


def test_recorded_kraft_version_stops_an_old_controller_and_no_broker():
    roll = Roll("3.9.2", level=19)
    roll.features["kraft.version"] = 1
    assert starts(roll, "3.7.2", 11) == (True, None)
    assert starts(roll, "3.7.2", 1) == (False, "load")


@pytest.mark.parametrize(
    ("present", "to", "line", "phase"),
    [
        ("3.9.2", "4.0.2", {"log_segment_bytes": "100000"}, "config"),
        ("3.9.2", "3.9.2", {"log_segment_bytes": "100000"}, None),
        ("3.9.2", "4.0.2", {"remote_log_manager_copier_thread_pool_size": "-1"}, "config"),
        ("4.0.2", "4.1.2", {"metadata_log_segment_bytes": "1000000"}, "config"),
        ("4.1.2", "4.2.1", {"num_replica_fetchers": "0"}, "config"),
        ("4.1.2", "4.2.1", {"log_dirs": "/a,"}, "config"),
        ("3.9.2", "4.0.2", {"group_coordinator_rebalance_protocols": "classic,unknown"}, "config"),
        # The other way.
        ("4.2.1", "4.1.2", {"group_coordinator_append_linger_ms": "-1"}, "config"),
        ("4.0.2", "3.9.2", {"group_consumer_assignors": "uniform,range"}, "config"),
        # Keys that a release does not have stop nothing.
        ("3.9.2", "4.0.2", {"inter_broker_protocol_version": "3.9"}, None),
        ("3.9.2", "4.3.1", {"log_message_format_version": "3.0", "password_encoder_iterations": "5"}, None),
    ],
)
def test_line_of_a_file_that_a_release_refuses_stops_the_node(present, to, line, phase):
    roll = Roll(present, level=21 if present[0] == "3" or to[0] == "3" else 25)
    roll.change(11, config=config(11, ["broker"], **line))
    assert starts(roll, to, 11) == (phase is None, phase)


def test_stored_topic_setting_ends_every_broker_from_4_1_on_and_no_controller():
    roll = Roll("3.9.2").topic("small", [11], segment_bytes="100000")
    assert starts(roll, "4.0.2", 12) == (True, None)
    for to in ("4.1.2", "4.2.1", "4.3.1"):
        assert starts(roll, to, 12) == (False, "load")  # without a replica of the topic
        assert starts(roll, to, 1) == (True, None)


def test_stored_settings_that_are_only_ignored_stop_nothing():
    roll = Roll("3.9.2").topic("old", [11], message_format_version="3.0")
    roll.configs.append((4, "11", "log.segment.bytes", "100000"))
    for to in ("4.0.2", "4.3.1"):
        assert starts(roll, to, 11) == (True, None)


@pytest.mark.parametrize(("java", "found"), [(8, False), (11, False), (17, True)])
def test_java_decides_from_4_0_on(java, found):
    roll = Roll("3.9.2").change(11, java=JAVA[java])
    assert starts(roll, "4.0.2", 11) == (found, None if found else "config")
    assert starts(roll, "3.9.2", 11) == (True, None)


@pytest.mark.parametrize("change", [{"java": None}, {"config": None}])
def test_missing_evidence_leaves_a_start_unknown(change):
    assert starts(Roll("3.9.2").change(11, **change), "4.3.1", 11) == (None, None)


def test_failure_is_reported_even_if_other_facts_are_unknown():
    assert starts(Roll("4.3.1", level=30).change(1, config=None), "3.9.2", 1) == (False, "load")


def test_broker_does_not_start_without_a_leader_of_the_quorum():
    roll = Roll("4.3.1").kill(1, 2)
    roll.leader_epoch = 5
    roll.quorum = {
        "leader_id": -1,
        "leader_epoch": 5,
        "voters": [{"id": 1, "alive": False}, {"id": 2, "alive": False}, {"id": 3, "alive": True}],
        "observers": [],
    }
    assert starts(roll, None, 11) == (False, "register")
    assert starts(roll, None, 1) == (True, None)  # with it two of three vote


def test_release_without_kraft_is_not_started():
    assert starts(Roll("3.9.2"), "3.2.3", 11) == (False, "config")


def test_redacted_value_leaves_a_start_unknown():
    roll = Roll("3.9.2").change(11, config=config(11, ["broker"], log_segment_bytes="<redacted>"))
    assert starts(roll, "4.3.1", 11) == (None, None)
