"""The demo as a library: every scene on the fake cluster, and what is left when it is over or goes wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kafkactl.commands.demo import cluster, released, scenes
from kafkactl.commands.demo import run as demo
from kafkactl.commands.demo.command import SCENES as OFFERED
from kafkactl.commands.demo.quorum import RANGES
from kafkactl.commands.demo.released import Kafka, find_kafka, open_released
from kafkactl.commands.demo.run import DemoRequest, run_demo
from kafkactl.commands.demo.stage import Run, Stage
from kafkactl.commands.demo.topics import TOPICS, cluster_records
from kafkactl.core.errors import FailedError, InputError
from kafkactl.protocol.log.frame import decode_record


class Listener:
    """An audience that keeps what it gets; `folder` is where the demo took place."""

    captures = True

    def __init__(self) -> None:
        self.names: list[str] = []
        self.texts: list[str] = []
        self.announced: list[str] = []
        self.runs: list[Run] = []
        self.folder = Path()
        self.files_at_the_end: set[str] = set()

    def open(self, folder: Path, *, keeps: bool) -> None:
        self.folder = folder

    def begin(self, name: str, title: str) -> None:
        self.names.append(name)

    def say(self, text: str) -> None:
        self.texts.append(text)

    def will_run(self, line: str) -> None:
        self.announced.append(line)

    def ran(self, run: Run) -> None:
        assert self.announced[-1] == run.line
        self.runs.append(run)

    def close(self) -> None:
        self.files_at_the_end = {path.name for path in self.folder.iterdir()}


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[cluster.FakeCluster]:
    """Return the fake clusters that a demo starts."""
    made: list[cluster.FakeCluster] = []

    def make() -> cluster.FakeCluster:
        made.append(cluster.FakeCluster())
        return made[-1]

    monkeypatch.setattr(demo, "FakeCluster", make)
    return made


@pytest.mark.slow
def test_every_scene_shows_what_it_promises_and_changes_no_quorum(listener, clusters):
    done = run_demo(DemoRequest(), listener)
    assert tuple(listener.names) == tuple(scenes.SCENES) == OFFERED
    shown = [(run.exit_code, word in (run.stdout or "")) for run, word in zip(listener.runs, PROMISED, strict=True)]
    codes = (0, 3, 0, 0, 0, 0, 0, 3, 0, 7, 7)
    assert shown == [(code, True) for code in codes]
    assert [fake._quorum.effects for fake in clusters] == [[]]
    assert "report.html" in listener.files_at_the_end
    assert not listener.folder.exists()
    assert (done.cluster, done.folder, done.report) == ("fake", None, None)


PROMISED = (
    "voter-is-dead", "quorum-would-wedge", "DRY RUN", "Planned", "Formatted as planned", "Node 1 starts",
    "Formatted node 1", "metadata-disk-lost", "already formatted", "audit-0", "Loss of the 2 worst brokers",
)  # fmt: skip


@pytest.mark.slow
def test_scene_without_a_cluster_starts_none_and_a_kept_folder_stays(listener, clusters, tmp_path, monkeypatch):
    (tmp_path / ".cache").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    done = run_demo(DemoRequest(scenes=("mount",), keeps=True), listener)
    assert clusters == [] and done.cluster is None
    assert done.folder is not None and Path(done.folder).parent == tmp_path / ".cache"
    assert (Path(done.folder) / "disks" / "metadata" / "meta.properties").is_file()
    assert Path(done.folder).stat().st_mode & 0o77 == 0


def test_command_that_ends_otherwise_ends_the_demo(listener, monkeypatch):
    def fail(stage: Stage) -> None:
        stage.run("explain", "no-such-id")

    monkeypatch.setitem(scenes.SCENES, "mount", scenes.Scene(name="mount", title="", run=fail))
    with pytest.raises(FailedError) as caught:
        run_demo(DemoRequest(scenes=("mount",)), listener)
    assert caught.value.id == "demo-command-differs"
    assert "exit code 2, expected 0" in caught.value.message and "no-such-id" in (caught.value.cause or "")
    assert not listener.folder.exists()


@pytest.mark.slow
def test_commands_of_the_demo_know_nothing_of_the_callers_settings(listener, monkeypatch, tmp_path):
    monkeypatch.setenv("KAFKACTL_OUTPUT", "json")
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "mine.toml"))
    run_demo(DemoRequest(scenes=("mount",)), listener)
    assert "Formatted node 1" in (listener.runs[0].stdout or "")


@pytest.mark.parametrize("level", [25, 30])
def test_records_are_those_of_the_topics(level):
    records = [decode_record(data) for data in cluster_records(level, RANGES)]
    assert Counter(record.type for record in records) == {
        "RegisterBrokerRecord": 3, "TopicRecord": 3, "ConfigRecord": 2, "PartitionRecord": 11,
    }  # fmt: skip
    replicas = [tuple(record.data["Replicas"]) for record in records if record.type == "PartitionRecord"]
    assert replicas == [partition for topic in TOPICS for partition in topic.replicas]


class TestReleasedKafka:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return a folder of jars, and a Java that ends at once."""
        (tmp_path / "jars").mkdir()
        (tmp_path / "jars" / "kafka-tools-4.3.1.jar").touch()
        java = tmp_path / "home" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text("#!/bin/sh\necho no such thing as Kafka >&2\nexit 9\n", encoding="utf-8")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
        return tmp_path / "jars"

    def test_it_is_found_as_jars_and_as_a_distribution(self, folder):
        assert find_kafka(folder).release == "4.3.1"
        (folder.parent / "libs").symlink_to(folder)
        assert find_kafka(folder.parent) == find_kafka(folder)

    def test_missing_requirement_of_the_demo_is_reported_before_a_start(self, folder, tmp_path, monkeypatch, listener):
        with pytest.raises(InputError) as caught:
            run_demo(DemoRequest(scenes=("mount",), kafka=tmp_path / "home"), listener)
        assert caught.value.id == "kafka-not-found" and listener.names == []
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jars"))
        with pytest.raises(InputError) as caught:
            find_kafka(folder)
        assert caught.value.id == "java-not-found"
        (folder / "kafka-tools-4.3.1.jar").rename(folder / "kafka-tools-3.8.1.jar")
        with pytest.raises(InputError) as caught:
            find_kafka(folder)
        assert caught.value.id == "kafka-too-old"

    def test_node_that_ends_is_reported_with_its_log_and_all_processes_end(self, folder, tmp_path, monkeypatch):
        monkeypatch.setattr(released._Released, "format", lambda self: self._folder.mkdir())
        monkeypatch.setattr(released, "_POLL_S", 0.01)
        kafka = find_kafka(folder)
        with pytest.raises(FailedError) as caught, open_released(kafka, tmp_path / "kafka"):
            pass
        assert caught.value.id == "playground-not-started"
        assert "ended with exit code 9" in caught.value.message and "no such thing" in (caught.value.cause or "")

    def test_formatting_that_fails_is_reported(self, tmp_path):
        kafka = Kafka(release="1.0", jars=tmp_path, java=tmp_path)
        with pytest.raises(FailedError) as caught, open_released(kafka, tmp_path / "kafka"):
            pass
        assert caught.value.id == "playground-not-started" and "storage plan" in caught.value.message
