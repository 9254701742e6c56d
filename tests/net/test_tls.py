"""TLS against a scripted broker: what is accepted, and in which words everything else is refused."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.broker import FakeBroker, Raw
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client_config import ClientConfig, read_client_config
from kafkactl.kafka.connection import connect
from kafkactl.net.transport import Address
from tests.net.certificates import PASSWORD, Authority, Identity


def deadline(duration_ms: float = 60_000) -> Deadline:
    return Deadline.after(duration_ms, SystemClock())


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def server(folder: Path, identity: Identity, *, clients_of: Authority | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.save(folder, "server"))
    if clients_of:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients_of.pem)
    return context


def properties(**given: object) -> ClientConfig:
    pairs = {"security.protocol": "SSL"} | {key.replace("_", "."): value for key, value in given.items()}
    text = "\n".join(f"{key}={str(value).replace(chr(10), ' ')}" for key, value in pairs.items())
    return read_client_config(text.encode(), file="client.properties")


def trusting(folder: Path, authority: Authority, **more: object) -> ClientConfig:
    return properties(ssl_truststore_type="PEM", ssl_truststore_location=authority.save(folder), **more)


def ask(broker: FakeBroker, config: ClientConfig, host: str = "127.0.0.1") -> None:
    with connect(Address(host, broker.address.port), config.access(), deadline()) as connection:
        assert connection.is_secured
        connection.ask("DescribeCluster", {}, deadline=deadline())
        assert not connection.is_stale(0)


def refused(act: Callable[[], object], kind: type[KafkactlError] = UnreachableError) -> KafkactlError:
    with pytest.raises(kind) as caught:
        act()
    assert PASSWORD not in str(caught.value.to_dict())
    return caught.value


class TestServers:
    def test_good_certificate_is_accepted(self, tmp_path: Path, authority: Authority) -> None:
        with FakeBroker(tls=server(tmp_path, authority.identity("n"))) as broker:
            for host in ("127.0.0.1", "localhost"):
                ask(broker, trusting(tmp_path, authority), host)

    @pytest.mark.parametrize(
        ("hosts", "days", "error_id"),
        [
            (("127.0.0.1",), (-10, -1), "certificate-expired"),
            (("127.0.0.1",), (1, 10), "certificate-not-yet-valid"),
            (("other.example",), (-10, 10), "certificate-host-mismatch"),
            ((), (-10, 10), "certificate-host-mismatch"),
        ],
    )
    def test_bad_certificate_is_refused(
        self, tmp_path: Path, authority: Authority, hosts: tuple[str, ...], days: tuple[int, int], error_id: str
    ) -> None:
        identity = authority.identity("n", hosts=hosts, days=days)
        with FakeBroker(tls=server(tmp_path, identity)) as broker:
            error = refused(lambda: ask(broker, trusting(tmp_path, authority)))
            assert (error.id, error.exit_code) == (error_id, 4)
            assert broker.asked == []

    def test_untrusted_authority_is_refused(self, tmp_path: Path, authority: Authority) -> None:
        with FakeBroker(tls=server(tmp_path, authority.identity("n"))) as broker:
            assert refused(lambda: ask(broker, trusting(tmp_path, Authority("other")))).id == "certificate-not-trusted"
            assert refused(lambda: ask(broker, properties())).id == "certificate-not-trusted"

    def test_host_names_are_not_checked_only_where_that_is_said(self, tmp_path: Path, authority: Authority) -> None:
        with FakeBroker(tls=server(tmp_path, authority.identity("n", hosts=("other",)))) as broker:
            off = {"ssl_endpoint_identification_algorithm": ""}
            ask(broker, trusting(tmp_path, authority, **off))
            error = refused(lambda: ask(broker, trusting(tmp_path, Authority("other"), **off)))
            assert error.id == "certificate-not-trusted", "the certificate is checked all the same"

    @pytest.mark.slow
    def test_port_without_tls_is_reported(self, tmp_path: Path, authority: Authority) -> None:
        with FakeBroker(greeting=Raw(b"HTTP/1.1 400 Bad\r\n\r\n")) as broker:
            assert refused(lambda: ask(broker, trusting(tmp_path, authority))).id == "tls-not-spoken"
        with FakeBroker() as broker:
            assert refused(lambda: ask(broker, trusting(tmp_path, authority))).id in (
                "tls-handshake-failed",
                "connection-timed-out",
            )

    def test_disjoint_tls_versions_are_refused(self, tmp_path: Path, authority: Authority) -> None:
        context = server(tmp_path, authority.identity("n"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with FakeBroker(tls=context) as broker:
            ask(broker, trusting(tmp_path, authority))
            error = refused(lambda: ask(broker, trusting(tmp_path, authority, ssl_enabled_protocols="TLSv1.3")))
            assert error.id == "tls-handshake-failed"


class TestClientCertificates:
    def test_are_asked_for(self, tmp_path: Path, authority: Authority) -> None:
        tls = server(tmp_path, authority.identity("n"), clients_of=authority)
        with FakeBroker(tls=tls) as broker:
            own = {"ssl_keystore_type": "PEM", "ssl_keystore_location": authority.identity("me").save(tmp_path, "me")}
            ask(broker, trusting(tmp_path, authority, **own))
            stranger = Authority("other").identity("me").save(tmp_path, "stranger")
            for wrong in ({}, own | {"ssl_keystore_location": stranger}):
                error = refused(lambda: ask(broker, trusting(tmp_path, authority, **wrong)))  # noqa: B023
                assert error.id in ("client-certificate-refused", "connection-closed")

    @pytest.mark.parametrize("form", ["inline", "inline-protected", "file-protected", "pkcs12"])
    def test_key_store_is_read_in_every_form(self, tmp_path: Path, authority: Authority, form: str) -> None:
        identity = authority.identity("me")
        file = tmp_path / "store"
        inline = {"ssl_keystore_type": "PEM", "ssl_keystore_certificate_chain": identity.chain_pem}
        protected = {"ssl_key_password": PASSWORD}
        if form == "pkcs12":
            file.write_bytes(identity.pkcs12)
        else:
            file.write_text(identity.protected_key_pem + identity.chain_pem)
        given = {
            "inline": inline | {"ssl_keystore_key": identity.key_pem},
            "inline-protected": inline | {"ssl_keystore_key": identity.protected_key_pem} | protected,
            "file-protected": {"ssl_keystore_type": "PEM", "ssl_keystore_location": file} | protected,
            "pkcs12": {"ssl_keystore_location": file, "ssl_keystore_password": PASSWORD},
        }[form]
        inline_trust = {"ssl_truststore_type": "PEM", "ssl_truststore_certificates": authority.pem}
        with FakeBroker(tls=server(tmp_path, authority.identity("n"), clients_of=authority)) as broker:
            ask(broker, properties(**inline_trust, **given))

    def test_java_key_store_is_refused_with_how_to_convert_it(self, tmp_path: Path) -> None:
        file = tmp_path / "t.jks"
        file.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
        error = refused(properties(ssl_truststore_location=file, ssl_truststore_password="hunter2").access, InputError)
        assert error.id == "jks-not-readable"
        assert "keytool -importkeystore" in (error.next_step or "")

    def test_pkcs12_without_its_library_is_refused(
        self, tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "k.p12"
        file.write_bytes(authority.identity("me").pkcs12)
        monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.serialization", None)
        config = properties(ssl_keystore_type="PKCS12", ssl_keystore_location=file, ssl_keystore_password=PASSWORD)
        error = refused(config.access, InputError)
        assert (error.id, ".whl[pkcs12]" in (error.next_step or "")) == ("pkcs12-needs-extra", True)

    @pytest.mark.parametrize("what", ["wrong-password", "no-password", "no-key", "nothing", "not-there", "wrong-p12"])
    def test_unusable_stores_are_refused(self, tmp_path: Path, authority: Authority, what: str) -> None:
        identity, file = authority.identity("me"), tmp_path / "store"
        text = {"no-key": identity.chain_pem, "nothing": "hello"}.get(
            what, identity.protected_key_pem + identity.chain_pem
        )
        file.write_text(text)
        given: dict[str, object] = {"ssl_keystore_type": "PEM", "ssl_keystore_location": file}
        if what == "wrong-password":
            given["ssl_key_password"] = PASSWORD + "!"
        if what == "not-there":
            given["ssl_keystore_location"] = tmp_path / "none"
        if what == "wrong-p12":
            file.write_bytes(identity.pkcs12)
            given = {"ssl_keystore_location": file, "ssl_keystore_password": PASSWORD + "!"}
        error = refused(properties(**given).access, InputError)
        assert error.id == ("unreadable-tls-store" if what == "not-there" else "invalid-tls-store")


@pytest.mark.parametrize(
    "given",
    [
        {"ssl_endpoint_identification_algorithm": "ldaps"},
        {"ssl_keystore_key": "k", "ssl_keystore_type": "PEM"},
        {"ssl_keystore_key": "k", "ssl_keystore_certificate_chain": "c"},
        {"ssl_truststore_certificates": "c"},
        {"ssl_truststore_certificates": "c", "ssl_truststore_type": "PEM", "ssl_truststore_location": "f"},
        {"ssl_truststore_location": "f", "ssl_truststore_type": "PEM", "ssl_truststore_password": "hunter2"},
        {"ssl_truststore_password": "hunter2"},
        {"ssl_truststore_type": "ZIP"},
        {"ssl_enabled_protocols": "TLSv1.1"},
    ],
)
def test_contradicting_settings_are_refused(given: dict[str, str]) -> None:
    error = refused(properties(**given).access, InputError)
    assert (error.id, error.exit_code) == ("invalid-tls-setting", 2)


def test_secrets_are_in_no_repr(tmp_path: Path, authority: Authority) -> None:
    identity = authority.identity("me")
    config = properties(
        ssl_keystore_type="PEM", ssl_keystore_certificate_chain=identity.chain_pem,
        ssl_keystore_key=identity.protected_key_pem, ssl_key_password=PASSWORD,
    )  # fmt: skip
    shown = f"{config!r} {config.access()!r}"
    assert PASSWORD not in shown
    assert "PRIVATE" not in shown
