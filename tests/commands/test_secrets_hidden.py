"""Secrets that no command may show unless they are requested: 40 in logs, znodes, configurations and comments.

Each secret contains a mark of `tests/secrets_scan.py`; the fixture `kafkactl` fails on an answer that contains a mark.
"""

from __future__ import annotations

import gzip
import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.values import Role
from kafkactl.metadata.io.source import open_source
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.saved_observation import CapturedMigration
from kafkactl.migration.observed.raw_observation import RawNode, RawObservation
from kafkactl.migration.render.properties_edit import shown_diff
from kafkactl.migration.zktree.redact import redact_znode
from kafkactl.migration.zktree.znode import Znode, ZnodeAcl
from kafkactl.protocol.redact import REDACTED, is_secret_setting, is_secret_text, redacted_text, shown_config
from kafkactl.protocol.text.redact_config import redact_config
from tests.migration.migration_logs import LogWriter, bootstrap, broker, record
from tests.migration.zk_trees import config, small, znodes
from tests.sampling import one_in
from tests.secrets_scan import leaks

FORMATS = ("table", "json", "jsonl", "yaml")
TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEhunter16\n-----END PRIVATE KEY-----"

# Configurations: kind of resource, name, value.
PLANTED = [
    (BROKER, "ssl.keystore.password", "hunter01"),
    (BROKER, "ssl.key.password", "hunter02"),
    (BROKER, "ssl.truststore.password", "hunter03"),
    (BROKER, "sasl.jaas.config", 'x.PlainLoginModule required password="hunter04";'),
    (BROKER, "listener.name.sasl.plain.sasl.jaas.config", "hunter05"),
    (BROKER, "listener.name.tls.ssl.keystore.key", "hunter06"),
    (BROKER, "delegation.token.secret.key", "hunter07"),
    (BROKER, "my.plugin.apikey", "hunter08"),
    (BROKER, "confluent.license", "hunter09"),
    (BROKER, "my.pwd", "hunter10"),
    (BROKER, "rsm.config.storage.azure.account.key", "hunter11"),
    (BROKER, "rsm.config.azure.connection.string", "AccountName=a;AccountKey=hunter12"),
    (BROKER, "aws.access.key", "hunter13"),
    (BROKER, "ldap.bindpw", "hunter14"),
    (BROKER, "metrics.url", "https://bob:hunter15@host/path"),
    (BROKER, "some.certificate", PEM),
    (BROKER, "log.dirs", "password=hunter17"),
    (BROKER, "metric.reporters", "https://bob:hunter18@host"),
    (BROKER, "listener.name.tls.unknown.thing", "hunter19"),
    (BROKER, "retention.ms", "hunter20"),  # known, but not of a broker
    (TOPIC, "retention.ms", "password=hunter21"),
    (TOPIC, "cleanup.policy", PEM),
    (TOPIC, "leader.replication.throttled.replicas", "https://u:hunter22@host"),
    (TOPIC, "my.topic.plugin", "hunter23"),
    (TOPIC, "follower.replication.throttled.replicas", '{"secret": "hunter24"}'),
    (TOPIC, "message.timestamp.type", "Authorization: Bearer hunter25.abcdefgh"),
    (METRICS, "match", "client_secret=hunter26"),
    (METRICS, "unknown", "hunter27"),
    (GROUP, "consumer.session.timeout.ms", "https://h/?a=b&sig=hunter28"),
    (GROUP, "unknown", "hunter29"),
    (BROKER, "socket.listen.backlog.size", "hunter41"),  # on the wrong line
    (BROKER, "auto.create.topics.enable", "hunter42"),
    (BROKER, "zookeeper.connect", "zk1:2181/kafka?auth=digest:u:hunter43"),
    (TOPIC, "flush.ms", "hunter44"),
    (GROUP, "consumer.heartbeat.interval.ms", "hunter45"),
]
SHOWN = [
    (TOPIC, "segment.ms", "600123"),
    (BROKER, "log.segment.bytes", "17 GB"),
    (BROKER, "num.io.threads", "17"),
    (GROUP, "share.isolation.level", "x17"),
]
COMMENTS = [
    "# the old one was hunter30",
    "#ssl.key.password=hunter31",
    "! my.pwd=hunter32",
    "# https://bob:hunter33@host",
    "#num.io.threads=8 hunter34 password=hunter34",
]


# A node's file with these cannot be read further.
UNREADABLE = ("socket.listen.backlog.size", "auto.create.topics.enable")


