"""A fake quorum behind a network in which one thing goes wrong: a proxy before each controller, one plan for all."""

from __future__ import annotations

from typing import Any

from kafkactl.commands.demo.listening import Listening
from kafkactl.commands.demo.quorum import FakeController, FakeQuorum
from tests.fakes.proxy import FaultPlan, FaultyProxy


class FaultyQuorum(FakeQuorum):
    """A `FakeQuorum` whose requests pass `network`; killed controllers stay, nothing is carried to them any more."""

    def __init__(self, *, network: FaultPlan | None = None, **quorum: Any) -> None:
        self.network = network or FaultPlan()
        super().__init__(**quorum)

    def _door(self, node: FakeController) -> Listening:
        return FaultyProxy(node.address, self.network)
