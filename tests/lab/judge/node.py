"""Node in two implementations, our state machine and a KafkaRaftClient of the release: calls to both are compared.

What is compared is all that a world can see: the state, the epoch, the leader, the vote, the high watermark, both ends
of the log, the voters, when it asks to be woken, and in their order every write, every random number and every byte
that it sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.simulator.quorum import CLUSTER_ID
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.disk import Disk
from kafkactl.simulator.raft.effects import DRAW, FAULT, NOTE, SEND, Purpose, State
from kafkactl.simulator.raft.log import Batch
from kafkactl.simulator.raft.messages import (
    CLIENT,
    AddRaftVoterRequest,
    Disconnected,
    RemoveRaftVoterRequest,
)
from kafkactl.simulator.raft.node import Node
from kafkactl.simulator.raft.ports import Effect
from kafkactl.simulator.raft.profiles import DEFAULT_TIMEOUTS, US_PER_MS, Timeouts
from kafkactl.simulator.raft.voters import NO_VOTERS
from tests.lab.harness.errors import ProcessFailed
from tests.lab.judge.chance import drawn
from tests.lab.judge.lines import key_of, line_of, line_of_effect, ordered
from tests.lab.oracles.messages import Oracle

JAVA: Final = Path(__file__).parents[1] / "java" / "raft"
AT_ONCE: Final = 64  # commands that wait for their answers together; few enough for the pipe to hold them
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
    unread = 0  # answers

    def post(self, line: str) -> None:
        """Put a command behind those that wait to be sent."""
        self._running.stdin.write(line.encode("ascii") + b"\n")
        self.unread += 1

    def drain(self) -> None:
        """Forget the answers of a run that ended before its time."""
        self.answers(self.unread)

    def answers(self, count: int) -> list[str]:
        """Send what waits, and read so many answers. Raises ProcessFailed if the JVM is gone."""
        self._running.stdin.flush()
        lines = [self._running.stdout.readline() for _ in range(count)]
        self.unread -= count
        if lines and not lines[-1].endswith(b"\n"):
            raise ProcessFailed(f"the judge ended:\n{self._log.read_text(encoding='utf-8', errors='replace')}")
        return [str(line[:-1], "utf-8") for line in lines]


class Called(NamedTuple):
    """Call that our side has done and Kafka's may still do; `check` compares the two with Kafka's answer."""

    words: str
    check: Callable[[str], None]


class Disagreement(AssertionError):
    """Kafka's class does something else than ours; the text has the call, and both sides."""


