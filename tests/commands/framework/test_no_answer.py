"""An answer about nothing is not a success: every command that asks a live cluster, at listeners that give nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.commands.demo.broker import CLOSE, SILENCE, Action, Asked, FakeBroker, Reply
from kafkactl.core.values import Role
from kafkactl.kafka.retries import Backoff
from tests.conftest import Run
from tests.kafka.feature_cluster import VERSIONS_OF_CONTROLLER, FakeCluster
from tests.sampling import one_in

Kafkactl = Callable[..., Run]
COMMANDS = [
    ("features", "describe"),
    ("features", "describe", "--node-id", "1"),
    ("features", "verify"),
    ("features", "plan", "--metadata", "4.3"),
    ("features", "upgrade", "--metadata", "4.3", "--dry-run"),
    ("features", "upgrade", "--metadata", "4.3"),
    ("features", "disable", "--feature", "group.version"),
    ("nodes", "list"),
    ("nodes", "unregister", "--id", "4", "--yes"),
    ("quorum", "describe"),
    ("quorum", "describe", "--status"),
    ("quorum", "remove-controller", "-i", "3", "-d", "AAAAAAAAAAAAAAAAAAAAAw", "--dry-run"),
    ("quorum", "reassign", "--target", "1,2,3", "--dry-run"),
    ("quorum", "convert", "--dry-run"),
    ("log", "dump", "--from-cluster"),
    ("log", "verify", "--from-cluster"),
    ("log", "image", "--from-cluster"),
    ("log", "lint", "--from-cluster"),
    ("log", "history", "--from-cluster", "--broker", "1"),
    ("dryrun", "replay", "--from-cluster"),
    ("dryrun", "report", "--from-cluster"),
]
HANDSHAKE_UNKNOWN, HANDSHAKE_ILLEGAL = 33, 34


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all rounds, with 1 ms between them: only their number ends a command here, never the time."""
    monkeypatch.setattr(Backoff, "wait_ms", lambda *_: 1.0)


def sasl_listener(asked: Asked) -> Action | None:
    """Answer as Kafka does without a login: ApiVersions and the handshake are answered, anything else ends the
    connection."""
    if asked.name == "SaslHandshake":
        return Reply(body={"ErrorCode": HANDSHAKE_UNKNOWN, "Mechanisms": ["SCRAM-SHA-512", "PLAIN"]})
    return None if asked.name == "ApiVersions" else CLOSE


def hangs_up(asked: Asked) -> Action | None:
    """Return a listener without SASL that closes every connection."""
    if asked.name == "SaslHandshake":
        return Reply(body={"ErrorCode": HANDSHAKE_ILLEGAL})
    return None if asked.name == "ApiVersions" else CLOSE


def run_at(kafkactl: Kafkactl, script: Callable[[Asked], Action | None], role: Role, words: tuple[str, ...]) -> Run:
    versions = VERSIONS_OF_CONTROLLER if role is Role.CONTROLLER else {}
    with FakeBroker(script, versions=versions) as node:
        return kafkactl(*words, role.option, str(node.address), "--timeout", "60s", "-o", "json")


@pytest.mark.parametrize("role", one_in(2, Role))
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_sasl_listener_without_a_login_is_reported(kafkactl: Kafkactl, words: tuple[str, ...], role: Role) -> None:
    run = run_at(kafkactl, sasl_listener, role, words)
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "sasl-login-expected")
    assert "SASL listener" in run.error["message"] and "--command-config" in run.error["next_step"]
    assert "PLAIN, SCRAM-SHA-512" in run.error["cause"]


@pytest.mark.parametrize("words", one_in(3, map(pytest.param, COMMANDS)), ids=" ".join)
def test_listener_that_hangs_up_is_reported_as_closed_connection(kafkactl: Kafkactl, words: tuple[str, ...]) -> None:
    run = run_at(kafkactl, hangs_up, Role.CONTROLLER, words)
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "connection-closed")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_user_without_any_right_is_reported(kafkactl: Kafkactl, words: tuple[str, ...]) -> None:
    cluster = FakeCluster()
    cluster.denied = {"Fetch", "DescribeQuorum", "DescribeCluster", "UpdateFeatures"}
    with cluster.client(Role.CONTROLLER) as client:
        where = ",".join(str(address) for address in client.bootstrap)
        run = kafkactl(*words, "--bootstrap-controller", where, "--timeout", "60s", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "not-authorised")


def test_no_address_of_the_cluster_can_be_reached_from_here(kafkactl: Kafkactl) -> None:
    # The node named at the start answers, and what it names does not: a forwarded port, say.
    def elsewhere(asked: Asked) -> Action | None:
        if asked.name == "DescribeCluster":
            nodes = [{"BrokerId": 11, "Host": "127.0.0.1", "Port": 1}]
            return Reply(body={"ClusterId": "fake", "ControllerId": 11, "Brokers": nodes, "EndpointType": 1})
        return CLOSE if asked.name in ("DescribeQuorum", "Fetch") else None

    with FakeBroker(elsewhere, supported={"metadata.version": (7, 30)}) as node:
        where = ("--bootstrap-server", str(node.address), "--timeout", "60s", "-o", "json")
        described, verified = (kafkactl("features", verb, *where) for verb in ("describe", "verify"))
    assert (described.code, described.error["id"]) == (4, "no-node-answered")
    assert (verified.code, verified.error["id"]) == (4, "no-node-answered")
    assert "broker 11" in described.error["message"]


@pytest.mark.parametrize("words", [("log", "image", "--from-cluster"), ("nodes", "unregister", "--id", "4", "--yes")])
def test_brokers_that_wait_for_a_leader_are_named_before_the_time_is_over(
    kafkactl: Kafkactl, words: tuple[str, ...]
) -> None:
    # Several calls in turn, none of which is answered: together they end before the command does.
    def waits(asked: Asked) -> Action | None:
        return SILENCE if asked.name in ("DescribeQuorum", "Fetch", "DescribeCluster") else None

    with FakeBroker(waits, supported={"metadata.version": (7, 30)}) as node:
        address = str(node.address)
        run = kafkactl(*words, "--bootstrap-server", address, "--timeout", "2s", "-o", "json")
    assert (run.code, run.error["id"]) == (4, "connection-timed-out")
    assert address in run.error["message"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [words for words in COMMANDS if words[0] == "quorum"], ids=" ".join)
def test_address_without_an_answer_is_named(kafkactl: Kafkactl, words: tuple[str, ...]) -> None:
    # A paused node accepts connections and does not answer.
    with FakeBroker(lambda _: SILENCE) as paused:
        address = str(paused.address)
        run = kafkactl(*words, "--bootstrap-controller", address, "--timeout", "2s", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "connection-timed-out")
    assert address in run.error["message"]
