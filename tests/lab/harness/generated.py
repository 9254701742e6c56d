"""A real controller on a metadata log that was generated: it is asked at sizes that no lab cluster reaches.

The log holds an image (`tests/dryrun/clusters.py` makes one from a few lines of text), written by our own encoder. One
controller of the release leads a static quorum of one on it. No broker runs: brokers that the log has as unfenced stay
so, because their sessions last longer than any test. 12,000 partitions take a few seconds.

::

    cluster = new_cluster("4.3.1", **GENERATED)
    write_image(cluster, image)
    stage = Stage(cluster.start(), storage_tool)
    stage.ask("UnregisterBroker", {"BrokerId": 1})
"""

from __future__ import annotations

import time
from typing import Any

from kafkactl.dryrun.controller.appended_records import encoded
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.records import image_records, level_of
from kafkactl.metadata.log.checkpoint import batch_values
from kafkactl.protocol.record_batch import encode_batch
from tests.lab.harness.cluster import KafkaCluster

CONTROLLER = 1
SESSION_MS = 3_600_000
GENERATED: dict[str, Any] = {
    "controllers": 1,
    "brokers": 0,
    "dynamic": False,
    "settings": {"broker.session.timeout.ms": str(SESSION_MS), "metadata.max.idle.interval.ms": "0"},
}
"""The shape of such a cluster: `{**GENERATED, "settings": {**GENERATED["settings"], …}}` adds settings."""


def write_image(cluster: KafkaCluster, image: Image) -> None:
    """Write the image as the whole metadata log of the controller, which has not started yet."""
    level = level_of(image)
    assert level is not None, "an image without metadata.version"
    folder = cluster.disks.metadata_log(CONTROLLER)
    folder.mkdir(parents=True, exist_ok=True)
    now_ms, offset, batches = int(time.time() * 1000), 0, []
    for values in batch_values(map(encoded, image_records(image, level))):
        framed = [(None, value) for value in values]
        batches.append(encode_batch(framed, base_offset=offset, timestamp_ms=now_ms, partition_leader_epoch=1))
        offset += len(framed)
    (folder / f"{0:020d}.log").write_bytes(b"".join(batches))
