"""Remedies for the small files of the metadata log: a node writes them again with what the log has."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.disks.test_two_foundings import ids

NODE, STARTS = 1, 3


def _epochs(text: str) -> list[str]:
    """Return the lines `epoch offset` of a leader-epoch-checkpoint."""
    return text.splitlines()[2:]


def test_removed_files_are_written_again(
    kafkactl: Callable[..., Run], new_cluster: Callable[..., KafkaCluster]
) -> None:
    cluster = new_cluster("4.3.1", controllers=1, brokers=0)
    for _ in range(STARTS):
        cluster.start()
        cluster.stop(NODE)
    log = cluster.disks.metadata_log(NODE)
    epochs, partition = log / "leader-epoch-checkpoint", log / "partition.metadata"
    before, named = epochs.read_text(), partition.read_text()
    assert len(_epochs(before)) == STARTS

    def verified() -> set[str]:
        words = ("storage", "verify", "-c", cluster.config_file(NODE), "--kafka-version", "4.3.1", "-o", "json")
        return ids(kafkactl(*words)) | ids(kafkactl("log", "verify", log, "-o", "json"))

    lines = before.splitlines()
    epochs.write_text("\n".join([*lines[:-1], f"{lines[-1].split()[0]} {int(lines[-1].split()[1]) + 1}"]) + "\n")
    assert "leader-epochs-differ" in verified()
    epochs.unlink()
    cluster.start()
    cluster.stop(NODE)
    assert _epochs(epochs.read_text())[:STARTS] == _epochs(before)
    assert "leader-epochs-differ" not in verified()

    before = epochs.read_text()
    epochs.write_text("x\n")
    partition.write_text("x\n")
    assert {"broken-leader-epoch-checkpoint", "broken-partition-metadata"} <= verified()
    epochs.unlink()
    partition.unlink()
    cluster.start()
    cluster.stop(NODE)
    assert _epochs(epochs.read_text())[: STARTS + 1] == _epochs(before)
    assert partition.read_text() == named
    assert not {"broken-leader-epoch-checkpoint", "broken-partition-metadata"} & verified()
