"""What `kafkactl tiered` says of a broker's disk, beside what that broker says and then does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.adapters.kafka.client import Client
from kafkactl.adapters.kafka.cluster_view import Role
from kafkactl.operations.tiered import Request, audit, foresee, left_over, load, observe, segments
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.tiered.cluster import METADATA_PARTITIONS, TieredBroker

SEGMENT_RECORDS = 18


def looked(broker: TieredBroker, *, bucket: bool = True) -> dict[str, Any]:
    return audit(load(request(broker, bucket=bucket)))


def request(broker: TieredBroker, *, bucket: bool = True) -> Request:
    return Request(
        sources=(str(broker.data),),
        metadata=str(broker.metadata_log),
        bucket=str(broker.store) if bucket else None,
        metadata_partitions=METADATA_PARTITIONS,
    )


def states(broker: TieredBroker, topic: str) -> list[str]:
    found = segments(load(request(broker, bucket=False)))
    return [segment["state"] for segment in found if segment["topic"] == topic]


def ids(answer: dict[str, Any], topic: str | None = None) -> list[str]:
    return [found.id for found in answer["findings"] if topic is None or found.evidence.get("topic") == topic]


def of_topic(answer: dict[str, Any], topic: str) -> dict[str, Any]:
    (found,) = [partition for partition in answer["partitions"] if partition["topic"] == topic]
    return found


def copied(broker: TieredBroker, topic: str, count: int) -> Callable[[], bool]:
    return lambda: states(broker, topic).count("COPY_SEGMENT_FINISHED") == count


def agrees_with_kafka(broker: TieredBroker, topic: str) -> None:
    """The audit's offsets are those that the leader answers, from the disk and from the brokers' answers."""
    status, said = of_topic(looked(broker), topic), broker.offsets(topic)
    assert status["highest_offset"] == said["latest_tiered"]
    assert status["log_start_offset"] == said["earliest"]
    assert status["local_log_start_offset"] == said["earliest_local"]
    with Client([broker.broker_address], Role.BROKER) as client:
        live = of_topic(audit(load(Request(live=observe(client), bucket=str(broker.store)))), topic)
    assert live["log_end_offset"] == said["latest"]
    assert live == status | {"log_end_offset": said["latest"], "leader": 1}


@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_healthy_orphaned_deleted_and_left_over(
    release: str, tmp_path: Path, lab_pool: Pool, storage_tool: StorageToolServer
) -> None:
    with TieredBroker(release, tmp_path, pool=lab_pool) as broker:
        broker.format(storage_tool).node.start().wait_ready()

        # Five segments, nothing to find, and the broker's own offsets.
        broker.chores(f"create:orders:{broker.small_segments}", "produce:orders:100")
        broker.wait_for(copied(broker, "orders", 5), "five segments of orders")
        broker.wait_for(lambda: broker.offsets("orders")["earliest_local"] == 90, "local retention")
        answer = looked(broker)
        assert answer["findings"] == []
        assert of_topic(answer, "orders")["next_upload_offset"] == 5 * SEGMENT_RECORDS
        assert answer["source"]["bucket"]["layout"] == "local"
        agrees_with_kafka(broker, "orders")

        # Retention takes the first two.
        broker.chores("configure:orders:retention.bytes=65000")
        broker.wait_for(copied(broker, "orders", 3), "retention of orders")
        broker.chores("configure:orders:retention.bytes=-1")
        broker.wait_for(lambda: looked(broker)["findings"] == [], "an audit without findings")
        agrees_with_kafka(broker, "orders")

        # A copy is held after its upload, and the broker killed: the next start copies the range again.
        broker.fault("hold-after-copy")
        broker.chores("produce:orders:20")
        broker.wait_for(lambda: "COPY_SEGMENT_STARTED" in states(broker, "orders"), "a copy that is held")
        assert ids(looked(broker), "orders") == ["copy-in-progress"]
        broker.node.kill()
        broker.fault("hold-after-copy", on=False)
        forecast = foresee(load(request(broker, bucket=False)))
        (candidate,) = forecast["partitions"][0]["candidates"]
        broker.node.start().wait_ready()
        broker.wait_for(copied(broker, "orders", 4), "the copy again")
        assert ids(looked(broker), "orders") == ["orphan-copy"]
        said = broker.offsets("orders")
        assert candidate["log_start_offset"] == said["earliest"]
        assert candidate["next_upload_offset"] == said["latest_tiered"] - SEGMENT_RECORDS + 1
        assert candidate["next_segment_base_offset"] == candidate["next_upload_offset"]
        agrees_with_kafka(broker, "orders")

        # A topic is deleted while the store refuses: nobody deletes its objects ever again.
        broker.chores(f"create:gone:{broker.small_segments}", "produce:gone:40")
        broker.wait_for(copied(broker, "gone", 2), "two segments of gone")
        broker.fault("refuse-delete")
        broker.chores("drop:gone")
        broker.wait_for(lambda: "leftover-of-deleted-topic" in ids(looked(broker)), "the topic to be gone")
        broker.fault("refuse-delete", on=False)
        found = left_over(load(request(broker)), older_than_ms=0, include_orphans=True)
        assert not found.refused
        reasons = {leftover.reason for leftover in found.objects}
        assert reasons == {"leftover-of-deleted-topic", "orphan-copy"}
        for leftover in found.objects:
            (broker.store / leftover.found.key).unlink()
        assert ids(looked(broker), "orders") == ["orphan-copy"]
        assert [finding.severity for finding in looked(broker)["findings"]].count("blocker") == 0
        agrees_with_kafka(broker, "orders")
