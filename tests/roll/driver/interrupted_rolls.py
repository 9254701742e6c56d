"""Rolls that are killed before each of their acts and run again: together they have every action of a roll."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from kafkactl.core.findings import Outcome
from kafkactl.roll.case import Until
from kafkactl.roll.journal import Action
from tests.fakes.interruption import Fuse, killed_at_every_act
from tests.fakes.rolling_cluster import FakeRoll, runs
from tests.roll.driver.test_run import entries, roll
from tests.roll.rolls import Roll

ACCEPTED = frozenset({"quorum-without-spare", "partial-roll"})
NEW = "num.io.threads=9\n"


def small(release: str = "4.3.1") -> Roll:
    """Return one controller, and two brokers of one rack that no partition needs together."""
    made = Roll(release, controllers=(1,), brokers=(11, 12), level=29)
    for id in (11, 12):
        made.change(id, rack="a")
    return made.topic("t", [11], [12], min_insync_replicas="1")


def new_files() -> dict[int, str]:
    """Return a new file for each node."""
    return {id: f"{node.config}{NEW}" for id, node in small().nodes.items()}


class Interrupted(NamedTuple):
    """A roll, what it asks for, and how often each node is stopped. `actions` are those in its journal."""

    to: str | None
    request: Mapping[str, Any]
    actions: frozenset[Action]
    make: Callable[[], Roll] = small


STEPS = frozenset({Action.STOP, Action.START, Action.VERIFY})
WITH_BINARIES = STEPS | {Action.INSTALL}
ROLLS: Mapping[str, Interrupted] = MappingProxyType(
    {
        "restart": Interrupted(None, {}, STEPS),
        "restart with new files": Interrupted(None, {"rendered": new_files()}, STEPS | {Action.PUT_CONFIG}),
        "upgrade": Interrupted("4.4.0", {}, WITH_BINARIES),
        "upgrade with new files": Interrupted(
            "4.4.0", {"rendered": new_files()}, WITH_BINARIES | {Action.PUT_CONFIG}
        ),
        "upgrade and levels": Interrupted("4.4.0", {"until": Until.LEVELS}, WITH_BINARIES | {Action.RAISE_LEVELS}),
        "upgrade in batches": Interrupted("4.4.0", {"batch": 0}, WITH_BINARIES),
        "upgrade with jars between": Interrupted("4.4.0", {"between": frozenset({1, 11, 12})}, WITH_BINARIES),
        "rollback": Interrupted("4.2.1", {}, WITH_BINARIES),
        "rollback with old files": Interrupted(
            "4.2.1", {"rendered": new_files()}, WITH_BINARIES | {Action.PUT_CONFIG}
        ),
    }
)  # fmt: skip


def kill_everywhere(name: str, folder: Path, *, first: int = 1, every: int = 1) -> int:
    """Kill a roll before each `every`-th act, resume it, and check its end. Return the number of its acts."""
    row = ROLLS[name]
    accepted = ACCEPTED | {"partition-stops-while-down", "default-changed", "setting-ignored"}
    found: set[Action] = set()
    last: list[Path] = []

    def go(world: FakeRoll, place: Path, fuse: Fuse) -> Outcome:
        world.fuse = fuse
        last[:] = [place]
        return roll(world, place, row.to, accepted=accepted, **row.request).outcome

    def check(world: FakeRoll) -> None:
        assert world.harm == []
        assert sorted(world.stopped) == [1, 11, 12], "a node was stopped twice, or not at all"
        assert set(runs(world).values()) == {row.to or "4.3.1"}
        rendered = row.request.get("rendered", {})
        assert all(world.roll.nodes[id].config == text for id, text in rendered.items())
        assert len(world.raised) == (Action.RAISE_LEVELS in row.actions)
        found.update(Action(entry.data["action"]) for entry in entries(last[0]) if entry.entry == "intent")

    acts = killed_at_every_act(folder, lambda: FakeRoll(row.make()), go, check, first=first, every=every)
    assert found == row.actions
    return acts
