"""A fake quorum to whose nodes something happens at one request: a death, a pause, an election, another cluster.

What happens lasts until `heal`, but for what is said to be short. While voters are away the others elect a leader if
they are a majority, as Kafka's do.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from enum import Enum
from typing import Any

from kafkactl.commands.demo.broker import Action, Asked, Reply
from kafkactl.commands.demo.listening import Listening
from kafkactl.commands.demo.quorum import (
    NOT_CONTROLLER,
    NOT_LEADER,
    OTHER_CLUSTER,
    TIMED_OUT,
    FakeController,
)
from kafkactl.net.transport import Address
from tests.fakes.faulty_quorum import FaultyQuorum
from tests.fakes.proxy import Fault, FaultPlan, FaultyProxy, _Pair

OTHER_ID = "b3RoZXItY2x1c3Rlci0xMg"
ELECTION_S, SHORT_S = 0.5, 1.0
_UPDATE, _CHANGES = "UpdateFeatures", ("UpdateFeatures", "AddRaftVoter", "RemoveRaftVoter")


class Moment(Enum):
    """Event of the node that gets the request, right before it would get it."""

    KILLED = "the node is killed; it fetched until then"
    KILLED_2_S_AGO = "the node is gone, and fetched last 2 s ago"
    KILLED_5_S_AGO = "the node is gone, and fetched last 5 s ago"
    PAUSED = "the node takes connections and requests, and answers none from then on (SIGSTOP)"
    PAUSED_A_WHILE = "the same for a second; then it does what it was asked meanwhile"
    ELECTION = "no voter leads for half a second, then another voter does, in a new epoch"
    FORMER_LEADER = "another voter leads; for a second the former leader still answers as if it did"
    HALF_OPEN = "every connection that is open swallows what is sent on it; new ones work"
    OTHER_CLUSTER = "new connections to the node's address lead to the leader of another cluster with the same ids"
    OTHER_CLUSTER_A_WHILE = "the same for a second"


class _Plan(FaultPlan):
    """The network of one controller: the quorum sees each request first."""

    def __init__(self, quorum: TroubledQuorum, node_id: int) -> None:
        super().__init__()
        self.quorum, self.node_id = quorum, node_id
        self.connection = threading.local()

    def fault_of(self, request: bytes) -> Fault | None:
        fault = self.quorum.network.fault_of(request)
        self.quorum.meet(self.node_id, request)
        opened_at = self.connection.opened_at
        if opened_at < self.quorum.dead_before or self.node_id in self.quorum.paused:
            return Fault.NEVER_ARRIVES
        if self.node_id in self.quorum.down or self.quorum.has_passed_on(self.node_id, opened_at):
            return Fault.CUT_BEFORE
        if self.node_id in self.quorum.waiting:
            self.quorum.resumed.wait(SHORT_S)
            self.quorum.resume(self.node_id)
        return fault


class _Door(FaultyProxy):
    """A proxy that can be closed, and opened at the same address again."""

    def __init__(self, node: Address, plan: _Plan) -> None:
        super().__init__(node, plan)
        self._troubles = plan

    def _carry(self, pair: _Pair) -> None:
        self._troubles.connection.opened_at = time.monotonic()
        super()._carry(pair)

    def go_down(self) -> None:
        for item in self._sockets:
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()

    def come_back(self, address: Address) -> None:
        self._listener = socket.create_server((address.host, address.port))
        self._sockets.append(self._listener)
        self._spawn(self._accept)


class TroubledQuorum(FaultyQuorum):
    """A `FaultyQuorum` in which one `Moment` comes when a request with some key passes for the n-th time."""

    def __init__(self, **quorum: Any) -> None:
        self.paused: set[int] = set()
        self.waiting: set[int] = set()
        self.down: set[int] = set()
        self.resumed = threading.Event()
        self.dead_before = 0.0
        self.strayed: list[str] = []  # changes that were made in the other cluster
        self.happened: tuple[Moment, int] | None = None
        self._awaited: tuple[Moment, int, int] | None = None
        self._others: dict[int, tuple[float, float]] = {}  # node id: from when to when its address is another cluster's
        self._former, self._former_until, self._no_leader_until = (0, 0), 0.0, 0.0
        super().__init__(**quorum)

    def _door(self, node: FakeController) -> Listening:
        return _Door(node.address, _Plan(self, node.node_id))

    def await_moment(self, moment: Moment, api_key: int, *, spare: int) -> None:
        """Schedule the moment at a request, after so many of its kind."""
        self._awaited = (moment, api_key, spare)

    def has_passed_on(self, node_id: int, opened_at: float) -> bool:
        """Return True if the address went to another cluster, or came back, since a connection was opened: then it is
        cut."""
        return any(opened_at < at <= time.monotonic() for at in self._others.get(node_id, ()))

    def holds(self, data: bytes) -> bool:
        """Return True if these bytes are a part of its metadata log, from the start."""
        return self._log.startswith(data)

    def heal(self) -> None:
        """Heal the network; what was done stays."""
        with self.lock:
            self._awaited = None
            for node_id in self.down:
                door = self._doors[node_id]
                assert isinstance(door, _Door)
                door.come_back(self.address(node_id))
            for away in (self.down, self.paused, self.waiting, self._others, self._gone):
                away.clear()
            self.resumed.set()
            self.dead_before = self._no_leader_until = self._former_until = 0.0
            self._elect()

    def meet(self, node_id: int, request: bytes) -> None:
        """Meet a request that is about to reach a controller."""
        api_key = int.from_bytes(request[4:6], "big")
        with self.lock:
            if self._awaited is None or self._awaited[1] != api_key:
                return
            moment, _, spare = self._awaited
            self._awaited = (moment, api_key, spare - 1) if spare else None
            if not spare:
                self.happened = moment, node_id
                self._come(moment, node_id)

    def _come(self, moment: Moment, node_id: int) -> None:
        now = time.monotonic()
        if moment in _AGO_MS:
            self._lose(node_id, _AGO_MS[moment], self.down)
            door = self._doors[node_id]
            assert isinstance(door, _Door)
            door.go_down()
        elif moment is Moment.PAUSED:
            self._lose(node_id, 0, self.paused)
        elif moment is Moment.PAUSED_A_WHILE:
            self._lose(node_id, 0, self.waiting)
        elif moment is Moment.HALF_OPEN:
            self.dead_before = now
        elif moment in (Moment.OTHER_CLUSTER, Moment.OTHER_CLUSTER_A_WHILE):
            self._others[node_id] = now, now + (SHORT_S if moment is Moment.OTHER_CLUSTER_A_WHILE else 3_600)
        else:
            former = self.leader_id, self.epoch
            self.leader_id, self._no_leader_until = -1, now + ELECTION_S * (moment is Moment.ELECTION)
            self._elect(apart_from=former[0])
            if moment is Moment.FORMER_LEADER and self.leader_id != former[0]:
                self._former, self._former_until = former, now + SHORT_S

    def _lose(self, node_id: int, ago_ms: int, where: set[int]) -> None:
        where.add(node_id)
        self._gone[node_id] = self.high_watermark, time.time_ns() // 1_000_000 - ago_ms
        self._no_leader_until = time.monotonic() + ELECTION_S if node_id == self.leader_id else 0.0
        self._elect()

    def resume(self, node_id: int) -> None:
        """Resume a paused controller."""
        with self.lock:
            self.waiting.discard(node_id)
            if node_id not in self.down:
                self._gone.pop(node_id, None)

    def _elect(self, *, apart_from: int | None = None) -> None:
        """Elect a leader of those that are there."""
        away = self.down | self.paused | self.waiting
        there = [voter for voter in self.voters if voter not in away]
        if 2 * len(there) <= len(self.voters) or time.monotonic() < self._no_leader_until:
            self.leader_id = -1
        elif self.leader_id not in there:
            self.leader_id = next((voter for voter in there if voter != apart_from), there[0])
            self.epoch += 1

    def answer(self, asked: Asked, node_id: int) -> Action | None:
        self._elect()
        begins, ends = self._others.get(node_id, (0.0, 0.0))
        if begins <= time.monotonic() < ends:
            return self._of_another_cluster(asked, node_id)
        if time.monotonic() < self._former_until and node_id == self._former[0]:
            return self._of_former_leader(asked, node_id)
        if asked.name == "Fetch" and asked.body.get("ClusterId") not in (None, self.cluster_id):
            return Reply(body={"ErrorCode": OTHER_CLUSTER})
        return super().answer(asked, node_id)

    def _of_former_leader(self, asked: Asked, node_id: int) -> Action | None:
        """Answer as the former leader: it reads as before, and what it takes into its log is lost."""
        if asked.name in _CHANGES:
            return Reply(body={"ErrorCode": NOT_CONTROLLER if asked.name == _UPDATE else NOT_LEADER})
        kept = self.leader_id, self.epoch
        self.leader_id, self.epoch = self._former
        try:
            return super().answer(asked, node_id)
        finally:
            self.leader_id, self.epoch = kept

    def _of_another_cluster(self, asked: Asked, node_id: int) -> Action | None:
        """Answer as the leader of a cluster with the same node ids, and with a log that is far longer."""
        named = asked.body.get("ClusterId", OTHER_ID)
        if asked.name in _CHANGES or named not in (None, OTHER_ID):
            refused = named not in (None, OTHER_ID)
            if not refused and not asked.body.get("ValidateOnly"):
                self.strayed.append(asked.name)
            return Reply(body={"ErrorCode": OTHER_CLUSTER if refused else 0})
        kept = self.cluster_id, self.leader_id, self.epoch, self.high_watermark, self._log
        self.cluster_id, self.leader_id, self.epoch, self.high_watermark = OTHER_ID, node_id, 99, 9_000_000
        try:
            return super().answer(asked, node_id)
        finally:
            self.cluster_id, self.leader_id, self.epoch, self.high_watermark, self._log = kept

    def _voter_change(self, asked: Asked) -> dict[str, Any]:
        if asked.name == "AddRaftVoter" and asked.body["VoterId"] in self.down | self.paused | self.waiting:
            return {"ErrorCode": TIMED_OUT, "ErrorMessage": "it does not fetch"}
        return super()._voter_change(asked)


_AGO_MS = {Moment.KILLED: 0, Moment.KILLED_2_S_AGO: 2_000, Moment.KILLED_5_S_AGO: 5_000}
