"""Nodes of another cluster, other nodes, missing and surplus ones: nothing follows from them, nothing is planned."""

from __future__ import annotations

import pytest

from kafkactl.core.explanations import explanations
from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import DirectorySeen, NodeSeen, Observation
from kafkactl.migration.observed.raw_observation import RawNode, RawObservation, parse_observation, render_observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.identity import identities_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.forward import next_step, plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.table import observed_state, state_of_evidence
from tests.migration.observations import uuid
from tests.migration.state.states_seen import HEALTHY, KR, MIG, Seen, answering, properties
from tests.migration.zk_trees import CLUSTER_ID

OTHER = "AnotherClusterAnotherC"
THREE = {3001: True, 3002: True, 3003: True}
VOTERS = "3001@c1:9093,3002@c2:9093,3003@c3:9093"


def three(name: str) -> Observation:
    """Return a healthy state with three controllers, each at its own address, all nodes answering as themselves."""
    seen = with_voters(HEALTHY[name].but(controllers=THREE).observation(), VOTERS)
    nodes = []
    for node in seen.nodes:
        at = f"b:{9090 + node.id}" if node.role is Role.BROKER else f"c{node.id - 3000}:9093"
        nodes.append(changed(node, address=at))
    seen = changed(seen, nodes=tuple(nodes))
    for node in seen.nodes:
        seen = answering(seen, node.name)
    return seen


def with_voters(seen: Observation, voters: str) -> Observation:
    """Return the same with these voters in every file that names any."""

    def written(node: NodeSeen) -> NodeSeen:
        if not (node.config or {}).get("controller.quorum.voters"):
            return node
        return changed(node, config={**(node.config or {}), "controller.quorum.voters": voters})

    return changed(seen, nodes=tuple(written(node) for node in seen.nodes))


def but(seen: Observation, name: str, **fields: object) -> Observation:
    return changed(seen, nodes=tuple(changed(node, **fields) if node.name == name else node for node in seen.nodes))


def refused_everywhere(seen: Observation, id: str) -> None:
    """Check that there is no plan forward or back and no next step; `check` blocks, and each says why by name."""
    for plan in (plan_forward(seen), plan_rollback(seen)):
        assert plan.outcome is Outcome.REFUSED
        assert plan.steps == ()
        assert id in [finding.id for finding in plan.findings]
    evidence = evidence_of(seen)
    assert next_step(evidence, state_of_evidence(evidence)) is None
    found = {finding.id: finding for finding in blockers(check(seen))}
    assert id in found
    assert id in explanations()


@pytest.mark.parametrize("name", ["M3", "M4", "M4L", "M6", "M7", "M8"])
def test_nodes_with_their_own_ids_are_accepted(name: str) -> None:
    seen = three(name)
    assert evidence_of(seen).identities.findings == ()
    assert observed_state(seen).state == name


@pytest.mark.parametrize("name", ["M3", "M4L", "M6", "M8"])
@pytest.mark.parametrize("node", ["controller 3002", "broker 2"])
def test_node_of_another_cluster_makes_the_state_unknown(name: str, node: str) -> None:
    seen = answering(three(name), node, cluster_id=OTHER)
    assert observed_state(seen).state is State.UNIDENTIFIED_NODES
    refused_everywhere(seen, "node-of-another-cluster")


@pytest.mark.parametrize("log", [0, 1, 2, 3])
@pytest.mark.parametrize("foreign", [(3001,), (3001, 3002, 3003)])
def test_no_state_is_derived_from_a_foreign_quorum(log: int, foreign: tuple[int, ...]) -> None:
    # A live quorum of another cluster was once reported as without the migration flag, as M10, and as M3.
    seen = Seen(controllers=THREE, log=log, metric=log, flags=dict.fromkeys(THREE, log != 0)).observation()
    seen = with_voters(seen, VOTERS)
    for id in foreign:
        seen = answering(seen, f"controller {id}", cluster_id=OTHER)
    assert observed_state(seen).state is State.UNIDENTIFIED_NODES
    findings = check(seen)
    assert "quorum-started-without-flag" not in [finding.id for finding in findings] or len(foreign) < 3
    refused_everywhere(seen, "node-of-another-cluster")


def test_m8_with_one_foreign_node_is_not_m10() -> None:
    # The foreign node runs without the flag and knows no migration; it decides nothing about ours.
    seen = but(three("M8"), "controller 3003", metrics={"ZkMigrationState": 3.0})
    seen = answering(seen, "controller 3003", cluster_id=OTHER)
    situation, back = observed_state(seen), plan_rollback(seen)
    assert situation.state is State.UNIDENTIFIED_NODES
    assert "migration-finalized" not in [finding.id for finding in back.findings]


