"""Decoder of the files of a formatted node: meta.properties, checkpoints, quorum-state.

What this file guards: secrets stay hidden unless they are asked for, and damage hides nothing else. A file that is
broken in the middle shows all that can be read, and each damage with its place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias, TypedDict

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.metadata.log.checkpoint import Checkpoint, decode_checkpoint
from kafkactl.metadata.log.quorum_state import decode_quorum_state
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.record_batch import HEADER_BYTES, MAGIC, MAGIC_POSITION, BatchHeader
from kafkactl.protocol.redact import (
    REDACTED,
    continues_block,
    is_secret_setting,
    is_secret_text,
    redacted,
    shown_key,
)
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.storage.model import QUORUM_STATE

CHECKPOINT: Final = "checkpoint"

_META_PROPERTIES_TEXT = re.compile(rb"(?m)^[ \t]*(version|cluster\.id|node\.id|broker\.id)[ \t]*[=:]")


@frozen
class Properties:
    """A decoded meta.properties; all is None if the file cannot be read."""

    version: int | None = None
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None
    properties: Mapping[str, str] | None = None
    type: Literal["meta.properties"] = META_PROPERTIES

    to_dict = json_of("version", "cluster_id", "node_id", "directory_id", "properties")


class QuorumStateDict(TypedDict):
    """A decoded quorum-state; what its version does not hold is None."""

    data_version: int
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: str | None
    cluster_id: str | None
    applied_offset: int | None
    current_voters: list[int] | None


@frozen
class State:
    """A quorum-state file; None if the file cannot be read."""

    state: QuorumStateDict | None
    type: Literal["quorum-state"] = QUORUM_STATE

    to_dict = json_of("state")


@frozen
class Record:
    """A metadata record; `data` has the fields as in Kafka's JSON (`featureLevel`), secrets left out."""

    offset: int
    type: str
    version: int
    data: Mapping[str, Any]

    to_dict = by_fields


class HeaderDict(TypedDict):
    """The header of a checkpoint."""

    version: int
    last_contained_log_timestamp_ms: int


@frozen
class CheckpointVoter:
    """A voter with the kraft.version range that it supports."""

    voter: Voter

    to_dict = json_of(
        "**voter", "min_kraft_version=voter.min_kraft_version", "max_kraft_version=voter.max_kraft_version"
    )


class BatchDict(TypedDict):
    """A record batch of a checkpoint."""

    position: int
    """Byte offset in the file."""
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    timestamp_ms: int
    control: bool
    records: int
    crc: str


@frozen
class Snapshot:
    """A decoded checkpoint, as far as it can be read."""

    checkpoint: Checkpoint
    records: tuple[Record, ...]
    type: Literal["checkpoint"] = CHECKPOINT

    @property
    def header(self) -> HeaderDict | None:
        """Return the header record; None if the checkpoint has none."""
        return _header(self.checkpoint)

    @property
    def voters(self) -> list[CheckpointVoter] | None:
        """Return the voter set; None if the checkpoint has none."""
        found = self.checkpoint.voters
        return None if found is None else [CheckpointVoter(voter=voter) for voter in found]

    @property
    def batches(self) -> list[BatchDict]:
        """Return the record batches in the order of the file."""
        return [_batch(batch) for batch in self.checkpoint.batches]

    to_dict = json_of(
        "header", "kraft_version=checkpoint.kraft_version", "voters", "footer=checkpoint.footer",
        "leader_epoch=checkpoint.epoch", "batches", "records",
    )  # fmt: skip


Content: TypeAlias = Properties | State | Snapshot


@frozen
class DumpedFile:
    """A decoded file: `content` is what a meta.properties, a checkpoint or a quorum-state says."""

    path: str
    size_bytes: int
    sha256: str
    content: Content = field(repr=False)
    findings: tuple[Finding, ...]

    to_dict = json_of("path", "type=content.type", "size=size_bytes", "sha256", "**content")


def dump_file(path: str, data: bytes, *, show_secrets: bool = False) -> DumpedFile:
    """Decode a file, whatever its state. Raises InputError `unknown-file-type` if it is none of the three."""
    found = file_type(path, data)
    if found is None:
        raise InputError(
            f"{path} is not a meta.properties, checkpoint or quorum-state file, by its name or its content",
            id="unknown-file-type",
        )
    content, errors = _DUMPERS[found](path, data, show_secrets)
    return DumpedFile(
        path=path,
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        content=content,
        findings=tuple(_damage(path, error) for error in errors),
    )


