"""A controller's metadata log is damaged: it ends for Kafka where the plan says, and a broker's copy may go further."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config
from tests.lab.quorum.lost_majority import admin

HEADER = 12  # base offset and length, which the length does not count
RECORD_BYTE = 40  # of a batch: behind the checksum
FROM_THE_END = (1, 3, 6)
ONE = {"num_partitions": 1, "replication_factor": 1}
INSIDE = 30  # bytes into a batch
LOST: dict[str, Callable[[bytes, int], bytes]] = {
    "between batches": lambda log, at: log[:at],
    "in a batch": lambda log, at: log[: at + INSIDE],
    "in zeros": lambda log, at: log[:at] + bytes(len(log) - at),
}


def batches(log: bytes) -> Iterator[tuple[int, int]]:
    """Yield the base offset and the place of each batch."""
    at = 0
    while at + HEADER <= len(log) and (length := int.from_bytes(log[at + 8 : at + HEADER], "big")):
        yield int.from_bytes(log[at : at + 8], "big"), at
        at += HEADER + length


def last_epoch_began(folder: Path) -> int:
    """Return the first offset of the newest epoch, as Kafka wrote it down: where the log ended for the node that now
    leads."""
    return int((folder / "leader-epoch-checkpoint").read_text().split()[-1])


@pytest.mark.parametrize(
    "release", ["4.3.1", *(pytest.param(release, marks=pytest.mark.campaign) for release in ("3.9.2", "4.4.0"))]
)
def test_kafka_cuts_a_damaged_log_where_the_plan_ends_it(
    kafkactl: Callable[..., Run], new_cluster: Callable[..., KafkaCluster], release: str
):
    cluster = new_cluster(release, controllers=1, brokers=0)
    cluster.start()
    cluster.wait_for(lambda: cluster.quorum()["HighWatermark"] > 2 * max(FROM_THE_END) + 10, "some batches", 120)
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
        cluster.node(1).start().wait_ready()
        cluster.wait_for(lambda: cluster.leader_now() == 1, "a leader", 120)
        cluster.kill(1)
        assert last_epoch_began(disk / "__cluster_metadata-0") == offset


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2", "4.4.0"])
@pytest.mark.parametrize("where", LOST)
def test_broker_has_what_the_only_controller_lost(
    kafkactl: Callable[..., Run], new_cluster: Callable[..., KafkaCluster], release: str, where: str
):
    cluster = new_cluster(release, controllers=1, brokers=1)
    cluster.start()
    disk, broker = cluster.disks.log_dir(1), cluster.disks.log_dir(11)
    segment = disk / "__cluster_metadata-0" / f"{0:020}.log"
    with admin(cluster) as chores:
        chores.create_topics({"before": ONE}, wait_for_metadata=True)
        size = segment.stat().st_size
        chores.create_topics({"behind": ONE}, wait_for_metadata=True)
    time.sleep(1)
    cluster.kill(11)
    cluster.kill(1)
    segment.write_bytes(LOST[where](segment.read_bytes(), size))

    out = cluster.disks.workdir / "recovered"
    words = ("quorum", "recover", "--log-dir", disk, "--log-dir", broker, "--out", out, "-o", "json")
    words = (*words, "--config", cluster.config_file(1))
    planned = kafkactl(*words, "--plan")
    assert (planned.code, planned.json["source"]["path"]) == (0, str(broker)), planned.stdout
    (said,) = [finding for finding in planned.json["findings"] if finding["id"] == "quorum-has-majority"]
    assert said["severity"] == "warning"
    assert said["evidence"]["voters_end"] < said["evidence"]["source_end"]
    written = kafkactl(*words, "--confirm", cluster.cluster_id)
    assert written.code == 0, written.stdout
    starts_whole(cluster, out, broker)


def starts_whole(cluster: KafkaCluster, out: Path, broker: Path) -> None:
    """Check that nothing is missing on the recovered directory."""
    file = cluster.config_file(1)
    write_config(file, read_config(file) | {"log.dirs": str(out)})
    cluster.start()
    with admin(cluster) as chores:
        assert {"before", "behind"} <= set(chores.list_topics())
    assert not list(broker.glob("*-stray"))
