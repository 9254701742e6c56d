"""Two runs that break an invariant because the nodes do what released Kafka does, and do not where it is mended."""

from __future__ import annotations

import pytest

from kafkactl.frozen import changed
from kafkactl.simulator.campaign import Asked, play, quorum_of
from tests.simulator.kafka_faults import UNREAD_VOTERS, UNSYNCED_START, KafkaFault, causes_of
from tests.simulator.ledger import PAUSE_US


@pytest.mark.parametrize(
    ("profile", "voters", "seed", "invariant", "fault"),
    [
        ("voter-change", (1, 2, 3), 185, "leader-completeness", UNREAD_VOTERS),
        ("chaos", (1, 2, 3, 4), 201, "majority-has-committed", UNSYNCED_START),
    ],
)
def test_a_run_breaks_by_what_kafka_does(
    profile: str, voters: tuple[int, ...], seed: int, invariant: str, fault: KafkaFault
) -> None:
    asked = Asked(profile=profile, release="3.9", voters=voters)
    quorum = changed(quorum_of(asked)[0], leaderless_pause_us=seed % 2 * PAUSE_US)
    outcome = play(asked, quorum, seed, traced=False)
    assert outcome.violations[0].invariant == invariant
    assert causes_of(asked, quorum, seed) == [fault]
