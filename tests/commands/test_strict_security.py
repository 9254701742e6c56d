"""Warnings of what is given away, with their ids; with --strict-security nothing is sent."""

from __future__ import annotations

import ast
import socket
import threading
from pathlib import Path

import pytest

from kafkactl.core.explanations import explanations

ROOT = Path(__file__).resolve().parents[2]

SECRETS = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=" + (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="passw0rd-of-a-client";\n'
)


@pytest.fixture
def listener():
    """Yield a port with a count of its connections."""
    met: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    met.append(server.accept()[0].close())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}", met


@pytest.fixture
def properties(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text(SECRETS)
    path.chmod(0o644)
    return path


def test_login_without_tls_is_reported_with_its_id(kafkactl, listener, properties):
    address, met = listener
    run = kafkactl("nodes", "list", "--bootstrap-server", address, "--command-config", properties, "--timeout", "20s")
    assert met
    assert "(login-in-the-clear)" in run.stderr and "(secret-file-readable)" in run.stderr
    assert "passw0rd-of-a-client" not in run.stderr
    words = ("--bootstrap-server", address, "--command-config", properties, "--timeout", "20s", "-o", "json")
    assert kafkactl("nodes", "list", *words).error["kind"] == "error", "a script reads one object"
    for id in ("login-in-the-clear", "secret-file-readable"):
        assert kafkactl("explain", id).code == 0


def test_nothing_is_sent_under_strict_security(kafkactl, listener, properties, monkeypatch):
    address, met = listener
    words = ["nodes", "list", "--bootstrap-server", address, "--command-config", properties, "-o", "json"]
    run = kafkactl(*words, "--strict-security")
    assert (run.code, run.error["id"]) == (3, "login-in-the-clear")
    assert "can be read by every user" in run.error["message"]
    monkeypatch.setenv("KAFKACTL_STRICT_SECURITY", "1")
    assert kafkactl(*words).code == 3
    assert not met


def test_users_in_a_readable_file_are_reported(kafkactl, tmp_path):
    users, config = tmp_path / "users", tmp_path / "server.properties"
    users.write_text("SCRAM-SHA-512=[name=alice,password=alice-secret]\n")
    users.chmod(0o644)
    config.write_text(
        f"process.roles=broker,controller\nnode.id=1\nlog.dirs={tmp_path}/d\nlisteners=CONTROLLER://h:1,PLAINTEXT://h:2\n"
        "controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=h:1\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
    )
    words = [
        "storage",
        "format",
        "-t",
        "q1Sh-9_ISia_zwGINzRvyQ",
        "-c",
        config,
        "--kafka-version",
        "4.4",
        "-s",
        "--scram-file",
        users,
        "--dry-run",
    ]
    run = kafkactl(*words)
    assert run.code == 0 and run.stderr.count("(secret-file-readable)") == 1
    assert kafkactl(*words, "--strict-security", "-o", "json").error["id"] == "secret-file-readable"
    users.chmod(0o600)
    assert kafkactl(*words, "--strict-security").code == 0


def test_contexts_file_in_an_open_folder_is_reported(kafkactl, tmp_path, monkeypatch, listener):
    folder = tmp_path / "open"
    folder.mkdir()
    monkeypatch.setenv("KAFKACTL_CONFIG", str(folder / "config.toml"))
    assert kafkactl("config", "set", "prod", "--bootstrap-server", listener[0]).code == 0
    folder.chmod(0o777)
    run = kafkactl("nodes", "list", "--context", "prod", "--timeout", "20s")
    assert "(trusted-file-writable)" in run.stderr
    run = kafkactl("nodes", "list", "--context", "prod", "--strict-security", "-o", "json")
    assert (run.code, run.error["id"]) == (3, "trusted-file-writable")


def test_readable_file_of_a_controller_is_refused_under_strict_security(kafkactl, listener, tmp_path):
    # `dryrun zk-migration --config`, which holds the login at ZooKeeper and the secret of encrypted passwords.
    address, met = listener
    config = tmp_path / "controller.properties"
    config.write_text("password.encoder.secret=passw0rd-of-the-encoder\nzookeeper.session.timeout.ms=500\n")
    config.chmod(0o644)
    words = ("--config", config, "--timeout", "30s")
    run = kafkactl("dryrun", "zk-migration", address, *words, "--strict-security", "-o", "json")
    assert (run.code, run.error["id"]) == (3, "secret-file-readable") and not met
    words = ("dryrun", "zk-migration", "127.0.0.1:1", *words)
    assert kafkactl(*words).stderr.count("(secret-file-readable)") == 1
    config.chmod(0o600)
    assert "(secret-file-readable)" not in kafkactl(*words).stderr


OAUTH = "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required " + (
    'clientId="a" clientSecret="passw0rd-of-a-client";\n'
)
TO_BROKERS = "nodes list --bootstrap-server {address} --command-config {file}"
# By id: what is in the file (its mode), the command that reads it, and its environment.
GIVEN_AWAY = {
    "login-in-the-clear": (SECRETS, 0o600, TO_BROKERS, {}),
    "secret-file-readable": (SECRETS.replace("_PLAINTEXT", "_SSL"), 0o644, TO_BROKERS, {}),
    "host-name-not-checked": (
        "security.protocol=SSL\nssl.endpoint.identification.algorithm=\n", 0o600, TO_BROKERS, {},
    ),
    "proxy-sees-secret": (
        "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.oauthbearer.token.endpoint.url=http://login.example/token\n{OAUTH}", 0o600, TO_BROKERS,
        {"http_proxy": "http://{address}"},
    ),
    "trusted-file-writable": (
        '[zookeeper]\nconnect = "{address}"\n[hooks]\ntemplate = "manual"\n[[nodes]]\nid = 1\nrole = "broker"\n'
        'address = "{address}"\nconfig = "/c"\n[[nodes]]\nid = 2\nrole = "controller"\naddress = "127.0.0.1:1"\n'
        'config = "/d"\n', 0o666, "migrate status --inventory {file}", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("id", GIVEN_AWAY)
def test_strict_refuse_each(kafkactl, listener, tmp_path, monkeypatch, id):
    address, met = listener
    text, mode, words, environment = GIVEN_AWAY[id]
    file = tmp_path / "file"
    file.write_text(text.replace("{address}", address))
    file.chmod(mode)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.replace("{address}", address))
    run = kafkactl(*words.format(address=address, file=file).split(), "--strict-security", "-o", "json")
    assert run.code == 3, run.error
    # A proxy sees what goes in the clear, which is the first that is refused.
    assert id == run.error["id"] or "goes through the proxy" in run.error["message"], run.error
    assert "passw0rd" not in run.stderr
    assert not met, "nothing is sent"


def test_each_is_one_of_these():
    tree = ast.parse((ROOT / "kafkactl/kafka/api/exposure.py").read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert texts & set(explanations()) == set(GIVEN_AWAY)
