"""The log that goals in ratios to the CRC pass are measured on is of the shape that they were set for."""

from __future__ import annotations

import pytest

from bench.log_generator import LogGenerator, Shape
from bench.log_shape import described, diverse_shape, reference_shape
from bench.log_state import expected_of
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.protocol.log.batch_runs import walk_runs
from tests.metadata.replay.reference_logs import by_the_record


@pytest.mark.slow
def test_reference_log_is_of_the_shape_of_the_goals():
    generator = LogGenerator(reference_shape(50_000, 10_000))
    data = b"".join(generator.batches())
    expected = generator.expected()
    share = {name: count / expected.records for name, count in expected.by_type.items()}

    assert 10.5 < expected.records / expected.batches < 11.5
    assert 62 < expected.bytes / expected.records < 68
    assert share["PartitionChangeRecord"] == pytest.approx(0.75, abs=0.02)
    assert share["PartitionRecord"] == pytest.approx(0.21, abs=0.02)
    assert share["NoOpRecord"] == pytest.approx(0.025, abs=0.002)
    assert share["ConfigRecord"] == pytest.approx(0.007, abs=0.002)
    assert described(expected).startswith(f"{expected.records:,} records in {expected.batches:,} batches, ")
    found = replay_runs(walk_runs([data]))
    assert expected_of(found.image) == expected.state
    assert found == by_the_record([data])


@pytest.mark.slow
def test_diverse_log_has_few_equal_lists():
    generator = LogGenerator(diverse_shape(50_000, 7_500))
    data = b"".join(generator.batches())
    expected = generator.expected()

    assert 11 < expected.records / expected.batches < 12.5
    assert 60 < expected.bytes / expected.records < 65
    assert expected.bodies > 0.6 * expected.by_type["PartitionChangeRecord"]
    assert expected.lists > 0.5 * expected.by_type["PartitionRecord"] + 7_500
    assert (expected.brokers, expected.transactions > expected.aborted) == (60, True)
    assert f"{expected.bodies:,} different bodies" in described(expected)
    found = replay_runs(walk_runs([data]))
    assert expected_of(found.image) == expected.state
    assert found == by_the_record([data])


def test_no_ops_are_as_many_as_the_shape_says():
    generator = LogGenerator(Shape(records=3_000, no_op_permille=100))
    for _ in generator.batches():
        pass
    expected = generator.expected()

    assert expected.by_type["NoOpRecord"] == pytest.approx(0.1 * expected.records, abs=5)
