"""server.properties by release; tests/lab/storage/test_node_config.py compares some 290 files with Kafka."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Severity
from kafkactl.core.values import Endpoint
from kafkactl.protocol.catalog.releases import release_names
from kafkactl.protocol.text.config_values import ConfigProvider
from kafkactl.storage.config.node_config import ConfigError
from tests.storage.config.node_configs import BROKER, COMBINED, CONTROLLER, read, refused, text


@pytest.mark.parametrize("release", release_names())
def test_configuration_of_a_combined_node_is_read(release: str):
    config = read(text(COMBINED, log_dirs="/data/a, /data/b", advertised_listeners="PLAINTEXT://h:9092"), release)
    assert config.roles == ("broker", "controller")
    assert config.node_id == 1
    assert config.log_dirs == config.all_directories == ("/data/a", "/data/b")
    assert config.metadata_log_dir == "/data/a"
    assert [(voter.node_id, voter.host, voter.port) for voter in config.static_voters] == [(1, "localhost", 9093)]
    assert config.controller_listener_names == ("CONTROLLER",)
    assert [endpoint.listener for endpoint in config.listeners] == ["PLAINTEXT", "CONTROLLER"]
    assert [endpoint.host for endpoint in config.advertised_listeners] == ["h", "localhost"]
    assert config.controller_endpoint() == Endpoint(listener="CONTROLLER", host="localhost", port=9093)
    assert (config.is_zookeeper_mode, config.zookeeper_migration, config.unstable_features) == (False, False, False)
    assert config.warnings == ()


def test_configuration_of_a_broker_of_a_dynamic_quorum_is_read():
    data = text(BROKER, controller_quorum_voters=None, controller_quorum_bootstrap_servers="a:1, b:2")
    config = read(data)
    assert config.roles == ("broker",)
    assert config.static_voters == ()
    assert config.bootstrap_servers == ("a:1", "b:2")
    assert config.controller_endpoint() is None


def test_directories_are_read_in_order():
    apart = read(text(COMBINED, log_dirs="/a,/b", metadata_log_dir="/m"))
    assert (apart.metadata_log_dir, apart.all_directories) == ("/m", ("/a", "/b", "/m"))
    among = read(text(COMBINED, log_dirs="/a,/b", metadata_log_dir=" /b "))
    assert (among.metadata_log_dir, among.all_directories) == ("/b", ("/a", "/b"))
    as_text = read(text(COMBINED, log_dirs="/a", metadata_log_dir="/a/"))
    assert as_text.all_directories == ("/a", "/a/")
    assert read(text(COMBINED, log_dirs=None)).log_dirs == ("/tmp/kafka-logs",)
    assert read(text(COMBINED, log_dirs=None, log_dir="/x")).log_dirs == ("/x",)
    assert read(text(COMBINED, log_dirs="/a,,/b,"), "4.1").log_dirs == ("/a", "/b")


@pytest.mark.parametrize(
    ("changes", "release", "host", "port"),
    [
        ({}, "4.3", "localhost", 9093),
        ({"listeners": "PLAINTEXT://:1,CONTROLLER://:2"}, "4.3", "", 2),
        ({"listeners": "PLAINTEXT://h:1,CONTROLLER://0.0.0.0:2"}, "4.3", "", 2),
        ({"listeners": "PLAINTEXT://h:1,CONTROLLER://[::1]:2"}, "4.3", "::1", 2),
        ({"advertised.listeners": "PLAINTEXT://p:1,CONTROLLER://c:7"}, "3.9", "c", 7),
        (
            {"listeners": "A://a:1,B://b:2,PLAINTEXT://p:3", "controller.listener.names": "B,A"},
            "4.3",
            "b",
            2,
        ),
    ],
)
def test_endpoint_of_a_standalone_controller_is_found(changes: dict[str, str], release: str, host: str, port: int):
    data = "".join(f"{key}={value}\n" for key, value in (COMBINED | changes).items()).encode()
    endpoint = read(data, release).controller_endpoint()
    assert endpoint is not None
    assert (endpoint.host, endpoint.port) == (host, port)


def test_zookeeper_mode_is_seen():
    data = b"broker.id=3\nzookeeper.connect=zk:2181\nlog.dirs=/d\n"
    for release in ("3.3", "3.9"):
        config = read(data, release)
        assert config.is_zookeeper_mode
        assert (config.node_id, config.roles, config.zookeeper_connect) == (3, (), "zk:2181")
    assert refused(data, "4.0").findings[0].id == "missing-config-key"
    assert "process.roles" in refused(data, "4.0").message


def test_migration_flag_requires_zookeeper():
    data = text(CONTROLLER) + b"zookeeper.metadata.migration.enable=true\n"
    assert refused(data, "3.6").id == "migration-without-zookeeper"
    config = read(data + b"zookeeper.connect=zk:2181\n", "3.6")
    assert (config.zookeeper_migration, config.is_zookeeper_mode) == (True, False)


def test_lists_lose_duplicates_from_4_2_on():
    data = text(CONTROLLER, process_roles="controller,controller", log_dirs="/a,/b,/a")
    assert refused(data, "4.1").id == "duplicate-process-role"
    config = read(data, "4.2")
    assert (config.roles, config.log_dirs) == (("controller",), ("/a", "/b"))


def test_inter_broker_protocol_and_unstable_switch_are_read():
    data = text(COMBINED) + b"inter.broker.protocol.version=3.4\nunstable.feature.versions.enable=true\n"
    assert read(data, "3.9").inter_broker_protocol_version == "3.4"
    assert read(data, "4.0").inter_broker_protocol_version is None
    assert read(text(COMBINED), "3.9").inter_broker_protocol_version is None
    assert read(data, "3.9").unstable_features
    assert not read(data, "3.7").unstable_features
    assert read(text(COMBINED) + b"unstable.metadata.versions.enable=true", "3.7").unstable_features


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_are_equivalent(end: bytes):
    assert read(text(COMBINED).replace(b"\n", end)) == read(text(COMBINED))


def test_secrets_stay_out_of_reprs():
    config = read(text(COMBINED) + b"ssl.keystore.password=hunter2\n")
    assert config.properties["ssl.keystore.password"] == "hunter2"
    assert "hunter2" not in repr(config)


# test_config_refusals.py has a case for each reason of a refusal.


def test_all_problems_are_reported_in_the_order_of_kafka():
    error = refused(
        text(
            COMBINED,
            node_id="x",
            log_dirs="/a,,/b",
            advertised_listeners="PLAINTEXT://0.0.0.0:9092",
            num_io_threads="0",
            controller_listener_names="CONTROLLER,OTHER",
        )
    )
    assert [finding.id for finding in error.findings] == [
        "invalid-config-value",  # node.id
        "invalid-config-value",  # num.io.threads
        "invalid-config-value",  # log.dirs
        "controller-listener-not-opened",
        "nonroutable-advertised-listener",
    ]
    assert "(and 4 more)" in error.message
    assert [finding.evidence["key"] for finding in error.findings[:3]] == ["node.id", "num.io.threads", "log.dirs"]
    assert error.findings[0].subject == "server.properties, line 2"


@pytest.mark.parametrize(
    ("data", "blocker", "warning"),
    [
        (text(COMBINED).replace(b"process.roles", b"process.role"), "missing-config-key", "misspelt-config-key"),
        (b"\xef\xbb\xbf" + text(COMBINED), "missing-config-key", "byte-order-mark"),
        (text(COMBINED) + b"node.id=\n", "invalid-config-value", "duplicate-property-key"),
    ],
)
def test_warnings_that_explain_come_along(data: bytes, blocker: str, warning: str):
    error = refused(data)
    assert error.id == blocker
    assert warning in [finding.id for finding in error.findings if finding.severity is Severity.WARNING]


def test_id_is_shown_as_it_is_written():
    for key in ("node.id", "broker.id"):
        (found,) = refused(text(COMBINED, node_id=None) + f"{key}=x\n".encode()).findings
        assert found.message == f"Invalid value x for configuration {key}: Not a number of type INT"
        assert (found.subject, found.evidence["key"]) == ("server.properties, line 6", key)


def test_values_of_passwords_are_not_shown():
    error = refused(text(COMBINED) + b"ssl.keystore.password=hunter2\nnode.id=hunter3\n")
    assert "hunter2" not in str([finding.to_dict() for finding in error.findings])


@pytest.mark.parametrize(
    ("data", "release", "expected"),
    [
        (text(COMBINED) + b"node.id=1\n", "4.3", [("duplicate-property-key", "server.properties, line 7")]),
        (text(COMBINED, broker_rack="r1 "), "4.3", []),
        (text(COMBINED) + b"my.plugin.key=x \n", "4.3", [("trailing-blank-in-value", "server.properties, line 7")]),
        (
            text(COMBINED) + b"controller.listeners.names=X\n",
            "4.3",
            [("misspelt-config-key", "server.properties, line 7")],
        ),
        (
            text(COMBINED) + b"zookeeper.connect=zk:1\n",
            "4.3",
            [("config-key-of-other-release", "server.properties, line 7")],
        ),
        (
            text(COMBINED) + b"controller.quorum.bootstrap.servers=a:1\n",
            "3.7",
            [("config-key-of-other-release", "server.properties, line 7")],
        ),
        (text(COMBINED, log_dirs="/a,/b,/a"), "4.1", [("duplicate-log-dir", "server.properties, line 6")]),
        (text(COMBINED, log_dirs="data"), "4.3", [("relative-log-dir", "server.properties, line 6")]),
        (text(COMBINED) + "broker.rack=ü\n".encode(), "4.3", [("non-ascii-property", "server.properties, line 7")]),
        (text(COMBINED) + b"listener.name.plaintext.ssl.client.auht=none\n", "4.3", []),
    ],
)
def test_suspicious_settings_are_warnings_with_advice(data: bytes, release: str, expected: list[tuple[str, str]]):
    warnings = read(data, release).warnings
    assert [(warning.id, warning.subject) for warning in warnings] == expected
    assert all(warning.severity is Severity.WARNING and warning.advice for warning in warnings)


PROVIDER = {"config.providers": "env", "config.providers.env.class": "EnvVar", "config.providers.env.param.x": "y"}


def answers(provider: ConfigProvider, path: str, key: str) -> str:
    assert provider == ConfigProvider(name="env", class_name="EnvVar", settings={"x": "y"})
    known = {("", "ID"): "5", ("/p", "DIR"): "/data/p", ("", "ROLE"): "broker"}
    if (path, key) not in known:
        raise LookupError(f"{key} is not set")
    return known[path, key]


def test_providers_are_asked():
    changes = {"node_id": "${env:ID}", "log_dirs": "${env:/p:DIR}/x,/data/q", "controller_quorum_voters": "5@a:1"}
    config = read(text(COMBINED | PROVIDER, **changes), resolve=answers)
    assert (config.node_id, config.log_dirs) == (5, ("/data/p/x", "/data/q"))
    assert config.properties["node.id"] == "5"


def test_unresolved_value_of_a_required_key_is_an_error():
    error = refused(text(COMBINED | PROVIDER, log_dirs="${env:NOPE}", node_id="${env:ID}"))
    assert [finding.id for finding in error.findings] == ["unresolved-config-provider"] * 2
    assert "the value of log.dirs, ${env:NOPE}, comes from a config provider" in error.findings[1].message
    error = refused(text(COMBINED | PROVIDER, log_dirs="${env:NOPE}"), resolve=answers)
    assert "NOPE is not set" in error.message
    broker_id = refused(text(COMBINED | PROVIDER, node_id=None, broker_id="${env:NOPE}"))
    assert broker_id.findings[0].evidence["key"] == "broker.id"


def test_unresolved_value_of_another_key_is_a_warning():
    config = read(text(COMBINED | PROVIDER, broker_rack="${env:NOPE}", num_io_threads="${env:NOPE}"), resolve=answers)
    assert [warning.id for warning in config.warnings] == ["unresolved-config-provider"] * 2
    assert config.node_id == 1


@pytest.mark.parametrize("providers", [{}, {"config.providers": "env"}, {"config.providers": "file"}])
def test_without_a_provider_it_is_text(providers: dict[str, str]):
    config = read(text(COMBINED | providers, log_dirs="/data/${env:X}"), resolve=answers)
    assert config.log_dirs == ("/data/${env:X}",)
    error = refused(text(COMBINED | providers, node_id="${env:ID}"))
    assert error.id == "invalid-config-value"
    assert "takes ${env:ID} literally" in error.advice


LINES = st.tuples(
    st.sampled_from(
        [*COMBINED, *PROVIDER, "advertised.listeners", "log.dir", "broker.id", "early.start.listeners", "x"]
    ),
    st.one_of(
        st.sampled_from([*COMBINED.values(), "", ",", "a:b", "://", "${env:x}", "0.0.0.0"]), st.text(max_size=12)
    ),
)


@pytest.mark.slow
@given(st.lists(LINES, max_size=10), st.sampled_from(release_names()))
def test_wrong_settings_raise_declared_errors_only(lines: list[tuple[str, str]], release: str):
    settings = COMBINED | dict(lines)
    data = "".join(f"{key}={value}\n" for key, value in settings.items()).encode("utf-8", "replace")
    try:
        read(data, release)
    except ConfigError as error:
        assert error.findings


@given(st.binary(max_size=80), st.sampled_from(release_names()))
def test_wrong_bytes_raise_declared_errors_only(data: bytes, release: str):
    try:
        read(text(COMBINED) + data, release)
    except (ConfigError, DecodeError) as error:
        assert isinstance(error, ConfigError)


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.1", "4.2", "4.4"])
def test_config_providers_are_known_to_every_release(release):
    lines = b"config.providers=file\nconfig.providers.file.class=org.example.Files\n"
    config = read(text(COMBINED) + lines, release)
    assert not [found.message for found in config.warnings if "config.providers" in found.message]


@pytest.mark.parametrize(
    ("lines", "loser"),
    [
        ("log.dir=/other\nlog.dirs=/a", "log.dir"),
        ("log.dir=/a\nlog.dirs=/a", None),
        ("log.retention.ms=604800000\nlog.retention.hours=168", None),
        ("log.retention.ms=1000\nlog.retention.hours=168", "log.retention.hours"),
        ("log.retention.minutes=60\nlog.retention.hours=2", "log.retention.hours"),
        ("log.retention.minutes=120\nlog.retention.hours=2", None),
        ("log.roll.ms=1000\nlog.roll.hours=1", "log.roll.hours"),
        ("log.roll.jitter.ms=7\nlog.roll.jitter.hours=1", "log.roll.jitter.hours"),
        ("log.retention.hours=2", None),
    ],
)
@pytest.mark.parametrize("release", ["3.9", "4.2"])
def test_name_of_a_setting_that_loses_against_another_is_reported(lines, loser, release):
    data = (
        text(COMBINED).decode().replace("log.dirs=", "x.log.dirs=") if "log.dirs" in lines else text(COMBINED).decode()
    )
    config = read((data + "\n" + lines).encode(), release)
    found = [warning for warning in config.warnings if warning.id == "config-synonym-ignored"]
    assert [warning.evidence["key"] for warning in found] == ([loser] if loser else [])


@pytest.mark.parametrize("key", ["port", "host.name", "advertised.host.name", "advertised.port"])
def test_keys_of_kafka_2_are_named_with_their_replacement(key):
    config = read(text(COMBINED) + f"{key}=9092\n".encode(), "4.3")
    (found,) = [warning for warning in config.warnings if warning.evidence["key"] == key]
    assert found.id == "config-key-of-other-release"
    assert "listeners" in found.next_step
