"""`--accept` of a word that accepts nothing is a usage error of every command that takes it."""

from __future__ import annotations

import pytest

from tests.commands.migrate.test_drive import migrate  # noqa: F401  # a fixture
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.run_context import at_phase

MISSPELT = [
    ("automation-unknwon", "automation-unknown"),
    ("C-99", "There is no finding 'C-99'"),
    ("C-30z", "There is no finding 'C-30z'"),
    ("controler-down", "controller-down"),
    ("X-SEEN", "several findings"),
    ("broker-down@brokr-2", "broker-2"),
    ("C-33@broker-9", "broker-1"),
    ("controller-down@broker-3001", "controller-3001"),
    ("release-with-migration-bugs@broker-1,-broker-9", "broker-9"),
]


@pytest.mark.parametrize(("word", "near"), MISSPELT)
@pytest.mark.parametrize("verb", ["run", "finalize"])
def test_word_that_accepts_nothing_is_refused(migrate, verb: str, word: str, near: str) -> None:  # noqa: F811
    cluster = FakeCluster() if verb == "run" else at_phase("M8")
    for more in (("--yes",) if verb == "run" else ("--confirm", "x"), ("--dry-run",)):
        run = migrate(cluster, verb, *more, "--accept", word, output="table")
        assert (run.code, near in run.stderr, cluster.harm) == (2, True, []), run.stderr
    assert not any(controller.formatted for controller in cluster.controllers) or verb == "finalize"


@pytest.mark.parametrize(("word", "near"), MISSPELT)
def test_check_names_the_nearest_words(migrate, word: str, near: str) -> None:  # noqa: F811
    run = migrate(FakeCluster(), "check", "--accept", word, output="table")
    assert (run.code, near in run.stderr) == (2, True), run.stderr


@pytest.mark.parametrize(
    "word",
    [
        "automation-unknown",
        "C-41",
        "controller-down@controller-3001",
        "zookeeper-health-unknown@/brokers/topics",
        "C-33@brokers",
    ],
)
def test_word_that_names_something_is_taken(migrate, word: str) -> None:  # noqa: F811
    assert migrate(FakeCluster(), "run", "--dry-run", "--accept", word).code != 2


def test_rollback_names_the_nearest_words(migrate) -> None:  # noqa: F811
    run = migrate(at_phase("M6"), "rollback", "--dry-run", "--accept", "zookeeper-behind-kaft", output="table")
    assert (run.code, "Did you mean zookeeper-behind-kraft" in run.stderr) == (2, True), run.stderr
