"""Planning a format: what a plan says, and the rules on its arguments."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Outcome, Severity
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.model import (
    VoterMode,
)
from tests.storage.format.planning import OWN_ID, SCRAM, STANDALONE, VOTERS, finding, plan, refused, stops
from tests.storage.nodes import CLUSTER_ID


def test_plans_are_equal_where_everything_is_equal() -> None:
    assert plan(scram=(SCRAM,)) == plan(scram=(SCRAM,))


def test_nothing_of_a_password_is_in_a_plan() -> None:
    made = plan(scram=(SCRAM,))
    assert "alice-secret" not in repr(made)
    assert made.directories[0].files[0].content.find(b"alice-secret") == -1


@pytest.mark.parametrize(
    ("release", "level", "name", "features", "kraft_version"),
    [
        ("3.3", 7, "3.3-IV3", {}, 0),
        ("3.6", 14, "3.6-IV2", {}, 0),
        ("3.7", 19, "3.7-IV4", {}, 0),
        ("3.8", 20, "3.8-IV0", {}, 0),
        ("3.9", 21, "3.9-IV0", {}, 1),
        ("4.0", 25, "4.0-IV3", {"group.version": 1, "transaction.version": 2}, 1),
        (
            "4.4", 33, "4.4-IV2",
            {
                "eligible.leader.replicas.version": 1, "group.version": 1, "share.version": 2, "streams.version": 1,
                "transaction.version": 2,
            }, 1,
        ),
    ],
)  # fmt: skip
def test_levels_are_the_defaults_of_the_release(
    release: str, level: int, name: str, features: dict[str, int], kraft_version: int
) -> None:
    made = plan(release)
    assert made.outcome is Outcome.PLANNED
    assert (made.metadata_version_level, made.metadata_version_name) == (level, name)
    assert (made.features, made.kraft_version) == (features, kraft_version)


def test_metadata_directory_is_marked_at_its_place_in_the_configuration() -> None:
    made = plan(node={"log_dirs": ("/data/d1", "/data/d2"), "metadata_log_dir": "/data/d2"})
    assert [(directory.path, directory.role) for directory in made.directories] == [
        ("/data/d1", "data"),
        ("/data/d2", "metadata"),
    ]
    assert len({directory.directory_id for directory in made.directories}) == 2


def test_standalone_makes_this_node_the_one_voter_with_its_directory_id() -> None:
    made = plan(node={"log_dirs": ("/data/d1", "/data/d2")})
    assert [(voter.node_id, voter.directory_id) for voter in made.voters] == [(1, made.directories[0].directory_id)]
    assert [(endpoint.host, endpoint.port) for endpoint in made.voters[0].endpoints] == [("localhost", 9093)]
    assert made.voters[0].endpoints[0].listener == "CONTROLLER"


def test_initial_controllers_give_the_metadata_directory_its_id() -> None:
    made = plan(voter_mode=VoterMode.INITIAL_CONTROLLERS, initial_controllers=VOTERS)
    assert str(made.directories[0].directory_id) == OWN_ID
    assert [voter.node_id for voter in made.voters] == [1, 2]


def test_voters_are_written_in_the_order_of_kafkas_hash_map() -> None:
    ids = (1, 33, 4099, 5, 6, 70, 1000, 2000, 50000, 17, 81, 3001, 92, 1023)
    voters = ",".join(f"{id_}@h:9093:{OWN_ID}" for id_ in sorted(ids))
    made = plan(voter_mode=VoterMode.INITIAL_CONTROLLERS, initial_controllers=voters)
    assert tuple(voter.node_id for voter in made.voters) == ids


def test_credentials_of_one_source_are_equal_on_every_controller() -> None:
    first, second = (plan(scram=(SCRAM,), node={"node_id": id_}) for id_ in (1, 1))
    assert first.directories[0].files[0].content == second.directories[0].files[0].content


def test_credential_is_in_the_checkpoint() -> None:
    content = plan(scram=(SCRAM,)).directories[0].files[0].content
    records = [record for _, record in decode_checkpoint(content).records]
    assert records[-1].type == "UserScramCredentialRecord"
    assert records[-1].data["Name"] == "alice"


def test_zookeeper_mode_broker_is_not_formatted() -> None:
    text = b"broker.id=1\nzookeeper.connect=localhost:2181\nlog.dirs=/data/d1\n"
    from kafkactl.storage.config.node_config import read_node_config

    config = read_node_config(text, file="server.properties", release=find_release("3.9"))
    made = plan("3.9", config=config, node={"static": True})
    refused(made, "zookeeper-mode-node", "appears to be for a legacy cluster")


def test_voter_flags_exclude_static_voters() -> None:
    for mode in (STANDALONE, VoterMode.INITIAL_CONTROLLERS):
        made = plan("4.3", node={"static": True}, voter_mode=mode, initial_controllers=VOTERS)
        refused(made, "static-voters-with-voter-flag", "You cannot specify controller.quorum.voters and format")


def test_static_voters_with_a_voter_flag_are_accepted_by_older_patches() -> None:
    assert plan("3.9.1", node={"static": True}, voter_mode=STANDALONE).outcome is Outcome.PLANNED
    assert plan("4.1.0", node={"static": True}, voter_mode=STANDALONE).outcome is Outcome.PLANNED


def test_no_initial_controllers_changes_nothing_in_a_static_quorum() -> None:
    made = plan("4.3", node={"static": True}, voter_mode=VoterMode.NO_INITIAL_CONTROLLERS)
    assert (made.outcome, made.kraft_version) == (Outcome.PLANNED, 0)


def test_standalone_needs_a_controller() -> None:
    made = plan(node={"roles": "broker"}, voter_mode=STANDALONE)
    refused(made, "standalone-without-controller", "You can only use --standalone on a controller")


def test_dynamic_controller_needs_one_of_the_flags_and_a_broker_none() -> None:
    made = plan(voter_mode=VoterMode.UNSPECIFIED)
    refused(made, "voter-flag-missing", "you must specify one of the following: --standalone")
    assert plan(node={"roles": "broker"}).outcome is Outcome.PLANNED


@pytest.mark.parametrize("mode", [STANDALONE, VoterMode.INITIAL_CONTROLLERS, VoterMode.NO_INITIAL_CONTROLLERS])
def test_releases_before_3_9_have_no_voter_flags(mode: VoterMode) -> None:
    refused(plan("3.8", voter_mode=mode, initial_controllers=VOTERS), "option-not-in-release", f"has no --{mode.value}")


@pytest.mark.parametrize("release", ["3.3", "3.4"])
def test_releases_before_3_5_have_no_users(release: str) -> None:
    made = plan(release, scram=(SCRAM,))
    assert stops(made)[0] == "option-not-in-release"
    assert "has no --add-scram" in made.findings[0].message


def test_releases_before_3_8_have_no_features() -> None:
    refused(plan("3.7", features=("metadata.version=19",)), "option-not-in-release", "has no --feature")


def test_kraft_version_follows_the_patch_release() -> None:
    joining = VoterMode.NO_INITIAL_CONTROLLERS
    assert [plan(f"3.9.{patch}", voter_mode=joining).kraft_version for patch in (0, 1, 2)] == [0, 1, 1]
    broker = {"roles": "broker"}
    assert [plan(f"3.9.{patch}", node=broker).kraft_version for patch in (0, 1, 2)] == [0, 0, 1]


def test_3_3_to_3_6_store_the_canonical_id_and_refuse_what_is_none() -> None:
    made = plan("3.6", cluster_id="XgM8cvG1S-mQ3k4wGhkVpR==")
    assert made.cluster_id == CLUSTER_ID
    assert b"cluster.id=" + CLUSTER_ID.encode() in made.directories[0].files[-1].content
    refused(plan("3.6", cluster_id="abc"), "cluster-id-not-a-uuid", "does not appear to be a valid UUID")


def test_later_releases_store_any_id_and_it_is_reported() -> None:
    made = plan("4.4", cluster_id="abc")
    assert (made.outcome, made.cluster_id) == (Outcome.PLANNED, "abc")
    assert finding(made, "cluster-id-not-a-uuid").severity is Severity.WARNING


def test_migration_takes_the_zookeeper_clusters_id_whatever_its_form() -> None:
    node = {
        "roles": "controller",
        "zookeeper_metadata_migration_enable": "true",
        "zookeeper_connect": "localhost:2181",
    }
    made = plan("3.6", node=node, cluster_id="-my_cluster")
    assert (made.outcome, made.cluster_id) == (Outcome.PLANNED, "-my_cluster")
