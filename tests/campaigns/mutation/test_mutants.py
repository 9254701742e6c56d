"""A sample of the campaign: mutants that have to be caught, how mutants are made, and that the table is true."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.campaigns.mutation.again import caught, guarding
from tests.campaigns.mutation.campaign import Package, Runner, explained, packages
from tests.campaigns.mutation.mutants import ROOT, mutants_of, sample

SMALL = "kafkactl/cluster/quorum/majority.py"
# One quick test of it: a runner runs its tests on the code as it is before it takes orders.
MAJORITY = ["tests/quorum/test_majority.py::test_majority_is_the_fewest_that_outnumber_the_rest"]
# Faults in what protects a cluster: module, code, the fault in its place, and tests of which one has to fail.
PLANTED = [
    ("kafkactl/cluster/quorum/majority.py", "// 2 + 1", "// 2 - 1", MAJORITY[0]),
    ("kafkactl/quorum/guard.py", "is Progress.STUCK", "is not Progress.STUCK", "tests/quorum/test_guard.py"),
    ("kafkactl/storage/format/guard.py", "path in over", "path not in over", "tests/storage/format/test_guard.py"),
    ("kafkactl/change/journal.py", '"of"] == flight.seq', '"of"] != flight.seq', "tests/change/test_journal.py"),
    ("kafkactl/protocol/crc32c.py", "crc >> 1", "crc << 1", "tests/protocol/test_crc32c.py"),
    ("kafkactl/migration/state/evidence.py", "offset <= 0", "offset > 0", "tests/migration/steps/test_table.py"),
]  # fmt: skip


def package_of(*tests: str) -> Package:
    return Package("sample", "", (), tests, 0)


def fault(path: str, was: str, now: str) -> dict[str, object]:
    source = (ROOT / path).read_text(encoding="utf-8")
    assert was in source
    module = path.removesuffix(".py").replace("/", ".")
    return {"own": "", "module": module, "path": path, "source": source.replace(was, now)}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(package_of(*MAJORITY)) as runner:
        yield runner


@pytest.mark.parametrize(("path", "was", "now", "tests"), PLANTED, ids=[row[0] for row in PLANTED])
def test_fault_is_caught(runner: Runner, path: str, was: str, now: str, tests: str):
    answer = runner.ask(fault(path, was, now) | {"tests": [tests]})
    assert answer["code"] == 1
    assert answer["failed"].startswith(tests)


def test_tests_pass_without_a_fault(runner: Runner):
    # With a module from the order, too.
    path, was, _, _ = PLANTED[0]
    files = [row[-1] for row in PLANTED]
    answer = runner.ask(fault(path, was, was) | {"tests": files})
    assert (answer["code"], answer["failed"]) == (0, "")
    assert answer["tests"] > len(files)


def test_fault_in_a_function_is_tried_without_an_import(runner: Runner):
    source = (ROOT / SMALL).read_text(encoding="utf-8")
    answer = runner.ask_forked(SMALL, source.replace("// 2 + 1", "// 2 - 1"))
    assert (answer["code"], answer["failed"].partition("[")[0]) == (1, MAJORITY[0])
    for same in (source, f"{source}# a word\n", f"{source}SIZE = 3\n"):
        assert runner.ask_forked(SMALL, same)["code"] is None


def test_fault_outside_of_functions_is_caught_where_a_test_imports_a_benchmark():
    # The benchmarks import kafkactl: what runs the tests must not import them once for all mutants.
    tests = ("tests/metadata/log/test_keys.py", "tests/metadata/log/test_fuzz_log.py")
    order = fault("kafkactl/metadata/log/keys.py", '{"Owner": "principal"', '{"OWNER": "principal"')
    with Runner(package_of(*tests)) as runner:
        assert runner.ask(order | {"tests": tests})["failed"].startswith(tests[0])


def test_fault_that_ends_the_import_is_caught(runner: Runner):
    answer = runner.ask(fault(SMALL, "from __future__", "raise ValueError\nfrom __future__") | {"tests": MAJORITY})
    assert answer["code"] not in (0, None)


def test_loop_without_an_end_is_ended(runner: Runner):
    order = fault(SMALL, "    return size // 2 + 1", "    while True:\n        pass")
    assert runner.ask(order | {"tests": MAJORITY, "most_seconds": 1})["failed"] == "ended by a loop without an end"


def test_tests_that_fail_without_a_fault_measure_nothing():
    broken = package_of("tests/no_such_folder")
    with pytest.raises(AssertionError, match="fail without a mutant"), Runner(broken) as runner:
        runner.ask(fault(SMALL, "// 2 + 1", "// 2 - 1") | {"tests": MAJORITY})
    with pytest.raises(AssertionError, match="fail without a mutant"), Runner(broken) as runner:
        runner.ask_forked(SMALL, "")


def test_only_what_a_file_catches_gets_a_verdict_of_it():
    (off_by_one,) = [mutant for mutant in mutants_of(SMALL) if mutant.now == "size // 2 - 1"]
    (verdict,) = caught(package_of(*MAJORITY), [off_by_one], tuple(MAJORITY))
    assert (verdict.mutant, verdict.failed.partition("[")[0]) == (off_by_one.id, MAJORITY[0])
    assert list(caught(package_of(*MAJORITY), [off_by_one], ("tests/protocol/test_crc32c.py",))) == []


def test_mutants_of_a_module_are_made():
    mutants = mutants_of(SMALL)
    assert len({mutant.id for mutant in mutants}) == len(mutants)
    (off_by_one,) = [mutant for mutant in mutants if mutant.now == "size // 2 - 1"]
    assert off_by_one.operator == "swap_op"
    assert off_by_one.source == (ROOT / SMALL).read_text(encoding="utf-8").replace("// 2 + 1", "// 2 - 1")


def test_words_are_changed_and_sentences_are_not():
    changed = {mutant.was for mutant in mutants_of("kafkactl/quorum/health.py") if mutant.operator == "string"}
    assert changed
    assert not [text for text in changed if " " in text.partition(" in ")[0]]


def test_files_are_run_for_the_package_that_they_guard():
    package = package_of("tests/quorum/test_majority.py", "tests/change")
    given = ["tests/quorum/test_majority.py", "tests/quorum/test_voters.py", "tests/change/test_journal.py"]
    assert guarding(package, given) == ("tests/quorum/test_majority.py", "tests/change/test_journal.py")


def test_larger_sample_holds_the_smaller():
    few, more = sample(SMALL, 4), sample(SMALL, 9)
    assert more[:4] == few
    assert len({mutant.operator for mutant in few}) == 4


def test_table_is_true():
    for package in packages():
        assert package.modules
        assert package.tests
        assert all((ROOT / path).exists() for path in package.tests)
    modules = [path for package in packages() for path in package.modules]
    assert len(set(modules)) == len(modules)


def test_explained_mutants_are_of_the_table():
    modules = {path for package in packages() for path in package.modules}
    for row in explained().values():
        assert row["mutant"].partition(":")[0] in modules
        assert row["why"].endswith(".")
