"""`kafkactl status` on clusters of released Kafka: each verdict of its table, made for real."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once
from tests.report.exposition import samples
from tests.repository.tree import ROOT

Kafkactl = Callable[..., Run]
EVERY = [
    pytest.param(version, marks=() if version == "4.3.1" else pytest.mark.campaign)
    for version in ("3.9.2", "4.3.1", "4.4.0")
]
SHAPE = {"controllers": 3, "brokers": 0, "combined": True}
FILTERS = {
    "without_leader": "--unavailable-partitions",
    "under_min_isr": "--under-min-isr-partitions",
    "at_min_isr": "--at-min-isr-partitions",
    "out_of_sync": "--under-replicated-partitions",
}
TOOL = "org.apache.kafka.tools.TopicCommand"
CODES = {"ok": 0, "watch": 0, "problem": 7, "unknown": 6}


class Stage:
    """A cluster, Kafka's own tool, and the status of the cluster."""

    def __init__(self, cluster: KafkaCluster, tool: StorageToolServer, kafkactl: Kafkactl) -> None:
        self.cluster, self._tool, self._kafkactl = cluster, tool, kafkactl
        release = cluster.shape.release
        self._tools = release if "kafka-tools" in releases.release(release).tools else releases.NEWEST_WITH_TOOLS

    def topics(self, *words: str, brokers: str | None = None) -> str:
        where = ["--bootstrap-server", brokers or self.cluster.bootstrap_server]
        done = self._tool.run_tool(self._tools, TOOL, [*where, *words])
        assert done.exit_code == 0, done
        return done.stdout

    def counts(self, *brokers: int) -> dict[str, int]:
        """Return partitions that each filter of kafka-topics.sh shows; `brokers` are those that answer."""
        where = ",".join(str(self.cluster.broker_address(id)) for id in brokers)
        return {
            count: self.topics("--describe", word, brokers=where).count("\tPartition: ")
            for count, word in FILTERS.items()
        }

    def check_counts(self, areas: Mapping[str, Any], *brokers: int) -> None:
        """Check that Kafka's tool counts the same when these brokers have read what the controllers wrote."""
        found = counted(areas["partitions"])
        assert answer_once(found.__eq__, lambda: self.counts(*brokers)) == found

    def run(self, *words: object, controllers: bool = True) -> Run:
        named = ("--bootstrap-controller", self.cluster.bootstrap_controller)
        brokers = ("--bootstrap-server", self.cluster.bootstrap_server)
        return self._kafkactl("status", *(named if controllers else brokers), *words, "-o", "json")

    def until(self, holds: Callable[[Mapping[str, Any]], bool], **options: Any) -> dict[str, Any]:
        """Return the first status that has what is waited for, as its areas by name, and the whole as `""`."""
        run: list[Run] = []

        def seen() -> bool:
            run[:] = [self.run(**options)]
            return bool(run[0].stdout) and holds(areas_of(run[0]))

        self.cluster.wait_for(seen, "the status that is expected")
        assert run[0].code == CODES[run[0].json["verdict"]]
        return areas_of(run[0])

    def check_commands(self, areas: Mapping[str, Any]) -> None:
        """Run the next command of each area, as it is printed."""
        for name, area in areas.items():
            if name and area["command"] is not None:
                program, *words = shlex.split(area["command"])
                run = self._kafkactl(*words, "-o", "json")
                assert program == "kafkactl" and run.code in (0, 7), (area["command"], run)
                assert run.json["kind"]

    @contextmanager
    def topic(self, name: str, *words: str) -> Iterator[None]:
        self.topics("--create", "--if-not-exists", "--topic", name, *words)
        try:
            yield
        finally:
            self.cluster.resume(*self.cluster.controller_ids)
            self.cluster.start()
            self.topics("--delete", "--if-exists", "--topic", name)


def areas_of(run: Run) -> dict[str, Any]:
    return {"": run.json, **{area["area"]: area for area in run.json["areas"]}}


def counted(area: Mapping[str, Any]) -> dict[str, int]:
    return {count: area["counts"][count] for count in FILTERS}


@pytest.fixture
def stage(
    cluster_of: ClusterOf, storage_tool: StorageToolServer, kafkactl: Kafkactl, request: pytest.FixtureRequest
) -> Stage:
    made = Stage(cluster_of(request.getfixturevalue("release"), **SHAPE), storage_tool, kafkactl)
    settings = ("--partitions", "6", "--replication-factor", "3", "--config", "min.insync.replicas=2")
    made.topics("--create", "--if-not-exists", "--topic", "orders", *settings)
    return made


def other_than_leader(cluster: KafkaCluster) -> int:
    return next(id for id in cluster.controller_ids if id != cluster.leader())


@pytest.mark.parametrize("release", EVERY)
def test_healthy_cluster_is_ok_and_raises_no_alarm(stage: Stage, kafkactl: Kafkactl, release: str) -> None:
    areas = stage.until(lambda areas: areas[""]["verdict"] == "ok")
    assert {name: area["verdict"] for name, area in areas.items()} == dict.fromkeys(areas, "ok")
    assert areas["partitions"]["counts"]["partitions"] == 6
    stage.check_counts(areas, 1, 2, 3)
    deep = areas_of(
        answer_once(lambda run: run.json["verdict"] == "ok", lambda: stage.run("--deep", controllers=False))
    )
    assert {area["verdict"] for area in deep.values()} == {"ok"} and {"settings", "next-failure"} < set(deep)
    stage.check_commands(deep)
    file = stage.cluster.config_file(1)
    host = stage.cluster.wait_for(
        lambda: (run := kafkactl("status", "-c", file, "-o", "json")).code == 0 and run, "a healthy host"
    )
    assert areas_of(host)["this-host"]["counts"] == {"nodes": 1, "running": 1}
    assert host.json["found"] == {"by": "config", "files": [str(file)]}
    assert [release.startswith(version) for version in host.json["kafka_versions"]] == [True]
    named = ("--bootstrap-controller", stage.cluster.bootstrap_controller)
    printed = [
        kafkactl("status", "-c", file, "-o", "prometheus"),
        kafkactl("quorum", "describe", *named, "-o", "prometheus"),
        kafkactl("storage", "verify", "-c", file, "--kafka-version", release, "-o", "prometheus"),
    ]  # fmt: skip
    assert [run.code for run in printed] == [0, 0, 0]
    assert [alarm for run in printed for alarm in alarms(run.stdout)] == []


