"""Errors about damaged files that hold logins: a value in the wrong place is named by its key and never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.commands.framework.failure import describe, redacted
from kafkactl.core.errors import KafkactlError
from kafkactl.files.contexts import parse_contexts
from kafkactl.kafka.client_config import read_client_config
from kafkactl.migration.inventory import parse_inventory
from kafkactl.migration.io.zookeeper.settings import load_zookeeper_settings, parse_connect, zookeeper_settings
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.config.node_config import ConfigError, read_node_config
from tests.samples.hostile_inputs import DIGEST, KERBEROS, PLAIN

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
def test_error_of_zookeeper_settings_contains_no_login(whole: str, damaged: str, named: str) -> None:
    shown = _zookeeper(_ZOOKEEPER.replace(whole, damaged, 1))
    assert "hunter2" not in shown.lower() and named in shown


def test_error_of_a_login_file_contains_no_login(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text("Client { };")
    said = f'java.security.auth.login.config={file}\nzookeeper.sasl.clientconfig="hunter2"\npassword="hunter2"\n'
    shown = _zookeeper(said)
    assert "hunter2" not in shown and str(file) in shown and "zookeeper.sasl.clientconfig" in shown


def test_error_of_addresses_contains_no_login() -> None:
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
def test_error_of_client_properties_contains_no_login(whole: str, damaged: str, named: str) -> None:
    said = _CLIENT.replace(whole, damaged, 1)
    if "GSSAPI" in said:
        said = said.replace(PLAIN, '"hunter2" required')
    with pytest.raises(KafkactlError) as caught:
        read_client_config(said.encode(), file="f").access()
    shown = str(describe(caught.value))
    assert "hunter2" not in shown.lower() and named in shown


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("node.id", "1password=hunter2"),
        ("listeners", "SASL_SSL://hunter2:hunter2@h:9092"),
        ("listener.security.protocol.map", "SSL:SSL,password=hunter2"),
        ("controller.quorum.voters", "1@https://u:hunter2@h:9093"),
        ("controller.quorum.bootstrap.servers", "https://u:hunter2@h"),
        ("process.roles", 'broker,x password="hunter2"'),
        ("early.start.listeners", "a,password=hunter2"),
        ("log.dirs", "/a,client_secret=hunter2"),
        ("max.connections.per.ip.overrides", "h:1,x password=hunter2:y"),
        ("num.io.threads", f'8sasl.jaas.config={PLAIN} username="a" {_NAME}="hunter2";'),
        ("log.retention.ms", "${env:X}-----BEGIN PRIVATE KEY-----hunter2"),
    ],
)
def test_error_of_a_file_of_a_node_contains_no_login(key: str, value: str) -> None:
    # Kafka's words quote a value that is refused; the line is named, and the value is not.
    lines = {
        "process.roles": "broker,controller", "node.id": "1", "log.dirs": "/d",
        "listeners": "CONTROLLER://:9093,SSL://:9092",
        "controller.listener.names": "CONTROLLER", "controller.quorum.voters": "1@h:9093",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SSL:SSL", "inter.broker.listener.name": "SSL",
    } | {key: value}  # fmt: skip
    data = "".join(f"{name}={text}\n" for name, text in lines.items()).encode()
    try:
        findings = read_node_config(data, file="f", release=find_release("4.3")).warnings
    except ConfigError as error:
        findings = error.findings
    # Before the last screen of all messages, which is not what is tested here.
    shown_parts = [(finding.subject, finding.message, finding.next_step, finding.evidence) for finding in findings]
    assert "hunter2" not in str(shown_parts)
    assert (f"f, line {list(lines).index(key) + 1}" in [place for place, *_ in shown_parts]) and f"'{key}'" in str(
        shown_parts
    )


def test_value_that_is_not_a_secret_is_quoted() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value one for configuration node\.id"):
        read_node_config(b"node.id=one\n", file="f", release=find_release("4.3"))


INVENTORY = """
[zookeeper]
connect = "zk:2181"
[hooks]
template = "command"
stop = ["x"]
[[nodes]]
id = 1
role = "broker"
address = "h:9092"
config = "/c"
log_dirs = ["/d"]
"""


@pytest.mark.parametrize(
    ("whole", "damaged", "named"),
    [
        ('"zk:2181"', '"zk:2181 hunter2"', "connect (line 3)"),
        ('"command"', '"hunter2"', "template (line 5)"),
        ('["x"]', '"x \'hunter2"', "stop: it cannot be split into words"),
        ('["x"]', '["x", "{hunter2"]', "stop: word 2 has a single brace"),
        ('["x"]', '["{directories*}hunter2"]', "it is part of word 1"),
        ("id = 1", 'id = "hunter2"', "id (line 8)"),
        ('"broker"', '"hunter2"', "role (line 9)"),
        ('"h:9092"', '"hunter2"', "address (line 10)"),
        ('config = "/c"', "config = 7777", "config (line 11)"),
        ('["/d"]', '["/d", "hunter2"]', "text 2 of the list"),
        ('["/d"]', "1979-05-27", "log_dirs (line 12)"),
        ("id = 1", 'id = 1 "hunter2"', "line 8"),
    ],
)
def test_error_of_an_inventory_contains_no_login(whole: str, damaged: str, named: str) -> None:
    with pytest.raises(KafkactlError) as caught:
        parse_inventory(INVENTORY.replace(whole, damaged, 1), file="f.toml")
    assert "hunter2" not in caught.value.message and "7777" not in caught.value.message
    assert named in caught.value.message and caught.value.message.startswith("f.toml: ")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[contexts.a]\nbootstrap_server = "h:1"\npassword = "hunter2"\n', "'password' (line 3)"),
        ('[contexts.a]\ncluster_id = ["hunter2"]\n', "cluster_id (line 2)"),
        ('login = "hunter2"\n', "'login' (line 1)"),
        ('current = ["hunter2"]\n', "(line 1)"),
        ('current = "x" hunter2\n', "line 1"),
    ],
)
def test_error_of_a_contexts_file_contains_no_login(text: str, named: str) -> None:
    with pytest.raises(KafkactlError) as caught:
        parse_contexts(text.encode(), file="config.toml")
    assert "hunter2" not in caught.value.message
    assert named in caught.value.message and caught.value.message.startswith("config.toml: ")


@pytest.mark.parametrize(
    ("whole", "damaged", "line"),
    [("=1000", "=x", 3), ("=SASL_SSL", "=x", 1), ("=PEM", "=x", 4), (PLAIN, "x y z", 6), ("=PLAIN\n", "=x\n", 2)],
)
def test_error_about_client_properties_names_file_and_line(whole: str, damaged: str, line: int) -> None:
    with pytest.raises(KafkactlError) as caught:
        read_client_config(_CLIENT.replace(whole, damaged, 1).encode(), file="f.properties").access()
    assert caught.value.message.startswith(f"f.properties, line {line}: ")
    assert str(caught.value) == caught.value.message


@pytest.mark.parametrize(
    ("whole", "damaged", "place"),
    [("18000", "x", ", line 1"), ("=HTTPS", "=x", ", line 3"), (DIGEST, "x y z", ", line 5")],
)
def test_error_about_zookeeper_settings_names_file_and_line(
    whole: str, damaged: str, place: str, tmp_path: Path
) -> None:
    file = tmp_path / "zookeeper.properties"
    file.write_text(_ZOOKEEPER.replace(whole, damaged, 1))
    with pytest.raises(KafkactlError) as caught:
        load_zookeeper_settings(file)
    assert caught.value.message.startswith(f"{file}{place}: ")


def test_broken_login_line_is_not_repeated() -> None:
    # Java reads what follows as a key of its own, and a warning names keys.
    config = read_client_config(_CLIENT.replace(f"{_NAME}=", f"{_NAME}=\n").encode(), file="f")
    assert "unknown-client-property" in [found.id for found in config.findings]
    assert "hunter2" not in str(config.findings)
    twice = read_client_config(b'retries=1\n"hunter2";x\n"hunter2";x \n"hunter2";x\n', file="f")
    assert "hunter2" not in str(twice.findings)


def test_key_with_a_mistake_in_its_name_is_shown() -> None:
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


def test_login_module_of_kerberos_is_named() -> None:
    with pytest.raises(KafkactlError, match="Krb5LoginModule"):
        zookeeper_settings({"zookeeper.sasl.jaas.config": f"{KERBEROS} a=b;"})
