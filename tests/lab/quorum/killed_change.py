"""A reassignment in a process of its own that is ended by SIGKILL at its nth action.

`python -m tests.lab.quorum.killed_change SERVERS TARGET JOURNAL N`: actions are observations, requests before and after
they are sent, and entries of the journal before and after they are written; N 0 kills nothing. Prints how many there
were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.files.journal import Journal, open_journal
from kafkactl.kafka.client import Client, Limits
from kafkactl.net.transport import parse_addresses
from kafkactl.quorum.change.goals import reassignment
from kafkactl.quorum.change.journal import SUBJECT
from kafkactl.quorum.change.run import carry_out
from kafkactl.quorum.io.live_quorum import LiveQuorum
from tests.lab.quorum.changes import QUICK


class Fuse:
    """Counts actions and burns at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.actions = 0

    def act(self) -> None:
        self.actions += 1
        if self.actions == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: type, name: str) -> None:
        """Count every call of this method as two actions: before it and after it."""
        inner: Callable[..., Any] = getattr(owner, name)

        def call(*words: Any, **named: Any) -> Any:
            self.act()
            found = inner(*words, **named)
            self.act()
            return found

        setattr(owner, name, call)


def main(servers: str, target: str, journal: str, at: str) -> int:
    fuse = Fuse(int(at))
    for name in ("observe", "observe_nodes", "send"):
        fuse.around(LiveQuorum, name)
    fuse.around(Journal, "append")
    client = Client(parse_addresses(servers), Role.CONTROLLER, limits=Limits(timeout_ms=20_000))
    with (
        client,
        LiveQuorum(client) as world,
        open_journal(journal, subject=SUBJECT, cluster_id=world.cluster_id) as log,
    ):
        goal = reassignment(target)
        result = carry_out(world, goal, log, clock=SystemClock(), policy=replace(QUICK, settle_ms=10_000))
    print(fuse.actions, result.outcome.value, [finding.id for finding in result.findings])
    return result.outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
