"""A process that is killed at one of its acts, and the harness that kills a change at each of them in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kafkactl.core.findings import Outcome

World = TypeVar("World")


class Killed(BaseException):
    """The process is gone."""


class Fuse:
    """Counter of the acts of a process that ends the process before the `at`-th; 0 lets it live."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.acts = at, 0

    def __call__(self, *_: object) -> None:
        self.acts += 1
        if self.acts == self.at:
            raise Killed


Go = Callable[[World, Path, Fuse], Outcome]


def killed_at_every_act(
    folder: Path,
    start: Callable[[], World],
    go: Go[World],
    check: Callable[[World], None],
    *,
    resume: Go[World] | None = None,
    first: int = 1,
    every: int = 1,
) -> int:
    """Kill a change at each act, run it again with the same journal, and see that it reaches its goal.

    `start` makes the world that is changed; `go` runs the change on it with the journal in a folder, and calls the fuse
    before each of its acts; `resume` is what runs afterwards, if it is another change. Answers how many acts there
    are, so that a test sees that there were some.
    """
    act = first
    while True:
        world, own = start(), folder / str(act)
        own.mkdir()
        try:
            go(world, own, Fuse(act))
        except Killed:
            outcome = (resume or go)(world, own, Fuse())
            assert outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO), f"killed at act {act}: {outcome}"
            check(world)
            act += every
        else:
            return act - 1
