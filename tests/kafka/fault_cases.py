"""A change of a fake quorum over a network in which one thing goes wrong, and what must be true of it whatever that is.

The invariant that is tested: no double effect, no hang, no guess. Effects are counted at the quorum. What the run says
it did is what was done; `unknown` is said only if the request of a change itself was hit; and the same change, run
again over a sound network, reaches the target with every effect there once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.values import Role
from kafkactl.features.api.change import change_features
from kafkactl.features.change.answer import change_outcome
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.files.journal import open_journal
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.schema.definitions import message
from kafkactl.quorum.change.goals import reassignment
from kafkactl.quorum.change.ports import QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out
from kafkactl.quorum.io.live_quorum import LiveQuorum
from tests.fakes.faulty_quorum import FaultyQuorum
from tests.fakes.proxy import Fault
from tests.fakes.scaled_clock import ScaledClock

LIMITS = Limits(timeout_ms=5_000, request_timeout_ms=600, backoff=Backoff(first_ms=5, rounds=3))
PATIENT = Limits(timeout_ms=30_000, request_timeout_ms=10_000, backoff=Backoff(first_ms=5, rounds=3))
SPEED = 5.0  # how much faster the waits of a reassignment pass; evidence of life grows old as much faster
HANGS_AFTER_S = 60.0
# What a busy machine makes of a sound quorum: threads that wait for a processor look like voters that do not fetch.
LOOKS_DOWN = frozenset(
    {"voter-not-alive", "target-voter-not-alive", "quorum-not-steady", "no-quorum-leader", "voter-lags"}
)
TRIES = 5
CHANGES = frozenset({"UpdateFeatures", "AddRaftVoter", "RemoveRaftVoter"})
READS = ("ApiVersions", "DescribeQuorum", "DescribeCluster", "DescribeConfigs", "Fetch")
KEYS: dict[str, int] = {name: message(f"{name}Request").api_key or 0 for name in (*READS, *sorted(CHANGES))}
NAMES = {key: name for name, key in KEYS.items()}


class Quorum(Protocol):
    """A quorum behind a network, fake or real."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def addresses(self) -> list[Address]: ...


@dataclass(frozen=True)
class Report:
    """Claims of a run: its outcome, what it claims, what it calls unknown, what was raised, and what stopped it."""

    outcome: str
    claimed: tuple[Any, ...] = ()
    unknown: tuple[Any, ...] = ()
    error: str = ""
    blockers: frozenset[str] = frozenset()

    @property
    def may_pass(self) -> bool:
        """Return True if a change stopped only because no voter seemed to follow: the refusal asks for a second run."""
        return self.outcome in ("refused", "partial") and bool(self.blockers) and self.blockers <= LOOKS_DOWN


@dataclass(frozen=True)
class Change:
    """A change to make: on which quorum, how, and what it takes to be done."""

    name: str
    quorum: dict[str, Any]
    run: Callable[[Quorum, Path, Limits], Report]
    effects: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """Fault in one request: the `at`-th of its kind, counted from 0."""

    change: Change
    request: str
    at: int
    fault: Fault

    def __str__(self) -> str:
        return f"{self.change.name}, {self.request} {self.at + 1}: {self.fault.name.lower()}"


@dataclass(frozen=True)
class Ended:
    """End of a case; `wrong` is what must not be."""

    case: Case
    outcome: str
    again: str
    seconds: float
    struck: int
    wrong: tuple[str, ...]


def client_for(quorum: Quorum, limits: Limits) -> Client:
    """Return a client of all controllers, bounded as a test needs it."""
    return Client(quorum.addresses, Role.CONTROLLER, limits=limits, randomness=lambda: 0.5)


def features_change(operation: Operation, **levels: int) -> Callable[[Quorum, Path, Limits], Report]:
    request = FeatureRequest(
        operation=operation, levels={name.replace("_", "."): level for name, level in levels.items()}
    )

    def run(quorum: Quorum, folder: Path, limits: Limits) -> Report:
        with client_for(quorum, limits) as client:
            try:
                done = change_features(
                    client, request, deadline=Deadline.after(12_000, client.clock), tell=lambda text: None
                )
            except KafkactlError as error:
                return Report(outcome=f"exit {error.exit_code}", error=error.id)
        moved = {change.name: change.after for change in done.plan.changes} | dict(request.levels)
        by = {
            outcome: {resolved.name for resolved in done.resolved if resolved.outcome is outcome}
            for outcome in (Outcome.DONE, Outcome.UNKNOWN)
        }
        return Report(
            outcome=change_outcome(done.plan, done.resolved, done.findings, dry_run=False).value,
            claimed=tuple(("level", name, moved[name]) for name in sorted(by[Outcome.DONE])),
            unknown=tuple(("level", name, moved[name]) for name in sorted(by[Outcome.UNKNOWN])),
        )

    return run


