"""Changes of a real quorum over a network that fails: what was done there is counted in its metadata log.

A thinned set of tests/kafka/test_change_faults.py, to see that the quorum simulated there is no kinder than a
real one.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafkactl.cluster.io.metadata_fetch import iterate_metadata_log
from kafkactl.features.plan.request import Operation
from kafkactl.kafka.client import Limits
from kafkactl.kafka.retries import Backoff
from kafkactl.net import transport
from kafkactl.net.transport import Address
from kafkactl.protocol.control_records import ControlType, decode_control_record
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.record_batch import decode_batches
from tests.fakes.proxy import Fault, FaultPlan, FaultyProxy
from tests.kafka.fault_cases import KEYS, Report, features_change, reassignment_to
from tests.kafka.fault_proof import REAL, record
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf

LIMITS = Limits(timeout_ms=20_000, request_timeout_ms=4_000, backoff=Backoff(first_ms=20, rounds=3))
LEVELS = (21, 22)
_FEATURE_LEVEL = 12


@dataclass
class RealQuorum:
    """A running cluster behind a network of proxies."""

    cluster: KafkaCluster
    network: FaultPlan = field(default_factory=FaultPlan)

    @property
    def cluster_id(self) -> str:
        return self.cluster.cluster_id

    @property
    def addresses(self) -> list[Address]:
        return [self.cluster.controller_address(controller_id) for controller_id in self.cluster.controller_ids]

    def effects(self) -> list[Any]:
        """Return all voter sets and levels that the log holds, in order, each change once."""
        found: list[Any] = []
        with self.cluster.client() as client:
            for part in iterate_metadata_log(client):
                for batch in decode_batches(part.data):
                    found += _effects(batch.header.is_control, batch.records)
        return [record for record, before in zip(found, [None, *found], strict=False) if record != before]


def _effects(is_control: bool, records: Sequence[Any]) -> Iterator[Any]:
    for entry in records:
        if is_control:
            control = decode_control_record(entry.key, entry.value)
            if control.type is ControlType.KRAFT_VOTERS:
                yield "voters", tuple(sorted(voter["VoterId"] for voter in control.data["Voters"]))
            continue
        record = decode_record(entry.value)
        if record.api_key == _FEATURE_LEVEL and record.data["Name"] == "metadata.version":
            yield "level", record.data["FeatureLevel"]


@pytest.fixture
def real(new_cluster: ClusterOf, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealQuorum]:
    """Yield two controllers of 4.3.1, of which 1 votes; whatever our client sends goes through a proxy."""
    cluster = new_cluster("4.3.1", controllers=2, voters=(1,), brokers=0, metadata_version="3.9")
    cluster.start()
    quorum = RealQuorum(cluster)
    with ExitStack() as stack:
        places = {
            address: stack.enter_context(FaultyProxy(address, quorum.network)).address for address in quorum.addresses
        }

        def resolved(address: Address) -> list[Any]:
            at = places.get(address, address)
            return [(socket.AF_INET, (at.host, at.port))]

        monkeypatch.setattr(transport, "_resolved", resolved)
        yield quorum


Run = Callable[..., Report]


def changes() -> Iterator[tuple[str, Run, Any, Any]]:
    """Yield requests that change something, there and back: name, change, what it adds to the log."""
    there = features_change(Operation.UPGRADE, metadata_version=LEVELS[1])
    back = features_change(Operation.DOWNGRADE, metadata_version=LEVELS[0])
    yield "UpdateFeatures", there, ("level", LEVELS[1]), ("level", "metadata.version", LEVELS[1])
    yield "AddRaftVoter", reassignment_to("1,2", "--allow-size", speed=1), ("voters", (1, 2)), ("add", 2)
    yield "UpdateFeatures", back, ("level", LEVELS[0]), ("level", "metadata.version", LEVELS[0])
    yield "RemoveRaftVoter", reassignment_to("1", "--allow-size", speed=1), ("voters", (1,)), ("remove", 2)


def run_faults(real: RealQuorum, folder: Path, faults: Sequence[Fault]) -> list[tuple[str, Fault, str, str]]:
    """Run each fault in each of the requests: what was said, and what must not have been."""
    outcomes = []
    for fault in faults:
        for name, run, effect, claim in changes():
            before = real.effects()
            # The first UpdateFeatures of a change only asks whether it would be taken.
            real.network.arm(fault, KEYS[name], spare=int(name == "UpdateFeatures"))
            result = run(real, folder, LIMITS)
            made = real.effects()[len(before) :]
            wrong = [] if made in ([], [effect]) else [f"in the log: {made}"]
            if result.claimed != ((claim,) if made else ()) and not result.unknown:
                wrong.append(f"told {result}, made {made}")
            real.network.disarm()
            again = run(real, folder, LIMITS)
            final = real.effects()[len(before) :]
            if final != [effect] or again.outcome not in ("done", "nothing-to-do"):
                wrong.append(f"run again: {again}, in the log: {final}")
            outcomes.append((name, fault, result.outcome, "; ".join(wrong)))
    return outcomes


def test_outcome_is_known_after_a_lost_answer_of_a_real_quorum(real: RealQuorum, tmp_path: Path) -> None:
    outcomes = run_faults(real, tmp_path, [Fault.CUT_AFTER])
    assert [(name, outcome, wrong) for name, _, outcome, wrong in outcomes] == [
        (name, "done", "") for name, *_ in changes()
    ]
    assert real.network.struck == len(outcomes)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_change_over_a_failing_network_has_at_most_one_effect(real: RealQuorum, tmp_path: Path) -> None:
    outcomes = run_faults(real, tmp_path, list(Fault))
    outcomes = [(name, outcome) for name, _, outcome, _ in outcomes]
    rows = [
        f"| {name} | {sum(outcome == name for outcome, _ in outcomes)} | "
        + " | ".join(str(outcomes.count((name, outcome))) for outcome in ("done", "failed", "unknown"))
        + " |"
        for name in dict.fromkeys(name for name, _ in outcomes)
    ]
    wrong = [f"- wrong: {name}, {fault.name.lower()}: {text}" for name, fault, _, text in outcomes if text]
    head = (
        f"Kafka 4.3.1, two controllers; {datetime.now(UTC):%Y-%m-%d}; {real.network.struck} faults struck, "
        f"{len(wrong)} cases with a double effect or an outcome that was not the truth. Effects are counted in "
        "the metadata log."
    )
    table = ["| request | cases | done | failed | unknown |", "|---|---|---|---|---|", *rows]
    record(REAL, "\n".join([head, "", *table, *itertools.chain([""] if wrong else [], wrong)]))
    assert wrong == []
    assert real.network.struck == len(outcomes)
