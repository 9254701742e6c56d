"""Scenarios `replay` and `growth`: what a log holds, and what becomes of its size.

Rates: `KafkaRaftClient` re-reads every segment when a node starts (CRC of all bytes), then replays the newest snapshot
and the log behind it; 0.25 to 0.5 million records and 105 MB a second were measured with Kafka's own classes on two
cores. A snapshot is taken after 20 MiB of log or an hour (`MetadataLogConfig.java`), 100 MiB of log and snapshots are
kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkactl.dryrun.facts import Facts
from kafkactl.dryrun.local import Loaded
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.errors import InputError
from kafkactl.metadata.image import Image
from kafkactl.metadata.image_json import image_sha256
from kafkactl.metadata.lint import lint
from kafkactl.metadata.snapshot_writer import snapshot_batches
from kafkactl.plan import Finding, note, warning
from kafkactl.protocol.record_batch import decode_header

DAY_MS: Final = 86_400_000
_RECORDS_A_SECOND = 250_000  # the slower of what was measured
_SCANNED_BYTES_A_SECOND = 105_000_000
_SNAPSHOT_AFTER_BYTES = 20 * 1024 * 1024
_KEPT_BYTES = 100 * 1024 * 1024
_IDLE_BYTES_A_DAY = 72 * 2 * 86_400  # a no-op of 72 bytes every 500 ms
_SHORT_MS = 3_600_000  # what a shorter time shows does not tell a day


def replay_report(loaded: Loaded, facts: Facts, asked: Mapping[str, Any]) -> Prediction:
    """What the log leads to: record counts, the state in numbers, its SHA-256, and what does not fit together."""
    return Prediction(
        scenario="replay",
        input=asked,
        verdict=Verdict.OK,
        facts=facts,
        findings=lint(loaded.image),
        effects={
            "counts": dict(loaded.counts),
            "state": sizes_of(loaded.image),
            "image_sha256": image_sha256(loaded.image),
        },
    )


def sizes_of(image: Image) -> dict[str, int]:
    """How much of everything there is."""
    return {
        "topics": len(image.topics),
        "partitions": image.partition_count(),
        "brokers": len(image.brokers),
        "controllers": len(image.controllers),
        "configs": sum(len(held) for held in image.configs.values()),
        "client_quotas": sum(len(held) for held in image.client_quotas.values()),
        "acls": len(image.acls),
        "scram_credentials": len(image.scram),
        "delegation_tokens": len(image.delegation_tokens),
    }


def growth(loaded: Loaded, facts: Facts, days: int) -> Prediction:
    """The size of log and snapshots after some days at the rate of the log so far, and how long a start takes.

    Raises InputError `no-days`.
    """
    if days < 1:
        raise InputError("growth needs at least one day", id="no-days", next_step="Write for example --days 30.")
    snapshot_bytes, snapshot_records = _snapshot_size(loaded)
    span_ms = loaded.last_timestamp_ms - loaded.first_timestamp_ms
    known = loaded.records > 1 and span_ms >= _SHORT_MS
    bytes_a_day = loaded.log_bytes * DAY_MS // span_ms if known else _IDLE_BYTES_A_DAY
    records_a_day = loaded.records * DAY_MS // span_ms if known else 2 * 86_400
    return Prediction(
        scenario="growth",
        input={"days": days},
        verdict=Verdict.OK,
        facts=facts,
        findings=tuple(_findings(snapshot_bytes, known=known, span_ms=span_ms)),
        effects={
            "log": {
                "bytes": loaded.log_bytes,
                "records": loaded.records,
                "span_ms": span_ms,
                "bytes_per_day": bytes_a_day,
                "records_per_day": records_a_day,
                "bytes_written_after": bytes_a_day * days,
                "bytes_kept_after": min(loaded.log_bytes + bytes_a_day * days, _KEPT_BYTES + snapshot_bytes),
            },
            "snapshot": {
                "bytes": snapshot_bytes,
                "records": snapshot_records,
                "per_day": max(24 if records_a_day else 0, bytes_a_day // _SNAPSHOT_AFTER_BYTES),
            },
            "controller_load": {
                "seconds": _seconds(loaded.log_bytes, snapshot_records + loaded.records),
                "seconds_after": _seconds(
                    min(loaded.log_bytes + bytes_a_day * days, _KEPT_BYTES),
                    snapshot_records + min(records_a_day // 24, _SNAPSHOT_AFTER_BYTES // 60),
                ),
            },
        },
        assumptions=(
            "snapshots and retention are at their defaults (20 MiB or an hour; 100 MiB, 7 days)",
            "a controller replays 250,000 records and checks 105 MB a second, the slower of what was measured on two "
            "cores",
        ),
    )


def _snapshot_size(loaded: Loaded) -> tuple[int, int]:
    """Bytes and data records of a snapshot of this state."""
    size = records = 0
    for batch in snapshot_batches(
        loaded.image,
        epoch=max(loaded.last_epoch, 0),
        last_contained_log_timestamp_ms=loaded.last_timestamp_ms,
        now_ms=loaded.last_timestamp_ms,
    ):
        size += len(batch)
        records += decode_header(batch, 0).record_count
    return size, records


def _seconds(log_bytes: int, records: int) -> float:
    return round(log_bytes / _SCANNED_BYTES_A_SECOND + records / _RECORDS_A_SECOND, 2)


def _findings(snapshot_bytes: int, *, known: bool, span_ms: int) -> list[Finding]:
    found = []
    if not known:
        found.append(
            note(
                "log-too-short-for-a-rate",
                "metadata log",
                f"the log covers {span_ms // 1000} s, too little to tell how it grows: the growth of an idle cluster "
                "is shown",
                "Take the log of a controller that has run for a day.",
                span_ms=span_ms,
            )
        )
    if snapshot_bytes > _KEPT_BYTES:
        found.append(
            warning(
                "snapshot-above-retention",
                "metadata log",
                f"one snapshot takes {snapshot_bytes} bytes, more than the {_KEPT_BYTES} that are kept of log and "
                "snapshots together: only the newest stays, and a follower that lags fetches it whole",
                "Raise metadata.max.retention.bytes on the controllers.",
                snapshot_bytes=snapshot_bytes,
            )
        )
    return found
