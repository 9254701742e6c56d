"""The history that a report draws: levels of features, and registrations of brokers and controllers.

Records of other kinds are shown by their type alone and not decoded; records of an aborted transaction (KIP-868) never
happened. A broker's registration change holds 1 for a state that begins and -1 for one that ends
(`BrokerRegistrationFencingChange.java`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.batch_bounds import MOST_BATCH_RECORDS
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.plain_records import Span, plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, BatchHeader, decode_header, decode_records

_FRAME_VERSION: Final = 1
_TYPES: Final = frozenset({0, 1, 7, 8, 12, 17, 23, 24, 25, 27, 29})
_BEGIN, _END, _ABORT = "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"
FEATURES: Final = "features"


class Pieces(Protocol):
    """A segment as `metadata.io.source.LogFile` gives it."""

    @property
    def name(self) -> str:
        """Return the name of the log in messages."""

    @property
    def pieces(self) -> Callable[[], Iterable[bytes]]:
        """Open the source and return its bytes."""


@frozen
class Event:
    """Something that happened to `lane`: `features`, `broker 4` or `controller 1`."""

    time_ms: int
    offset: int
    lane: str
    label: str
    tone: str = "plain"


def events_of(segments: Iterable[Pieces], *, up_to: int | None = None) -> Iterator[Event]:
    """Yield every event up to the record at offset `up_to`, in order. Damage is skipped: the replay reports it."""
    waiting: list[Event] | None = None
    for offset, time_ms, record in _wanted(segments):
        if up_to is not None and offset > up_to:
            break
        if record.type == _BEGIN:
            waiting = []
        elif record.type in (_END, _ABORT):
            yield from (waiting or ()) if record.type == _END else ()
            waiting = None
        else:
            found = _event(offset, time_ms, record)
            if found is not None and waiting is not None:
                waiting.append(found)
            elif found is not None:
                yield found


def _wanted(segments: Iterable[Pieces]) -> Iterator[tuple[int, int, MetadataRecord]]:
    for segment in segments:
        for run in walk_runs(segment.pieces(), file=segment.name):
            if isinstance(run, Damage):
                continue
            for position in run.positions:
                yield from _of_batch(run.data, position)


def _of_batch(data: bytes, position: int) -> Iterator[tuple[int, int, MetadataRecord]]:
    """Yield the records of a batch that may be events; those before the first that cannot be decoded."""
    header = decode_header(data, position)
    if header.is_control:
        return
    try:
        for offset, time_ms, value in _values(data, header):
            yield offset, time_ms, decode_record(value)
    except DecodeError:
        return


def _values(data: bytes, header: BatchHeader) -> Iterator[tuple[int, int, bytes]]:
    """Return offset, time and value of each record of these types."""
    try:
        spans = _plain_spans(data, header)
    except IrregularError:
        for record in decode_records(data, header):
            if record.value is not None and _is_wanted(record.value[:3]):
                yield record.offset, record.timestamp_ms, record.value
        return
    for delta, start, stop in spans:
        if data[start + 1] in _TYPES and _is_wanted(data[start : min(start + 3, stop)]):
            yield header.base_offset + delta, header.base_timestamp_ms, data[start:stop]


def _plain_spans(data: bytes, header: BatchHeader) -> list[Span]:
    """Return the positions of the values of a usual batch without decoding its records."""
    if header.attributes or header.record_count > MOST_BATCH_RECORDS:
        raise IrregularError
    begin, end = header.position + HEADER_BYTES, header.position + header.size_bytes
    return plain_spans(data, begin, end, header.record_count)


def _is_wanted(frame: bytes) -> bool:
    return len(frame) == 3 and frame[0] == _FRAME_VERSION and frame[1] in _TYPES


def _event(offset: int, time_ms: int, record: MetadataRecord) -> Event | None:
    shown = _LABELS[record.type](record.data)
    if shown is None:
        return None
    lane, label, tone = shown
    return Event(time_ms=time_ms, offset=offset, lane=lane, label=label, tone=tone)


_Label = tuple[str, str, str]


def _level(data: Any) -> _Label:
    return FEATURES, f"{data['Name']} = {data['FeatureLevel']}", "plain"


def _registered(data: Any) -> _Label:
    state = "registered, fenced" if data["Fenced"] else "registered"
    return f"broker {data['BrokerId']}", state, "plain"


def _changed(data: Any) -> _Label | None:
    lane = f"broker {data['BrokerId']}"
    if data["Fenced"]:
        return (lane, "fenced", "bad") if data["Fenced"] > 0 else (lane, "unfenced", "good")
    return (lane, "controlled shutdown", "warn") if data.get("InControlledShutdown", 0) > 0 else None


_LABELS: Final[dict[str, Callable[[Any], _Label | None]]] = {
    "FeatureLevelRecord": _level,
    "RegisterBrokerRecord": _registered,
    "BrokerRegistrationChangeRecord": _changed,
    "UnregisterBrokerRecord": lambda data: (f"broker {data['BrokerId']}", "unregistered", "bad"),
    "FenceBrokerRecord": lambda data: (f"broker {data['Id']}", "fenced", "bad"),
    "UnfenceBrokerRecord": lambda data: (f"broker {data['Id']}", "unfenced", "good"),
    "RegisterControllerRecord": lambda data: (f"controller {data['ControllerId']}", "registered", "plain"),
    "UnregisterControllerRecord": lambda data: (f"controller {data['ControllerId']}", "unregistered", "bad"),
}
