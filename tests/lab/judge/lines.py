"""Acts of the two sides, as lines of text that can be compared."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from kafkactl.simulator.raft.disk import AppendLog, CleanLog, FlushLog, StartLogAt, TruncateLog, WriteQuorumState
from kafkactl.simulator.raft.effects import FAULT, SEND
from kafkactl.simulator.raft.messages import ApiVersionsRequest, FetchResponse, FetchSnapshotResponse
from tests.simulator.raft.wire import wire_bytes


class Line(NamedTuple):
    """Thing that a side did, as text."""

    text: str
    count: int = 1  # of lines of the driver that this line represents


def line_of(line: str) -> Line:
    """Return a line of the driver, in the form of `told_by`."""
    words = line.split(" ")
    if words[0] not in ("Q", "R"):
        return Line(line)
    if words[2] in _CHANGES and words[0] == "R":
        return Line(" ".join([*words[:5], _without_order(" ".join(words[5:]))]))
    return Line(" ".join(words[:4] if words[0] == "Q" and words[2] == _KEYS["ApiVersions"] else words))


def line_of_effect(effect: Any, said: list[Line]) -> Line:
    """Return one of our effects as the driver prints Kafka's; the version of a message is the one that Kafka chose."""
    if effect.effect != SEND:
        return Line(_write_of(effect))
    key = key_of(effect)
    kind = "Q" if effect.is_request else "R"
    versions = [
        int(line.text.split(" ")[3]) for line in said if line.text[0] == kind and line.text.split(" ")[2] == key
    ]
    head = f"{kind} {effect.destination} {key} "
    if not versions:
        return Line(head + type(effect).__name__)
    head += f"{versions[0]}"
    if type(effect) is ApiVersionsRequest:
        return Line(head)
    if kind == "R" and key in _CHANGES:
        return Line(_answer_of(f"{head} {effect.error_code} ", effect, said))
    body, batches = effect, ""
    if type(effect) is FetchResponse:
        batches = "".join(f" {batch.base}-{batch.end}@{batch.epoch}" for batch in effect.records)
        body = replace(effect, records=())
    elif type(effect) is FetchSnapshotResponse:
        body = replace(effect, size=0, position=0)
    return Line(f"{head} {_body(body, versions[0])}{batches}")


def _body(message: Any, version: int) -> str:
    """Return the bytes of a message; those that differ in their envelope alone are encoded once."""
    kind = type(message)
    values = [getattr(message, name) for name in kind.__slots__ if name not in _ENVELOPE]
    return _encoded(kind, version, tuple(values))


@lru_cache(maxsize=4096)
def _encoded(kind: Any, version: int, values: tuple[Any, ...]) -> str:
    names = [name for name in kind.__slots__ if name not in _ENVELOPE]
    envelope = {name: None for name in _ENVELOPE if name in kind.__slots__}
    return wire_bytes(kind(**envelope, **dict(zip(names, values, strict=True))), version).hex()


def key_of(message: Any) -> str:
    return _KEYS[type(message).__name__.removesuffix("Request").removesuffix("Response")]


def _answer_of(head: str, response: Any, said: list[Line]) -> str:
    """Return a change's answer. Without a text of ours it has the error's own, which our side knows by the code."""
    if response.error_message is not None:
        return head + _without_order(response.error_message)
    return next((line.text for line in said if line.text.startswith(head)), head)


def _write_of(effect: Any) -> str:
    if isinstance(effect, AppendLog):
        return "A " + " ".join(f"{batch.base}-{batch.end}@{batch.epoch}" for batch in effect.batches)
    if isinstance(effect, FlushLog):
        return "F"
    if isinstance(effect, TruncateLog):
        return f"T {effect.offset}"
    if isinstance(effect, WriteQuorumState):
        state = effect.state
        return f"S {state.leader_epoch} {state.leader_id} {state.voted_id} {state.voted_directory_id}"
    if effect.effect == FAULT:
        return f"X {effect.reason}"
    snapshot_id = effect.snapshot_id if isinstance(effect, CleanLog | StartLogAt) else effect.snapshot.id
    letter = "C" if isinstance(effect, CleanLog) else "B" if isinstance(effect, StartLogAt) else "N"
    return f"{letter} {snapshot_id.end_offset} {snapshot_id.epoch}"


def ordered(lines: list[Line]) -> list[Line]:
    """Return the same, with appends that follow each other as one, and requests of one kind by their destinations.

    Kafka writes each batch on its own; the order in which it asks several voters is that of a HashSet.
    """
    done: list[Line] = []
    for kind, group in groupby(lines, key=_kind):
        found = list(group)
        if kind == "A":
            text = "A " + " ".join(line.text[2:] for line in found)
            found = [Line(text, count=sum(line.count for line in found))]
        done += sorted(found, key=attrgetter("text")) if kind.startswith("Q") else found
    return done


def _kind(line: Line) -> str:
    words = line.text.split(" ", 3)
    return f"Q {words[2]}" if words[0] == "Q" else words[0]


def _without_order(text: str) -> str:
    """Return a text of Kafka's with the replicas that it lists in order, and as 4.x writes them."""
    text = re.sub(r"directoryId=Optional\[(\S+?)\]", r"directoryId=\1", text)
    keys = iter(sorted(re.findall(r"ReplicaKey\([^)]*\)", text)))
    return re.sub(r"ReplicaKey\([^)]*\)", lambda _match: next(keys), text)


_ENVELOPE: Final = ("source", "destination", "correlation_id", "address")
_KEYS: Final = {
    "Fetch": "1", "ApiVersions": "18", "Vote": "52", "BeginQuorumEpoch": "53", "EndQuorumEpoch": "54",
    "DescribeQuorum": "55", "FetchSnapshot": "59", "AddRaftVoter": "80", "RemoveRaftVoter": "81",
    "UpdateRaftVoter": "82",
}  # fmt: skip
_CHANGES: Final = (_KEYS["AddRaftVoter"], _KEYS["RemoveRaftVoter"])
