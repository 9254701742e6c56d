"""Bodies of requests to the metadata quorum that more than one client sends."""

from __future__ import annotations

from typing import Any, Final

from kafkactl.core.kafka_names import METADATA_TOPIC
from kafkactl.core.values import METADATA_TOPIC_ID

QUORUM_REQUEST: Final = {"Topics": [{"TopicName": METADATA_TOPIC, "Partitions": [{"PartitionIndex": 0}]}]}


def empty_fetch(cluster_id: str | None = None) -> dict[str, Any]:
    """Return a Fetch that brings no records, sent as no replica (-1), so that the leader does not list it as an
    observer.

    A node of another cluster refuses one that names `cluster_id` (KIP-595, from version 12 on).
    """
    partition = {
        "Partition": 0,
        "CurrentLeaderEpoch": 0,
        "FetchOffset": 0,
        "LastFetchedEpoch": 0,
        "LogStartOffset": -1,
        "PartitionMaxBytes": 1,
    }
    topic = {"Topic": METADATA_TOPIC, "TopicId": METADATA_TOPIC_ID, "Partitions": [partition]}
    body = {"ReplicaId": -1, "MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1, "Topics": [topic], "ForgottenTopicsData": []}
    return body if cluster_id is None else {"ClusterId": cluster_id, **body}
