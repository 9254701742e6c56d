"""Nodes of a host, from processes that look like Kafka's and from files at the usual places."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.files import processes
from kafkactl.storage.api.discovery import connect_to_found, find_cluster, find_node
from kafkactl.storage.discovery import FoundBy
from kafkactl.storage.io import host_nodes

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[str, ...]]:
    """Return the processes of the host by their numbers: none at first. No file is at a usual place, no context."""
    running: dict[int, tuple[str, ...]] = {}
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter(sorted(running.items())))
    monkeypatch.setattr(host_nodes, "FOLDERS", (str(tmp_path / "etc"), str(tmp_path / "opt")))
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "contexts.toml"))
    tmp_path.chmod(0o755)
    return running


def node_file(
    path: Path, *, node_id: int = 1, port: int = 9093, cluster_id: str | None = CLUSTER, more: str = ""
) -> Path:
    """Write the file of a controller, and the meta.properties of its disk if it has a cluster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o755)
    disk = path.parent / f"disk-{node_id}"
    disk.mkdir(exist_ok=True)
    if cluster_id is not None:
        (disk / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n")
    path.write_text(
        f"process.roles=controller\nnode.id={node_id}\nlisteners=CONTROLLER://c{node_id}.example:{port}\n"
        f"controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=c1.example:9093\nlog.dirs={disk}\n{more}"
    )
    path.chmod(0o644)
    return path


def java(*arguments: object, class_path: str = "/opt/kafka/libs/kafka-server-common-4.3.1.jar") -> tuple[str, ...]:
    return ("java", "-cp", class_path, "kafka.Kafka", *map(str, arguments))


def test_process_of_this_host_names_file_cluster_and_release(host, tmp_path):
    path = node_file(tmp_path / "srv" / "server.properties")
    host[os.getpid()] = java(path)
    found = find_cluster()
    (file,) = found.files
    assert (found.by, file.path, file.process_id, file.release) == (FoundBy.PROCESS, str(path), os.getpid(), "4.3.1")
    assert (file.cluster_id, found.addresses, found.findings) == (CLUSTER, ("c1.example:9093",), ())


def test_relative_file_is_that_of_the_working_directory(host, tmp_path, monkeypatch):
    path = node_file(tmp_path / "srv" / "config" / "server.properties")
    monkeypatch.chdir(tmp_path / "srv")
    host[os.getpid()] = java("config/server.properties")
    assert [file.path for file in find_cluster().files] == [str(path)]


def test_process_whose_working_directory_is_hidden_is_passed_over(host, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "working_directory_of", lambda _: None)
    host[os.getpid()] = java("config/server.properties")
    shown: list[str] = []
    with pytest.raises(InputError) as raised:
        find_cluster(on_warning=lambda findings: shown.extend(finding.message for finding in findings))
    assert raised.value.id == "bootstrap-missing"
    assert "relative to its working directory" in shown[0]


def test_nodes_of_one_cluster_are_all_found(host, tmp_path):
    paths = [
        node_file(tmp_path / f"{number}" / "server.properties", node_id=number, port=9092 + number) for number in (1, 2)
    ]
    host.update({os.getpid(): java(paths[0]), os.getppid(): java(paths[1])})
    found = find_cluster()
    assert {file.path for file in found.files} == set(map(str, paths))
    assert set(found.addresses) == {"c1.example:9093", "c2.example:9094"}


def test_processes_of_several_clusters_are_a_choice_and_a_context_ends_it(host, tmp_path):
    first = node_file(tmp_path / "1" / "server.properties")
    second = node_file(tmp_path / "2" / "server.properties", node_id=2, cluster_id="5L6g3nShT-eMCtK--X86sw")
    host.update({os.getpid(): java(first), os.getppid(): java(second)})
    with pytest.raises(InputError) as raised:
        find_cluster()
    assert (raised.value.id, raised.value.exit_code) == ("several-clusters-found", 2)
    assert f"-c {first}" in raised.value.advice and f"-c {second}" in raised.value.advice
    assert find_cluster([str(second)]).by is FoundBy.CONFIG
    assert find_cluster(bootstrap_controller="c9:9093") == find_cluster(bootstrap_server="c9:9092")
    (tmp_path / "contexts.toml").write_text('current = "a"\n[contexts.a]\nbootstrap_server = "b1:9092"\n')
    (tmp_path / "contexts.toml").chmod(0o600)
    assert find_cluster().by is FoundBy.CONTEXT
    assert find_cluster([str(second)]).by is FoundBy.CONFIG
    assert find_cluster([str(second)], context="a").by is FoundBy.CONTEXT


def test_file_that_another_user_could_have_planted_is_passed_over_and_named(host, tmp_path):
    path = node_file(tmp_path / "srv" / "server.properties")
    path.chmod(0o666)
    host[os.getpid()] = java(path)
    shown = []
    with pytest.raises(InputError) as raised:
        find_cluster(on_warning=shown.extend)
    assert (raised.value.id, [finding.id for finding in shown]) == ("bootstrap-missing", ["node-file-passed-over"])
    assert f"{path} of process {os.getpid()} was passed over: it can be written by every user" in shown[0].message
    assert f"kafkactl status -c {path}" in shown[0].next_step
    assert raised.value.next_step == shown[0].next_step
    assert find_cluster([str(path)]).files[0].path == str(path)  # A file that was named is used all the same.


def test_usual_places_are_not_asked_where_a_node_runs(host, tmp_path):
    node_file(tmp_path / "etc" / "server.properties")
    host[os.getpid()] = java(tmp_path / "missing.properties")
    with pytest.raises(InputError):
        find_cluster()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("etc/server.properties", "etc/broker.properties", "opt/server.properties"), ["etc/server.properties"]),
        (("etc/kraft/server.properties", "etc/controller.properties"), ["etc/kraft/server.properties"]),
        (
            ("opt/controller.properties", "opt/broker.properties"),
            ["opt/broker.properties", "opt/controller.properties"],
        ),
        (("opt/kraft/controller.properties",), ["opt/kraft/controller.properties"]),
    ],
)
def test_usual_places_are_asked_in_order(tmp_path, names, expected):
    for name in names:
        node_file(tmp_path / name)
    found = find_cluster()
    assert (found.by, [file.path for file in found.files]) == (
        FoundBy.PLACE,
        [str(tmp_path / name) for name in expected],
    )


