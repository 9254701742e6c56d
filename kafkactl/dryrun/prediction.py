"""Prediction as a value: verdict, findings, and effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import changed, frozen
from kafkactl.dryrun.answer import Effects, PredictionDict, Step
from kafkactl.dryrun.controller.appended_records import Appended, Operation, measured
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.metadata.image.model import Broker
from kafkactl.protocol.schema.error_codes import error_code

SHOWN_CHANGES: Final = 1_000


class Verdict(StrEnum):
    """Verdict of a prediction.

    OK; DEGRADED: works, with less safety than before; REFUSED: nothing of it would be accepted; UNAVAILABLE: a
    partition that has a leader loses it, or the quorum its majority; WEDGED: accepted, and can never commit; UNKNOWN:
    a log cannot tell.
    """

    OK = "ok"
    DEGRADED = "degraded"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    WEDGED = "wedged"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """Return the exit code of the process for a prediction with this verdict."""
        return _EXIT_CODES[self]

    @property
    def weight(self) -> int:
        """Return the order of the verdict by severity: the heaviest of several is the verdict of the whole."""
        return _WEIGHTS.index(self)


_EXIT_CODES: Final = {
    Verdict.OK: 0,
    Verdict.DEGRADED: 0,
    Verdict.REFUSED: 3,
    Verdict.UNAVAILABLE: 7,
    Verdict.WEDGED: 7,
    Verdict.UNKNOWN: 6,
}
_WEIGHTS: Final = (
    Verdict.OK,
    Verdict.DEGRADED,
    Verdict.REFUSED,
    Verdict.UNKNOWN,
    Verdict.UNAVAILABLE,
    Verdict.WEDGED,
)


@frozen
class Counts:
    """Partitions of the cluster after the event.

    `leader_changes` counts partitions whose leader is another one than before, none included.
    """

    total: int
    leader_changes: int
    """Number of partitions whose leader is another one than before, none included."""
    offline: int
    """Without a leader."""
    under_min_isr: int
    """Fewer in sync than min.insync.replicas asks for, leaderless ones included."""
    at_min_isr: int

    to_dict = by_fields


@frozen(kw_only=False)
class Outcome:
    """A way in which a partition may end."""

    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    to_dict = by_fields


@frozen
class Change:
    """A partition that changes. -1 means no leader.

    `elected_uncleanly`: a replica that was not known to be in sync led it on the way; it may have recovered since,
    which brings no record back.
    """

    topic: str
    partition: int
    leader_before: int
    leader_after: int
    isr_before: tuple[int, ...]
    isr_after: tuple[int, ...]
    elr_after: tuple[int, ...]
    last_known_elr_after: tuple[int, ...]
    leader_epoch_after: int
    recovering_after: bool
    """True if the leader is not known to have been in sync."""
    elected_uncleanly: bool
    min_isr: int
    replicas_after: tuple[int, ...]
    alternatives: tuple[Outcome, ...] = ()
    """Possible outcomes, if the order of events decides."""

    @property
    def certain(self) -> bool:
        """Return True if there is only one outcome."""
        return not self.alternatives

    @property
    def loses_leader(self) -> bool:
        """Return True if the partition has a leader before and may have none after."""
        return self.leader_before >= 0 and any(outcome.leader < 0 for outcome in self.outcomes)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return every possible outcome."""
        last = Outcome(self.leader_after, self.isr_after, self.elr_after, self.last_known_elr_after)
        return self.alternatives or (last,)

    @property
    def under_min_isr(self) -> bool:
        """Return True if the partition may end with too few replicas in sync."""
        return any(outcome.leader < 0 or len(outcome.isr) < self.min_isr for outcome in self.outcomes)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Return the sort key by severity: a lost leader, no leader, not writable, moved."""
        return (
            not self.loses_leader,
            self.leader_after >= 0,
            not self.under_min_isr,
            not self.elected_uncleanly,
            self.leader_before == self.leader_after,
            self.topic,
            self.partition,
        )

    to_dict = json_of(
        "topic", "partition", "leader_before", "leader_after", "isr_before", "isr_after", "elr_after",
        "last_known_elr_after", "leader_epoch_after", "recovering_after", "replicas_after", "certain", "alternatives",
    )  # fmt: skip


@frozen
class ServerError:
    """Error that the controller would return instead of a change."""

    code: int
    message: str | None

    @property
    def name(self) -> str:
        """Return Kafka's name of the code."""
        return error_code(self.code).name

    to_dict = json_of("code", "name", "message")


