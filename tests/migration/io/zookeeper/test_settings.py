"""`zookeeper.connect` and the `zookeeper.*` properties, as brokers have them."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.migration.io.zookeeper.multi import GET_CHILDREN, GET_DATA, MultiRead
from kafkactl.migration.io.zookeeper.settings import parse_connect, zookeeper_settings
from kafkactl.migration.zktree.connect import chroot_of, parse_connect_string
from kafkactl.net.transport import Address

MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
TLS = {"zookeeper.ssl.client.enable": "true"}


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("zk:2181", [("zk", 2181)], ""),
        ("zk", [("zk", 2181)], ""),
        (" a:1 , b:2/kafka ", [("a", 1), ("b", 2)], "/kafka"),
        ("a, b:2182", [("a", 2181), ("b", 2182)], ""),
        ("a:1,,b:2", [("a", 1), ("b", 2)], ""),
        ("a:1,/kafka", [("a", 1)], "/kafka"),
        ("a:/kafka", [("a", 2181)], "/kafka"),
        ("::1:2182", [("::1", 2182)], ""),
        ("a:1/kafka,b:2/kafka", [("a", 1)], "/kafka,b:2/kafka"),
        ("a:1,b/deep/kafka", [("a", 1), ("b", 2181)], "/deep/kafka"),
        ("[::1]:2182/k", [("::1", 2182)], "/k"),
        ("zk:2181/", [("zk", 2181)], ""),
        ("[10.0.0.1]:2182/k", [("10.0.0.1", 2182)], "/k"),
        ("[zk]", [("zk", 2181)], ""),
        (":2182", [("localhost", 2182)], ""),
        ("zk:+02182", [("zk", 2182)], ""),
        ("zk/ kafka", [("zk", 2181)], "/ kafka"),
        ("zk/a\u200bb", [("zk", 2181)], "/a\u200bb"),
    ],
)
def test_connect_string(text, servers, chroot):
    found = parse_connect(text)
    assert found.servers == tuple(Address(host, port) for host, port in servers)
    assert found.chroot == chroot
    assert parse_connect(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "/kafka", ",", "zk:port", "zk:0", "zk:70000", "zk:1//kafka", "zk:1/kafka/", "zk:1/a/../b", "zk: 1"),
        *(
            "a b:1",
            "[::1]:",
            "[::1]2181",
            "[::1",
            "[]:2181",
            "zk:1;zk2:1/kafka",
            "zk1;zk2",
            "zk,zk1|zk2",
            "2001:db8::1",
        ),
        *("zk:1:1", "\u00a0zk:1", "zk/\N{GRINNING FACE}", "zk/a\tb", "zk://zk:1/kafka", "user@zk:1"),
    ],
)
def test_invalid_connect_string_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse_connect(text)
    assert caught.value.id == "invalid-zookeeper-connect"


@pytest.mark.parametrize(
    ("text", "servers", "impossible"),
    [
        ("zk1:2181;zk2:2182/kafka", ("zk1:2181;zk2", 2182), True),
        ("zk1:2181 zk2:2182", ("zk1:2181 zk2", 2182), True),
        ("2001:db8::1", ("2001:db8:", 1), True),
        ("2001:db8::1:2182", ("2001:db8::1", 2182), False),
        ("zk\u00a0:2181", ("zk\u00a0", 2181), True),
        ("zk:0", ("zk", 0), True),
        ("zk_1.example.", ("zk_1.example.", 2181), False),
    ],
)
def test_servers_that_no_client_reaches_are_read_as_the_parser_reads_them(text, servers, impossible):
    # The parser of ZooKeeper 3.8.4 returns these hosts and ports; its client looks each host up, and skips it.
    found = parse_connect_string(text)
    assert found.servers == (servers,)
    assert found.impossible == (found.servers if impossible else ())


def test_refusal_of_a_connect_string_names_the_separator():
    for text, words in (
        ("a:1;b:1", "commas alone"),
        ("a:1 b:1", "commas alone"),
        ("2001:db8::1", "[2001:db8::1]:2181"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            parse_connect(text)


def test_blanks_inside_a_chroot_belong_to_it():
    assert chroot_of(" zk1:2181/kafka/ ") == "/kafka"
    assert chroot_of("zk1:2181/ kafka") == "/ kafka"
    assert chroot_of("zk1:2181/") == chroot_of("zk1:2181") == ""


def test_nothing_is_needed():
    settings = zookeeper_settings({"zookeeper.connect": "zk:2181", "log.dirs": "/data"})
    assert (settings.tls, settings.login, settings.session_timeout_ms) == (None, None, 18_000)


def test_tls_as_brokers_have_it():
    given = TLS | {
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.truststore.location": "trust.pem",
        "zookeeper.ssl.keystore.location": "key.p12",
        "zookeeper.ssl.keystore.password": "key-s3cret",
        "zookeeper.ssl.enabled.protocols": "TLSv1.3",
        "zookeeper.ssl.endpoint.identification.algorithm": "",
        "zookeeper.session.timeout.ms": "6000",
    }
    settings = zookeeper_settings(given)
    assert settings.tls is not None and settings.tls.keystore is not None
    assert settings.tls.keystore.location == "key.p12" and settings.tls.protocols == ("TLSv1.3",)
    assert not settings.tls.verifies_host and settings.session_timeout_ms == 6000
    assert "s3cret" not in repr(settings)
    assert zookeeper_settings(TLS).tls.verifies_host


@pytest.mark.parametrize(
    "wrong",
    [
        {"zookeeper.ssl.client.enable": "yes"},
        TLS | {"zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNIO"},
        TLS | {"zookeeper.ssl.endpoint.identification.algorithm": "LDAPS"},
        {"zookeeper.session.timeout.ms": "soon"},
    ],
)
def test_invalid_zookeeper_settings_are_refused(wrong):
    with pytest.raises(InputError) as caught:
        zookeeper_settings(wrong)
    assert caught.value.id == "invalid-zookeeper-setting"


def test_login_of_a_jaas_file_is_read(tmp_path: Path):
    file = tmp_path / "jaas.conf"
    file.write_text(
        f'KafkaServer {{ x.PlainLoginModule required username="no"; }};\n'
        f'// of the brokers\nClient {{\n  {MODULE} required\n  username="kafka"\n  password="s3cret}}b;x";\n}};\n'
        f'Other {{ {MODULE} required username="other" password="other-s3cret"; }};',
        encoding="utf-8",
    )
    settings = zookeeper_settings({"java.security.auth.login.config": str(file)})
    assert settings.login is not None
    assert (settings.login.username, settings.login.password) == ("kafka", "s3cret}b;x")
    other = {"java.security.auth.login.config": str(file), "zookeeper.sasl.clientconfig": "Other"}
    assert zookeeper_settings(other).login.username == "other"
    assert "s3cret" not in repr(settings)
    for given in (
        {"java.security.auth.login.config": str(tmp_path / "none")},
        other | {"zookeeper.sasl.clientconfig": "None"},
    ):
        with pytest.raises(InputError) as caught:
            zookeeper_settings(given)
        assert caught.value.id == "zookeeper-login-unreadable"


def test_login_line_in_the_settings_is_read():
    line = f'{MODULE} required username="kafka" password="s3cret";'
    assert zookeeper_settings({"zookeeper.sasl.jaas.config": line}).login.username == "kafka"
    for wrong, id_ in (
        ("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", "zookeeper-sasl-not-supported"),
        (f'{MODULE} required username="kafka";', "zookeeper-login-unreadable"),
    ):
        with pytest.raises(InputError) as caught:
            zookeeper_settings({"zookeeper.sasl.jaas.config": wrong})
        assert caught.value.id == id_


def _header(kind: int, done: int, code: int) -> bytes:
    return struct.pack("!iBi", kind, done, code)


def test_request_of_many_reads_is_encoded():
    stat = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    packed = struct.pack("!qqqqiiiqiiq", *stat)
    answer = b"".join(
        [
            b"??",  # kazoo's header before it
            _header(GET_DATA, 0, 0) + struct.pack("!i", 2) + b"ab" + packed,
            _header(-1, 0, -101) + struct.pack("!i", -101),
            _header(GET_DATA, 0, 0) + struct.pack("!i", -1) + packed,
            _header(-1, 1, -1),
        ]
    )
    request = MultiRead(GET_DATA, ["/a", "/b", "/c"])
    assert request.deserialize(answer, 2) == [(b"ab", stat), -101, (None, stat)]
    assert request.answer_bytes == len(answer) - 2
    assert request.serialize().startswith(_header(GET_DATA, 0, -1) + struct.pack("!i", 2) + b"/a\0")
    assert request.serialize().endswith(_header(-1, 1, -1))


def test_children_of_many_znodes_are_decoded():
    name = "ü".encode()
    answer = _header(GET_CHILDREN, 0, 0) + struct.pack("!ii", 1, len(name)) + name + _header(-1, 1, -1)
    assert MultiRead(GET_CHILDREN, ["/a"]).deserialize(answer, 0) == [["ü"]]


@pytest.mark.parametrize("answer", [b"", b"\0" * 5, _header(-1, 1, -1), _header(GET_DATA, 0, 0)])
def test_invalid_answer_is_refused(answer):
    with pytest.raises((ValueError, struct.error)):
        MultiRead(GET_DATA, ["/a"]).deserialize(answer, 0)


@pytest.mark.parametrize("value", ["1" * 6_000, "0", "-5", "2147483648", "x", ""])
def test_invalid_session_timeout_is_refused(value: str):
    with pytest.raises(InputError) as caught:
        zookeeper_settings({"zookeeper.session.timeout.ms": value})
    assert caught.value.id == "invalid-zookeeper-setting"


def test_login_file_whose_name_no_file_can_have():
    with pytest.raises(InputError) as caught:
        zookeeper_settings({"java.security.auth.login.config": "a\0b"})
    assert caught.value.id == "zookeeper-login-unreadable"
