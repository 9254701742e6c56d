"""Experiments about feature levels, voters and what a restart forgets; in the manner of `dryrun_experiments`."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from typing import Any

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Uuid
from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.features.plan.change import UpgradeType
from kafkactl.metadata.image.model import Image
from tests.lab.dryrun.experiments import Experiment, calm
from tests.lab.dryrun.stage import Stage
from tests.lab.harness.errors import LabError

_TYPES = {
    ("upgrade", False): UpgradeType.UPGRADE,
    ("downgrade", False): UpgradeType.SAFE_DOWNGRADE,
    ("downgrade", True): UpgradeType.UNSAFE_DOWNGRADE,
    ("disable", False): UpgradeType.SAFE_DOWNGRADE,
    ("disable", True): UpgradeType.UNSAFE_DOWNGRADE,
}


def level(operation: str, levels: Mapping[str, int], *, unsafe: bool = False) -> Experiment:
    """Send one request for all these levels, as Kafka's own tool does."""

    def experiment(stage: Stage) -> object:
        body = {
            "timeoutMs": 10_000,
            "FeatureUpdates": [
                {"Feature": name, "MaxVersionLevel": level, "UpgradeType": int(_TYPES[operation, unsafe])}
                for name, level in levels.items()
            ],
        }
        asked = {"operation": operation, "levels": dict(levels), "unsafe": unsafe}
        answer: dict[str, Any] = {}

        def deed() -> None:
            answer.update(stage.ask("UpdateFeatures", body))

        found = stage.experiment("features", asked, deed, calm)
        _compare_answer(found, answer)
        _compare_levels(found, stage.world().loaded.image)
        return found

    return (
        f"{operation} {', '.join(f'{name}={level}' for name, level in levels.items())}{' unsafe' * unsafe}",
        experiment,
    )


def _compare_answer(found: Prediction, answer: Mapping[str, Any]) -> None:
    """Compare errors by code and by text; where results are given by feature, each feature's own."""
    reported = {
        result["Feature"]: (result["ErrorCode"], result["ErrorMessage"]) for result in answer.get("Results") or []
    }
    whole = (answer["ErrorCode"], answer["ErrorMessage"])
    for feature in found.effects["features"]:
        error = feature["server_error"]
        code, text = reported.get(feature["name"], whole)
        assert code == (error.code if error else 0) or (code and not error and whole[0]), f"{feature}: answered {whole}"
        assert not error or not error.message or text == error.message, f"answered {text}, predicted {error}"


def _compare_levels(found: Prediction, real: Image) -> None:
    refused = found.verdict is Verdict.REFUSED
    for feature in found.effects["features"]:
        now = real.kraft_version if feature["name"] == "kraft.version" else real.features.get(feature["name"], 0)
        kept = refused or not feature["accepted_by_kafka"]
        assert now == (feature["from"] if kept else feature["to"]), (
            f"{feature['name']} is at {now}, predicted {feature}"
        )


def features_of(release: str) -> tuple[Experiment, ...]:
    """Return what may be asked of a cluster that begins below its newest metadata.version."""
    old = (
        level("upgrade", {"metadata.version": 99}),
        level("upgrade", {"metadata.version": 20}),
        level("upgrade", {"foo.version": 1}),
        level("upgrade", {"metadata.version": 21}),
        level("downgrade", {"metadata.version": 20}),
        level("downgrade", {"metadata.version": 20}, unsafe=True),
        level("downgrade", {"metadata.version": 3}, unsafe=True),
        level("upgrade", {"metadata.version": 21}),
    )
    if release.startswith("3."):
        return old
    return (
        level("upgrade", {"metadata.version": 99}),
        level("upgrade", {"foo.version": 1}),
        level("upgrade", {"group.version": 1, "transaction.version": 2}),
        level("upgrade", {"metadata.version": 23}),
        level("upgrade", {"eligible.leader.replicas.version": 1}),
        level("downgrade", {"metadata.version": 22}),
        level("downgrade", {"metadata.version": 21}),
        level("downgrade", {"metadata.version": 21}, unsafe=True),
        level("disable", {"eligible.leader.replicas.version": 0}),
        level("upgrade", {"metadata.version": 25, "foo.version": 1}),
        level("upgrade", {"metadata.version": 25}),
        level("downgrade", {"metadata.version": 24}),
        level("disable", {"transaction.version": 0}),
        level("disable", {"transaction.version": 0}, unsafe=True),
        level("downgrade", {"group.version": 0}),
        level("upgrade", {"transaction.version": 1}),
        level("downgrade", {"transaction.version": 2}),
        level("upgrade", {"transaction.version": 2}),
    )


USERS = ("alice", "bob@x.com", "carol")
_SHOWN = re.compile(r"user-principal '([^']+)'")


def scram_users(stage: Stage) -> set[str]:
    """Return who has a SCRAM credential, as Kafka's own tool lists it."""
    words = ["--bootstrap-server", stage.cluster.bootstrap_server, "--describe", "--entity-type", "users"]
    reported = stage.tool.run_tool(stage.tools, "kafka.admin.ConfigCommand", words)
    assert reported.exit_code == 0, reported.stderr
    return set(_SHOWN.findall(reported.stdout))


def change_user(stage: Stage, user: str, *words: str) -> None:
    """Change a user by Kafka's own tool."""
    given = ["--bootstrap-server", stage.cluster.bootstrap_server, "--alter", "--entity-type", "users"]
    reported = stage.tool.run_tool(stage.tools, "kafka.admin.ConfigCommand", [*given, "--entity-name", user, *words])
    assert reported.exit_code == 0, reported.stderr + reported.stdout


