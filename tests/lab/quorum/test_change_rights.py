"""Changes of a quorum for a user whose rights grow: none, DESCRIBE, ALTER. What is refused changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness import config
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.ports import HOST, free_ports, release_port
from tests.lab.harness.services.secured import plain
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once
from tests.lab.quorum.test_nodes_rights import CLUSTER_ID, LISTENERS, PASSWORD, Site, _settings, ids

RELEASES = ["4.3.1", pytest.param("3.9.2", marks=pytest.mark.campaign)]
Kafkactl = Callable[..., Run]


@pytest.fixture(params=RELEASES)
def places(request: pytest.FixtureRequest, storage_tool: StorageToolServer, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield places: node 1 is broker, controller and the only voter, node 2 a controller that follows."""
    ports = dict(zip((*LISTENERS, "SECOND", "SECOND_GUARDED"), free_ports(len(LISTENERS) + 2), strict=True))
    quorum = config.dynamic_quorum([ports["CONTROLLER"]])
    first = config.combined(
        node_id=1, log_dirs=[tmp_path / "one"], broker_port=1, controller_port=1, quorum=quorum
    ) | _settings(ports)
    second = config.controller(node_id=2, log_dirs=[tmp_path / "two"], port=1, quorum=quorum) | {
        key: value
        for key, value in _settings(ports).items()
        if key.startswith("listener.name.guarded") or key in ("authorizer.class.name", "super.users")
    }
    second |= {
        "listeners": f"CONTROLLER://{HOST}:{ports['SECOND']},GUARDED://{HOST}:{ports['SECOND_GUARDED']}",
        "controller.listener.names": "CONTROLLER,GUARDED",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
    }
    nodes = [KafkaNode(request.param, settings, tmp_path) for settings in (first, second)]
    for node, flag in zip(nodes, ("--standalone", "--no-initial-controllers"), strict=True):
        result = storage_tool.run(request.param, ["format", "-t", CLUSTER_ID, "-c", node.config_file, flag])
        assert result.exit_code == 0, result
    with nodes[0], nodes[1]:
        for node in nodes:
            node.start().wait_ready()
        yield {name: f"{HOST}:{port}" for name, port in ports.items()}
    for port in ports.values():
        release_port(port)


@pytest.fixture
def site(places: dict[str, str], kafkactl: Kafkactl, tmp_path: Path) -> Site:
    file = tmp_path / "alice.properties"
    settings = {"security.protocol": "SASL_PLAINTEXT"} | plain("alice", PASSWORD)
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def quorum(group: str, verb: str, *words: object) -> Run:
        return kafkactl("quorum", verb, *words, "--journal", tmp_path / "journal")

    return Site(places=places, alice=file, kafkactl=quorum)


def test_change_is_done_after_each_right_is_granted(site: Site, kafkactl: Kafkactl) -> None:
    grow = ("reassign", "--target", "1,2", "--allow-size", "--accept-zero-tolerance", "--yes")
    denied = site.run(*grow)
    assert (denied.code, denied.error["id"]) == (4, "not-authorised"), denied
    site.allow("DESCRIBE")
    blind = answer_once(lambda run: run.stdout, lambda: site.run(*grow))
    assert (blind.code, blind.json["outcome"]) == (4, "refused"), blind
    assert {"metadata-log-not-read", "candidate-not-identified", "not-authorised"} <= ids(blind)
    steps = {finding["id"]: finding["next_step"] for finding in blind.json["findings"]}
    assert "--allow-principal User:alice --operation Alter --cluster" in steps["candidate-not-identified"]
    site.allow("ALTER")
    added = answer_once(
        lambda run: run.stdout and "candidate-endpoint-unknown" in ids(run), lambda: site.run(*grow, by="GUARDED")
    )
    assert "metadata-log-not-read" in ids(added)
    assert _voters(site, kafkactl) == [1], "with two listeners nobody tells which is which"
    assert (added.code, "candidate-endpoint-unknown" in ids(added)) == (4, True), added
    (unknown,) = [finding for finding in added.json["findings"] if finding["id"] == "candidate-endpoint-unknown"]
    assert "--operation ClusterAction --cluster" in unknown["next_step"]
    site.allow("CLUSTER_ACTION")
    added = answer_once(lambda run: run.code == 0, lambda: site.run(*grow, by="GUARDED"))
    assert (added.code, added.json["outcome"], _voters(site, kafkactl)) == (0, "done", [1, 2]), added


@pytest.mark.campaign
def test_removal_needs_alter_and_says_so(site: Site, kafkactl: Kafkactl) -> None:
    everybody = ["--bootstrap-controller", site.places["CONTROLLER"]]
    flags = ["--allow-size", "--accept-zero-tolerance", "--yes"]
    grown = site.kafkactl("quorum", "reassign", "--target", "1,2", *flags, *everybody)
    assert grown.code == 0, grown
    seen = kafkactl("quorum", "describe", *everybody, "-o", "json").json
    (directory,) = [voter["directory_id"] for voter in seen["voters"] if voter["id"] == 2]
    site.allow("DESCRIBE")
    refused = site.run("remove-controller", "-i", "2", "-d", directory)
    assert (refused.code, refused.json["outcome"]) == (4, "refused"), refused
    (finding,) = [finding for finding in refused.json["findings"] if finding["id"] == "not-authorised"]
    assert "--allow-principal User:alice --operation Alter --cluster" in finding["next_step"]
    assert {step["state"] for step in refused.json["steps"]} == {"pending"}
    assert _voters(site, kafkactl) == [1, 2]
    site.allow("ALTER")
    done = site.run("remove-controller", "-i", "2", "-d", directory)
    assert (done.code, done.json["outcome"], _voters(site, kafkactl)) == (0, "done", [1]), done


def _voters(site: Site, kafkactl: Kafkactl) -> list[int]:
    answer = kafkactl("quorum", "describe", "--bootstrap-controller", site.places["CONTROLLER"], "-o", "json")
    return [voter["id"] for voter in answer.json["voters"]]
