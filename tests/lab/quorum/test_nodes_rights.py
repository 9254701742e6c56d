"""`kafkactl nodes` for a user with some of the rights it takes: what is not allowed is reported, the rest is shown."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness import config
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.ports import HOST, free_ports, release_port
from tests.lab.harness.services.secured import plain
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once

Kafkactl = Callable[..., Run]
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
PASSWORD = "al1ce-s3cret"
LISTENERS = {"CLEAR": "PLAINTEXT", "LOGIN": "SASL_PLAINTEXT", "CONTROLLER": "PLAINTEXT", "GUARDED": "SASL_PLAINTEXT"}
DEAD = 2
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node at which anonymous users may do everything and alice nothing; and the registration of a dead broker."""

    places: dict[str, str]
    alice: Path
    kafkactl: Kafkactl

    def run(self, verb: str, *words: object, by: str = "LOGIN") -> Run:
        option = "--bootstrap-controller" if by == "GUARDED" else "--bootstrap-server"
        where = [option, self.places[by], "--command-config", self.alice]
        run = self.kafkactl("nodes", verb, *words, *where, "-o", "json")
        assert PASSWORD not in run.stdout + run.stderr
        return run

    def allow(self, operation: str) -> None:
        """Grant alice these operations on the cluster: in force when every node has read the record."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from kafka.admin import (
                ACL,
                ACLOperation,
                ACLPermissionType,
                KafkaAdminClient,
                ResourcePattern,
                ResourceType,
            )

            admin = KafkaAdminClient(bootstrap_servers=self.places["CLEAR"])
            cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
            acl = ACL("User:alice", "*", ACLOperation[operation], ACLPermissionType.ALLOW, cluster)
            answer = admin.create_acls([acl])
            admin.close()
        assert not answer.get("failed"), answer


@pytest.fixture(params=["4.4.0", pytest.param("3.9.2", marks=pytest.mark.campaign)])
def places(
    request: pytest.FixtureRequest, storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("rights")
    ports = dict(zip((*LISTENERS, "DEAD"), free_ports(len(LISTENERS) + 1), strict=True))
    quorum = config.static_quorum({1: ports["CONTROLLER"]})
    settings = _settings(ports)
    node = KafkaNode(
        request.param,
        config.combined(
            node_id=1, log_dirs=[folder / "data"], broker_port=1, controller_port=ports["CONTROLLER"], quorum=quorum
        ) | settings,
        folder,
    )  # fmt: skip
    dead = KafkaNode(
        request.param,
        config.broker(node_id=DEAD, log_dirs=[folder / "dead"], port=ports["DEAD"], quorum=quorum),
        folder,
    )
    for broker in (node, dead):
        result = storage_tool.run(request.param, ["format", "-t", CLUSTER_ID, "-c", broker.config_file])
        assert result.exit_code == 0, result
    with node, dead:
        node.start().wait_ready()
        dead.start().wait_ready()
        dead.kill()
        yield {name: f"{HOST}:{port}" for name, port in ports.items()}
    for port in ports.values():
        release_port(port)


def _settings(ports: dict[str, int]) -> dict[str, str]:
    jaas = f'{_MODULE} required username="alice" password="{PASSWORD}" user_alice="{PASSWORD}";'
    logins = {
        f"listener.name.{name}.{key}": value
        for name in ("login", "guarded")
        for key, value in (("sasl.enabled.mechanisms", "PLAIN"), ("plain.sasl.jaas.config", jaas))
    }
    return logins | {
        "listeners": ",".join(f"{name}://{HOST}:{ports[name]}" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in LISTENERS.items()),
        "controller.listener.names": "CONTROLLER,GUARDED",
        "inter.broker.listener.name": "CLEAR",
        "advertised.listeners": ",".join(f"{name}://{HOST}:{ports[name]}" for name in ("CLEAR", "LOGIN")),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
    }


@pytest.fixture
def site(places: dict[str, str], kafkactl: Kafkactl, tmp_path: Path) -> Site:
    file = tmp_path / "alice.properties"
    settings = {"security.protocol": "SASL_PLAINTEXT"} | plain("alice", PASSWORD)
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return Site(places=places, alice=file, kafkactl=kafkactl)


def ids(run: Run) -> set[str]:
    return {finding["id"] for finding in run.json["findings"]}


def test_nodes_are_listed_after_each_right_is_granted(site: Site) -> None:
    # One test, for rights only grow: none, DESCRIBE, CLUSTER_ACTION, ALTER.
    _without_rights(site)
    site.allow("DESCRIBE")
    _with_describe(site)
    site.allow("CLUSTER_ACTION")
    _with_the_log(site)
    site.allow("ALTER")
    done = answer_once(lambda run: run.code == 0, lambda: site.run("unregister", "--id", DEAD, "--yes", by="GUARDED"))
    # After an attempt whose outcome was unknown, the next one has nothing to do.
    assert done.code == 0 and done.json["outcome"] in ("done", "nothing-to-do"), done.stdout + done.stderr
    assert list(answer_once(lambda rows: DEAD not in rows, lambda: listed_rows(site))) == [1]


def listed_rows(site: Site) -> dict[int, Any]:
    """Return the listed nodes by id; only the dead one, without facts, if the command has no answer."""
    run = site.run("list", by="GUARDED")
    return {node["id"]: node for node in run.json["nodes"]} if run.code == 0 else {DEAD: {}}


def _without_rights(site: Site) -> None:
    listed = site.run("list")
    assert listed.code == 0
    assert {"quorum-not-seen", "metadata-log-not-read"} <= ids(listed)
    assert {node["registered"] for node in listed.json["nodes"]} == {None}
    refused = site.run("unregister", "--id", DEAD, "--yes")
    assert (refused.code, refused.json["outcome"]) == (4, "refused")
    assert "registrations-not-read" in ids(refused)
    denied = site.run("list", by="GUARDED")
    assert (denied.code, denied.stdout) == (4, ""), "an answer about nothing is an error"
    assert denied.error["id"] == "not-authorised", denied.error


def _with_describe(site: Site) -> None:
    listed = answer_once(
        lambda run: run.code == 0 and "quorum-not-seen" not in ids(run), lambda: site.run("list", by="GUARDED")
    )
    assert listed.code == 0
    assert "metadata-log-not-read" in ids(listed) and "quorum-not-seen" not in ids(listed)
    assert [(node["id"], node["voter"], node["registered"]) for node in listed.json["nodes"]] == [(1, True, None)]


def _with_the_log(site: Site) -> None:
    # The session of the dead broker ends, and the right is in force.
    rows = answer_once(lambda rows: rows.get(DEAD, {}).get("fenced"), lambda: listed_rows(site))
    assert (rows[DEAD]["registered"], rows[DEAD]["stale"]) == (True, True)
    failed = site.run("unregister", "--id", DEAD, "--yes", by="GUARDED")
    assert (failed.code, failed.json["outcome"]) == (4, "refused"), failed.stdout
    (finding,) = [finding for finding in failed.json["findings"] if finding["id"] == "not-authorised"]
    assert "--allow-principal User:alice --operation Alter --cluster" in finding["next_step"]
