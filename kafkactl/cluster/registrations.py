"""Registrations in the metadata log: brokers, controllers, the levels they support, their replicas.

No request shows the registrations of controllers, and none shows the ranges of a dead broker; a feature change is
judged by both (`FeatureControlManager`, KAFKA-20295). So the log is read: `RegistrationLog` takes records in their
order, from a snapshot and then the log after it, and `registrations` is what holds after the last one. Records of a
metadata transaction count when it ends and not if it is aborted (KIP-868).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final

from kafkactl.cluster.quorum.voter_sets import Voter, voters_of
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.protocol.codec import Message
from kafkactl.protocol.control_records import ControlRecord, ControlType
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.spec import Versions

_BEGIN, _END, _ABORT = 23, 24, 25


@frozen
class BrokerRegistration:
    """A broker's registration. `epoch` is its broker epoch; `cordoned` directories take no new partitions."""

    id: int
    epoch: int
    incarnation_id: Uuid
    fenced: bool
    in_controlled_shutdown: bool
    features: Mapping[str, Versions]
    endpoints: tuple[Endpoint, ...]
    directory_ids: tuple[Uuid, ...]
    cordoned: tuple[Uuid, ...] = ()
    is_migrating_zk_broker: bool = False


@frozen
class ControllerRegistration:
    """A controller's registration (KIP-919). The registration has no fence: a controller that is long gone looks like
    any other."""

    id: int
    incarnation_id: Uuid
    features: Mapping[str, Versions]
    endpoints: tuple[Endpoint, ...]
    zk_migration_ready: bool = False


@frozen
class Registrations:
    """The cluster's nodes after the last record of the log.

    `levels` are the FeatureLevelRecords that are in force, level 0 left out; `kraft_version` and `voters` come from
    control records and are None if there are none (a static quorum). `hosted` counts, by broker id, the partitions
    that have a replica there; `leaderless` those of them that had no leader. `zk_migration_state` is the number of
    the last ZkMigrationStateRecord. `led_until` has the controllers that another one followed as leader and that did
    not register as a new process since: the offset of the LeaderChange record that ended their leadership.
    `voters_at` is the offset of the last record of voters, None if that is in a snapshot.
    """

    brokers: Mapping[int, BrokerRegistration]
    controllers: Mapping[int, ControllerRegistration]
    levels: Mapping[str, int]
    kraft_version: int | None = None
    voters: tuple[Voter, ...] | None = None
    zk_migration_state: int | None = None
    hosted: Mapping[int, int] = field(default_factory=dict)
    leaderless: Mapping[int, int] = field(default_factory=dict)
    led_until: Mapping[int, int] = field(default_factory=dict)
    voters_at: int | None = None