def test_controller_before_3_7_is_identified_by_the_fetch_that_it_refuses() -> None:
    own = answering(three("M6"), "controller 3001", cluster_id=None, asked_cluster_id=CLUSTER_ID, is_of_asked=True)
    assert observed_state(own).state == "M6"
    other = answering(own, "controller 3001", cluster_id=None, asked_cluster_id=CLUSTER_ID, is_of_asked=False)
    assert observed_state(other).state is State.UNIDENTIFIED_NODES
    refused_everywhere(other, "node-of-another-cluster")


def test_node_with_another_id_than_in_the_inventory_is_refused() -> None:
    seen = answering(three("M6"), "broker 2", node_id=3)
    refused_everywhere(seen, "node-with-another-id")
    by_list = answering(three("M6"), "broker 2", node_id=None, endpoints={2: "b:1", 3: "B:9092"})
    refused_everywhere(by_list, "node-with-another-id")


def test_node_without_an_identity_decides_nothing() -> None:
    silent = answering(three("M8"), "controller 3001", cluster_id=None, node_id=None, denied=("DescribeCluster",))
    assert observed_state(silent).state == "M8"  # read from its disk
    unseen = but(silent, "controller 3001", meta_properties=None)
    assert observed_state(unseen).state is State.UNIDENTIFIED_NODES
    refused_everywhere(unseen, "node-not-identified")


def test_observation_without_the_question_is_judged_by_the_disks() -> None:
    seen = HEALTHY["M8"].observation()
    assert all(node.identity is None for node in seen.nodes)
    assert observed_state(seen).state == "M8"
    refused_everywhere(but(seen, "controller 3001", meta_properties={"cluster.id": OTHER}), "cluster-id-mismatch")


def test_disks_of_other_nodes_are_refused() -> None:
    refused_everywhere(but(three("M6"), "controller 3002", meta_properties={"node.id": "3"}), "disk-of-another-node")
    refused_everywhere(but(three("M6"), "broker 2", meta_properties={"broker.id": "3"}), "disk-of-another-node")


def disk(*ids: str) -> tuple[DirectorySeen, ...]:
    return tuple(DirectorySeen(path=f"/d{at}", is_empty=False, directory_id=id) for at, id in enumerate(ids))


def registered() -> Observation:
    """Return the observation in which the brokers have registered a directory each."""
    seen = three("M6")
    known = {
        id: changed(registration, directories=(uuid(100 + id),))
        for id, registration in seen.logs[3001].registrations.items()
    }
    logs = {id: changed(log, registrations=known) for id, log in seen.logs.items()}
    return changed(seen, logs=logs)


def test_swapped_disks_are_refused() -> None:
    first, second = (str(uuid(100 + id)) for id in (1, 2))
    for seen in (
        but(registered(), "broker 1", directories=disk(second)),
        but(registered(), "broker 1", directories=disk(second), alive=False),
        but(registered(), "broker 1", meta_properties={"directory.id": second}),
        but(registered(), "broker 1", directories=disk(str(uuid(777)))),
    ):
        assert [finding.subject for finding in identities_of(seen, None).doubts] == ["broker 1"]
        refused_everywhere(seen, "disk-of-another-node")
    for directories in (disk(first), disk(first, str(uuid(777))), disk(), None):
        assert identities_of(but(registered(), "broker 1", directories=directories), None).doubts == ()


def test_cloned_disk_is_not_a_swapped_one() -> None:
    first, second = (str(uuid(100 + id)) for id in (1, 2))
    cloned = but(but(registered(), "broker 1", directories=disk(first, second)), "broker 2", directories=disk(second))
    assert identities_of(cloned, None).doubts == ()
    assert [finding.subject for finding in check(cloned) if finding.id == "duplicate-directory-id"] == [
        "broker 1, broker 2"
    ]
    swapped = but(registered(), "broker 1", directories=disk(second))
    assert not [finding for finding in check(swapped) if finding.id == "duplicate-directory-id"]


def test_stopped_broker_with_a_new_disk_is_not_another_node() -> None:
    seen = but(registered(), "broker 1", directories=disk(str(uuid(777))), alive=False)
    assert identities_of(seen, None).doubts == ()


def test_swapped_addresses_are_refused() -> None:
    # The nodes were not asked for their ids; the address of each is in its znode, and in the voters.
    seen = changed(three("M6"), nodes=tuple(changed(node, identity=None) for node in three("M6").nodes))
    for role, address, other in (("broker", "b:9093", "b:9092"), ("controller", "c3:9093", "c2:9093")):
        first, second = (f"{role} {id}" for id in ((2, 3) if role == "broker" else (3002, 3003)))
        swapped = but(but(seen, first, address=address), second, address=other)
        found = evidence_of(swapped).identities.doubts
        assert [(finding.id, finding.subject) for finding in found] == [
            ("address-of-another-node", first), ("address-of-another-node", second),
        ]  # fmt: skip
        refused_everywhere(swapped, "address-of-another-node")


