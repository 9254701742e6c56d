"""Timeline of a run, for people: a line for each change of a node, each fault, each answer."""

from __future__ import annotations

from typing import Literal

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen

HappeningKind = Literal["fault", "role", "voters", "answer", "expect", "broken"]


@frozen(kw_only=False)
class Happening:
    """A line of a timeline.

    `tone` is as in a report.
    """

    time_us: int
    """Virtual time since the run began."""
    node: int | None
    """None for the network, requests and expectations."""
    kind: HappeningKind
    text: str
    tone: str = "plain"

    to_dict = json_of("time_us", "node", "kind", "text")


MOST_HAPPENINGS = 20_000  # of one run; what comes later is counted


class Timeline:
    """Happenings in order, at most MOST_HAPPENINGS; `left_out` counts the rest."""

    __slots__ = ("happenings", "left_out")

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self.left_out = 0

    def add(self, happening: Happening) -> None:
        """Note one; the last that is kept is followed by a count."""
        if len(self.happenings) < MOST_HAPPENINGS:
            self.happenings.append(happening)
        else:
            self.left_out += 1
