"""Errors about damaged files that hold logins: a value in the wrong place is named by its key and never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.adapters.kafka.client_config import read_client_config
from kafkactl.adapters.zookeeper.settings import parse_connect, zookeeper_settings
from kafkactl.commands.framework.failure import describe, redacted
from kafkactl.errors import KafkactlError
from kafkactl.protocol.text.properties import parse_properties
from tests.fuzz.hostile_inputs import DIGEST, KERBEROS, PLAIN

_NAME = "password"
_LOGIN = 'username="a" password="hunter2";'
_ZOOKEEPER = (
    "zookeeper.session.timeout.ms=18000\nzookeeper.ssl.client.enable=true\n"
    "zookeeper.ssl.endpoint.identification.algorithm=HTTPS\n"
    "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\n"
    f"zookeeper.sasl.jaas.config={DIGEST} {_LOGIN}\n"
)
_CLIENT = (
    "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nrequest.timeout.ms=1000\nssl.truststore.type=PEM\n"
    f"ssl.endpoint.identification.algorithm=https\nsasl.jaas.config={PLAIN} {_LOGIN}\n"
)


def _zookeeper(said: str) -> str:
    assert 'password="hunter2"' in said
    with pytest.raises(KafkactlError) as caught:
        zookeeper_settings(parse_properties(said.encode(), file="f").mapping)
    return str(describe(caught.value))


@pytest.mark.parametrize(
    ("whole", "damaged", "named"),
    [
        ("18000", '"hunter2"', "zookeeper.session.timeout.ms"),
        ("client.enable=true", 'client.enable="hunter2"', "zookeeper.ssl.client.enable"),
        ("org.apache.zookeeper.ClientCnxnSocketNetty", '"hunter2"', "zookeeper.clientCnxnSocket"),
        ("=HTTPS", '="hunter2"', "zookeeper.ssl.endpoint.identification.algorithm"),
        (DIGEST, '"hunter2" required', "DigestLoginModule"),
        (DIGEST, DIGEST.replace("DigestLoginModule", "hunter2"), "DigestLoginModule"),
        ("18000\n", f'18000{DIGEST} username="{_NAME}="hunter2";\n', "zookeeper.session.timeout.ms"),
        ("zookeeper.sasl.jaas.config=", 'java.security.auth.login.config="hunter2"\nx=', "login.config"),
        ("zookeeper.sasl.jaas.config=", "java.security.auth.login.config=", "login.config"),
    ],
)
def test_zookeeper_settings(whole: str, damaged: str, named: str) -> None:
    shown = _zookeeper(_ZOOKEEPER.replace(whole, damaged, 1))
    assert "hunter2" not in shown.lower() and named in shown


def test_the_section_of_a_login_file(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text("Client { };")
    said = f'java.security.auth.login.config={file}\nzookeeper.sasl.clientconfig="hunter2"\npassword="hunter2"\n'
    shown = _zookeeper(said)
    assert "hunter2" not in shown and str(file) in shown and "zookeeper.sasl.clientconfig" in shown


def test_addresses_that_swallowed_a_login() -> None:
    with pytest.raises(KafkactlError) as caught:
        parse_connect(f'zk1:2181,"hunter2" {_LOGIN}')
    assert "hunter2" not in str(describe(caught.value)) and "zookeeper.connect" in caught.value.message


@pytest.mark.parametrize(
    ("whole", "damaged", "named"),
    [
        ("=SASL_SSL", '="hunter2"', "security.protocol"),
        ("=PLAIN", '="hunter2"', "sasl.mechanism"),
        ("=1000", '="hunter2"', "request.timeout.ms"),
        ("=PEM", '="hunter2"', "ssl.truststore.type"),
        ("=https", '="hunter2"', "ssl.endpoint.identification.algorithm"),
        ("=PLAIN\n", "=GSSAPI\n", "sasl.jaas.config"),
    ],
)
def test_client_properties(whole: str, damaged: str, named: str) -> None:
    said = _CLIENT.replace(whole, damaged, 1)
    if "GSSAPI" in said:
        said = said.replace(PLAIN, '"hunter2" required')
    with pytest.raises(KafkactlError) as caught:
        read_client_config(said.encode(), file="f").access()
    shown = str(describe(caught.value))
    assert "hunter2" not in shown.lower() and named in shown


def test_a_login_line_that_was_broken_in_two() -> None:
    """Java reads what follows as a key of its own, and a warning names keys."""
    config = read_client_config(_CLIENT.replace(f"{_NAME}=", f"{_NAME}=\n").encode(), file="f")
    assert "unknown-client-property" in [found.id for found in config.findings]
    assert "hunter2" not in str(config.findings)
    twice = read_client_config(b'retries=1\n"hunter2";x\n"hunter2";x \n"hunter2";x\n', file="f")
    assert "hunter2" not in str(twice.findings)


def test_a_key_with_a_mistake_in_its_name_is_shown() -> None:
    config = read_client_config(b"reties=1\nfoo.bar=2\n", file="f")
    assert [found.evidence["key"] for found in config.findings] == ["reties", "foo.bar"]


@pytest.mark.parametrize(
    "text",
    [
        'NAME="hunter2";', "NAME = 'hunter2'", 'NAME="NAME="hunter2";', r"NAME=\"hunter2\" x", r'"NAME":"hunter2"',
        r'NAME="a\"hunter2"', 'NAME=""hunter2"', 'NAME="x NAME="hunter2"', "NAME=a,hunter2", "NAME='x hunter2",
        "NAME='it's hunter2'", r"NAME=\'a hunter2\' y", '"NAME" = "hunter2"', r"\"NAME\": \"hunter2\"",
        "NAME = hunter2",
    ],
)  # fmt: skip
def test_no_way_of_quoting_hides_a_password_from_the_redactor(text: str) -> None:
    for name in ("password", "PassWord", "token"):
        shown = redacted(f"line 3: {text.replace('NAME', name)}\nnext line")
        assert "hunter2" not in shown and shown.startswith("line 3: ") and shown.endswith("\nnext line")


def test_the_login_module_of_kerberos_is_named() -> None:
    with pytest.raises(KafkactlError, match="Krb5LoginModule"):
        zookeeper_settings({"zookeeper.sasl.jaas.config": f"{KERBEROS} a=b;"})
