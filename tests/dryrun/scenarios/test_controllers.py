"""Voters lost, added and removed; feature levels: against what real clusters answered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Severity
from kafkactl.core.values import Endpoint
from kafkactl.dryrun.api import context_of, predict
from kafkactl.dryrun.controller.appended_records import records_of
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction, ServerError, Verdict
from kafkactl.dryrun.scenarios.controllers import ControllerEvent, controllers
from kafkactl.dryrun.scenarios.features import feature_levels
from kafkactl.dryrun.voter_change import VoterChange, parse_voter_change
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.metadata.image.model import Controller, FeatureRange, Image
from kafkactl.protocol.catalog.releases import find_release
from tests.dryrun.clusters import cluster, uuid

HOSTILE_LINES = {"dryrun controllers": ("{log} --lose 1",)}

INPUTS = {"controllers": [{}, {"add": {"id": 9}}]}


def quorum(*ids: int, kraft_version: int = 1) -> tuple[Image, Facts]:
    image, facts = cluster("brokers 11 12")
    voters = tuple(Voter(node_id=id, directory_id=uuid(id), endpoints=()) for id in ids)
    return replace(image, voters=voters, kraft_version=kraft_version), facts


def ids(*members: int) -> frozenset[int]:
    return frozenset(members)


def error(found: Prediction) -> int | None:
    server_error = found.effects["server_error"]
    return None if server_error is None else int(server_error.code)


@pytest.mark.parametrize(
    "voters, event, verdict",
    [
        ((1, 2, 3), ControllerEvent(lose=ids(1)), Verdict.DEGRADED),
        ((1, 2, 3), ControllerEvent(lose=ids(1, 2)), Verdict.UNAVAILABLE),
        ((1, 2, 3), ControllerEvent(), Verdict.OK),
        ((1, 2, 3, 4, 5), ControllerEvent(down=ids(4), lose=ids(5)), Verdict.DEGRADED),
        # Measured: one of three dead and a healthy one removed, or the leader; five with two dead.
        ((1, 2, 3), ControllerEvent(down=ids(3), remove=VoterChange(node_id=2)), Verdict.WEDGED),
        ((1, 2, 3, 4, 5), ControllerEvent(down=ids(4, 5), remove=VoterChange(node_id=2)), Verdict.WEDGED),
        # Measured: four with one dead, a healthy one removed: fine; a dead one removed: fine.
        ((1, 2, 3, 4), ControllerEvent(down=ids(4), remove=VoterChange(node_id=3)), Verdict.OK),
        ((1, 2, 3), ControllerEvent(down=ids(3), remove=VoterChange(node_id=3)), Verdict.OK),
        ((1, 2, 3), ControllerEvent(add=VoterChange(node_id=4, directory_id=uuid(4))), Verdict.OK),
        ((1, 2, 3), ControllerEvent(down=ids(3), add=VoterChange(node_id=4)), Verdict.OK),
    ],
)
def test_verdict_follows_the_majority(voters: tuple[int, ...], event: ControllerEvent, verdict: Verdict) -> None:
    assert controllers(*quorum(*voters), event).verdict is verdict


def test_sum_is_reported() -> None:
    found = controllers(*quorum(1, 2, 3), ControllerEvent(lose=ids(1)))
    assert found.effects["majority"] == {"before": 2, "after": 2}
    assert found.effects["tolerates"] == {"before": 1, "after": 0}


@pytest.mark.parametrize(
    "event, code, words",
    [
        (
            ControllerEvent(add=VoterChange(node_id=2, directory_id=uuid(9))),
            126,
            "is already part of the set of voters",
        ),
        (ControllerEvent(remove=VoterChange(node_id=9)), 127, "Cannot remove voter ReplicaKey(id=9"),
        (ControllerEvent(remove=VoterChange(node_id=2, directory_id=uuid(9))), 127, "Cannot remove voter"),
        (ControllerEvent(remove=VoterChange(node_id=2), cluster_id="a", own_cluster_id="b"), 104, "doesn't match"),
        (ControllerEvent(down=ids(3, 4), add=VoterChange(node_id=4)), 7, "BROKER_NOT_AVAILABLE"),
        (ControllerEvent(down=ids(1, 2), remove=VoterChange(node_id=2)), 7, "no controller leads"),
    ],
)
def test_voter_change_is_refused_with_the_code_of_kafka(event: ControllerEvent, code: int, words: str) -> None:
    found = controllers(*quorum(1, 2, 3), event)
    answers = event.add is not None and event.add.node_id not in event.down
    assert ("runs, has caught up" in str(found.assumptions)) is answers
    assert (found.verdict, error(found)) == (Verdict.REFUSED, code)
    assert words in found.effects["server_error"].message


@pytest.mark.parametrize(
    "release, id, shown",
    [
        ("4.3", 9, "directoryId=<undefined>)"),
        ("3.9", 9, "directoryId=Optional.empty)"),
        ("4.3", 1, f"directoryId={uuid(1)})"),
    ],
)
def test_unnamed_directory_is_shown_in_the_error(release: str, id: int, shown: str) -> None:
    image, facts = quorum(1)
    found = controllers(
        image, replace(facts, release=find_release(release)), ControllerEvent(remove=VoterChange(node_id=id))
    )
    assert f"Cannot remove voter ReplicaKey(id={id}, {shown} from" in found.effects["server_error"].message


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_listener_of_a_new_voter_is_compared_without_case(kraft_version: int) -> None:
    # Measured on 3.9.2 and 4.3.1: names in any case, and looked at before kraft.version.
    image, facts = quorum(1, kraft_version=kraft_version)
    endpoint = Endpoint(listener="CONTROLLER", host="h", port=9093)
    image = replace(image, voters=(replace(image.voters[0], endpoints=(endpoint,)),) if image.voters else None)
    for known in (
        replace(facts, leader_id=1),
        replace(facts, static={"controller.listener.names": "CONTROLLER,OTHER"}),
    ):
        found = controllers(image, known, ControllerEvent(add=VoterChange(node_id=5, endpoint="foo://nohost:9093")))
        assert found.effects["server_error"] == ServerError(
            code=42,
            message="Add voter request didn't include the endpoint (Endpoints(endpoints={ListenerName(FOO)=nohost/"
            "<unresolved>:9093})) for the default listener ListenerName(CONTROLLER)",
        )
        right = controllers(image, known, ControllerEvent(add=VoterChange(node_id=5, endpoint="Controller://h:9093")))
        assert error(right) == (None if kraft_version else 35)


def test_removal_of_the_last_voter_or_a_static_voter_is_refused() -> None:
    assert error(controllers(*quorum(1), ControllerEvent(remove=VoterChange(node_id=1)))) == 127
    image, facts = cluster("brokers 11", **{"controller.quorum.voters": "1@a:1,2@b:1,3@c:1"})
    found = controllers(image, facts, ControllerEvent(remove=VoterChange(node_id=1)))
    assert found.effects["server_error"] == ServerError(
        code=35, message="Cluster doesn't support removing voter because the kraft.version feature is 0"
    )


def test_voters_are_known_from_the_last_leader_change_else_unknown() -> None:
    image, facts = cluster("brokers 11")
    assert controllers(image, facts, ControllerEvent(lose=ids(1)), [1, 2, 3]).verdict is Verdict.DEGRADED
    assert controllers(image, facts, ControllerEvent(lose=ids(1))).verdict is Verdict.UNKNOWN


def test_voter_change_is_parsed() -> None:
    assert parse_voter_change("3") == VoterChange(node_id=3)
    text = f"3:{uuid(3)}@CONTROLLER://h:9093"
    assert parse_voter_change(text) == VoterChange(node_id=3, directory_id=uuid(3), endpoint="CONTROLLER://h:9093")
    for wrong in ("", "x", "3:", "3:AAAAAAAAAAAAAAAAAAAAAw@h:9093", "3@CONTROLLER://h"):
        with pytest.raises(InputError):
            parse_voter_change(wrong)


def registered(text: str, kafka: str = "4.3", ranges: dict[str, tuple[int, int]] | None = None) -> tuple[Image, Facts]:
    image, facts = cluster(text)
    features = {name: FeatureRange(*held) for name, held in (ranges or _ranges(kafka)).items()}
    node = Controller(
        id=9, incarnation_id=uuid(9), zk_migration_ready=False, listeners=(), features=features
    )  # fmt: skip
    brokers = {broker.id: replace(broker, features=features) for broker in image.brokers.values()}
    return replace(image, controllers={9: node}, brokers=brokers), replace(facts, leader_id=9)


def _ranges(kafka: str) -> dict[str, tuple[int, int]]:
    newest = {"4.0": 25, "4.3": 30, "4.4": 33}[kafka]
    return {"metadata.version": (7, newest), "group.version": (0, 1), "eligible.leader.replicas.version": (0, 1)}


def change(world: tuple[Image, Facts], operation: Operation, *, unsafe: bool = False, **levels: int) -> Prediction:
    named = {name.replace("_", "."): level for name, level in levels.items()}
    request = FeatureRequest(operation=operation, levels=named, unsafe=unsafe)
    return feature_levels(*world, request, voters=(9,))


PREFIX = "The update failed for all features since the following feature had an error: "


@pytest.mark.parametrize(
    "level, operation, asked, words",
    [
        (25, Operation.UPGRADE, {"metadata_version": 31},
         "Invalid update version 31 for feature metadata.version. Local controller 9 only supports versions 7-30"),
        (25, Operation.UPGRADE, {"foo_version": 1},
         "Invalid update version 1 for feature foo.version. Local controller 9 does not support this feature."),
        (22, Operation.UPGRADE, {"metadata_version": 16},
         "Invalid update version 16 for feature metadata.version. Can't downgrade the version of this feature without "
         "setting the upgrade type to either safe or unsafe downgrade."),
        (14, Operation.DOWNGRADE, {"metadata_version": 20},
         "Invalid update version 20 for feature metadata.version. Can't downgrade to a newer version."),
        (14, Operation.DOWNGRADE, {"metadata_version": 13},
         "Unsupported metadata.version downgrade from 14 to 13. Refusing to perform the requested downgrade because it "
         "might delete metadata information."),
        (17, Operation.UPGRADE, {"eligible_leader_replicas_version": 1},
         "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23"),
    ],
)  # fmt: skip
def test_feature_change_is_refused_with_the_message_of_kafka(
    level: int, operation: Operation, asked: dict[str, int], words: str
) -> None:
    # Measured on 4.3.1.
    world = registered(f"levels metadata.version={level}\nbrokers 1 2")
    found = change(world, operation, **asked)
    assert found.verdict is Verdict.REFUSED
    (feature,) = found.effects["features"]
    assert feature["server_error"].message == PREFIX + words
    assert found.operations == ()


def unregistered(kafka: str, level: int) -> tuple[Image, Facts]:
    """Return a cluster below metadata.version 15: no controller registers (measured on 3.3.2 and 3.6.2)."""
    image, facts = registered(f"levels metadata.version={level}\nbrokers 1 2", ranges={"metadata.version": (1, level)})
    return replace(image, controllers={}), replace(facts, release=find_release(kafka))


def test_controllers_that_never_register_have_the_range_of_their_release() -> None:
    # Measured on 3.6.2, static quorum: 11 to 12 is accepted, and so is 14; 3.3.2 refuses 8 in these words.
    image, facts = unregistered("3.6", 11)
    ranges = {"metadata.version": FeatureRange(1, 14)}
    image = replace(image, brokers={broker.id: replace(broker, features=ranges) for broker in image.brokers.values()})
    found = change((image, facts), Operation.UPGRADE, metadata_version=12)
    assert (found.verdict, found.findings) == (Verdict.OK, ())
    assert [record.data["FeatureLevel"] for record in records_of(found.operations or (), facts.rules)] == [12]

    found = change(unregistered("3.3", 7), Operation.UPGRADE, metadata_version=8)
    assert found.verdict is Verdict.REFUSED
    assert found.effects["features"][0]["server_error"].message == (
        "Invalid update version 8 for feature metadata.version. Local controller 9 only supports versions 1-7"
    )


def test_feature_change_is_refused_with_the_message_of_older_releases() -> None:
    # Measured: 3.6.2 going from 14 to 13; 3.7.2 right after 15, before the controllers have registered.
    image, facts = unregistered("3.6", 14)
    found = change((image, facts), Operation.DOWNGRADE, metadata_version=13)
    assert found.effects["features"][0]["server_error"].message == (
        "Invalid metadata.version 13. Refusing to perform the requested downgrade because it might delete metadata "
        "information. Retry using UNSAFE_DOWNGRADE if you want to force the downgrade to proceed."
    )
    image, facts = unregistered("3.7", 15)
    ranges = {"metadata.version": FeatureRange(1, 19)}
    image = replace(image, brokers={broker.id: replace(broker, features=ranges) for broker in image.brokers.values()})
    request = FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 19})
    found = feature_levels(image, facts, request, voters=(8, 9))
    assert found.verdict is Verdict.REFUSED
    assert found.effects["features"][0]["server_error"].message == (
        "Invalid update version 19 for feature metadata.version. controller 8 has not registered, and may not support "
        "this feature"
    )


def test_named_release_is_what_the_controllers_support() -> None:
    image, facts = registered("levels metadata.version=25\nbrokers 1 2")
    newer = {
        broker.id: replace(broker, features={"metadata.version": FeatureRange(7, 33)})
        for broker in image.brokers.values()
    }
    world = replace(image, brokers=newer), replace(facts, release=find_release("4.4"), release_named=True)
    assert change(world, Operation.UPGRADE, metadata_version=31).verdict is not Verdict.REFUSED
    world = image, replace(facts, release=find_release("4.4"), release_named=True)
    found = change(world, Operation.UPGRADE, metadata_version=31)
    assert found.effects["features"][0]["server_error"].message.endswith("Broker 1 only supports versions 7-30")


def test_without_a_majority_no_request_is_answered() -> None:
    image, facts = registered("levels metadata.version=25\nbrokers 1 2")
    request = FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 26})
    found = feature_levels(image, facts, request, voters=(8, 9, 10), down=frozenset({8, 10}))
    assert found.verdict is Verdict.UNKNOWN
    assert "no-active-controller" in {finding.id for finding in found.findings}
    assert feature_levels(image, facts, request, voters=(9,), down=frozenset()).verdict is not Verdict.UNKNOWN


STATIC = {"metadata.version": (7, 30), "kraft.version": (0, 1)}


def static_quorum(*ids: int, ranges: dict[int, dict[str, tuple[int, int]]] | None = None) -> tuple[Image, Facts]:
    """Return registered controllers of 4.3 at kraft.version 0, of which 9 leads."""
    image, facts = registered("levels metadata.version=25\nbrokers 1", ranges=STATIC)
    held = {id: {name: FeatureRange(*levels) for name, levels in (ranges or {}).get(id, STATIC).items()} for id in ids}
    return replace(
        image, controllers={id: replace(image.controllers[9], id=id, features=held[id]) for id in ids}
    ), facts


CONVERT = FeatureRequest(operation=Operation.UPGRADE, levels={"kraft.version": 1})


@pytest.mark.parametrize("expected", [(8, 9, 10), ()])
def test_conversion_of_a_sound_static_quorum_is_expected_to_work(expected: tuple[int, ...]) -> None:
    # Measured on 4.3.1 and 4.4.0: accepted wherever every voter lives and reported to the leader.
    found = feature_levels(*static_quorum(8, 9, 10), CONVERT, voters=expected)
    (feature,) = found.effects["features"]
    assert (feature["verdict"], feature["accepted_by_kafka"]) == ("ok", True)
    assert found.verdict is Verdict.DEGRADED, "it works, and has no way back"
    assert {finding.id for finding in found.findings if finding.severity is not Severity.INFO} == {"one-way-change"}
    assert any("8, 9, 10" in text and "reported" in text for text in found.assumptions)


def test_conversion_with_a_voter_down_is_what_a_log_cannot_tell() -> None:
    # Measured: accepted if the voter failed after it had reported to this leader, refused where before.
    found = feature_levels(*static_quorum(8, 9, 10), CONVERT, voters=(8, 9, 10), down=frozenset({10}))
    assert (found.verdict, found.effects["features"][0]["accepted_by_kafka"]) == (Verdict.UNKNOWN, None)
    assert "voter-not-ready" in {finding.id for finding in found.findings}


def test_voter_that_the_live_leader_does_not_see_is_taken_for_dead() -> None:
    world = static_quorum(8, 9, 10)
    found = feature_levels(*world, CONVERT, voters=(8, 9, 10), not_alive={10: "did not advance in 2000 ms"})
    assert found.verdict is Verdict.UNKNOWN
    assert any("controller 10 is considered down" in text for text in found.assumptions)


def test_conversion_under_a_new_leader_that_a_voter_never_met_is_refused() -> None:
    found = feature_levels(*static_quorum(8, 9, 10), CONVERT, voters=(8, 9, 10), down=frozenset({9}))
    assert found.verdict is Verdict.REFUSED
    assert found.effects["features"][0]["server_error"].message == (
        f"{PREFIX}Invalid upgrade of kraft.version to KRAFT_VERSION_1 because not all of the voters support it"
    )


def test_conversion_with_a_voter_that_supports_no_dynamic_quorum_is_refused() -> None:
    world = static_quorum(8, 9, 10, ranges={10: {"metadata.version": (7, 30)}})
    found = feature_levels(*world, CONVERT, voters=(8, 9, 10))
    assert found.verdict is Verdict.REFUSED


def test_turning_elr_on_writes_configurations_first() -> None:
    # Measured on 4.0.2 and 4.3.1: the cluster's value, then the brokers' deleted, then the level, in one batch.
    image, facts = registered("levels metadata.version=25\nbrokers 1 2")
    image = replace(image, configs={(4, "1"): {"min.insync.replicas": "3"}})
    facts = replace(facts, static={"min.insync.replicas": "2"})
    found = change((image, facts), Operation.UPGRADE, eligible_leader_replicas_version=1)
    assert found.verdict in (Verdict.OK, Verdict.DEGRADED)
    written = [
        (record.type, record.data.get("ResourceName"), record.data.get("Value") or record.data.get("FeatureLevel"))
        for record in records_of(found.operations or (), facts.rules)
    ]
    assert written == [("ConfigRecord", "", "2"), ("ConfigRecord", "1", None), ("FeatureLevelRecord", None, 1)]


def test_upgrade_that_works_and_has_no_rollback() -> None:
    found = change(registered("levels metadata.version=25\nbrokers 1 2"), Operation.UPGRADE, metadata_version=30)
    (feature,) = found.effects["features"]
    assert (feature["from"], feature["to"], feature["verdict"], feature["reversible"]) == (25, 30, "ok", False)
    assert [record.type for record in records_of(found.operations or (), found.facts.rules)] == ["FeatureLevelRecord"]


def test_dead_broker_of_an_old_release_blocks() -> None:
    image, facts = registered("levels metadata.version=25\nbrokers 1 2\nbroker 2 fenced")
    old = replace(image.brokers[2], features={"metadata.version": FeatureRange(7, 25)})
    found = change((replace(image, brokers={**image.brokers, 2: old}), facts), Operation.UPGRADE, metadata_version=27)
    assert found.effects["features"][0]["server_error"].message.endswith("Broker 2 only supports versions 7-25")


def test_change_that_only_kafka_accepts_is_degraded() -> None:
    # No release checks if metadata.version is lowered below what another feature needs.
    world = registered("levels metadata.version=25 eligible.leader.replicas.version=1\nbrokers 1 2")
    image, facts = world
    found = change((image, facts), Operation.DOWNGRADE, metadata_version=23)
    assert (found.verdict, found.effects["features"][0]["accepted_by_kafka"]) == (Verdict.OK, True)
    again = change((image, facts), Operation.UPGRADE, metadata_version=25)
    assert [record.data["FeatureLevel"] for record in records_of(again.operations or (), facts.rules)] == [25]


def test_3_9_writes_what_is_good_of_a_mixed_request() -> None:
    # Measured on 3.9.2: metadata.version written, the other answered with 95.
    image, facts = registered(
        "kafka 3.9\nlevels metadata.version=19\nbrokers 1 2",
        ranges={"metadata.version": (1, 21), "kraft.version": (0, 1)},
    )
    found = change((image, facts), Operation.UPGRADE, metadata_version=20, foo_version=1)
    assert [feature["verdict"] for feature in found.effects["features"]] == ["ok", "refused"]
    assert found.verdict is Verdict.DEGRADED
    assert [record.data["Name"] for record in records_of(found.operations or (), facts.rules)] == ["metadata.version"]


def asked(*voters: int, **inputs: object) -> Prediction:
    image, facts = quorum(*voters)
    context = context_of(image, release=facts.release)
    return predict(context, "controllers", **inputs)


def test_simulation_says_its_runs_and_seed() -> None:
    found = asked(1, 2, 3, lose=[3], simulate=2, seed=5)
    simulation = found.effects["simulation"]
    assert simulation is not None
    assert (simulation["runs"], simulation["seed"]) == (2, 5)
    assert (found.input["simulate"], found.input["seed"]) == (2, 5)
    assert {row["failed"] for row in simulation["second_failures"]} == {None, 1, 2}
    assert [row["cause"] for row in simulation["elections"]] == ["host-lost", "process-killed", "graceful-stop"]
    assert any(text.startswith("simulated:") for text in found.assumptions)
    assert asked(1, 2, 3, lose=[3]).effects.get("simulation") is None


def test_refused_or_unknown_change_is_not_simulated() -> None:
    refused = asked(1, 2, 3, remove={"id": 9}, simulate=1).effects["simulation"]
    assert refused is not None
    assert refused["elections"]
    assert not refused["second_failures"]
    assert asked(1, 2, 3, down=[2, 3], lose=[1], simulate=1).effects["simulation"] is None
    with pytest.raises(InputError) as caught:
        asked(1, 2, 3, simulate=10_001)
    assert caught.value.id == "invalid-simulation"
