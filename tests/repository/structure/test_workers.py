"""The workers of the suite collect the same tests, and each has its share."""

from __future__ import annotations

import ast
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.repository.tree import ROOT, nodes, python_files, text_of
from tests.sampling import one_in
from tests.workers import (
    DIVIDED,
    LONG,
    OTHERS,
    QUORUMS,
    WITHOUT_NODES,
    is_divided,
    pytest_xdist_make_scheduler,
    share_of,
)

_NODES = re.compile(r"\b(KafkaNode|new_cluster|lab\.cluster|ZooKeeperServer|migration_cluster)\b")
_UNSHARED = re.compile(r"tests/(repository|campaigns)/")  # the second is never part of `make test`


def test_every_file_with_live_nodes_is_in_a_live_share():
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if not _UNSHARED.search(path.as_posix())]
    files = [path.relative_to(ROOT).as_posix() for path in tests if _NODES.search(path.read_text(encoding="utf-8"))]
    assert len(files) >= 25
    shares = {share_of(f"{file}::test_it") for file in files}
    assert {share for share in shares if not is_divided(share)} == {QUORUMS, OTHERS}


def test_divided_files_share_no_cluster():
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/lab").rglob("test_*.py")]
    divided = list(filter(is_divided, files))
    assert len(divided) > 25
    assert {part for part in DIVIDED if not any(file.startswith(part) for file in divided)} == set()
    assert [file for file in divided if "cluster_of" in (ROOT / file).read_text(encoding="utf-8")] == []


def test_no_file_that_starts_nodes_is_among_those_without():
    for file in WITHOUT_NODES:
        assert not _NODES.search((ROOT / file).read_text(encoding="utf-8")), file
        assert share_of(f"{file}::test_it") == file


def test_tests_that_parse_the_tree_are_kept_together():
    files = ("structure/test_sizes.py", "language/test_names.py")
    assert len({share_of(f"tests/repository/{file}::test_it") for file in files}) == 1


def test_tests_that_share_the_jvm_of_spark_are_kept_together():
    files = [path.name for path in (ROOT / "tests/spark").glob("test_*.py")]
    assert len(files) > 9 and {share_of(f"tests/spark/{file}::test_it") for file in files} == {LONG[0]}


def test_other_files_are_kept_together():
    assert share_of("tests/protocol/schema/test_build.py::TestIt::test_a[::]") == "tests/protocol/schema/test_build.py"


class Worker:
    """Worker of pytest-xdist, as its schedulers see it."""

    gateway = SimpleNamespace(id="gw0")
    shutting_down = False

    def __init__(self) -> None:
        self.given: list[int] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.given.extend(places)

    def shutdown(self) -> None:
        """Ignore the end."""


def scheduled(tests: list[str]) -> tuple[Any, list[Worker]]:
    """Return the scheduler and three workers with what each begins with."""
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=True), getvalue=lambda name: ["3*popen"])
    scheduler = pytest_xdist_make_scheduler(config, SimpleNamespace(loadscopesched=lambda *said: None))
    workers = [Worker(), Worker(), Worker()]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    return scheduler, workers


MANY = [f"tests/protocol/schema/test_build.py::test_it[{number}]" for number in range(9)]
LIVE = [f"tests/lab/quorum/test_{name}.py::test_it" for name in ("changes", "killed", "nodes")]
PATIENT = [
    f"tests/lab/{name}.py::test_it"
    for name in ("migration/test_driver", "storage/test_lost_disk", "tiered/test_reality")
]
FILES = [f"tests/bundle/test_{name}.py::test_it[{number}]" for name in ("parts", "members") for number in range(4)]
BOOTS = [f"tests/lab/storage/test_boot.py::test_it[{number}]" for number in range(12)]


def test_live_shares_begin_first_though_other_files_have_more_tests():
    tests = [*MANY, *FILES, *BOOTS, *PATIENT, *LIVE]
    _, workers = scheduled(tests)
    assert [[tests[place] for place in worker.given] for worker in workers] == [LIVE, PATIENT, MANY]


