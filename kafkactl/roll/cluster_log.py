"""The metadata log of a cluster: its state, and the history of registrations and leaders that led to it.

The image shows that a broker is fenced; the history shows since when, and which incarnation was there before. The
versions in which records are written decide which older release can read the log. Records that change neither are
passed over undecoded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.cluster.quorum.voter_sets import Voter, voters_of
from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role, Uuid
from kafkactl.dryrun.engine.local import Loaded, LogFile, decoded_records, load
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.control_records import ControlRecord, ControlType
from kafkactl.protocol.log.batch_runs import BATCH_HEAD, UNUSUAL_BITS, BatchRun, walk_runs
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord, decode_record
from kafkactl.protocol.plain_records import plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END
from kafkactl.protocol.schema.spec import Versions

_REGISTER, _UNREGISTER, _FENCE, _UNFENCE, _CHANGE, _REGISTER_CONTROLLER = 0, 1, 7, 8, 17, 27
_OF_NODES: Final = frozenset({_REGISTER, _UNREGISTER, _FENCE, _UNFENCE, _CHANGE, _REGISTER_CONTROLLER})
_ONE_BYTE: Final = 128


class EventKind(StrEnum):
    """Change of a registration."""

    REGISTERED = "registered"
    UNREGISTERED = "unregistered"
    STOPPING = "stopping"
    FENCED = "fenced"
    UNFENCED = "unfenced"


@frozen
class RegistrationEvent:
    """A record about the registration of a node. `incarnation` is that of the registration, None if not in the log.

    `at_ms` is None for a record of a snapshot, whose timestamps are those at which the snapshot was written.
    `metadata_versions` is the range that a registration has of metadata.version; None for other events.
    """

    offset: int
    at_ms: int | None
    node_id: int
    role: Role
    kind: EventKind
    incarnation: Uuid | None = None
    metadata_versions: Versions | None = None


@frozen
class LeaderEvent:
    """A LeaderChange record."""

    offset: int
    epoch: int
    leader_id: int
    at_ms: int


@frozen
class ClusterLog:
    """The metadata log of one controller, read to its end.

    `record_versions` has the highest version of each record by api key, over the snapshot and the log after it.
    `kraft_version` and `voters` are those of control records, None without one (a static quorum).
    """

    controller_id: int
    loaded: Loaded = field(repr=False)
    events: tuple[RegistrationEvent, ...] = ()
    leaders: tuple[LeaderEvent, ...] = ()
    record_versions: Mapping[int, int] = field(default_factory=dict)
    kraft_version: int | None = None
    voters: tuple[Voter, ...] | None = None

    @property
    def image(self) -> Image:
        """Return the state at the end of the log."""
        return self.loaded.image

    @property
    def is_empty(self) -> bool:
        """Return True if neither a record nor a checkpoint was read."""
        return self.loaded.last_offset < 0 and self.loaded.snapshot_offset is None

    @property
    def end_offset(self) -> int:
        """Return one more than the offset of the last record."""
        return self.loaded.last_offset + 1

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """Return the voters as the log has them: the voter set, else those of the last LeaderChange record."""
        known = self.image.voters or self.voters
        return tuple(sorted(voter.node_id for voter in known)) if known else tuple(sorted(self.loaded.voters))

    @property
    def level_of_quorum(self) -> int | None:
        """Return kraft.version as control records have it."""
        return self.image.kraft_version if self.image.kraft_version is not None else self.kraft_version

    def events_of(self, node_id: int, role: Role) -> tuple[RegistrationEvent, ...]:
        """Return the events of one node in one role, oldest first."""
        return tuple(event for event in self.events if event.node_id == node_id and event.role is role)

    def earlier_lines(self, node_id: int | None = None) -> tuple[KafkaVersion, ...]:
        """Return the release lines of the registrations in the log, of one node or of all, newest line first."""
        found = {
            release.version
            for event in self.events
            if event.metadata_versions is not None and node_id in (None, event.node_id)
            if (release := release_of(event.metadata_versions)) is not None
        }
        return tuple(KafkaVersion(version.major, version.minor) for version in sorted(found, reverse=True))

    def line_before(self, version: KafkaVersion, node_ids: Collection[int]) -> KafkaVersion | None:
        """Return the line of the last registration of these nodes that is of another line than a release; None if there
        is none.
        """
        for event in reversed([event for event in self.events if event.node_id in node_ids]):
            release = None if event.metadata_versions is None else release_of(event.metadata_versions)
            if release is not None and release.version.release_name != version.release_name:
                return KafkaVersion(release.version.major, release.version.minor)
        return None


def read_cluster_log(controller_id: int, segments: Sequence[LogFile], checkpoints: Sequence[LogFile]) -> ClusterLog:
    """Return the log of a controller. Raises InputError `log-start-missing` and what reading raises."""
    loaded = load(segments, checkpoints)
    history = _History(loaded.snapshot_offset or 0)
    with no_collection():
        for file in _snapshots(checkpoints, loaded):
            for run in walk_runs(file.pieces(), file=file.name):
                if isinstance(run, BatchRun):
                    history.take(run, file.name)
        history.begin_replay()
        for segment in segments:
            for run in walk_runs(segment.pieces(), file=segment.name):
                if isinstance(run, BatchRun):
                    history.take(run, segment.name)
    return ClusterLog(
        controller_id=controller_id,
        loaded=loaded,
        events=tuple(sorted(history.events, key=lambda event: event.offset)),
        leaders=tuple(history.leaders),
        record_versions=dict(sorted(history.versions.items())),
        kraft_version=history.kraft_version,
        voters=history.voters,
    )


def _snapshots(checkpoints: Sequence[LogFile], loaded: Loaded) -> Iterator[LogFile]:
    """Yield the first checkpoint, which alone has the voters of a new quorum, and the one that the state began with."""
    yield from (file for file in checkpoints if (file.base_offset or 0) == 0)
    if loaded.snapshot_offset:
        yield from (file for file in checkpoints if file.base_offset == loaded.snapshot_offset)


class _History:
    """Registrations, leaders and record versions, folded from the batches of a log in their order."""

    def __init__(self, snapshot_offset: int) -> None:
        self.events: list[RegistrationEvent] = []
        self.leaders: list[LeaderEvent] = []
        self.versions: dict[int, int] = {}
        self.kraft_version: int | None = None
        self.voters: tuple[Voter, ...] | None = None
        self._incarnations: dict[int, Uuid] = {}
        self._snapshot_offset = snapshot_offset
        self._is_replaying = False

    def begin_replay(self) -> None:
        """Note that the records of the log follow; those before the end of the snapshot are not replayed at a start."""
        self._is_replaying = True

    def take(self, run: BatchRun, file: str) -> None:
        """Fold the batches of a run."""
        for at in run.positions:
            for offset, epoch, timestamp_ms, record in self._records(run, at, file):
                if isinstance(record, ControlRecord):
                    self._take_control(record, offset, epoch, timestamp_ms)
                else:
                    self._note_version(record.api_key, record.version, offset)
                    if record.api_key in _OF_NODES:
                        self._take_data(record, offset, timestamp_ms)

    def _records(
        self, run: BatchRun, at: int, file: str
    ) -> Iterator[tuple[int, int, int, MetadataRecord | ControlRecord]]:
        """Yield the records of a batch that matter; of the others only the version is noted."""
        offset, length, epoch, attributes, delta, timestamp, _, count = BATCH_HEAD.unpack_from(run.data, at)
        if not attributes & UNUSUAL_BITS and delta == count - 1:
            with suppress(IrregularError):
                spans = plain_spans(run.data, at + HEADER_BYTES, at + LENGTH_END + length, count)
                for number, start, stop in spans:
                    head = run.data[start : start + 3]
                    if head[0] == FRAME_VERSION and max(head) < _ONE_BYTE and head[1] not in _OF_NODES:
                        self._note_version(head[1], head[2], offset + number)
                        continue
                    with suppress(DecodeError):
                        yield offset + number, epoch, timestamp, decode_record(run.data[start:stop], file=file)
                return
        for entry, _header in decoded_records(run.data, at, run.base, file):
            if isinstance(entry.record, MetadataRecord | ControlRecord):
                yield entry.offset, entry.epoch, entry.timestamp_ms, entry.record

    def _note_version(self, api_key: int, version: int, offset: int) -> None:
        is_read = not self._is_replaying or offset >= self._snapshot_offset
        if is_read and version > self.versions.get(api_key, -1):
            self.versions[api_key] = version

    def _take_control(self, record: ControlRecord, offset: int, epoch: int, timestamp_ms: int) -> None:
        if record.type is ControlType.LEADER_CHANGE and self._is_replaying:
            leader_id = record.data["LeaderId"]
            self.leaders.append(LeaderEvent(offset=offset, epoch=epoch, leader_id=leader_id, at_ms=timestamp_ms))
        elif record.type is ControlType.KRAFT_VERSION:
            self.kraft_version = record.data["KRaftVersion"]
        elif record.type is ControlType.KRAFT_VOTERS:
            self.voters = voters_of(record.data)

    def _take_data(self, record: MetadataRecord, offset: int, timestamp_ms: int) -> None:
        data = record.data
        role = Role.CONTROLLER if record.api_key == _REGISTER_CONTROLLER else Role.BROKER
        # A record of the snapshot has no offset of the log: it is part of the state at the snapshot's end.
        place = offset if self._is_replaying else self._snapshot_offset - 1
        for node_id, kind in _changes(record):
            if kind is EventKind.REGISTERED and role is Role.BROKER:
                self._incarnations[node_id] = data["IncarnationId"]
            incarnation = data["IncarnationId"] if role is Role.CONTROLLER else self._incarnations.get(node_id)
            self.events.append(
                RegistrationEvent(
                    offset=place,
                    at_ms=timestamp_ms if self._is_replaying else None,
                    node_id=node_id,
                    role=role,
                    kind=kind,
                    incarnation=incarnation,
                    metadata_versions=_range(record) if kind is EventKind.REGISTERED else None,
                )
            )


def _range(record: MetadataRecord) -> Versions | None:
    """Return the range of metadata.version in a registration; None if the record has none."""
    for feature in record.data["Features"]:
        if feature["Name"] == METADATA_VERSION:
            return Versions(feature["MinSupportedVersion"], feature["MaxSupportedVersion"])
    return None


def _changes(record: MetadataRecord) -> Iterable[tuple[int, EventKind]]:
    """Return the node and kind of each event that a record has; a registration in a snapshot may be unfenced."""
    data = record.data
    if record.api_key == _REGISTER_CONTROLLER:
        return [(data["ControllerId"], EventKind.REGISTERED)]
    if record.api_key in (_FENCE, _UNFENCE):
        return [(data["Id"], EventKind.FENCED if record.api_key == _FENCE else EventKind.UNFENCED)]
    node_id = data["BrokerId"]
    if record.api_key == _UNREGISTER:
        return [(node_id, EventKind.UNREGISTERED)]
    if record.api_key == _REGISTER:
        return [(node_id, EventKind.REGISTERED)] + ([] if data["Fenced"] else [(node_id, EventKind.UNFENCED)])
    found = [(node_id, EventKind.STOPPING)] if data["InControlledShutdown"] == 1 else []
    if data["Fenced"]:
        found.append((node_id, EventKind.FENCED if data["Fenced"] > 0 else EventKind.UNFENCED))
    return found
