"""Outcome of a voter change, from the answer and from the quorum observed afterwards.

Rule: an answer alone never decides. REQUEST_TIMED_OUT says "later", "never" and "perhaps already" with one code;
"not the leader" may come after the record was appended; no answer at all says nothing. So each answer is looked up in
a table for what it leaves open, and the voter sets that were read afterwards, on another connection, decide: done,
failed, still pending, or unknown. What may still happen without a request is said, because a removal that timed out
commits minutes later when a paused voter comes back (measured on 3.9.2 to 4.3.1).
Sources: raft `AddVoterHandler`, `RemoveVoterHandler`, KIP-853; the texts are the servers' own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from kafkactl.cluster.quorum.majority import shown
from kafkactl.cluster.quorum.state import Mode, Progress, QuorumState, ids_of, is_committed, progress
from kafkactl.core.findings import NOT_AUTHORISED, Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import CLUSTER_DENIED
from kafkactl.quorum.step import Action, Step

# How long a request that got no answer may lie unread in a server before it can be taken for lost.
UNREAD_MS = 10_000


@frozen
class Answer:
    """The answer to a request: an error code and text; code None if nothing came back (time-out, connection lost).

    `next_step` is what to do about the code, if the sender knows it.
    """

    code: int | None
    message: str = ""
    next_step: str = ""

    @property
    def name(self) -> str:
        """Return the name of the code: `REQUEST_TIMED_OUT`, or `no answer`."""
        return "no answer" if self.code is None else error_code(self.code).name


class Meaning(StrEnum):
    """Meaning of an answer.

    committed: it is done. open: the record may be in the log, now or later. later: certainly not in the log, the same
    request may succeed another time. refused: certainly not in the log, and asking again is useless. moot: the set was
    as wanted already, or is another than was thought; only reading shows which.
    """

    COMMITTED = "committed"
    OPEN = "open"
    LATER = "later"
    REFUSED = "refused"
    MOOT = "moot"


@frozen
class ErrorMeaning:
    """A row: answers of this code, with this phrase in the text, mean that. `wait_for`: what to do before more."""

    code: int | None
    phrase: str = ""
    meaning: Meaning
    words: str
    wait_for: str = ""


_GATE = "Go back to waiting until it has caught up."
_READ = "Read the quorum; send nothing before it is known."
ERROR_MEANINGS = (
    ErrorMeaning(code=0, meaning=Meaning.COMMITTED, words="a majority of the new set has the record"),
    ErrorMeaning(
        code=None, meaning=Meaning.OPEN, words="nothing came back: it may have been taken or not", wait_for=_READ
    ),
    ErrorMeaning(
        code=6, meaning=Meaning.OPEN, words="the leader left office; it may have appended first", wait_for=_READ
    ),
    ErrorMeaning(
        code=7,
        phrase="previous voter change",
        meaning=Meaning.LATER,
        words="the leader still holds an earlier voter change",
        wait_for="Wait until that one is committed or given up (2 s), and read what it was.",
    ),
    ErrorMeaning(
        code=7,
        phrase="commit the latest voter change",
        meaning=Meaning.LATER,
        words="an earlier voter change is in the log and not committed",
        wait_for="Wait until it commits: voters that do not fetch have to come back.",
    ),
    ErrorMeaning(code=7, phrase="lagging behind", meaning=Meaning.LATER, words="it has not caught up", wait_for=_GATE),
    ErrorMeaning(
        code=7,
        phrase="API_VERSIONS returned an error",
        meaning=Meaning.LATER,
        words="the leader cannot reach the endpoint that was given",
        wait_for="Check the endpoint as seen from the leader.",
    ),
    ErrorMeaning(
        code=7,
        phrase="not ready to receive requests",
        meaning=Meaning.LATER,
        words="the leader's connection to it is not ready",
        wait_for="Ask again in a moment.",
    ),
    ErrorMeaning(
        code=7, meaning=Meaning.OPEN, words="not done within 2 s; the record may be in the log", wait_for=_READ
    ),
    ErrorMeaning(
        code=8, meaning=Meaning.LATER, words="the leader is shutting down", wait_for="Wait for the next leader."
    ),
    ErrorMeaning(code=CLUSTER_DENIED, meaning=Meaning.REFUSED, words="this user lacks Alter on the cluster"),
    ErrorMeaning(
        code=35, meaning=Meaning.REFUSED, words="the quorum is static, or the node is too old for the request"
    ),
    ErrorMeaning(code=41, meaning=Meaning.LATER, words="not the active controller", wait_for="Ask the one that is."),
    ErrorMeaning(code=42, meaning=Meaning.REFUSED, words="the request names no usable endpoint or kraft.version range"),
    ErrorMeaning(code=95, meaning=Meaning.REFUSED, words="some voter does not support it or was not heard of yet"),
    ErrorMeaning(code=104, meaning=Meaning.REFUSED, words="that controller belongs to another cluster"),
    ErrorMeaning(code=116, meaning=Meaning.REFUSED, words="no controller with that id is registered"),
    ErrorMeaning(code=126, meaning=Meaning.MOOT, words="a voter with that id is in the set already"),
    ErrorMeaning(code=127, meaning=Meaning.MOOT, words="no such voter, another directory, or the last voter"),
)
_UNKNOWN_CODE = ErrorMeaning(
    code=-1, meaning=Meaning.OPEN, words="an answer that this request does not have", wait_for=_READ
)


def error_meaning_of(answer: Answer) -> ErrorMeaning:
    """Return the row for an answer: the first whose code and phrase fit. A code that is in no row leaves all open."""
    fitting = (row for row in ERROR_MEANINGS if row.code == answer.code and row.phrase in answer.message)
    return next(fitting, _UNKNOWN_CODE)


class Known(StrEnum):
    """Outcome of a step as the re-read voter set shows it."""

    DONE = "done"
    FAILED = "failed"
    STILL_PENDING = "still-pending"
    UNKNOWN = "unknown"


@frozen
class Verdict:
    """Outcome of a step. `retry`: the step certainly had no effect, so it may be planned again.

    `may_happen` are sentences on what can still come without a request; empty if nothing can.
    """

    known: Known
    error_meaning: ErrorMeaning
    retry: bool
    may_happen: tuple[str, ...]
    findings: tuple[Finding, ...]


def judge(
    step: Step, answer: Answer, reads: Sequence[QuorumState], *, watched_ms: int = 0, unread_ms: int = UNREAD_MS
) -> Verdict:
    """Return the outcome of a step that was sent once.

    `reads` are the observations of the quorum after the answer, oldest first, without those in which no node answered;
    `watched_ms` is the time since the step was sent, `unread_ms` the time within which a node reads it.
    """
    error_meaning = error_meaning_of(answer)
    is_read = answer.code is not None or watched_ms >= unread_ms
    known = _known(step, error_meaning, reads, is_read=is_read)
    is_open = known in (Known.STILL_PENDING, Known.UNKNOWN)
    return Verdict(
        known=known,
        error_meaning=error_meaning,
        retry=known is Known.FAILED and error_meaning.meaning in (Meaning.LATER, Meaning.OPEN, Meaning.COMMITTED),
        may_happen=tuple(_may_happen(step, reads)) if is_open else (),
        findings=tuple(_findings(step, answer, error_meaning, known, reads)),
    )


def is_applied(step: Step, state: QuorumState) -> bool:
    """Return True if the voter set that is seen shows the step, committed or not."""
    if step.action is Action.ADD:
        return step.key in state.voter_keys
    if step.action is Action.REMOVE:
        return step.key not in state.voter_keys
    return state.mode is Mode.DYNAMIC


def _known(step: Step, error_meaning: ErrorMeaning, reads: Sequence[QuorumState], *, is_read: bool) -> Known:
    heard = [state for state in reads if state.has_leader]
    if not heard:
        no_record = error_meaning.meaning in (Meaning.LATER, Meaning.REFUSED)
        return Known.FAILED if no_record else Known.UNKNOWN
    if is_applied(step, heard[-1]):
        certain = error_meaning.meaning is Meaning.COMMITTED or _committed(step, heard)
        return Known.DONE if certain else Known.STILL_PENDING
    if error_meaning.meaning in (Meaning.LATER, Meaning.REFUSED, Meaning.MOOT):
        return Known.FAILED
    return Known.FAILED if is_read and _settled_without(step, heard) else Known.STILL_PENDING


def _committed(step: Step, heard: Sequence[QuorumState]) -> bool:
    """Return True if a set with the step was observed, and all records up to it were committed later in the
    same epoch."""
    last = heard[-1]
    return any(is_applied(step, first) and is_committed(first, last) for first in heard)


def _settled_without(step: Step, heard: Sequence[QuorumState]) -> bool:
    """Return True if a leader without the step in its set went on to commit more than it had then, in the same epoch.

    So it was the leader of a majority after that sight, and a record that is not in its log is truncated wherever it
    is. To have committed what it had then would not do: a leader that is cut off can say that, too.
    """
    last = heard[-1]
    return any(not is_applied(step, first) and is_committed(first, last) and _grew(first, last) for first in heard[:-1])


def _grew(first: QuorumState, last: QuorumState) -> bool:
    end = None if first.leader is None else first.leader.log_end_offset
    return end is not None and last.high_watermark is not None and last.high_watermark > end


def _may_happen(step: Step, reads: Sequence[QuorumState]) -> Iterator[str]:
    missing = sorted({key.node_id for key in step.voters_after - step.alive})
    state = reads[-1] if reads else None
    if state is not None and state.has_leader:
        missing = sorted(ids_of(state.voter_keys - state.alive_keys))
    whom = f"voter {shown(missing)}" if missing else "a voter of the new set that does not fetch"
    what = (
        "the change"
        if step.id is None
        else f"the {'removal' if step.action is Action.REMOVE else 'addition'} of {step.id}"
    )
    yield f"{what} may still commit, without another request, as soon as {whom} fetches again"
    yield "other requests that timed out meanwhile, such as the creation of a topic, may be carried out then too"
    if step.tolerates_after < 0 or state is None or not state.has_leader:
        yield f"if the disk of {whom} is lost, the quorum does not come back automatically"


def _findings(
    step: Step, answer: Answer, error_meaning: ErrorMeaning, known: Known, reads: Sequence[QuorumState]
) -> Iterator[Finding]:
    subject = f"step {step.number}"
    evidence = {"error_code": answer.code, "error_name": answer.name, "message": answer.message}
    if known is Known.FAILED and error_meaning.meaning is Meaning.COMMITTED and step.action is Action.REMOVE:
        yield Finding(
            id="removed-voter-rejoined",
            severity=Severity.BLOCKER,
            subject=subject,
            message=f"the removal of {step.id} was committed, and {step.id} votes again",
            evidence=evidence,
        )
    elif known is Known.FAILED:
        yield Finding(
            id=NOT_AUTHORISED if answer.code == CLUSTER_DENIED else "voter-change-failed",
            severity=Severity.BLOCKER,
            subject=subject,
            message=f"{answer.name}: {error_meaning.words}; the voter set does not have it",
            evidence=evidence,
            next_step=answer.next_step
            or error_meaning.wait_for
            or "See the message; correct what it names, then run the command again.",
        )
    elif known is not Known.DONE:
        yield Finding(
            id="voter-change-undecided",
            severity=Severity.WARNING,
            subject=subject,
            message=f"{answer.name}: {error_meaning.words}; {_seen(reads)}",
            evidence=evidence,
            next_step=error_meaning.wait_for or _READ,
        )


def _seen(reads: Sequence[QuorumState]) -> str:
    """Return a text about the commits in the last observations."""
    heard = [state for state in reads if state.has_leader]
    if not heard:
        return "no controller leads now"
    if len(heard) > 1 and progress(heard[-2], heard[-1]) is Progress.STUCK:
        return f"the log grows and the high watermark does not advance from {heard[-1].high_watermark}"
    return f"voters now {shown(ids_of(heard[-1].voter_keys))}"
