"""Journal entries of a quorum change, in addition to the engine's six, and their use by a later run.

`begin` has the goal and the voters, `intent` the step and the voter sets that are planned from there on, `answer` the
error code, `done` and `failed` what is known. An intent without either is a request that may still land: the next run
finds out before it plans anything. A change that did not reach its goal has not ended: a run for the same goal learns
where another operator or process changed the voters meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkactl.change.journal import DONE, InFlight, JournalFold
from kafkactl.change.journal_lines import Entry, entries_understood, read_journal, value_of
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.findings import Finding, Outcome, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ReplicaKey, Uuid
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.outcome import Answer, Verdict
from kafkactl.quorum.step import Action, Step

SUBJECT = "quorum"


@frozen
class QuorumInFlight:
    """A request of an earlier run whose outcome is unknown.

    `sent_at_ms` is by the wall clock; `unread_ms` how long it may be on its way to the node that reads it.
    """

    seq: int
    step: Step
    answer: Answer
    sent_at_ms: int
    unread_ms: int


class JournalState(JournalFold):
    """State of the last change in the journal.

    `goal` is its description, None if there was no change yet. `planned_voter_sets`: those that it passes, from
    where it is to its end; empty if it has sent nothing. `high_watermark` is the highest that any change has seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.planned_voter_sets: tuple[VoterKeys, ...] = ()
        self.high_watermark = -1

    @property
    def ended(self) -> bool:
        """Return True if the goal was reached, or there was none."""
        return self.goal is None or self.outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO)

    def take(self, entry: Entry) -> None:
        """Read the high watermark, which entries of every kind contain."""
        if entry.data.get("high_watermark") is not None:
            self.high_watermark = max(self.high_watermark, value_of(entry.data, "high_watermark", int))
        super().take(entry)

    def begins(self, data: Mapping[str, Any]) -> None:
        """Clear the planned voter sets if a change for another goal begins."""
        goal = value_of(data, "goal", dict)
        if self.ended or goal != self.goal:
            self.planned_voter_sets = ()

    def intends(self, data: Mapping[str, Any]) -> None:
        """Store the planned voter sets from this entry on; the journal names them `way`."""
        self.planned_voter_sets = tuple(_keys(texts) for texts in data["way"])

    def settles(self, flight: InFlight, entry: Entry) -> None:
        """Advance the planned voter sets if the step was done."""
        step = quorum_in_flight(flight).step
        if entry.entry == DONE:
            self.planned_voter_sets = onwards(self.planned_voter_sets, step)


def remembered(entries: Iterable[Entry]) -> JournalState:
    """Return the state of the last change from the entries of a journal, oldest first.

    Raises InputError `journal-not-understood`.
    """
    state = JournalState().read(entries)
    if state.in_flight is not None:
        quorum_in_flight(state.in_flight)
    return state


def quorum_in_flight(flight: InFlight) -> QuorumInFlight:
    """Return the request of an intent. Raises InputError `journal-not-understood`."""
    with entries_understood():
        data, answer = flight.data, flight.answer or {"error_code": None, "message": ""}
        code = None if answer["error_code"] is None else value_of(answer, "error_code", int)
        return QuorumInFlight(
            seq=flight.seq,
            step=_step(data),
            answer=Answer(code=code, message=value_of(answer, "message", str)),
            sent_at_ms=flight.at_ms,
            unread_ms=value_of(data, "unread_ms", int),
        )


def onwards(sets: tuple[VoterKeys, ...], step: Step) -> tuple[VoterKeys, ...]:
    """Return the remaining planned voter sets after this step is done."""
    return sets[1:] if sets and sets[0] == step.voters_before != step.voters_after else sets


def open_request(content: bytes | None, path: str, cluster_id: str) -> Finding | None:
    """Return a warning if the journal with this content has a request whose outcome is unknown.

    Raises what `read_journal` raises; without content there is no request.
    """
    if content is None:
        return None
    entries = read_journal(content, file=path, subject=SUBJECT, cluster_id=cluster_id).entries
    in_flight = remembered(entries).in_flight
    if in_flight is None:
        return None
    step = quorum_in_flight(in_flight).step
    what = "the conversion" if step.id is None else f"{step.action.value} {step.id}"
    return warning(
        "earlier-request-open",
        "journal",
        f"an earlier run sent {what}, and did not see what became of it; it may still be carried out",
        "The next run without --dry-run finds out before it does anything else.",
        journal=path,
    )


def begin_entry(goal: Mapping[str, Any], state: QuorumState) -> dict[str, Any]:
    """Return the entry for the begin or the continuation of a change."""
    return {"goal": goal, "voters": _texts(state.voter_keys), **_seen(state)}


def step_entry(step: Step, state: QuorumState, *, sets: Iterable[VoterKeys], unread_ms: int) -> dict[str, Any]:
    """Return the entry for the request of a step before it is sent. `sets`: the planned voter sets from here on."""
    return {
        "unread_ms": unread_ms,
        "way": [_texts(voters) for voters in sets],
        "number": step.number,
        "action": step.action.value,
        "voter": None if step.key is None else _text(step.key),
        "voters_before": _texts(step.voters_before),
        "voters_after": _texts(step.voters_after),
        "alive": _texts(step.alive),
        "leader_leaves": step.leader_leaves,
        **_seen(state),
    }


def answer_entry(answer: Answer) -> dict[str, Any]:
    """Return the entry for the answer to a request, or for a missing answer."""
    return {"error_code": answer.code, "error_name": answer.name, "message": answer.message}


def known_entry(verdict: Verdict, state: QuorumState | None) -> dict[str, Any]:
    """Return the entry for the known outcome of a step."""
    return {"known": verdict.known.value, **({} if state is None else _seen(state))}


def _seen(state: QuorumState) -> dict[str, Any]:
    return {
        "leader_id": state.leader_id,
        "leader_epoch": state.leader_epoch,
        "high_watermark": state.high_watermark,
    }


def _step(data: Mapping[str, Any]) -> Step:
    return Step(
        number=value_of(data, "number", int),
        action=Action(data["action"]),
        key=None if data["voter"] is None else _key(data["voter"]),
        voters_before=_keys(data["voters_before"]),
        voters_after=_keys(data["voters_after"]),
        alive=_keys(data["alive"]),
        leader_leaves=value_of(data, "leader_leaves", bool),
    )


def _texts(keys: Iterable[ReplicaKey]) -> list[str]:
    return [_text(key) for key in sorted(keys)]


def _text(key: ReplicaKey) -> str:
    return f"{key.node_id}@{key.directory_id}"


def _keys(texts: Iterable[str]) -> VoterKeys:
    return frozenset(map(_key, texts))


def _key(text: str) -> ReplicaKey:
    node_id, _, directory_id = text.partition("@")
    return ReplicaKey(node_id=int(node_id), directory_id=Uuid.parse(directory_id))
