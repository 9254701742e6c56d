"""Planning a fleet: what is equal everywhere, what is unique, and every rule between nodes."""

from __future__ import annotations

import json
import sys

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.storage.config import node_config
from kafkactl.storage.fleet.inventory import VoterRole
from kafkactl.storage.fleet.plan import plan_fleet
from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode, parse_plan, render_plan, shown_plan
from kafkactl.storage.model import VoterMode
from tests.sampling import one_in
from tests.storage.fleet.fleets import NEW_ID, FleetBuilder, found
from tests.storage.nodes import FixedSource

FIRST = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
SCRAM = "SCRAM-SHA-256=[name=alice,password=alice-secret]"


def contents(node: PlannedNode, name: str) -> set[bytes]:
    """Return the bytes of all files of that name on a node."""
    return {file.content for directory in node.directories for file in directory.files if file.name == name}


def only(values: set[bytes]) -> bytes:
    (value,) = values
    return value


def problems(plan: FleetPlan) -> list[str]:
    return [f"{finding.id}: {finding.subject}" for finding in blockers(plan.findings)]


def test_dynamic_fleet_is_planned_without_a_finding():
    plan = FleetBuilder().plan()
    assert (plan.outcome, plan.findings) == (Outcome.PLANNED, ())
    assert (plan.mode, plan.kraft_version, plan.metadata_version_name) == ("dynamic", 1, "4.3-IV0")
    modes = {node.id: node.voter_mode for node in plan.nodes}
    assert {modes[number] for number in (1, 2, 3)} == {VoterMode.INITIAL_CONTROLLERS}
    assert {modes[index] for index in (4, 5, 6)} == {VoterMode.NO_INITIAL_CONTROLLERS}


def test_every_initial_controller_gets_the_same_voters_under_their_own_directory_ids():
    plan = FleetBuilder().plan()
    firsts = {node.id: decode_checkpoint(only(contents(node, FIRST))) for node in plan.nodes[:3]}
    (voters,) = {checkpoint.voters for checkpoint in firsts.values()}
    metadata = {node.id: node.directories[0].directory_id for node in plan.nodes}
    assert {voter.node_id: voter.directory_id for voter in voters} == {number: metadata[number] for number in (1, 2, 3)}
    assert [voter.endpoints[0].host for voter in voters] == ["h1.example", "h2.example", "h3.example"]
    assert not any(contents(node, FIRST) for node in plan.nodes[3:])


def test_directory_ids_are_unique_in_the_whole_fleet():
    plan = FleetBuilder().plan()
    ids = [directory.directory_id for node in plan.nodes for directory in node.directories]
    assert len(ids) == len(set(ids)) == 12


def test_directory_id_may_be_fixed_in_the_inventory():
    builder = FleetBuilder(nodes={2: {"directory_id": "MvDxzVmcRsaTz33bUuRU6A"}})
    plan = builder.plan()
    assert str(plan.nodes[1].directories[0].directory_id) == "MvDxzVmcRsaTz33bUuRU6A"
    assert "MvDxzVmcRsaTz33bUuRU6A" in {str(voter.directory_id) for voter in plan.voters}


def test_users_and_salts_are_the_same_on_all_controllers_and_absent_from_brokers():
    plan = FleetBuilder(scram=(SCRAM,)).plan()
    bootstraps = [contents(node, "bootstrap.checkpoint") for node in plan.nodes]
    assert bootstraps[0] == bootstraps[1] == bootstraps[2]
    assert b"alice" in only(bootstraps[0])
    assert all(b"alice" not in only(bootstrap) for bootstrap in bootstraps[3:])


def test_no_secret_is_shown():
    plan = FleetBuilder(scram=(SCRAM,)).plan()
    bootstrap = only(contents(plan.nodes[0], "bootstrap.checkpoint"))
    keys = decode_checkpoint(bootstrap).records[-1][1].data
    for text in (json.dumps(shown_plan(plan)), repr(plan), repr(FleetBuilder(scram=(SCRAM,)).request())):
        assert "alice-secret" not in text
        assert keys["StoredKey"].hex() not in text
        assert repr(keys["StoredKey"])[2:-1] not in text


def test_same_fleet_from_the_same_source_is_the_same_plan():
    assert render_plan(FleetBuilder(scram=(SCRAM,)).plan()) == render_plan(FleetBuilder(scram=(SCRAM,)).plan())


def test_plan_survives_its_file():
    plan = FleetBuilder(scram=(SCRAM,), nodes={4: {"mounts": ("/data/4/a",)}}).plan()
    assert parse_plan(render_plan(plan), file="plan.json")[0] == plan


