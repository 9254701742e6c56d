"""Changes under load, faults during them, and the clusters they run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.lab.harness.cluster import KafkaCluster


class Target(NamedTuple):
    """A command of ours, the state that it must reach, and how to read that state from the nodes.

    `parts` names the nodes by what they are in this change: leader, stays, enters, leaves, broker.
    """

    name: str
    words: tuple[str, ...]
    wanted: object
    read: Callable[[], object]
    parts: Mapping[str, int]


Change = Callable[[KafkaCluster, int], Target]
"""The change of a cluster as it is now; the number of the run chooses among what is equal."""

BLOWS: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("kill", "leader"),
    ("kill", "stays"),
    ("kill", "broker"),
    ("pause", "leader"),
    ("pause", "broker"),
    ("kill", "kafkactl"),
    ("kill", "enters"),
    ("kill", "leaves"),
)
"""Who is struck while the command runs; a part that the change has none of is the leader."""


def raise_or_lower(feature: str, low: int, high: int) -> Change:
    """Set a feature to the one of two levels at which it is not."""

    def change(cluster: KafkaCluster, run: int) -> Target:
        leader = cluster.leader()
        now = cluster.levels(leader).get(feature, 0)
        verb, level = ("downgrade", low) if now == high else ("upgrade", high)
        stays = next(controller for controller in cluster.controller_ids if controller != leader)
        return Target(
            name=f"{feature} {now} to {level}",
            words=("features", verb, "--feature", f"{feature}={level}"),
            wanted=level,
            read=lambda: cluster.settled_level(feature, still_s=1.0),
            parts={"leader": leader, "stays": stays, "broker": _broker(cluster, run)},
        )

    return change


def replace_voter(cluster: KafkaCluster, run: int) -> Target:
    """Replace the leader, or another voter, in turns, by the controller that does not vote."""
    leader, voters = cluster.leader(), sorted(cluster.voters())
    followers = [voter for voter in voters if voter != leader]
    leaves = leader if run % 2 else followers[run // 2 % 2]
    (enters,) = set(cluster.controller_ids) - set(voters)
    target = sorted({*voters, enters} - {leaves})
    return Target(
        name=f"{'the leader' if leaves == leader else 'a follower'} replaced",
        words=("quorum", "reassign", "--target", ",".join(map(str, target)), "--yes"),
        wanted=target,
        read=lambda: sorted(cluster.voters()),
        parts={
            "leader": leader, "stays": next(voter for voter in followers if voter != leaves), "enters": enters,
            "leaves": leaves, "broker": _broker(cluster, run),
        },
    )  # fmt: skip


def _broker(cluster: KafkaCluster, run: int) -> int:
    return cluster.broker_ids[run % len(cluster.broker_ids)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A cluster, and changes that take turns on it."""

    release: str
    changes: tuple[Change, ...]
    shape: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return what its section is called."""
        what = {1: "levels" if not self.shape.get("dynamic", True) else "voters"}.get(len(self.changes))
        return f"{self.release}: {what or 'levels and voters'}"


_STATIC = {"controllers": 3, "dynamic": False, "metadata_version": "3.7"}
_DYNAMIC = {"controllers": 4, "voters": (1, 2, 3)}
_METADATA = raise_or_lower("metadata.version", 17, 19)
_TRANSACTIONS = raise_or_lower("transaction.version", 1, 2)

COURSES = (
    *(Course(release=release, changes=(_METADATA,), shape=_STATIC) for release in ("3.7.2", "3.8.1", "3.9.2")),
    Course(release="3.9.2", changes=(replace_voter,), shape=_DYNAMIC),
    *(
        Course(release=release, changes=(replace_voter, _TRANSACTIONS), shape=_DYNAMIC)
        for release in ("4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")
    ),
)
