"""A command's run taken apart: every state that a crash leaves is judged, and the command is run again on it.

One traced run gives the states of the first crash. From each of them the command runs again, traced as well: it must
come to the same end, and its own crash states are judged in turn. After a kill the second run inherits what the first
one did not sync, so that a power loss behind the second run takes what neither of them has synced.
"""

from __future__ import annotations

import copy
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkactl.core.errors import KafkactlError
from tests.campaigns.crash.states import Disk, Flat, State, materialize, read_flat, set_times
from tests.campaigns.crash.trace import Injected, Operation, Tracer, kinds, read_tree

DONE = frozenset({"done", "nothing-to-do"})
Mark = Callable[[], None]
Rule = Callable[[Flat, Flat, Flat], str | None]  # a state, the old tree, the new tree -> what is wrong
_EFFECT = frozenset({"mkdir", "create", "link", "unlink", "rmdir", "rename", "write", "fsync"})
_CRASHES = 3  # kill before, kill after, power loss


def whole(flat: Flat, old: Flat, new: Flat) -> str | None:
    """Check that each file and folder is as it was or as it will be; what is neither has a temporary name or is below
    one."""
    for path in (path for path in old.keys() | new.keys() if not is_temporary(path)):
        allowed = {value for tree in (old, new) for value in [tree.get(path, _GONE)]}
        if flat.get(path, _GONE) not in allowed:
            return f"{path} is neither as before nor as after: {flat.get(path, _GONE)!r:.60}"
    strange = next((path for path in flat if path not in old and path not in new and not is_temporary(path)), None)
    return None if strange is None else f"{strange} is left"


_GONE: Any = "gone"


def is_temporary(path: str) -> bool:
    """Return True for names that are not taken for a result: those of files that are being written."""
    parts = path.split("/")
    return any(
        (part.startswith(".") and part.endswith((".tmp", ".new", ".lock")))
        or ".kafkactl." in part
        or part.endswith((".part", ".recovery.json.tmp"))
        for part in parts
    )


def results(flat: Flat) -> Flat:
    """Return what is there without temporary names."""
    return {path: content for path, content in flat.items() if not is_temporary(path)}


def reached(flat: Flat, _old: Flat, new: Flat) -> str | None:
    """Return the whole result, as an undisturbed run leaves it."""
    there, wanted = results(flat), results(new)
    if there == wanted:
        return None
    paths = sorted(path for path in there.keys() | wanted.keys() if there.get(path, _GONE) != wanted.get(path, _GONE))
    return f"{paths[:3]} are not as after an undisturbed run"


@dataclass(frozen=True)
class Command:
    """A run of a command. `run` gets the tree's root, the world (`world` makes one), and `mark`, which it calls before
    and after everything that reaches the outside. `allowed` is the rule for states, `is_done` that for the end."""

    name: str
    variant: str
    prepare: Callable[[Path], None]
    run: Callable[[Path, Any, Mark], str]
    allowed: Rule = whole
    is_done: Rule = reached
    world: Callable[[], Any] = lambda: None
    again: frozenset[str] = DONE
    repair: Callable[[Path], None] | None = None
    refused: frozenset[str] = frozenset()  # outcomes of a run again that need `repair` first
    failed: frozenset[str] = frozenset({"failed", "partial", "refused", "unknown"})  # outcomes of a run with an error
    goal: Callable[[Any], str | None] = lambda _world: None  # what is wrong with the world at the end
    sample: int = 17  # of how many states one is run from again in the sample; 0: only in the campaign
    every: int = 1  # and in the campaign

    @property
    def title(self) -> str:
        """Return the title in tests and messages."""
        return f"{self.name}, {self.variant}" if self.variant else self.name


@dataclass
class Figures:
    """Figures of a command's campaign."""

    operations: int = 0
    cases: int = 0
    errors: int = 0
    generated: int = 0
    states: int = 0
    second_runs: int = 0
    third_runs: int = 0
    left_out: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    third_states: list[str] = field(default_factory=list)


