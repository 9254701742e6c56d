"""The client at secured listeners of released Kafka: accepted where it should be, refused elsewhere with a reason."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import javaproperties
import pytest

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.files import processes
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.io.lost_disk_quorum import controller_client_config, see_quorum
from kafkactl.storage.model import QuorumSeen
from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.services import oidc, secured
from tests.lab.harness.services.secured import ADMIN, ALICE, CLUSTER_ID, SCRAM_ALICE, SecuredNode, oauth, plain, scram
from tests.lab.harness.storage_tool import StorageToolServer

SECRETS = (ALICE, ADMIN, SCRAM_ALICE, oidc.CLIENT_SECRET, "wr0ng-s3cret")
WRONG = "wr0ng-s3cret"


@pytest.fixture(
    scope="module",
    params=[
        "4.4.0",
        *(pytest.param(version, marks=pytest.mark.campaign) for version in ("3.3.2", "3.6.2", "3.9.2", "4.0.2")),
    ],
)
def node(
    request: pytest.FixtureRequest, storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredNode]:
    with secured.secured_node(request.param, storage_tool, tmp_path_factory.mktemp("secured")) as running:
        yield running


PATIENT = Limits(timeout_ms=60_000, request_timeout_ms=30_000, backoff=Backoff(rounds=1))


def client(
    node: SecuredNode, listener: str, given: dict[str, str], *, protocol: str = "", host: str = "",
    limits: Limits = PATIENT,
) -> Client:  # fmt: skip
    properties = {"security.protocol": protocol or secured.LISTENERS[listener]} | given
    text = javaproperties.dumps(properties, timestamp=False)
    config = read_client_config(text.encode("latin-1"), file="client.properties")
    assert config.findings == ()
    role = Role.CONTROLLER if listener == "CONTROLLER" else Role.BROKER
    address = Address(host or "127.0.0.1", node.ports[listener])
    return Client([address], role, access=config.access(), limits=limits)


def let_in(node: SecuredNode, listener: str, given: dict[str, str], **more: Any) -> None:
    with client(node, listener, given, **more) as connected:
        assert connected.cluster().cluster_id == CLUSTER_ID


def kept_out(node: SecuredNode, listener: str, given: dict[str, str], **more: Any) -> str:
    with client(node, listener, given, **more) as connected, pytest.raises(UnreachableError) as caught:
        connected.cluster()
    assert caught.value.exit_code == 4
    error_text = json.dumps(caught.value.to_dict(), ensure_ascii=False)
    assert not [secret for secret in SECRETS if secret in error_text]
    return caught.value.id


@pytest.mark.parametrize(
    "words",
    [
        ("features", "describe"),
        ("features", "verify"),
        ("nodes", "list"),
        ("quorum", "describe"),
        ("log", "dump", "--from-cluster"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("listener", ["PLAIN", "CONTROLLER"])
def test_sasl_listener_without_a_login_is_not_an_empty_cluster(
    kafkactl: Callable[..., Run], node: SecuredNode, tmp_path: Path, listener: str, words: tuple[str, ...]
) -> None:
    option = "--bootstrap-controller" if listener == "CONTROLLER" else "--bootstrap-server"
    config = tmp_path / "client.properties"
    config.write_text(
        javaproperties.dumps({"security.protocol": "SSL"} | node.trust if listener == "CONTROLLER" else {}),
        encoding="latin-1",
    )
    run = kafkactl(*words, option, f"127.0.0.1:{node.ports[listener]}", "--command-config", config, "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "sasl-login-expected")
    assert "PLAIN" in run.error["cause"]


class TestTls:
    def test_node_is_known_by_name_and_by_number(self, node: SecuredNode) -> None:
        let_in(node, "TLS", node.trust)
        let_in(node, "TLS", node.trust, host="localhost")

    @pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
    def test_each_version_of_tls_is_accepted(self, node: SecuredNode, version: str) -> None:
        opened = client(node, "TLS", node.trust | {"ssl.enabled.protocols": version})
        with opened, opened.open_connection(opened.bootstrap[0]) as connection:
            for _ in range(3):
                connection.refresh_versions(Deadline.after(60_000, SystemClock()))
                assert not connection.is_stale(0), "session tickets in between are no sign of an end"

    def test_inline_stores_are_accepted(self, node: SecuredNode) -> None:
        identity = node.authority.identity("client")
        stores = {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": node.authority.pem.strip().replace("\n", " "),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": identity.chain_pem.strip(),
            "ssl.keystore.key": identity.key_pem.strip(),
        }
        let_in(node, "MUTUAL", stores)

    def test_client_certificate_is_accepted(self, node: SecuredNode) -> None:
        let_in(node, "MUTUAL", node.trust | node.own_certificate)

    @pytest.mark.parametrize("whose", ["nobody", "stranger"])
    @pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
    def test_missing_or_foreign_client_certificate_is_refused(
        self, node: SecuredNode, whose: str, version: str
    ) -> None:
        given = node.trust | {"ssl.enabled.protocols": version}
        if whose == "stranger":
            given |= node.own_certificate | {"ssl.keystore.location": str(node.folder / "stranger.pem")}
        assert kept_out(node, "MUTUAL", given) == "client-certificate-refused"

    def test_expired_certificate_is_refused(self, node: SecuredNode) -> None:
        assert kept_out(node, "EXPIRED", node.trust) == "certificate-expired"

    def test_certificate_for_another_host_is_refused(self, node: SecuredNode) -> None:
        assert kept_out(node, "WRONGHOST", node.trust) == "certificate-host-mismatch"
        let_in(node, "WRONGHOST", node.trust | {"ssl.endpoint.identification.algorithm": ""})

    def test_untrusted_authority_is_refused(self, node: SecuredNode) -> None:
        assert kept_out(node, "TLS", {}) == "certificate-not-trusted"


class TestSasl:
    def test_plain_login_is_accepted(self, node: SecuredNode) -> None:
        let_in(node, "PLAIN", plain("alice", ALICE))

    @pytest.mark.parametrize("bits", [256, 512])
    def test_scram_over_tls_is_accepted(self, node: SecuredNode, bits: int) -> None:
        if not node.has_scram_users:
            pytest.skip("before 3.5 no SCRAM user can be made when formatting")
        let_in(node, "SCRAM", node.trust | scram("alice", SCRAM_ALICE, bits))

    def test_secured_controller_is_asked(self, node: SecuredNode) -> None:
        with client(node, "CONTROLLER", node.trust | plain("admin", ADMIN)) as connected:
            assert connected.find_leader() == Address("127.0.0.1", node.ports["CONTROLLER"])

    @pytest.mark.parametrize(
        ("listener", "login"),
        [
            ("PLAIN", plain("alice", WRONG)),
            ("PLAIN", plain("nobody", ALICE)),
            ("PLAIN", plain("", "")),
            ("SCRAM", scram("alice", WRONG)),
            ("SCRAM", scram("nobody", SCRAM_ALICE, 512)),
            ("CONTROLLER", plain("admin", WRONG)),
        ],
    )
    def test_wrong_user_or_password_is_refused(self, node: SecuredNode, listener: str, login: dict[str, str]) -> None:
        began = time.monotonic()
        assert kept_out(node, listener, node.trust | login) == "authentication-failed"
        assert time.monotonic() - began < 30

    def test_mechanism_without_an_offer_is_refused(self, node: SecuredNode) -> None:
        assert kept_out(node, "SCRAM", node.trust | plain("alice", ALICE)) == "sasl-mechanism-not-offered"

    def test_created_token_and_token_of_a_file_are_accepted(self, node: SecuredNode) -> None:
        let_in(node, "OAUTH", oauth(unsecuredLoginStringClaim_sub="alice"))
        let_in(node, "OAUTH", oauth() | _token_file(node.folder, time.time() + 600))

    def test_expired_token_is_refused(self, node: SecuredNode) -> None:
        assert kept_out(node, "OAUTH", oauth() | _token_file(node.folder, time.time() - 600)) == "authentication-failed"

    def test_life_of_a_session_is_reported(self, node: SecuredNode) -> None:
        opened = client(node, "PLAIN", plain("alice", ALICE))
        with opened, opened.open_connection(opened.bootstrap[0]) as connection:
            now_ms = time.monotonic() * 1000
            assert not connection.is_stale(now_ms)
            assert connection.is_stale(now_ms + secured.SESSION_MS)


def _token_file(folder: Path, expires_s: float) -> dict[str, str]:
    parts = [{"alg": "none"}, {"sub": "alice", "iat": expires_s - 3600, "exp": expires_s}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    file = folder / "token"
    file.write_text(".".join([*encoded, ""]))
    return {"sasl.oauthbearer.token.endpoint.url": file.as_uri()}


class TestSignedTokens:
    """Tokens of an authorization server over TLS, which the node checks by the server's keys."""

    @pytest.fixture(autouse=True)
    def _new_enough(self, node: SecuredNode) -> None:
        if not node.checks_signed_tokens:
            pytest.skip("before 4.0 the class that checks tokens has another name")

    def login(self, node: SecuredNode, url: str, *, secret: str = oidc.CLIENT_SECRET, **more: str) -> dict[str, str]:
        options = {"clientId": oidc.CLIENT, "clientSecret": secret, "scope": oidc.SCOPE} | node.trust | more
        return oauth(**options) | {"sasl.oauthbearer.token.endpoint.url": url}

    def test_token_for_the_right_secret_is_accepted(self, node: SecuredNode) -> None:
        with oidc.token_endpoint(node.folder / "node.pem", oidc.signed(node.token_key)) as url:
            let_in(node, "OIDC", self.login(node, url))

    @pytest.mark.parametrize(
        "claims",
        [{"lifetime_s": -300}, {"aud": "elsewhere"}, {"iss": "https://other.example"}, {"sub": None}],
        ids=["expired", "audience", "issuer", "nobody"],
    )
    def test_token_with_wrong_claims_is_refused(self, node: SecuredNode, claims: dict[str, Any]) -> None:
        with oidc.token_endpoint(node.folder / "node.pem", oidc.signed(node.token_key, **claims)) as url:
            assert kept_out(node, "OIDC", self.login(node, url)) == "authentication-failed"

    def test_token_that_another_key_signed_is_refused(self, node: SecuredNode) -> None:
        with oidc.token_endpoint(node.folder / "node.pem", oidc.signed(oidc.new_key())) as url:
            assert kept_out(node, "OIDC", self.login(node, url)) == "authentication-failed"

    def test_wrong_secret_or_scope_is_refused(self, node: SecuredNode) -> None:
        with oidc.token_endpoint(node.folder / "node.pem", oidc.signed(node.token_key)) as url:
            assert kept_out(node, "OIDC", self.login(node, url, secret=WRONG)) == "token-not-available"
            assert kept_out(node, "OIDC", self.login(node, url, scope="everything")) == "token-not-available"

    @pytest.mark.parametrize("certificate", ["expired", "wronghost", "stranger"])
    def test_server_whose_certificate_is_not_right_gets_no_secret(self, node: SecuredNode, certificate: str) -> None:
        with oidc.token_endpoint(node.folder / f"{certificate}.pem", oidc.signed(node.token_key)) as url:
            assert kept_out(node, "OIDC", self.login(node, url)) == "token-not-available"

    def test_unreachable_token_server_is_reported(self, node: SecuredNode, free_port: Callable[[], int]) -> None:
        url = f"https://127.0.0.1:{free_port()}/token"
        assert kept_out(node, "OIDC", self.login(node, url)) == "token-not-available"


