"""A wrong CRC in the metadata log of a real node: the state that `log image` shows is the one that the node has.

A node that starts cuts its log at the first bad batch; where the newest snapshot is beyond that, it continues from the
snapshot and nothing else.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.io.image import Point, load_image
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.record_batch import decode_batches
from tests.campaigns.goldens.formats import SNAPSHOT_OFTEN
from tests.campaigns.goldens.images import CLUSTER_ID
from tests.commands.captured_logs import unpacked
from tests.lab.harness import config, ports
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.storage_tool import StorageToolServer

SEGMENT = "00000000000000000000.log"
WAIT_S = 180


def batches(data: bytes) -> list[tuple[int, int, int]]:
    """Return base offset, position and leader epoch of each batch."""
    headers = [batch.header for batch in decode_batches(data)]
    return [(header.base_offset, header.position, header.partition_leader_epoch) for header in headers]


# Parts of the captured log, in percent of its end; its newest snapshot ends at about 85 of them.
@pytest.mark.parametrize(
    ("release", "part"),
    [
        ("4.4.0", 92),
        *(
            pytest.param(release, part, marks=pytest.mark.campaign)
            for release in ("3.9.2", "4.3.1", "4.4.0")
            for part in (8, 40, 70, 84, 92, 97)
            if (release, part) != ("4.4.0", 92)
        ),
    ],
)
def test_state_is_that_of_a_node_that_starts(release: str, part: int, storage_tool: StorageToolServer, tmp_path: Path):
    log = unpacked(release, tmp_path)
    segment = log / SEGMENT
    data = bytearray(segment.read_bytes())
    snapshots = [int(path.name[:20]) for path in log.glob("*.checkpoint")]
    heads = batches(bytes(data))
    offset, position, _ = next(head for head in heads if head[0] >= heads[-1][0] * part // 100)
    data[position + 70] ^= 1
    segment.write_bytes(bytes(data))
    foreseen = load_image(open_source(str(log)), Point())
    assert foreseen.cut_offset == offset
    assert foreseen.position is not None
    end = foreseen.position.offset + 1
    assert end == max(offset, *snapshots)
    node = _node(release, storage_tool, tmp_path)
    with node:
        node.start().wait_ready()
        begun = _first_of_the_new_epoch(log, foreseen.position.epoch)
        node.stop()
    assert begun == end
    after = load_image(open_source(str(log)), Point(offset=begun))
    assert _lasting(after.image) == _lasting(foreseen.image)
    assert foreseen.image != EMPTY


def _node(release: str, tool: StorageToolServer, work: Path) -> KafkaNode:
    broker_port, controller_port = ports.free_ports(2)
    quorum = config.static_quorum({1: controller_port})
    settings = config.combined(
        node_id=1, log_dirs=[work / "disk"], broker_port=broker_port, controller_port=controller_port, quorum=quorum
    )
    node = KafkaNode(release, settings | SNAPSHOT_OFTEN, work)
    (work / "disk" / "meta.properties").unlink(missing_ok=True)
    result = tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file])
    assert result.exit_code == 0, result.stdout + result.stderr
    return node


def _first_of_the_new_epoch(log: Path, epoch: int) -> int:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for segment in sorted(log.glob("*.log")):
            for offset, _, found in batches(segment.read_bytes()):
                if found > epoch:
                    return offset
        time.sleep(0.1)
    raise AssertionError("the node wrote nothing")


def _lasting(image: Image) -> tuple[object, ...]:
    """Return what a start alone does not change."""
    topics = {topic.name: dict(topic.partitions.states) for topic in image.topics.values()}
    return topics, image.configs, image.acls, image.scram, image.client_quotas, image.features
