"""The driver rolls a fake cluster: to the end, killed anywhere, and stopped where it has to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkactl.change.engine import Engine
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome, Severity, warning
from kafkactl.core.frozen import changed
from kafkactl.files.journal import open_journal
from kafkactl.roll.api.driving import agree
from kafkactl.roll.case import RollRequest, Until
from kafkactl.roll.driver.acts import Ask
from kafkactl.roll.driver.answer import RollRun, run_answer
from kafkactl.roll.driver.journey import RollJourney
from kafkactl.roll.driver.ports import RollGoal, RollWaitPolicy
from kafkactl.roll.journal import progress_of, read_record
from kafkactl.roll.observation import RollObservation
from tests.fakes.rolling_cluster import FAIL, LATE, LIE, FakeRoll, runs
from tests.roll.rolls import CLUSTER, Roll

NODES = (1, 2, 3, 11, 12, 13)


def cluster(release: str = "4.3.1", **shape: Any) -> Roll:
    """Return three controllers and three brokers, with two topics of three replicas."""
    return Roll(release, **shape).topic("orders", [11, 12, 13], [12, 13, 11], min_insync_replicas="2")


def roll(
    world: FakeRoll,
    folder: Path,
    to: str | None = None,
    *,
    between: frozenset[int] = frozenset(),
    ask: Ask = agree,
    **request: Any,
) -> RollRun:
    fuse = world.fuse

    class FusedJournal:
        def __init__(self, journal: Any) -> None:
            self.journal = journal

        def __getattr__(self, name: str) -> Any:
            return getattr(self.journal, name)

        def append(self, entry: str, data: Any) -> Any:
            fuse()
            return self.journal.append(entry, data)

    goal = RollGoal(request=RollRequest(to=to, **request), installs_between=between)
    policy = RollWaitPolicy(interval_ms=10_000, gate_ms=120_000, stop_ms=60_000)
    with open_journal(str(folder / "roll.jsonl"), subject="roll", cluster_id=CLUSTER) as journal:
        journey = RollJourney(world, goal, policy=policy, tell=lambda _: None, ask=ask)
        engine = Engine(journey, FusedJournal(journal), clock=world.clock, policy=policy)
        return run_answer(journey, engine.to_the_end())


def entries(folder: Path) -> Any:
    """Return the journal of a run in a folder."""
    with open_journal(str(folder / "roll.jsonl"), subject="roll", cluster_id=CLUSTER) as journal:
        return journal.entries


def test_upgrade_takes_controllers_first_and_their_leader_last(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is Outcome.DONE, found.findings
    assert world.stopped[:3] == [1, 2, 3]
    assert sorted(world.stopped) == sorted(world.started) == list(NODES)
    assert set(runs(world).values()) == {"4.4.0"}
    assert world.harm == []
    stops = [step for step in found.steps if step.action == "stop"]
    assert all(step.state == "done" and step.observed is not None for step in stops)
    assert {node.release for node in found.proof} == {"4.4.0"}
    again = roll(world, tmp_path, "4.4.0")
    assert (again.outcome, sorted(world.stopped)) == (Outcome.NOTHING_TO_DO, list(NODES))


def test_restart_takes_every_node_once(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path).outcome is Outcome.DONE
    assert sorted(world.stopped) == list(NODES)
    assert world.harm == []


def test_rollback_takes_brokers_first(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    world.stopped.clear()
    found = roll(world, tmp_path, "4.3.1")
    assert found.outcome is Outcome.DONE, found.findings
    assert [id for id in world.stopped if id > 10] == world.stopped[:3]
    assert set(runs(world).values()) == {"4.3.1"}
    assert world.harm == []


def test_roll_until_controllers_leaves_brokers_alone(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    assert roll(world, tmp_path, "4.4.0", until=Until.CONTROLLERS).outcome is Outcome.DONE
    assert sorted(world.stopped) == [1, 2, 3]


def test_jars_are_replaced_between_stop_and_start_if_the_inventory_asks_for_it(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    found = roll(world, tmp_path, "4.4.0", between=frozenset(NODES))
    assert found.outcome is Outcome.DONE
    actions = [step.action for step in found.steps if step.nodes == (1,)]
    assert actions == ["stop", "install", "start"]


def test_new_files_are_put_in_place_before_the_stop(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    text = str(world.roll.nodes[11].config) + "num.io.threads=9\n"
    found = roll(world, tmp_path, rendered={11: text}, only=frozenset({11}))
    assert found.outcome is Outcome.DONE, found.findings
    assert [step.action for step in found.steps] == ["put-config", "stop", "start", "verify"]
    assert world.roll.nodes[11].config == text


def test_stop_hook_that_fails_ends_the_run_and_the_node_runs_on(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.STOP, 2] = FAIL
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is Outcome.PARTIAL
    assert "hook-failed" in [finding.id for finding in found.findings]
    assert world.stopped == [1]
    del world.wrong[Verb.STOP, 2]
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    assert world.harm == []


def test_journal_has_the_options_of_the_run_until_the_roll_ends(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.STOP, 12] = FAIL
    asked = {"only": frozenset({11, 12}), "accepted": frozenset({"partial-roll"})}
    roll(world, tmp_path, "4.4.0", **asked)
    record = read_record(entries(tmp_path))
    assert record is not None
    assert record.options == ("--only", "11,12", "--accept", "partial-roll")
    del world.wrong[Verb.STOP, 12]
    assert roll(world, tmp_path, "4.4.0", **asked).outcome is Outcome.DONE
    record = read_record(entries(tmp_path))
    assert record is not None
    assert record.options == ()


def test_stop_that_does_not_end_is_reported_and_resumed(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.STOP, 11] = LIE
    found = roll(world, tmp_path, "4.4.0", only=frozenset({11}))
    assert (found.outcome, [finding.id for finding in found.findings]) == (Outcome.PARTIAL, ["shutdown-not-finished"])
    assert world.stopped == []
    del world.wrong[Verb.STOP, 11]
    assert roll(world, tmp_path, "4.4.0", only=frozenset({11})).outcome is Outcome.DONE
    assert world.stopped == [11]


def test_stop_hook_that_does_nothing_is_named_and_asked_again(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.STOP, 12] = LIE
    found = roll(world, tmp_path, "4.4.0", only=frozenset({12}), accepted=frozenset({"partial-roll"}))
    (finding,) = [finding for finding in found.findings if finding.id == "shutdown-not-finished"]
    assert finding.message.endswith("the process still runs, and nothing shows that a stop began")
    assert finding.advice.startswith("Find out what the hook `stop` does, and run the same command again")
    del world.wrong[Verb.STOP, 12]
    asked = {"only": frozenset({12}), "accepted": frozenset({"partial-roll"})}
    assert roll(world, tmp_path, "4.4.0", **asked).outcome is Outcome.DONE
    assert world.stopped == [12]


def test_stop_that_waits_for_a_leader_asks_for_controllers_first(tmp_path: Path) -> None:
    world = FakeRoll(cluster())

    def lose() -> None:
        if not world.stopped:
            world.then[world.observations + 1] = lose
            return
        world.crash(1, 2)

    world.then[world.observations + 1] = lose
    found = roll(world, tmp_path, only=frozenset({11}))
    (finding,) = [finding for finding in found.findings if finding.id == "shutdown-not-finished"]
    assert finding.advice.startswith("Start controllers until a majority of the voters answers; the stop then ends")
    assert found.outcome is Outcome.PARTIAL


def test_start_hook_that_does_nothing_ends_the_run_with_a_rollback_to_try(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.START, 11] = LIE
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is Outcome.PARTIAL
    failed = next(finding for finding in found.findings if finding.id == "start-failed")
    assert "rollback --inventory FILE --to 4.3.1 --only 11" in str(failed.next_step)
    assert world.down == {11}
    del world.wrong[Verb.START, 11]
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    assert world.harm == []


def test_first_node_that_does_not_come_up_returns_to_the_old_binary(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.START, 1] = LIE
    found = roll(world, tmp_path, "4.4.0")
    failed = next(finding for finding in found.findings if finding.id == "start-failed")
    assert "rollback --inventory FILE --to 4.3.1 --only 1" in str(failed.next_step)
    del world.wrong[Verb.START, 1]
    assert roll(world, tmp_path, "4.3.1", only=frozenset({1})).outcome is Outcome.DONE
    assert set(runs(world).values()) == {"4.3.1"}
    assert world.stopped == [1]


def test_start_that_failed_shows_the_last_errors_of_the_log_without_secrets(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.START, 11] = LIE
    world.log = b"INFO starting\nERROR java.lang.NoClassDefFoundError: org/apache/kafka/raft\nERROR password=hunter2\n"
    failed = next(each for each in roll(world, tmp_path, "4.4.0").findings if each.id == "start-failed")
    assert "NoClassDefFoundError" in failed.message
    assert "INFO" not in failed.message
    assert "hunter2" not in str(failed.to_dict())


def test_start_hook_that_hangs_is_named_and_proves_nothing_about_the_binary(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.START, 11] = LATE
    found = roll(world, tmp_path, "4.4.0")
    assert [finding.id for finding in found.findings if finding.severity is Severity.BLOCKER] == [
        "hook-timed-out",
        "start-failed",
    ]
    record = read_record(entries(tmp_path))
    assert record is not None
    assert (record.pending, record.failed) == ((11,), {})
    del world.wrong[Verb.START, 11]
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE


def test_journal_names_the_node_that_did_not_come_up_until_it_is_back(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.wrong[Verb.START, 11] = LIE
    roll(world, tmp_path, "4.4.0")
    assert progress_of(entries(tmp_path)).failed == {11: "4.4.0"}
    del world.wrong[Verb.START, 11]
    roll(world, tmp_path, "4.4.0", only=frozenset({11}))
    assert progress_of(entries(tmp_path)).failed == {}


def test_broker_that_hangs_under_the_new_binary_returns_to_the_old_one(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.bad_release = "4.4.0"
    found = roll(world, tmp_path, "4.4.0", only=frozenset({11}))
    assert found.outcome is Outcome.PARTIAL
    assert "node-not-back" in [finding.id for finding in found.findings]
    found = roll(world, tmp_path, "4.3.1", only=frozenset({11}))
    assert found.outcome is Outcome.DONE, found.findings
    assert runs(world)[11] == "4.3.1"
    assert world.stopped == [11, 11]


def test_node_that_is_down_is_brought_back_before_the_run_stops_for_another_failure(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    roll(world, tmp_path, "4.4.0", until=Until.CONTROLLERS)
    world.stopped.clear()

    def fail() -> None:
        if not world.stopped:
            world.then[world.observations + 1] = fail
            return
        world.crash(next(id for id in (11, 12, 13) if id != world.stopped[0]))

    world.then[world.observations + 1] = fail
    found = roll(world, tmp_path, "4.4.0")
    assert found.outcome is Outcome.PARTIAL
    assert len(world.stopped) == 1
    assert world.stopped[0] not in world.down
    assert "nobody-else-is-down" in [finding.id for finding in found.findings]
    assert [step.state for step in found.steps[:6]] == [*["skipped"] * 3, "done", "done", "done"]
    world.started.clear()
    assert roll(world, tmp_path, "4.4.0").outcome is Outcome.DONE
    assert world.harm == []


def test_node_outside_of_the_roll_that_fails_meanwhile_is_named(tmp_path: Path) -> None:
    world = FakeRoll(cluster())

    def fail() -> None:
        if not world.stopped:
            world.then[world.observations + 1] = fail
            return
        world.crash(13)

    world.then[world.observations + 1] = fail
    found = roll(world, tmp_path, only=frozenset({11}))
    assert (found.outcome, world.stopped, world.down) == (Outcome.PARTIAL, [11], {13})
    (failed,) = [finding for finding in found.findings if finding.id == "nobody-else-is-down"]
    assert failed.message == "broker 13 failed during the roll: it does not answer"


def test_node_that_hangs_meanwhile_is_not_to_be_started(tmp_path: Path) -> None:
    class SilentRoll(FakeRoll):
        def observe(self, refresh: frozenset[int] | None) -> RollObservation:
            seen = super().observe(refresh)
            text = "broker 13 does not answer"
            found = [warning("node-not-observed", "broker 13", text, reason="connection-timed-out")] * (13 in self.down)
            return changed(seen, findings=(*seen.findings, *found))

    world = SilentRoll(cluster())

    def fail() -> None:
        if not world.stopped:
            world.then[world.observations + 1] = fail
            return
        world.crash(13)

    world.then[world.observations + 1] = fail
    found = roll(world, tmp_path, only=frozenset({11}))
    (failed,) = [finding for finding in found.findings if finding.id == "nobody-else-is-down"]
    assert failed.advice.startswith("Find out why node 13 does not answer and refuses no connection")


def test_voters_are_started_before_anything_is_stopped_without_a_leader(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.crash(1, 2)
    found = roll(world, tmp_path, "4.4.0")
    assert world.started[:1] == [1]
    assert found.outcome is Outcome.DONE, found.findings
    assert world.harm == []


def test_broker_that_another_driver_stops_refuses_the_run(tmp_path: Path) -> None:
    world = FakeRoll(cluster())
    world.roll.registered[12]["stopping"] = True
    found = roll(world, tmp_path, "4.4.0")
    assert (found.outcome, found.findings[0].id) == (Outcome.REFUSED, "concurrent-roll")
    assert world.stopped == []


def test_warning_that_is_not_accepted_refuses_the_run(tmp_path: Path) -> None:
    world = FakeRoll(cluster().topic("single", [11]))
    found = roll(world, tmp_path, "4.4.0")
    assert (found.outcome, found.findings[-1].id) == (Outcome.REFUSED, "warnings-not-accepted")
    assert "--accept partition-stops-while-down" in str(found.findings[-1].next_step)
    assert world.stopped == []
    assert roll(world, tmp_path, "4.4.0", accepted=frozenset({"partition-stops-while-down"})).outcome is Outcome.DONE


def test_stored_setting_that_the_release_refuses_is_found_before_the_first_stop(tmp_path: Path) -> None:
    world = FakeRoll(Roll("3.9.2").topic("small", [11, 12, 13], segment_bytes="100000", min_insync_replicas="2"))
    found = roll(world, tmp_path, "4.3.1")
    assert found.outcome is Outcome.REFUSED
    assert "stored-setting-refused" in [finding.id for finding in found.findings]
    assert world.stopped == []