class TestTheWrongProtocol:
    def test_plaintext_on_a_tls_port_is_reported(self, node: SecuredNode) -> None:
        assert kept_out(node, "TLS", {}, protocol="PLAINTEXT") == "tls-expected"

    def test_tls_on_a_plaintext_port_is_reported(self, node: SecuredNode) -> None:
        assert kept_out(node, "CLEAR", node.trust, protocol="SSL") == "tls-handshake-failed"

    def test_plaintext_on_a_sasl_port_is_reported(self, node: SecuredNode) -> None:
        assert kept_out(node, "PLAIN", {}, protocol="PLAINTEXT") == "sasl-login-expected"

    def test_sasl_on_a_plaintext_port_is_reported(self, node: SecuredNode) -> None:
        assert kept_out(node, "CLEAR", plain("alice", ALICE), protocol="SASL_PLAINTEXT") == "sasl-not-spoken"

    def test_sasl_without_tls_on_a_tls_port_is_reported(self, node: SecuredNode) -> None:
        login = scram("alice", SCRAM_ALICE)
        assert kept_out(node, "SCRAM", login, protocol="SASL_PLAINTEXT") == "tls-expected"


@pytest.mark.parametrize("listener", ["CLEAR", "TLS", "PLAIN"])
def test_paused_node_is_reported_after_its_timeout(node: SecuredNode, listener: str) -> None:
    node.node.pause()
    try:
        began = time.monotonic()
        short = changed(PATIENT, timeout_ms=5_000, request_timeout_ms=3_000)
        assert kept_out(node, listener, node.trust | plain("alice", ALICE), limits=short) == "connection-timed-out"
        assert time.monotonic() - began < 60
    finally:
        node.node.resume()


