"""A fold, or a part of one, as bytes: how it comes from where it was made to where it is joined.

Numbers of segments lie in columns as narrow as they allow, ids one after the other; what few segments have, and what
there is of a partition, is JSON in front of them. A segment takes some 45 bytes.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, Final, NamedTuple

from kafkactl.core.errors import DecodeError
from kafkactl.tiered.epoch_index import EpochState, Segment
from kafkactl.tiered.ledger import Ledger, LogFacts, PartitionDelete, Poison
from kafkactl.tiered.numbers import SegmentNumbers
from kafkactl.tiered.partition_log import Drop, PartitionLog
from kafkactl.tiered.reading import Unread
from kafkactl.tiered.records import PartitionKey
from kafkactl.tiered.states import SegmentState

_ID_BYTES: Final = 16
_LENGTH_BYTES: Final = 8
_STATES: Final = tuple(SegmentState)
# Codes of arrays, and what fits into them.
_WIDTHS: Final = (("B", 1 << 8), ("H", 1 << 16), ("I", 1 << 32), ("Q", 1 << 64))
_numbers_of: Final = attrgetter(*Segment.NUMBERS)


class Part(NamedTuple):
    """The result of reading one metadata partition, or of some of its user partitions.

    `poison` is complete in every part: each part that read a poison record reports it.
    """

    facts: Mapping[str, Any]
    poison: list[Poison]
    partition_deletes: list[PartitionDelete]
    named: set[bytes]
    deleted_at: dict[bytes, tuple[PartitionKey, str, int]]
    partitions: list[PartitionLog]


def packed(ledger: Ledger, facts: LogFacts) -> bytes:
    """Return a ledger that one metadata partition was folded into."""
    columns = _Columns()
    partitions = [_partition(log, columns) for log in ledger.partitions.values()]
    head = {
        "facts": {
            "records": facts.records,
            "end_offset": facts.end_offset,
            "newest_ms": facts.newest_ms,
            "unread": [_unread(part) for part in facts.unread],
            "missing": facts.missing,
            "removed_to": facts.removed_to,
        },
        "poison": [
            (
                held.metadata_partition,
                held.offset,
                held.why,
                None if held.error is None else _error(held.error),
                held.topic,
                _key(held.key),
            )
            for held in ledger.poison
        ],
        "partition_deletes": [
            (held.metadata_partition, held.offset, held.topic, _key(held.key), held.segments)
            for held in ledger.partition_deletes
        ],
        "named": [raw.hex() for raw in ledger.named],
        "deleted_at": [
            (raw.hex(), _key(key), topic, time_ms) for raw, (key, topic, time_ms) in ledger.deleted_at.items()
        ],
        "partitions": partitions,
        **columns.described(),
    }
    content = columns.content()
    head["columns"] = [narrow.layout for narrow in content]
    front = json.dumps(head, separators=(",", ":")).encode()
    ids = b"".join(segment.segment_id for segment in columns.segments)
    return b"".join([len(front).to_bytes(_LENGTH_BYTES, "big"), front, ids, *(narrow.data for narrow in content)])


class _Narrow(NamedTuple):
    """A column: how it is read (code of an array, least value, number of values, bytes), and its bytes; where all
    values are the least one there are none."""

    layout: tuple[str, int, int, int]
    data: bytes


def _narrow(column: Sequence[int]) -> _Narrow:
    least = min(column, default=0)
    span = max(column, default=0) - least
    if not span:
        return _Narrow(("", least, len(column), 0), b"")
    code = next(code for code, end in _WIDTHS if span < end)
    data = array(code, [value - least for value in column] if least else column).tobytes()
    return _Narrow((code, least, len(column), len(data)), data)


def _widened(column: Sequence[Any], data: bytes) -> Iterable[int]:
    code, least, count, _ = column
    if not code:
        return repeat(least, count)
    values = array(code, data)
    return [value + least for value in values] if least else values


class _Columns:
    """The segments of all partitions, and the numbers of their epochs."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.places: list[int] = []  # of epochs: which segments they map, in order; which ones else they know

    def described(self) -> dict[str, Any]:
        """Return the values that few segments have, by their position, and the number of segments."""
        segments = self.segments
        return {
            "segments": len(segments),
            "epochs": [(at, held.leader_epochs) for at, held in enumerate(segments) if held.only_epoch is None],
            "custom": [
                (at, held.custom_metadata.hex()) for at, held in enumerate(segments) if held.custom_metadata is not None
            ],
            "forgotten_by": [(at, held.forgotten_by) for at, held in enumerate(segments) if held.forgotten_by],
        }

    def content(self) -> list[_Narrow]:
        """Return the columns of numbers, and the places."""
        columns = [_narrow(column) for column in zip(*map(_numbers_of, self.segments), strict=True)]
        return [*columns, _narrow(self.places)]