def test_voter_missing_in_the_inventory_is_refused() -> None:
    seen = HEALTHY["M6"].but(controllers={3001: True, 3002: True}).observation()
    refused_everywhere(with_voters(seen, VOTERS), "quorum-voter-not-in-inventory")
    before = HEALTHY["M2"].but(controllers={3001: False, 3002: False}).observation()
    refused_everywhere(with_voters(before, VOTERS), "quorum-voter-not-in-inventory")


def test_controller_outside_the_voters_is_refused() -> None:
    before = HEALTHY["M2"].but(controllers={3001: False, 3002: False, 3003: False, 3004: False}).observation()
    refused_everywhere(with_voters(before, VOTERS), "controller-not-a-voter")


def test_without_any_id_that_is_expected_nodes_may_not_differ() -> None:
    seen = changed(three("M11"), tree=None)
    assert evidence_of(seen).identities.findings == ()
    apart = answering(seen, "broker 1", cluster_id=OTHER)
    assert observed_state(apart).state is State.UNIDENTIFIED_NODES
    named = changed(apart, cluster_id=CLUSTER_ID)
    assert [finding.subject for finding in evidence_of(named).identities.strangers] == ["broker 1"]


def test_no_remedy_begins_with_a_format() -> None:
    for seen in (
        answering(three("M6"), "controller 3001", cluster_id=OTHER),
        but(three("M6"), "controller 3001", meta_properties={"cluster.id": OTHER}),
        answering(three("M6"), "broker 2", node_id=3),
    ):
        for finding in identities_of(seen, evidence_of(seen).tree).findings:
            text = finding.advice.lower()
            assert "inventory" in text.partition("format")[0], text


def test_answers_are_saved_and_read_back() -> None:
    node = answering(
        three("M6"), "broker 1", is_of_asked=True, asked_cluster_id=CLUSTER_ID, endpoints={1: "b:9091"}, denied=("X",)
    ).nodes[0]
    raw = RawObservation(
        cluster_id=CLUSTER_ID,
        nodes=(RawNode(id=1, role=Role.BROKER, address=node.address, identity=node.identity),),
    )
    read, troubles = parse_observation(render_observation(raw), file="observation.json")
    assert (read, troubles) == (raw, ())
    old = render_observation(raw).replace(b'"identity"', b'"unknown_key"').replace(b'"address"', b'"other_key"')
    assert parse_observation(old, file="o")[0].nodes[0].identity is None


def lone(**fields: object) -> Observation:
    """Return the observation after the first of three controllers has been started: it asks for votes, and has made
    /migration."""
    usual = {"controllers": {3001: True, 3002: False, 3003: False}, "migration": -1, "leader": False, "metric": None}
    return with_voters(Seen(**(usual | fields)).observation(), VOTERS)  # type: ignore[arg-type]


def test_one_controller_of_three_is_not_a_quorum() -> None:
    seen = lone()
    situation = observed_state(seen)
    assert (situation.state, evidence_of(seen).controllers) == (State.M2, "minority")
    assert "no leader" in situation.why
    pending = [(step.action.value, step.target) for step in plan_forward(seen).pending]
    assert pending[:3] == [
        ("start-node", "controller 3002"), ("start-node", "controller 3003"), ("wait-quorum", "controllers"),
    ]  # fmt: skip


def test_port_that_is_not_a_controllers_is_not_a_quorum() -> None:
    # It takes connections and says nothing: two controllers are down, and nothing of a migration exists.
    seen = lone(controllers={3001: False, 3002: False, 3003: None}, formatted=False, migration=None)
    assert observed_state(seen).state is State.M0


def test_level_is_not_judged_from_a_controller_without_a_leader() -> None:
    # It shows a default, which is not the quorum's metadata.version; the advice was to format it again.
    seen = lone()
    api = seen.controllers[0].api_versions
    assert api is not None
    seen = but(seen, "controller 3001", api_versions=changed(api, finalized_features={"metadata.version": 1}))
    assert [finding.id for finding in check(seen) if "metadata-version" in finding.id] == []


def test_quorum_without_a_commit_is_not_formed() -> None:
    seen = HEALTHY["M3"].but(log=None, metric=None).observation()
    assert observed_state(seen).state is State.M3
    node = seen.controllers[0]
    assert node.quorum is not None
    young = but(seen, node.name, quorum=changed(node.quorum, high_watermark=None))
    assert observed_state(young).state is State.M2


def test_modes_are_those_of_the_table() -> None:
    assert {MIG, KR} <= {broker.mode for broker in three("M7").brokers}
    assert properties("a=b\n") == {"a": "b"}
