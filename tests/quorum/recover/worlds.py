"""Disks of a small cluster that lost its majority: controllers 1 to 3, brokers 11 and 12, made without a Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kafkactl.cluster.quorum.voter_sets import Voter, voters_data
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.image.model import (
    TOPIC_CONFIG,
    Acl,
    Broker,
    Controller,
    FeatureRange,
    Image,
    Listener,
    Partition,
    Partitions,
    Topic,
    state_of,
)
from kafkactl.metadata.image.records import image_records, level_of
from kafkactl.metadata.image.snapshot_writer import snapshot_name
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.metadata.records import records_of
from tests.metadata.snapshots import encode_snapshot

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
LEVEL = 25
LOG = "__cluster_metadata-0"
SEGMENT = "00000000000000000000.log"


def uuid(number: int) -> Uuid:
    return Uuid((0xABCD_0000 + number).to_bytes(16, "big"))


DIRECTORY = {node: uuid(node) for node in (1, 2, 3, 4, 5, 11, 12, 13)}


def topic(name: str, number: int, partitions: int, *, epoch: int = 0, brokers: Sequence[int] = (11, 12)) -> Topic:
    held = Partition(
        replicas=tuple(brokers), isr=tuple(brokers), removing_replicas=(), adding_replicas=(), leader=brokers[0],
        leader_recovery_state=0, leader_epoch=epoch, partition_epoch=0,
        directories=tuple(DIRECTORY[broker] for broker in brokers), eligible_leader_replicas=(), last_known_elr=(),
    )  # fmt: skip
    return Topic(
        name=name, id=uuid(number), partitions=Partitions({index: state_of(held) for index in range(partitions)})
    )


def image(*topics: Topic, **parts: object) -> Image:
    """Return a cluster with these topics and the two brokers."""
    features = {"metadata.version": FeatureRange(1, LEVEL)}
    where = (Listener(name="X", host="h", port=9, security_protocol=0),)
    brokers = {
        id: Broker(
            id=id, epoch=2, incarnation_id=uuid(100 + id), listeners=where, features=features, rack=None, fenced=False,
            in_controlled_shutdown=False, is_migrating_zk_broker=False, directories=(DIRECTORY[id],), cordoned=None,
        )
        for id in (11, 12)
    }  # fmt: skip
    controllers = {
        id: Controller(
            id=id, incarnation_id=uuid(200 + id), zk_migration_ready=False, listeners=where, features=features
        )
        for id in (1, 2, 3)
    }
    fields = {
        "features": {"metadata.version": LEVEL},
        "brokers": brokers,
        "controllers": controllers,
        "topics": {topic.id: topic for topic in topics},
        "topic_ids": {topic.name: topic.id for topic in topics},
        "next_producer_id": 3000,
        **parts,
    }
    return Image(**fields)  # type: ignore[arg-type]


def records(of: Image) -> list[MetadataRecord]:
    level = level_of(of)
    assert level is not None
    return list(image_records(of, level))


def topic_records(*topics: Topic) -> list[MetadataRecord]:
    """Return the records that make these topics."""
    return [record for record in records(image(*topics)) if record.type in ("TopicRecord", "PartitionRecord")]


def acl(number: int, user: str) -> Acl:
    return Acl(
        id=uuid(number), resource_type=2, resource_name="pay", pattern_type=3, principal=f"User:{user}", host="*",
        operation=3, permission_type=3,
    )  # fmt: skip


def voters(ids: Iterable[int] = (1, 2, 3)) -> tuple[Voter, ...]:
    endpoint = {id: Endpoint(listener="CONTROLLER", host="127.0.0.1", port=1) for id in ids}
    return tuple(Voter(node_id=id, directory_id=DIRECTORY[id], endpoints=(key,)) for id, key in endpoint.items())


@dataclass
class MetadataLog:
    """Batches of a metadata log, one after the other; `starts` are the base offset and the byte of each."""

    dynamic: bool = True
    data: bytes = b""
    end: int = 0
    starts: list[tuple[int, int]] = field(default_factory=list)
    begun_ms: int = 1_000
    ids: tuple[int, ...] = (1, 2, 3)

    def lead(self, epoch: int, leader: int = 1) -> MetadataLog:
        """Return an election; the first of a dynamic quorum also says who votes."""
        ids = [{"VoterId": id} for id in self.ids]
        change = {"LeaderId": leader, "Voters": ids, "GrantingVoters": ids}
        controls = [encode_control_record(ControlType.LEADER_CHANGE, change)]
        if self.dynamic and not self.end:
            controls.append(encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": 1}))
            controls.append(encode_control_record(ControlType.KRAFT_VOTERS, voters_data(voters(self.ids))))
        return self._add(controls, epoch, is_control=True)

    def vote(self, ids: tuple[int, ...], epoch: int = 1) -> MetadataLog:
        """Return the log with another voter set; that of a static quorum is not in the log before the next leader."""
        changed = replace(self, ids=ids)
        control = encode_control_record(ControlType.KRAFT_VOTERS, voters_data(voters(ids)))
        return changed._add([control], epoch, is_control=True) if self.dynamic else changed

    def append(self, held: Sequence[MetadataRecord], epoch: int = 1) -> MetadataLog:
        """Append one batch."""
        framed = [(None, encode_record(message(record.type), record.version, record.data)) for record in held]
        return self._add(framed, epoch)

    def noop(self, epoch: int = 1) -> MetadataLog:
        """Return a batch that changes nothing."""
        return self._add([(None, encode_record(message("NoOpRecord"), 0, {}))], epoch)

    def _add(self, held: list, epoch: int, *, is_control: bool = False) -> MetadataLog:
        made = encode_batch(
            held, base_offset=self.end, timestamp_ms=self.begun_ms + self.end, partition_leader_epoch=epoch,
            is_control=is_control,
        )  # fmt: skip
        return replace(
            self,
            data=self.data + made,
            end=self.end + len(held),
            starts=[*self.starts, (self.end, len(self.data))],
        )


def first_log(of: Image, *, dynamic: bool = True, begun_ms: int = 1_000) -> MetadataLog:
    """Return a log whose records come to this image; its first record is of `begun_ms`."""
    log = MetadataLog(dynamic=dynamic, begun_ms=begun_ms).lead(1)
    for number in range(0, len(held := records(of)), 4):
        log = log.append(held[number : number + 4])
    return log


def disk(
    path: Path, node: int, log: MetadataLog | bytes | None = None, *, cluster: str = CLUSTER, directory: int = 0
) -> Path:
    """Return a log directory with meta.properties and perhaps a metadata log; `directory` numbers another one."""
    path.mkdir(parents=True)
    lines = f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={uuid(directory or node)}\n"
    (path / "meta.properties").write_text(lines)
    if log is not None:
        (path / LOG).mkdir()
        (path / LOG / SEGMENT).write_bytes(log if isinstance(log, bytes) else log.data)
    return path


def snapshot(path: Path, of: Image, end: int, epoch: int) -> Path:
    """Put a snapshot of this image into a directory."""
    file = path / LOG / snapshot_name(end, epoch)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(encode_snapshot(of, epoch=epoch, last_contained_log_timestamp_ms=1, now_ms=1))
    return file


def static_state(path: Path, epoch: int, ids: Sequence[int] = (1, 2, 3)) -> None:
    """Write a quorum-state of a static quorum."""
    listed = ",".join(f'{{"voterId":{id_}}}' for id_ in ids)
    (path / LOG / "quorum-state").write_text(
        f'{{"clusterId":"","leaderId":1,"leaderEpoch":{epoch},"votedId":-1,"appliedOffset":0,'
        f'"currentVoters":[{listed}],"data_version":0}}'
    )


def folder(
    path: Path, topic: Topic | str, partition: int, *, id: Uuid | None = None, suffix: str = "", epoch: int | None = 0,
    end: int = 5, timestamp_ms: int = 2_000_000_000_000,
) -> Path:  # fmt: skip
    """Return the folder of a replica with one segment of `end` records."""
    name = topic if isinstance(topic, str) else topic.name
    topic_id = id if id is not None else topic.id if isinstance(topic, Topic) else None
    mark = f".{'0' * 32}-{suffix}" if suffix else ""
    made = path / f"{name}-{partition}{mark}"
    made.mkdir()
    if topic_id is not None:
        (made / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    if epoch is not None:
        (made / "leader-epoch-checkpoint").write_text(f"0\n1\n{epoch} 0\n")
    data = (
        b""
        if not end
        else encode_batch(
            [(None, b"x")] * end, base_offset=0, timestamp_ms=timestamp_ms, partition_leader_epoch=epoch or 0
        )
    )
    (made / SEGMENT).write_bytes(data)
    return made


def tree(root: Path) -> dict[str, bytes | None]:
    """Return everything below a folder."""
    found = sorted(root.rglob("*"))
    return {str(file.relative_to(root)): None if file.is_dir() else file.read_bytes() for file in found}


def written_image(out: Path) -> Image:
    """Return the image in the snapshot of a recovered directory."""
    (file,) = (out / LOG).iterdir()
    assert decode_checkpoint(file.read_bytes()).is_complete
    return replay(records_of(file.read_bytes()), snapshot=True).image


ORDERS, PAY, GONE, LATE = topic("orders", 501, 3), topic("pay", 502, 1), topic("gone", 503, 1), topic("late", 504, 2)
MORE_ORDERS = topic("orders", 501, 4)
BEFORE = image(ORDERS, PAY, GONE, acls={uuid(600): acl(600, "alice")})
AFTER = image(
    MORE_ORDERS, PAY, LATE, acls={uuid(600): acl(600, "alice"), uuid(601): acl(601, "bob")},
    configs={(TOPIC_CONFIG, "pay"): {"retention.ms": "700000000"}},
)  # fmt: skip


def lagging_log(*, dynamic: bool = True) -> MetadataLog:
    """Return what G has: the state BEFORE."""
    return first_log(BEFORE, dynamic=dynamic)


def whole_log(*, dynamic: bool = True) -> MetadataLog:
    """Return what F has: the same, and then everything that leads to AFTER."""
    known = {(record.type, str(record.data)) for record in records(BEFORE)}
    log = lagging_log(dynamic=dynamic).append(
        [record for record in records(AFTER) if (record.type, str(record.data)) not in known]
    )
    removed = MetadataRecord(type="RemoveTopicRecord", api_key=9, version=0, data={"TopicId": GONE.id})
    return log.append([removed]).noop()


def broker_disks(root: Path, *, log: MetadataLog | None = None, suffix: str = "") -> list[Path]:
    """Return both brokers with the folders of AFTER; `suffix` for those that BEFORE does not know."""
    made = []
    for broker in (11, 12):
        path = disk(root / f"b{broker}", broker, log)
        for topic in (ORDERS, PAY):
            for partition in topic.partitions:
                folder(path, topic, partition, epoch=8)
        folder(path, MORE_ORDERS, 3, suffix=suffix, epoch=2)
        for partition in LATE.partitions:
            folder(path, LATE, partition, suffix=suffix, epoch=1, end=7 if broker == 12 else 4)
        made.append(path)
    return made
