"""Scenario `growth`: what becomes of the size of a log.

Rates: `KafkaRaftClient` re-reads every segment when a node starts (CRC of all bytes), then replays the newest snapshot
and the log after it; 0.25 to 0.5 million records and 105 MB a second were measured with Kafka's own classes on two
cores. When snapshots are taken and what is kept are static settings of the controller (`MetadataLogConfig.java`): the
oldest snapshots go while log and snapshots are above the retention, and segments only as a whole, if all of them lies
before the oldest snapshot that is left (`KafkaMetadataLog.scala`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.engine.local import Loaded
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import Needs, Option, ReportPart, Scenario, ScenarioContext
from kafkactl.metadata.image.snapshot_writer import snapshot_size
from kafkactl.protocol.record_batch import HEADER_BYTES

NAME: Final = "growth"

DAY_MS: Final = 86_400_000
_RECORDS_A_SECOND = 250_000  # the slower of what was measured
_SCANNED_BYTES_A_SECOND = 105_000_000
_IDLE_BYTES = 72  # a batch with one no-op
_RECORD_BYTES = 60  # of a record in a log, about
_SHORT_MS = 3_600_000  # what a shorter time shows does not tell a day
_MOST_SNAPSHOTS_A_DAY = 1_440  # one a minute; 24 by default, more on a busy cluster
_MOST_KEPT_BYTES = 10 * 2**30  # 100 MiB and a segment of 1 GiB by default
_LONGEST_LOAD_S = 60  # initial.broker.registration.timeout.ms, after which a broker gives up


@frozen
class Limits:
    """The controller's settings about the size of its log.

    0 ends no-ops (`idle_ms`) and snapshots by time, -1 what is kept at most.
    """

    idle_ms: int = 500
    snapshot_after_bytes: int = 20 * 1024 * 1024
    snapshot_after_ms: int = 3_600_000
    kept_bytes: int = 100 * 1024 * 1024
    kept_ms: int = 7 * DAY_MS
    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * DAY_MS


_SETTINGS: Final = {
    "idle_ms": "metadata.max.idle.interval.ms",
    "snapshot_after_bytes": "metadata.log.max.record.bytes.between.snapshots",
    "snapshot_after_ms": "metadata.log.max.snapshot.interval.ms",
    "kept_bytes": "metadata.max.retention.bytes",
    "kept_ms": "metadata.max.retention.ms",
    "segment_bytes": "metadata.log.segment.bytes",
    "segment_ms": "metadata.log.segment.ms",
}


def limits_of(static: Mapping[str, str]) -> Limits:
    """Return the limits of a controller with these static settings.

    Kafka's default for a value that is not a number.
    """
    given = {name: static.get(key, "").strip() for name, key in _SETTINGS.items()}
    return Limits(**{name: int(text) for name, text in given.items() if re.fullmatch(r"-?[0-9]+", text)})


def growth(loaded: Loaded, facts: Facts, days: int) -> Prediction:
    """Return the size of log and snapshots after some days at the rate of the log so far, and how long a start takes.

    Raises InputError `invalid-growth-period`.
    """
    if days < 1:
        raise InputError("growth needs at least one day", id="invalid-growth-period")
    limits = limits_of(facts.static)
    snapshot_bytes, snapshot_records = snapshot_size(loaded.image)
    span_ms = loaded.last_timestamp_ms - loaded.first_timestamp_ms
    known = loaded.records > 1 and span_ms >= _SHORT_MS
    records_a_day, bytes_a_day = _rate(loaded, span_ms) if known else _idle_rate(limits)
    snapshots_a_day = _snapshots_a_day(limits, bytes_a_day, records_a_day)
    kept = _kept(limits, loaded.log_bytes, bytes_a_day, snapshots_a_day * snapshot_bytes, days) + snapshot_bytes
    behind = min(records_a_day // max(snapshots_a_day, 1), limits.snapshot_after_bytes // _RECORD_BYTES)
    load = _seconds(min(loaded.log_bytes + bytes_a_day * days, kept), snapshot_records + behind)
    findings = (
        *_findings(snapshot_bytes, limits, known=known, span_ms=span_ms),
        *_harmful(limits, kept, snapshots_a_day, load, days),
    )
    is_less = any(finding.severity is not Severity.INFO for finding in findings)
    return Prediction(
        scenario=NAME,
        input={"days": days},
        verdict=Verdict.DEGRADED if is_less else Verdict.OK,
        facts=facts,
        findings=findings,
        effects={
            "log": {
                "bytes": loaded.log_bytes,
                "records": loaded.records,
                "span_ms": span_ms,
                "bytes_per_day": bytes_a_day,
                "records_per_day": records_a_day,
                "bytes_written_after": bytes_a_day * days,
                "bytes_kept_after": kept,
            },
            "snapshot": {"bytes": snapshot_bytes, "records": snapshot_records, "per_day": snapshots_a_day},
            "controller_load": {
                "seconds": _seconds(loaded.log_bytes, snapshot_records + loaded.records),
                "seconds_after": load,
            },
        },
        assumptions=(
            _settings_text(limits, facts),
            "a controller replays 250,000 records and checks 105 MB a second, the slower of what was measured on two "
            "cores",
        ),
    )


def _rate(loaded: Loaded, span_ms: int) -> tuple[int, int]:
    """Return records and bytes a day, as they came so far."""
    return loaded.records * DAY_MS // span_ms, loaded.log_bytes * DAY_MS // span_ms


def _idle_rate(limits: Limits) -> tuple[int, int]:
    """Return records and bytes a day of an idle cluster: a no-op each time the log was idle long enough."""
    batches = DAY_MS // limits.idle_ms if limits.idle_ms else 0
    return batches, batches * _IDLE_BYTES


def _snapshots_a_day(limits: Limits, bytes_a_day: int, records_a_day: int) -> int:
    """Return the snapshots a day: one after enough bytes, or enough time if anything was written; at most one a batch.

    A snapshot ends at a committed batch: with the least limit 4.3.1 makes one for each commit (190 in 100 s, idle).
    """
    by_time = DAY_MS // limits.snapshot_after_ms if limits.snapshot_after_ms and bytes_a_day else 0
    batches = min(records_a_day, bytes_a_day // HEADER_BYTES)
    return min(max(by_time, bytes_a_day // max(limits.snapshot_after_bytes, 1)), batches)


def _kept(limits: Limits, start_bytes: int, log_a_day: int, snapshots_a_day: int, days: int) -> int:
    """Return the bytes of log and snapshots that are finally on the disk: all written bytes, or those left by cleaning.

    Cleaning takes whole segments, and of the last one nothing: it stays as large as it may grow.
    """
    a_day = log_a_day + snapshots_a_day
    segment = min(limits.segment_bytes, log_a_day * limits.segment_ms // DAY_MS)
    by_time = max(start_bytes, a_day * limits.kept_ms // DAY_MS + segment)
    written = start_bytes + a_day * days
    by_size = limits.kept_bytes + segment if limits.kept_bytes >= 0 else written
    return min(written, by_size, by_time if limits.kept_ms >= 0 else written)


def _settings_text(limits: Limits, facts: Facts) -> str:
    """Return a text about the settings of the prediction."""
    given = [key for key in _SETTINGS.values() if key in facts.static]
    where = f"of the file given ({', '.join(given)})" if given else "at Kafka's defaults"
    return (
        f"snapshots and retention are {where}: a snapshot after {_mib(limits.snapshot_after_bytes)} or "
        f"{_time(limits.snapshot_after_ms)}; {_retention_text(limits)}"
    )


def _retention_text(limits: Limits) -> str:
    most = [
        *([_mib(limits.kept_bytes)] if limits.kept_bytes >= 0 else []),
        *([_time(limits.kept_ms)] if limits.kept_ms >= 0 else []),
    ]
    return f"{' and '.join(most)} are kept, and the segment that is written to" if most else "all is kept"


def _mib(size: int) -> str:
    """Return a size in MiB, else in bytes.

    >>> _mib(20971520), _mib(1000)
    ('20 MiB', '1000 bytes')
    """
    return f"{size / 2**20:.4g} MiB" if size >= 2**20 else f"{size} bytes"


def _time(span_ms: int) -> str:
    """Return a duration in words.

    >>> _time(604800000), _time(3600000), _time(4000), _time(250)
    ('7 days', '60 min', '4 s', '250 ms')
    """
    for from_ms, unit_ms, name in ((2 * DAY_MS, DAY_MS, "days"), (120_000, 60_000, "min"), (1_000, 1_000, "s")):
        if span_ms >= from_ms:
            return f"{span_ms / unit_ms:.4g} {name}"
    return f"{span_ms} ms"


def _seconds(log_bytes: int, records: int) -> float:
    return round(log_bytes / _SCANNED_BYTES_A_SECOND + records / _RECORDS_A_SECOND, 2)


def _findings(snapshot_bytes: int, limits: Limits, *, known: bool, span_ms: int) -> list[Finding]:
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
    if snapshot_bytes > limits.kept_bytes >= 0:
        found.append(
            warning(
                "snapshot-above-retention",
                "metadata log",
                f"one snapshot takes {snapshot_bytes} bytes, more than the {limits.kept_bytes} that are kept of log "
                "and snapshots together: only the newest stays, and a follower that lags fetches it whole",
                snapshot_bytes=snapshot_bytes,
            )
        )
    return found


def _harmful(limits: Limits, kept: int, snapshots_a_day: int, load_s: float, days: int) -> Iterator[Finding]:
    """Yield the harm of growth at the settings of the controller: a full disk, no rest from snapshots, slow starts."""
    subject = "metadata log"
    if snapshots_a_day > _MOST_SNAPSHOTS_A_DAY:
        yield warning(
            "snapshots-too-frequent",
            subject,
            f"{snapshots_a_day} snapshots a day are written, each with the whole state: a snapshot follows "
            f"{_mib(limits.snapshot_after_bytes)} of log or {_time(limits.snapshot_after_ms)}",
            per_day=snapshots_a_day,
        )
    if kept > _MOST_KEPT_BYTES:
        is_endless = limits.kept_bytes < 0 and limits.kept_ms < 0
        ends = "nothing is ever deleted" if is_endless else "the retention keeps as much"
        yield warning(
            "metadata-log-fills-disk",
            subject,
            f"after {days} days log and snapshots take {kept / 2**30:.4g} GiB on every controller and broker: {ends} "
            f"({_SETTINGS['kept_bytes']}={limits.kept_bytes}, {_SETTINGS['kept_ms']}={limits.kept_ms})",
            bytes=kept,
        )
    if load_s > _LONGEST_LOAD_S:
        yield warning(
            "metadata-log-loads-slowly",
            subject,
            f"a node takes about {load_s:.0f} s to load its log when it starts",
            seconds=load_s,
        )


@frozen
class Input:
    """Number of days to predict."""

    days: int


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the size of log and snapshots then."""
    return growth(context.loaded, context.facts, asked.days)


SCENARIO: Final = Scenario(
    name=NAME,
    title=lambda asked: f"Growth of the log in {counted(asked.get('days', 0), 'day')}",
    help="How large log and snapshots become, and how long a controller takes to load them.",
    about="How large log and snapshots become, and how long a controller takes to load them.",
    input=Input,
    simulate=simulate,
    examples=("kafkactl dryrun growth /disk1/__cluster_metadata-0 --days 30",),
    options=(Option("days", "How far ahead.", metavar="N", default=30, least=1),),
    effects=("log", "snapshot", "controller_load"),
    report=ReportPart(place=3, inputs=lambda _: [Input(days=30)]),
    needs=Needs.LOG,
)
