"""Runs that break an invariant because the nodes do what released Kafka does, and do not if it is mended."""

from __future__ import annotations

import pytest

from kafkactl.simulator.campaign import outcome_of, quorum_of
from tests.campaigns.simulator.kafka_faults import EQUAL_PAUSES, UNREAD_VOTERS, UNSYNCED_START, KafkaFault, causes_of
from tests.campaigns.simulator.ledger import CELLS, quorum_for


@pytest.mark.parametrize(
    ("case", "seconds", "seed", "invariant", "fault"),
    [
        (("voter-change", "3.9", 5), 5, 1491, "voter-sets-overlap", UNREAD_VOTERS),
        (("voter-change", "3.9", 5), 10, 247, "voter-sets-overlap", UNREAD_VOTERS),
        (("chaos", "3.9", 4), 5, 12, "majority-has-committed", UNSYNCED_START),
        (("chaos", "4.4", 3), 5, 397, "majority-has-committed", UNSYNCED_START),
        (("voter-change", "3.9", 4), 5, 14519, "liveness", EQUAL_PAUSES),
        (("voter-change", "3.9", 3), 5, 18128, "liveness", EQUAL_PAUSES),
    ],
)
def test_run_breaks_by_what_kafka_does(
    case: tuple[str, str, int], seconds: int, seed: int, invariant: str, fault: KafkaFault
) -> None:
    cell = next(cell for cell in CELLS if cell[:3] == case and cell.length.seconds == seconds)
    quorum = quorum_for(quorum_of(cell.asked)[0], seed)
    outcome = outcome_of(cell.asked, quorum, seed, traced=False)
    assert outcome.violations[0].invariant == invariant
    assert causes_of(cell.asked, quorum, seed) == [fault]
