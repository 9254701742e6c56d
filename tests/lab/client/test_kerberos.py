"""SASL GSSAPI at a real key distribution center and a released Kafka: keytab, ticket cache, and what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.client_config import read_client_config
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from tests.lab.harness import config, ports
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.services import kerberos
from tests.lab.harness.services.kerberos import REALM, Realm
from tests.lab.harness.storage_tool import StorageToolServer

pytestmark = pytest.mark.skipif(
    bool(kerberos.missing()), reason=f"no Kerberos realm can be made here: {', '.join(kerberos.missing())}"
)
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
_MODULE = "com.sun.security.auth.module.Krb5LoginModule required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A realm and a node in it, whose listener KERBEROS takes tickets."""

    realm: Realm
    node: KafkaNode
    port: int
    alice: Path


@pytest.fixture(
    scope="module",
    params=["4.4.0", *(pytest.param(version, marks=pytest.mark.campaign) for version in ("3.3.2", "3.9.2", "4.0.2"))],
)
def site(
    request: pytest.FixtureRequest, storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("kerberos")
    with Realm(folder / "realm") as realm:
        service = realm.keytab("kafka/localhost")
        alice = realm.keytab("alice")
        broker_port, controller_port, port = ports.free_ports(3)
        base = config.combined(
            node_id=1, log_dirs=[folder / "data"], broker_port=broker_port, controller_port=controller_port,
            quorum=config.static_quorum({1: controller_port}),
        )  # fmt: skip
        node = KafkaNode(
            request.param, base | _listener(base, port, service), folder,
            java_options=[f"-Djava.security.krb5.conf={realm.config}"],
        )  # fmt: skip
        result = storage_tool.run(request.param, ["format", "-t", CLUSTER_ID, "-c", node.config_file])
        assert result.exit_code == 0, result
        with node:
            node.start().wait_ready()
            yield Site(realm=realm, node=node, port=port, alice=alice)


def _listener(base: config.Config, port: int, keytab: Path) -> config.Config:
    login = f'{_MODULE} useKeyTab=true storeKey=true keyTab="{keytab}" principal="kafka/localhost@{REALM}";'
    return {
        "listeners": f"{base['listeners']},KERBEROS://127.0.0.1:{port}",
        "advertised.listeners": f"{base['listeners'].split(',')[0]},KERBEROS://localhost:{port}",
        "listener.security.protocol.map": f"{base['listener.security.protocol.map']},KERBEROS:SASL_PLAINTEXT",
        "inter.broker.listener.name": base["listeners"].split(":")[0],
        "listener.name.kerberos.sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.kerberos.gssapi.sasl.jaas.config": login,
        "sasl.kerberos.service.name": "kafka",
    }


@pytest.fixture(autouse=True)
def use_the_realm(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in site.realm.environment.items():
        monkeypatch.setenv(name, value)


def client(site: Site, options: str, *, host: str = "localhost", service: str = "kafka") -> Client:
    text = (
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n"
        f"sasl.kerberos.service.name={service}\nsasl.jaas.config={_MODULE} {options};\n"
    )
    found = read_client_config(text.encode(), file="client.properties")
    assert found.findings == ()
    limits = Limits(timeout_ms=60_000, request_timeout_ms=30_000, backoff=Backoff(rounds=1))
    return Client([Address(host, site.port)], Role.BROKER, access=found.access(), limits=limits)


def let_in(site: Site, options: str) -> None:
    with client(site, options) as connected:
        assert connected.cluster().cluster_id == CLUSTER_ID


def kept_out(site: Site, options: str, *, host: str = "localhost", service: str = "kafka") -> UnreachableError:
    with client(site, options, host=host, service=service) as connected, pytest.raises(UnreachableError) as caught:
        connected.cluster()
    assert caught.value.exit_code == 4
    return caught.value


def test_keytab_is_accepted(site: Site) -> None:
    options = f'useKeyTab=true storeKey=true keyTab="{site.alice}" principal="alice@{REALM}"'
    let_in(site, options)
    assert not (site.realm.folder / "default.cache").exists(), "tickets stay in memory"


def test_named_and_default_ticket_caches_are_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = site.realm.ticket_cache("alice", site.alice)
    let_in(site, f'useTicketCache=true ticketCache="{cache}"')
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    let_in(site, "useTicketCache=true")


def test_keytab_where_the_cache_has_no_ticket(site: Site) -> None:
    let_in(
        site,
        f'useTicketCache=true ticketCache="{site.realm.folder}/none" useKeyTab=true keyTab="{site.alice}" '
        f'principal="alice@{REALM}"',
    )


def test_login_without_a_ticket_is_refused(site: Site) -> None:
    assert kept_out(site, f'useTicketCache=true ticketCache="{site.realm.folder}/none"').id == "kerberos-login-failed"


def test_principal_missing_in_the_keytab_is_refused(site: Site) -> None:
    error = kept_out(site, f'useKeyTab=true keyTab="{site.alice}" principal="mallory@{REALM}"')
    assert (error.id, "mallory" in error.message) == ("kerberos-login-failed", True)
    assert error.cause


def test_revoked_key_is_refused(site: Site) -> None:
    bob = site.realm.keytab("bob")
    site.realm.forget("bob")
    site.realm.keytab("bob2")
    assert kept_out(site, f'useKeyTab=true keyTab="{bob}" principal="bob@{REALM}"').id == "kerberos-login-failed"


@pytest.mark.parametrize(("host", "service"), [("localhost", "nobody"), ("127.0.0.1", "kafka")])
def test_service_without_a_principal_is_refused(site: Site, host: str, service: str) -> None:
    options = f'useKeyTab=true keyTab="{site.alice}" principal="alice@{REALM}"'
    error = kept_out(site, options, host=host, service=service)
    assert error.id == "kerberos-service-failed"
    assert error.cause and f"{service}/{host}" in error.message


def test_listener_without_kerberos_is_reported(site: Site) -> None:
    options = f'useKeyTab=true keyTab="{site.alice}" principal="alice@{REALM}"'
    clear = Address(*site.node.address)
    with client(site, options) as connected, pytest.raises(UnreachableError) as caught:
        connected.ask_node(clear, "DescribeCluster", {})
    assert caught.value.id == "sasl-not-spoken"


def test_unreachable_key_center_is_reported(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = site.realm.config.read_text().replace(f":{site.realm.port}", ":9")
    (tmp_path / "krb5.conf").write_text(text)
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    error = kept_out(site, f'useKeyTab=true keyTab="{site.alice}" principal="alice@{REALM}"')
    assert error.id in ("kerberos-login-failed", "kerberos-timed-out")