def properties(*, unreadable: bool = False) -> str:
    settings = [(name, value) for kind, name, value in PLANTED if kind == BROKER]
    lines = [f"{name}={value}" for name, value in settings if unreadable or name not in UNREADABLE]
    return "\n".join(
        ["process.roles=broker", "node.id=1", *COMMENTS, *lines, "num.io.threads=17", "ssl.key.location=/x", ""]
    )


def written_log(folder: Path, *, suffix: str = "", token: str = "hunter36") -> Path:
    log = LogWriter()
    bootstrap(log)
    broker(log, 1)
    configs = [
        record("ConfigRecord", ResourceType=kind, ResourceName="1" if kind == BROKER else "t", Name=name,
               Value=value + (suffix if (kind, name, value) in PLANTED else ""))
        for kind, name, value in [*PLANTED, *SHOWN]
    ]  # fmt: skip
    log.batch(*configs)
    key = b"hunter35-and-some-more-of-it"
    log.batch(
        record("UserScramCredentialRecord", Name="alice", Mechanism=1, Salt=key, StoredKey=key, ServerKey=key,
               Iterations=4096),
        record("DelegationTokenRecord", Owner="User:eve", Requester="User:eve", Renewers=[], IssueTimestamp=1,
               MaxTimestamp=2, ExpirationTimestamp=2, TokenId=token),
        record("TopicRecord", Name="t", TopicId=_uuid(5)),
        record("PartitionRecord", PartitionId=0, TopicId=_uuid(5), Replicas=[1], Isr=[1], Leader=1, LeaderEpoch=0,
               PartitionEpoch=0),
    )  # fmt: skip
    log.batch(record("NoOpRecord"))
    return log.write(folder)


def _uuid(number: int) -> Any:
    from kafkactl.core.values import Uuid

    return Uuid(bytes(15) + bytes([number]))


