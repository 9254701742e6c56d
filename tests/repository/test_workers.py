"""The two workers of the suite."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from tests.repository.tree import ROOT
from tests.workers import WITHOUT_NODES, pytest_xdist_make_scheduler, share_of

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


class Worker:
    """One of pytest-xdist's, as its schedulers see it."""

    gateway = SimpleNamespace(id="gw0")
    shutting_down = False

    def __init__(self) -> None:
        self.given: list[int] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.given.extend(places)


def test_live_tests_begin_first_though_other_files_have_more():
    many = [f"tests/schema/test_build.py::test_it[{number}]" for number in range(9)]
    live = [f"tests/lab/quorum/test_{name}.py::test_it" for name in ("changes", "killed", "nodes")]
    others = [f"tests/tiered/test_{name}.py::test_it[{number}]" for name in ("plain", "logs") for number in range(4)]
    tests = [*many, *others, *live]
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=True), getvalue=lambda name: ["2*popen"])
    scheduler = pytest_xdist_make_scheduler(config, SimpleNamespace(loadscopesched=lambda *said: None))
    workers = [Worker(), Worker()]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    assert [[tests[place] for place in worker.given] for worker in workers] == [live, many]
