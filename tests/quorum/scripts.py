"""Text scripts of quorum changes: a command, `----`, what it says. Stories that an operator can check by eye.

Commands: `quorum voters="1 2 3" [dead="3"] [observers="4 3b"] [leader=1] [static] [brokers="4"]` makes a world (a
letter behind an id is another directory); `reassign 1,2,4`, `add 4`, `remove 3`, `convert` plan, with flags such as
`--allow-size`; `take` does the first step of the last reassign and plans again; `lose 2`, `return 2` change who runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kafkactl.cluster.quorum.state import ids_of
from kafkactl.core.findings import Outcome, Severity
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.plan import plan_addition, plan_conversion, plan_reassignment, plan_removal
from kafkactl.quorum.step import Action, QuorumChange, Step
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import World, endpoint, parse_key, world


@dataclass
class Story:
    """The world of one script, and what was asked last."""

    world: World | None = None
    target: list[str] = field(default_factory=list)

    def run(self, line: str) -> str:
        """Return the output of one command line."""
        name, *words = shlex.split(line)
        return COMMANDS[name](self, words)

    def quorum(self, words: list[str]) -> str:
        options = dict(word.split("=") for word in words if "=" in word)
        brokers = frozenset(map(int, options.get("brokers", "").split()))
        leader = int(options["leader"]) if "leader" in options else None
        parts = {name: options.get(name, "") for name in ("dead", "observers")}
        self.world = world(options["voters"], leader=leader, static="static" in words, broker_only=brokers, **parts)
        return self._shown()

    def reassign(self, words: list[str]) -> str:
        self.target = words
        return _plan_text(self._plan())

    def take(self, words: list[str]) -> str:
        step = self._plan().next_step
        assert step is not None, "no step may be taken"
        self.world = self.world.taken(step)
        if step.action is Action.WAIT:
            step = next(step for step in self._plan().steps if step.action is not Action.WAIT)
            self.world = self.world.taken(step)
        return f"{_step_text(step)}\n{_plan_text(self._plan())}"

    def add(self, words: list[str]) -> str:
        key = parse_key(words[0])
        return _plan_text(plan_addition(self.world.observe(), key, [endpoint(key.node_id)], _flags(words)))

    def remove(self, words: list[str]) -> str:
        return _plan_text(plan_removal(self.world.observe(), parse_key(words[0]), _flags(words)))

    def convert(self, words: list[str]) -> str:
        return _plan_text(plan_conversion(self.world.observe(), _flags(words)))

    def lose(self, words: list[str]) -> str:
        self.world = self.world.losing(frozenset(map(parse_key, words)))
        return self._shown()

    def come_back(self, words: list[str]) -> str:
        self.world = replace(self.world, alive=self.world.alive | frozenset(map(parse_key, words)))
        return self._shown()

    def _plan(self) -> QuorumChange:
        text = "" if self.target[0].startswith("--") else self.target[0]
        return plan_reassignment(self.world.observe(), parse_target(text), _flags(self.target))

    def _shown(self) -> str:
        state = self.world.observe()
        leader = f"leader {state.leader_id}" if state.has_leader else "no leader"
        alive = ids_of(state.voter_keys & state.alive_keys)
        return f"voters {ids_of(state.voter_keys)} alive {alive} majority {state.majority} {leader}: " + (
            f"survives {state.tolerates}" if state.tolerates >= 0 else f"{-state.tolerates} must come back"
        )


COMMANDS: dict[str, Callable[[Story, list[str]], str]] = {
    "quorum": Story.quorum,
    "reassign": Story.reassign,
    "take": Story.take,
    "add": Story.add,
    "remove": Story.remove,
    "convert": Story.convert,
    "lose": Story.lose,
    "return": Story.come_back,
}


def _flags(words: list[str]) -> Circumstances:
    return Circumstances(overrides=frozenset(word for word in words if word.startswith("--")))


def _plan_text(plan: QuorumChange) -> str:
    lines = [plan.outcome.value]
    lines += [f"  {_step_text(step)}" for step in plan.steps if step.action is not Action.WAIT]
    order = {Severity.BLOCKER: 0, Severity.WARNING: 1, Severity.INFO: 2}
    for finding in sorted(plan.findings, key=lambda finding: order[finding.severity]):
        lines.append(f"  {finding.severity.value} {finding.id}: {finding.message}")
    assert plan.outcome is not Outcome.DONE
    return "\n".join(lines)


def _step_text(step: Step) -> str:
    what = step.action.value if step.id is None else f"{step.action.value} {step.id}{_letter(step)}"
    leaves = " (the leader leaves)" if step.leader_leaves else ""
    return f"{what}: {step.arithmetic_after}, survives {step.tolerates_before} -> {step.tolerates_after}{leaves}"


def _letter(step: Step) -> str:
    if step.directory_id is None:
        return " (directory unknown)"
    letter = step.directory_id.raw[-1:].decode()
    return "" if letter == "a" else letter
