"""quorum-state: what `FileQuorumStateStore` of Kafka 4.4.0 reads we read alike, and what it refuses we refuse."""

from __future__ import annotations

import json
import random

import pytest

from kafkactl.metadata.log.quorum_state import QuorumStateFile, decode_quorum_state
from tests.lab.harness.pool import Pool
from tests.lab.oracles.messages import Oracle
from tests.metadata.log.quorum_states import READ, REFUSED, V0, V1
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import mutated

CONTENTS = [content.encode() for content, _ in [*READ, *REFUSED]]


@pytest.fixture(scope="module")
def oracle(lab_pool: Pool):
    with Oracle("4.4.0", pool=lab_pool) as opened:
        yield opened


def ours(data: bytes) -> str:
    state = outcome(decode_quorum_state, data)
    if isinstance(state, QuorumStateFile):
        return f"OK {state.leader_id}:{state.leader_epoch}:{state.voted_id}"
    return "ERROR"


@pytest.mark.parametrize("data", CONTENTS)
def test_table_of_the_unit_tests_is_kafkas(oracle: Oracle, data: bytes):
    answer = oracle.ask("quorum-state", data)
    assert (answer if answer.startswith("OK") else "ERROR") == ours(data)


def test_changed_fields_are_read_as_by_kafka(oracle: Oracle):
    rng = random.Random(4)
    values = (0, -1, 1.5, 2**31, 2**63, -(2**40), True, None, "1", "", [], {}, [{"voterId": 2}], [{"voterId": None}])
    for content in (V0, V1):
        for name in json.loads(content):
            for value in values:
                data = json.dumps(json.loads(content) | {name: value}).encode()
                answer = oracle.ask("quorum-state", data)
                assert (answer if answer.startswith("OK") else "ERROR") == ours(data), data
    for data in [content.encode() for content in (V0, V1)] * 200:
        changed = mutated(rng, data)
        answer = oracle.ask("quorum-state", changed)
        assert (answer if answer.startswith("OK") else "ERROR") == ours(changed), changed
