"""The runbook's commands are run, each on a saved observation of the phase under which the runbook lists it."""

from __future__ import annotations

import re
import shlex

import pytest

from kafkactl.migration.steps.table import State
from tests.migration.saved_folder import save
from tests.migration.state.states_seen import HEALTHY
from tests.repository.tree import ROOT

HOSTILE_LINES = {"migrate plan": ("{saved}", "{hooks}")}

_PAGE = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
_LOOKING = ("status", "check", "plan", "compare", "rollback")  # these take a saved observation in place of the cluster
_PHASES = {"1.": "M0", "3.": "M4L", "4.": "M6", "6.": "M8", "7.": "M11", "Rollback": "M7"}


def _commands() -> list[tuple[str, str]]:
    """Return the command lines of each section, with the state that it is about."""
    found = []
    for section in re.split(r"(?m)^## ", _PAGE)[1:]:
        state = _PHASES.get(section.split()[0], "M3")
        found += [(state, line) for line in re.findall(r"(?m)^    (kafkactl migrate .+)$", section)]
    return found


def _only_looks(line: str) -> bool:
    verb = line.split()[2]
    return verb in _LOOKING and "--watch" not in line and (verb != "rollback" or "--dry-run" in line)


COMMANDS = [(state, line) for state, line in _commands() if _only_looks(line)]  # the driver's have tests of their own


def test_runbook_has_commands_of_every_kind() -> None:
    assert {line.split()[2] for _, line in COMMANDS} == set(_LOOKING)


@pytest.mark.parametrize(("state", "line"), COMMANDS, ids=[f"{state}: {line}" for state, line in COMMANDS])
def test_command_of_the_runbook_answers(kafkactl, tmp_path, state: str, line: str) -> None:
    folder = save(tmp_path / "seen", HEALTHY[state].observation())
    words = shlex.split(line)[1:]
    for name in ("--inventory", "--observation"):
        if name in words:
            words[words.index(name) : words.index(name) + 2] = ["--observation", str(folder)]
    run = kafkactl(*words, "-o", "json")
    assert run.code in (0, 7), run.stderr
    assert run.json["kind"] == f"migrate.{words[1]}"


def test_every_state_and_every_broken_situation_is_in_the_runbook() -> None:
    for state in State:
        assert re.search(rf"(?m)^\| `?{state.value}`? \|", _PAGE), state
