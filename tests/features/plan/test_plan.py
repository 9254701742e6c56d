from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkactl.change.reply import Reply
from kafkactl.cluster.state import ClusterState
from kafkactl.core.findings import Outcome
from kafkactl.features.api.cluster import FeatureChange
from kafkactl.features.change.outcome import resolve
from kafkactl.features.change.proof import prove
from kafkactl.features.change.results import FeatureResult, read_response
from kafkactl.features.plan.plan import FeaturePlan, check_unmoved, plan_change
from kafkactl.features.plan.request import FeatureRequest, Operation, parse_request
from kafkactl.protocol.schema.spec import Versions
from tests.features.clusters import CLUSTER_ID, cluster

CALM = "levels metadata.version=25 group.version=1\ncontrollers 1*\nbrokers 4"


def upgrade(state: ClusterState, **levels: int) -> FeaturePlan:
    named = {name.replace("_", "."): level for name, level in levels.items()}
    return plan_change(state, FeatureRequest(operation=Operation.UPGRADE, levels=named))


def two_steps() -> FeaturePlan:
    levels = {"eligible.leader.replicas.version": 1, "metadata.version": 27}
    return plan_change(cluster(CALM), FeatureRequest(operation=Operation.UPGRADE, levels=levels))


def change_answer(plan: FeaturePlan, **tried: Any) -> dict[str, Any]:
    return FeatureChange(plan=plan, request=plan.request, **tried).to_dict()


def accepted(*names: str) -> list[FeatureResult]:
    return [FeatureResult(name=name, reply=Reply.ACCEPTED, error_code=0, message="") for name in names]


def test_plan_as_it_is_answered() -> None:
    shown = change_answer(upgrade(cluster(CALM), metadata_version=26), is_dry_run=True)
    assert shown == {
        "outcome": "planned",
        "cluster_id": CLUSTER_ID,
        "changes": [
            {
                "name": "metadata.version",
                "from": 25,
                "to": 26,
                "kind": "upgrade",
                "reversible": True,
                "consequences": [
                    "4.1-IV0 (26) brings eligible.leader.replicas.version 1 as the default of new clusters "
                    "(here it stays as it is) (KIP-966)",
                    "nodes older than Kafka 4.1 can no longer join or come back",
                ],
                "way_back": "kafkactl features downgrade --feature metadata.version=25",
            }
        ],
        "steps": [{"number": 1, "features": {"metadata.version": 26}, "type": "upgrade"}],
        "findings": [],
        "results": [],
        "results_of": "dry-run",
        "predictions": [],
        "proof": [],
        "out": None,
        "plan_sha256": None,
    }


def test_levels_that_moved_since_are_a_refusal() -> None:
    plan = upgrade(cluster(CALM), metadata_version=27)
    assert check_unmoved(plan, cluster(CALM)) == []
    moved = cluster(CALM.replace("metadata.version=25", "metadata.version=26"))
    assert [(finding.id, finding.evidence) for finding in check_unmoved(plan, moved)] == [
        ("feature-level-moved", {"planned": 25, "found": 26})
    ]
    gone = cluster(CALM.replace("group.version=1", "group.version=0"))
    assert [finding.subject for finding in check_unmoved(plan, gone)] == ["feature group.version"]


def test_another_cluster_is_a_refusal() -> None:
    plan = upgrade(cluster(CALM), metadata_version=27)
    other = replace(cluster(CALM), cluster_id="AAAAAAAAAAAAAAAAAAAAAw")
    assert [finding.id for finding in check_unmoved(plan, other)] == ["cluster-changed"]


def test_irreversible_changes_are_named() -> None:
    assert [change.name for change in upgrade(cluster(CALM), metadata_version=30).irreversible] == ["metadata.version"]
    assert upgrade(cluster(CALM), metadata_version=29).irreversible == ()


def test_done_is_done_when_every_step_is() -> None:
    plan = two_steps()
    after = {"metadata.version": 27, "eligible.leader.replicas.version": 1, "group.version": 1}
    first = resolve(plan.steps[0].changes, accepted("metadata.version"), after, settled=False)
    second = resolve(plan.steps[1].changes, accepted("eligible.leader.replicas.version"), after, settled=False)
    state = cluster(CALM.replace("=25", "=27").replace("levels", "levels eligible.leader.replicas.version=1"))
    proof = prove(state, plan.request.levels)
    answer = change_answer(plan, results=accepted("metadata.version"), resolved=(*first, *second), proof=proof)
    assert answer["outcome"] == "done"
    assert [node["node_id"] for node in answer["proof"]] == [1, 4]
    assert answer["results"] == [
        {"name": "metadata.version", "error_code": 0, "error_name": "NONE", "message": "", "outcome": "done"}
    ]  # fmt: skip
    assert answer["results_of"] == "change"
    assert change_answer(plan, resolved=first)["outcome"] == "partial"


def test_refused_second_step_leaves_it_partly_done() -> None:
    plan = two_steps()
    levels = {"metadata.version": 27, "group.version": 1}
    first = resolve(plan.steps[0].changes, accepted("metadata.version"), levels, settled=False)
    names = ["eligible.leader.replicas.version"]
    refused = read_response(names, 2, {"ErrorCode": 95, "ErrorMessage": "no"})
    second = resolve(plan.steps[1].changes, refused, levels, settled=True)
    assert change_answer(plan, resolved=second)["outcome"] == "failed"
    assert change_answer(plan, resolved=(*first, *second))["outcome"] == "partial"


