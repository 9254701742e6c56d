"""`storage` without -c: the one node of this host, and what is refused if it is not certain, or runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.files import processes
from kafkactl.storage.io import host_nodes
from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, properties


@pytest.fixture
def etc(kafkactl: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that takes the place of /etc/kafka; the kafkactl of the test looks there and nowhere else."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "etc"
    folder.mkdir()
    folder.chmod(0o755)
    monkeypatch.setattr(host_nodes, "FOLDERS", (str(folder),))
    return folder


def node(path: Path, **settings: object) -> Path:
    path.write_text(properties(log_dirs=[str(path.parent / "disk")], **settings), encoding="utf-8")
    path.chmod(0o644)
    return path


@pytest.mark.parametrize("verb", ["verify", "info"])
def test_node_of_this_host_is_read_and_named_on_stderr(kafkactl, etc, verb):
    file = node(etc / "server.properties")
    run = kafkactl("storage", verb, "-o", "json")
    assert run.code == 7  # It is not formatted.
    assert f"found: {file}" in run.stderr


@pytest.mark.parametrize(
    ("verb", "more"), [("verify", ()), ("info", ()), ("format", ("-t", CLUSTER_ID)), ("ensure", ("-t", CLUSTER_ID))]
)
def test_host_without_a_node_is_an_input_error(kafkactl, etc, verb, more):
    run = kafkactl("storage", verb, *more, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "missing-option")


def test_two_nodes_of_this_host_are_a_choice(kafkactl, etc):
    first, second = node(etc / "broker.properties"), node(etc / "controller.properties")
    run = kafkactl("storage", "verify", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "several-nodes-found")
    assert run.error["next_step"] == f"Choose one: -c {first}, or -c {second}"


@pytest.mark.parametrize("verb", ["format", "ensure"])
def test_found_node_is_formatted_after_a_confirmation_only(kafkactl, etc, verb):
    node(etc / "server.properties")
    words = ("storage", verb, "-t", CLUSTER_ID, "-s", "--kafka-version", "4.3.1", "-o", "json")
    run = kafkactl(*words)
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert "confirmation-missing" in [finding["id"] for finding in run.json["findings"]]
    assert not (etc / "disk").exists()
    assert kafkactl(*words, "--dry-run").json["outcome"] == "planned"
    run = kafkactl(*words, "--yes")
    assert (run.code, run.json["outcome"]) == (0, "done")


@pytest.mark.parametrize("verb", ["format", "ensure"])
def test_node_that_runs_is_never_formatted_unnamed(kafkactl, etc, monkeypatch, verb):
    file = node(etc / "server.properties")
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter([(os.getpid(), ("java", "kafka.Kafka", str(file)))]))
    run = kafkactl("storage", verb, "-t", CLUSTER_ID, "--yes", "-o", "json")
    assert (run.code, run.error["id"]) == (3, "found-node-runs")
    assert not (etc / "disk").exists()


def test_node_without_c_is_not_formatted_if_another_file_was_ignored(kafkactl, etc):
    node(etc / "broker.properties")
    node(etc / "controller.properties").chmod(0o666)
    run = kafkactl("storage", "format", "-t", CLUSTER_ID, "--yes")
    assert run.code == 3
    assert "found-node-not-certain" in run.stderr
    assert f"kafkactl storage format -c {etc / 'controller.properties'}" in run.stderr
