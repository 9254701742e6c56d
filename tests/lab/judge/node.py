"""One process twice: our state machine, and a KafkaRaftClient of the release; each call is made to both and compared.

What is compared is all that a world can see: the state, the epoch, the leader, the vote, the high watermark, both ends
of the log, the voters, when it wants to be woken, and in their order every write, every random number and every byte
that it sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkactl.raft.connections import NEVER
from kafkactl.raft.disk import AppendLog, CleanLog, Disk, FlushLog, StartLogAt, TruncateLog, WriteQuorumState
from kafkactl.raft.effects import DRAW, FAULT, NOTE, SEND, Purpose, State
from kafkactl.raft.log import Batch
from kafkactl.raft.messages import (
    CLIENT,
    AddRaftVoterRequest,
    ApiVersionsRequest,
    Disconnected,
    FetchResponse,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
)
from kafkactl.raft.node import Node
from kafkactl.raft.ports import Effect
from kafkactl.raft.profiles import DEFAULT_TIMEOUTS, US_PER_MS, Timeouts
from kafkactl.raft.wire import wire_bytes
from kafkactl.simulator.quorum import CLUSTER_ID
from kafkactl.values import ZERO_UUID, Uuid
from tests.lab.judge.chance import drawn
from tests.lab.oracles.messages import Oracle

JAVA: Final = Path(__file__).parents[1] / "java" / "raft"
CLEANING_MS: Final = 60_000  # `KafkaRaftClient.RaftMetadataLogCleanerManager` wakes the thread so often


class RaftJudge(Oracle):
    """The raft classes of one release; see `RaftJudge.java` for what it is asked."""

    source = JAVA / "RaftJudge.java"
    more = (
        *sorted(path for path in JAVA.glob("*.java") if path.stem != "RaftJudge"),
        *sorted(JAVA.glob("shim/*.java")),
    )
    package = "org.apache.kafka.raft"
    each_release = True


class Disagreement(AssertionError):
    """Kafka's class does something else than ours; the text has the call, and both sides."""


@dataclass
class Case:
    """One run on both sides. `calls` counts the comparisons."""

    judge: RaftJudge
    seed: int
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    calls: int = 0
    faults: int = 0
    processes: int = 0
    directories: dict[int, Uuid] = field(default_factory=dict)
    writes: dict[int, int] = field(default_factory=dict)  # which our last process of the node has done
    kafkas_writes: dict[int, list[int]] = field(default_factory=dict)  # how many of Kafka's are done after each of ours
    numbers: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.timeouts
        self.told(
            "new", self.seed, given.election_timeout_ms, given.fetch_timeout_ms, given.election_backoff_max_ms,
            given.append_linger_ms, given.request_timeout_ms, given.retry_backoff_ms, given.fetch_max_wait_ms,
            CLUSTER_ID,
        )  # fmt: skip

    def told(self, *words: object) -> str:
        """Kafka's answer to a command. Raises RuntimeError where the driver could not carry it out."""
        answer = self.judge.ask(*map(str, words))
        if answer.startswith("ERROR"):
            raise RuntimeError(f"{' '.join(map(str, words))}: {answer}")
        return answer

    def disk(self, node: int, directory: Uuid, disk: Disk) -> None:
        """Before a process starts: Kafka's disk becomes what this one is."""
        if self.directories.get(node) != directory:
            voters = disk.snapshots[0].voters if disk.snapshots else ()
            keys = ",".join(f"{voter.node_id}:{voter.directory_id}" for voter in voters)
            self.told("disk", node, directory, keys or "-")
            self.directories[node] = directory
        else:
            self.told("back", node, self.kafkas_writes[node][self.writes[node]], disk.end)
        self.writes[node] = 0
        self.kafkas_writes[node] = [0]

    def make(self, node_id: int, directory_id: Uuid, disk: Disk, **settings: Any) -> JudgedNode:
        """A process of our side, which starts one of Kafka's when it starts."""
        static = settings["static_voters"]
        servers = settings["bootstrap_servers"]
        self.processes += 1
        return JudgedNode(
            self,
            self.processes - 1,
            Node(node_id, directory_id, disk, **settings),
            ",".join(str(voter.node_id) for voter in static.voters) if static else "-",
            ",".join(server.host.removeprefix("controller-") for server in servers),
        )


