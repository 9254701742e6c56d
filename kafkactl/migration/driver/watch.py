"""Checks immediately before a step: the driver still holds its lock, and enough other nodes are alive.

A look takes seconds, with hooks and logs; these two questions take milliseconds and are of now.
"""

from __future__ import annotations

from typing import Final

from kafkactl.change.clock import Deadline
from kafkactl.change.progress import Event
from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.findings import Finding, blocker, error_finding
from kafkactl.migration.driver.liveness import others_alive, stops_a_living_node
from kafkactl.migration.driver.moves import RunContext
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.step import Step

AWAY: Final = frozenset(
    {"zookeeper-unreachable", "zookeeper-timed-out", "zookeeper-connection-lost", "zookeeper-read-only"}
)
"""A ZooKeeper that may be back in a moment."""


class StepWatch:
    """Watch of the nodes in one run; it keeps the time since which a node has been silent."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._silent_until: Deadline | None = None

    def lock_lost(self) -> Finding | None:
        """Return the reason why this driver does not hold the cluster's lock any more.

        A ZooKeeper that is away is waited for.
        """
        context, away = self._context, None
        while True:
            try:
                context.lock.check()
            except RefusedError as error:
                return error_finding("migration", error)
            except UnreachableError as error:
                away = away or Deadline.after(context.policy.znode_ms, context.world.clock)
                if error.id not in AWAY or away.passed:
                    return error_finding("migration", error)
                context.tell(Event(kind="wait", text="ZooKeeper to answer again", seen=error.message))
                context.world.clock.sleep_ms(context.policy.observe_every_ms)
            else:
                return None

    def fell_silent(self, seen: Observation, step: Step) -> Finding | None:
        """Return a finding for a node that has become silent since the step was planned.

        The node answered in that observation and does not answer just before a living node is stopped; the evidence of
        the quorum and of ZooKeeper is older than that.
        """
        silent: tuple[str, ...] = ()
        if stops_a_living_node(seen, step):
            silent = tuple(node.name for node in others_alive(seen, step) if not self._context.world.answers(node.id))
        if not silent:
            self._silent_until = None
            return None
        names = ", ".join(silent)
        return blocker(
            "node-stopped-responding",
            names,
            f"{names} answered a moment ago and does not answer now, and {step.target} is to be restarted next",
            step=f"{step.action} {step.target}",
        )

    def may_observe_again(self, silent: Finding) -> bool:
        """Return True if there is time for another observation, after a wait."""
        clock, policy = self._context.world.clock, self._context.policy
        self._silent_until = self._silent_until or Deadline.after(policy.settle_ms, clock)
        if self._silent_until.passed:
            return False
        self._context.tell(Event(kind="wait", text=f"{silent.subject} to answer again", seen=silent.message))
        clock.sleep_ms(policy.observe_every_ms)
        return True
