from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOSTILE_LINES = {"completion": ("{text}", "bash")}

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("shell", "registers"),
    [
        ("bash", "complete -o nosort -F _kafkactl_completion kafkactl"),
        ("zsh", "#compdef kafkactl"),
        ("fish", "complete --no-files --command kafkactl"),
    ],
)
def test_command_is_registered_by_the_script(kafkactl, shell, registers):
    run = kafkactl("completion", shell)
    assert run.code == 0
    assert registers in run.stdout
    assert kafkactl("completion", shell, "-o", "json").json["script"] == run.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("kafkactl sto", {"storage"}),
        ("kafkactl storage version", {"version-mapping"}),
        ("kafkactl completion ", {"bash", "zsh", "fish"}),
        ("kafkactl explain unknown-", {"unknown-command", "unknown-id", "unknown-kind", "unknown-option"}),
        ("kafkactl schema explain", {"explain", "explain.list"}),
        ("kafkactl explain --li", {"--list"}),
    ],
)
def test_words_are_completed(words, found):
    script = "import sys; sys.argv = ['kafkactl']; from kafkactl.__main__ import run; run()"
    environment = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_KAFKACTL_COMPLETE": "bash_complete",
    }
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )
    assert run.stderr == ""
    assert found <= {line.partition(",")[2] for line in run.stdout.splitlines()}


def test_negative_number_is_offered_to_no_shell():
    # It would be read as an option.
    from kafkactl.cluster.api.completion import node_words

    assert node_words({"brokers": [-1, 4], "controllers": [-7]}, "brokers", "controllers") == [("4", "broker")]
