"""`kafkactl migrate status`, `plan` and `rollback` on saved observations."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from kafkactl.commands.migrate.page import board_page
from kafkactl.commands.rendering import plain_text
from kafkactl.commands.rendering.page import Page
from kafkactl.core.frozen import changed
from kafkactl.migration.api.position import _Earlier, status
from kafkactl.migration.io.journal import open_migration_journal
from kafkactl.migration.observed.driver_lock import Holder, LockSeen
from tests.migration.saved_folder import save
from tests.migration.state.states_seen import HEALTHY, KR, MIG, ZK, Seen
from tests.migration.steps.test_rollback import WAYS
from tests.migration.steps.test_rollback_case import inventory
from tests.migration.zk_trees import CLUSTER_ID
from tests.sampling import one_in

HOSTILE_LINES = {
    "migrate rollback": ("{saved} --dry-run", "{hooks} --dry-run"),
    "migrate status": ("{saved}", "{hooks}", "{saved} --journal {config}"),
}

HOSTILE_PATHS = {
    "migrate status": [
        ("--journal", "--observation {observation} --journal {}"),
    ],
}

_M4, _M6, _M8 = (HEALTHY[name] for name in ("M4", "M6", "M8"))


@pytest.fixture
def migrate(kafkactl, tmp_path):
    def run(verb: str, seen: Seen, *words: str):
        folder = tmp_path / "seen"
        if not folder.exists():
            save(folder, seen.observation())
        return kafkactl("migrate", verb, "--observation", str(folder), *words)

    return run


@pytest.mark.parametrize("name", [name for name in HEALTHY if name != "M10"])
def test_saved_observation_is_in_the_state_that_it_shows(migrate, name: str) -> None:
    run = migrate("status", HEALTHY[name], "-o", "json")
    assert (run.json["kind"], run.json["state"], run.json["observed"]["state"]) == ("migrate.status", name, name)
    assert run.json["why"]
    assert (run.json["journal"], run.json["agrees"]) == (None, None)


def test_witnesses_stand_side_by_side(migrate) -> None:
    seen = migrate("status", _M4, "-o", "json").json["observed"]
    first, second = seen["brokers"][:2]
    assert first == {"id": 1, "alive": True, "mode": "migrating", "file": "migrating", "znode": True,
                     "registered": True, "migrating": True, "fenced": False, "tag": True, "observer": True}  # fmt: skip
    assert (second["mode"], second["registered"], second["tag"], second["observer"]) == ("zk", False, False, False)
    assert seen["controller"] == {"held_by": "zookeeper", "id": 1, "kraft_epoch": None, "ephemeral": True}
    assert seen["zk_migration_state"] == "PRE_MIGRATION"


def test_page_without_evidence_does_not_report_conditions_as_met(migrate) -> None:
    run = migrate("status", Seen(has_tree=False))
    assert run.code == 7
    assert "conditions" not in run.stdout.lower()
    assert "kafkactl explain not-enough-evidence" in run.stdout


_HOLDER = Holder(user="ann", host="ops1", pid=7, since_ms=1_700_000_000_000, journal="/j.jsonl", file="1:2")


@pytest.mark.parametrize(
    ("lock", "words"),
    [
        (LockSeen(holder=_HOLDER), "held by ann@ops1 (process 7) since 2023-11-14 22:13:20 UTC"),
        (LockSeen(holder=None), "free: no driver is at work"),
        (None, None),
    ],
)
def test_status_names_the_holder_of_the_drivers_lock(
    kafkactl, tmp_path, lock: LockSeen | None, words: str | None
) -> None:
    save(tmp_path / "seen", changed(_M4.observation(), lock=lock))
    asked = ("migrate", "status", "--observation", str(tmp_path / "seen"))
    found = kafkactl(*asked, "-o", "json").json["driver_lock"]
    if lock is None:
        assert found is None
        return
    assert found["holder"] == (None if lock.holder is None else lock.holder.to_dict())
    assert found["words"].startswith(words)
    assert words in kafkactl(*asked, "-o", "table").stdout


def test_gate_and_what_is_next(migrate) -> None:
    answer = migrate("status", _M4, "-o", "json").json
    assert ("broker-not-entered", "broker 2") in [(gate["id"], gate["subject"]) for gate in answer["gates"]]
    assert (answer["next_action"]["action"], answer["next_action"]["target"]) == ("put-config", "broker 2")


@pytest.mark.parametrize(
    ("seen", "state", "action"),
    [
        (_M4.but(migration=133), "stale-migration", "stop-controllers"),
        (_M6.but(controllers={3001: False}), "lost-quorum", "start-node"),
        (_M6.but(holder="zk"), "split-brain", "stop-controllers"),
        (_M6.but(controllers={3001: False}, holder="zk"), "incomplete-rollback", "delete-migration-znode"),
    ],
)
def test_broken_state_has_an_id_an_exit_code_and_a_next_action(migrate, seen: Seen, state: str, action: str) -> None:
    run = migrate("status", seen, "-o", "json")
    assert (run.code, run.json["state"], run.json["next_action"]["action"]) == (7, state, action)
    assert run.json["findings"][0]["id"] == state


def test_people_see_both_sides_and_what_comes_next(migrate, tmp_path: Path) -> None:
    _journal(tmp_path / "journal.jsonl", "M3")
    text = migrate("status", _M4, "--journal", str(tmp_path / "journal.jsonl")).stdout
    for word in (
        "M4: brokers are entering",
        "JOURNAL",
        "put-config broker 3",
        "Next, once no blocker is left: put-config broker 2",
        "PRE_MIGRATION",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (_M8.but(modes={1: KR, 2: KR, 3: None}), "Next, once no blocker is left: put-config controller 3001"),
        (_M6.but(modes={1: MIG, 2: MIG, 3: None}), "Next, once no blocker is left: put-config broker 3"),
    ],
)
def test_step_that_blockers_stop_is_not_shown_as_the_first_thing_to_do(migrate, seen: Seen, words: str) -> None:
    lines = migrate("status", seen).stdout.splitlines()
    assert [line for line in lines if line.startswith("Next")] == [words]


def _journal(path: Path, state: str, *, goal: str = "run") -> None:
    with open_migration_journal(str(path), cluster_id=CLUSTER_ID, identity={"zookeeper": "zk", "nodes": []}) as journal:
        journal.append("begin", {"goal": goal, "migration": {"zookeeper": "zk", "nodes": []}})
        journal.append("state", {"state": state})
        journal.append("intent", {"action": "put-config", "target": "broker 3"})


def test_journal_is_shown_next_to_what_was_observed(migrate, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _journal(path, "M3")
    answer = migrate("status", _M4, "--journal", str(path), "-o", "json").json
    assert answer["journal"] == {
        "file": str(path), "state": "M3", "goal": "run", "pending": "put-config broker 3", "outcome": None,
    }  # fmt: skip
    assert answer["agrees"] is False


def test_next_action_follows_the_journal_of_the_interrupted_run(migrate, tmp_path: Path) -> None:
    # An interrupted rollback says how to resume it, not how to migrate again.
    for goal, action in (("run", "put-config"), ("rollback", "stop-controllers")):
        path = tmp_path / f"{goal}.jsonl"
        _journal(path, "M4", goal=goal)
        answer = migrate("status", _M4, "--journal", str(path), "-o", "json").json
        assert answer["next_action"]["action"] == action


def test_broker_that_an_interrupted_rollback_stopped_is_started_before_the_controllers_are_stopped(
    migrate, tmp_path: Path
) -> None:
    path = tmp_path / "journal.jsonl"
    with open_migration_journal(str(path), cluster_id=CLUSTER_ID, identity={"zookeeper": "zk", "nodes": []}) as journal:
        journal.append("begin", {"goal": "rollback", "migration": {"zookeeper": "zk", "nodes": []}})
        journal.append("intent", {"action": "restart-node", "target": "broker 3"})
    seen = _M8.but(modes={1: MIG, 2: MIG, 3: None}, files={3: MIG}, registered={1: True, 2: True, 3: False})
    found = status(seen.observation(), inventory(), journal=str(path))
    assert found.next_step is not None
    assert (found.next_step.action, found.next_step.target) == ("restart-node", "broker 3")
    ids = {gate.id for gate in found.gates}
    assert "broker-down" in ids and "broker-not-on-kraft" not in ids  # which asks for the file of the way there


def test_broker_that_is_down_at_the_end_of_a_rollback_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    seen = HEALTHY["M2"].but(modes={1: ZK, 2: ZK, 3: None}, controllers={3001: False})
    for goal, is_problem in (("rollback", True), ("run", False)):
        _journal(path, "M6", goal=goal)
        found = status(seen.observation(), inventory(), journal=str(path))
        assert (found.state, found.has_problems) == ("M2", is_problem)
        path.unlink()


def test_rollback_that_stopped_the_controllers_does_not_ask_for_their_start(migrate, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    seen = _M6.but(controllers={3001: False}, log=None)
    for goal, is_asked in (("rollback", False), ("run", True)):
        _journal(path, "M6", goal=goal)
        found = status(seen.observation(), inventory(), journal=str(path))
        assert ("quorum-without-leader" in {gate.id for gate in found.gates}) is is_asked
        path.unlink()
    _journal(path, "M6", goal="rollback")
    text = migrate("status", seen, "--journal", str(path)).stdout
    assert "A rollback is under way" in text and "Start a majority of the controllers" not in text


def test_saved_observation_does_not_move(migrate) -> None:
    assert migrate("status", _M4, "--watch").code == 2


def test_observation_is_compared_with_one_ten_seconds_before_in_the_same_state() -> None:
    # Observations may be a second apart: then the previous one cannot confirm a gate that needs two.
    earlier = _Earlier()
    first = _M4.observation()

    def compared(after_s: int, state: str) -> int | None:
        now = changed(first, time_ms=first.time_ms + after_s * 1000)
        found = earlier.before(now, state)
        return None if found is None else (found.time_ms - first.time_ms) // 1000

    assert [compared(after, "M4") for after in range(10)] == [None, *[0] * 9]
    assert [compared(after, "M4") for after in (10, 11, 19, 20, 29, 30)] == [0, 0, 0, 10, 10, 20]
    assert [compared(after, "M4L") for after in (31, 32, 40, 41, 42)] == [30, 31, 31, 31, 31]


def test_board_begins_with_what_needs_the_operator(tmp_path: Path) -> None:
    _journal(tmp_path / "journal.jsonl", "M3")
    found = status(_M4.observation(), journal=str(tmp_path / "journal.jsonl"))
    page = Page()
    board_page(page, found)
    lines = plain_text.render(page, color=False).splitlines()
    clock = time.strftime("%H:%M:%S", time.localtime(found.observation.time_ms / 1000))
    assert lines[0].startswith("M4: brokers are entering")
    assert lines[1].startswith(clock)
    assert lines[2] == "the journal says M3; under way: put-config broker 3"
    assert lines[3] == ""  # what is next is under way already
    assert lines[4].startswith("✖ ")
    assert any(line.startswith("! broker 2: broker 2 has not entered the migration") for line in lines)
    assert all(len(line) < 150 for line in lines)
    table = next(at for at, line in enumerate(lines) if line.startswith("BROKER"))
    assert table > next(at for at, line in enumerate(lines) if line.startswith("CONTROLLER"))


def test_plan_goes_to_the_end_and_predicts_the_copy(migrate) -> None:
    run = migrate("plan", HEALTHY["M3"], "-o", "json")
    answer = run.json
    assert (run.code, answer["kind"], answer["outcome"]) == (0, "migrate.plan", "planned")
    assert answer["restarts"] == {"brokers": 6, "controllers": 1}
    assert answer["prediction"]["by_type"] == {"PartitionRecord": 1, "TopicRecord": 1, "ZkMigrationStateRecord": 1}
    assert [step["target"] for step in answer["steps"] if step["barrier"] == "last-broker"] == ["broker 1"] * 3


@pytest.mark.parametrize("version", ["3.4.1", "3.3.2"])
def test_release_whose_copy_is_not_known_has_a_plan_all_the_same(migrate, version: str) -> None:
    run = migrate("plan", HEALTHY["M3"].but(version=version), "-o", "json")
    assert run.json["prediction"]["outcome"] == "not-known"
    assert "migration-release-unknown" in [finding["id"] for finding in run.json["findings"]]


def test_behind_the_copy_nothing_is_predicted(migrate) -> None:
    assert migrate("plan", _M6, "-o", "json").json["prediction"] is None


def test_broken_state_has_no_forward_plan(migrate) -> None:
    run = migrate("plan", _M6.but(holder="zk"), "-o", "json")
    assert (run.code, run.json["outcome"], run.json["steps"]) == (3, "refused", [])


def test_plan_is_shown_as_text(migrate) -> None:
    text = migrate("plan", HEALTHY["M4L"]).stdout
    for word in ("planned: from M4L", "restart-node broker 3 (migration)", "done", "wait-copy", "no rollback"):
        assert word in text


@pytest.mark.parametrize("name", one_in(4, WAYS))
def test_every_rollback_is_the_same_from_a_saved_folder(migrate, name: str) -> None:
    seen, expected = WAYS[name]
    run = migrate("rollback", seen, "--dry-run", "-o", "json")
    answer = run.json
    assert (run.code, answer["kind"], answer["outcome"]) == (0, "migrate.rollback", "planned")
    pending = [step for step in answer["steps"] if step["state"] == "pending"]
    assert [
        step["action"] if step["node_id"] is None else f"{step['action']} {step['node_id']}" for step in pending
    ] == expected
    assert all(set(step) >= {"number", "action", "target", "gate", "state"} for step in answer["steps"])


@pytest.mark.parametrize(
    ("seen", "code", "outcome", "id"),
    [
        (HEALTHY["M0"], 0, "nothing-to-do", None),
        (HEALTHY["M11"], 3, "refused", "migration-finalized"),
        (_M8.but(meta_version={2: "1"}), 3, "refused", "broker-disk-of-kraft"),
        (_M6.but(end=900, migration_age_ms=300_000), 3, "refused", "zookeeper-behind-kraft"),
    ],
)
def test_rollback_reports_its_outcome_and_exit_code(
    migrate, seen: Seen, code: int, outcome: str, id: str | None
) -> None:
    run = migrate("rollback", seen, "--dry-run", "-o", "json")
    assert (run.code, run.json["outcome"]) == (code, outcome)
    assert id is None or run.json["findings"][0]["id"] == id


def test_loss_is_accepted_by_name_and_only_a_loss(migrate) -> None:
    seen = _M6.but(end=900, migration_age_ms=300_000)
    assert migrate("rollback", seen, "--dry-run", "--accept", "zookeeper-behind-kraft").code == 0
    assert migrate("rollback", seen, "--dry-run", "--accept", "migration-finalized").code == 2
    words = (
        "--accept",
        "automation-unknown",
        "--accept",
        "controller-down@controller-3001",
        "--accept",
        "zookeeper-behind-kraft",
    )
    of_run = migrate("rollback", seen, "--dry-run", *words)
    assert of_run.code == 0
    assert "automation-unknown is a word of `migrate run`" in of_run.stderr


def test_rollback_is_shown_as_text(migrate) -> None:
    text = migrate("rollback", _M6.but(modes={1: MIG, 2: MIG, 3: ZK}), "--dry-run").stdout
    for word in ("planned: from M6", "stop-controllers", "delete-controller-znode /controller", "no controller"):
        assert word in text


def test_sparse_observation_is_answered(migrate, tmp_path: Path) -> None:
    folder = save(tmp_path / "seen", _M6.observation())
    document = json.loads((folder / "observation.json").read_text())
    document["nodes"] = [{"id": node["id"], "role": node["role"]} for node in document["nodes"]]
    (folder / "observation.json").write_text(json.dumps(document))
    assert migrate("status", _M6, "-o", "json").json["state"] == "M6"
    assert migrate("rollback", _M6, "--dry-run", "-o", "json").json["outcome"] == "planned"


@pytest.mark.parametrize("words", [("plan",), ("rollback", "--dry-run")])
def test_findings_do_not_block_a_direction_that_is_open(migrate, tmp_path: Path, words: tuple[str, ...]) -> None:
    # A log with some damaged bytes is reported, and neither direction needs these bytes.
    folder = save(tmp_path / "seen", _M6.observation())
    (log,) = (folder / "metadata").rglob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 4] ^= 0xFF
    log.write_bytes(content)
    answer = migrate(words[0], _M6, *words[1:], "-o", "json").json
    assert answer["outcome"] == "planned"
    assert answer["findings"]
    assert "blocker" not in [finding["severity"] for finding in answer["findings"]]
