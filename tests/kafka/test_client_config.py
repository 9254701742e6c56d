"""client.properties: read as Kafka's tools read it, with a word on everything that has no effect here."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.values import Role
from kafkactl.kafka.client_config import SecurityProtocol, client_of, load_client_config, read_client_config
from kafkactl.protocol.text.client_properties import client_keys
from kafkactl.protocol.text.pem import read_pem

LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="hunter2";'


def read(text: str) -> object:
    return read_client_config(text.encode("latin-1"), file="client.properties")


def refused(text: str, error_id: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_client_config(text.encode(), file="client.properties").access()
    assert "hunter2" not in str(caught.value.to_dict())
    assert (caught.value.id, caught.value.exit_code) == (error_id, 2)
    return caught.value


def test_nothing_given_is_plaintext() -> None:
    config = load_client_config(None)
    assert (config.protocol, config.findings) == (SecurityProtocol.PLAINTEXT, ())
    access, limits = config.access(), config.limits()
    assert (access.wrapper, access.authenticator, access.client_id) == (None, None, "kafkactl")
    assert (limits.timeout_ms, limits.request_timeout_ms) == (60_000, 30_000)
    assert config.limits(500).timeout_ms == 500


def test_values_are_read_as_kafka_reads_them() -> None:
    config = read_client_config(
        b"# mine\nsecurity.protocol = sasl_plaintext \nclient.id:me\nrequest.timeout.ms= 1500 \n"
        b"sasl.mechanism=SCRAM-SHA-512\nretry.backoff.ms=5\nretry.backoff.max.ms=2\n"
        b"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        b'   username="alice" \\\n   password="hunter2";\n',
        file="c",
    )
    assert config.protocol is SecurityProtocol.SASL_PLAINTEXT
    limits, access = config.limits(), config.access()
    assert (limits.request_timeout_ms, limits.backoff.first_ms, limits.backoff.most_ms) == (1500, 5, 5)
    assert (access.client_id, access.authenticator is not None) == ("me", True)
    assert "hunter2" not in f"{config!r} {access!r} {config.findings}"


def test_keys_without_effect_are_reported() -> None:
    config = read_client_config(
        b"reqest.timeout.ms=5\nssl.engine.factory.class=x.Y\nmetrics.num.samples=3\nmy.interceptor=z\n", file="c"
    )
    notices = [(finding.id, finding.evidence["key"], finding.next_step) for finding in config.findings]
    assert notices == [
        ("unknown-client-property", "reqest.timeout.ms", "Did you mean request.timeout.ms?"),
        ("unsupported-client-property", "ssl.engine.factory.class", notices[1][2]),
        ("unknown-client-property", "my.interceptor", notices[2][2]),
    ]


def test_every_wrong_value_is_named_at_once() -> None:
    error = refused("request.timeout.ms=soon\nretries=-1\n", "invalid-client-property")
    assert "the value of request.timeout.ms is not a valid int" in error.message and "soon" not in error.message
    assert "the value of retries is not a valid int from 0 on" in error.message


@pytest.mark.parametrize(
    ("text", "error_id"),
    [
        ("security.protocol=TLS", "invalid-client-property"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", "missing-jaas-line"),
        (f"security.protocol=SASL_PLAINTEXT\nsasl.jaas.config={LOGIN}", "invalid-kerberos-login"),
        (f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=plain\nsasl.jaas.config={LOGIN}",
         "sasl-mechanism-not-supported"),
        ('security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=x.Y required password="hunter2";',
         "missing-jaas-option"),
        ('security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=x.Y required password="hunter2"',
         "invalid-jaas-line"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config=x.Y required;",
         "invalid-token-source"),
        ("config.providers=x\nconfig.providers.x.class=a.B\nclient.id=${x:p:k}", "unresolved-config-provider"),
        ("config.providers=x\nconfig.providers.x.class=a.B\nsecurity.protocol=SASL_SSL\n"
         'sasl.jaas.config=x.Y required username="${x:p:k}" password="hunter2";', "unresolved-config-provider"),
    ],
)  # fmt: skip
def test_unsupported_setting_is_refused(text: str, error_id: str) -> None:
    refused(text, error_id)


def test_config_providers_are_asked(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("who=ops\n")
    text = (
        "config.providers=file\nconfig.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
        f"client.id=${{file:{tmp_path}/secrets:who}}\n"
    )
    config = read_client_config(text.encode(), file="c")
    assert (config.access().client_id, config.findings) == ("ops", ())


@pytest.mark.parametrize(
    ("text", "brokers", "controllers", "expected"),
    [
        ("", "a:1,b:2", None, (Role.BROKER, ["a:1", "b:2"])),
        ("bootstrap.servers=x:9", None, "c:3", (Role.CONTROLLER, ["c:3"])),
        ("bootstrap.servers=x:9, y:8", None, None, (Role.BROKER, ["x:9", "y:8"])),
        ("bootstrap.controllers=x:9", None, None, (Role.CONTROLLER, ["x:9"])),
        ("", None, None, "bootstrap-missing"),
        ("", "a:1", "c:3", "bootstrap-twice"),
        ("bootstrap.servers=x:9\nbootstrap.controllers=y:9", None, None, "bootstrap-twice"),
        ("", "a", None, "invalid-bootstrap-address"),
    ],
)
def test_bootstrap_addresses_are_chosen(
    text: str, brokers: str | None, controllers: str | None, expected: object
) -> None:
    config = read_client_config(text.encode(), file="c")
    try:
        client = client_of(config, brokers=brokers, controllers=controllers, timeout_ms=5)
    except InputError as error:
        assert error.id == expected
    else:
        assert (client.role, [str(address) for address in client.bootstrap]) == expected


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_client_config(str(tmp_path / "none"))
    assert caught.value.id == "unreadable-client-config"


def test_every_key_says_what_becomes_of_it() -> None:
    assert {key.use for key in client_keys().values()} == {"used", "no-effect", "not-supported"}


class TestPem:
    def test_certificate_on_one_line_is_read(self) -> None:
        body = "QUJD" * 40
        text = f"-----BEGIN CERTIFICATE----- {body[:50]} {body[50:]} -----END CERTIFICATE-----"
        lines = read_pem(text).certificates.splitlines()
        assert (lines[0], lines[-1]) == ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        assert "".join(lines[1:-1]) == body
        assert max(map(len, lines)) <= 64

    def test_keys_and_certificates_are_distinguished_and_the_rest_is_left_out(self) -> None:
        text = "Bag Attributes\n-----BEGIN ENCRYPTED PRIVATE KEY-----\nQUJD\n-----END ENCRYPTED PRIVATE KEY-----\n"
        pem = read_pem(text + "x\n-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n")
        assert (pem.certificates.count("BEGIN"), pem.keys.count("BEGIN"), pem.key_is_protected) == (1, 1, True)
        assert "QUJD" not in repr(pem).replace(repr(pem.certificates), "")

    def test_text_without_blocks_has_no_certificate(self) -> None:
        assert (read_pem("hello").certificates, read_pem("").keys) == ("", "")


def test_bad_escape_is_a_mistake_in_an_input_file():
    with pytest.raises(DecodeError) as caught:
        read_client_config(b"a=\\u12", file="client.properties")
    assert (caught.value.id, caught.value.exit_code) == ("malformed-unicode-escape", 2)