def _partition(log: PartitionLog, columns: _Columns) -> dict[str, Any]:
    first = len(columns.segments)
    groups = [list(log.table.values()), log.forgotten, list((log.deleted or {}).values())]
    known = {segment for group in groups for segment in group}
    held = {segment for state in log.epochs.values() for segment in state.known()}
    groups.append([segment for segment in held if segment not in known])  # an index may keep what was deleted
    for group in groups:
        columns.segments += group
    at_of = {segment: at for at, segment in enumerate(columns.segments[first:])} if log.epochs else {}
    epochs = []
    for epoch, state in log.epochs.items():
        mapped, unreferenced = state.mapped(), list(state.unreferenced.values())
        epochs.append((epoch, state.highest, len(mapped), len(unreferenced)))
        columns.places += (at_of[segment] for segment in mapped)
        columns.places += (at_of[segment] for segment in unreferenced)
    return {
        "topic": log.topic,
        "key": _key(log.key),
        "counts": [len(group) for group in groups],
        "keeps_deleted": log.deleted is not None,
        "records_in": list(log.records_in.items()),
        "first_ms": log.first_ms,
        "drops": [
            (drop.why, drop.metadata_partition, drop.offset, drop.segment_id.hex(), drop.before, drop.after)
            for drop in log.drops
        ],
        "drop_counts": log.drop_counts,
        "epochs": epochs,
    }


def _key(key: PartitionKey | None) -> tuple[str, int] | None:
    return None if key is None else (key.topic_id.hex(), key.partition)


def _unread(part: Unread) -> dict[str, Any]:
    return {**{name: getattr(part, name) for name in Unread.__annotations__}, "error": _error(part.error)}


def _error(error: DecodeError) -> tuple[Any, ...]:
    return error.reason, error.id, error.offset, error.path, error.file, error.next_step


def unpacked(data: bytes) -> Part:
    """Return the part that was given to `packed`."""
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    head = json.loads(data[_LENGTH_BYTES:end])
    at = end + _ID_BYTES * head["segments"]
    columns = []
    for column in head["columns"]:
        columns.append(_widened(column, data[at : at + column[-1]]))
        at += column[-1]
    *numbers, places = columns
    rows = SegmentNumbers()
    segments = [
        Segment.of_numbers(data[place : place + _ID_BYTES], of_segment, rows)
        for place, of_segment in zip(range(end, at, _ID_BYTES), zip(*numbers, strict=True), strict=False)
    ]
    for at, epochs in head["epochs"]:
        segments[at].leader_epochs = tuple((epoch, start) for epoch, start in epochs)
    for at, custom in head["custom"]:
        segments[at].custom_metadata = bytes.fromhex(custom)
    for at, why in head["forgotten_by"]:
        segments[at].forgotten_by = why
    return Part(
        facts=head["facts"],
        poison=[
            Poison(
                at,
                offset,
                why,
                None if error is None else _error_of(error),
                topic,
                None if key is None else _key_of(key),
            )
            for at, offset, why, error, topic, key in head["poison"]
        ],
        partition_deletes=[
            PartitionDelete(at, offset, topic, _key_of(key), forgotten)
            for at, offset, topic, key, forgotten in head["partition_deletes"]
        ],
        named={bytes.fromhex(raw) for raw in head["named"]},
        deleted_at={
            bytes.fromhex(raw): (_key_of(key), topic, time_ms) for raw, key, topic, time_ms in head["deleted_at"]
        },
        partitions=list(_partitions(head["partitions"], segments, iter(places))),
    )


def take_facts(facts: LogFacts, saved: Mapping[str, Any]) -> None:
    """Set the counts, gaps and unread ranges of a metadata partition from the `facts` of a part."""
    facts.records, facts.end_offset, facts.newest_ms = saved["records"], saved["end_offset"], saved["newest_ms"]
    facts.removed_to = saved["removed_to"]
    facts.missing = [(first, end) for first, end in saved["missing"]]
    facts.unread = [Unread(**{**part, "error": _error_of(part["error"])}) for part in saved["unread"]]


def _partitions(
    saved: Iterable[Mapping[str, Any]], segments: Sequence[Segment], places: Iterator[int]
) -> Iterator[PartitionLog]:
    first = 0
    for each in saved:
        log = PartitionLog(each["topic"], _key_of(each["key"]), keep_deleted=each["keeps_deleted"])
        ends = [first]
        for count in each["counts"]:
            ends.append(ends[-1] + count)
        own, first = segments[first : ends[-1]], ends[-1]
        table, forgotten, deleted = (segments[ends[at] : ends[at + 1]] for at in range(3))
        log.table = {segment.segment_id: segment for segment in table}
        log.forgotten = list(forgotten)
        if log.deleted is not None:
            log.deleted = {segment.segment_id: segment for segment in deleted}
        log.records_in = dict(each["records_in"])
        log.first_ms = each["first_ms"]
        log.drop_counts = dict(each["drop_counts"])
        log.drops = [
            Drop(why, at, offset, bytes.fromhex(raw), None if before is None else _STATES[before], _STATES[after])
            for why, at, offset, raw, before, after in each["drops"]
        ]
        for epoch, highest, mapped, unreferenced in each["epochs"]:
            segments_of = [own[next(places)] for _ in range(mapped)]
            listed = [own[next(places)] for _ in range(unreferenced)]
            log.epochs[epoch] = EpochState.of(epoch, segments_of, listed, highest)
        yield log


def _key_of(key: Sequence[Any]) -> PartitionKey:
    return PartitionKey(bytes.fromhex(key[0]), key[1])


def _error_of(error: Sequence[Any]) -> DecodeError:
    reason, id, offset, path, file, next_step = error
    return DecodeError(reason, id=id, offset=offset, path=path, file=file, next_step=next_step)
