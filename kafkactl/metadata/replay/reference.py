"""Replay: the fold of metadata records into an image.

Each record type has one function in `RULES`; a record that contradicts the state has no effect and is a finding, as is
one that could not be decoded: nothing is dropped in silence. Records of a metadata transaction (KIP-868) take effect
when it ends, and not if it is aborted, as in Kafka's controller.

The fold is associative: replaying a log in pieces, each starting from the image before it, gives the same image,
wherever it is cut, inside of a transaction too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import field
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.image.model import EMPTY, Broker, Image, LogRecord, OpenTransaction
from kafkactl.metadata.replay import access as apply_access
from kafkactl.metadata.replay import cluster as apply_cluster
from kafkactl.metadata.replay import settings as apply_settings
from kafkactl.metadata.replay import topics as apply_topics
from kafkactl.metadata.replay.state import ContradictionError, State
from kafkactl.protocol.codec import Message
from kafkactl.protocol.control_records import ControlRecord, ControlType
from kafkactl.protocol.log.frame import MetadataRecord, decode_record

FEATURE_LEVEL, BEGIN, END, ABORT = 12, 23, 24, 25

Rule = Callable[[State, Message], None]
RULES: Final[Mapping[int, Rule]] = {
    0: apply_cluster.register_broker,
    1: apply_cluster.unregister_broker,
    2: apply_topics.add_topic,
    3: apply_topics.add_partition,
    4: apply_settings.set_config,
    5: apply_topics.change_partition,
    7: apply_cluster.fence_broker,
    8: apply_cluster.unfence_broker,
    9: apply_topics.remove_topic,
    10: apply_access.set_token,
    11: apply_access.set_scram,
    FEATURE_LEVEL: apply_settings.set_feature,
    14: apply_settings.set_quota,
    15: apply_settings.set_producer_ids,
    17: apply_cluster.change_broker,
    18: apply_access.add_acl,
    19: apply_access.remove_acl,
    20: apply_settings.nothing,
    21: apply_settings.set_zk_migration,
    22: apply_access.remove_scram,
    26: apply_access.remove_token,
    27: apply_cluster.register_controller,
    28: apply_topics.clear_elr,
    29: apply_cluster.unregister_controller,
}


@frozen
class Position:
    """The place of the last record that was replayed."""

    offset: int
    epoch: int
    timestamp_ms: int


@frozen
class Leader:
    """Leader of the quorum, and the ids of its voters, from the last LeaderChange record."""

    id: int
    epoch: int
    voters: tuple[int, ...] = ()


@frozen
class Replay:
    """Result of a replay. `counts` has the number of records of each type, control records by `ControlType`.

    `position` is None if there were no records; `leader` is None without a LeaderChange among them. `departed` are
    the brokers that these records unregistered and did not register again, as they were last registered; `starting`
    those that they registered and neither unfenced nor fenced since.
    """

    image: Image
    position: Position | None
    leader: Leader | None
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    departed: Mapping[int, Broker] = field(default_factory=dict)
    starting: frozenset[int] = frozenset()


def replay(records: Iterable[LogRecord], start: Image = EMPTY, *, snapshot: bool = False) -> Replay:
    """Return the image after these records, in their order. Never raise for their content.

    Any iterable of (offset, epoch, timestamp in milliseconds, record) will do. `snapshot` says that they come from a
    snapshot, whose offsets are not those of the log.
    """
    replaying = Replaying(start, snapshot=snapshot)
    for offset, epoch, timestamp_ms, record in records:
        replaying.take(offset, epoch, timestamp_ms, record)
    return replaying.result()


class Replaying:
    """A replay that goes on: `take` records, ask for the `image` or the `result` at any time, go on.

    `kept_aborts` are the offsets of AbortTransactionRecords whose transactions take effect, as they do on a node that
    reads one in one go with what follows (`dryrun.engine.loader`).
    """

    def __init__(self, start: Image = EMPTY, *, snapshot: bool = False, kept_aborts: Set[int] = frozenset()) -> None:
        self.kept_aborts = kept_aborts
        self.state = State(start, in_snapshot=snapshot)
        self.counts: Counter[str] = Counter()
        self.position: tuple[int, int, int] | None = None
        self.transaction = Transaction.of(start.transaction)
        self._leader: Leader | None = None

    def take(
        self, offset: int, epoch: int, timestamp_ms: int, record: MetadataRecord | ControlRecord | DecodeError
    ) -> None:
        """Take in the next record."""
        self.position = offset, epoch, timestamp_ms
        self.state.offset = offset
        if isinstance(record, MetadataRecord):
            self.counts[record.type] += 1
            self._take_data(offset, record)
        elif isinstance(record, ControlRecord):
            self.counts[record.type.record_name] += 1
            if record.type is ControlType.LEADER_CHANGE:
                voters = tuple(voter["VoterId"] for voter in record.data["Voters"])
                self._leader = Leader(id=record.data["LeaderId"], epoch=epoch, voters=voters)
            apply_settings.apply_control(self.state, record)
        else:
            self.counts["undecodable"] += 1
            text = f"the record cannot be decoded ({record.id}), so its change is not in this state: {record}"
            self.state.note("undecodable-record", Severity.BLOCKER, "metadata log", text)

    def image(self) -> Image:
        """Return the state after the records so far."""
        return self.state.image(self.transaction.value() if self.transaction else None)

    def result(self) -> Replay:
        """Return the image, and the findings about the records."""
        return Replay(
            image=self.image(),
            position=None if self.position is None else Position(**dict(zip(_PLACE, self.position, strict=True))),
            leader=self._leader,
            counts=dict(sorted(self.counts.items())),
            findings=self.state.findings.all(),
            departed=dict(self.state.departed),
            starting=frozenset(self.state.starting),
        )

    def _take_data(self, offset: int, record: MetadataRecord) -> None:
        if record.api_key in _TRANSACTIONS:
            _TRANSACTIONS[record.api_key](self, offset, record)
        elif self.transaction is not None:
            self.transaction.records.append((offset, record))
        else:
            self._apply(offset, record)

    def _apply(self, offset: int, record: MetadataRecord) -> None:
        state = self.state
        state.offset = offset
        rule = RULES.get(record.api_key)
        if rule is None:
            text = f"{record.type} has had no effect since Kafka 3.2, whose loader refuses it"
            state.note("obsolete-record-type", Severity.BLOCKER, "metadata log", text)
            return
        if METADATA_VERSION not in state.features and record.api_key != FEATURE_LEVEL:
            self._note_no_version(record)
        try:
            rule(state, record.data)
        except ContradictionError as error:
            state.note(error.id, Severity.BLOCKER, error.subject, error.message)

    def _note_no_version(self, record: MetadataRecord) -> None:
        text = f"{record.type} before the first FeatureLevelRecord of metadata.version"
        self.state.note("no-metadata-version", Severity.INFO, "metadata log", text)

    def _begin(self, offset: int, record: MetadataRecord) -> None:
        if self.transaction is not None:
            text = f"BeginTransactionRecord inside of the transaction that began at {self.transaction.begin_offset}"
            self.state.note("transaction-inside-transaction", Severity.BLOCKER, "metadata log", text)
            return
        self.transaction = Transaction(offset, record.data["Name"])

    def _end(self, offset: int, _record: MetadataRecord) -> None:
        transaction = self._closed("EndTransactionRecord")
        if transaction is not None:
            for at, record in transaction.decoded():
                self._apply(at, record)
            self.state.offset = offset

    def _abort(self, offset: int, record: MetadataRecord) -> None:
        """Abort the transaction, or apply it: Kafka's brokers can keep aborted records, because `MetadataBatchLoader`
        discards them only if nothing follows the abort in the same read."""
        if offset in self.kept_aborts:
            self._end(offset, record)
            return
        transaction = self._closed("AbortTransactionRecord")
        if transaction is not None and transaction.records:
            text = (
                f"the transaction that began at {transaction.begin_offset} was aborted, reason"
                f" {record.data['Reason']!r}; nodes that read it in one go with what follows keep its"
                f" {len(transaction.records)} records in their images and snapshots"
            )
            self.state.note("aborted-transaction", Severity.WARNING, f"transaction {offset}", text)

    def _closed(self, record: str) -> Transaction | None:
        transaction, self.transaction = self.transaction, None
        if transaction is None:
            text = f"{record} and no transaction is open"
            self.state.note("transaction-not-open", Severity.BLOCKER, "metadata log", text)
        return transaction


class Transaction:
    """An open transaction while it takes records; bytes are those of a record that can be decoded."""

    def __init__(self, begin_offset: int, name: str | None) -> None:
        self.begin_offset = begin_offset
        self.name = name
        self.records: list[tuple[int, MetadataRecord | bytes]] = []

    @classmethod
    def of(cls, value: OpenTransaction | None) -> Transaction | None:
        """Return the transaction of an image."""
        if value is None:
            return None
        transaction = cls(value.begin_offset, value.name)
        transaction.records.extend(value.records)
        return transaction

    def decoded(self) -> Iterator[tuple[int, MetadataRecord]]:
        """Yield the records with their offsets."""
        for offset, record in self.records:
            yield offset, decode_record(record) if isinstance(record, bytes) else record

    def value(self) -> OpenTransaction:
        """Return the transaction as a value."""
        return OpenTransaction(begin_offset=self.begin_offset, name=self.name, records=tuple(self.decoded()))


_PLACE = ("offset", "epoch", "timestamp_ms")
_TRANSACTIONS: Final[Mapping[int, Callable[[Replaying, int, MetadataRecord], None]]] = {
    BEGIN: Replaying._begin,
    END: Replaying._end,
    ABORT: Replaying._abort,
}