class JudgedNode:
    """A `kafkactl.raft.ports.Replica`: its attributes are those of our node."""

    def __init__(self, case: Case, process: int, node: Node, static: str, servers: str) -> None:
        self.case = case
        self.process = process
        self.node = node
        self.started = (static, servers)
        self.cleaned_ms = 0
        self.sent: dict[int, int] = {}  # the driver's numbers of requests, by our correlation ids

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)

    def start(self, now: int) -> list[Effect]:
        self.cleaned_ms = now // US_PER_MS
        static, servers = self.started
        return self._both(now, self.node.start, "start", self.process, self.node.id, now // US_PER_MS, static, servers)

    def wake(self, now: int) -> list[Effect]:
        return self._asked(now, self.node.wake, "wake")

    def receive(self, now: int, message: Any) -> list[Effect]:
        words: tuple[object, ...]
        if type(message) is Disconnected:
            words = ("broken", self.sent[message.correlation_id])
        elif message.is_request and message.source == CLIENT:
            verb = {AddRaftVoterRequest: "add", RemoveRaftVoterRequest: "remove"}[type(message)]
            words = (verb, message.correlation_id, message.voter_id, message.voter_directory_id)
        else:
            words = ("receive", self.case.numbers[id(message)][0])
        return self._asked(now, lambda at: self.node.receive(at, message), *words)

    def append(self, now: int, content: object, records: int = 1, size: int = 100) -> tuple[int, list[Effect]]:
        if self.node.leader is None:
            return -1, []
        taken: list[int] = []

        def act(at: int) -> list[Effect]:
            offset, effects = self.node.append(at, content, records, size)
            taken.append(offset)
            return effects

        effects = self._asked(now, act, "append", records)
        return taken[0], effects

    def resign(self, now: int) -> list[Effect]:
        return self._asked(now, self.node.resign, "resign")

    def shutdown(self, now: int, timeout_us: int) -> list[Effect]:
        return self._asked(now, lambda at: self.node.shutdown(at, timeout_us), "shutdown", timeout_us // US_PER_MS)

    def take_snapshot(self, now: int, end_offset: int, size: int) -> list[Effect]:
        batch: Batch = self.node.log.read(end_offset - 1, 0)[0]
        return self._asked(
            now, lambda at: self.node.take_snapshot(at, end_offset, size), "snapshot", end_offset, batch.epoch
        )

    def _asked(self, now: int, act: Callable[[int], list[Effect]], verb: str, *words: object) -> list[Effect]:
        return self._both(now, act, verb, self.process, now // US_PER_MS, *words)

    def _both(self, now: int, act: Callable[[int], list[Effect]], *words: object) -> list[Effect]:
        if now % US_PER_MS:
            raise ValueError(f"{now} us is no whole millisecond, which is all that Kafka's clock has")
        was_stopped = self.node.state is State.STOPPED
        effects, draws = self._ours(now, act)
        if was_stopped:
            return effects
        state, *trace = self.case.told(*words).split("\t")
        trace = [line for line in trace if line]
        self.case.calls += 1
        if any(effect.effect == FAULT for effect in effects) and state == "fault":
            self.case.faults += 1
            return effects
        said = ordered([told(line) for line in trace if line[0] != "D"])
        sends = ordered([told_by(effect, said) for effect in effects if effect.effect != NOTE])
        ours = [self._shown_state(now, state), *sorted(draws), *(line.text for line in sends)]
        theirs = [state, *sorted(line for line in trace if line[0] == "D"), *(line.text for line in said)]
        if ours != theirs:
            raise Disagreement(self._explained(words, ours, theirs))
        writes = self.case.kafkas_writes[self.node.id]
        for line, known in zip(sends, said, strict=True):
            if line.text[0] not in "QR":
                writes.append(writes[-1] + known.count)
            if line.message is not None:
                self.case.numbers[id(line.message)] = (known.number, line.message)
                if line.message.is_request:
                    self.sent[line.message.correlation_id] = known.number
        return effects

    def _ours(self, now: int, act: Callable[[int], list[Effect]]) -> tuple[list[Effect], list[str]]:
        """What our node does, with its random numbers drawn in place."""
        waiting, done, draws = list(act(now)), [], []
        while waiting:
            effect: Any = waiting.pop(0)
            if effect.effect == DRAW:
                number = self._number(now, effect.purpose, effect.bound)
                draws.append(f"D {int(effect.purpose)} {effect.bound}")
                waiting[:0] = self.node.drawn(now, effect.purpose, number)
            else:
                done.append(effect)
        return done, draws

    def _number(self, now: int, purpose: Purpose, bound: int) -> int:
        return drawn(self.case.seed, self.node.id, purpose, now // US_PER_MS, bound)

    def _shown_state(self, now: int, theirs: str) -> str:
        node = self.node
        if node.state is State.STOPPED:
            return "stopped"
        keys = ",".join(
            f"{key.node_id}:{'-' if key.directory_id == ZERO_UUID else key.directory_id}" for key in node.voters.keys
        )
        facts = (
            node.state.shown, node.epoch, node.leader_id, node.voted_id, node.high_watermark, node.log_start,
            node.log_end, node.log_end_epoch, keys, self._timeout(now, theirs),
        )  # fmt: skip
        return " ".join(map(str, facts))

    def _timeout(self, now: int, theirs: str) -> int:
        """When our node wants to be woken.

        An observer of Kafka's whose timer has expired polls without a pause until it is answered, and does nothing in
        those polls; one without a leader also wakes for an election that is not its own. Ours waits.
        """
        timeout = self._own_timeout(now)
        kafkas = int(theirs.rpartition(" ")[2]) if " " in theirs else timeout
        if self.node.is_voter or kafkas > timeout:
            return timeout
        spins = kafkas == 0 and self.node.state is State.FOLLOWER
        return kafkas if spins or self.node.state is State.UNATTACHED else timeout

    def _own_timeout(self, now: int) -> int:
        now_ms = now // US_PER_MS
        if now_ms - self.cleaned_ms >= CLEANING_MS:
            self.cleaned_ms = now_ms
        left = NEVER if self.node.wake_at >= NEVER else (self.node.wake_at - now) // US_PER_MS
        return min(left, CLEANING_MS - (now_ms - self.cleaned_ms))

    def _explained(self, words: tuple[object, ...], ours: list[str], theirs: list[str]) -> str:
        pairs = zip_longest(ours, theirs, fillvalue="(nothing)")
        differs = [f"  ours   {mine}\n  Kafka  {other}" for mine, other in pairs if mine != other]
        call = " ".join(map(str, words))
        return f"Kafka {self.case.judge.release}, seed {self.case.seed}, node {self.node.id}, {call}:\n" + "\n".join(
            differs
        )


class Line(NamedTuple):
    """One thing that a side did, as text; with the message that our side sent, or the driver's number of its own."""

    text: str
    number: int = -1
    message: Any = None
    count: int = 1  # of lines of the driver that this one stands for


def told(line: str) -> Line:
    """A line of the driver, in the form of `told_by`."""
    words = line.split(" ")
    if words[0] not in ("Q", "R"):
        return Line(_merged(line))
    kept = [words[0], *words[2:]]
    if kept[2] in _CHANGES and kept[0] == "R":
        text = " ".join([*kept[:5], _without_order(" ".join(kept[5:]))])
    else:
        text = " ".join(kept[:4] if kept[0] == "Q" and kept[2] == _KEYS["ApiVersions"] else kept)
    return Line(_merged(text), int(words[1]))


def told_by(effect: Any, said: list[Line]) -> Line:
    """One of our effects as the driver tells Kafka's; the version of a message is the one that Kafka chose."""
    if effect.effect != SEND:
        return Line(_merged(_told_write(effect)))
    key = _KEYS[type(effect).__name__.removesuffix("Request").removesuffix("Response")]
    kind = "Q" if effect.is_request else "R"
    versions = [
        int(line.text.split(" ")[3]) for line in said if line.text[0] == kind and line.text.split(" ")[2] == key
    ]
    head = f"{kind} {effect.destination} {key} "
    if not versions:
        return Line(head + type(effect).__name__, message=effect)
    head += f"{versions[0]}"
    if type(effect) is ApiVersionsRequest:
        return Line(head, message=effect)
    if kind == "R" and key in _CHANGES:
        return Line(_told_answer(f"{head} {effect.error_code} ", effect, said), message=effect)
    body, batches = effect, ""
    if type(effect) is FetchResponse:
        batches = "".join(f" {batch.base}-{batch.end}@{batch.epoch}" for batch in effect.records)
        body = replace(effect, records=())
    elif type(effect) is FetchSnapshotResponse:
        body = replace(effect, size=0, position=0)
    return Line(_merged(f"{head} {_body(body, versions[0])}{batches}"), message=effect)


def _body(message: Any, version: int) -> str:
    """The bytes of a message; those that differ in their envelope alone are encoded once."""
    kind = type(message)
    values = [getattr(message, name) for name in kind.__slots__ if name not in _ENVELOPE]
    return _encoded(kind, version, tuple(values))


@lru_cache(maxsize=4096)
def _encoded(kind: Any, version: int, values: tuple[Any, ...]) -> str:
    names = [name for name in kind.__slots__ if name not in _ENVELOPE]
    envelope = {name: None for name in _ENVELOPE if name in kind.__slots__}
    return wire_bytes(kind(**envelope, **dict(zip(names, values, strict=True))), version).hex()


def _told_answer(head: str, response: Any, said: list[Line]) -> str:
    """A change's answer. Without a text of ours it has the error's own, which our side knows by the code."""
    if response.error_message is not None:
        return head + _without_order(response.error_message)
    return next((line.text for line in said if line.text.startswith(head)), head)


def _told_write(effect: Any) -> str:
    if isinstance(effect, AppendLog):
        return "A " + " ".join(f"{batch.base}-{batch.end}@{batch.epoch}" for batch in effect.batches)
    if isinstance(effect, FlushLog):
        return "F"
    if isinstance(effect, TruncateLog):
        return f"T {effect.offset}"
    if isinstance(effect, WriteQuorumState):
        state = effect.state
        return f"S {state.leader_epoch} {state.leader_id} {state.voted_id} {state.voted_directory_id}"
    if effect.effect == FAULT:
        return f"X {effect.reason}"
    snapshot_id = effect.snapshot_id if isinstance(effect, CleanLog | StartLogAt) else effect.snapshot.id
    letter = "C" if isinstance(effect, CleanLog) else "B" if isinstance(effect, StartLogAt) else "N"
    return f"{letter} {snapshot_id.end_offset} {snapshot_id.epoch}"


def ordered(lines: list[Line]) -> list[Line]:
    """The same, with appends that follow each other as one, and requests of one kind by their destinations.

    Kafka writes each batch on its own; the order in which it asks several voters is that of a HashSet.
    """
    done: list[Line] = []
    for kind, group in groupby(lines, key=_kind):
        found = list(group)
        if kind == "A":
            text = _merged("A " + " ".join(line.text[2:] for line in found))
            found = [Line(text, count=sum(line.count for line in found))]
        done += sorted(found, key=attrgetter("text")) if kind.startswith("Q") else found
    return done


def _kind(line: Line) -> str:
    words = line.text.split(" ", 3)
    return f"Q {words[2]}" if words[0] == "Q" else words[0]


def _without_order(text: str) -> str:
    """A text of Kafka's with the replicas that it lists in order, and as 4.x writes them."""
    text = re.sub(r"directoryId=Optional\[(\S+?)\]", r"directoryId=\1", text)
    keys = iter(sorted(re.findall(r"ReplicaKey\([^)]*\)", text)))
    return re.sub(r"ReplicaKey\([^)]*\)", lambda _match: next(keys), text)


def _merged(line: str) -> str:
    """Batches of one epoch that lie side by side are one: Kafka puts appends of one linger into one batch."""
    words: list[str] = []
    for word in line.split(" "):
        before = words[-1] if words else ""
        if _BATCHES.fullmatch(word) and _BATCHES.fullmatch(before):
            first, middle, epoch = re.split("[-@]", before)
            base, end, next_epoch = re.split("[-@]", word)
            if (middle, epoch) == (base, next_epoch):
                words[-1] = f"{first}-{end}@{epoch}"
                continue
        words.append(word)
    return " ".join(words)


_ENVELOPE: Final = ("source", "destination", "correlation_id", "address")
_BATCHES: Final = re.compile(r"\d+-\d+@\d+")
_KEYS: Final = {
    "Fetch": "1", "ApiVersions": "18", "Vote": "52", "BeginQuorumEpoch": "53", "EndQuorumEpoch": "54",
    "DescribeQuorum": "55", "FetchSnapshot": "59", "AddRaftVoter": "80", "RemoveRaftVoter": "81",
    "UpdateRaftVoter": "82",
}  # fmt: skip
_CHANGES: Final = (_KEYS["AddRaftVoter"], _KEYS["RemoveRaftVoter"])
