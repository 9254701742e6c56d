"""Broker ids that two processes use in turns, and snapshots that follow each other within few records."""

from __future__ import annotations

import pytest

from kafkactl.core.values import Uuid
from kafkactl.metadata.log.turns import BrokerStart, frequent_snapshots, ids_in_turns

SECOND = 1_000


def starts(*given: tuple[int, int, str], broker: int = 1) -> list[BrokerStart]:
    """Time in s, number of the process, host."""
    return [
        BrokerStart(
            broker=broker,
            offset=at,
            timestamp_ms=time_s * SECOND,
            incarnation=Uuid(bytes(15) + bytes([process])),
            addresses=(f"{host}:9092",),
        )
        for at, (time_s, process, host) in enumerate(given)
    ]


@pytest.mark.parametrize(
    ("given", "times"),
    [
        (((0, 1, "a"), (12, 2, "b"), (24, 3, "a"), (36, 4, "b"), (48, 5, "a")), 5),
        (((0, 1, "a"), (12, 2, "b"), (24, 3, "a")), 3),
        (((0, 1, "a"), (12, 2, "b")), None),
        (((0, 1, "a"), (12, 2, "a"), (24, 3, "a"), (30, 4, "a")), None),  # restarts
        (((0, 1, "a"), (12, 2, "b"), (24, 3, "c"), (36, 4, "d")), None),  # a new address at every start
        (((0, 1, "a"), (12, 2, "b"), (4000, 3, "a")), None),  # moved back much later
        (((0, 1, "a"), (1200, 2, "a"), (4000, 1, "a")), 3),  # a process that was there before is back
    ],
)
def test_id_used_in_turns_is_reported(given: tuple[tuple[int, int, str], ...], times: int | None) -> None:
    found = list(ids_in_turns([*starts(*given), *starts((0, 9, "z"), broker=7)]))
    assert [finding.subject for finding in found] == ([] if times is None else ["broker 1"])
    if times is not None:
        assert f"registered {times} times in turns" in found[0].message


@pytest.mark.parametrize(
    ("ends", "is_reported"),
    [((0, 500, 502, 504), True), ((500, 502), False), ((0, 100, 7300, 14500), False), ((500, 502, 9000), False)],
)
def test_frequent_snapshots_are_reported(ends: tuple[int, ...], is_reported: bool) -> None:
    assert bool(list(frequent_snapshots("d1", ends))) is is_reported
