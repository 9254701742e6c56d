"""A cluster of several nodes: any release, also mixed; static or dynamic quorum; isolated or combined.

::

    with KafkaCluster("4.3.1", tmp_path, controllers=3, brokers=1) as cluster:
        cluster.start()
        cluster.kill(2)
        with cluster.client() as client:
            client.ask_active_controller("DescribeQuorum", QUORUM)

Controllers are 1, 2, 3 …, brokers 11, 12 …. All start at once, and `start` returns when the cluster says of itself that
it is complete: every node serves, one leads, all others follow, and each process is registered (that of the node's last
start: an earlier registration stays in the log). No node outlives the test.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.net.transport import Address
from tests.lab.harness.cluster_disks import Disks, Shape, shape_of
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import REGISTERED, STARTED, KafkaNode
from tests.lab.harness.ports import HOST, free_port, release_port
from tests.lab.harness.server import READY_S

QUORUM = {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}
_RESOLVED_LATER = frozenset({"cluster-not-described", "request-not-supported"})
_POLL_S = 0.1
_GAVE_UP = "RegistrationResponseHandler: channel manager timed out before sending the request"
T = TypeVar("T")


class KafkaCluster:
    """Cluster of released Kafka. `disks` has ports, folders and identities; `node(id)` returns a node."""

    DISKS: type[Disks] = Disks

    def __init__(self, release: str | Shape, workdir: Path, **shape: Any) -> None:
        """Take as `shape` the fields of `Shape`: controllers, brokers, dynamic, combined, voters, metadata_version …"""
        self.shape = release if isinstance(release, Shape) else shape_of(release, shape)
        self.disks = self.DISKS(self.shape, workdir)
        self._nodes: dict[int, KafkaNode] = {}
        for node_id in dict.fromkeys((*self.shape.controller_ids, *self.shape.broker_ids)):
            self._make(node_id, self.shape.release_of(node_id), initial=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill every node and give the ports back."""
        for node in self._nodes.values():
            node.kill()
        for port in (*self.disks.controller_ports.values(), *self.disks.broker_ports.values()):
            release_port(port)

    @property
    def cluster_id(self) -> str:
        """Return the id on every disk."""
        return self.disks.cluster_id

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Return every node with the controller role, voter or not."""
        return tuple(sorted(self.disks.controller_ports))

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Return every node with the broker role."""
        return tuple(sorted(self.disks.broker_ports))

    def node(self, node_id: int) -> KafkaNode:
        """Return one node, whether it runs or not."""
        return self._nodes[node_id]

    def directory_id(self, node_id: int) -> str:
        """Return the id of the node's log directory as it was formatted last."""
        return self.disks.directory_ids[node_id]

    def config_file(self, node_id: int) -> Path:
        """Return the node's server.properties: what `add-controller --command-config` reads."""
        return self.disks.config_file(node_id)

    def controller_address(self, node_id: int) -> Address:
        """Return where a controller listens."""
        return Address(HOST, self.disks.controller_ports[node_id])

    def broker_address(self, node_id: int) -> Address:
        """Return where a broker listens for clients."""
        return Address(HOST, self.disks.broker_ports[node_id])

    @property
    def bootstrap_server(self) -> str:
        """Return all brokers, as `--bootstrap-server` takes them."""
        return ",".join(str(self.broker_address(broker_id)) for broker_id in self.broker_ids)

    @property
    def bootstrap_controller(self) -> str:
        """Return all controllers, as `--bootstrap-controller` takes them."""
        return ",".join(str(self.controller_address(controller_id)) for controller_id in self.controller_ids)

    def client(
        self, role: Role = Role.CONTROLLER, *, timeout_ms: float = 20_000, request_timeout_ms: float = 8_000
    ) -> Client:
        """Return a client that knows all controllers (or all brokers); a context manager."""
        ids, address = (
            (self.controller_ids, self.controller_address)
            if role is Role.CONTROLLER
            else (self.broker_ids, self.broker_address)
        )
        limits = Limits(timeout_ms=timeout_ms, request_timeout_ms=request_timeout_ms)
        return Client([address(node_id) for node_id in ids], role, limits=limits)

    def start(self, *node_ids: int, timeout_s: float = READY_S) -> Self:
        """Start these nodes, or all that do not run, at once; returns when the cluster is complete."""
        for node_id in node_ids or tuple(self._nodes):
            if not self._nodes[node_id].alive:
                self._nodes[node_id].start()
        self.wait_complete(timeout_s)
        return self

    def wait_complete(self, timeout_s: float = READY_S) -> None:
        """Wait until every running node serves and follows, one controller leads, and each process is registered."""
        deadline = time.monotonic() + timeout_s
        for node in self.running:
            node.wait_ready(max(1.0, deadline - time.monotonic()))
        self.wait_for(lambda: self.leader_now() in self.controller_ids, "a leader", timeout_s)
        self.wait_for(self._follows, "followers of the leader", timeout_s)
        for role, ids in ((Role.CONTROLLER, self.controller_ids), (Role.BROKER, self.broker_ids)):
            wanted = {node_id for node_id in ids if self._nodes[node_id].alive}
            if wanted:
                self.wait_for(lambda role=role, wanted=wanted: self._registered(role, wanted), f"{wanted}", timeout_s)  # type: ignore[misc]

    @property
    def running(self) -> list[KafkaNode]:
        """Return the nodes whose process runs (a paused one does)."""
        return [node for node in self._nodes.values() if node.alive]

    def quorum(self, node_id: int | None = None) -> dict[str, Any]:
        """Return the partition of DescribeQuorum's answer: the leader's, or what one controller says. Raises
        KafkactlError."""
        if node_id is None:
            led = self._words_of_the_leader()
            if led is None:
                raise UnreachableError("no controller says that it leads", id="no-active-controller")
            return led
        with self.client() as client:
            answer = client.ask_node(self.controller_address(node_id), "DescribeQuorum", QUORUM)
        partition: dict[str, Any] = answer.body["Topics"][0]["Partitions"][0]
        return partition

    def leader(self) -> int:
        """Return the id of the controller that leads; an election is waited for. LabError if none comes to lead."""
        return self.wait_for(lambda: max(0, self.leader_now()), "a leader", READY_S)

    def leader_now(self) -> int:
        """Return the id of the controller that leads at this moment, -1 if none does.

        Raises KafkactlError if none says so and one that runs did not answer in time: it may lead.
        """
        led = self._words_of_the_leader()
        return -1 if led is None else int(led["LeaderId"])

    def _words_of_the_leader(self) -> dict[str, Any] | None:
        """Return the partition of the controller that says that it leads, by the newest epoch if several do."""
        led: list[dict[str, Any]] = []
        unknown: KafkactlError | None = None
        for node_id in self._answering_controllers():
            try:
                said = self.quorum(node_id)
            except KafkactlError as error:
                unknown = error
                continue
            if not said["ErrorCode"] and said["LeaderId"] == node_id:
                led.append(said)
        if unknown is not None and not led:
            raise unknown
        return max(led, key=lambda said: int(said["LeaderEpoch"]), default=None)

    def voters(self) -> dict[int, str]:
        """Return the voters that the leader reports, id to directory id. Raises KafkactlError."""
        return {
            currentvoter["ReplicaId"]: str(currentvoter["ReplicaDirectoryId"])
            for currentvoter in self.quorum()["CurrentVoters"]
        }

    def levels(self, node_id: int) -> dict[str, int]:
        """Return the finalized levels that a node reports (a controller by its controller listener). Raises
        KafkactlError."""
        is_controller = node_id in self.disks.controller_ports
        role = Role.CONTROLLER if is_controller else Role.BROKER
        address = self.controller_address(node_id) if is_controller else self.broker_address(node_id)
        with self.client(role) as client:
            (found,) = client.versions([address]).values()
        if isinstance(found, KafkactlError):
            raise found
        return dict(found.finalized)

    def settled_level(self, name: str, *, still_s: float = 3.0) -> int:
        """Return a feature's level once nothing is on its way: what the log held by now is committed, and all tell the
        same.

        What a leader had appended before it was cut off is committed some time after its followers are back; the log
        end of now bounds it. A node shows a level a little after it is committed, hence the second observation of it.
        """
        self.leader()
        end = max(currentvoter["LogEndOffset"] for currentvoter in self.quorum()["CurrentVoters"])
        self.wait_for(lambda: self.quorum()["HighWatermark"] > end, f"committed offset {end}", READY_S)
        seen: list[tuple[float, set[int]]] = []

        def still() -> bool:
            seen.append(
                (
                    time.monotonic(),
                    {self.levels(controller).get(name, 0) for controller in self._answering_controllers()},
                )
            )
            if len(seen[-1][1]) > 1 or seen[-1][1] != seen[0][1]:
                seen[:] = seen[-1:]
            return len(seen[-1][1]) == 1 and seen[-1][0] - seen[0][0] >= still_s

        self.wait_for(still, f"one level of {name} on all controllers", READY_S)
        (level,) = seen[-1][1]
        return level

    def commits(self) -> bool:
        """Return True if the high watermark is seen to advance within 20 seconds."""

        def high_watermark() -> int:
            return int(self.quorum()["HighWatermark"])

        try:
            first = self.wait_for(high_watermark, "a leader that commits", 20)
            self.wait_for(lambda: high_watermark() > first, "a commit", 20)
        except LabError:
            return False
        return True

    def wait_for(self, holds: Callable[[], T], what: str, timeout_s: float = READY_S) -> T:
        """Ask until the answer is true, and return it; LabError names what did not come.

        A node that does not answer, or knows no leader, says "not yet", and so does a command that prints no answer.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            said: object = ""
            try:
                if answer := holds():
                    return answer
            except (KafkactlError, json.JSONDecodeError) as error:
                said = error
            if time.monotonic() > deadline:
                raise LabError(f"the cluster had not {what} within {timeout_s} s {said}")
            time.sleep(_POLL_S)

    def _follows(self) -> bool:
        """Return True if each running node has what is committed: one that was paused then knows that it is fenced."""
        quorum = self.quorum()
        ends: dict[int, int] = {}  # an id has several entries after its disk was replaced
        for replica in quorum["CurrentVoters"] + quorum["Observers"]:
            ends[replica["ReplicaId"]] = max(replica["LogEndOffset"], ends.get(replica["ReplicaId"], -1))
        least = max(0, quorum["HighWatermark"] - 1)  # the leader appends a record each half second
        return all(ends.get(id, -1) >= least for id, node in self._nodes.items() if node.alive)

    def _registered(self, role: Role, wanted: set[int]) -> bool:
        """Return True if the cluster names these nodes, and the process of each read its own registration in the log.

        Controllers below metadata.version 3.7 cannot be asked.
        """
        with self.client(role) as client:
            try:
                view = client.cluster()
            except UnreachableError as error:
                return error.id in _RESOLVED_LATER and role is Role.CONTROLLER and not self._describes_controllers()
        line = REGISTERED if role is Role.CONTROLLER else STARTED
        present = {node.id for node in view.nodes if not node.fenced}
        missing = {id for id in wanted if id not in present or line not in self._nodes[id].log_text()}
        if role is Role.CONTROLLER:
            self._start_again_who_gave_up(missing)
        return not missing

    def _start_again_who_gave_up(self, missing: set[int]) -> None:
        """Start a controller again whose registration timed out, on a busy machine, and waits indefinitely (4.0.2)."""
        for node_id in missing:
            node = self._nodes[node_id]
            if node.alive and _GAVE_UP in node.log_text():
                node.kill()
                node.start().wait_ready(READY_S)

    def _describes_controllers(self) -> bool:
        """Return True if controllers register at this level (3.7-IV0, level 15), or no level is known yet.

        Until the records of the format are committed, controllers report 3.0-IV1, which no cluster here is founded at.
        """
        found = (self.levels(id).get("metadata.version", 0) for id in self._answering_controllers())
        return any(level >= 15 or level <= 1 for level in found)

    def _answering_controllers(self) -> list[int]:
        """Return the controllers that run and are not paused."""
        nodes = {controller_id: self._nodes[controller_id] for controller_id in self.controller_ids}
        return [controller_id for controller_id, node in nodes.items() if node.alive and not node.is_paused]

    def kill(self, *node_ids: int) -> None:
        """Send SIGKILL."""
        for node_id in node_ids:
            self._nodes[node_id].kill()

    def stop(self, *node_ids: int, grace_s: float = 60) -> None:
        """Send SIGTERM, one after the other."""
        for node_id in node_ids:
            self._nodes[node_id].stop(grace_s)

    def pause(self, *node_ids: int) -> None:
        """Send SIGSTOP."""
        for node_id in node_ids:
            self._nodes[node_id].pause()

    def resume(self, *node_ids: int) -> None:
        """Send SIGCONT."""
        for node_id in node_ids:
            self._nodes[node_id].resume()

    def add_controller(self, node_id: int | None = None, *, release: str | None = None, start: bool = True) -> int:
        """Add a new controller that joins as an observer; returns its id (the next free one unless given)."""
        node_id = node_id or max(self.controller_ids) + 1
        self.disks.controller_ports[node_id] = free_port()
        self._make(node_id, release or self.shape.release, initial=False)
        if start:
            self._nodes[node_id].start().wait_ready(READY_S)
        return node_id

    def add_broker(self, node_id: int | None = None, *, release: str | None = None, start: bool = True) -> int:
        """Add a new broker; returns its id (the next free one unless given)."""
        node_id = node_id or max((*self.broker_ids, 10)) + 1
        self.disks.broker_ports[node_id] = free_port()
        self._make(node_id, release or self.shape.release, initial=False)
        if start:
            self._nodes[node_id].start().wait_ready(READY_S)
        return node_id

    def replace_disk(self, node_id: int, *, start: bool = True) -> str:
        """Replace the node's lost disk: kill it, give it an empty one, formatted to join. Return the new directory
        id."""
        node = self._nodes[node_id]
        node.kill()
        self.disks.replace(node_id, node.release)
        self._nodes[node_id] = self.disks.node(node_id, node.release)
        if start:
            self._nodes[node_id].start()
        return self.directory_id(node_id)

    def change_release(self, node_id: int, release: str, *, start: bool = True) -> None:
        """Stop the node, and start it with the binaries of another release on the same disk."""
        self._nodes[node_id].stop()
        self._nodes[node_id] = self.disks.node(node_id, release)
        if start:
            self._nodes[node_id].start()

    def _make(self, node_id: int, release: str, *, initial: bool) -> None:
        self.disks.prepare(node_id, release, initial=initial)
        self._nodes[node_id] = self.disks.node(node_id, release)