def test_files_of_few_and_long_tests_follow_the_live_ones():
    long = [f"{file}test_tables.py::test_it" if file.endswith("/") else f"{file}::test_it" for file in LONG]
    tests = [*MANY, *FILES, *BOOTS, *long, *PATIENT, *LIVE]
    scheduler, workers = scheduled(tests)
    for test in long:
        scheduler.mark_test_complete(workers[2], tests.index(test))
    given = [tests[place] for place in workers[2].given]
    assert all((ROOT / file).exists() for file in LONG)
    assert given[: len(long)] == long
    assert [[tests[place] for place in worker.given] for worker in workers[:2]] == [LIVE, PATIENT]


def test_divided_files_follow_the_live_tests_and_are_the_last_of_others():
    tests = [*MANY, *FILES, *BOOTS, *PATIENT, *LIVE]
    scheduler, workers = scheduled(tests)
    for test in LIVE:
        scheduler.mark_test_complete(workers[0], tests.index(test))
    assert [tests[place] for place in workers[0].given] == [*LIVE, *BOOTS]

    scheduler, workers = scheduled(tests)
    for test in (*MANY, *FILES):
        scheduler.mark_test_complete(workers[2], tests.index(test))
    assert [tests[place] for place in workers[2].given] == [*MANY, *FILES, *BOOTS]


def test_divided_files_follow_the_first_live_share_that_ends_and_the_longest_begins():
    roll, disks = ([f"tests/lab/{name}.py::test_it"] for name in ("roll/test_roll", "quorum/disks/test_remedies"))
    tests = [*MANY, *FILES, *BOOTS, *disks, *roll, *PATIENT, *LIVE]
    scheduler, workers = scheduled(tests)
    for test in (*PATIENT, *roll, *disks):
        scheduler.mark_test_complete(workers[1], tests.index(test))
    assert [tests[place] for place in workers[1].given] == [*PATIENT, *roll, *disks, *BOOTS]

    scheduler, workers = scheduled(tests)
    for test in (*MANY, *FILES, *roll, *disks):
        scheduler.mark_test_complete(workers[2], tests.index(test))
    assert [tests[place] for place in workers[2].given] == [*MANY, *FILES, *roll, *disks, *BOOTS]


def test_worker_has_one_file_at_most_after_the_test_that_it_runs():
    rolls = [f"tests/lab/roll/test_{name}.py::test_it" for name in ("batches", "files", "judging", "roll", "stopping")]
    tests = [*MANY, *PATIENT, *LIVE, *rolls]
    scheduler, workers = scheduled(tests)
    assert len(workers[0].given) == len(LIVE)
    for ended in range(len(LIVE) + 3):
        scheduler.mark_test_complete(workers[0], workers[0].given[ended])
        waiting = len(workers[0].given) - ended - 2  # without those that ended, and the one that runs
        assert waiting == max(1, len(LIVE) - ended - 2)


def test_no_case_of_a_test_has_the_time_at_which_it_was_made():
    # gzip writes the second into its header before Python 3.14, and workers that name cases differently run none.
    calls = [
        (path.name, call)
        for path in python_files("tests")
        if "gzip.compress" in text_of(path)
        for function in nodes(path, ast.FunctionDef)
        for decorator in function.decorator_list
        for call in ast.walk(decorator)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "gzip.compress"
    ]
    assert calls
    assert not [name for name, call in calls if "mtime" not in {keyword.arg for keyword in call.keywords}]


def test_sample_leaves_the_others_to_make_test_or_make_lab():
    named = pytest.param(7, id="seven")
    assert one_in(3, [1, 2, (3, 4), 5]) == [
        1, pytest.param(2, marks=pytest.mark.many), pytest.param(3, 4, marks=pytest.mark.many), 5,
    ]  # fmt: skip
    assert one_in(2, [1, named], pytest.mark.campaign) == [1, pytest.param(7, id="seven", marks=pytest.mark.campaign)]
