"""`storage ensure` on disks of a node that has run: what decides, and whether it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storage.nodes import CLUSTER_ID
from tests.storage.verify.nodes import DIRECTORY_IDS, SEGMENT, VerifyNode, voters_batch


@pytest.fixture
def node(kafkactl, tmp_path):
    return VerifyNode(tmp_path, kafkactl, "4.3.1")


@pytest.fixture
def ensure(kafkactl, node):
    words = ["storage", "ensure", "-t", CLUSTER_ID, "-c", node.file, "--kafka-version", "4.3.1", "-o", "json"]
    return lambda *more: kafkactl(*words, *more)


def blockers(run):
    return {finding["id"]: finding for finding in run.json["findings"] if finding["severity"] == "blocker"}


@pytest.mark.parametrize("flags", [("--standalone",), ("--no-initial-controllers",), ()])
def test_static_disks_without_their_line_are_refused_whatever_the_option(node, ensure, flags):
    node.format(static=True).started_once()
    node.configure()
    run = ensure(*flags)
    assert (run.code, set(blockers(run))) == (3, {"no-voters-known"}), run.json["findings"]
    assert "controller.quorum.voters=1@" in blockers(run)["no-voters-known"]["next_step"]
    node.configure(static=True)
    assert ensure().code == 0


def test_log_that_got_a_voter_set_decides(node, ensure):
    node.format(static=True).started_once(batches=4)
    log = node.path(f"d1/{SEGMENT}")
    log.write_bytes(log.read_bytes() + voters_batch([(1, DIRECTORY_IDS["d1"])], 4))
    node.configure()
    run = ensure("--standalone")
    assert (run.code, blockers(run)) == (0, {}), run.json["findings"]


def test_metadata_log_in_another_directory_is_refused(node, ensure):
    node.format("--standalone", log_dirs=("d1", "d2")).started_once()
    node.configure(log_dirs=("d2", "d1"))
    run = ensure("--standalone")
    assert run.code == 3 and "unexpected-metadata-location" in blockers(run)


def test_format_names_the_voters_line_that_the_node_ran_with(node, kafkactl, tmp_path: Path):
    node.format(static=True).started_once()
    node.configure(log_dirs=("d1", "d2"))
    words = ("-t", CLUSTER_ID, "-c", node.file, "--kafka-version", "4.3.1", "-g", "-o", "json")
    run = kafkactl("storage", "format", *words)
    assert "controller.quorum.voters=1@" in blockers(run)["voter-flag-missing"]["next_step"]
