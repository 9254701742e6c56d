"""Nodes that are started too early, or restarted once although they need it twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome
from tests.fakes.rolling_cluster import FAIL, FakeRoll
from tests.roll.driver.test_run import NODES, cluster, roll


class SlowlyEndingRoll(FakeRoll):
    """A cluster whose processes run for a while after they stopped answering."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.looks: dict[int, int] = {}
        self.started_early: list[int] = []

    def is_running(self, node_id: int) -> bool | None:
        if super().is_running(node_id):
            return True
        self.looks[node_id] = self.looks.get(node_id, 0) + 1
        return self.looks[node_id] <= 3

    def ask(self, requests: Sequence[Request]) -> Mapping[int, HookRun]:
        starts = [request.node for request in requests if request.verb is Verb.START]
        self.started_early += [id for id in starts if self.looks.get(id, 0) <= 3]
        return super().ask(requests)


def test_node_is_not_started_while_its_old_process_runs(tmp_path: Path) -> None:
    world = SlowlyEndingRoll(cluster())
    assert roll(world, tmp_path).outcome is Outcome.DONE
    assert (sorted(world.started), world.started_early) == (list(NODES), [])


def test_restarted_node_with_a_new_file_is_restarted_again(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.STOP, 13] = FAIL
    assert roll(world, tmp_path).outcome is not Outcome.DONE
    assert world.stopped.count(1) == 1
    world.wrong.clear()
    text = str(world.roll.nodes[1].config) + "num.io.threads=9\n"
    found = roll(world, tmp_path, rendered={1: text})
    assert found.outcome is Outcome.DONE, found.findings
    assert world.stopped.count(1) == 2
    assert world.roll.nodes[1].config == text