def test_node_that_lags_does_not_undo_what_is_done() -> None:
    plan = upgrade(cluster(CALM), metadata_version=27)
    resolved = resolve(plan.changes, accepted("metadata.version"), {"metadata.version": 27}, settled=False)
    lagging = cluster("levels metadata.version=27\ncontrollers 1*\nbrokers 4 levels:metadata.version=25")
    answer = change_answer(plan, resolved=resolved, proof=prove(lagging, plan.request.levels))
    assert answer["outcome"] == "done"
    assert [(finding["id"], finding["severity"]) for finding in answer["findings"]] == [
        ("feature-level-not-on-node", "warning")
    ]


def test_outcome_before_a_request_depends_on_the_plan() -> None:
    plan = upgrade(cluster(CALM), metadata_version=27)
    moved = check_unmoved(plan, cluster(CALM.replace("=25", "=26")))
    assert change_answer(plan, is_dry_run=True)["outcome"] == "planned"
    assert change_answer(plan, notes=moved)["outcome"] == "refused"
    assert change_answer(upgrade(cluster(CALM), metadata_version=25))["outcome"] == "nothing-to-do"
    assert upgrade(cluster(CALM), metadata_version=99).outcome is Outcome.REFUSED


def test_verification_as_it_is_answered() -> None:
    state = cluster(CALM)
    proof = prove(state, {"metadata.version": 25})
    assert (proof.holds, proof.findings, len(proof.nodes)) == (True, (), 2)


def test_controller_of_no_known_release_is_judged_by_the_newest_rules() -> None:
    state = cluster(CALM)
    odd = {"metadata.version": Versions(9, 50), "group.version": Versions(0, 1)}
    nodes = tuple(
        replace(node, versions=replace(node.versions, supported=odd)) for node in state.nodes if node.versions
    )
    state = replace(state, nodes=nodes, registrations=None)
    plan = upgrade(state, metadata_version=50)
    assert plan.outcome is Outcome.PLANNED
    assert [finding.id for finding in plan.findings] == [
        "release-not-recognised", "registrations-not-read", "one-way-change", "level-newer-than-kafkactl",
    ]  # fmt: skip


def test_silent_controller_is_not_called_gone_where_the_voters_are_unknown() -> None:
    text = "quorumless\nlevels metadata.version=25\ncontrollers 1*\ncontrollers 2 kafka=4.0 silent"
    plan = upgrade(cluster(text), metadata_version=27)
    assert [finding.id for finding in plan.findings] == ["voters-unknown", "level-outside-node-range"]


@pytest.mark.parametrize(("word", "proven"), [("", True), ("cut", True), ("unasked", True), ("silent", False),
                                              ("hangs", False), ("undecided", False)])  # fmt: skip
@pytest.mark.parametrize("change", [{"metadata_version": 27}, {"group_version": 1}])
def test_change_needs_a_majority_that_was_seen_to_follow(word: str, change: dict[str, int], *, proven: bool) -> None:
    # Two of three voters are as the parameter says; a voter that cannot be reached from here but fetches follows.
    plan = upgrade(cluster(f"levels metadata.version=25\ncontrollers 1*\ncontrollers 2 3 {word}"), **change)
    found = [finding for finding in plan.findings if finding.id == "majority-not-proven"]
    assert bool(found) is not proven
    assert (plan.outcome is Outcome.REFUSED) is not proven
    if found:
        assert found[0].evidence["following"] == [1]
        assert "controller 2" in found[0].message and "controller 3" in found[0].message


def test_one_voter_of_three_that_was_just_killed_leaves_a_majority() -> None:
    plan = upgrade(cluster("levels metadata.version=25\ncontrollers 1* 2\ncontrollers 3 silent"), metadata_version=27)
    assert (plan.outcome, [finding.id for finding in plan.findings if finding.subject == "controller 3"]) == (
        Outcome.PLANNED,
        ["node-does-not-answer"],
    )


@pytest.mark.parametrize(("word", "ready"), [("cut", True), ("silent", False), ("hangs", False), ("undecided", False)])
def test_conversion_needs_every_voter_to_be_seen_following(word: str, *, ready: bool) -> None:
    text = f"levels metadata.version=25\ncontrollers 1* 2\ncontrollers 3 {word}"
    plan = upgrade(cluster(text), kraft_version=1)
    assert ("voter-not-ready" in {finding.id for finding in plan.findings}) is not ready
    assert (plan.outcome is Outcome.PLANNED) is ready


def test_request_keeps_the_release_it_came_from() -> None:
    request = parse_request(Operation.UPGRADE, release_version="4.3")
    assert (request.release_version, request.left_out, "kraft.version" in request.levels) == ("4.3", True, False)
    asked = parse_request(Operation.UPGRADE, release_version="4.3", convert_quorum=True)
    assert (asked.left_out, asked.levels["kraft.version"]) == (False, 1)
    old = parse_request(Operation.UPGRADE, release_version="3.8")
    assert (dict(old.levels), old.left_out) == ({"metadata.version": 20}, False)
