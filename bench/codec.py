"""The compiled codec against the reference codec, message by message, in one run. Goal: at least 3 times as fast."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.side_by_side import circumstances, record
from kafkactl.core.values import Uuid
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.compiled import decoder, encoder
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec

ROUNDS = 9
ROUND_S = 0.04
GOAL = 3.0


@dataclass(frozen=True)
class Sample:
    """A message of the kind that a cluster sends and stores."""

    spec: MessageSpec
    version: int
    value: dict[str, Any]


def _uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def _partition(index: int) -> dict[str, Any]:
    return {
        "ErrorCode": 0,
        "PartitionIndex": index,
        "LeaderId": index % 5,
        "LeaderEpoch": 7,
        "ReplicaNodes": [1, 2, 3],
        "IsrNodes": [1, 2, 3],
        "OfflineReplicas": [],
    }


def _fetched(index: int) -> dict[str, Any]:
    return {
        "PartitionIndex": index,
        "ErrorCode": 0,
        "HighWatermark": 123456,
        "LastStableOffset": 123456,
        "LogStartOffset": 0,
        "AbortedTransactions": None,
        "PreferredReadReplica": -1,
        "Records": bytes(1000),
        "CurrentLeader": {"LeaderId": 1, "LeaderEpoch": 3},
    }


def samples() -> list[Sample]:
    """Return records of the metadata log and answers of brokers, decoded once so that every field is there."""
    topics = [
        {"ErrorCode": 0, "Name": f"topic-{n}", "TopicId": _uuid(n), "Partitions": [_partition(p) for p in range(6)]}
        for n in range(20)
    ]
    brokers = [{"NodeId": n, "Host": f"broker-{n}.example.com", "Port": 9092, "Rack": "a"} for n in range(6)]
    voter = {
        "VoterId": 1,
        "VoterDirectoryId": _uuid(9),
        "Endpoints": [{"Name": "CONTROLLER", "Host": "controller-1.example.com", "Port": 9093}],
        "KRaftVersionFeature": {"MinSupportedVersion": 0, "MaxSupportedVersion": 1},
    }
    nodes = [1, 2, 3]
    partition = {
        "PartitionId": 3, "TopicId": _uuid(77), "Replicas": nodes, "Isr": nodes, "Leader": 1, "LeaderEpoch": 4,
        "PartitionEpoch": 9, "Directories": [_uuid(n) for n in nodes],
    }  # fmt: skip
    values: list[tuple[str, int, dict[str, Any]]] = [
        ("PartitionChangeRecord", 2, {"PartitionId": 3, "TopicId": _uuid(77), "Isr": [1, 2], "Leader": 2}),
        ("PartitionRecord", 2, partition),
        ("TopicRecord", 0, {"Name": "a-topic-of-usual-length", "TopicId": _uuid(77)}),
        ("ConfigRecord", 0, {"ResourceType": 2, "ResourceName": "topic", "Name": "retention.ms", "Value": "604800000"}),
        ("FeatureLevelRecord", 0, {"Name": "metadata.version", "FeatureLevel": 33}),
        ("NoOpRecord", 0, {}),
        ("VotersRecord", 0, {"Voters": [voter] * 5}),
        ("MetadataResponse", 12, {"Brokers": brokers, "ClusterId": "XgM8cvG1S", "ControllerId": 1, "Topics": topics}),
        ("MetadataResponse", 7, {"Brokers": brokers, "ClusterId": "X", "ControllerId": 1, "Topics": _old(topics)}),
        ("FetchResponse", 17, {"Responses": [{"TopicId": _uuid(n), "Partitions": _fetches()} for n in range(5)]}),
        ("ApiVersionsResponse", 4, {"ApiKeys": [{"ApiKey": n, "MinVersion": 0, "MaxVersion": 9} for n in range(80)]}),
    ]
    return [_whole(message(name), version, value) for name, version, value in values]


def _old(topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: held for name, held in topic.items() if name != "TopicId"} for topic in topics]


def _fetches() -> list[dict[str, Any]]:
    return [_fetched(index) for index in range(3)]


def _whole(spec: MessageSpec, version: int, value: dict[str, Any]) -> Sample:
    return Sample(spec, version, decode_message(spec, version, encode_message(spec, version, value))[0])


def _rate(work: Callable[[], object]) -> float:
    """Return calls a second of CPU time."""
    calls, started = 0, time.process_time()
    while (taken := time.process_time() - started) < ROUND_S:
        for _ in range(10):
            work()
        calls += 10
    return calls / taken


def _ratio(reference: Callable[[], object], compiled: Callable[[], object]) -> tuple[float, float]:
    """Return how many times as fast, and calls a second of the compiled one: medians of interleaved rounds."""
    compiled()
    rounds = [(_rate(reference), _rate(compiled)) for _ in range(ROUNDS)]
    return statistics.median(fast / slow for slow, fast in rounds), statistics.median(fast for _, fast in rounds)


def measured(sample: Sample) -> tuple[int, list[tuple[float, float]]]:
    """Return the size of a sample in bytes; ratio and rate of decoding, then of encoding."""
    spec, version, value = sample.spec, sample.version, sample.value
    data = encode_message(spec, version, value)
    decode, encode = decoder(spec, version), encoder(spec, version)
    return len(data), [
        _ratio(lambda: decode_message(spec, version, data), lambda: decode(data)),
        _ratio(lambda: encode_message(spec, version, value), lambda: encode(value)),
    ]


def main() -> None:
    """Measure, print and record."""
    rows, ratios = [], []
    for sample in samples():
        size, figures = measured(sample)
        ratios.append([ratio for ratio, _ in figures])
        shown = " | ".join(f"{ratio:.1f} | {rate:,.0f}" for ratio, rate in figures)
        rows.append(f"| {sample.spec.name} {sample.version} | {size} | {shown} |")
    means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
    least = min(min(pair) for pair in ratios)
    record(
        "Codec",
        "\n".join(
            [
                f"Compiled codec against the reference codec, CPU time, medians of {ROUNDS} interleaved rounds;",
                f"{circumstances()}.\n",
                "| message | bytes | decode × | decoded a second | encode × | encoded a second |",
                "|---|---|---|---|---|---|",
                *rows,
                f"| geometric mean | | {means[0]:.1f} | | {means[1]:.1f} | |",
                "",
                f"Goal: at least {GOAL} ×. Least measured: {least:.1f} × ({'met' if least >= GOAL else 'missed'}).",
            ]
        ),
    )


if __name__ == "__main__":
    main()
