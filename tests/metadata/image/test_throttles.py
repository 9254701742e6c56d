"""Replication throttles that an earlier reassignment left in the log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.core.findings import Severity
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, Image, Partitions, partition_of, state_of
from tests.dryrun.clusters import cluster

LIST = {(TOPIC_CONFIG, "t"): {"leader.replication.throttled.replicas": "0:1"}}
RATE = {(BROKER_CONFIG, "1"): {"leader.replication.throttled.rate": "1000"}}


def calm() -> Image:
    return cluster("brokers 1 2\ntopic t\n  1 | 1 2 | 1 2")[0]


def found(image: Image) -> list[tuple[str, Severity]]:
    return [(finding.subject, finding.severity) for finding in lint(image) if "throttle" in finding.id]


@pytest.mark.parametrize(
    "configs, expected",
    [
        ({**LIST, **RATE}, [("topic t", Severity.WARNING)]),
        (LIST, [("topic t", Severity.INFO)]),
        (RATE, [("broker 1", Severity.WARNING)]),
        ({(TOPIC_CONFIG, "t"): {"leader.replication.throttled.replicas": ""}}, []),
    ],
)
def test_throttle_without_a_reassignment_is_reported(configs: object, expected: object) -> None:
    assert found(replace(calm(), configs=configs)) == expected  # type: ignore[arg-type]


def test_throttle_of_a_running_reassignment_is_as_it_should_be() -> None:
    image = replace(calm(), configs={**LIST, **RATE})
    ((id, topic),) = image.topics.items()
    moving = partition_of(topic.partitions.states[0])._replace(adding_replicas=(2,))
    image = replace(image, topics={id: replace(topic, partitions=Partitions({0: state_of(moving)}))})
    assert found(image) == []