def test_kafka_home_is_the_last_place(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path / "home"))
    path = node_file(tmp_path / "home" / "config" / "server.properties")
    assert find_cluster().files[0].path == str(path)
    first = node_file(tmp_path / "etc" / "server.properties")
    assert find_cluster().files[0].path == str(first)


def test_file_of_zookeeper_mode_is_left_out_for_that_of_kraft(tmp_path):
    zookeeper = tmp_path / "etc" / "server.properties"
    zookeeper.parent.mkdir(mode=0o755)
    zookeeper.write_text("broker.id=0\nzookeeper.connect=localhost:2181\nlog.dirs=/tmp/kafka-logs\n")
    zookeeper.chmod(0o644)
    path = node_file(tmp_path / "etc" / "kraft" / "server.properties")
    found = find_cluster()
    assert ([file.path for file in found.files], found.findings) == ([str(path)], ())


ZOOKEEPER = "broker.id=0\nzookeeper.connect=localhost:2181\nlog.dirs=/tmp/kafka-logs\n"


@pytest.mark.parametrize("runs", [True, False])
def test_only_file_of_zookeeper_mode_leads_to_the_migration(host, tmp_path, runs):
    path = tmp_path / "etc" / "server.properties"
    path.parent.mkdir(mode=0o755)
    path.write_text(ZOOKEEPER)
    path.chmod(0o644)
    if runs:
        host[os.getpid()] = java(path, class_path="/opt/kafka/libs/kafka-server-common-3.9.2.jar")
    shown = []
    with pytest.raises(InputError) as caught:
        find_cluster(on_warning=shown.extend)
    (passed,) = shown
    assert (passed.id, passed.evidence["file"]) == ("node-file-passed-over", str(path))
    assert "ZooKeeper mode" in passed.message and "kafkactl migrate status" in passed.next_step
    assert caught.value.id == "bootstrap-missing"
    assert "each node of Kafka on this host was passed over" in caught.value.message
    assert caught.value.next_step == passed.next_step