class Campaign:
    """Campaign of a command on a scratch folder. `second_every`, `third_every`: of how many states one is run from
    again."""

    def __init__(self, command: Command, scratch: Path, *, second_every: int = 1, third_every: int = 0) -> None:
        self.command = command
        self.root = scratch / "root"
        self.figures = Figures()
        self._second_every, self._third_every = second_every, third_every
        self._seen: set[int] = set()
        self._number = 0
        self._old: Flat = {}
        self._new: Flat = {}

    def run_all(self, *, errors_every: int = 1) -> Figures:
        """Return the first run with its crashes, the runs that follow them, and the runs with errors."""
        self._fresh()
        model = read_tree(self.root)
        self._old = read_flat(self.root)
        disk = Disk.of(model)
        world = self.command.world()
        tracer, worlds, outcome = self._traced(Tracer(model), world)
        assert outcome == "done", f"{self.command.title}: {outcome}"
        self._new = read_flat(self.root)
        self.figures.operations = len([done for done in tracer.operations if done.kind != "mark"])
        self.figures.kinds.update(kinds(tracer.operations))
        starts = list(self._crashes(disk, tracer.operations, worlds, first=True))
        self._check_replay(disk)
        for number, (state, start, before) in enumerate(starts):
            if number % self._second_every == 0:
                self._second(state, start, before)
        for at in range(0, tracer.count, errors_every):
            for fault in ("before", "after", "space", "short"):
                self._error(Injected(at, fault), tracer.labels[at])
        return self.figures

    def _fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        self.command.prepare(self.root)
        set_times(self.root)

    def _traced(self, tracer: Tracer, world: Any) -> tuple[Tracer, dict[int, Any], str]:
        """Return the trace, the world before what each mark announces, by the number of operations up to it, and the
        outcome.

        Nothing is written between a mark and what it announces: behind a mark the world is that of the next one.
        """
        worlds: dict[int, Any] = {}

        def mark() -> None:
            tracer.mark()
            worlds[len(tracer.operations)] = copy.deepcopy(world)

        with tracer.recording():
            outcome = self._outcome(world, mark)
            tracer.look()
        if outcome in DONE:
            tracer.mark()
        worlds[len(tracer.operations) + 1] = world
        return tracer, worlds, outcome

    def _outcome(self, world: Any, mark: Mark) -> str:
        try:
            return self.command.run(self.root, world, mark)
        except KafkactlError as error:
            return f"refused:{error.id}" if error.exit_code == 3 else f"failed:{error.id}"

    def _crashes(
        self, disk: Disk, operations: list[Operation], worlds: dict[int, Any], *, first: bool
    ) -> Iterator[tuple[State, Disk | None, Any]]:
        """Yield every new state of a run, judged; after a kill with the disk as it is, for the run that follows."""
        self.figures.cases += _CRASHES * len([done for done in operations if done.kind != "mark"])
        ahead, kills = sorted(worlds), set()
        floor: Flat = {}
        for point, operation in enumerate(operations):
            disk.add(operation)
            while ahead[0] <= point + 1:
                ahead.pop(0)
            world = worlds[ahead[0]]
            is_last = point == len(operations) - 1
            if operation.kind == "mark":
                floor = {path: content for path, content in _of_journals(disk) if content is not None}
            if operation.kind not in _EFFECT and not is_last and operation.kind != "mark":
                continue
            here = set()
            for state in disk.states(point):
                digest = state.digest
                if digest in here:
                    continue
                here.add(digest)
                self.figures.generated += 1
                is_new = digest not in self._seen
                if is_new:
                    self._seen.add(digest)
                    self.figures.states += 1
                    self._judge(self.command.allowed, state.flat, f"after operation {point} ({operation.kind})")
                if is_last and operation.kind == "mark":
                    self._judge(self.command.is_done, state.flat, "power loss after it was done")
                self._check_floor(floor, state.flat, point)
                if state.is_kill and (key := (digest, disk.signature)) not in kills and first:
                    kills.add(key)
                    yield state, disk.copy(), world
                elif is_new:
                    yield state, None, world
        self.figures.left_out += disk.left_out

    def _check_floor(self, floor: Flat, flat: Flat, point: int) -> None:
        for path, content in floor.items():
            assert content is not None
            found = flat.get(path)
            if not isinstance(found, bytes) or not found.startswith(content):
                self._wrong(f"operation {point}: {path} lost what was relied on")

    def _check_replay(self, disk: Disk) -> None:
        """Check that the recorded operations give the real tree: nothing was done that was not recorded."""
        state = next(disk.states(0))
        assert state.flat == self._new, f"{self.command.title}: the trace is not what was done"

    def _second(self, state: State, start: Disk | None, world: Any) -> None:
        """Run again from a state; after a kill with what was not synced still pending."""
        fresh = start is None
        model = materialize(state, self.root, max((*state.paths.values(), 0)) + 1 if start is None else start.next)
        disk = Disk.of(model) if start is None else start
        again = copy.deepcopy(world)
        tracer, worlds, outcome = self._traced(Tracer(model), again)
        self.figures.second_runs += 1
        if outcome in self.command.refused and self.command.repair is not None:
            self._check_advised()
            self.command.repair(self.root)
            outcome = self._outcome(again, lambda: None)
            self._ended(outcome, again, f"after operation {state.point}, repaired")
            return
        self._ended(outcome, again, f"after operation {state.point}, {'power loss' if fresh else 'kill'}")
        sampled = []
        for found, _, before in self._crashes(disk, tracer.operations, worlds, first=False):
            self._number += 1
            if self._third_every and self._number % self._third_every == 0:
                sampled.append((found, before))
        for found, before in sampled:
            self._third(found, before)

    def _third(self, state: State, world: Any) -> None:
        materialize(state, self.root, 1 << 20)
        self.figures.third_runs += 1
        world = copy.deepcopy(world)
        outcome = self._outcome(world, lambda: None)
        if outcome in self.command.refused and self.command.repair is not None:
            self.command.repair(self.root)
            outcome = self._outcome(world, lambda: None)
        self._ended(outcome, world, f"third run, after operation {state.point}")

    def _ended(self, outcome: str, world: Any, where: str) -> None:
        if (problem := self.command.goal(world)) is not None:
            self._wrong(f"{where}: {problem}")
        if outcome not in self.command.again:
            self._wrong(f"{where}: a run again ends as {outcome}")
        else:
            self._judge(self.command.is_done, read_flat(self.root), f"{where}: a run again")

    def _check_advised(self) -> None:
        self._judge(self.command.allowed, read_flat(self.root), "refused")

    def _error(self, injected: Injected, kind: str) -> None:
        """Fail one operation while the process lives on: what it says is true, and the next run comes to the end."""
        if injected.fault == "short" and kind != "write":
            return
        if injected.fault == "space" and kind not in {"write", "open", "mkdir", "link", "rename"}:
            return
        self._fresh()
        world = self.command.world()
        self.figures.errors += 1
        self.figures.cases += 1
        where = f"operation {injected.at} ({kind}) with error {injected.fault}"
        tracer = Tracer(read_tree(self.root), injected)
        with tracer.recording():
            try:
                outcome = self._outcome(world, lambda: None)
            except OSError as error:
                outcome = f"OSError {error}"
        if outcome in DONE:
            self._judge(self.command.is_done, read_flat(self.root), f"{where}: done")
        elif outcome.partition(":")[0] not in self.command.failed:
            self._wrong(f"{where}: ends as {outcome}")
        self._judge(self.command.allowed, read_flat(self.root), where)
        outcome = self._outcome(world, lambda: None)
        if outcome in self.command.refused and self.command.repair is not None:
            self.command.repair(self.root)
            outcome = self._outcome(world, lambda: None)
        self._ended(outcome, world, where)

    def _judge(self, rule: Rule, flat: Flat, where: str) -> None:
        problem = rule(flat, self._old, self._new)
        if problem is not None:
            self._wrong(f"{where}: {problem}")

    def _wrong(self, problem: str) -> None:
        self.figures.third_states.append(f"{self.command.title}: {problem}")


def _of_journals(disk: Disk) -> Iterator[tuple[str, bytes | None]]:
    """Return journals as they are now: what a request to a cluster relies on must be in them after any crash."""
    state = next(disk.states(0))
    return ((path, content) for path, content in state.flat.items() if path.endswith(".jsonl"))