def file_type(path: str, data: bytes) -> str | None:
    """Return the type of a file by its name, else by its content; None if neither identifies it."""
    name = path.rpartition("/")[2]
    if name in (META_PROPERTIES, QUORUM_STATE):
        return name
    if name.endswith((".checkpoint", ".checkpoint.part", ".checkpoint.deleted", ".checkpoint.tmp")):
        return CHECKPOINT
    if len(data) >= HEADER_BYTES and data[MAGIC_POSITION] == MAGIC:
        return CHECKPOINT
    if data.lstrip()[:1] == b"{" and b"leaderEpoch" in data:
        return QUORUM_STATE
    return META_PROPERTIES if _META_PROPERTIES_TEXT.search(data) else None


def _damage(path: str, error: DecodeError) -> Finding:
    return Finding(
        id=error.id,
        severity=Severity.BLOCKER,
        subject=f"file {path}",
        message=f"byte {error.offset}{f', {error.path}' if error.path else ''}: {error.reason}",
        evidence={"path": path, "offset": error.offset, "field": error.path or None},
        next_step=error.next_step or "Do not start a node on this file before you know why it is damaged.",
    )


_Dumped = tuple[Content, list[DecodeError]]


# What Kafka itself writes there; any file of properties can be dumped, one with logins too.
_OWN_KEYS = frozenset({"version", "cluster.id", "node.id", "broker.id", "directory.id"})


def _dump_meta_properties(path: str, data: bytes, show_secrets: bool) -> _Dumped:
    try:
        found = parse_meta_properties(data, file=path)
    except DecodeError as error:
        return Properties(), [error]
    return Properties(
        version=found.version,
        cluster_id=found.cluster_id,
        node_id=found.stored_id,
        directory_id=None if found.directory_id is None else str(found.directory_id),
        properties=dict(sorted(_shown(found.properties, show_secrets=show_secrets))),
    ), [] if found.properties else [_nothing_in(path)]


def _shown(properties: Mapping[str, str], *, show_secrets: bool) -> Iterator[tuple[str, str]]:
    """Return keys and values as they may be shown, in the order of the file; a block of a key is read as keys."""
    in_block = False
    for key, value in properties.items():
        is_secret = is_secret_text(value) if key in _OWN_KEYS else in_block or is_secret_setting(key, value)
        if show_secrets:
            yield key, value
        else:
            shown = REDACTED if in_block and key not in _OWN_KEYS else shown_key(key)
            yield shown, REDACTED if is_secret else value
        in_block = continues_block(f"{key} {value}", is_in_block=in_block)


def _nothing_in(path: str) -> DecodeError:
    return DecodeError(
        "the file holds no property, so it belongs to no node", id="incomplete-meta-properties", offset=0, file=path
    )


def _dump_quorum_state(path: str, data: bytes, _show_secrets: bool) -> _Dumped:
    try:
        state = decode_quorum_state(data, file=path)
    except DecodeError as error:
        return State(state=None), [error]
    first = state.data_version == 0
    return State(
        state={
            "data_version": state.data_version,
            "leader_id": state.leader_id,
            "leader_epoch": state.leader_epoch,
            "voted_id": state.voted_id,
            "voted_directory_id": None if first else str(state.voted_directory_id),
            "cluster_id": state.cluster_id if first else None,
            "applied_offset": state.applied_offset if first else None,
            "current_voters": list(state.current_voters) if first else None,
        }
    ), []


def _dump_checkpoint(path: str, data: bytes, show_secrets: bool) -> _Dumped:
    found = decode_checkpoint(data, file=path)
    records = tuple(_record(offset, record, show_secrets) for offset, record in found.records)
    return Snapshot(checkpoint=found, records=records), list(found.problems)


def _header(found: Checkpoint) -> HeaderDict | None:
    if found.header is None:
        return None
    return {
        "version": found.header.version,
        "last_contained_log_timestamp_ms": found.header.last_contained_log_timestamp_ms,
    }


def _batch(batch: BatchHeader) -> BatchDict:
    return {
        "position": batch.position,
        "size": batch.size_bytes,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "leader_epoch": batch.partition_leader_epoch,
        "timestamp_ms": batch.base_timestamp_ms,
        "control": batch.is_control,
        "records": batch.record_count,
        "crc": f"{batch.crc:08x}",
    }


def _record(offset: int, record: MetadataRecord, show_secrets: bool) -> Record:
    data = to_json(message(record.type), record.version, record.data)
    shown = data if show_secrets else redacted(record.type, data)
    return Record(offset=offset, type=record.type, version=record.version, data=shown)


_DUMPERS = {
    META_PROPERTIES: _dump_meta_properties,
    QUORUM_STATE: _dump_quorum_state,
    CHECKPOINT: _dump_checkpoint,
}