class Placed(NamedTuple):
    """Placement of leaders and replicas: the registered brokers, how many partitions each leads (-1: none does), and
    how many partitions have these replicas and this ISR."""

    brokers: Mapping[int, Broker]
    leaders: Counter[int]
    lists: Counter[tuple[tuple[int, ...], tuple[int, ...]]]


@frozen
class Prediction:
    """The result of a scenario on an image.

    `operations` are what the controller would write, in order; `effects` are the results of a scenario other than
    partitions, changes and records. `counts` and `appended` are None for a scenario that does not have them. `end`
    gives where replicas and leaders are afterwards, if that is quicker to have than by the records.
    """

    scenario: str
    input: Mapping[str, Any]
    verdict: Verdict
    facts: Facts
    findings: tuple[Finding, ...] = ()
    counts: Counts | None = None
    changes: Sequence[Change] = ()
    operations: Sequence[Operation] | None = None
    effects: Effects = field(default_factory=Effects)
    assumptions: tuple[str, ...] = ()
    end: Callable[[], Placed] | None = field(default=None, repr=False)

    @property
    def appended(self) -> Appended | None:
        """Return the size of the appended records."""
        return None if self.operations is None else measured(self.operations, self.facts.rules)

    @property
    def reported(self) -> PredictionDict:
        """Return the part of `dryrun.prediction` that does not depend on the source of the log."""
        return {
            "scenario": self.scenario,
            "input": dict(self.input),
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
            "effects": {
                **_NO_EFFECTS,
                "partitions": self.counts,
                "changes": list(self.changes[:SHOWN_CHANGES]),
                "changes_total": len(self.changes),
                "records_appended": self.appended,
                **self.effects,
                "results": [{**result, "message": result.get("message")} for result in self.effects.get("results", ())],
                "steps": [{**_NO_STEP, **step} for step in self.effects.get("steps", ())],
            },
            "assumptions": [*self.facts.assumptions, *self.assumptions],
        }

    to_dict = json_of("**reported")


_NO_EFFECTS: Final[Effects] = {
    "majority": None,
    "tolerates": None,
    "features": [],
    "server_error": None,
    "order": None,
    "worst": None,
    "sets": None,
    "stranded": None,
    "completes": None,
    "records_at_once": None,
    "voters": None,
    "alive": None,
    "counts": None,
    "state": None,
    "image_sha256": None,
    "differences": None,
    "starts": None,
    "log": None,
    "snapshot": None,
    "controller_load": None,
    "batches": None,
    "seconds": None,
    "simulation": None,
}
_NO_STEP: Final[Step] = {
    "number": None,
    "broker": None,
    "verdict": None,
    "partitions": None,
    "worst": None,
    "records_appended": None,
    "topic": None,
    "partition": None,
    "completes": None,
    "replicas_after": None,
    "adding_after": None,
    "removing_after": None,
    "features": None,
    "type": None,
}


def heaviest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the heaviest of several verdicts; OK for none."""
    return max(verdicts, key=lambda verdict: verdict.weight, default=Verdict.OK)


def findings_for(verdict: Verdict, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings of a request as they go with its verdict: a blocker stops all of it, so what stops a part is a
    warning."""
    for finding in findings:
        is_part = finding.severity is Severity.BLOCKER and not verdict.exit_code
        yield changed(finding, severity=Severity.WARNING) if is_part else finding
