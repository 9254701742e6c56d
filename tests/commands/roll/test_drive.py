"""`kafkactl roll run` and `roll rollback` as commands: usage, dry runs, refusals, and their exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum
from tests.roll.rolls import Roll, save_roll

HOSTILE_LINES = {
    "roll run": ("--inventory {inventory} --dry-run", "--inventory {text}"),
    "roll rollback": ("--inventory {inventory} --to {text} --dry-run", "{saved} --to 4.3 --dry-run"),
    "roll observe": ("--inventory {inventory} --out {new}-roll", "--inventory {text} --out {new}-roll"),
}

HOSTILE_PATHS = {
    "roll observe": [
        ("--out", "--inventory {roll} --out {}", (1, 2, 3)),
    ],
}


def test_rollback_is_planned_from_a_saved_observation(kafkactl, tmp_path: Path) -> None:
    folder = save_roll(
        Roll("4.4.0", level=30).topic("orders", [11, 12, 13], min_insync_replicas="2"), tmp_path / "seen"
    )
    run = kafkactl("roll", "rollback", "--observation", str(folder), "--to", "4.3.1", "--dry-run", "-o", "json")
    assert run.code == 0, run.stderr
    assert (run.json["outcome"], run.json["way"], run.json["to"]) == ("planned", "downgrade", "4.3.1")
    stops = [node for step in run.json["steps"] if step["action"] == "stop" for node in step["nodes"]]
    assert sorted(stops[:3]) == [11, 12, 13]


def test_rollback_across_a_raised_level_is_refused(kafkactl, tmp_path: Path) -> None:
    folder = save_roll(Roll("4.4.0").topic("orders", [11, 12, 13], min_insync_replicas="2"), tmp_path / "seen")
    run = kafkactl("roll", "rollback", "--observation", str(folder), "--to", "4.3.1", "--dry-run", "-o", "json")
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert "level-above-supported" in [finding["id"] for finding in run.json["findings"]]
    assert run.json["way_back"]["how"] == "no"


def test_missing_options_are_usage_errors(kafkactl, tmp_path: Path) -> None:
    folder = save_roll(Roll("4.4.0"), tmp_path / "seen")
    assert kafkactl("roll", "rollback", "--observation", str(folder)).code == 2
    assert kafkactl("roll", "rollback", "--observation", str(folder), "--to", "4.3.1").code == 2
    assert kafkactl("roll", "run").code == 2


def test_run_that_is_not_confirmed_changes_nothing(kafkactl, tmp_path: Path) -> None:
    with FakeQuorum(controllers=3, voters=(1, 2, 3)) as quorum:
        lines = ["[hooks]\ntemplate = 'local'\nstop = ['false']\nstart = ['false']"]
        for node_id in quorum.nodes:
            (tmp_path / f"{node_id}.properties").write_text(f"node.id={node_id}\nprocess.roles=controller\n")
            address = quorum.address(node_id)
            lines.append(f"[[nodes]]\nid = {node_id}\nroles = ['controller']\ncontroller_address = '{address}'\n"
                         f"config = '{node_id}.properties'")  # fmt: skip
        (tmp_path / "roll.toml").write_text("\n".join(lines))
        run = kafkactl("roll", "run", "--inventory", str(tmp_path / "roll.toml"), "-o", "json", "--gate-interval", "1s")
        assert quorum.effects == []
    assert (run.code, run.json["outcome"]) == (3, "refused"), run.stderr
    journals = list((tmp_path / "journal").glob("roll-*.jsonl"))
    assert len(journals) == 1
    assert len(journals[0].read_text().splitlines()) == 1, "nothing but the header is written"


def test_soak_of_zero_is_the_default(kafkactl, tmp_path: Path) -> None:
    folder = save_roll(Roll("4.4.0", level=30), tmp_path / "seen")
    words = ("roll", "rollback", "--observation", str(folder), "--to", "4.3.1", "--dry-run", "-o", "json")
    assert kafkactl(*words, "--soak", "0s").json == kafkactl(*words).json
    assert kafkactl(*words, "--gate-interval", "0s").code == 2


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("default-chnged", "Did you mean 'default-changed'"),
        ("default-changed@eleven", "does not end in the id of a node"),
        ("default-changed@99", "--accept names 99"),
    ],
)
def test_word_that_accepts_nothing_is_a_usage_error(kafkactl, tmp_path: Path, word: str, message: str) -> None:
    folder = save_roll(Roll("4.4.0", level=30), tmp_path / "seen")
    run = kafkactl("roll", "check", "--observation", str(folder), "--accept", word)
    assert run.code == 2
    assert message in run.stderr
    assert kafkactl("roll", "check", "--observation", str(folder), "--accept", "default-changed@11").code == 0


def test_rollback_to_the_goal_of_the_upgrade_is_refused(kafkactl, tmp_path: Path) -> None:
    half = Roll("3.9.2").topic("orders", [11, 12, 13], min_insync_replicas="2").runs("4.3.1", 1, 2, 3)
    words = ("roll", "rollback", "--observation", str(save_roll(half, tmp_path / "seen")), "--dry-run", "-o", "json")
    run = kafkactl(*words, "--to", "4.3.1")
    assert (run.code, run.json["outcome"], run.json["findings"][0]["id"]) == (3, "refused", "rollback-to-newer-release")
    assert run.json["findings"][0]["next_step"].endswith("kafkactl roll rollback --inventory FILE --to 3.9.2 --dry-run")
    assert kafkactl(*words, "--to", "3.9.2").code == 0
