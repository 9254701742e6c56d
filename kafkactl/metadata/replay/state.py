"""The image while it is being made: the same parts as dicts that change, and what is said on the way.

A `State` begins as a copy of an image that shares what is large: partitions of a topic are copied when the first of
them changes. Nothing here knows a record type; those are in `apply_*.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    Acl,
    Broker,
    ConfigKey,
    Controller,
    DelegationToken,
    Image,
    OpenTransaction,
    Partitions,
    PartitionState,
    QuotaEntity,
    ScramCredential,
    ScramKey,
    Topic,
)

SHOWN_OF_EACH = 20  # a log that is wrong throughout would say the same a million times


class ContradictionError(Exception):
    """A record that cannot be applied to the state. Kafka's loader throws there, and the record has no effect."""

    def __init__(self, id: str, subject: str, message: str) -> None:
        super().__init__(message)
        self.id = id
        self.subject = subject
        self.message = message


class Findings:
    """Findings about records: the first of each id whole, the rest counted."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._shown: list[Finding] = []
        self._severity: dict[str, Severity] = {}

    def add(self, id: str, severity: Severity, subject: str, message: str, offset: int) -> None:
        """Take one in; `offset` is that of the record it is about."""
        self._counts[id] += 1
        if self._counts[id] <= SHOWN_OF_EACH:
            self._severity[id] = severity
            text = f"record {offset}: {message}" if offset >= 0 else message
            self._shown.append(
                Finding(id=id, severity=severity, subject=subject, message=text, evidence={"offset": offset})
            )

    def all(self) -> tuple[Finding, ...]:
        """Return the findings in the order of the log, and one with a count for each id of which some were not kept."""
        more = (
            Finding(
                id=id,
                severity=self._severity[id],
                subject="metadata log",
                message=f"{count - SHOWN_OF_EACH} more records like this",
                evidence={"count": count},
            )
            for id, count in self._counts.items()
            if count > SHOWN_OF_EACH
        )
        return (*self._shown, *more)


class TopicState:
    """A topic while it may change. `shared`: the dict belongs to an image, copy before the first change."""

    __slots__ = ("name", "partitions", "shared")

    def __init__(self, name: str, partitions: dict[int, PartitionState], *, shared: bool = False) -> None:
        self.name = name
        self.partitions = partitions
        self.shared = shared

    def own(self) -> dict[int, PartitionState]:
        """Return the partitions for a change."""
        if self.shared:
            self.partitions = dict(self.partitions)
            self.shared = False
        return self.partitions


class State:
    """An image that is open to change. Topics are keyed by the raw bytes of their id."""

    def __init__(self, start: Image, *, in_snapshot: bool = False) -> None:
        self.findings = Findings()
        self.in_snapshot = in_snapshot  # offsets are not those of the log
        self.offset = -1  # of the record that is being applied
        self.features: dict[str, int] = dict(start.features)
        self.zk_migration_state = start.zk_migration_state
        self.kraft_version = start.kraft_version
        self.voters: tuple[Voter, ...] | None = start.voters
        self.brokers: dict[int, Broker] = dict(start.brokers)
        self.departed: dict[int, Broker] = {}  # unregistered, as they were last registered
        self.starting: set[int] = set()  # registered, and neither unfenced nor fenced since
        self.controllers: dict[int, Controller] = dict(start.controllers)
        self.topics = {id.raw: _thawed(topic) for id, topic in start.topics.items()}
        self.topic_ids = {name: id.raw for name, id in start.topic_ids.items()}
        self.configs: dict[ConfigKey, dict[str, str]] = {key: dict(held) for key, held in start.configs.items()}
        self.client_quotas: dict[QuotaEntity, dict[str, float]] = {
            entity: dict(held) for entity, held in start.client_quotas.items()
        }
        self.next_producer_id = start.next_producer_id
        self.acls: dict[Uuid, Acl] = dict(start.acls)
        self.scram: dict[ScramKey, ScramCredential] = dict(start.scram)
        self.delegation_tokens: dict[str, DelegationToken] = dict(start.delegation_tokens)
        self._lists: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._directories: dict[bytes, bytes] = {}

    def note(self, id: str, severity: Severity, subject: str, message: str) -> None:
        """Add a finding about the record that is being applied."""
        self.findings.add(id, severity, subject, message, self.offset)

    def ids(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return a list of node ids; equal ones are one object, because a cluster has few and a state holds a million
        of them."""
        found = tuple(numbers)
        return self._lists.setdefault(found, found)

    def directories(self, uuids: Iterable[Uuid]) -> bytes:
        """Return a list of directory ids, joined; equal ones are one object."""
        return self.joined(b"".join([uuid.raw for uuid in uuids]))

    def joined(self, raw: bytes) -> bytes:
        """Return joined directory ids; equal ones are one object."""
        return self._directories.setdefault(raw, raw)

    def image(self, transaction: OpenTransaction | None, topics: Mapping[Uuid, Topic] | None = None) -> Image:
        """Return the state as a value. A replay can continue from it; parts of the value are then copied before they
        change.

        `topics` are the state's, if they are a value already.
        """
        if topics is None:
            topics = {(id := Uuid(raw)): _frozen_topic(id, topic) for raw, topic in self.topics.items()}
        return Image(
            features=dict(self.features),
            zk_migration_state=self.zk_migration_state,
            kraft_version=self.kraft_version,
            voters=self.voters,
            brokers=dict(self.brokers),
            controllers=dict(self.controllers),
            topics=topics,
            topic_ids={name: Uuid(raw) for name, raw in self.topic_ids.items()},
            configs={key: dict(held) for key, held in self.configs.items()},
            client_quotas={entity: dict(held) for entity, held in self.client_quotas.items()},
            next_producer_id=self.next_producer_id,
            acls=dict(self.acls),
            scram=dict(self.scram),
            delegation_tokens=dict(self.delegation_tokens),
            transaction=transaction,
        )


def _thawed(topic: Topic) -> TopicState:
    states = topic.partitions.states
    owned = states if isinstance(states, dict) else dict(states)
    return TopicState(topic.name, owned, shared=True)


def _frozen_topic(id: Uuid, topic: TopicState) -> Topic:
    topic.shared = True
    return Topic(name=topic.name, id=id, partitions=Partitions(topic.partitions))
