from __future__ import annotations

from kafkactl.features.change.proof import prove
from tests.features.clusters import cluster

WANTED = {"metadata.version": 27, "group.version": 0}


def ids(text: str) -> list[tuple[str, str]]:
    proof = prove(cluster(text), WANTED)
    return [(finding.subject, finding.id) for finding in proof.findings]


def test_every_node_shows_the_levels_whatever_their_epochs() -> None:
    proof = prove(cluster("levels metadata.version=27\ncontrollers 1* 2\nbrokers 4"), WANTED)
    assert proof.holds
    assert [node.finalized_epoch for node in proof.nodes] == [101, 102, 104]
    assert proof.nodes[2].to_dict() == {
        "node_id": 4, "role": "broker", "finalized_epoch": 104, "levels": {"metadata.version": 27, "group.version": 0},
    }  # fmt: skip


def test_node_that_lags_proves_nothing() -> None:
    text = "levels metadata.version=27\ncontrollers 1*\nbrokers 4 levels:metadata.version=25"
    assert ids(text) == [("broker 4", "feature-level-not-on-node")]
    assert not prove(cluster(text), WANTED).holds


def test_silent_live_node_leaves_the_proof_open() -> None:
    text = "levels metadata.version=27\ncontrollers 1*\nbrokers 4 silent"
    assert ids(text) == [("broker 4", "node-not-proved")]
    assert prove(cluster(text), WANTED).nodes[1].to_dict()["levels"] is None


def test_removed_node_is_left_out_of_the_proof_and_named() -> None:
    text = "levels metadata.version=27\ncontrollers 1*\ncontrollers 9 gone\nbrokers 4 gone"
    assert ids(text) == [("controller 9", "node-gone"), ("broker 4", "node-gone")]
    assert prove(cluster(text), WANTED).holds


def test_no_answer_proves_nothing() -> None:
    assert not prove(cluster("levels metadata.version=27"), WANTED).holds


def test_registered_node_that_was_not_asked_proves_nothing() -> None:
    from dataclasses import replace

    state = cluster("levels metadata.version=27\ncontrollers 1*\nbrokers 4")
    state = replace(state, nodes=state.nodes[:1])
    assert [finding.id for finding in prove(state, WANTED).findings] == ["node-not-proved"]
