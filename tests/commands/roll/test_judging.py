"""`roll check`, `plan` and `status` on saved observations: answers, pages and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.roll.rolls import Roll, save_roll

HOSTILE_LINES = {
    "roll check": ("--observation {roll-seen} --to 4.3.1", "--inventory {inventory}"),
    "roll plan": ("--observation {roll-seen} --to 4.3.1", "--inventory {text} --out {new}-plan"),
    "roll status": ("--observation {roll-seen}", "--inventory {text} --to {text}"),
}

HOSTILE_PATHS = {
    "roll plan": [
        ("--out", "--observation {roll-seen} --out {}", (1, 2, 3)),
    ],
}

Kafkactl = Callable[..., Run]


def upgrade(place: Path, *, is_whole: bool = True) -> Path:
    roll = Roll("3.9.2").topic("orders", [11, 12, 13], [12, 13, 11]).runs("4.3.1", 1, 2, 3)
    return save_roll(roll if is_whole else roll.kill(12), place / "seen")


def answer(run: Run) -> dict[str, object]:
    return json.loads(run.stdout)


def test_check_of_a_whole_cluster_ends_with_0(kafkactl: Kafkactl, tmp_path: Path) -> None:
    run = kafkactl("roll", "check", "--observation", upgrade(tmp_path), "--to", "4.3.1", "-o", "json")
    found = answer(run)
    assert (run.code, found["way"], found["to"]) == (0, "upgrade", "4.3.1")
    assert found["from"] == {"1": "4.3.1", "2": "4.3.1", "3": "4.3.1", "11": "3.9.2", "12": "3.9.2", "13": "3.9.2"}
    assert [node["will_start"] for node in found["nodes"]] == [True] * 6
    assert found["way_back"]["how"] == "binaries"


def test_check_with_a_blocker_ends_with_7(kafkactl: Kafkactl, tmp_path: Path) -> None:
    for words in (("--to", "4.3.1"), ()):
        run = kafkactl("roll", "check", "--observation", upgrade(tmp_path / f"{len(words)}", is_whole=False), *words)
        assert (run.code, "broker 12 does not answer and is fenced" in run.stdout) == (7, True)


def test_plan_has_every_step_with_its_gates(kafkactl: Kafkactl, tmp_path: Path) -> None:
    run = kafkactl("roll", "plan", "--observation", upgrade(tmp_path), "--to", "4.3.1", "-o", "json")
    found = answer(run)
    assert run.code == 0
    assert found["order"]["controllers"] == []
    stop = next(step for step in found["steps"] if step["action"] == "stop")
    assert [gate["passed"] for gate in stop["gate_before"]] == [True] * 5
    assert stop["predicted"]["majority"] is True
    assert (stop["way_back"], stop["release"]) == ("yes", None)


def test_plan_file_is_written_once_and_only_if_nothing_blocks(kafkactl: Kafkactl, tmp_path: Path) -> None:
    out = tmp_path / "roll.json"
    words = ("roll", "plan", "--observation", upgrade(tmp_path), "--to", "4.3.1", "--out", out)
    assert kafkactl(*words).code == 0
    written = json.loads(out.read_text())
    assert (written["kind"], written["to"], len(written["plan_sha256"])) == ("roll.plan", "4.3.1", 64)
    assert kafkactl(*words).code == 3
    blocked = upgrade(tmp_path / "blocked", is_whole=False)
    run = kafkactl("roll", "plan", "--observation", blocked, "--to", "4.3.1", "--out", tmp_path / "none")
    assert (run.code, (tmp_path / "none").exists()) == (7, False)


def test_status_names_the_next_command_and_ends_with_7_if_a_node_is_not_back(
    kafkactl: Kafkactl, tmp_path: Path
) -> None:
    run = kafkactl("roll", "status", "--observation", upgrade(tmp_path), "--to", "4.3.1")
    assert (run.code, "Phase of the roll to 4.3.1: brokers" in run.stdout) == (0, True)
    assert "Next: Continue with node" in run.stdout
    broken = upgrade(tmp_path / "broken", is_whole=False)
    run = kafkactl("roll", "status", "--observation", broken, "--to", "4.3.1", "-o", "json")
    found = answer(run)
    assert (run.code, found["phase"], found["next_action"][:13]) == (7, "brokers", "Start node 12")


def test_rendered_file_is_judged_instead_of_the_observed_one(kafkactl: Kafkactl, tmp_path: Path) -> None:
    seen, rendered = upgrade(tmp_path), tmp_path / "rendered"
    rendered.mkdir()
    (rendered / "11.properties").write_text("process.roles=broker\nnode.id=11\nnum.replica.fetchers=0\n")
    run = kafkactl("roll", "check", "--observation", seen, "--to", "4.3.1", "--rendered", rendered, "-o", "json")
    refused = [finding for finding in answer(run)["findings"] if finding["id"] == "setting-refused"]
    assert run.code == 7
    assert {finding["evidence"]["node"] for finding in refused} == {11}
    (rendered / "notes.txt").touch()
    run = kafkactl("roll", "check", "--observation", seen, "--rendered", rendered)
    assert (run.code, "notes.txt" in run.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--observation", "{seen}", "--inventory", "roll.toml"),
        ("--observation", "{seen}", "--to", "5.0"),
        ("--observation", "{seen}", "--only", "99"),
        ("--observation", "{seen}", "--order", "1,11"),
        ("--observation", "{seen}", "--batch", "0"),
        ("--observation", "{seen}", "--skip", "x"),
        ("--observation", "{seen}/none"),
    ],
)
def test_wrong_usage_ends_with_2(kafkactl: Kafkactl, tmp_path: Path, words: tuple[str, ...]) -> None:
    seen = upgrade(tmp_path)
    assert kafkactl("roll", "plan", *(word.format(seen=seen) for word in words)).code == 2


def test_page_of_a_status_gives_the_reasons_with_their_nodes(kafkactl, tmp_path: Path) -> None:
    folder = save_roll(Roll("3.9.2").topic("orders", [11, 12, 13]).kill(12), tmp_path / "seen")
    lines = kafkactl("roll", "status", "--observation", str(folder), "--to", "4.3.1").stdout.splitlines()
    assert "nodes 1, 2, 3, 11, 13: broker 12 does not answer and is fenced" in lines
    assert "node 11: broker 12 does not answer, and shares partitions with node 11" in lines
