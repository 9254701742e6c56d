"""The two workers of the suite."""

from __future__ import annotations

import re

from tests.house.tree import ROOT
from tests.workers import share_of

_LIVE = re.compile(r"pytest\.mark\.lab\b")


def test_every_file_with_live_tests_is_the_live_workers():
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py") if _marked(path)]
    assert len(files) >= 3
    assert {share_of(f"{file}::test_it") for file in files} == {"live"}


def test_other_files_are_kept_together():
    assert share_of("tests/schema/test_build.py::TestIt::test_a[::]") == "tests/schema/test_build.py"


def _marked(path):
    return "tests/house" not in path.as_posix() and _LIVE.search(path.read_text(encoding="utf-8"))
