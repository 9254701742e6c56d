"""Pages that are run as a reader would run them, without a cluster or against a simulated one."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum
from tests.repository.docs.console_pages import check_page
from tests.repository.tree import ROOT

DOCS = ROOT / "docs"


@pytest.mark.slow
def test_quick_start_prints_what_it_says(tmp_path):
    check_page(DOCS / "quick-start.md", tmp_path, at_least=15)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed (Debian: apt-get install man-db)")
def test_page_on_man_pages_is_true(tmp_path):
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "man1").symlink_to(DOCS / "man")
    check_page(DOCS / "man-pages.md", tmp_path, environment={"MANPATH": str(tmp_path / "man"), "MANPAGER": "cat"})


@pytest.mark.slow
@pytest.mark.skipif(
    int(version("setuptools").partition(".")[0]) < 77, reason="needs setuptools 77: pip install 'setuptools>=77'"
)
def test_page_on_plugins_is_true(tmp_path):
    shutil.copytree(DOCS / "plugins-example", tmp_path / "example")  # what a build leaves stays out of the tree
    names = {"PLUGINS": tmp_path / "plugins", "PROGRAMS": tmp_path / "bin", "EXAMPLE": tmp_path / "example"}
    environment = {name: str(path) for name, path in names.items()}
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    check_page(DOCS / "plugins.md", tmp_path, environment=environment, at_least=4)


@pytest.mark.slow
def test_page_on_completion_is_true(tmp_path):
    check_page(DOCS / "completion.md", tmp_path)


@pytest.mark.slow
def test_page_on_the_playground_is_true(tmp_path):
    check_page(DOCS / "demo.md", tmp_path)


@pytest.mark.slow
def test_page_on_plan_files_is_true(tmp_path):
    with FakeQuorum(controllers=4, voters=(1, 2, 3)) as quorum:
        servers = ",".join(map(str, quorum.addresses))
        check_page(DOCS / "plan-files.md", tmp_path, environment={"KAFKACTL_BOOTSTRAP_CONTROLLER": servers})
    assert quorum.effects == [
        ("UpdateFeatures", (("metadata.version", 27),)),
        ("add", 4),
        ("remove", 3),
        ("UpdateFeatures", (("transaction.version", 1),)),
    ]