class RegistrationLog:
    """Registrations of nodes, folded from the records of a metadata log.

    Only records whose api key is in `READ_KEYS` need be given; others are ignored.
    """

    def __init__(self) -> None:
        self._brokers: dict[int, BrokerRegistration] = {}
        self._controllers: dict[int, ControllerRegistration] = {}
        self._levels: dict[str, int] = {}
        self._partitions: dict[Uuid, dict[int, tuple[tuple[int, ...], int]]] = {}
        self._kraft_version: int | None = None
        self._voters: tuple[Voter, ...] | None = None
        self._zk_migration_state: int | None = None
        self._leader: int | None = None
        self._led_until: dict[int, int] = {}
        self._voters_at: int | None = None
        self._transaction: list[MetadataRecord] | None = None

    def add(self, record: MetadataRecord) -> None:
        """Take in the next data record."""
        if record.api_key == _BEGIN:
            self._transaction = []
        elif record.api_key == _END:
            waiting, self._transaction = self._transaction or [], None
            for held in waiting:
                self._replay(held)
        elif record.api_key == _ABORT:
            self._transaction = None
        elif self._transaction is not None:
            self._transaction.append(record)
        else:
            self._replay(record)

    def add_control(self, record: ControlRecord, offset: int | None) -> None:
        """Take in a control record, at that offset of the log; None: of a snapshot. Others than the quorum's are
        ignored."""
        if record.type is ControlType.KRAFT_VERSION:
            self._kraft_version = record.data["KRaftVersion"]
        elif record.type is ControlType.KRAFT_VOTERS:
            self._voters, self._voters_at = voters_of(record.data), offset
        elif record.type is ControlType.LEADER_CHANGE and offset is not None:
            self._change_leader(record.data["LeaderId"], offset)

    def registrations(self) -> Registrations:
        """Return the registrations after the records so far."""
        hosted, leaderless = self._counts()
        return Registrations(
            brokers=dict(sorted(self._brokers.items())),
            controllers=dict(sorted(self._controllers.items())),
            levels=dict(sorted(self._levels.items())),
            kraft_version=self._kraft_version,
            voters=self._voters,
            zk_migration_state=self._zk_migration_state,
            hosted=hosted,
            leaderless=leaderless,
            led_until=dict(sorted(self._led_until.items())),
            voters_at=self._voters_at,
        )

    def _change_leader(self, leader_id: int, offset: int) -> None:
        if self._leader is not None and self._leader != leader_id:
            self._led_until[self._leader] = offset
        self._leader = leader_id

    def _replay(self, record: MetadataRecord) -> None:
        rule = _REPLAY.get(record.api_key)
        if rule is not None:
            rule(self, record.data)

    def _counts(self) -> tuple[dict[int, int], dict[int, int]]:
        hosted: Counter[int] = Counter()
        leaderless: Counter[int] = Counter()
        for partitions in self._partitions.values():
            for replicas, leader in partitions.values():
                hosted.update(replicas)
                if leader < 0:
                    leaderless.update(replicas)
        return dict(sorted(hosted.items())), dict(sorted(leaderless.items()))

    def _register_broker(self, data: Message) -> None:
        self._brokers[data["BrokerId"]] = _broker(data)

    def _unregister_broker(self, data: Message) -> None:
        self._brokers.pop(data["BrokerId"], None)

    def _change_broker(self, data: Message) -> None:
        self._patch(data["BrokerId"], **_changed(data))

    def _fence(self, data: Message) -> None:
        self._patch(data["Id"], fenced=True)

    def _unfence(self, data: Message) -> None:
        self._patch(data["Id"], fenced=False)

    def _patch(self, broker_id: int, **changes: Any) -> None:
        if broker_id in self._brokers:
            self._brokers[broker_id] = changed(self._brokers[broker_id], **changes)

    def _register_controller(self, data: Message) -> None:
        before = self._controllers.get(data["ControllerId"])
        if before is not None and before.incarnation_id != data["IncarnationId"]:
            # A first registration may come long after the start: once metadata.version is 3.7-IV0 or later.
            self._led_until.pop(data["ControllerId"], None)
        self._controllers[data["ControllerId"]] = ControllerRegistration(
            id=data["ControllerId"],
            incarnation_id=data["IncarnationId"],
            features=_features(data),
            endpoints=_endpoints(data),
            zk_migration_ready=data["ZkMigrationReady"],
        )

    def _unregister_controller(self, data: Message) -> None:
        self._controllers.pop(data["ControllerId"], None)

    def _feature_level(self, data: Message) -> None:
        self._levels.pop(data["Name"], None)
        if data["FeatureLevel"]:
            self._levels[data["Name"]] = data["FeatureLevel"]

    def _zk_migration(self, data: Message) -> None:
        self._zk_migration_state = data["ZkMigrationState"]

    def _partition(self, data: Message) -> None:
        self._partitions.setdefault(data["TopicId"], {})[data["PartitionId"]] = tuple(data["Replicas"]), data["Leader"]

    def _change_partition(self, data: Message) -> None:
        partitions = self._partitions.get(data["TopicId"], {})
        if data["PartitionId"] in partitions:
            replicas, leader = partitions[data["PartitionId"]]
            if data["Replicas"] is not None:
                replicas = tuple(data["Replicas"])
            # -2: the leader stays (PartitionRegistration.merge)
            partitions[data["PartitionId"]] = replicas, leader if data["Leader"] == -2 else data["Leader"]

    def _remove_topic(self, data: Message) -> None:
        self._partitions.pop(data["TopicId"], None)


_REPLAY: Final[dict[int, Callable[[RegistrationLog, Message], None]]] = {
    0: RegistrationLog._register_broker,
    1: RegistrationLog._unregister_broker,
    3: RegistrationLog._partition,
    5: RegistrationLog._change_partition,
    7: RegistrationLog._fence,
    8: RegistrationLog._unfence,
    9: RegistrationLog._remove_topic,
    12: RegistrationLog._feature_level,
    17: RegistrationLog._change_broker,
    21: RegistrationLog._zk_migration,
    27: RegistrationLog._register_controller,
    29: RegistrationLog._unregister_controller,
}
READ_KEYS: Final = frozenset(_REPLAY) | {_BEGIN, _END, _ABORT}


def _broker(data: Message) -> BrokerRegistration:
    return BrokerRegistration(
        id=data["BrokerId"],
        epoch=data["BrokerEpoch"],
        incarnation_id=data["IncarnationId"],
        fenced=data["Fenced"],
        in_controlled_shutdown=data["InControlledShutdown"],
        features=_features(data),
        endpoints=_endpoints(data),
        directory_ids=tuple(data["LogDirs"]),
        cordoned=tuple(data["CordonedLogDirs"] or ()),
        is_migrating_zk_broker=data["IsMigratingZkBroker"],
    )


def _changed(data: Message) -> dict[str, Any]:
    """Return the value after a BrokerRegistrationChangeRecord: 1 sets, -1 clears, 0 and absent change nothing."""
    changes: dict[str, Any] = {}
    if data["Fenced"]:
        changes["fenced"] = data["Fenced"] > 0
    if data["InControlledShutdown"]:
        changes["in_controlled_shutdown"] = data["InControlledShutdown"] > 0
    if data["LogDirs"]:
        changes["directory_ids"] = tuple(data["LogDirs"])
    if data["CordonedLogDirs"] is not None:
        changes["cordoned"] = tuple(data["CordonedLogDirs"])
    return changes


def _features(data: Message) -> dict[str, Versions]:
    return {
        feature["Name"]: Versions(feature["MinSupportedVersion"], feature["MaxSupportedVersion"])
        for feature in sorted(data["Features"], key=lambda feature: str(feature["Name"]))
    }


def _endpoints(data: Message) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(listener=endpoint["Name"], host=endpoint["Host"], port=endpoint["Port"])
        for endpoint in data["EndPoints"]
    )
