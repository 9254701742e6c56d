"""The network between nodes: how long a message takes, and whether it arrives never, once or twice.

Each direction of each link has a delay of its own, drawn when the run begins and then fixed, as between hosts of one
site; `set_delay` with two different bounds draws one for each message, so that messages overtake each other. What is
lost is lost silently: who waits for an answer waits for its time-out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkactl.simulator.chance import Chance

SITE_DELAY_US: Final = (1_000, 2_000)
LATE_COPY_US: Final = 50_000  # a duplicate arrives at most this long behind the message


class Network:
    """Network of all links; nodes are ids. A node that reaches itself needs no link."""

    __slots__ = ("_delays", "_high", "_low", "chance", "cuts", "duplicates", "is_steady", "loss")

    def __init__(self, chance: Chance, nodes: Iterable[int]) -> None:
        self.chance = chance
        self.cuts: set[tuple[int, int]] = set()
        self.loss = self.duplicates = 0  # parts per thousand
        self._low = self._high = 0
        self._delays: dict[tuple[int, int], int] = {}
        self.is_steady = True  # nothing is drawn for a message
        known = sorted(nodes)
        for sender in known:
            for receiver in known:
                if sender != receiver:
                    self._delays[sender, receiver] = chance.between(*SITE_DELAY_US)

    def fates(self, sender: int, receiver: int) -> tuple[int, ...]:
        """Return the delays of the copies of a message in microseconds; empty if the message is lost."""
        if (sender, receiver) in self.cuts:
            return ()
        if self.is_steady:
            return (self._delays[sender, receiver],)
        chance = self.chance
        if self.loss and chance.happens(self.loss):
            return ()
        delay = chance.between(self._low, self._high) if self._high else self._delays[sender, receiver]
        if self.duplicates and chance.happens(self.duplicates):
            return (delay, delay + chance.below(LATE_COPY_US))
        return (delay,)

    def set_delay(self, low_us: int, high_us: int) -> None:
        """Set the delays of all links: fixed for equal bounds, else drawn for each message; 0 and 0 as at first."""
        self._low, self._high = low_us, high_us
        self._judge()

    def set_share(self, what: str, share: int) -> None:
        """Set `loss` or `duplicates`, in parts per thousand."""
        if what == "loss":
            self.loss = share
        else:
            self.duplicates = share
        self._judge()

    def cut(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Cut links, each in one direction."""
        self.cuts.update(pairs)

    def heal(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Repair links, each in one direction."""
        self.cuts.difference_update(pairs)

    def _judge(self) -> None:
        self.is_steady = not (self.loss or self.duplicates or self._high)
