"""Checks of planned files before the quorum is up: of the files that the nodes will be started with."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import blockers
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.checks.planned_files import planned_files
from kafkactl.migration.checks.registry import check
from tests.migration.observations import World, world

FLAG = "zookeeper.metadata.migration.enable"
RENDERED_LATER = (
    FLAG, "zookeeper.connect", "inter.broker.listener.name", "authorizer.class.name", "password.encoder.secret",
    "delegation.token.secret.key",
)  # fmt: skip
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="no";'


def fresh() -> World:
    """Return M0 with a controller that is neither formatted nor started."""
    return world("M2").but(formatted=False)


def ordinary(seen: World) -> World:
    """Return a controller as Kafka's own example file makes it: nothing in it is of a migration."""
    for key in RENDERED_LATER:
        seen = seen.file(3001, key, None)
    return seen


def sasl(seen: World) -> World:
    """Return a case in which the controllers' listener asks for SASL/PLAIN."""
    protocols = "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    login = "listener.name.controller.plain.sasl.jaas.config"
    seen = seen.file(3001, "listener.security.protocol.map", protocols).file(3001, login, PLAIN)
    return seen.file(3001, "sasl.mechanism.controller.protocol", "PLAIN").file(3001, "sasl.enabled.mechanisms", "PLAIN")


def test_problem_that_rendering_corrects_is_not_a_blocker() -> None:
    found = check(ordinary(fresh()).observation())
    assert blockers(found) == []
    replaced = [finding for finding in found if finding.id == "controller-file-will-be-replaced"]
    assert [finding.subject for finding in replaced] == ["controller 3001"]
    assert set(RENDERED_LATER) <= set(replaced[0].evidence["set"])


@pytest.mark.parametrize(
    ("key", "value", "id"),
    [
        ("super.users", None, "super-users-missing-on-controller"),
        ("process.roles", "broker,controller", "controller-not-alone"),
        ("zookeeper.connect", "zk:2181/another", "chroot-mismatch"),
        ("delegation.token.secret.key", "another", "render-secret-differs"),
        ("listeners", "CONTROLLER", "node-file-refused"),
    ],
)
def test_problem_that_rendering_does_not_correct_stays_a_blocker(key: str, value: str | None, id: str) -> None:
    found = check(ordinary(fresh()).file(3001, key, value).observation())
    assert id in {finding.id for finding in blockers(found)}


def test_formatted_controller_is_judged_by_the_file_that_is_there() -> None:
    found = check(ordinary(world("M2")).observation())
    assert {finding.id for finding in blockers(found)} == {"controller-without-flag"}


def test_controller_that_runs_is_judged_by_its_own_file() -> None:
    found = check(world("M3").file(3001, "authorizer.class.name", None).observation())
    assert "controller-without-authorizer" in {finding.id for finding in blockers(found)}


def test_missing_credentials_are_asked_for_by_name() -> None:
    found = check(sasl(ordinary(fresh())).observation())
    missing = {finding.subject: finding for finding in found if finding.id == "listener-credentials-missing"}
    assert set(missing) == {"broker 1", "broker 2"}
    key = "listener.name.controller.plain.sasl.jaas.config"
    assert key in missing["broker 1"].message and key in missing["broker 1"].next_step
    assert missing["broker 1"].evidence["check"] == "C-14"


def test_credentials_in_the_brokers_own_files_are_seen() -> None:
    # The protocol of that listener is not in the brokers' files yet; the rendered ones have it.
    seen = sasl(ordinary(fresh())).file(3001, "super.users", "User:ANONYMOUS;User:admin")
    for broker in (1, 2):
        seen = seen.file(broker, "listener.name.controller.plain.sasl.jaas.config", PLAIN)
    found = [finding for finding in check(seen.observation()) if finding.evidence["check"] == "C-14"]
    assert found == []


def test_secret_that_a_saved_observation_hides_is_not_missing() -> None:
    seen = ordinary(fresh())
    for broker in (1, 2):
        seen = seen.file(broker, "delegation.token.secret.key", "<redacted>")
    assert "delegation-token-key-mismatch" not in {finding.id for finding in blockers(check(seen.observation()))}


def test_files_that_were_not_observed_are_not_made_up() -> None:
    seen = ordinary(fresh()).observation()
    nodes = tuple(
        changed(node, config_text=None, config=None) if node.role is Role.CONTROLLER else node for node in seen.nodes
    )
    blind = changed(seen, nodes=nodes)
    assert planned_files(blind).observation is blind


def test_brokers_that_wait_to_enter_are_known_to_a_quorum_that_is_up() -> None:
    seen = sasl(world("M3"))
    for broker in (1, 2):
        seen = seen.file(broker, "listener.name.controller.plain.sasl.jaas.config", PLAIN)
    found = [finding for finding in check(seen.observation()) if finding.evidence["check"] == "C-14"]
    assert found == []
