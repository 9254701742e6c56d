"""A batch of a controller's metadata log is damaged: its log ends for Kafka where the plan says that it ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster

HEADER = 12  # base offset and length, which the length does not count
RECORD_BYTE = 40  # of a batch: behind the checksum
FROM_THE_END = (1, 3, 6)


def batches(log: bytes) -> Iterator[tuple[int, int]]:
    """The base offset and the place of each batch."""
    at = 0
    while at + HEADER <= len(log) and (length := int.from_bytes(log[at + 8 : at + HEADER], "big")):
        yield int.from_bytes(log[at : at + 8], "big"), at
        at += HEADER + length


def last_epoch_began(folder: Path) -> int:
    """The first offset of the newest epoch, as Kafka wrote it down: where the log ended for the node that now leads."""
    return int((folder / "leader-epoch-checkpoint").read_text().split()[-1])


@pytest.mark.parametrize(
    "release", ["4.3.1", *(pytest.param(release, marks=pytest.mark.campaign) for release in ("3.9.2", "4.4.0"))]
)
def test_kafka_cuts_a_damaged_log_where_the_plan_ends_it(
    kafkactl: Callable[..., Run], new_cluster: Callable[..., KafkaCluster], release: str
):
    cluster = new_cluster(release, controllers=1, brokers=0)
    cluster.start()
    cluster.wait_for(lambda: cluster.quorum()["HighWatermark"] > 2 * max(FROM_THE_END) + 10, "some batches", 60)
    cluster.kill(1)
    disk, sound = cluster.disks.log_dir(1), cluster.disks.workdir / "sound"
    shutil.copytree(disk, sound)
    segment = Path("__cluster_metadata-0", f"{0:020}.log")
    found = list(batches((sound / segment).read_bytes()))
    for back in FROM_THE_END:
        offset, place = found[-back]
        shutil.rmtree(disk)
        shutil.copytree(sound, disk)
        with (disk / segment).open("r+b") as file:
            file.seek(place + RECORD_BYTE)
            byte = file.read(1)[0]
            file.seek(place + RECORD_BYTE)
            file.write(bytes([byte ^ 1]))
        planned = kafkactl("quorum", "recover", "--log-dir", disk, "--out", cluster.disks.workdir / "new", "--plan",
                           "--config", cluster.config_file(1), "-o", "json")  # fmt: skip
        (read,) = planned.json["disks"]
        assert (read["damaged"], read["log_end_offset"]) == (True, offset)
        assert "source-damaged" in {finding["id"] for finding in planned.json["findings"]}
        cluster.node(1).start().wait_ready(60)
        cluster.wait_for(lambda: cluster.leader() == 1, "a leader", 30)
        cluster.kill(1)
        assert last_epoch_began(disk / "__cluster_metadata-0") == offset