def alarms(text: str) -> list[str]:
    """Return the alerts of docs/monitoring.md that hold for these metrics."""
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rules = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])["groups"][0]["rules"]
    found = samples(text)
    return [rule["alert"] for rule in rules if any(_holds(part, found) for part in rule["expr"].split(" or "))]


def _holds(expression: str, found: Mapping[str, Any]) -> bool:
    if expression.startswith("time()"):
        return False  # of a command that did not end
    name, label, sign, number = re.fullmatch(r"(\w+)(?:\{(.*)\})? (==|<|>) (-?\d+)", expression).groups()
    values = [value for labels, value in found.get(name, ()) if (label or "") in labels]
    compare = {"==": float.__eq__, "<": float.__lt__, ">": float.__gt__}[sign]
    return any(compare(float(value), float(number)) for value in values)


@pytest.mark.parametrize("release", EVERY)
def test_killed_node_is_watched_for_and_partitions_are_counted_as_kafka_counts_them(stage: Stage, release: str) -> None:
    gone = other_than_leader(stage.cluster)
    rest = [id for id in (1, 2, 3) if id != gone]
    with stage.topic("strict", "--partitions", "2", "--replication-factor", "3", "--config", "min.insync.replicas=3"):
        stage.cluster.kill(gone)
        areas = stage.until(
            lambda areas: areas["brokers"]["counts"]["fenced"] == 1 and areas["quorum"]["counts"]["alive"] == 2
        )
        assert areas["quorum"]["verdict"] == areas["brokers"]["verdict"] == "watch"
        assert areas["quorum"]["counts"]["survives"] == 0
        assert f"{gone} down" in areas["quorum"]["text"]
        assert (areas["partitions"]["verdict"], areas[""]["verdict"]) == ("problem", "problem")
        stage.check_counts(areas, *rest)
        assert areas["partitions"]["counts"]["under_min_isr"] == 2
        assert areas["next-failure"]["verdict"] == "watch"
        stage.check_commands(areas)


@pytest.mark.parametrize("release", EVERY)
def test_partition_without_a_replica_in_service_has_no_leader(stage: Stage, release: str) -> None:
    gone = other_than_leader(stage.cluster)
    rest = [id for id in (1, 2, 3) if id != gone]
    with stage.topic("solo", "--replica-assignment", f"{gone},{gone}"):
        stage.cluster.kill(gone)
        areas = stage.until(lambda areas: areas["partitions"]["counts"]["without_leader"] == 2)
        assert areas["partitions"]["verdict"] == "problem"
        assert "solo-0" in areas["partitions"]["headline"]
        stage.check_counts(areas, *rest)
        stage.check_commands(areas)


@pytest.mark.parametrize("release", EVERY)
def test_paused_node_is_silent_and_the_rest_is_known(stage: Stage, release: str) -> None:
    paused = other_than_leader(stage.cluster)
    try:
        stage.cluster.pause(paused)
        areas = stage.until(lambda areas: areas["quorum"]["counts"]["alive"] == 2)
        assert areas["quorum"]["verdict"] == "watch"
        assert areas["brokers"]["counts"]["silent"] + areas["brokers"]["counts"]["fenced"] == 1
        assert areas["partitions"]["verdict"] in ("ok", "watch")
        assert areas["levels"]["verdict"] == "ok"
    finally:
        stage.cluster.resume(paused)


@pytest.mark.parametrize("release", EVERY)
def test_cluster_without_a_leader_is_a_problem(stage: Stage, release: str) -> None:
    stage.cluster.kill(1, 2)
    areas = stage.until(lambda areas: areas["quorum"]["counts"]["leader_id"] == -1)
    assert areas["quorum"]["verdict"] == "problem"
    # From 4.0 on a controller that followed goes on naming the leader that it lost; one that led names none.
    headline = areas["quorum"]["headline"]
    assert headline == "no controller leads the quorum" or "does not answer here: it has ended" in headline, headline
    assert areas["partitions"]["verdict"] == "unknown"
    by_broker = stage.until(lambda areas: areas["quorum"]["verdict"] == "problem", controllers=False)
    assert by_broker["brokers"]["counts"]["silent"] in (None, 2)
    stage.check_commands(areas)
    stage.check_commands(by_broker)


def test_node_of_another_cluster_is_a_problem(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, kafkactl: Kafkactl
) -> None:
    own, other = (new_cluster("4.3.1", controllers=1, brokers=0, combined=True).start() for _ in range(2))
    run = kafkactl(
        "status", "-c", own.config_file(1), "--bootstrap-controller", other.bootstrap_controller, "-o", "json"
    )
    area = areas_of(run)["this-host"]
    assert (run.code, area["verdict"]) == (7, "problem")
    assert "node-of-another-cluster" in {finding["id"] for finding in area["findings"]}
    assert Stage(own, storage_tool, kafkactl).run().json["cluster_id"] == own.cluster_id
