"""Text scripts of one node: a command, `----`, what the node does. What an operator can check by eye.

`node 1 release=3.9 voters=1,2,3 [static] [log=1x2,4x3] [epoch=4] [leader=2] [voted=3]` makes node 1 with a log (epoch
x records) and a quorum-state file, and starts it. Random numbers are always the middle (`draw=0` or another number
sets them). `wait 1500` lets milliseconds pass. A request arrives by its name (`vote from=2 epoch=5 log=4:5`), the
answer to what the node asked by `answer from=2 …`; `append`, `resign`, `stop`, `snapshot` are calls of the process
around it. `log=4:5` reads: ends in epoch 4 at offset 5.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.simulator.raft import disk, effects, errors
from kafkactl.simulator.raft import messages as wire
from kafkactl.simulator.raft.log import Batch, KRaftVersion, LeaderChange, RecordKind, Snapshot, SnapshotId, Voters
from kafkactl.simulator.raft.node import Node
from kafkactl.simulator.raft.profiles import PROFILES, Timeouts
from kafkactl.simulator.raft.voters import VoterSet
from tests.simulator.raft.quorum import CLUSTER, MS, bootstrap_disk, directory, endpoint, voter
from tests.simulator.raft.script_messages import REQUESTS, RESPONSES


class Stage:
    """The node of one script, its disk, and the time."""

    def __init__(self) -> None:
        self.now = 0
        self.draws = None
        self.node: Node
        self.disk: disk.Disk
        self.asked: dict[int, int] = {}

    def run(self, line: str) -> str:
        name, *words = shlex.split(line)
        given = dict(word.split("=", 1) if "=" in word else (word, "") for word in words)
        return COMMANDS[name](self, given)

    def make(self, given: dict[str, str]) -> str:
        node_id = int(next(iter(given)))
        ids = [int(part) for part in given["voters"].split(",")]
        static = "static" in given
        self.now = 0
        self.draws = int(given["draw"]) if "draw" in given else None
        self.disk = disk.Disk() if static or "observer" in given else bootstrap_disk(ids)
        self._fill(given)
        timeouts = Timeouts(election_timeout_ms=int(given.get("election", "1000")))
        self.node = Node(
            node_id,
            directory(node_id, int(given.get("generation", "1"))),
            self.disk,
            profile=PROFILES[given.get("release", "3.9")],
            timeouts=timeouts,
            cluster_id=CLUSTER,
            endpoints=(endpoint(node_id, int(given.get("port", "0"))),),
            static_voters=VoterSet(voter(node_id, 0) for node_id in ids) if static else None,
            bootstrap_servers=() if static else tuple(endpoint(node_id) for node_id in ids),
            auto_join="auto-join" in given,
            can_become_voter="broker" not in given,
        )
        self.asked = {}
        return self._shown(self.node.start(self.now))

    def _fill(self, given: dict[str, str]) -> None:
        end = int(given.get("start", "0"))
        self.disk.start = end
        if end:
            epoch = int(given["snapshot"])
            kept = self.disk.snapshots[0] if self.disk.snapshots else Snapshot(SnapshotId(0, 0), 0)
            self.disk.snapshots = [Snapshot(SnapshotId(end, epoch), 900, kept.kraft_version, kept.voters)]
        for piece in filter(None, given.get("log", "").split(",")):
            epoch, records = (int(number) for number in piece.split("x"))
            self.disk.batches.append(Batch(end, end + records, epoch, RecordKind.DATA, piece, 100))
            end += records
        if {"epoch", "leader", "voted"} & given.keys():
            voted = int(given.get("voted", "-1"))
            place = directory(voted) if voted >= 0 else ZERO_UUID
            state = disk.QuorumState(int(given["epoch"]), int(given.get("leader", NO_LEADER)), voted, place)
            self.disk.quorum_state = state

    def wait(self, given: dict[str, str]) -> str:
        end = self.now + int(next(iter(given))) * MS
        lines = []
        while self.node.wake_at <= end:
            self.now = max(self.now, self.node.wake_at)
            lines += [f"at {self.now // MS} ms: {line}" for line in self._lines(self.node.wake(self.now))]
        self.now = end
        return "\n".join(lines) or "nothing"

    def call(self, given: dict[str, str], name: str) -> str:
        if name == "append":
            records, size = int(given.get("records", "1")), int(given.get("size", "100"))
            offset, found = self.node.append(self.now, "data", records, size)
            return "\n".join([f"offset {offset}", *self._lines(found)])
        if name == "snapshot":
            return self._shown(self.node.take_snapshot(self.now, int(next(iter(given))), 700))
        return self._shown(self.node.resign(self.now) if name == "resign" else self.node.shutdown(self.now, 5_000 * MS))

    def request(self, given: dict[str, str], name: str) -> str:
        sender = int(given["from"]) if "from" in given else wire.CLIENT
        head = (sender, self.node.id, 77, None)
        if "cluster" not in given:
            given["cluster"] = CLUSTER
        return self._shown(self.node.receive(self.now, REQUESTS[name](self, head, given)))

    def answer(self, given: dict[str, str]) -> str:
        peer = int(given["from"])
        asked = self.asked[peer]
        response = RESPONSES[type(asked)](self, (peer, self.node.id, asked.correlation_id), given)
        return self._shown(self.node.receive(self.now, response))

    def lost(self, given: dict[str, str]) -> str:
        peer = int(given["from"])
        broken = wire.Disconnected(peer, self.node.id, self.asked[peer].correlation_id)
        return self._shown(self.node.receive(self.now, broken))

    def state(self, _given: dict[str, str]) -> str:
        node = self.node
        leader = f"leader {node.leader_id}" if node.leader_id >= 0 else "no leader"
        vote = f", voted {node.voted_id}" if node.voted_id >= 0 else ""
        kind = "voter" if node.is_voter else "observer"
        mark = node.high_watermark if node.high_watermark >= 0 else "unknown"
        log = f"log {node.log_start} to {node.log_end} in epoch {node.log_end_epoch}"
        return (
            f"{node.shown_state} ({kind} of {node.voters}) epoch {node.epoch}, {leader}{vote}, {log}, committed {mark}"
        )

    def _shown(self, found: list) -> str:
        return "\n".join(self._lines(found)) or "nothing"

    def _lines(self, found: list) -> list[str]:
        lines = []
        for effect in found:
            if effect.effect == effects.WRITE:
                self.disk.apply(effect)
            if effect.effect == effects.SEND and effect.is_request:
                self.asked[effect.destination] = effect
            if effect.effect == effects.DRAW:
                number = effect.bound // 2 if self.draws is None else min(self.draws, effect.bound - 1)
                after = self.node.drawn(self.now, effect.purpose, number)
                lines += [_draw_text(self.node, effect, number, self.now), *self._lines(after)]
            else:
                lines.append(text_of(effect))
        return lines


def _draw_text(node: Node, draw: effects.Draw, number: int, now: int) -> str:
    if draw.purpose is effects.Purpose.ELECTION:
        return f"election timeout in {(node.election_deadline - now) // MS} ms"
    if draw.purpose in (effects.Purpose.BACKOFF, effects.Purpose.JITTER):
        backoff = node.profile.election_backoff
        if draw.purpose is effects.Purpose.BACKOFF and backoff.jitter_ms:
            most = backoff.base_ms * (backoff.lowest + draw.bound - 1)
            return f"draws a pause of {node.backoff_ms} ms (of {backoff.base_ms * backoff.lowest} to {most})"
        return f"backs off for {(node.backoff_deadline - now) // MS} ms"
    return f"chooses bootstrap server {number + 1} of {draw.bound}"


def text_of(effect) -> str:
    """Return one effect in words."""
    return TEXTS[type(effect)](effect)


def _request_text(name: str, tell: Callable) -> Callable:
    return lambda message: f"-> {message.destination} {name} {tell(message)}".rstrip()


def _response_text(name: str, tell: Callable) -> Callable:
    def shown(message) -> str:
        code = getattr(message, "top_level_error_code", 0) or message.error_code
        error = "" if code == errors.NONE else f" {error_code(code).name}"
        to = "client" if message.destination == wire.CLIENT else message.destination
        return f"-> {to} {name} answer:{error} {tell(message)}".rstrip()

    return shown


def _who_leads(message) -> str:
    return f"epoch {message.leader_epoch}" + (f" leader {message.leader_id}" if message.leader_id >= 0 else "")


def _vote_text(message) -> str:
    name = "PreVote" if message.pre_vote else "Vote"
    log = f"{message.last_offset_epoch}:{message.last_offset}"
    return f"-> {message.destination} {name} epoch {message.replica_epoch} log {log}"


def _fetched(message) -> str:
    if message.diverging_epoch >= 0:
        found = f"diverging, epoch {message.diverging_epoch} ends at {message.diverging_end_offset}"
    elif message.snapshot_epoch >= 0:
        found = f"snapshot {message.snapshot_end_offset}-{message.snapshot_epoch}"
    else:
        found = records_text(message.records)
    return f"{_who_leads(message)} {found} committed {message.high_watermark}"


def records_text(batches) -> str:
    """Return batches in words."""
    return " ".join(f"[{batch_text(batch)}]" for batch in batches) or "nothing new"


def batch_text(batch: Batch) -> str:
    where = f"{batch.base}" if batch.end == batch.base + 1 else f"{batch.base}..{batch.end - 1}"
    return f"{where} epoch {batch.epoch}: {_content_text(batch)}"


def _content_text(batch: Batch) -> str:
    if batch.kind is RecordKind.DATA:
        return "data"
    names = []
    for record in batch.content:
        if isinstance(record, LeaderChange):
            names.append(f"LeaderChange {record.leader_id}")
        elif isinstance(record, KRaftVersion):
            names.append(f"KRaftVersion {record.level}")
        elif isinstance(record, Voters):
            names.append(f"Voters {record.voters}")
    return ", ".join(names)


def _state_text(write: disk.WriteQuorumState) -> str:
    state = write.state
    leader = f" leader {state.leader_id}" if state.leader_id >= 0 else ""
    vote = f" voted {state.voted_id}" if state.voted_id >= 0 else ""
    return f"writes quorum-state: epoch {state.leader_epoch}{leader}{vote}"


def _transition_text(note: effects.Transition) -> str:
    leader = f", leader {note.leader_id}" if note.leader_id >= 0 else ""
    return f"becomes {note.state} in epoch {note.epoch}{leader}"


def _change_answer(message) -> str:
    return f"({message.error_message})" if message.error_message else ""


TEXTS: dict[type, Callable] = {
    wire.VoteRequest: _vote_text,
    wire.BeginQuorumEpochRequest: _request_text("BeginQuorumEpoch", lambda m: f"epoch {m.leader_epoch}"),
    wire.EndQuorumEpochRequest: _request_text(
        "EndQuorumEpoch",
        lambda m: (
            f"epoch {m.leader_epoch} successors {','.join(str(k.node_id) for k in m.preferred_candidates) or 'none'}"
        ),
    ),
    wire.FetchRequest: _request_text(
        "Fetch", lambda m: f"epoch {m.current_leader_epoch} from {m.fetch_offset} after epoch {m.last_fetched_epoch}"
    ),
    wire.FetchSnapshotRequest: _request_text(
        "FetchSnapshot", lambda m: f"{m.snapshot_end_offset}-{m.snapshot_epoch} from byte {m.position}"
    ),
    wire.AddRaftVoterRequest: _request_text("AddRaftVoter", lambda m: str(m.voter_id)),
    wire.RemoveRaftVoterRequest: _request_text("RemoveRaftVoter", lambda m: str(m.voter_id)),
    wire.UpdateRaftVoterRequest: _request_text("UpdateRaftVoter", lambda m: f"port {m.listeners[0].port}"),
    wire.ApiVersionsRequest: _request_text("ApiVersions", lambda m: f"at {m.address.host}:{m.address.port}"),
    wire.VoteResponse: _response_text(
        "Vote", lambda m: f"{'granted' if m.vote_granted else 'refused'} {_who_leads(m)}"
    ),
    wire.BeginQuorumEpochResponse: _response_text("BeginQuorumEpoch", _who_leads),
    wire.EndQuorumEpochResponse: _response_text("EndQuorumEpoch", _who_leads),
    wire.FetchResponse: _response_text("Fetch", _fetched),
    wire.FetchSnapshotResponse: _response_text(
        "FetchSnapshot", lambda m: f"{_who_leads(m)} {m.unaligned_bytes} bytes from {m.position} of {m.size}"
    ),
    wire.AddRaftVoterResponse: _response_text("AddRaftVoter", _change_answer),
    wire.RemoveRaftVoterResponse: _response_text("RemoveRaftVoter", _change_answer),
    wire.UpdateRaftVoterResponse: _response_text("UpdateRaftVoter", _who_leads),
    wire.ApiVersionsResponse: _response_text(
        "ApiVersions", lambda m: f"kraft.version {m.min_kraft_version} to {m.max_kraft_version}"
    ),
    wire.DescribeQuorumResponse: _response_text(
        "DescribeQuorum",
        lambda m: f"voters {[r.replica_id for r in m.current_voters]} observers {[r.replica_id for r in m.observers]}",
    ),
    disk.WriteQuorumState: _state_text,
    disk.AppendLog: lambda write: f"appends {records_text(write.batches)}",
    disk.FlushLog: lambda _write: "flushes",
    disk.TruncateLog: lambda write: f"truncates to {write.offset}",
    disk.WriteSnapshot: lambda w: f"writes snapshot {w.snapshot.id.end_offset}-{w.snapshot.id.epoch}",
    disk.StartLogAt: lambda write: f"empties the log and begins at {write.snapshot_id.end_offset}",
    disk.CleanLog: lambda write: f"forgets what is below {write.snapshot_id.end_offset}",
    effects.Transition: _transition_text,
    effects.Fault: lambda fault: f"ends itself: {fault.reason}",
}


COMMANDS: dict[str, Callable] = {
    "node": Stage.make,
    "wait": Stage.wait,
    "answer": Stage.answer,
    "lost": Stage.lost,
    "state": Stage.state,
    **{
        name: lambda stage, given, name=name: stage.call(given, name)
        for name in ("append", "resign", "stop", "snapshot")
    },
    **{name: lambda stage, given, name=name: stage.request(given, name) for name in REQUESTS},
}
