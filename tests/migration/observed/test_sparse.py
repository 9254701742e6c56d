"""Observations from another program, with only what is required: what they leave out is unknown."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kafkactl.core.findings import Severity
from kafkactl.core.frozen import changed
from kafkactl.migration.checks.registry import check
from kafkactl.migration.io.saved_observation import load_observation
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.view import observed_view
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.table import State, observed_state
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import decode_znodes, parse_znode, render_znode
from tests.migration.saved_folder import save
from tests.migration.state.states_seen import HEALTHY, Seen


def bare_tree(seen: Seen) -> Observation:
    """Return znodes of which only path and data were saved."""
    observation = seen.observation()
    assert observation.tree is not None
    lines = (json.loads(render_znode(znode)) for znode in observation.tree.znodes.values())
    expected = b"".join(json.dumps({"path": line["path"], "data": line["data"]}).encode() + b"\n" for line in lines)
    return changed(observation, tree=tree_of(decode_znodes(expected, file="zk.jsonl").znodes))


def zookeeper_alone(seen: Seen) -> Observation:
    return changed(seen.observation(), nodes=(), logs={})


def test_numbers_that_a_line_leaves_out_are_unknown() -> None:
    znode = parse_znode(b'{"path": "/controller", "data": null, "version": 3, "mzxid": null}')
    assert "ephemeral_owner" in znode.untold
    assert "version" not in znode.untold
    line = json.loads(render_znode(znode))
    assert (line["version"], line["mzxid"], line["ephemeral_owner"]) == (3, None, None)
    assert parse_znode(render_znode(znode).encode()) == znode


@pytest.mark.parametrize("name", ["M0", "M3", "M4L"])
def test_controller_znode_of_unknown_owner_is_not_reported_as_persistent(name: str) -> None:
    seen = bare_tree(HEALTHY[name])
    assert observed_state(seen).state.value == name
    assert "persistent-controller-znode" not in {finding.id for finding in check(seen)}
    assert observed_view(evidence_of(seen), State(name))["controller"]["ephemeral"] is None


def test_deletions_name_no_version_that_was_not_seen() -> None:
    steps = plan_rollback(bare_tree(HEALTHY["M6"])).steps
    assert {
        step.action.value: step.version for step in steps if step.path and step.action.value.startswith("delete")
    } == {
        "delete-controller-znode": None,
        "delete-migration-znode": None,
    }


@pytest.mark.parametrize("name", ["M6", "M7", "M8"])
def test_brokers_without_a_znode_are_not_reported_as_in_zookeeper(name: str) -> None:
    assert observed_state(zookeeper_alone(HEALTHY[name])).state.value == name


def test_broker_that_is_down_has_not_left_for_kraft() -> None:
    seen = HEALTHY["M6"].but(modes={1: HEALTHY["M6"].modes[1], 2: HEALTHY["M6"].modes[2], 3: None}).observation()
    assert observed_state(changed(seen, logs={})).state is State.M6


def test_finalization_is_not_excluded_without_observed_brokers() -> None:
    plan = plan_rollback(zookeeper_alone(HEALTHY["M11"].but(topics=False)))
    assert [finding.id for finding in plan.findings if finding.severity is Severity.BLOCKER] == [
        "finalization-not-excluded"
    ]


def test_flag_of_a_controller_is_known_from_the_log() -> None:
    seen = HEALTHY["M10"].observation()
    bare = (changed(node, config=None, config_text=None, api_versions=None, quorum=None, metrics=None)
            for node in seen.nodes)  # fmt: skip
    assert observed_state(changed(seen, nodes=tuple(bare))).state is State.M10


def test_order_of_nodes_in_the_file_does_not_matter(tmp_path: Path) -> None:
    folder = save(tmp_path / "seen", HEALTHY["M6"].observation())
    expected = check(load_observation(str(folder)))
    table = json.loads((folder / "observation.json").read_text())
    (folder / "observation.json").write_text(json.dumps({**table, "nodes": table["nodes"][::-1]}))
    assert check(load_observation(str(folder))) == expected


@pytest.mark.parametrize(
    "expected",
    [
        {"connect": "zk:2181", "chroot": "/prod/kafka"},
        {"connect": "zk:2181/prod/kafka"},
        {"connect": "zk:2181", "chroot": None},
        {"connect": "zk:2181/", "chroot": None},
        {},
    ],
)
def test_chroot_that_was_not_given_is_found(tmp_path: Path, expected: dict[str, str | None]) -> None:
    folder = save(tmp_path / "seen", HEALTHY["M4L"].observation())
    lines = gzip.decompress((folder / "zk.jsonl.gz").read_bytes()).splitlines()
    below = [{**line, "path": "/prod/kafka" + line["path"]} for line in map(json.loads, lines)]
    (folder / "zk.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, below)).encode()))
    table = json.loads((folder / "observation.json").read_text())
    (folder / "observation.json").write_text(json.dumps({**table, "zookeeper": expected}))
    seen = load_observation(str(folder))
    assert (seen.chroot, seen.tree is not None) == ("/prod/kafka", True)
    assert observed_state(seen).state is State.M4L


def test_kafka_further_below_is_not_the_one_that_was_named() -> None:
    tree = bare_tree(HEALTHY["M0"]).tree
    assert tree is not None
    below = [changed(znode, path="/prod" + znode.path) for znode in tree.znodes.values()]
    assert [finding.id for finding in tree_of(below, "").findings] == ["no-kafka-tree"]
