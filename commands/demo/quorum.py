"""A quorum of controllers over real sockets that behaves as Kafka 4.3 does, and counts what it did.

It has what a change of voters or of feature levels meets: one leader, a metadata log that can be fetched, voters and
observers, registrations, refusals with Kafka's codes. `effects` are the changes that were made, in their order: a test
of lost requests counts them. tests/lab/quorum/test_fake_quorum.py asks it and a real quorum the same things.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafkactl.commands.demo.bodies import cluster_body, controller_registration, listener, quorum_body, voter_node
from kafkactl.commands.demo.broker import Action, Asked, FakeBroker, Reply
from kafkactl.commands.demo.listening import Listening
from kafkactl.core.kafka_names import GROUP_VERSION, KRAFT_VERSION, METADATA_VERSION, TRANSACTION_VERSION
from kafkactl.core.values import Uuid
from kafkactl.net.transport import Address
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record

NOT_LEADER, TIMED_OUT, INVALID_REQUEST, NOT_CONTROLLER, FENCED, UNKNOWN_EPOCH = 6, 7, 42, 41, 74, 75
INVALID_UPDATE, OTHER_CLUSTER, DUPLICATE_VOTER, VOTER_NOT_FOUND = 95, 104, 126, 127
RANGES = {METADATA_VERSION: (7, 30), KRAFT_VERSION: (0, 1), GROUP_VERSION: (0, 1), TRANSACTION_VERSION: (0, 2)}
_FEATURE_LEVEL = 12
_CONTROLLER_REQUESTS = {52: (0, 2), 53: (0, 1), 54: (0, 1), 59: (0, 1), 70: (0, 0)}
_PREFIX = "The update failed for all features since the following feature had an error: "


def directory_of(node_id: int) -> Uuid:
    """Return the directory id of a node of the fake quorum."""
    return Uuid(bytes([0x80 + node_id]) * 16)


class FakeController(FakeBroker):
    """A controller; what it says is what its quorum says."""

    def __init__(self, quorum: FakeQuorum, node_id: int) -> None:
        self.node_id = node_id
        self.quorum = quorum
        super().__init__(self._answer, versions=_CONTROLLER_REQUESTS, supported=RANGES)
        self.finalized = quorum.levels

    def self_description(self, version: int) -> dict[str, Any]:
        """Return ApiVersions, with the metadata loaded: features have the epoch of the log."""
        return super().self_description(version) | {"FinalizedFeaturesEpoch": self.quorum.high_watermark}

    def _answer(self, asked: Asked) -> Action | None:
        with self.quorum.lock:
            return self.quorum.answer(asked, self.node_id)


class FakeQuorum:
    """Controllers 1, 2, 3 …, of which some vote. A context manager: it answers while the block lasts."""

    def __init__(
        self,
        *,
        controllers: int = 3,
        voters: tuple[int, ...] = (1,),
        metadata_version: int = 25,
        records: Iterable[bytes] = (),
    ) -> None:
        """Make a quorum; `records` are framed records of the metadata log, after those of the controllers."""
        self.cluster_id = "ZmFrZS1xdW9ydW0tMTIzNA"
        self.lock = threading.RLock()
        self.levels: dict[str, int] = {METADATA_VERSION: metadata_version, KRAFT_VERSION: 1}
        self.voters = {voter: directory_of(voter) for voter in voters}
        self.leader_id, self.epoch = min(voters), 3
        self.effects: list[tuple[str, Any]] = []
        self._records = list(records)
        self._log = b""
        self.high_watermark = 0
        self.nodes = {number: FakeController(self, number) for number in range(1, controllers + 1)}
        self._doors = {number: self._door(node) for number, node in self.nodes.items()}
        self._addresses = {number: door.address for number, door in self._doors.items()}
        self._gone: dict[int, tuple[int, int]] = {}  # who fetches no more: log end and time of the last fetch
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> FakeQuorum:
        for node in self.nodes.values():
            self._stack.enter_context(node)
        for number, door in self._doors.items():
            if door is not self.nodes[number]:
                self._stack.enter_context(door)
        self._append_control([encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": 1})])
        self._append_voters()
        self._append_levels(self.levels)
        for node_id in self.nodes:
            self._append([controller_registration(node_id, self.address(node_id), RANGES)])
        if self._records:
            self._append(self._records)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _door(self, node: FakeController) -> Listening:
        """Return the listener for clients: the controller itself, or a proxy of a subclass."""
        return node

    def address(self, node_id: int) -> Address:
        """Return the address of a controller for clients."""
        return self._addresses[node_id]

    def kill(self, node_id: int, *, ago_ms: int = 300) -> None:
        """End a controller: its address does not answer any more, and its last fetch was so long ago."""
        with self.lock:
            self._gone[node_id] = (self.high_watermark, time.time_ns() // 1_000_000 - ago_ms)
        self._doors[node_id].__exit__(None, None, None)

    def cut(self, node_id: int) -> None:
        """Cut the controller off from clients; it continues to fetch."""
        self._doors[node_id].__exit__(None, None, None)

    @property
    def addresses(self) -> list[Address]:
        """Return the addresses of all controllers."""
        return [self.address(node) for node in self.nodes]

    def answer(self, asked: Asked, node_id: int) -> Action | None:
        """Return this controller's answer; None leaves it to the fake broker (ApiVersions)."""
        leads = node_id == self.leader_id
        match asked.name:
            case "DescribeQuorum":
                body = self._described() if leads else quorum_body({"ErrorCode": NOT_LEADER})
            case "DescribeCluster":
                body = self._cluster()
            case "DescribeConfigs":
                body = {"Results": [self._configs(asked, node_id)]}
            case "Fetch":
                body = {"Responses": [{"TopicId": asked.body["Topics"][0]["TopicId"], **self._fetched(asked, leads)}]}
            case "UpdateFeatures":
                body = self._update(asked.body) if leads else {"ErrorCode": NOT_CONTROLLER}
            case "AddRaftVoter" | "RemoveRaftVoter":
                body = self._voter_change(asked) if leads else {"ErrorCode": NOT_LEADER}
            case _:
                return None
        return Reply(body=body)

    def _described(self) -> dict[str, Any]:
        now_ms = time.time_ns() // 1_000_000

        def replica(node_id: int, directory_id: Uuid) -> dict[str, Any]:
            end, time_ms = self._gone.get(node_id, (self.high_watermark, now_ms))
            return {
                "ReplicaId": node_id, "ReplicaDirectoryId": directory_id, "LogEndOffset": end,
                "LastFetchTimestamp": time_ms, "LastCaughtUpTimestamp": time_ms,
            }  # fmt: skip

        observers = [node for node in self.nodes if node not in self.voters]
        partition = {
            "LeaderId": self.leader_id,
            "LeaderEpoch": self.epoch,
            "HighWatermark": self.high_watermark,
            "CurrentVoters": [replica(*voter) for voter in self.voters.items()],
            "Observers": [replica(observer, directory_of(observer)) for observer in observers],
        }
        self._append_no_op()  # a leader writes one twice a second: commits are seen to go on
        return quorum_body(partition, [voter_node(voter, self.address(voter)) for voter in self.voters])

    def _cluster(self) -> dict[str, Any]:
        return cluster_body(self.cluster_id, self.leader_id, {node: self.address(node) for node in self.nodes}, 2)

    def _configs(self, asked: Asked, node_id: int) -> dict[str, Any]:
        resource = asked.body["Resources"][0]
        about = {"ResourceType": resource["ResourceType"], "ResourceName": resource["ResourceName"]}
        if resource["ResourceName"] not in ("", str(node_id)):
            text = f"Unexpected broker id, expected {node_id} or empty string, but received {resource['ResourceName']}"
            return about | {"ErrorCode": INVALID_REQUEST, "ErrorMessage": text}
        values = {"node.id": str(node_id), "controller.quorum.auto.join.enable": "false"}
        return about | {"Configs": [{"Name": name, "Value": value} for name, value in values.items()]}

    def _fetched(self, asked: Asked, leads: bool) -> dict[str, Any]:
        wanted = asked.body["Topics"][0]["Partitions"][0]
        leader = {"LeaderId": self.leader_id, "LeaderEpoch": self.epoch}
        partition: dict[str, Any] = {"PartitionIndex": 0, "HighWatermark": -1, "CurrentLeader": leader}
        behind = wanted["CurrentLeaderEpoch"] < self.epoch
        if not leads or wanted["CurrentLeaderEpoch"] != self.epoch:
            code = NOT_LEADER if not leads else FENCED if behind else UNKNOWN_EPOCH
            return {"Partitions": [partition | {"ErrorCode": code}]}
        return {
            "Partitions": [
                partition | {"HighWatermark": self.high_watermark, "Records": self._from(wanted["FetchOffset"])}
            ]
        }

    def _update(self, body: Mapping[str, Any]) -> dict[str, Any]:
        wanted = {update["Feature"]: update["MaxVersionLevel"] for update in body["FeatureUpdates"]}
        for item in body["FeatureUpdates"]:
            problem = self._refusal(item["Feature"], item["MaxVersionLevel"], item["UpgradeType"])
            if problem:
                return {"ErrorCode": INVALID_UPDATE, "ErrorMessage": _PREFIX + problem}
        if not body["ValidateOnly"]:
            moved = {name: level for name, level in wanted.items() if self.levels.get(name, 0) != level}
            self.levels |= wanted
            self._append_levels(wanted)
            if moved:
                self.effects.append(("UpdateFeatures", tuple(sorted(moved.items()))))
        return {"ErrorCode": 0}

    def _refusal(self, name: str, level: int, kind: int) -> str:
        low, high = RANGES.get(name, (0, 0))
        head = f"Invalid update version {level} for feature {name}. "
        if name not in RANGES:
            return f"{head}Local controller {self.leader_id} does not support this feature."
        if not low <= level <= high:
            return f"{head}Local controller {self.leader_id} only supports versions {low}-{high}"
        if level < self.levels.get(name, 0) and kind == 1:
            return (
                f"{head}Can't downgrade the version of this feature without setting the upgrade type to either safe or "
                "unsafe downgrade."
            )
        return f"{head}Can't downgrade to a newer version." if level > self.levels.get(name, 0) and kind != 1 else ""

    def _voter_change(self, asked: Asked) -> dict[str, Any]:
        body, adds = asked.body, asked.name == "AddRaftVoter"
        node_id, key = body["VoterId"], body["VoterDirectoryId"]
        known = ", ".join(_key(*voter) for voter in self.voters.items())
        if body["ClusterId"] not in (None, self.cluster_id):
            text = f'The given id "{body["ClusterId"]}" doesn\'t match the cluster id "{self.cluster_id}"'
            return {"ErrorCode": OTHER_CLUSTER, "ErrorMessage": text}
        if adds and node_id in self.voters:
            text = f"The voter id for {_key(node_id, key)} is already part of the set of voters [{known}]."
            return {"ErrorCode": DUPLICATE_VOTER, "ErrorMessage": text}
        if not adds and (self.voters.get(node_id) != key or len(self.voters) == 1):
            text = f"Cannot remove voter {_key(node_id, key)} from the set of voters [{known}]"
            return {"ErrorCode": VOTER_NOT_FOUND, "ErrorMessage": text}
        if adds and (node_id not in self.nodes or key != directory_of(node_id)):
            text = f"Aborted add voter operation for {_key(node_id, key)} since it is lagging behind"
            return {"ErrorCode": TIMED_OUT, "ErrorMessage": text}
        self._change(node_id, key, adds=adds)
        return {"ErrorCode": 0}

    def _change(self, node_id: int, key: Uuid, *, adds: bool) -> None:
        if adds:
            self.voters[node_id] = key
        else:
            del self.voters[node_id]
        self.effects.append(("add" if adds else "remove", node_id))
        self._append_voters()
        if self.leader_id not in self.voters:  # the leader resigns after its removal is committed
            self.leader_id, self.epoch = min(self.voters), self.epoch + 1

    def _append(self, values: list[bytes]) -> None:
        self._add([(None, value) for value in values], is_control=False)

    def _append_control(self, records: list[tuple[bytes, bytes]]) -> None:
        self._add(records, is_control=True)

    def _add(self, records: Any, *, is_control: bool) -> None:
        with self.lock:
            self._log += encode_batch(
                records, base_offset=self.high_watermark, timestamp_ms=1, partition_leader_epoch=self.epoch,
                is_control=is_control,
            )  # fmt: skip
            self.high_watermark += len(records)

    def _append_no_op(self) -> None:
        self._append([encode_record(metadata_record(20), 0, {})])

    def _append_levels(self, levels: Mapping[str, int]) -> None:
        named = {name: level for name, level in levels.items() if name != KRAFT_VERSION}
        if named:
            spec = metadata_record(_FEATURE_LEVEL)
            self._append([encode_record(spec, 0, {"Name": name, "FeatureLevel": at}) for name, at in named.items()])

    def _append_voters(self) -> None:
        voters = [
            {
                "VoterId": item, "VoterDirectoryId": key, "Endpoints": [listener("CONTROLLER", self.address(item))],
                "KRaftVersionFeature": {"MinSupportedVersion": 0, "MaxSupportedVersion": 1},
            }
            for item, key in self.voters.items()
        ]  # fmt: skip
        self._append_control([encode_control_record(ControlType.KRAFT_VOTERS, {"Voters": voters})])

    def _from(self, offset: int) -> bytes:
        """Return the batches from the one that holds this offset on."""
        return b"".join(batch for end, batch in _batches(self._log) if end > offset)


def _batches(log: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(log):
        size = 12 + int.from_bytes(log[at + 8 : at + 12], "big")
        last = int.from_bytes(log[at : at + 8], "big") + int.from_bytes(log[at + 23 : at + 27], "big")
        yield last + 1, log[at : at + size]
        at += size


def _key(node_id: int, directory_id: Uuid) -> str:
    return f"ReplicaKey(id={node_id}, directoryId={directory_id})"
