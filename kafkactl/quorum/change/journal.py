"""What a change of the quorum writes into its journal, and what a later run reads out of it.

`begin` (goal, voters), then for each step `intent` before its request leaves, `answer` when one came, `done` when it is
known what became of it, `undecided` when nobody waited longer; `end` at last. An intent without `done` is a request
that may still land: the next run finds out before it plans anything. A change that did not reach its goal has not
ended: who asks for the same again is told where somebody else changed the voters meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kafkactl.change.journal import Journal
from kafkactl.change.journal_lines import Entry, entries_understood, read_journal, value_of
from kafkactl.findings import Finding, Outcome, warning
from kafkactl.frozen import frozen
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.outcome import Answer, Known, Verdict
from kafkactl.quorum.state import QuorumState
from kafkactl.quorum.step import Action, Step
from kafkactl.values import ReplicaKey, Uuid

SUBJECT = "quorum"


@frozen
class InFlight:
    """A request of an earlier run of which nobody knows yet what it did.

    `sent_at_ms` is by the wall clock; `unread_ms` how long it may be on its way to whoever reads it.
    """

    seq: int
    step: Step
    answer: Answer
    sent_at_ms: int
    unread_ms: int


@frozen
class Memory:
    """What the journal remembers of the last change that it holds.

    `words` are those of its goal, None where there was no change yet. `way`: the voter sets that it passes, from where
    it stands to its end; empty where it has sent nothing. `high_watermark` is the highest that any change has seen.
    """

    words: Mapping[str, Any] | None = None
    ended: bool = True
    way: tuple[VoterKeys, ...] = ()
    in_flight: InFlight | None = None
    high_watermark: int = -1


def remembered(entries: Iterable[Entry]) -> Memory:
    """What the entries of a journal, oldest first, say of the last change.

    Raises InputError `journal-not-understood`.
    """
    with entries_understood():
        return _remembered(entries)


def _remembered(entries: Iterable[Entry]) -> Memory:
    words: Mapping[str, Any] | None = None
    ended, way, high_watermark = True, tuple[VoterKeys, ...](), -1
    in_flight: InFlight | None = None
    for one in entries:
        if one.data.get("high_watermark") is not None:
            high_watermark = max(high_watermark, value_of(one.data, "high_watermark", int))
        match one.entry:
            case "begin":
                goal = value_of(one.data, "goal", dict)
                way = way if goal == words and not ended else ()
                words, ended = goal, False
            case "intent":
                step = _step(one.data)
                in_flight = InFlight(
                    seq=one.seq,
                    step=step,
                    answer=Answer(code=None),
                    sent_at_ms=one.at_ms,
                    unread_ms=value_of(one.data, "unread_ms", int),
                )
                way = tuple(_keys(texts) for texts in one.data["way"])
            case "answer" if in_flight is not None:
                code = None if one.data["error_code"] is None else value_of(one.data, "error_code", int)
                answer = Answer(code=code, message=value_of(one.data, "message", str))
                in_flight = replace(in_flight, answer=answer)
            case "done":
                if in_flight is not None and one.data["known"] == Known.DONE:
                    way = onwards(way, in_flight.step)
                in_flight = None
            case "end":
                ended = one.data["outcome"] in (Outcome.DONE, Outcome.NOTHING_TO_DO)
    return Memory(words=words, ended=ended, way=way, in_flight=in_flight, high_watermark=high_watermark)


def onwards(way: tuple[VoterKeys, ...], step: Step) -> tuple[VoterKeys, ...]:
    """The rest of a way once this step of it is done."""
    return way[1:] if way and way[0] == step.voters_before != step.voters_after else way


def open_request(content: bytes | None, path: str, cluster_id: str) -> Finding | None:
    """A warning where the journal with this content has a request whose outcome is unknown.

    Raises what `read_journal` raises; without content there is no request.
    """
    if content is None:
        return None
    entries = read_journal(content, file=path, subject=SUBJECT, cluster_id=cluster_id).entries
    in_flight = remembered(entries).in_flight
    if in_flight is None:
        return None
    step = in_flight.step
    what = "the conversion" if step.id is None else f"{step.action.value} {step.id}"
    return warning(
        "earlier-request-open",
        "journal",
        f"an earlier run sent {what}, and did not see what became of it; it may still be carried out",
        "The next run that is no dry run finds out before it does anything else.",
        journal=path,
    )


def write_begin(journal: Journal, words: Mapping[str, Any], state: QuorumState) -> None:
    """A change begins, or goes on."""
    journal.append("begin", {"goal": words, "voters": _texts(state.voter_keys), **_seen(state)})


def write_intent(journal: Journal, step: Step, state: QuorumState, *, way: Iterable[VoterKeys], unread_ms: int) -> int:
    """The request of this step is about to leave; the number of the entry. `way`: the sets from here on."""
    data = {
        "unread_ms": unread_ms,
        "way": [_texts(voters) for voters in way],
        "number": step.number,
        "action": step.action.value,
        "voter": None if step.key is None else _text(step.key),
        "voters_before": _texts(step.voters_before),
        "voters_after": _texts(step.voters_after),
        "alive": _texts(step.alive),
        "leader_leaves": step.leader_leaves,
        **_seen(state),
    }
    return journal.append("intent", data).seq


def write_answer(journal: Journal, seq: int, answer: Answer) -> None:
    """What came back, or that nothing did."""
    data = {"of": seq, "error_code": answer.code, "error_name": answer.name, "message": answer.message}
    journal.append("answer", data)


def write_known(journal: Journal, seq: int, verdict: Verdict, state: QuorumState | None) -> None:
    """What became of a step."""
    journal.append("done", {"of": seq, "known": verdict.known.value, **({} if state is None else _seen(state))})


def write_not_sent(journal: Journal, seq: int, reason: str) -> None:
    """Nothing of the request left."""
    journal.append("done", {"of": seq, "known": "not-sent", "message": reason})


def write_undecided(journal: Journal, seq: int, sentences: Iterable[str]) -> None:
    """Nobody waits any longer; the step stays in flight."""
    journal.append("undecided", {"of": seq, "may_happen": list(sentences)})


def write_end(journal: Journal, outcome: str) -> None:
    """The change is over for this run."""
    journal.append("end", {"outcome": outcome})


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
