"""Commands of a live cluster, changes and questions, at each request of which something happens to a node.

The rules are those of `fault_cases`. The answer to a question is a state of the cluster during the question. A fact
that could not be read is an error or a finding, never an empty answer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from kafkactl.cluster.api.list import list_nodes
from kafkactl.cluster.io.metadata_fetch import fetch_metadata_log
from kafkactl.core.errors import KafkactlError
from kafkactl.features.api.description import describe as describe_features
from kafkactl.kafka.client import Limits
from kafkactl.protocol.record_batch import decode_header
from kafkactl.quorum.api.observation import describe as describe_quorum
from kafkactl.quorum.change.ports import QuorumWaitPolicy
from tests.fakes.proxy import Fault
from tests.fakes.troubled_quorum import Moment, TroubledQuorum
from tests.kafka.fault_cases import (
    CHANGES,
    EVERY_CHANGE,
    HANGS_AFTER_S,
    KEYS,
    LIMITS,
    NAMES,
    PATIENT,
    SPEED,
    Change,
    Quorum,
    Report,
    client_for,
    effects_of,
    run_to_the_end,
)
from tests.kafka.kept_cases import CaseEnd

_PHASES = 7


@dataclass(frozen=True)
class Question:
    """A command that only reads: how it is asked, and what is wrong with its answer of a quorum, if anything."""

    name: str
    ask: Callable[[Quorum, Limits], Callable[[TroubledQuorum], Iterable[str]]]

    @property
    def quorum(self) -> dict[str, object]:
        """Return a quorum of three voters and a controller that only follows."""
        return {"controllers": 4, "voters": (1, 2, 3), "metadata_version": 25}


@dataclass(frozen=True)
class MomentCase:
    """Something that happens at the `at`-th request of a kind, counted from 0."""

    command: Change | Question
    request: str
    at: int
    trouble: Moment | Fault

    def __str__(self) -> str:
        return f"{self.command.name}, {self.request} {self.at + 1}: {self.trouble.name.lower()}"


def _quorum(quorum: Quorum, limits: Limits) -> Callable[[TroubledQuorum], Iterable[str]]:
    with client_for(quorum, limits) as client:
        answer = describe_quorum(client, node_timeout_ms=limits.request_timeout_ms)

    def wrong(troubled: TroubledQuorum) -> Iterable[str]:
        state = answer.state
        if state.cluster_id not in (None, troubled.cluster_id) and not answer.findings:
            yield f"another cluster is shown: {state.cluster_id}"
        if state.cluster_id == troubled.cluster_id:
            if state.has_leader and {voter.id for voter in state.voters} != set(troubled.voters):
                yield f"voters {state.voters}"
            if state.has_leader and not (state.leader_id in troubled.voters and 3 <= (state.leader_epoch or 0) < 99):
                yield f"leader {state.leader_id} in epoch {state.leader_epoch}"
        if not state.has_leader and not answer.findings:
            yield "no leader, and no finding says so"

    return wrong


def _features(quorum: Quorum, limits: Limits) -> Callable[[TroubledQuorum], Iterable[str]]:
    with client_for(quorum, limits) as client:
        answer = describe_features(client)

    def wrong(troubled: TroubledQuorum) -> Iterable[str]:
        if not answer.nodes:
            yield "no node is shown"
        levels = {feature.name: feature.finalized for feature in answer.features if feature.finalized}
        if answer.finalized_epoch is not None and levels != troubled.levels:
            yield f"levels {levels}"
        if answer.finalized_epoch is None and not answer.findings:
            yield "no level, and no finding"

    return wrong


def _nodes(quorum: Quorum, limits: Limits) -> Callable[[TroubledQuorum], Iterable[str]]:
    with client_for(quorum, limits) as client:
        answer = list_nodes(client)

    def wrong(troubled: TroubledQuorum) -> Iterable[str]:
        ids = {node.id for node in answer.nodes}
        if not ids:
            yield "no node is listed"
        if ids != set(troubled.nodes) and not answer.findings:
            yield f"nodes {sorted(ids)}, and no finding"

    return wrong


def _log(quorum: Quorum, limits: Limits) -> Callable[[TroubledQuorum], Iterable[str]]:
    with client_for(quorum, limits) as client:
        answer = fetch_metadata_log(client)
    data = b"".join(answer.pieces())

    def wrong(troubled: TroubledQuorum) -> Iterable[str]:
        if not data:
            yield "an empty log"
        if not troubled.holds(data):
            yield "a log that the cluster never had"
        ends, at = 0, 0
        while at < len(data):
            header = decode_header(data, at)
            ends, at = header.last_offset + 1, header.end
        if ends < answer.high_watermark:
            yield f"a log that ends at {ends}, of which {answer.high_watermark} is committed"

    return wrong


QUESTIONS = (
    Question("quorum describe", _quorum),
    Question("features describe", _features),
    Question("nodes list", _nodes),
    Question("metadata log", _log),
)


def requests_of(command: Change | Question, folder: Path) -> Counter[str]:
    """Return how many requests of each kind an undisturbed run makes."""
    folder.mkdir(parents=True, exist_ok=True)
    with TroubledQuorum(**command.quorum) as quorum:
        if isinstance(command, Change):
            report = run_to_the_end(command, quorum, folder)
            assert (report.outcome, sorted(report.claimed)) == ("done", sorted(command.effects)), report
        else:
            assert list(command.ask(quorum, PATIENT)(quorum)) == []
        return Counter(NAMES[key] for key in quorum.network.passed if key in NAMES)


def cases_of(command: Change | Question, counted: Counter[str]) -> Iterable[MomentCase]:
    """Yield everything that can happen, in each phase between the first request of a kind and the last."""
    troubles = (*Moment, *(() if isinstance(command, Change) else Fault))
    for name, count in sorted(counted.items()):
        phases = sorted({count * phase // _PHASES for phase in range(_PHASES)} | {count - 1})
        for at in range(count) if name in CHANGES else phases:
            for trouble in troubles:
                yield MomentCase(command, name, at, trouble)


def run_case(case: MomentCase, folder: Path) -> CaseEnd:
    """Run the command with the trouble in its way; a change then again without; say what must not have been."""
    folder.mkdir(parents=True, exist_ok=True)
    with TroubledQuorum(**case.command.quorum) as quorum:
        if isinstance(case.trouble, Moment):
            quorum.await_moment(case.trouble, KEYS[case.request], spare=case.at)
        else:
            quorum.network.arm(case.trouble, KEYS[case.request], spare=case.at)
        began = time.monotonic()
        report, wrong = _run_command(case.command, quorum, folder)
        seconds = time.monotonic() - began
        if seconds > HANGS_AFTER_S + _waits_s(case.command):
            wrong.append(f"it took {seconds:.0f} s")
        struck = quorum.happened is not None or bool(quorum.network.struck)
        if quorum.strayed:
            wrong.append(f"changed in another cluster: {quorum.strayed}")
        quorum.network.disarm()
        quorum.heal()
        if isinstance(case.command, Change):
            again = run_to_the_end(case.command, quorum, folder)
            if again.outcome not in ("done", "nothing-to-do"):
                wrong.append(f"run again it ended {again}")
            if Counter(effects_of(quorum)) != Counter(case.command.effects):
                wrong.append(f"effects in the end: {effects_of(quorum)}")
    return CaseEnd(str(case), report.outcome, round(seconds, 1), struck, tuple(wrong))


def _waits_s(command: Change | Question) -> float:
    """Return how long a command may wait for a new voter to catch up, by --catch-up-timeout, which no fault makes
    longer."""
    return QuorumWaitPolicy().catch_up_ms / 1000 / SPEED if isinstance(command, Change) else 0.0


def _run_command(command: Change | Question, quorum: TroubledQuorum, folder: Path) -> tuple[Report, list[str]]:
    if isinstance(command, Change):
        report = command.run(quorum, folder, LIMITS)
        return report, list(_wrong(command, report, effects_of(quorum), quorum))
    try:
        wrong = list(command.ask(quorum, LIMITS)(quorum))
    except KafkactlError as error:
        return Report(outcome=f"exit {error.exit_code}", error=error.id), []
    return Report(outcome="answered"), wrong


def _wrong(change: Change, report: Report, effects: list[object], quorum: TroubledQuorum) -> Iterable[str]:
    if twice := [effect for effect, count in Counter(effects).items() if count > 1]:
        yield f"done twice: {twice}"
    if report.unknown and not any(KEYS[name] in quorum.network.passed for name in CHANGES):
        yield f"called unknown, and nothing was sent: {report.unknown}"
    if missing := [claim for claim in report.claimed if claim not in effects]:
        yield f"claimed, and not done: {missing}"
    if silent := [effect for effect in effects if effect not in report.claimed and effect not in report.unknown]:
        yield f"done, and not told: {silent} ({report})"
    if report.outcome == "done" and Counter(effects) != Counter(change.effects):
        yield f"called done with {effects}"


def every_case(folder: Path) -> list[MomentCase]:
    """Return all commands, counted undisturbed first."""
    commands = (*EVERY_CHANGE, *QUESTIONS)
    counted = {command.name: requests_of(command, folder / command.name) for command in commands}
    return [case for command in commands for case in cases_of(command, counted[command.name])]
