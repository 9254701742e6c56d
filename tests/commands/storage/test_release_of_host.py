"""Release of a format without `--release`: that of the host, or an assumption that is reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.files import processes
from kafkactl.protocol.catalog.releases import newest_release
from tests.storage.nodes import CLUSTER_ID, properties


@pytest.fixture
def file(tmp_path):
    return written(tmp_path)


def written(tmp_path: Path, **settings: str) -> Path:
    file = tmp_path / "server.properties"
    file.write_text(properties(log_dirs=[f"{tmp_path}/d1"], static=True, **settings), encoding="utf-8")
    return file


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return `home("4.3.1", …)`: an installation with the jars of these releases, named by KAFKA_HOME."""

    def make(*versions: str) -> Path:
        libs = tmp_path / "kafka" / "libs"
        libs.mkdir(parents=True)
        for version in versions:
            (libs / f"kafka-server-common-{version}.jar").touch()
        monkeypatch.setenv("KAFKA_HOME", str(libs.parent))
        return libs

    return make


def of(run):
    findings = {finding["id"]: finding for finding in run.json["findings"]}
    return run.json["kafka_version"], findings


def commands(file):
    node = ("-t", CLUSTER_ID, "-c", file, "-o", "json")
    return [("storage", "format", *node, "--dry-run"), ("storage", "ensure", *node, "--dry-run")]


def test_release_of_the_host_is_used_and_named(kafkactl, file, home):
    libs = home("4.3.1", "4.3.1-sources")
    for words in (*commands(file), ("storage", "verify", "-c", file, "-o", "json")):
        version, findings = of(kafkactl(*words))
        assert version == "4.3.1" and str(libs) in findings["kafka-release-found"]["message"]
        assert "kafka-release-assumed" not in findings


@pytest.mark.parametrize("versions", [(), ("3.9.2", "4.3.1"), ("9.9.9",)])
def test_newest_release_is_assumed_with_a_warning(kafkactl, file, home, versions):
    home(*versions)
    for words in (*commands(file), ("storage", "verify", "-c", file, "-o", "json")):
        version, findings = of(kafkactl(*words))
        assert version == newest_release().version_text
        assert findings["kafka-release-assumed"]["severity"] == "warning"


def test_named_release_needs_no_remark(kafkactl, file, home):
    home("3.9.2")
    for words in commands(file):
        version, findings = of(kafkactl(*words, "--kafka-version", "4.3.1"))
        assert version == "4.3.1" and not {"kafka-release-found", "kafka-release-assumed"} & findings.keys()


def test_assumed_release_is_refused_for_users(kafkactl, file, home):
    users = ("-S", "SCRAM-SHA-256=[name=a,password=alice-secret]")
    for words in commands(file):
        run = kafkactl(*words, *users)
        assert (run.code, of(run)[1]["kafka-release-assumed"]["severity"]) == (3, "blocker")
    home("4.3.1")
    for words in commands(file):
        assert kafkactl(*words, *users).code == 0


@pytest.mark.parametrize(
    ("class_path", "expected"),
    [
        ("/x/log4j.jar:{libs}/kafka-server-common-3.9.2.jar", "3.9.2"),
        ("{libs}/*", "4.3.1"),
        ("libs/*", "4.3.1"),
        ("/nowhere/*", None),
    ],
)
def test_release_of_a_running_node_is_in_its_class_path(kafkactl, file, home, monkeypatch, class_path, expected):
    libs = home("4.3.1")
    monkeypatch.delenv("KAFKA_HOME")
    arguments = ("java", "-cp", class_path.format(libs=libs), "kafka.Kafka", "/etc/other.properties")
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter([(os.getpid(), arguments)]))
    monkeypatch.setattr(processes, "working_directory_of", lambda _: libs.parent)
    version, _ = of(kafkactl(*commands(file)[0]))
    assert version == (expected or newest_release().version_text)


def test_process_of_the_same_configuration_counts_more_than_the_environment(kafkactl, file, home, monkeypatch):
    home("4.3.1")
    arguments = ("java", "-cp", "/x/kafka-server-common-3.9.2.jar", "kafka.Kafka", str(file))
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter([(os.getpid(), arguments)]))
    assert of(kafkactl(*commands(file)[0]))[0] == "3.9.2"


def test_process_of_another_user_is_ignored(kafkactl, file, monkeypatch):
    arguments = ("java", "-cp", "/x/kafka-server-common-3.9.2.jar", "kafka.Kafka", str(file))
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter([(os.getpid(), arguments)]))
    monkeypatch.setattr(processes, "owner_of", lambda _: 4711)
    assert of(kafkactl(*commands(file)[0]))[0] == newest_release().version_text


MIGRATION = {"zookeeper_metadata_migration_enable": "true", "zookeeper_connect": "z:2181"}


def test_file_of_a_migration_is_not_laid_out_for_a_release_without_zookeeper(kafkactl, tmp_path):
    file = written(tmp_path, roles="controller", **MIGRATION)
    for words in commands(file):
        for more in ((), ("--kafka-version", "4.3.1")):
            run = kafkactl(*words, *more)
            assert run.code == 3 and "release-without-zookeeper" in of(run)[1]
            assert not any("Remove it" in finding["next_step"] for finding in run.json["findings"])
        assert "release-without-zookeeper" not in of(kafkactl(*words, "--kafka-version", "3.7.2"))[1]


def test_left_over_keys_of_zookeeper_count_only_if_no_release_is_named(kafkactl, tmp_path):
    file = written(tmp_path, zookeeper_connect="z:2181")
    assert "release-without-zookeeper" in of(kafkactl(*commands(file)[0]))[1]
    assert kafkactl(*commands(file)[0], "--kafka-version", "4.3.1").code == 0
