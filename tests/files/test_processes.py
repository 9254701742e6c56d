"""Recognition of Kafka's processes by their command lines."""

from __future__ import annotations

import os

import pytest

from kafkactl.files.processes import (
    arguments_of,
    config_argument,
    holds_lock_as_node,
    is_kafka_node,
    overrides_of,
    runs_in_container,
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("java", "-cp", "/opt/kafka/libs/*", "kafka.Kafka", "server.properties"), True),
        (("/opt/kafka/kafka.Kafka", "start"), True),
        (("java", "io.confluent.support.metrics.SupportedKafka", "server.properties"), True),
        (("java", "kafka.tools.StorageTool", "format"), False),
        (("python", "/srv/kafka/kafkactl", "storage", "verify"), False),
        ((), False),
    ],
)
def test_main_class_shows_a_node(arguments, expected):
    assert is_kafka_node(arguments) is expected


def test_own_process_is_shown_and_is_not_a_node():
    assert arguments_of(os.getpid())
    assert holds_lock_as_node(os.getpid()) is False


@pytest.mark.parametrize("process_id", [0, None, 2**22 + 1])
def test_process_that_is_not_shown_is_unknown(process_id):
    assert holds_lock_as_node(process_id) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("java", "-Dlog4j=x.properties", "kafka.Kafka", "config/server.properties", "--override", "a=b"),
            ("config/server.properties", {"a": "b"}),
        ),
        (
            ("/opt/kafka/kafka.Kafka", "start", "--config", "/etc/kafka/server.properties"),
            ("/etc/kafka/server.properties", {}),
        ),
        (
            ("java", "kafka.Kafka", "--override", "node.id=1", "--override", "log.dirs=/d=e", "s.properties"),
            ("s.properties", {"log.dirs": "/d=e", "node.id": "1"}),
        ),
        (
            ("java", "kafka.Kafka", "s.properties", "--override=a=1", "--override", "b", "--override", "c="),
            ("s.properties", {"a": "1", "b": "", "c": ""}),
        ),
        (("java", "--override", "a=1", "kafka.Kafka"), (None, {})),
    ],
)  # fmt: skip
def test_command_line_names_file_and_overridden_settings(arguments, expected):
    assert (config_argument(arguments), overrides_of(arguments)) == expected


def test_own_process_is_in_no_other_container():
    assert runs_in_container(os.getpid()) is False
    assert runs_in_container(2**22 + 1) is None
