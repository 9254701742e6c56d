"""`--details DIR`: segments, partitions, findings and objects as Parquet tables, in their order.

What is nested is JSON text. The segments are those that the filters want, the objects all of the listing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kafkactl.core.safe_text import json_text
from kafkactl.core.values import Uuid
from kafkactl.dryrun.detail_tables import BOOL, INT, TEXT, Table
from kafkactl.tiered.api.verbs import Filters, Loaded, audit, each_segment
from kafkactl.tiered.audit.findings import place_of

_PLACE: Final = (("topic", TEXT), ("topic_id", TEXT), ("partition", INT))
SEGMENTS: Final = (
    *_PLACE, ("segment_id", TEXT), ("state", TEXT), ("start_offset", INT), ("end_offset", INT), ("bytes", INT),
    ("leader_epochs", TEXT), ("broker_id", INT), ("event_timestamp_ms", INT), ("max_timestamp_ms", INT),
    ("custom_metadata", TEXT), ("txn_index_empty", BOOL), ("metadata_partition", INT), ("first_offset", INT),
    ("last_offset", INT), ("records", INT), ("epoch_index", TEXT), ("forgotten_by", TEXT),
)  # fmt: skip
PARTITIONS: Final = (
    *_PLACE, ("exists", BOOL), ("metadata_partition", INT), ("leader", INT), ("segments", INT), ("by_state", TEXT),
    ("bytes", INT), ("remote_start_offset", INT), ("remote_end_offset", INT), ("highest_offsets", TEXT),
    ("highest_offset", INT), ("next_upload_offset", INT), ("log_start_offset", INT), ("local_log_start_offset", INT),
    ("log_end_offset", INT), ("holes", TEXT), ("orphans", TEXT),
)  # fmt: skip
FINDINGS: Final = (
    ("id", TEXT), ("severity", TEXT), ("subject", TEXT), *_PLACE, ("message", TEXT), ("next_step", TEXT),
    ("segments_total", INT), ("objects_total", INT), ("bytes", INT), ("evidence", TEXT),
)  # fmt: skip
OBJECTS: Final = (
    ("key", TEXT), ("bytes", INT), ("mtime_ms", INT), ("segment_id", TEXT), ("suffix", TEXT), *_PLACE, ("state", TEXT),
)  # fmt: skip
_EVIDENCE: Final = frozenset({"topic", "topic_id", "partition", "segments_total", "objects_total", "bytes"})


def check_details(path: str | None) -> None:
    """Refuse a target that cannot be written. Raises as `detail_files.check_details_target`."""
    if path is not None:
        from kafkactl.dryrun.io.detail_files import check_details_target

        check_details_target(Path(path))


def write_details(path: str, loaded: Loaded, filters: Filters) -> str:
    """Write the tables; the folder that they are in. Raises as `detail_files.write_details`."""
    from kafkactl.dryrun.io import detail_files

    detail_files.write_details(Path(path), tables(loaded, filters))
    return path


def tables(loaded: Loaded, filters: Filters) -> Iterator[Table]:
    """Yield all tables; the table of objects is empty without a listing of the store."""
    found = audit(loaded, filters)
    yield _table("segments", SEGMENTS, (segment.to_dict() for segment in each_segment(loaded, filters)))
    yield _table("partitions", PARTITIONS, (status.to_dict() for status in found.partitions))
    yield _table("findings", FINDINGS, (_finding(finding.to_dict()) for finding in found.findings))
    yield _table("objects", OBJECTS, _objects(loaded))


def _table(name: str, columns: tuple[tuple[str, str], ...], entries: Iterable[Mapping[str, Any]]) -> Table:
    names = [column for column, _ in columns]
    return Table(name, columns, (tuple(_plain(entry.get(column)) for column in names) for entry in entries))


def _plain(value: Any) -> Any:
    return json_text(value, compact=True) if isinstance(value, list | dict) else value


def _finding(found: dict[str, Any]) -> dict[str, Any]:
    evidence = found["evidence"]
    return {**found, **{name: evidence[name] for name in _EVIDENCE if name in evidence}}


def _objects(loaded: Loaded) -> Iterator[dict[str, Any]]:
    """Yield objects by key, with the partition and the state of their segment if a record names one."""
    bucket = loaded.case.bucket
    if bucket is None:
        return
    known = {
        segment.segment_id: (partition, segment.state.name)
        for partition in loaded.case.partitions
        for segment in (*partition.log.segments(), *(partition.log.deleted or {}).values())
        if segment.segment_id in bucket.segments
    }
    for found in sorted(bucket.listing.objects):
        named = None if bucket.layout is None else bucket.layout.parse(found.key)
        entry = {"key": found.key, "bytes": found.size, "mtime_ms": found.mtime_ms}
        if named is not None:
            entry |= {"segment_id": str(Uuid(named.segment_id)), "suffix": named.suffix}
            if named.segment_id in known:
                partition, state = known[named.segment_id]
                entry |= {**place_of(partition), "state": state}
        yield entry
