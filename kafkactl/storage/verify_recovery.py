"""What a recovery makes of the segments of the metadata log, and whether what is left can be read.

A node recovers that log from its first byte at every start (`KafkaMetadataLog.apply` gives recovery point 0), and cuts
it at the first batch that is not whole (`LogSegment.recover`, `LogLoader.recoverLog`). It says so in a warning only.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.metadata.log_scan import Stop
from kafkactl.storage.verify_bootstrap import log_looks_empty
from kafkactl.storage.verify_log import SegmentFacts
from kafkactl.storage.verify_model import (
    Loss,
    Phase,
    Situation,
    Trouble,
    file_subject,
    loses,
    stops,
    tells,
    warns,
)
from kafkactl.storage.verify_voters import other_voters

_FROM_OTHERS = "Start the other voters first: the node fetches from them what it lost."


def recovery_rules(situation: Situation) -> Iterator[Trouble]:
    """Damage, and records that do not decode."""
    contents = situation.log.contents
    damaged = situation.log.damaged_segment
    if damaged is not None:
        yield from _damage(situation, damaged)
    if contents.unknown_control is not None or contents.undecodable is not None:
        yield _undecodable(situation)
    yield from _record_versions(situation)


def _damage(situation: Situation, segment: SegmentFacts) -> Iterator[Trouble]:
    """Where recovery will cut the log. What was behind is fetched again from other voters, if there are any."""
    stop = segment.stop
    assert stop is not None
    subject = file_subject(f"{situation.log.path}/{segment.name}")
    if stop.reason == "magic" and stop.crc_matches:
        yield _future_magic(subject, stop)
        return
    message = (
        f"The log is damaged at byte {stop.position} ({stop.message}). A start cuts it there: offset"
        f" {segment.end_offset} and everything behind is thrown away, {stop.lost_bytes} bytes"
        + (f" and {len(situation.log.dropped_segments)} later segments." if situation.log.dropped_segments else ".")
    )
    evidence = {"segment": segment.name, "position": stop.position, "end_offset": segment.end_offset}
    if stop.zeros and not situation.log.dropped_segments:
        yield tells("metadata-log-zero-tail", subject, message, next_step="Nothing to do: these are no records.")
    elif not situation.is_controller or other_voters(situation):
        yield warns("metadata-log-damaged", subject, message, next_step=_FROM_OTHERS, **evidence)
    else:
        yield loses(
            "metadata-log-damaged",
            subject,
            message,
            *_cut_losses(situation, segment, subject),
            next_step="Restore the log from a backup before starting: no other node has these records.",
            **evidence,
        )


def _cut_losses(situation: Situation, segment: SegmentFacts, subject: str) -> Iterator[Loss]:
    if log_looks_empty(situation):
        yield _whole_log(subject)
    else:
        text = f"All metadata changes from offset {segment.end_offset} on."
        yield Loss(what="metadata-records", subject=subject, message=text)


def _whole_log(subject: str) -> Loss:
    text = (
        "The controller takes what is left for a new cluster and founds one: topics, configurations, users and"
        " registrations are gone, and brokers treat their replicas as strays."
    )
    return Loss(what="metadata-log", subject=subject, message=text)


def _future_magic(subject: str, stop: Stop) -> Trouble:
    return stops(
        "metadata-log-unreadable-batch",
        Phase.METADATA_LOG,
        subject,
        f"The batch at byte {stop.position} has the magic {stop.magic}. Recovery keeps it, for the CRC does not cover"
        " that byte, and reading it then fails.",
        says=f"Invalid magic found in record: {stop.magic}",
        next_step="Restore the log from another voter.",
    )


def _undecodable(situation: Situation) -> Trouble:
    contents = situation.log.contents
    problem = contents.undecodable.message if contents.undecodable else (contents.unknown_control or (0, ""))[1]
    return stops(
        "metadata-log-undecodable",
        Phase.METADATA_LOG,
        f"metadata log in {situation.config.metadata_log_dir}",
        f"A record of the log does not decode although its CRC is right: {problem}",
        says="Failed to deserialize record" if contents.undecodable and not contents.undecodable.control else "",
        next_step="Was the log written by a newer Kafka? Start that release.",
        problem=problem,
    )


def _record_versions(situation: Situation) -> Iterator[Trouble]:
    """A record type that this release does not have; generated readers take any version, so versions do not count."""
    known = situation.release_record_types
    for kind, offset in sorted(situation.log.contents.first_offsets.items(), key=lambda item: item[1]):
        if kind[0] not in known:
            yield stops(
                "unknown-record-type",
                Phase.METADATA_LOG if situation.at_least(3, 8) else Phase.METADATA_REPLAY,
                f"metadata log in {situation.config.metadata_log_dir}",
                f"The record at offset {offset} is of type {kind[0]}, which Kafka {situation.release.version_text} does"
                " not know.",
                says=f"Unknown metadata id {kind[0]}",
                next_step="Start the release that wrote the log, or a newer one.",
                type=kind[0],
                offset=offset,
            )
            return
