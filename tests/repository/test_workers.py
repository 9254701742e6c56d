"""The two workers of the suite."""

from __future__ import annotations

import re

from tests.repository.tree import ROOT
from tests.workers import WITHOUT_NODES, share_of

_NODES = re.compile(r"\b(KafkaNode|new_cluster|lab\.cluster|ZooKeeperServer|migration_cluster)\b")


def test_every_file_with_live_nodes_is_the_live_workers():
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if "tests/repository" not in path.as_posix()]
    files = [path.relative_to(ROOT).as_posix() for path in tests if _NODES.search(path.read_text(encoding="utf-8"))]
    assert len(files) >= 25
    assert {share_of(f"{file}::test_it") for file in files} == {"live"}


def test_no_file_that_starts_nodes_is_among_those_without():
    for file in WITHOUT_NODES:
        assert not _NODES.search((ROOT / file).read_text(encoding="utf-8")), file
        assert share_of(f"{file}::test_it") == file


def test_tests_that_parse_the_tree_are_kept_together():
    assert len({share_of(f"tests/repository/{file}::test_it") for file in ("test_sizes.py", "test_names.py")}) == 1


def test_other_files_are_kept_together():
    assert share_of("tests/schema/test_build.py::TestIt::test_a[::]") == "tests/schema/test_build.py"