def captured(folder: Path) -> CapturedMigration:
    broker_configs = {name: value for kind, name, value in PLANTED if kind == BROKER}
    topic_configs = {name: value for kind, name, value in PLANTED if kind == TOPIC} | {"segment.ms": "600123"}
    tree = small() | {
        "/config/brokers/1": config(**broker_configs),
        "/config/topics/orders": config(**topic_configs),
        "/config/users/eve": config(**{"SCRAM-SHA-256": "salt=aHVudGVyMzc=,hunter37"}),
        "/config/clients/c": config(password="hunter38"),
        "/config/topics/odd": b"hunter39, and no JSON",
    }
    # Ids of tokens name znodes, and open nothing without the key, which is not in ZooKeeper: an observation keeps them.
    acl = ZnodeAcl(perms=31, scheme="digest", id="kafka:hunter40")
    more = Znode(path="/kafka/admin/x", data=None, acl=(acl,))
    nodes = (
        RawNode(id=1, role=Role.BROKER, config=properties()),
        RawNode(id=2, role=Role.BROKER, config=properties().replace("hunter", "hunter-").replace("id=1", "id=2")),
        RawNode(id=3001, role=Role.CONTROLLER, config=properties().replace("=broker", "=controller")),
    )
    raw = RawObservation(time_ms=5, connect="zk1:2181/kafka", chroot="/kafka", nodes=nodes)
    return CapturedMigration(
        raw=raw,
        znodes=(*znodes(tree, "/kafka"), more),
        logs={3001: open_source(str(written_log(folder, token="shown")))},
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written_log(tmp_path / "log")


def test_forty_secrets_are_planted() -> None:
    planted = " ".join([*(value for _, _, value in PLANTED), *COMMENTS])
    assert all(f"hunter{number:02}" in planted for number in range(1, 35))


@pytest.mark.parametrize("output", FORMATS)
def test_commands_on_a_log_show_no_secret(kafkactl: Any, log: Path, tmp_path: Path, output: str) -> None:
    other = written_log(tmp_path / "other", suffix="-hunter99")
    words = [
        ["log", "dump", log], ["log", "verify", log], ["log", "image", log], ["log", "lint", log],
        ["log", "history", log, "--config", "broker:1"], ["log", "history", log, "--config", "topic:t"],
        ["log", "diff", log, other], ["log", "browse", log, "/image/scram"],
        *(["log", "browse", log, f"/image/configs/{name}"] for name in ("BROKER:1", "TOPIC:t", "GROUP:t")),
        ["log", "browse", log, "/image/configs/BROKER:1/my.pwd"],
        ["log", "browse", log, "/image/configs/TOPIC:t/retention.ms"],
        ["dryrun", "replay", log], ["dryrun", "restart", log], ["dryrun", "growth", log],
        ["dryrun", "alter-config", log, "--entity", "broker:1", "--set", "my.pwd=hunter50", "--records"],
        ["dryrun", "alter-config", log, "--entity", "topic:t", "--set", "retention.ms=password=hunter51", "--records"],
        ["storage", "dump", log / "00000000000000000000.log"],
    ]  # fmt: skip
    answers = []
    for word in words:
        run = kafkactl(*word, "-o", output)  # it is the fixture that looks for secrets
        assert "internal-error" not in run.stderr, run.stderr
        answers.append(run.stdout + run.stderr)
    assert "600123" in answers[0]
    if output == "json":
        image = kafkactl("log", "image", log, "-o", "json").json["image"]
        shown = {name: value for config in image["configs"] for name, value in config["configs"].items()}
        assert {shown[name] for _, name, _ in PLANTED} == {"<redacted>"}
        assert {shown[name] for _, name, _ in SHOWN} == {value for _, _, value in SHOWN}


def test_difference_of_secrets_is_seen(kafkactl: Any, log: Path, tmp_path: Path) -> None:
    other = written_log(tmp_path / "other", suffix="-hunter99")
    images = [kafkactl("log", "image", path, "-o", "json").json for path in (log, other)]
    assert images[0]["image"] == images[1]["image"]
    assert images[0]["sha256"] != images[1]["sha256"]
    differences = kafkactl("log", "diff", log, other, "-o", "json").json["differences"]
    assert differences
    assert {difference["part"] for difference in differences} == {"configs"}
    assert {value for difference in differences for value in difference["after"].values()} == {"<redacted>"}


def test_asked_for_they_are_shown(kafkactl: Any, log: Path) -> None:
    for words in (["dump"], ["image"]):
        shown_text = kafkactl("log", *words, log, "--show-secrets", "-o", "json").stdout
        assert not [value for _, _, value in PLANTED if json.dumps(value) not in shown_text]
        assert "hunter36" in shown_text


def test_details_contain_no_secret(kafkactl: Any, log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert kafkactl("dryrun", "replay", log, "--details", tmp_path / "out").code in (0, 7)
    tables = {path.stem: parquet.read_table(path).to_pylist() for path in (tmp_path / "out").rglob("*.parquet")}
    assert any(row["value"] == "600123" for row in tables["configs"])
    assert not leaks(json.dumps(tables, default=str))


def test_saved_observation_contains_no_secret(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    save_observation(str(folder), captured(tmp_path / "log"))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 3
    for path in files:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        assert not leaks(data), path
        assert b"600123" in data or path.suffix != ".log"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_dir()} == {0o700}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("output", one_in(2, FORMATS))
@pytest.mark.parametrize("include_secrets", [False, True])
def test_commands_on_an_observation_show_no_secret(
    kafkactl: Any, tmp_path: Path, output: str, include_secrets: bool
) -> None:
    folder = tmp_path / "out"
    save_observation(str(folder), captured(tmp_path / "log"), include_secrets=include_secrets)
    for words in (
        ["migrate", "status", "--observation", folder],
        ["migrate", "check", "--observation", folder],
        ["migrate", "compare", "--observation", folder],
        ["migrate", "render", "--observation", folder, "--dry-run"],
        ["dryrun", "zk-migration", folder, "--records", "--kafka-version", "3.9.2"],
    ):
        run = kafkactl(*words, "-o", output)
        assert "internal-error" not in run.stdout + run.stderr, run.stderr


@pytest.mark.parametrize("output", FORMATS)
def test_commands_on_a_file_of_a_node_show_no_secret(kafkactl: Any, tmp_path: Path, output: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(properties())
    for words in (["storage", "info", "--config", file], ["storage", "verify", "--config", file]):
        run = kafkactl(*words, "-o", output)
        assert "internal-error" not in run.stdout + run.stderr, run.stderr


def test_diff_of_files_contains_no_secret() -> None:
    after = properties().replace("hunter1", "hunter-1").replace("=17", "=18")
    diff = shown_diff(properties().encode(), after.encode(), before_name="a", after_name="b")
    assert not leaks(diff)
    assert "+num.io.threads=18" in diff
    assert "+my.pwd=<redacted> (another)" in diff
    whole = shown_diff(b"", properties().encode(), before_name="a", after_name="b")
    assert not leaks(whole)
    assert "+#num.io.threads=<redacted>" in whole
    assert "+# <redacted>" in whole


def test_broken_error_text_contains_no_secret() -> None:
    for _, _, value in PLANTED:
        if is_secret_text(value) and "Bearer" not in value and "sig=" not in value:
            assert not leaks(redacted_text(f"cannot use {value}, says the node")), value


@pytest.mark.parametrize(
    "line",
    [
        "advertised.listeners=PLAINTEXT://b1:9092,TOKEN://b1:9093",
        "listener.security.protocol.map=TOKEN:SASL_SSL,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters=1@h1:9093,2@h2:9093",
        "super.users=User:CN=broker-1,OU=kafka;User:admin",
        "ssl.principal.mapping.rules=RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT",
        "sasl.kerberos.principal.to.local.rules=RULE:[1:$1@$0](.*@EXAMPLE)s/@.*//,DEFAULT",
        "listener.name.tls.ssl.truststore.type=PEM",
        "listener.name.sasl.scram-sha-512.sasl.login.class=a.B",
        "leader.replication.throttled.rate=1",
        "zookeeper.connect=zk1:2181,zk2:2181/kafka",
        "delegation.token.max.lifetime.ms=5",
        "ssl.keystore.location=/etc/kafka/secrets/a.jks",
        "message.max.bytes=5",
    ],
)
def test_public_configuration_is_not_redacted(line: str) -> None:
    assert redact_config(line + "\n") == line + "\n"


HOSTILE = [
    "a" * 150_000, "password" * 19_000, "secret " * 22_000, "://" * 50_000, "://a@ " * 30_000, "a=" * 75_000,
    "-----BEGIN A-----\n" * 12_000, "password" + " " * 150_000, "a." * 75_000, 'password="' * 3_000, "a b" * 50_000,
    "bearer " * 22_000, "\\" * 150_000, "token=" * 25_000, "x" + " " * 150_000 + "=",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value[:12].strip())
def test_time_is_linear(value: str) -> None:
    started = time.process_time()
    is_secret_text(value)
    redacted_text(value)
    redact_config(f"log.dirs={value}\n")
    redact_config(f"{value}\n")
    redact_znode(Znode(path="/config/topics/t", data=config(**{"retention.ms": value})), "/config/topics/t")
    shown_diff(f"#{value}\n".encode(), f"log.dirs={value}\n".encode(), before_name="a", after_name="b")
    assert time.process_time() - started < 30  # of the processor; a quarter of an hour if it grew with the square


@pytest.mark.parametrize(
    ("name", "value", "is_hidden"),
    [
        ("socket.listen.backlog.size", "hunter2", True),
        ("num.io.threads", "8", False),
        ("num.io.threads", "-8.5e10", False),
        ("log.retention.bytes", "10 GiB", False),
        ("log.retention.ms", "${env:RETENTION}", False),
        ("log.retention.ms", "", False),
        ("log.retention.ms", "${env:A}hunter2", True),
        ("auto.create.topics.enable", "yes", False),
        ("auto.create.topics.enable", "hunter", True),
        ("compression.type", "hunter", False),  # a STRING may be any text
    ],
)
def test_value_that_is_not_a_number_is_hidden_in_a_numeric_setting(name: str, value: str, is_hidden: bool) -> None:
    assert (shown_config(BROKER, name, value) == REDACTED) is is_hidden
    assert is_secret_setting(name, value) is is_hidden


def test_login_of_zookeeper_is_left_out_of_texts() -> None:
    text = "zookeeper.connect is zk1:2181,zk2:2181/kafka?auth=digest:admin:hunter2, and zk3 is missing"
    assert is_secret_text(text)
    assert redacted_text(text) == text.replace("hunter2", REDACTED)
    assert not is_secret_text("the digest: 5 of 6")


@pytest.mark.parametrize("output", FORMATS)
def test_secret_on_the_line_of_a_number_is_hidden(kafkactl: Any, tmp_path: Path, output: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(properties(unreadable=True) + f"log.dirs={tmp_path}/d\n")
    for words in (["storage", "verify", "-c", file], ["storage", "info", "-c", file], ["storage", "dump", file]):
        run = kafkactl(*words, "-o", output)
        assert "socket.listen.backlog.size" in run.stdout + run.stderr


@pytest.mark.parametrize(
    "value, is_shown",
    [
        *((value, True) for value in ("0x10", "-0xFF", "0b101", "10 minutes", '"10"', "'true'", "1024 * 1024")),
        *((value, True) for value in ("unlimited", "disabled", "{{ .Values.rate }}", "<no value>", "${env:RATE}")),
        *((value, False) for value in ("hunter2", "0x" + "f" * 24, "10 horses", "p4ss*word", "'x1y2", "0x1 hunter2")),
    ],
)
def test_wrong_number_is_shown_and_password_in_its_place_is_not(value: str, is_shown: bool) -> None:
    assert (shown_config(BROKER, "log.retention.ms", value) == value) is is_shown
