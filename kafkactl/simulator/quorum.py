"""Description of the simulated quorum, and records that a leader appended: values shared by the world and its users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafkactl.core.frozen import frozen
from kafkactl.simulator.raft.node import Node
from kafkactl.simulator.raft.profiles import DEFAULT_TIMEOUTS, PROFILE_3_9, Profile, Timeouts

CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZQ"
MakeNode = Callable[..., Any]  # gives a kafkactl.simulator.raft.ports.Replica; tests give nodes that break a rule


@frozen
class Quorum:
    """Configuration of a simulation: voters, further controllers that are none, the release's behaviour, and the
    settings.

    `leaderless_pause_us` is a shortcut for campaigns: how long a node without a leader waits before it asks a bootstrap
    server again. 0 is Kafka's way, which costs most of the time of a run.
    """

    voters: tuple[int, ...] = (1, 2, 3)
    observers: tuple[int, ...] = ()
    profile: Profile = PROFILE_3_9
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    is_static: bool = False
    make_node: MakeNode = Node
    leaderless_pause_us: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Return the arguments of `make_node` that are equal for every process."""
        return {
            "profile": self.profile,
            "timeouts": self.timeouts,
            "cluster_id": CLUSTER_ID,
            "leaderless_pause_us": self.leaderless_pause_us,
        }

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return voters and observers."""
        return (*self.voters, *self.observers)


@frozen(kw_only=False)
class AppendedBatch:
    """A batch that a leader accepted: the offset of its last record, and the content that identifies it."""

    offset: int
    content: int
    records: int
