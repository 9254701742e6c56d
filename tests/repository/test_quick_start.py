"""Pages that are run as a reader would run them, without a cluster or against a played one."""

from __future__ import annotations

import shutil

import pytest

from tests.fakes.quorum import FakeQuorum
from tests.repository.console_pages import check_page
from tests.repository.tree import ROOT

DOCS = ROOT / "docs"


@pytest.mark.slow
def test_the_quick_start_prints_what_it_says(tmp_path):
    check_page(DOCS / "quick-start.md", tmp_path, at_least=8)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed (Debian: apt-get install man-db)")
def test_the_page_on_man_pages(tmp_path):
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "man1").symlink_to(DOCS / "man")
    check_page(DOCS / "man-pages.md", tmp_path, environment={"MANPATH": str(tmp_path / "man"), "MANPAGER": "cat"})


@pytest.mark.slow
def test_the_page_on_completion(tmp_path):
    check_page(DOCS / "completion.md", tmp_path)


@pytest.mark.slow
def test_the_page_on_plan_files(tmp_path):
    with FakeQuorum(controllers=4, voters=(1, 2, 3)) as quorum:
        servers = ",".join(map(str, quorum.addresses))
        check_page(DOCS / "plan-files.md", tmp_path, environment={"KAFKACTL_BOOTSTRAP_CONTROLLER": servers})
    assert quorum.effects == [
        ("UpdateFeatures", (("metadata.version", 27),)),
        ("add", 4),
        ("remove", 3),
        ("UpdateFeatures", (("transaction.version", 1),)),
    ]