def reassignment_to(target: str, *overrides: str, speed: float = SPEED) -> Callable[[Quorum, Path, Limits], Report]:
    def run(quorum: Quorum, folder: Path, limits: Limits) -> Report:
        journal = str(folder / "journal.jsonl")
        goal = reassignment(target, overrides=overrides)
        try:
            with (
                client_for(quorum, limits) as client,
                LiveQuorum(client, node_timeout_ms=limits.request_timeout_ms) as world,
                open_journal(journal, subject="quorum", cluster_id=quorum.cluster_id) as kept,
            ):
                done = carry_out(world, goal, kept, policy=QuorumWaitPolicy(), clock=ScaledClock(speed))
        except KafkactlError as error:
            return Report(outcome=f"exit {error.exit_code}", error=error.id)
        by = {
            state: tuple((step.action.value, step.id) for step in done.steps if step.state.value == state)
            for state in ("done", "unknown")
        }
        return Report(
            outcome=done.outcome.value,
            claimed=tuple(change for change in by["done"] if change[0] != "wait"),
            unknown=by["unknown"],
            blockers=frozenset(finding.id for finding in blockers(done.findings)),
        )

    return run


_UP = Change(
    "levels raised in two steps",
    {"controllers": 2, "voters": (1, 2), "metadata_version": 20},
    features_change(Operation.UPGRADE, metadata_version=25, transaction_version=2),
    (("level", "metadata.version", 25), ("level", "transaction.version", 2)),
)
_DOWN = Change(
    "a level lowered",
    {"controllers": 2, "voters": (1, 2), "metadata_version": 25},
    features_change(Operation.DOWNGRADE, metadata_version=23),
    (("level", "metadata.version", 23),),
)
_GROW = Change("one voter to three", {"controllers": 3}, reassignment_to("1,2,3"), (("add", 2), ("add", 3)))
_REPLACE = Change(
    "the leader replaced",
    {"controllers": 4, "voters": (1, 2, 3)},
    reassignment_to("2,3,4"),
    (("add", 4), ("remove", 1)),
)
EVERY_CHANGE = (_UP, _DOWN, _GROW, _REPLACE)


def requests_of(change: Change, folder: Path) -> Counter[str]:
    """Return how many requests of each kind an undisturbed run makes."""
    folder.mkdir(parents=True, exist_ok=True)
    with FaultyQuorum(**change.quorum) as quorum:
        report = run_to_the_end(change, quorum, folder)
        assert (report.outcome, sorted(report.claimed)) == ("done", sorted(change.effects)), report
        return Counter(NAMES[key] for key in quorum.network.passed if key in NAMES)


def run_to_the_end(change: Change, quorum: Quorum, folder: Path) -> Report:
    """Return the change over a sound network, repeated as an operator would if the quorum was not seen to be
    alive."""
    for _ in range(TRIES):
        report = change.run(quorum, folder, PATIENT)
        if not report.may_pass:
            break
    return report


def cases_of(change: Change, counted: Counter[str]) -> Iterable[Case]:
    """Yield every fault in every request of a change; of the reads in the first, one in each phase between, and the
    last."""
    for name, count in sorted(counted.items()):
        places = range(count) if name in CHANGES else sorted({0, count // 4, count // 2, 3 * count // 4, count - 1})
        for at in places:
            for fault in Fault:
                yield Case(change, name, at, fault)


def run_case(case: Case, folder: Path) -> Ended:
    """Run the change with the fault in its way, then again without; say what must not have been."""
    folder.mkdir(parents=True, exist_ok=True)
    with FaultyQuorum(**case.change.quorum) as quorum:
        quorum.network.arm(case.fault, KEYS[case.request], spare=case.at)
        began = time.monotonic()
        report = case.change.run(quorum, folder, LIMITS)
        seconds = time.monotonic() - began
        wrong = list(_wrong(case, report, effects_of(quorum)))
        struck = quorum.network.struck
        quorum.network.disarm()
        again = run_to_the_end(case.change, quorum, folder)
        effects = effects_of(quorum)
        if again.outcome not in ("done", "nothing-to-do"):
            wrong.append(f"run again it ended {again}")
        if Counter(effects) != Counter(case.change.effects):
            wrong.append(f"effects in the end: {effects}")
        if seconds > HANGS_AFTER_S:
            wrong.append(f"it took {seconds:.0f} s")
    return Ended(case, report.outcome, again.outcome, seconds, struck, tuple(wrong))


def effects_of(quorum: FaultyQuorum) -> list[Any]:
    """Return what was done there, one by one."""
    found: list[Any] = []
    for name, what in quorum.effects:
        if name == "UpdateFeatures":
            found += [("level", feature, level) for feature, level in what]
        else:
            found.append((name, what))
    return found


def _wrong(case: Case, report: Report, effects: list[Any]) -> Iterable[str]:
    twice = [effect for effect, count in Counter(effects).items() if count > 1]
    if twice:
        yield f"done twice: {twice}"
    if report.unknown and case.request not in CHANGES:
        yield f"called unknown: {report.unknown}"
    if missing := [claim for claim in report.claimed if claim not in effects]:
        yield f"claimed, and not done: {missing}"
    if silent := [effect for effect in effects if effect not in report.claimed and effect not in report.unknown]:
        yield f"done, and not told: {silent} ({report})"
    if report.outcome == "done" and Counter(effects) != Counter(case.change.effects):
        yield f"called done with {effects}"
    if case.fault.answers and case.request in CHANGES and report.outcome != "done" and not report.may_pass:
        yield f"the answer came, and it ended {report}"
