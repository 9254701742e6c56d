"""A format of an empty directory of a broker that replaces the last copy of partitions: what is reported before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import LOST, UNASSIGNED, Image, Partition, Partitions, Topic, state_of
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import message
from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.storage.nodes import properties

Kafkactl = Callable[..., Run]
ID = "last-copy-in-lost-directory"
KEPT, GONE, ELSEWHERE = (worlds.uuid(number) for number in (701, 702, 703))


def topic(name: str, number: int, *, leader: int, isr: tuple[int, ...], directory: Uuid, **more: Any) -> Topic:
    """Return a topic of one partition on brokers 11 and 12; `directory` is that of broker 11."""
    values: Mapping[str, Any] = {
        "replicas": (11, 12), "isr": isr, "removing_replicas": (), "adding_replicas": (), "leader": leader,
        "leader_recovery_state": 0, "leader_epoch": 3, "partition_epoch": 0, "directories": (directory, ELSEWHERE),
        "eligible_leader_replicas": (), "last_known_elr": (), **more,
    }  # fmt: skip
    return Topic(name=name, id=worlds.uuid(number), partitions=Partitions({0: state_of(Partition(**values))}))


WAITING = [
    topic("lost", 801, leader=-1, isr=(11,), directory=GONE),
    topic("marked", 802, leader=-1, isr=(11,), directory=LOST),
    topic("eligible", 803, leader=-1, isr=(), directory=GONE, eligible_leader_replicas=(11,)),
    topic("known", 804, leader=-1, isr=(), directory=GONE, last_known_elr=(11,)),
]
SOUND = [
    topic("kept", 811, leader=-1, isr=(11,), directory=KEPT),
    topic("unassigned", 812, leader=-1, isr=(11,), directory=UNASSIGNED),
    topic("led", 813, leader=12, isr=(12,), directory=GONE),
    topic("other", 814, leader=-1, isr=(12,), directory=GONE),
]
# As the broker's own copy ends: it led the partition when it stopped.
OWN_PARTITION = topic("own", 821, leader=11, isr=(11,), directory=GONE)


def image(*topics: Topic) -> Image:
    return worlds.image(*topics, features={"metadata.version": worlds.LEVEL, "eligible.leader.replicas.version": 1})


def framed(topics: list[Topic]) -> list[bytes]:
    return [
        encode_record(message(record.type), record.version, record.data)
        for record in worlds.records(image(*topics))
        if record.type in ("TopicRecord", "PartitionRecord")
    ]


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    with FakeQuorum(records=framed([*WAITING, *SOUND, OWN_PARTITION])) as started:
        yield started


class Node:
    """Broker 11 with a formatted first directory, a second one that is empty, and perhaps its copy of the log."""

    def __init__(self, kafkactl: Kafkactl, root: Path, cluster_id: str) -> None:
        self._kafkactl, self._root, self.cluster_id = kafkactl, root, cluster_id
        self.first, self.second = root / "d1", root / "d2"
        self.second.mkdir()

    def formatted(self, log: worlds.MetadataLog | None = None) -> None:
        worlds.disk(self.first, 11, log, cluster=self.cluster_id, directory=701)

    def run(self, verb: str, servers: str, *words: str, cluster_id: str = "") -> Run:
        file = self._root / "server.properties"
        text = properties(
            roles="broker", log_dirs=[str(self.first), str(self.second)], node_id=11,
            controller_quorum_bootstrap_servers=servers,
        )  # fmt: skip
        file.write_text(text, encoding="utf-8")
        given = ("-t", cluster_id or self.cluster_id, "-c", file, "--kafka-version", "4.4.0", "-o", "json")
        again = () if verb == "ensure" else ("-g",)
        return self._kafkactl("storage", verb, *given, *again, *words)


@pytest.fixture
def node(kafkactl: Kafkactl, tmp_path: Path, quorum: FakeQuorum) -> Node:
    return Node(kafkactl, tmp_path, quorum.cluster_id)


def named(run: Run) -> list[str] | None:
    """Return the partitions that the answer names; None for an answer without the warning."""
    found = [finding for finding in run.json["findings"] if finding["id"] == ID]
    assert all(finding["subject"] == "broker 11" for finding in found)
    assert len(found) < 2
    return list(found[0]["evidence"]["partitions"]) if found else None


def test_format_warns_of_partitions_that_wait_for_the_lost_disk(node: Node, quorum: FakeQuorum) -> None:
    node.formatted()
    at = str(quorum.address(1))
    planned = node.run("format", at, "--dry-run")
    assert (planned.code, planned.json["outcome"]) == (0, "planned"), planned.json["findings"]
    assert named(planned) == ["eligible-0", "known-0", "lost-0", "marked-0"]
    done = node.run("format", at)
    assert (done.code, done.json["outcome"], named(done)) == (0, "done", named(planned))
    assert named(node.run("format", at)) is None  # no directory is empty any more


def test_ensure_refuses_while_another_replica_can_be_elected(node: Node, quorum: FakeQuorum) -> None:
    node.formatted()
    refused = node.run("ensure", str(quorum.address(1)))
    assert (refused.code, refused.json["outcome"]) == (3, "refused")
    assert named(refused) == ["eligible-0", "known-0", "lost-0", "marked-0"]
    assert "storage format -g" in next(each["next_step"] for each in refused.json["findings"] if each["id"] == ID)
    assert list(node.second.iterdir()) == []
    assert node.run("format", str(quorum.address(1))).code == 0
    assert node.run("ensure", str(quorum.address(1))).json["outcome"] == "nothing-to-do"


def test_ensure_formats_in_place_of_a_disk_that_had_the_only_replicas(kafkactl: Kafkactl, tmp_path: Path) -> None:
    only = topic("only", 831, leader=-1, isr=(11,), directory=GONE, replicas=(11,), directories=(GONE,))
    with FakeQuorum(records=framed([only])) as quorum:
        node = Node(kafkactl, tmp_path, quorum.cluster_id)
        node.formatted()
        done = node.run("ensure", str(quorum.address(1)))
    assert (done.code, done.json["outcome"], named(done)) == (0, "done", ["only-0"])


def test_blank_broker_has_none_of_its_directories(node: Node, quorum: FakeQuorum) -> None:
    expected = ["eligible-0", "kept-0", "known-0", "lost-0", "marked-0", "unassigned-0"]
    assert named(node.run("ensure", str(quorum.address(1)), "--dry-run")) == expected


def test_own_copy_of_the_log_counts_if_the_quorum_does_not_answer(node: Node) -> None:
    log = worlds.first_log(image(*WAITING, *SOUND, OWN_PARTITION))
    node.formatted(log)
    run = node.run("ensure", "127.0.0.1:1", "--dry-run")
    assert named(run) == ["eligible-0", "known-0", "lost-0", "marked-0", "own-0"]
    (message,) = [finding["message"] for finding in run.json["findings"] if finding["id"] == ID]
    assert f"when the node stopped, by the metadata log in {node.first}" in message


def test_nothing_is_proved_by_a_quorum_of_another_cluster(node: Node, quorum: FakeQuorum) -> None:
    assert named(node.run("ensure", "127.0.0.1:1", "--dry-run")) is None
    other = node.run("ensure", str(quorum.address(1)), "--dry-run", cluster_id="4L6g3nShT-eMCtK--X86sw")
    assert named(other) is None
