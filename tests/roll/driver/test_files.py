"""New configuration files of a roll: nodes that lack one, the return of the files before, and skipped steps."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from kafkactl.core.findings import Outcome
from kafkactl.roll.api import RollRequest, check, plan_run
from kafkactl.roll.case import Until
from kafkactl.roll.driver.answer import RollRun
from tests.fakes.rolling_cluster import FakeRoll, runs
from tests.roll.driver.test_run import NODES, cluster, roll
from tests.roll.rolls import Roll

NEW = "group.coordinator.append.linger.ms=-1\n"
"""A line that 4.3.1 accepts and 3.9.2 refuses."""
ACCEPTED = frozenset({"default-changed", "setting-ignored", "quorum-without-spare", "partial-roll"})


def rows(found: RollRun, state: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(step.action, step.nodes) for step in found.steps if step.state == state]


def test_nodes_done_before_the_run_are_skipped_steps(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0", until=Until.CONTROLLERS).outcome is Outcome.DONE
    found = roll(world, tmp_path, "4.4.0")
    assert rows(found, "skipped") == [("install", (1, 2, 3)), ("stop", (1, 2, 3)), ("start", (1, 2, 3))]
    numbers = [step.number for step in found.steps]
    assert numbers == sorted(set(numbers))
    assert (found.outcome, found.stopped_at) == (Outcome.DONE, None)


def test_install_of_a_binary_in_place_is_a_skipped_step(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.install(11, "4.4.0")
    planned = plan_run(world.roll.observation(), RollRequest(to="4.4.0", only=frozenset({11})))
    assert [(step.action, step.state) for step in planned.steps][:2] == [("install", "skipped"), ("stop", "pending")]
    assert planned.stopped_at == 2
    found = roll(world, tmp_path, "4.4.0", only=frozenset({11}), accepted=ACCEPTED)
    assert [(step.action, step.state) for step in found.steps] == [
        ("install", "skipped"), ("stop", "done"), ("start", "done"), ("verify", "done"),
    ]  # fmt: skip


def test_run_with_nothing_to_do_skips_every_step(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is Outcome.NOTHING_TO_DO
    assert rows(found, "skipped") == [("install", NODES), ("stop", NODES), ("start", NODES)]


def test_node_that_runs_the_goal_without_its_new_file_is_restarted(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    world.stopped.clear()
    text = str(world.roll.nodes[11].config) + "num.io.threads=9\n"
    found = roll(world, tmp_path, "4.4.0", rendered={11: text})
    assert found.outcome is Outcome.DONE, found.findings
    assert (world.stopped, world.roll.nodes[11].config) == ([11], text)


def test_file_that_the_old_release_refuses_is_put_back_by_the_next_step(tmp_path: Path) -> None:
    world = FakeRoll(Roll("3.9.2", controllers=(1,), brokers=(11, 12)).topic("t", [11, 12], min_insync_replicas="1"))
    old = str(world.roll.nodes[11].config)
    assert roll(world, tmp_path, "4.3.1", rendered={11: old + NEW}, accepted=ACCEPTED).outcome is Outcome.DONE
    refused = roll(world, tmp_path, "3.9.2", accepted=ACCEPTED)
    assert refused.outcome is Outcome.REFUSED
    finding = next(finding for finding in refused.findings if finding.id == "setting-refused")
    words = shlex.split(str(finding.next_step).partition("kafkactl ")[2])
    folder = words.pop()
    assert words == ["roll", "rollback", "--inventory", "FILE", "--to", "3.9.2", "--rendered"]
    kept = files_in(world, folder)
    assert kept == {11: old}
    found = roll(world, tmp_path, "3.9.2", rendered=kept, accepted=ACCEPTED)
    assert found.outcome is Outcome.DONE, found.findings
    assert (world.roll.nodes[11].config, set(runs(world).values())) == (old, {"3.9.2"})


def test_next_step_of_a_refused_file_is_the_same_in_a_rollback_under_way(tmp_path: Path) -> None:
    # A rollback that was stopped keeps new files itself; the ones to go back to are still those before the upgrade.
    world = FakeRoll(Roll("3.9.2", controllers=(1,), brokers=(11, 12)).topic("t", [11, 12], min_insync_replicas="1"))
    old = {id: str(world.roll.nodes[id].config) for id in (11, 12)}
    new = {id: text + NEW for id, text in old.items()}
    assert roll(world, tmp_path, "4.3.1", rendered=new, accepted=ACCEPTED).outcome is Outcome.DONE
    world.hangs = {1}
    assert roll(world, tmp_path, "3.9.2", rendered=old, until=None, accepted=ACCEPTED).outcome is Outcome.PARTIAL
    world.roll.change(12, config=new[12])
    found = check(_with_journal(world, tmp_path), RollRequest(to="3.9.2"))
    steps = [finding.next_step for finding in found.findings if finding.id == "setting-refused"]
    assert files_in(world, shlex.split(str(steps[0]))[-1]) == old


def test_restart_with_a_bad_file_goes_back_by_the_next_step(tmp_path: Path) -> None:
    world = FakeRoll(Roll("4.3.1", controllers=(1,), brokers=(11, 12)).topic("t", [11, 12], min_insync_replicas="1"))
    old = str(world.roll.nodes[11].config)
    world.hangs = {11}
    found = roll(world, tmp_path, rendered={11: old + "num.io.threads=9\n"}, accepted=ACCEPTED)
    late = next(finding for finding in found.findings if finding.id == "node-not-back")
    words = shlex.split(str(late.next_step).partition("kafkactl ")[2])
    assert words[:-1] == ["roll", "run", "--inventory", "FILE", "--only", "11", "--rendered"]
    world.hangs = set()
    back = roll(world, tmp_path, rendered=files_in(world, words[-1]), only=frozenset({11}), accepted=ACCEPTED)
    assert back.outcome is Outcome.DONE, back.findings
    assert world.roll.nodes[11].config == old
    assert world.harm == []


def files_in(world: FakeRoll, folder: str) -> dict[int, str]:
    """Return the files that a roll kept in a folder, as --rendered reads them."""
    return {id: content.decode() for (place, id), content in world.kept.items() if place == folder}


def _with_journal(world: FakeRoll, folder: Path) -> Any:
    from kafkactl.change.journal_lines import read_journal
    from tests.roll.rolls import CLUSTER

    content = (folder / "roll.jsonl").read_bytes()
    world.roll.journal = read_journal(content, file="roll.jsonl", subject="roll", cluster_id=CLUSTER).entries
    return world.roll.observation()