def forget_users(stage: Stage, gone: str) -> tuple[set[str], set[str], set[str]]:
    """Make users, remove one, restart every node: who is there before, who shall be lost, who is there after."""
    for user in USERS:
        change_user(stage, user, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=hunter-of-the-lab]")
    change_user(stage, gone, "--delete-config", "SCRAM-SHA-256")
    before = scram_users(stage)
    stage.settle(lambda _: True)
    found = run("restart", stage.world(restarts=True), {})
    lost = {user for finding in found.findings for user in finding.evidence.get("users", ())}
    nodes = (*stage.cluster.controller_ids, *(broker_id for broker_id in stage.cluster.broker_ids if broker_id != 1))
    stage.cluster.kill(*nodes)
    stage.cluster.start()
    return before, lost, scram_users(stage)


def answered(stage: Stage, log_of: int, name: str, asked: Mapping[str, Any], body: Mapping[str, Any]) -> Prediction:
    """Predict from one controller's log, send the request, and compare code and text."""
    found = run("controllers", stage.world(log_of), asked)
    error = found.effects["server_error"]
    reported = stage.ask(name, {"ClusterId": stage.cluster.cluster_id, **body})
    said = (reported["ErrorCode"], reported["ErrorMessage"])
    assert said[0] == (error.code if error else 0), f"{asked}: answered {said}, predicted {error}"
    same = _sorted if stage.cluster.shape.release >= "4.4" else str
    assert not error or same(said[1]) == same(error.message), f"{asked}: answered {said}, predicted {error}"
    return found


def _sorted(text: str) -> list[str]:
    """Sort the voters: from 4.4 on every JVM names them in an order of its own."""
    return sorted(re.split(r"(?<=\)), |[\[\]]", text))


def lives(stage: Stage, *, after_s: float = 15) -> bool:
    """Return True if there is a leader when one that lost its followers has had the time to notice (3 s) and resign."""
    time.sleep(after_s)
    with contextlib.suppress(LabError):  # an election may be under way
        return stage.cluster.wait_for(lambda: stage.cluster.leader_now() > 0, "a leader", 15)
    return False


def prove_voters(stage: Stage) -> list[tuple[str, bool]]:
    """Prove eight predictions about the voters of three dynamic controllers; the last ends the quorum permanently."""
    cluster, proved_points = stage.cluster, []
    leader = cluster.leader()
    first, other = (node for node in cluster.controller_ids if node != leader)
    keys = {node: Uuid.parse(cluster.directory_id(node)) for node in cluster.controller_ids}
    stranger = Uuid.parse("AAAAAAAAAAAAAAAAAAAAAQ")

    def voter(node_id: int, key: Uuid) -> dict[str, Any]:
        return {"VoterId": node_id, "VoterDirectoryId": key}

    def joins(node_id: int, key: Uuid) -> dict[str, Any]:
        at = cluster.controller_address(node_id)
        listener = {"Name": "CONTROLLER", "Host": at.host, "Port": at.port}
        return {**voter(node_id, key), "TimeoutMs": 10_000, "Listeners": [listener]}

    def wish(node_id: int, key: Uuid) -> dict[str, Any]:
        return {"id": node_id, "directory_id": str(key)}

    def prove(what: str, right: bool) -> None:
        proved_points.append((what, right))

    answered(stage, leader, "RemoveRaftVoter", {"remove": wish(99, stranger)}, voter(99, stranger))
    prove("a stranger is removed", True)
    answered(stage, leader, "AddRaftVoter", {"add": wish(first, keys[first])}, joins(first, keys[first]))
    prove("a voter is added again", True)
    wrong = {"ClusterId": "AAAAAAAAAAAAAAAAAAAAAA"}
    asked = {"remove": wish(first, keys[first]), "cluster_id": wrong["ClusterId"]}
    answered(stage, leader, "RemoveRaftVoter", asked, {**voter(first, keys[first]), **wrong})
    prove("another cluster's id", True)

    found = run("controllers", stage.world(leader), {"lose": [first]})
    cluster.kill(first)
    prove("one of three is lost", (found.verdict is Verdict.DEGRADED) == lives(stage))

    found = answered(
        stage,
        leader,
        "RemoveRaftVoter",
        {"down": [first], "remove": wish(first, keys[first])},
        voter(first, keys[first]),
    )
    prove("the dead one is removed", sorted(cluster.voters()) == found.effects["voters"]["after"])

    cluster.start(first)
    cluster.wait_for(lambda: _follows(stage, first), f"controller {first} following")
    found = answered(stage, leader, "AddRaftVoter", {"add": wish(first, keys[first])}, joins(first, keys[first]))
    prove("it is added again", sorted(cluster.voters()) == found.effects["voters"]["after"])

    found = run("controllers", stage.world(leader), {"lose": [first, other]})
    cluster.kill(first, other)
    prove("two of three are lost", (found.verdict is Verdict.UNAVAILABLE) == (not lives(stage)))
    cluster.start(first, other)

    leader = cluster.leader()
    first, other = (node for node in cluster.controller_ids if node != leader)
    cluster.kill(first)
    found = run("controllers", stage.world(leader), {"down": [first], "remove": wish(other, keys[other])})
    with contextlib.suppress(KafkactlError):
        stage.ask("RemoveRaftVoter", {"ClusterId": cluster.cluster_id, **voter(other, keys[other])})
    prove("a live voter is removed while another is down", (found.verdict is Verdict.WEDGED) == (not lives(stage)))
    return proved_points


def _follows(stage: Stage, node_id: int) -> bool:
    reported = stage.cluster.quorum()
    end = reported["HighWatermark"]
    return any(
        observer["ReplicaId"] == node_id and observer["LogEndOffset"] >= end - 5 for observer in reported["Observers"]
    )
