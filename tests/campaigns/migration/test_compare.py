"""A whole migration of 3.9.2 with rendered files: ZooKeeper and KRaft agree until an operator makes them differ."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.migration.compare.comparison import Comparison, compare_observation
from kafkactl.migration.compare.copy import copy_compared
from kafkactl.migration.compare.phase import Phase
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.saved_observation import load_observation, observation_from
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.catalog.releases import KafkaVersion
from tests.campaigns.migration.test_observe import inventory_of, inventory_text
from tests.conftest import Run
from tests.lab.harness.errors import LabError
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.configs import ENCODER_SECRET

pytestmark = pytest.mark.timeout(900)

RELEASE = "3.9.2"
METRICS = ("config", "client-metrics sub")
LOST = Znode(path="/", data=None, version=-1)
# What rendering has to find out on its own.
_TAKEN_OUT = (
    "authorizer.class.name",
    "delegation.token.secret.key",
    "inter.broker.listener.name",
    "password.encoder.secret",
)


class RenderedCluster(MigrationCluster):
    """Cluster whose files are rendered from what the nodes had, except the brokers' first ones."""

    rendered: dict[tuple[int, str], bytes]

    def prepare(self, kafkactl: Callable[..., Run]) -> None:
        """Give the controllers a plain KRaft file, then render all phases."""
        for id in self.controller_ids:
            plain = self.write(id, "final", **{key.replace(".", "_"): None for key in _TAKEN_OUT})
            assert "zookeeper" not in plain.read_text(encoding="utf-8")
        out = self.workdir / "rendered"
        answer = kafkactl("migrate", "render", "--inventory", inventory_file(self), "--out", out, "-o", "json").json
        assert (answer["outcome"], answer["findings"]) == ("done", [])
        self.rendered = {(file["id"], file["phase"]): (out / file["path"]).read_bytes() for file in answer["files"]}
        self.rendered |= {(id, "zk"): self.rendered[id, "original"] for id in self.broker_ids}
        for id in self.controller_ids:
            self.write(id, "migration")

    def write(self, node_id: int, phase: str, **changed: str | None) -> Path:
        content = getattr(self, "rendered", {}).get((node_id, phase))
        if content is None:
            return super().write(node_id, phase, **changed)
        self.config_file(node_id).write_bytes(content)
        return self.config_file(node_id)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RenderedCluster]:
    with RenderedCluster(RELEASE, tmp_path_factory.mktemp("compare"), brokers=2) as cluster:
        cluster.reach("M0")
        cluster.fill()
        yield cluster


def inventory_file(cluster: MigrationCluster) -> Path:
    file = cluster.workdir / "migration.toml"
    file.write_text(inventory_text(cluster), encoding="utf-8")
    return file


def seen(cluster: MigrationCluster) -> tuple[Observation, Comparison]:
    observation = observation_from(observe(inventory_of(cluster), timeout_ms=60_000))
    return observation, compare_observation(observation)


def settled(cluster: MigrationCluster, *wanted: tuple[str, str]) -> Comparison:
    """Observe until this alone is unexplained, or a timeout: a change may be on its way to ZooKeeper."""
    found = []

    def look() -> bool:
        found.append(seen(cluster)[1])
        return names(found[-1]) == list(wanted)

    with contextlib.suppress(LabError):  # the caller shows what differs
        cluster.wait_for(look, "agreed", 30)
    return found[-1]


def names(answer: Comparison) -> list[tuple[str, str]]:
    return [(difference.entity, difference.key) for difference in answer.unexplained]


def test_comparison_is_clean_from_the_first_broker_to_the_end(cluster: RenderedCluster, kafkactl: Callable[..., Run]):
    cluster.prepare(kafkactl)
    cluster.reach("M4L")
    before, answer = seen(cluster)
    assert answer.phase is Phase.BEFORE_COPY
    assert names(answer) == []
    assert len(answer.differences) > 20

    cluster.reach("M6")
    observation, answer = seen(cluster)
    assert answer.phase is Phase.DUAL_WRITE
    assert (names(answer), answer.unknown) == ([], ())
    assert observation.log is not None
    assert before.tree is not None
    tree, records = parse_tree(before.tree), observation.log.copy_records
    found = copy_compared(tree, records, copy_rules(KafkaVersion(3, 9, 2)), secrets=(ENCODER_SECRET,))[0]
    assert [(difference.entity, difference.key) for difference in found if difference.explained is None] == []
    assert sum(record.type == "TopicRecord" for record in records) == len(tree.topics)

    live = kafkactl("migrate", "compare", "--inventory", inventory_file(cluster), "-o", "json")
    assert (live.code, live.json["differences"], live.json["phase"]) == (0, [], "dual-write")

    behind_the_back(cluster)
    in_dual_write(cluster)
    cluster.reach("M8")
    assert names(settled(cluster)) == []
    cluster.reach("M11")
    answer = settled(cluster)
    assert (answer.phase, names(answer)) == (Phase.FINALIZED, [])


