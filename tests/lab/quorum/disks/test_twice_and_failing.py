"""A directory that is there twice, a disk that fails during its format, and small files that are links to nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.disks.test_replaced_data_disk import PARTITIONS, TOPIC, _add_directory, _ends
from tests.lab.quorum.disks.test_two_foundings import ids
from tests.lab.quorum.lost_majority import admin, produce

Cli = Callable[..., Run]
RELEASES = ("3.9.2", "4.3.1")
RECORDS = 20
pytestmark = [
    pytest.mark.campaign,
]


class Broker:
    """The only broker of a cluster, stopped, with records in each partition."""

    def __init__(self, kafkactl: Cli, cluster: KafkaCluster, release: str) -> None:
        self._kafkactl, self.cluster, self.release = kafkactl, cluster, release
        (self.id,) = cluster.broker_ids
        self.file = cluster.config_file(self.id)
        with admin(cluster) as chores:
            chores.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": 1}})
        produce(cluster, {(TOPIC, number): RECORDS for number in range(PARTITIONS)})
        cluster.stop(self.id)

    @property
    def words(self) -> tuple[object, ...]:
        where = ("-t", self.cluster.cluster_id, "-c", self.file, "--kafka-version", self.release, "-o", "json")
        return ("storage", "ensure", *where)

    def ensure(self) -> Run:
        return self._kafkactl(*self.words)

    def verified(self) -> set[str]:
        words = ("storage", "verify", "-c", self.file, "--kafka-version", self.release, "-o", "json")
        return set(ids(self._kafkactl(*words)))

    def exits(self) -> bool:
        return self.cluster.node(self.id).outcome(60).kind == "exited"

    def has_every_record(self) -> bool:
        self.cluster.start(self.id)
        wanted = dict.fromkeys(range(PARTITIONS), RECORDS)
        self.cluster.wait_for(lambda: _ends(self.cluster) == wanted, "every record", 60)
        self.cluster.stop(self.id)
        return True


@pytest.fixture(params=RELEASES)
def broker(request: pytest.FixtureRequest, kafkactl: Cli, new_cluster: Callable[..., KafkaCluster]) -> Broker:
    return Broker(kafkactl, new_cluster(request.param, controllers=1, brokers=1).start(), request.param)


def test_copy_of_a_directory_is_taken_out_of_log_dirs(broker: Broker) -> None:
    before, copy = broker.file.read_text(), broker.file.parent / "copy"
    shutil.copytree(broker.cluster.disks.log_dir(broker.id), copy, ignore=shutil.ignore_patterns(".lock"))
    _add_directory(broker.cluster, broker.id, str(copy))
    assert "duplicate-directory-id" in broker.verified()
    refused = broker.ensure()
    assert (refused.code, "duplicate-directory-id" in ids(refused)) == (3, True)
    assert broker.exits()
    meta = copy / "meta.properties"
    lines = [line for line in meta.read_text().splitlines() if not line.startswith("directory.id")]
    meta.write_text("\n".join(lines) + "\n")
    assert "same-partition-twice" in broker.verified()
    assert broker.exits()
    broker.file.write_text(before)
    assert not {"duplicate-directory-id", "same-partition-twice"} & broker.verified()
    assert broker.has_every_record()


def test_failing_disk_is_replaced_and_formatted_by_the_same_command(broker: Broker) -> None:
    second = broker.file.parent / "second"
    second.mkdir()
    _add_directory(broker.cluster, broker.id, str(second))
    inject = ["strace", "-f", "-o", "/dev/null", "-P", str(second), "-e", "inject=fsync:error=EIO"]
    command = [*inject, sys.executable, "-m", "kafkactl", *map(str, broker.words)]
    failed = subprocess.run(command, cwd=Path(__file__).parents[4], capture_output=True, text=True, check=False)
    assert "disk-io-error" in failed.stdout
    assert list(second.iterdir()) == []
    assert broker.exits()
    second.rmdir()
    second.mkdir()
    assert broker.ensure().json["outcome"] == "done"
    assert broker.has_every_record()


@pytest.mark.parametrize("release", RELEASES)
def test_link_to_nothing_is_a_missing_file_for_kafka(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str
) -> None:
    cluster = new_cluster(release, controllers=1, brokers=0).start()
    cluster.stop(1)
    state, first = (
        cluster.disks.metadata_log(1) / "quorum-state",
        cluster.disks.log_dir(1) / "bootstrap.checkpoint",
    )
    for file in (state, first):
        file.unlink(missing_ok=True)
        file.symlink_to("/mnt/gone/file")
    words = ("storage", "verify", "-c", cluster.config_file(1), "--kafka-version", release, "-o", "json")
    verified = kafkactl(*words).json
    assert [finding["id"] for finding in verified["findings"]].count("dangling-link") == 2
    assert verified["will_start"] is True
    cluster.start(1)
    cluster.wait_for(lambda: cluster.leader_now() == 1, "the controller leads")
    cluster.stop(1)
    assert (state.is_symlink(), first.is_symlink()) == (False, True)
