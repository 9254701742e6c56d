"""Observations of clusters in a roll, built with real metadata logs in memory."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafkactl.change.journal_lines import entry_line
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.metadata.io.source import SEGMENT, LogFile
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.schema.record_versions import record_version
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.case import RollCase, RollRequest, make_case
from kafkactl.roll.cluster_log import ClusterLog, read_cluster_log
from kafkactl.roll.observation import RollNode, RollObservation, make_observation
from kafkactl.roll.rules.binaries import ranges
from tests.migration.migration_logs import PLAIN, LogWriter, record, uuid

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
JAVA = {8: 'openjdk version "1.8.0_402"', 11: 'openjdk version "11.0.22"', 17: 'openjdk version "17.0.9" 2023-10-17'}
TIME_MS = 1_790_000_100_000


def config(id: int, roles: Sequence[str], **more: str) -> str:
    """Return a file that every release from 3.3 to 4.4 takes."""
    lines = {
        "process.roles": ",".join(roles),
        "node.id": str(id),
        "log.dirs": f"/data/{id}",
        "controller.quorum.voters": "1@localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://localhost:9092" if "broker" in roles else "CONTROLLER://localhost:9093",
    }
    if len(roles) == 2:
        lines["listeners"] = "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"
    if list(roles) == ["controller"] or len(roles) == 2:
        lines["controller.quorum.voters"] = f"{id}@localhost:9093"
    lines |= {key.replace("_", "."): value for key, value in more.items()}
    return "".join(f"{key}={value}\n" for key, value in lines.items())


class Roll:
    """A cluster: three controllers and three brokers of one release unless others are named."""

    def __init__(
        self,
        release: str = "3.9.2",
        *,
        level: int | None = None,
        controllers: Iterable[int] = (1, 2, 3),
        brokers: Iterable[int] = (11, 12, 13),
        combined: Iterable[int] = (),
        voters: Iterable[int] | None = None,
        registered_by: str | None = None,
    ) -> None:
        roles = dict.fromkeys(controllers, (Role.CONTROLLER,))
        roles |= dict.fromkeys(brokers, (Role.BROKER,)) | dict.fromkeys(combined, (Role.BROKER, Role.CONTROLLER))
        self.level = find_release(release).production_level if level is None else level
        self.nodes = {id: node(id, held, release) for id, held in sorted(roles.items())}
        self.voters = (
            tuple(voters) if voters is not None else tuple(id for id, held in roles.items() if Role.CONTROLLER in held)
        )
        self.leader = max(self.voters)
        self.registered: dict[int, dict[str, Any]] = {}
        for id, held in self.nodes.items():
            self.registered[id] = {"ranges": ranges(find_release(registered_by or release)), "roles": held.roles}
        self.features: dict[str, int] = {}
        self.topics: list[tuple[str, list[tuple[tuple[int, ...], tuple[int, ...]]]]] = []
        self.configs: list[tuple[int, str, str, str]] = []
        self.dead: set[int] = set()
        self.unknown_voters: set[int] = set()
        self.quorum: Mapping[str, Any] | None = {}
        self.leader_epoch = 5
        self.log_epoch = 5
        self.adding: dict[tuple[str, int], list[int]] = {}
        self.extra: list[Any] = []
        self.record_level: int | None = None
        self.journal: Any = None
        self.control: list[Any] = []

    def change(self, id: int, **changes: Any) -> Roll:
        """Change a node of the observation."""
        self.nodes[id] = changed(self.nodes[id], **changes)
        return self

    def runs(self, release: str, *ids: int, registered: bool = True) -> Roll:
        """Replace the release of nodes, registered with its ranges."""
        for id in ids or tuple(self.nodes):
            supported = ranges(find_release(release))
            self.change(id, release=release, features=supported)
            if registered:
                self.registered[id]["ranges"] = supported
                self.registered[id]["restarted"] = True
        return self

    def was(self, release: str, *ids: int) -> Roll:
        """Write an earlier registration of nodes, as another release, into the log."""
        for id in ids or tuple(self.nodes):
            self.registered[id]["earlier"] = ranges(find_release(release))
        return self

    def fence(self, *ids: int) -> Roll:
        for id in ids:
            self.registered[id]["fenced"] = True
        return self

    def kill(self, *ids: int) -> Roll:
        """Return the case with nodes that do not answer; a broker among them is fenced."""
        for id in ids:
            self.change(id, alive=False, release=None, features=None)
            self.dead.add(id)
            if Role.BROKER in self.nodes[id].roles:
                self.fence(id)
        return self

    def topic(self, name: str, *partitions: Any, **configs: str) -> Roll:
        """Return a topic; a partition is its replicas, or replicas and ISR."""
        rows = [part if isinstance(part, tuple) else (tuple(part), tuple(part)) for part in partitions]
        self.topics.append((name, rows))
        for key, value in configs.items():
            self.configs.append((2, name, key.replace("_", "."), value))
        return self

    def log_bytes(self) -> bytes:
        log = LogWriter(epoch=self.log_epoch)
        data = {"LeaderId": self.leader, "Voters": [{"VoterId": id} for id in self.voters], "GrantingVoters": []}
        log._append([encode_control_record(ControlType.LEADER_CHANGE, data)], is_control=True)
        for type_, content in self.control:
            log._append([encode_control_record(type_, content)], is_control=True)
        level = self.level if self.record_level is None else self.record_level
        log.batch(record("FeatureLevelRecord", Name="metadata.version", FeatureLevel=self.level))
        for name, value in self.features.items():
            log.batch(record("FeatureLevelRecord", Name=name, FeatureLevel=value))
        for id, held in self.registered.items():
            if "earlier" in held:
                self._node(log, id, {"ranges": held["earlier"], "roles": held["roles"], "run": 7}, level)
            self._node(log, id, held, level)
        for number, (name, rows) in enumerate(self.topics, start=1):
            log.batch(record("TopicRecord", Name=name, TopicId=uuid(number)))
            for at, (replicas, isr) in enumerate(rows):
                log.batch(
                    record("PartitionRecord", record_version("PartitionRecord", level), PartitionId=at,
                           TopicId=uuid(number), Replicas=list(replicas), Isr=list(isr), RemovingReplicas=[],
                           AddingReplicas=self.adding.get((name, at), []), Leader=isr[0] if isr else -1,
                           LeaderEpoch=0, PartitionEpoch=0)
                )  # fmt: skip
        for kind, entity, key, value in self.configs:
            log.batch(record("ConfigRecord", ResourceType=kind, ResourceName=entity, Name=key, Value=value))
        for entry in self.extra:
            log.batch(entry)
        self.end_offset = log.offset
        return log.data

    def _node(self, log: LogWriter, id: int, held: Any, level: int) -> None:
        features = [
            {"Name": name, "MinSupportedVersion": span.lowest, "MaxSupportedVersion": span.highest}
            for name, span in held["ranges"].items()
        ]
        incarnation = uuid(id + 500 * held.get("run", 1 if held.get("restarted") else 0))
        if Role.CONTROLLER in held["roles"] and level >= 15:
            log.batch(record("RegisterControllerRecord", ControllerId=id, IncarnationId=incarnation,
                             ZkMigrationReady=False, EndPoints=[PLAIN], Features=features))  # fmt: skip
        if Role.BROKER in held["roles"] and not held.get("absent"):
            self._broker(log, id, held, incarnation, features, level)

    def _broker(self, log: LogWriter, id: int, held: Any, incarnation: Any, features: Any, level: int) -> None:
        version = record_version("RegisterBrokerRecord", level)
        more = {"LogDirs": [uuid(100 + id)]} if version >= 3 else {}
        epoch = log.offset
        log.batch(record("RegisterBrokerRecord", version, BrokerId=id, BrokerEpoch=epoch, IncarnationId=incarnation,
                         EndPoints=[PLAIN], Features=features, Rack=self.nodes[id].rack, Fenced=True,
                         **more))  # fmt: skip
        if not held.get("fenced"):
            change = {"Fenced": -1, "InControlledShutdown": 0}
            log.batch(record("BrokerRegistrationChangeRecord", 1, BrokerId=id, BrokerEpoch=epoch, **change))
        if held.get("stopping"):
            log.batch(
                record("BrokerRegistrationChangeRecord", 1, BrokerId=id, BrokerEpoch=epoch, InControlledShutdown=1)
            )

    def quorum_answer(self) -> Mapping[str, Any] | None:
        if self.quorum is None or self.quorum:
            return self.quorum
        end = self.end_offset

        def replica(id: int) -> dict[str, Any]:
            alive = None if id in self.unknown_voters else id not in self.dead
            return {"id": id, "log_end_offset": end - (40 if alive is False else 0), "lag": 40 if alive is False else 0,
                    "alive": alive}  # fmt: skip

        brokers = [id for id, held in self.nodes.items() if Role.CONTROLLER not in held.roles and id not in self.dead]
        return {
            "leader_id": self.leader,
            "leader_epoch": self.leader_epoch,
            "voters": [replica(id) for id in self.voters],
            "observers": [replica(id) for id in brokers],
            "nodes": [{"id": id, "leader_epoch": self.leader_epoch} for id in self.voters if id not in self.dead],
        }

    def observation(self) -> RollObservation:
        content = self.log_bytes()
        return make_observation(
            time_ms=TIME_MS,
            cluster_id=CLUSTER,
            nodes=self.nodes.values(),
            quorum=self.quorum_answer(),
            nodes_list=None,
            log=_cluster_log(self.leader, content),
            journal=self.journal,
        )

    def case(self, to: str | None = None, **request: Any) -> RollCase:
        return make_case(self.observation(), RollRequest(to=to, **request))


@functools.lru_cache(maxsize=8)
def _cluster_log(leader: int, content: bytes) -> ClusterLog:
    """Return the log of a segment. A roll observes a cluster several times before it changes."""
    segment = LogFile(name="0.log", kind=SEGMENT, base_offset=0, pieces=lambda: [content])
    return read_cluster_log(leader, [segment], [])


def node(id: int, roles: Sequence[Role], release: str) -> RollNode:
    return RollNode(
        id=id,
        roles=tuple(roles),
        alive=True,
        release=release,
        java=JAVA[17],
        config=config(id, [role.value for role in roles]),
        features=dict[str, Versions](ranges(find_release(release))),
    )


def save_roll(roll: Roll, folder: Path) -> Path:
    """Save the observation of a cluster as `roll observe` does."""
    content = roll.log_bytes()
    log = folder / "metadata" / str(roll.leader) / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / "00000000000000000000.log").write_bytes(content)
    (folder / "observation.json").write_text(json.dumps(roll.observation().to_dict()))
    if roll.journal is not None:
        (folder / "journal.jsonl").write_bytes(b"".join(map(entry_line, roll.journal)))
    return folder