def behind_the_back(cluster: RenderedCluster) -> None:
    """Write to ZooKeeper with an old tool, and check that what it did is undone."""
    with cluster.open_zookeeper() as zookeeper:
        tree = zookeeper.read_tree()
        topics = [f"/config/topics/{child}" for child in tree.children("/config/topics")]
        path = next(topic for topic in topics if b'"config":{"' in (tree.znodes[topic].data or b""))
        held = tree.znodes[path]
        edited = json.dumps({"version": 1, "config": {"retention.ms": "1234567"}}).encode()
        zookeeper.set(path, edited, held.version)
        (found,) = seen(cluster)[1].unexplained
        assert (found.entity, found.znode) == ("topic-config", path)
        assert found.zookeeper["retention.ms"] == "1234567"
        zookeeper.set(path, held.data or b"", held.version + 1)
    assert names(seen(cluster)[1]) == []


def in_dual_write(cluster: RenderedCluster) -> None:
    """Check what the mirror carries over, and the quota of a client that it loses (D5 of the measured migration)."""
    cluster.chores(
        "topic:born-late:3:2", "config:topic:born-late:retention.ms=4242", "scram:late", "acl:born-late:late"
    )
    assert names(settled(cluster)) == []
    cluster.chores("quota:producer_byte_rate=77:client-id=brief")
    assert names(settled(cluster)) == []
    cluster.chores("quota:producer_byte_rate=:client-id=brief")
    lost = ("client-quota", "client-id brief")
    found = settled(cluster, lost)
    assert names(found) == [lost]
    assert found.unexplained[0].kraft is None
    # A new controller writes the whole tree again.
    cluster.restart(cluster.controller_ids[0])
    cluster.wait_dual_write()
    assert names(settled(cluster)) == []


def shown(cluster: MigrationCluster) -> Comparison:
    """Return the same for any operator who gets the observation without its secrets."""
    captured = observe(inventory_of(cluster), timeout_ms=60_000)
    folder = cluster.workdir / "shown"
    shutil.rmtree(folder, ignore_errors=True)
    save_observation(str(folder), captured)
    return compare_observation(load_observation(str(folder)))


def test_silent_errors_of_a_copy_are_found(tmp_path: Path):
    # Controllers without the encoder secret, and a mirror that is broken in three ways: Kafka reports none of it.
    secret = {"password_encoder_secret": None}
    with MigrationCluster(RELEASE, tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.fill()
        cluster.write(cluster.controller_ids[0], "migration", **secret)
        cluster.reach("M6")
        answer = settled(cluster, ("broker-config", "1"), ("broker-config", "2"))
        assert names(answer) == [("broker-config", "1"), ("broker-config", "2")]
        assert [finding.id for finding in answer.findings] == ["password-copied-encrypted"]
        known = names(answer)

        cluster.chores("config:client_metrics:sub:interval.ms=1000")
        assert names(settled(cluster, *known, METRICS)) == [*known, METRICS]

        with cluster.open_zookeeper() as zookeeper:
            zookeeper.delete("/migration", (zookeeper.read("/migration") or LOST).version)
        cluster.chores("topic:unmirrored:1:1")
        found = seen(cluster)[1]
        assert ("topic", "unmirrored") in names(found)
        assert ("topic", "unmirrored") in names(shown(cluster))

        with cluster.open_zookeeper() as zookeeper:
            zookeeper.delete("/controller", (zookeeper.read("/controller") or LOST).version)
            cluster.wait_for(lambda: zookeeper.read("/controller"), "elected a broker")
        cluster.chores("topic:split:1:1")
        difference = next(difference for difference in seen(cluster)[1].unexplained if difference.key == "split")
        assert (difference.entity, difference.kraft) == ("topic", None)
