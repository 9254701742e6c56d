"""A record of the metadata topic as a line for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafkactl.commands.rendering.stream import content_of, time_text
from kafkactl.core.safe_text import visible
from kafkactl.tiered.api.names import PARTITION_DELETE_STATES, SEGMENT_STATES

TITLE = "METADATA    OFFSET  TIME                     WHAT\n"


def line_of(record: Mapping[str, Any]) -> str:
    """Return a record's place and time, the state and id of the segment, and why brokers do not apply the record."""
    words = " ".join(_words(record))
    refused = "" if record["applied"] else f"  NOT APPLIED: {record['why']}"
    time = time_text(record["timestamp_ms"])
    return visible(f"{record['metadata_partition']:>8}  {record['offset']:>8}  {time:<23}  {words}{refused}") + "\n"


def _words(record: Mapping[str, Any]) -> Iterator[str]:
    data = record["data"]
    if data is None:
        yield f"undecodable: {record['error']['message']}"
        return
    named = data.get("remoteLogSegmentId") or data
    place = named.get("topicIdPartition")
    if record["error"] is not None or not isinstance(place, Mapping):
        yield f"{record['type']} {content_of(data)}"
        return
    state, known = data.get("remoteLogSegmentState"), SEGMENT_STATES
    if state is None:
        state, known = data.get("remotePartitionDeleteState"), PARTITION_DELETE_STATES
    yield known.get(state, f"state {state}")
    yield f"{place['name']}-{place['partition']}"
    if "id" in named:
        yield str(named["id"])
    if "startOffset" in data:
        yield f"{data['startOffset']}-{data['endOffset']} {data['segmentSizeInBytes']} B"
        yield " ".join(f"epoch {part['leaderEpoch']}:{part['offset']}" for part in data["segmentLeaderEpochs"])
    yield f"broker {data['brokerId']}"