def test_new_cluster_id_is_written_to_all_nodes():
    plan = FleetBuilder(inventory={"cluster_id": "new"}).plan()
    assert plan.cluster_id == str(NEW_ID)
    assert all(str(NEW_ID).encode() in content for content in contents(plan.nodes[0], "meta.properties"))


def test_static_fleet_uses_no_voter_flag():
    plan = FleetBuilder(static=True).plan()
    assert (plan.outcome, plan.mode, plan.kraft_version, plan.static_voters) == (
        Outcome.PLANNED,
        "static",
        0,
        (1, 2, 3),
    )
    assert {node.voter_mode for node in plan.nodes} == {VoterMode.UNSPECIFIED}


@pytest.mark.parametrize("version", ["3.3.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.2.1", "4.4.0"])
def test_every_release_has_its_own_layout(version):
    static = FleetBuilder(static=True, inventory={"kafka_version": version}).plan()
    assert problems(static) == []
    names = {file.name for directory in static.nodes[0].directories for file in directory.files}
    assert ("bootstrap.checkpoint" in names) == (version != "4.4.0")
    assert (FIRST in names) == (version == "4.4.0")


def test_one_standalone_controller_makes_the_others_join_later():
    plan = FleetBuilder(nodes={2: {"voter": VoterRole.STANDALONE}}).plan()
    assert plan.outcome is Outcome.PLANNED
    modes = [node.voter_mode for node in plan.nodes[:3]]
    later = VoterMode.NO_INITIAL_CONTROLLERS
    assert modes == [later, VoterMode.STANDALONE, later]
    assert [voter.node_id for voter in plan.voters] == [2]


def test_controllers_that_join_later_are_not_voters():
    plan = FleetBuilder(nodes={3: {"voter": VoterRole.LATER}}).plan()
    assert [voter.node_id for voter in plan.voters] == [1, 2]
    assert [finding.id for finding in plan.findings] == ["even-voter-count"]


def test_nodes_that_join_an_existing_cluster_are_planned():
    plan = FleetBuilder(
        controllers=(7,), brokers=(8,), inventory={"existing_cluster": True},
        configs={number: {"controller.quorum.bootstrap.servers": "h1.example:9093"} for number in (7, 8)},
    ).plan()  # fmt: skip
    assert plan.outcome is Outcome.PLANNED
    assert {node.voter_mode for node in plan.nodes} == {VoterMode.NO_INITIAL_CONTROLLERS}
    assert [finding.id for finding in plan.findings] == ["bootstrap-servers-not-in-fleet"] * 2


def test_brokers_alone_are_planned_for_an_existing_cluster():
    plan = FleetBuilder(controllers=(), inventory={"existing_cluster": True}, configs={
        number: {"controller.quorum.bootstrap.servers": "h1.example:9093"} for number in (4, 5, 6)
    }).plan()  # fmt: skip
    assert (plan.outcome, problems(plan)) == (Outcome.PLANNED, [])


def test_older_binary_in_the_fleet_is_fine_with_its_own_layout():
    plan = FleetBuilder(inventory={"kafka_version": "4.2.1"}, nodes={6: {"kafka_version": "4.4.0"}}).plan()
    assert (plan.outcome, plan.metadata_version_name) == (Outcome.PLANNED, "4.2-IV1")