@dataclass
class Case:
    """Run on both sides. `calls` counts the comparisons."""

    judge: RaftJudge
    seed: int
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    calls: int = 0
    faults: int = 0
    processes: int = 0
    directories: dict[int, Uuid] = field(default_factory=dict)
    writes: dict[int, int] = field(default_factory=dict)  # which our last process of the node has done
    kafkas_writes: dict[int, list[int]] = field(default_factory=dict)  # how many of Kafka's are done after each of ours
    names: dict[int, tuple[str, Any]] = field(default_factory=dict)  # of messages, as the driver calls them
    commands: int = 0
    _waiting: list[Called] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.timeouts
        words = (
            "new", self.seed, given.election_timeout_ms, given.fetch_timeout_ms, given.election_backoff_max_ms,
            given.append_linger_ms, given.request_timeout_ms, given.retry_backoff_ms, given.fetch_max_wait_ms,
            CLUSTER_ID,
        )  # fmt: skip
        self.judge.drain()
        self.post(words, _is_done)

    def post(self, words: tuple[object, ...], check: Callable[[str], None]) -> int:
        """Send a command to Kafka's side and return its number; the answer is checked later."""
        line = " ".join(map(str, words))
        self.judge.post(line)
        self.commands += 1
        self._waiting.append(Called(line, check))
        if len(self._waiting) >= AT_ONCE:
            self.finish()
        return self.commands

    def finish(self) -> None:
        """Wait for all answers. Raises Disagreement at the first that is another, RuntimeError for an error of ours."""
        waiting, self._waiting = self._waiting, []
        for called, answer in zip(waiting, self.judge.answers(len(waiting)), strict=True):
            if answer.startswith("ERROR"):
                raise RuntimeError(f"{called.words}: {answer}")
            called.check(answer)

    def disk(self, node: int, directory: Uuid, disk: Disk) -> None:
        """Make Kafka's disk equal to this one, before a process starts."""
        if self.directories.get(node) != directory:
            voters = disk.snapshots[0].voters if disk.snapshots else NO_VOTERS
            keys = ",".join(f"{key.node_id}:{key.directory_id}" for key in voters.keys)
            self.post(("disk", node, directory, keys or "-"), _is_done)
            self.directories[node] = directory
        else:
            self.finish()
            self.post(("back", node, self.kafkas_writes[node][self.writes[node]], disk.end), _is_done)
        self.writes[node] = 0
        self.kafkas_writes[node] = [0]

    def make(self, node_id: int, directory_id: Uuid, disk: Disk, **settings: Any) -> JudgedNode:
        """Start a process of our side, which starts one of Kafka's when it starts."""
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
    """A `kafkactl.simulator.raft.ports.Replica`: its attributes are those of our node."""

    def __init__(self, case: Case, process: int, node: Node, static: str, servers: str) -> None:
        self.case = case
        self.process = process
        self.node = node
        self.started = (static, servers)
        self.cleaned_ms = 0
        self.sent: dict[int, str] = {}  # the driver's names of requests, by our correlation ids

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
            words = ("receive", self.case.names[id(message)][0])
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
        facts, timeout = self._shown_state(), self._own_timeout(now)
        observes = self.node.state if self.node.state is not State.STOPPED and not self.node.is_voter else None

        def check(answer: str) -> None:
            self._compare(words, answer, effects, draws, (facts, timeout, observes))

        command = self.case.post(words, check)
        self._name(command, [effect for effect in effects if effect.effect == SEND])
        return effects

    def _name(self, command: int, messages: list[Any]) -> None:
        """Name what was sent by this command as the driver does."""
        seen: dict[str, int] = {}
        for message in messages:
            kind = "Q" if message.is_request else "R"
            name = f"{command}{kind}{message.destination}:{key_of(message)}:"
            nth = seen[name] = seen.get(name, -1) + 1
            self.case.names[id(message)] = (f"{name}{nth}", message)
            if message.is_request:
                self.sent[message.correlation_id] = f"{name}{nth}"

    def _compare(
        self,
        words: tuple[object, ...],
        answer: str,
        effects: list[Effect],
        draws: list[str],
        seen: tuple[str, int, State | None],
    ) -> None:
        state, *trace = answer.split("\t")
        trace = [line for line in trace if line]
        self.case.calls += 1
        if any(effect.effect == FAULT for effect in effects) and state == "fault":
            self.case.faults += 1
            return
        said = ordered([line_of(line) for line in trace if line[0] != "D"])
        done = ordered([line_of_effect(effect, said) for effect in effects if effect.effect != NOTE])
        ours = [_with_timeout(*seen, state), *sorted(draws), *(line.text for line in done)]
        theirs = [state, *sorted(line for line in trace if line[0] == "D"), *(line.text for line in said)]
        if ours != theirs:
            raise Disagreement(self._explained(words, ours, theirs))
        writes = self.case.kafkas_writes[self.node.id]
        for line, known in zip(done, said, strict=True):
            if line.text[0] not in "QR":
                writes.append(writes[-1] + known.count)

    def _ours(self, now: int, act: Callable[[int], list[Effect]]) -> tuple[list[Effect], list[str]]:
        """Return what our node does, with its random numbers drawn in place."""
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

    def _shown_state(self) -> str:
        node = self.node
        if node.state is State.STOPPED:
            return "stopped"
        keys = ",".join(
            f"{key.node_id}:{'-' if key.directory_id == ZERO_UUID else key.directory_id}" for key in node.voters.keys
        )
        facts = (
            node.state.shown, node.epoch, node.leader_id, node.voted_id, node.high_watermark, node.log_start,
            node.log_end, node.log_end_epoch, keys,
        )  # fmt: skip
        return " ".join(map(str, facts))

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


def _is_done(answer: str) -> None:
    assert answer == "OK", answer


def _with_timeout(facts: str, timeout: int, observes: State | None, theirs: str) -> str:
    """Return the facts of our node, with when it asks to be woken.

    An observer of Kafka's whose timer has expired polls without a pause until it is answered, and does nothing in
    those polls; one without a leader also wakes for an election that is not its own. Ours waits.
    """
    if facts == "stopped":
        return facts
    kafkas = int(theirs.rpartition(" ")[2]) if " " in theirs else timeout
    spins = kafkas == 0 and observes is State.FOLLOWER
    if kafkas < timeout and (spins or observes is State.UNATTACHED):
        timeout = kafkas
    return f"{facts} {timeout}"
