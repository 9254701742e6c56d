from __future__ import annotations

import shutil

import pytest

from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.storage.fleet.fleets import FleetBuilder
from tests.storage.nodes import CLUSTER_ID

HOSTILE_LINES = {"storage ensure": ("-c {config} -t {id} --dry-run",)}


@pytest.fixture
def node(tmp_path):
    return FleetOnDisk(tmp_path, FleetBuilder(controllers=(1,), brokers=()))


@pytest.fixture
def ensure(kafkactl, node):
    words = ["storage", "ensure", "-t", CLUSTER_ID, "-c", node.config(1), "--kafka-version", "4.3.1", "-o", "json"]
    return lambda *more: kafkactl(*words, *(more or ("-s",)))


def test_ensure_formats_once_and_then_has_nothing_to_do(ensure, node):
    first = ensure()
    assert (first.code, first.json["kind"], first.json["outcome"]) == (0, "storage.ensure", "done")
    before = node.tree()
    second = ensure()
    assert (second.code, second.json["outcome"]) == (0, "nothing-to-do")
    assert node.tree() == before


def test_ensure_never_asks(ensure):
    # A container's entry point has no terminal, and no operator who could give --yes.
    assert ensure().code == 0


def test_dry_run_writes_nothing(ensure, node):
    assert ensure("-s", "--dry-run").json["outcome"] == "planned"
    assert node.tree() == {}


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["-N"], "voters-differ"),
        (["-s", "-r", "4.1"], "feature-levels-differ"),
        (["-s", "-t", "AAAAAAAAAAAAAAAAAAAAAA"], "cluster-id-mismatch"),
    ],
)
def test_difference_is_refused_and_nothing_is_touched(ensure, node, words, id):
    ensure()
    before = node.tree()
    run = ensure(*words)
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert id in [finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"]
    assert node.tree() == before


def test_lost_metadata_disk_is_refused(ensure, node):
    ensure()
    shutil.rmtree(node.disk(1, "a"))
    run = ensure()
    assert run.code == 3
    assert "metadata-disk-lost" in [finding["id"] for finding in run.json["findings"]]


def test_new_data_disk_is_formatted_and_no_level_is_shown(ensure, node):
    ensure()
    shutil.rmtree(node.disk(1, "b"))
    run = ensure("-s", "-o", "table")
    assert run.code == 0
    assert "Formatted the new data directories of node 1" in run.stdout
    assert "metadata.version" not in run.stdout


def test_users_by_file_are_compared_and_not_shown(ensure, tmp_path):
    users = tmp_path / "users.txt"
    users.write_text("SCRAM-SHA-256=[name=alice,password=alice-secret]\n", encoding="utf-8")
    users.chmod(0o600)
    runs = [ensure("-s", "--scram-file", users), ensure("-s", "--scram-file", users)]
    users.write_text("SCRAM-SHA-256=[name=alice,password=another-secret]\n", encoding="utf-8")
    runs.append(ensure("-s", "--scram-file", users))
    assert [run.json["outcome"] for run in runs] == ["done", "nothing-to-do", "refused"]
    assert not any("secret" in run.stdout + run.stderr for run in runs)
