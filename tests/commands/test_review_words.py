"""Words of a security review (docs/proof/security.md) that no other test says: numbers, names, misleading files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kafkactl.commands.framework.leaf import LeafCommand
from scripts import make_reference
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.metadata.goldens import golden
from tests.samples.hostile_inputs import resealed
from tests.storage.fleet.fleets import FleetBuilder

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ("9" * 20, "9" * 5_000, "-" + "9" * 20, "1e400", "nan", "0x" + "f" * 40)
FREE_TEXT = (click.STRING, click.Path, click.File)
NUMERIC = [
    (ctx.command_path.split()[1:], option)
    for ctx, command in make_reference.every_command()
    if isinstance(command, LeafCommand)
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and not isinstance(option.type, FREE_TEXT[1:])
]


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:8])
def test_no_option_takes_a_number_for_a_defect(kafkactl, number: str):
    # Every option that does not take a path, of every command: a wrong value, or a missing option, is reported.
    #
    # It stands last, for of two values of an option the last one counts, and commands that need none would run. Too
    # many digits are a case of their own for each reader of texts; further numbers are read by one option of each type.
    of_types = {f"{type(option.type)} {option.type}": (words, option) for words, option in NUMERIC}
    assert len(NUMERIC) > 100 and len(of_types) > 5
    for words, option in NUMERIC if number in NUMBERS[:2] else of_types.values():
        run = kafkactl(*words, "--timeout", "20s", "-o", "json", f"{option.opts[0]}={number}")
        assert run.code == 2, (words, option, run.stdout)
        assert "internal-error" not in run.stdout + run.stderr, (words, option, run.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "../../../../etc/passwd"),
        ("explain", "/etc/passwd"),
        ("schema", "os"),
        ("schema", "a;import os"),
        ("schema", "../metadata/AccessControlEntryRecord"),
        ("completion", "bash;id"),
        ("completion", "../bash"),
    ],
)
def test_names_lead_to_no_file_and_no_code(kafkactl, words: tuple[str, str]):
    run = kafkactl(*words, "-o", "json")
    assert (run.code, run.error["kind"]) == (2, "error")
    assert "root:" not in run.stdout + run.stderr


def test_plan_for_another_file_shows_nothing_of_its_content(kafkactl, tmp_path: Path):
    made = FleetOnDisk(tmp_path, FleetBuilder())
    kafkactl("storage", "plan", made.inventory, "--out", made.plan)
    secret = tmp_path / "shadow"
    secret.write_text("root:$6$hunter2:19000:0:99999:7:::\nkafka:!:19000::::::\n")
    text = made.plan.read_bytes().replace(str(made.config(1)).encode(), str(secret).encode())
    assert str(secret).encode() in text
    made.plan.write_bytes(resealed(text))
    run = kafkactl("storage", "apply", made.plan, "--node", 1, "--yes", "-o", "json")
    assert run.code in (2, 3)
    assert "$6$" not in run.stdout + run.stderr
    assert made.tree() == {}


def test_damage_is_found_without_assertions_of_python(tmp_path: Path):
    # PYTHONOPTIMIZE=2 takes assertions away: none of them may be what keeps damage out.
    log = tmp_path / "00000000000000000000.log"
    good = golden("segment-4.4.0-standalone.log.bin")
    answers = []
    for damaged in (False, True):
        log.write_bytes(good[:90] + b"\xff" * 20 + good[110:] if damaged else good)
        for level in ("0", "2"):
            run = subprocess.run(
                [sys.executable, "-m", "kafkactl", "log", "verify", str(log), "-o", "json"],
                capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | {"PYTHONOPTIMIZE": level},
            )  # fmt: skip
            answers.append((run.returncode, run.stdout))
    assert answers[0] == answers[1] and answers[2] == answers[3]
    assert answers[0][0] != answers[2][0]
