"""The copy that is still to come, and how long its gate is waited for."""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.migration.api.driving import DriveOptions, policy_of
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.m5 import copy_deadline_ms, expected_copy, shown_secrets
from kafkactl.migration.steps.table import state_of_evidence
from kafkactl.migration.zktree.znode import Hidden
from tests.migration.observations import World, world


def many_topics(name: str, count: int) -> World:
    seen = world(name)
    content = seen.data["/brokers/topics/orders"]
    assert content is not None
    for number in range(count):
        seen.znode(f"/brokers/topics/more-{number}", content)
    return seen


def expected(seen: Observation):
    evidence = evidence_of(seen)
    return expected_copy(evidence, state_of_evidence(evidence).state)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["M0", "M3", "M4L"])
def test_deadline_is_three_times_the_prediction_and_two_minutes(name: str) -> None:
    small, large = (expected(many_topics(name, count).observation()) for count in (0, 1_000))
    assert copy_deadline_ms(small) == 120_000 + int(3000 * small.seconds)
    assert 0 < small.seconds < large.seconds
    waits = policy_of(DriveOptions(), many_topics(name, 1_000).observation())
    assert (waits.copy_ms, waits.gate_ms) == (copy_deadline_ms(large), 600_000)


@pytest.mark.parametrize(("seconds", "deadline_ms"), [(0.0, 120_000), (2.5, 127_500), (100.0, 420_000)])
def test_prediction_in_seconds_is_waited_for_in_milliseconds(seconds: float, deadline_ms: int) -> None:
    copy = expected(world("M3").observation())
    assert copy is not None
    assert copy_deadline_ms(changed(copy, seconds=seconds)) == deadline_ms


@pytest.mark.parametrize("name", ["M6", "M8"])
def test_once_it_is_done_there_is_none_to_wait_for(name: str) -> None:
    assert expected(world(name).observation()) is None
    assert policy_of(DriveOptions(), world(name).observation()).copy_ms == 600_000


def test_given_timeout_applies_to_gates_and_copy() -> None:
    waits = policy_of(DriveOptions(gate_interval_ms=1_000, gate_timeout_ms=15_000), world("M4L").observation())
    assert (waits.gate_ms, waits.copy_ms, waits.apart_ms) == (15_000, 15_000, 1_000)


@pytest.mark.parametrize("version", ["7.8.0-ccs", "3.8.1.7.2.18", "unheard", ""])
def test_version_of_a_vendor_does_not_fail(version: str) -> None:
    seen = world("M3").observation()
    vendors = changed(seen, nodes=tuple(changed(node, kafka_version=version) for node in seen.nodes))
    assert expected(vendors).records == expected(seen).records


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"password.encoder.secret": "s1"}, ("s1",)),
        ({"password.encoder.secret": "${file:/etc/kafka/secret:key}"}, None),
        ({"password.encoder.secret": Hidden.REDACTED.value}, None),
        ({"password.encoder.secret": ""}, ()),
    ],
)
def test_secret_that_the_file_does_not_hold_is_not_known(given: dict[str, str], shown: tuple[str, ...] | None) -> None:
    (controller,) = world("M3").observation().controllers
    assert shown_secrets([changed(controller, config={**controller.config, **given})]) == shown
