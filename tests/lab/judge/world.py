"""A simulated world whose processes are judged. Everything happens at whole milliseconds, as Kafka's clock has them."""

from __future__ import annotations

from typing import Any

from kafkactl.simulator.machine import DELIVER, Machine
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.raft.profiles import US_PER_MS
from kafkactl.simulator.world import World
from tests.lab.judge.node import Case


class JudgedWorld(World):
    """`World` with nodes of `Case.make`, which the quorum must name as its `make_node`."""

    def __init__(self, quorum: Quorum, seed: int, case: Case, *, traced: bool = False) -> None:
        self.case = case
        super().__init__(quorum, seed, traced=traced)

    def begin(self, machine: Machine) -> None:
        self.case.disk(machine.id, machine.directory, machine.disk)
        super().begin(machine)

    def _write(self, machine: Machine, write: Any) -> None:
        super()._write(machine, write)
        self.case.writes[machine.id] += 1

    def push(self, at: int, kind: int, machine: Machine, thing: Any, life: int) -> None:
        # A message to oneself takes time, too: numbers depend on the time, and the next one would be drawn alike.
        soonest = self.now + US_PER_MS if kind == DELIVER else at
        super().push(-(-max(at, soonest) // US_PER_MS) * US_PER_MS, kind, machine, thing, life)
