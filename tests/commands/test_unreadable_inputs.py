"""A file that is there and that this user may not read: the advice is how to read it, not how the command is used."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from kafkactl.files import input_files
from tests.commands.test_path_options import takes_a_path, text_parameters

INVENTORY = """
cluster_id = "new"
kafka_version = "3.9"
[[nodes]]
id = 1
host = "h"
config = "{}"
"""
LINES = (
    "simulate --script {}",
    "quorum apply {} --bootstrap-controller localhost:1",
    "features apply {} --bootstrap-controller localhost:1",
    "storage verify -c {}",
    "log verify {}",
    "log dump {}",
)


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that may not be opened, for root neither."""
    path, opened = tmp_path / "secret.checkpoint", os.open
    path.touch(mode=0o000)

    def refuse(file, *arguments, **named):
        if os.fspath(file) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(file, *arguments, **named)

    monkeypatch.setattr(input_files.os, "open", refuse)
    monkeypatch.setattr(os, "access", lambda file, *_, **__: os.fspath(file) != str(path))
    return path


@pytest.mark.parametrize("line", LINES)
def test_unreadable_file_is_refused(kafkactl, secret: Path, line: str) -> None:
    run = kafkactl(*line.format(secret).split(), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "input-file-unreadable")
    assert "Permission denied" in run.error["message"]
    assert run.error["next_step"] == "Run the command as a user who may read it: its owner, or root."


def test_unreadable_configuration_of_an_inventory_is_a_blocker(kafkactl, secret: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(INVENTORY.format(secret))
    run = kafkactl("storage", "plan", str(tmp_path / "fleet.toml"), "--dry-run", "-o", "json")
    (finding,) = run.json["findings"]
    assert (run.code, finding["id"]) == (3, "input-file-unreadable")
    assert finding["next_step"] == "Run the command as a user who may read it: its owner, or root."
    (tmp_path / "fleet.toml").write_text(INVENTORY.format(tmp_path / "missing"))
    run = kafkactl("storage", "plan", str(tmp_path / "fleet.toml"), "--dry-run", "-o", "json")
    assert run.json["findings"][0]["next_step"] == "Correct config (or root) in the inventory."


def test_paths_are_checked_by_the_command_and_not_by_click() -> None:
    # Click would say that it is not readable, and refer to --help.
    paths = [(name, parameter) for name, parameter in text_parameters() if takes_a_path(parameter)]
    assert len(paths) > 50
    refused = [name for name, parameter in paths if isinstance(parameter.type, click.Path) and parameter.type.readable]
    assert refused == []