def test_node_gets_in_at_the_controllers_by_its_own_configuration(node: SecuredNode) -> None:
    # As `storage format --verified-quorum` asks the others: node 2, whose disk is lost, asks node 1.
    voters = {"node.id": "2", "controller.quorum.voters": f"1@127.0.0.1:{node.ports['CONTROLLER']},2@127.0.0.1:1"}

    def seen(**more: str) -> QuorumSeen:
        settings = node.node.config | voters | {key.replace("_", "."): value for key, value in more.items()}
        text = javaproperties.dumps(settings, timestamp=False).encode("latin-1")
        config = read_node_config(text, file="server.properties", release=find_release(node.node.release))
        return see_quorum(config, controller_client_config(config))

    state = seen().state
    assert state is not None
    assert (state.leader_id, [voter.id for voter in state.voters if voter.alive]) == (1, [1])
    wrong = plain("admin", WRONG)["sasl.jaas.config"]
    refused = seen(listener_name_controller_plain_sasl_jaas_config=wrong)
    assert refused.state is None
    assert "127.0.0.1" in refused.reason
    assert not any(secret in refused.reason for secret in SECRETS)


@pytest.fixture
def on_its_host(node: SecuredNode, kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run `kafkactl ARGS -o json` where this node is the only one that runs, whatever else this machine has."""
    pid = node.node.pid
    arguments = processes.arguments_of(pid)
    assert arguments is not None
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter([(pid, arguments)]))
    monkeypatch.setenv("KAFKACTL_CONFIG", str(node.folder / "no-contexts.toml"))

    def run(*words: object) -> Run:
        found = kafkactl(*words, "-o", "json")
        assert not [secret for secret in SECRETS if secret in found.stdout + found.stderr]
        assert f"found: {node.node.config_file} (process {pid})" in found.stderr
        return found

    return run


def test_commands_on_the_host_of_a_node_use_its_own_login(node: SecuredNode, on_its_host: Callable[..., Run]) -> None:
    if releases.release(node.node.release).number < (3, 7):
        pytest.skip("controllers do not name their cluster")
    quorum = on_its_host("quorum", "describe")
    assert (quorum.code, quorum.json["cluster_id"], quorum.json["leader_id"]) == (0, CLUSTER_ID, 1), quorum.stderr
    rows = on_its_host("nodes", "list").json["nodes"]
    assert [(row["id"], row["answers"]) for row in rows] == [(1, True)]
    lint = on_its_host("log", "lint", "--from-cluster")
    assert lint.code == 0, lint.stderr
    verified = on_its_host("storage", "verify")
    assert verified.json["will_start"] is True, verified.stdout
    assert verified.json["kafka_version"] == node.node.release


def test_login_of_a_file_leads_to_the_listener_of_the_node_that_takes_it(
    node: SecuredNode, on_its_host: Callable[..., Run], tmp_path: Path
) -> None:
    if not node.has_scram_users:
        pytest.skip("no user was made at the format")
    file = tmp_path / "alice.properties"
    settings = {"security.protocol": "SASL_SSL"} | node.trust | scram("alice", SCRAM_ALICE)
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="latin-1")
    described = on_its_host("features", "describe", "--command-config", file)
    assert (described.code, described.json["cluster_id"]) == (0, CLUSTER_ID), described.stderr


def test_kind_of_a_secured_listener_is_found_out(
    node: SecuredNode, kafkactl: Callable[..., Run], tmp_path: Path
) -> None:
    for listener, login in (("PLAIN", plain("admin", ADMIN)), ("CONTROLLER", plain("admin", ADMIN))):
        file = tmp_path / f"{listener}.properties"
        settings = {"security.protocol": secured.LISTENERS[listener]} | node.trust | login
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="latin-1")
        place = f"127.0.0.1:{node.ports[listener]}"
        run = kafkactl("quorum", "describe", "--bootstrap", place, "--command-config", file, "-o", "json")
        assert (run.code, run.json["leader_id"]) == (0, 1), run.stderr
