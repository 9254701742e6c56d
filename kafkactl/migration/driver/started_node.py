"""A node whose start is awaited and whose process is gone: what ends the wait, with the last errors of its log."""

from __future__ import annotations

from kafkactl.change.hooks.last_errors import errors_since, last_errors
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Finding, blocker
from kafkactl.migration.driver.actions import is_running
from kafkactl.migration.driver.moves import RunContext
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.step import STARTS, Step


class StartedNode:
    """The process of a node that a step starts, asked for by its hook while nothing listens at the node's address.

    A supervisor may start a process again, and a pod that was deleted is not there for some seconds: so the process has
    to be gone in every observation for twice the time between the observations of a gate.
    """

    def __init__(self, context: RunContext, step: Step, seq: int) -> None:
        self._context = context
        self._step = step
        self._seq = seq
        self._start_ms = context.journal.now_ms()
        self._gone_ms: float | None = None

    def ended(self, seen: Observation) -> Finding | None:
        """Return that the process ended, after that is certain. Asks the hooks is_running and logs."""
        step, context = self._step, self._context
        if step.action not in STARTS or step.node is None or step.role is None:
            return None
        node = seen.node(step.node, step.role)
        is_silent = node is not None and node.alive is False
        if not is_silent or is_running(context.world, context.place(step, self._seq)) is not False:
            self._gone_ms = None
            return None
        now_ms = context.world.clock.now_ms()
        self._gone_ms = now_ms if self._gone_ms is None else self._gone_ms
        if now_ms - self._gone_ms < 2 * context.policy.apart_ms:
            return None
        return self._finding()

    def _finding(self) -> Finding:
        lines = self._last_errors()
        said = f"; the last errors in its log: {' | '.join(lines)}" if lines else ""
        return blocker(
            "started-node-ended",
            self._step.target,
            f"{self._step.target} was started, nothing listens at its address, and its hook is_running reports that"
            f" its process is gone{said}",
            log=list(lines),
        )

    def _last_errors(self) -> tuple[str, ...]:
        """Return the last lines with an error since the start; empty without a hook, or if the hook has none."""
        node, world = self._step.node, self._context.world
        if node is None or not world.has_hook(Verb.LOGS, node):
            return ()
        place = self._context.place(self._step, self._seq)
        extra = errors_since(self._start_ms)
        return last_errors(world.ask(Request(
            verb=Verb.LOGS, node=node, phase=place.phase, seq=self._seq, instruction="", extra=extra,
        )))  # fmt: skip