OTHER_VOTERS = "1@h1.example:9093,2@h2.example:9093"
BAD_FLEETS = {
    "duplicate-node-id": FleetBuilder(nodes={5: {"id": 4}}),
    "node-id-mismatch": FleetBuilder(configs={5: {"node.id": "9"}}),
    "fleet-without-controller": FleetBuilder(
        controllers=(), configs={node_id: {"controller.quorum.bootstrap.servers": "h1:9093"} for node_id in (4, 5, 6)}
    ),
    "migration-needs-zookeeper-cluster-id": FleetBuilder(
        static=True, inventory={"cluster_id": "new", "kafka_version": "3.9.2"},
        configs={1: {"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": "zk:2181"}},
    ),
    "mixed-quorum-mode": FleetBuilder(configs={
        4: {"controller.quorum.bootstrap.servers": None, "controller.quorum.voters": OTHER_VOTERS}
    }),
    "quorum-mode-mismatch": FleetBuilder(inventory={"mode": "static"}),
    "static-voters-differ": FleetBuilder(static=True, configs={4: {"controller.quorum.voters": OTHER_VOTERS}}),
    "voter-not-in-inventory": FleetBuilder(static=True, configs={
        node_id: {"controller.quorum.voters": f"{OTHER_VOTERS},3@h3.example:9093,7@h7:9093"} for node_id in range(1, 7)
    }),
    "voter-endpoint-mismatch": FleetBuilder(static=True, configs={
        node_id: {"controller.quorum.voters": f"{OTHER_VOTERS},3@h3.example:9999"} for node_id in range(1, 7)
    }),
    "several-standalone-controllers": FleetBuilder(
        nodes={node_id: {"voter": VoterRole.STANDALONE} for node_id in (1, 2)}
    ),
    "standalone-and-initial-voters": FleetBuilder(
        nodes={1: {"voter": VoterRole.STANDALONE}, 2: {"voter": VoterRole.INITIAL}}
    ),
    "initial-voters-in-existing-cluster": FleetBuilder(
        inventory={"existing_cluster": True}, nodes={1: {"voter": VoterRole.INITIAL}}
    ),
    "no-initial-voter": FleetBuilder(nodes={node_id: {"voter": VoterRole.LATER} for node_id in (1, 2, 3)}),
    "voter-setting-without-effect": FleetBuilder(nodes={4: {"voter": VoterRole.LATER}}),
    "controller-listener-names-differ": FleetBuilder(configs={
        4: {
            "controller.listener.names": "CTL",
            "listener.security.protocol.map": "CTL:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }
    }),
    "bootstrap-servers-not-in-fleet": FleetBuilder(
        configs={4: {"controller.quorum.bootstrap.servers": "other.example:9093"}}
    ),
    "invalid-uuid": FleetBuilder(nodes={1: {"directory_id": "not an id"}}),
    "reserved-directory-id": FleetBuilder(nodes={1: {"directory_id": "AAAAAAAAAAAAAAAAAAAAAg"}}),
    "duplicate-directory-id": FleetBuilder(
        nodes={node_id: {"directory_id": "MvDxzVmcRsaTz33bUuRU6A"} for node_id in (1, 2)}
    ),
    "directory-shared-by-nodes": FleetBuilder(
        nodes={5: {"host": "h4"}}, configs={5: {"log.dirs": "/data/4/a/deeper", "listeners": "PLAINTEXT://:9192"}}
    ),
    "port-shared-by-nodes": FleetBuilder(nodes={5: {"host": "h4"}}),
    "endpoint-advertised-twice": FleetBuilder(
        configs={5: {"advertised.listeners": "PLAINTEXT://h4.example:9092"}}
    ),
    "layout-newer-than-binary": FleetBuilder(
        inventory={"kafka_version": "4.4.0", "release_version": "4.2"}, nodes={6: {"kafka_version": "4.3.1"}}
    ),
    "metadata-version-not-supported": FleetBuilder(nodes={6: {"kafka_version": "4.2.1"}}),
    "feature-level-not-supported": FleetBuilder(
        inventory={"features": ("group.version=1",), "release_version": "3.9"}, nodes={6: {"kafka_version": "3.9.2"}}
    ),
    "dynamic-quorum-not-supported": FleetBuilder(inventory={"kafka_version": "3.9.2", "release_version": "3.8"},
        nodes={6: {"kafka_version": "3.8.1"}}, configs={6: {"controller.quorum.voters": None}},
    ),
    "unknown-kafka-version": FleetBuilder(nodes={6: {"kafka_version": "5.0"}}),
    "input-file-unreadable": FleetBuilder(files={6: None}),
    "shared-spelling": FleetBuilder(
        nodes={5: {"host": "h4"}}, configs={5: {"log.dirs": "/data/4/../4/a/", "listeners": "PLAINTEXT://:9192"}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(3, BAD_FLEETS))
def test_fleet_that_breaks_a_rule_is_refused(name):
    plan = BAD_FLEETS[name].plan()
    expected = {"shared-spelling": "directory-shared-by-nodes"}.get(name, name)
    assert expected in {finding.id for finding in blockers(plan.findings)}, plan.findings
    assert plan.outcome is Outcome.REFUSED
    assert plan.nodes == ()


@pytest.mark.parametrize("name", one_in(4, BAD_FLEETS))
def test_refusal_names_its_way_out(name):
    for finding in BAD_FLEETS[name].plan().findings:
        assert finding.advice
        assert finding.subject
        json.dumps(finding.to_dict())


@pytest.mark.parametrize(
    ("builder", "id"),
    [
        (FleetBuilder(controllers=(1, 2)), "even-voter-count"),
        (FleetBuilder(controllers=(1, 2, 3, 7), static=True), "even-voter-count"),
        (
            FleetBuilder(
                configs={2: {"advertised.listeners": "CONTROLLER://localhost:9093"}},
                inventory={"controller_addresses": ("h2.example:9093",)},
            ),
            "voter-endpoint-loopback",
        ),
        (
            FleetBuilder(configs={4: {"controller.quorum.bootstrap.servers": "h1.example:9093,lb.example:9093"}}),
            "bootstrap-servers-not-in-fleet",
        ),
    ],
)
def test_doubtful_fleet_is_planned_with_a_warning(builder, id):
    plan = builder.plan()
    assert (plan.outcome, [finding.id for finding in plan.findings]) == (Outcome.PLANNED, [id])


def test_blank_static_majority_is_reported():
    every = FleetBuilder(static=True, inventory={"existing_cluster": True}).plan()
    assert [(finding.id, finding.evidence["blank"], finding.evidence["others"]) for finding in every.findings] == [
        ("static-majority-blank", [1, 2, 3], [])
    ]
    quorum = {"controller.quorum.voters": "1@h1.example:9093,2@h2.example:9093,3@h3.example:9093"}
    for replaced, expected in (((1, 2), [[3]]), ((1,), [])):
        fleet = FleetBuilder(controllers=replaced, static=True, inventory={"existing_cluster": True})
        fleet.configs = dict.fromkeys(fleet.ids, quorum)
        plan = fleet.plan()
        assert plan.outcome is Outcome.PLANNED
        assert [finding.evidence["others"] for finding in found(plan, "static-majority-blank")] == expected


def test_new_static_cluster_is_blank_everywhere():
    assert FleetBuilder(static=True).plan().findings == ()


def test_load_balancer_may_stand_before_the_controllers():
    plan = FleetBuilder(
        inventory={"controller_addresses": ("LB.example:9093",)},
        configs={4: {"controller.quorum.bootstrap.servers": "lb.example:9093"}},
    ).plan()
    assert plan.findings == ()


def test_nodes_of_one_host_may_share_a_port_on_different_addresses():
    changes = {"listeners": "PLAINTEXT://127.0.0.1:9092", "advertised.listeners": "PLAINTEXT://h5.example:9092"}
    other = {"listeners": "PLAINTEXT://127.0.0.2:9092"}
    plan = FleetBuilder(nodes={5: {"host": "h4"}}, configs={5: changes, 4: other}).plan()
    assert plan.findings == ()


def test_all_problems_of_all_nodes_are_reported_at_once():
    plan = FleetBuilder(
        inventory={"release_version": "9.9"},
        nodes={5: {"id": 4}, 6: {"kafka_version": "7.0"}},
        configs={1: {"listeners": None}, 2: {"node.id": "12"}},
        files={3: None},
    ).plan()
    ids = {finding.id for finding in blockers(plan.findings)}
    expected = {
        "duplicate-node-id",
        "unknown-kafka-version",
        "node-id-mismatch",
        "input-file-unreadable",
        "unknown-release-version",
    }
    assert expected <= ids
    assert any(finding.subject.startswith("node 1") for finding in blockers(plan.findings))


def test_problem_of_all_nodes_is_reported_once():
    plan = FleetBuilder(inventory={"release_version": "9.9"}).plan()
    (finding,) = found(plan, "unknown-release-version")
    assert finding.evidence["nodes"] == [1, 2, 3, 4, 5, 6]


def test_finding_of_one_node_names_it():
    plan = FleetBuilder(configs={5: {"log.dirs": None, "log.dir": "/tmp/kafka-logs"}}).plan()
    (finding,) = found(plan, "directory-under-tmp")
    assert finding.subject == "node 5, directory /tmp/kafka-logs"


def test_unknown_release_of_the_whole_fleet_leaves_nothing_to_read_configurations_by():
    with pytest.raises(InputError) as caught:
        FleetBuilder(inventory={"kafka_version": "5.0"}).plan()
    assert caught.value.id == "unknown-kafka-version"


class CountingSource(FixedSource):
    """Source of as many ids as are asked for."""

    count = 0

    def directory_id(self, path):
        self.count += 1
        return Uuid(b"@" + self.count.to_bytes(15, "big"))


@pytest.mark.slow
def test_ten_times_the_nodes_cost_ten_times_the_work():
    # Counted in calls, which no other process can make more of.
    def calls(count: int) -> int:
        request = FleetBuilder(brokers=tuple(range(4, 4 + count))).request()
        node_config._read_once.cache_clear()  # files of a smaller fleet are those of the first nodes
        made = 0

        def counted(_frame: object, event: str, _argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(counted)
        try:
            assert plan_fleet(request, CountingSource()).outcome is Outcome.PLANNED
        finally:
            sys.setprofile(None)
        return made

    calls(10)
    assert calls(200) < 15 * calls(20)  # a quadratic rule would make it a hundredfold