def test_named_file_of_zookeeper_mode_is_refused_as_that(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(ZOOKEEPER)
    with pytest.raises(InputError) as caught:
        connect_to_found(find_cluster([str(path)]))
    assert (caught.value.id, str(path) in caught.value.message) == ("zookeeper-mode", True)


@pytest.mark.parametrize("kind", ["pipe", "missing"])
def test_passed_over_file_that_no_command_can_use_is_not_offered(host, tmp_path, kind):
    path = tmp_path / "node.properties"
    if kind == "pipe":
        os.mkfifo(path)
    host[os.getpid()] = java(path)
    shown = []
    with pytest.raises(InputError):
        find_cluster(on_warning=shown.extend)
    assert "--bootstrap-controller" in shown[0].next_step and str(path) not in shown[0].next_step


def test_unsafe_file_at_a_usual_place_ends_the_search(tmp_path):
    node_file(tmp_path / "etc" / "server.properties").chmod(0o666)
    node_file(tmp_path / "opt" / "server.properties")
    with pytest.raises(InputError):
        find_cluster()


def overridden(path: Path, *settings: str) -> tuple[str, ...]:
    return java(path, *(word for setting in settings for word in ("--override", setting)))


@pytest.mark.parametrize("named", [True, False])
def test_overridden_settings_are_those_of_the_node(host, tmp_path, named):
    path = node_file(tmp_path / "srv" / "server.properties", cluster_id=None)
    node_file(tmp_path / "other" / "server.properties", node_id=7)
    servers = "controller.quorum.bootstrap.servers=c7.example:9093"
    host[os.getpid()] = overridden(path, f"log.dirs={tmp_path}/other/disk-7", "node.id=7", servers, "sasl.x=secret")
    found = find_cluster([str(path)] if named else ())
    (file,) = found.files
    assert (file.config.node_id, file.config.log_dirs) == (7, (f"{tmp_path}/other/disk-7",))
    assert (file.cluster_id, found.addresses) == (CLUSTER, ("c1.example:9093", "c7.example:9093"))
    (finding,) = found.findings
    keys = ["controller.quorum.bootstrap.servers", "log.dirs", "node.id", "sasl.x"]
    assert (finding.id, finding.severity.value, finding.evidence) == ("node-file-overridden", "info", {"keys": keys})
    assert "secret" not in f"{found} {finding}"


def test_overridden_settings_of_another_user_lead_nowhere(host, tmp_path, monkeypatch):
    path = node_file(tmp_path / "srv" / "server.properties")
    host[os.getpid()] = overridden(path, "controller.quorum.bootstrap.servers=evil.example:9093")
    monkeypatch.setattr(processes, "owner_of", lambda _: 65534)
    shown = []
    with pytest.raises(InputError):
        find_cluster(on_warning=shown.extend)
    (passed,) = shown
    assert passed.id == "node-file-passed-over"
    assert "--override of controller.quorum.bootstrap.servers, and the user who started it is neither" in passed.message
    found = find_cluster([str(path)])
    assert found.addresses == ("c1.example:9093",)
    assert [(finding.id, finding.severity.value) for finding in found.findings] == [("node-file-overridden", "warning")]


def test_processes_that_share_a_file_are_passed_over_if_their_settings_differ(host, tmp_path):
    path = node_file(tmp_path / "srv" / "server.properties")
    host.update({os.getpid(): overridden(path, "node.id=1"), os.getppid(): overridden(path, "node.id=2")})
    shown = []
    with pytest.raises(InputError):
        find_cluster(on_warning=shown.extend)
    assert ["each process has its own" in finding.message for finding in shown] == [True, True]


def test_one_node_is_found_for_a_command_on_disks(tmp_path):
    with pytest.raises(InputError) as raised:
        find_node("storage verify")
    assert raised.value.id == "missing-option"
    path = node_file(tmp_path / "etc" / "broker.properties")
    assert find_node("storage verify").files[0].path == str(path)
    node_file(tmp_path / "etc" / "controller.properties", node_id=2)
    with pytest.raises(InputError) as raised:
        find_node("storage verify")
    assert raised.value.id == "several-nodes-found"


def test_client_properties_without_addresses_give_the_login_alone(tmp_path):
    path = node_file(tmp_path / "etc" / "server.properties")
    admin = tmp_path / "admin.properties"
    admin.write_text("request.timeout.ms=100\n")
    found = find_cluster(command_config=str(admin))
    assert found.files[0].path == str(path)
    with connect_to_found(found, command_config=str(admin)) as client:
        assert list(map(str, client.bootstrap)) == ["c1.example:9093"]
    admin.write_text("bootstrap.servers=b1:9092\n")
    assert find_cluster(command_config=str(admin)).by is FoundBy.OPTIONS


def test_login_for_brokers_leads_to_the_listener_that_takes_it(tmp_path):
    path = tmp_path / "etc" / "server.properties"
    path.parent.mkdir(mode=0o755)
    path.write_text(
        "process.roles=broker,controller\nnode.id=1\nlisteners=C://h:9093,IN://h:9092,OUT://h:9094\nlog.dirs=/data\n"
        "controller.listener.names=C\ncontroller.quorum.bootstrap.servers=h:9093\ninter.broker.listener.name=IN\n"
        "listener.security.protocol.map=C:PLAINTEXT,IN:PLAINTEXT,OUT:SASL_PLAINTEXT\n"
        "listener.name.out.sasl.enabled.mechanisms=SCRAM-SHA-512\n"
    )
    path.chmod(0o644)
    admin = tmp_path / "admin.properties"
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required username=a password=hunter2;"
    admin.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={login}\n")
    with connect_to_found(find_cluster(), command_config=str(admin)) as client:
        assert (client.role.word, list(map(str, client.bootstrap))) == ("broker", ["h:9094"])
    with connect_to_found(find_cluster()) as client:
        assert (client.role.word, list(map(str, client.bootstrap))) == ("controller", ["h:9093"])
