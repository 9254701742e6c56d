"""The files of a format by directory, and their bytes, in the four layouts of StorageTool.scala and Formatter.java.

1 (3.3 to 3.6) and 2 (3.7, 3.8): bootstrap.checkpoint and meta.properties in every directory, from 2 on with a
directory.id. 3 (3.9 to 4.3): and, if the first voters are named, the 0-0 checkpoint with them in the metadata
directory. 4 (from 4.4, KIP-1170): no bootstrap.checkpoint; what it held is in the 0-0 checkpoint, which a controller
always gets and a broker never.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.errors import SchemaError
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG, METADATA_VERSION
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.checkpoint import decode_checkpoint, encode_bootstrap_checkpoint, encode_first_checkpoint
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.text.meta_properties import (
    FIRST_LAYOUT_WITH_DIRECTORY_ID,
    META_PROPERTIES,
    parse_meta_properties,
    render_meta_properties,
)
from kafkactl.storage.format.scram import ScramCredential
from kafkactl.storage.model import BOOTSTRAP_CHECKPOINT, KEYS_MODE, SNAPSHOT_MODE, PlannedFile

_EXAMPLE_ID = Uuid(bytes(range(0x50, 0x60)))
_EVERYTHING_IN_FIRST_CHECKPOINT = 4


@dataclass(frozen=True, kw_only=True)
class NodeFiles:
    """Input of the files of one node. `voters` are in the order of the VotersRecord; None: none named."""

    layout: int
    cluster_id: str
    node_id: int
    now_ms: int
    is_controller: bool
    metadata_version_level: int
    features: Mapping[str, int]
    kraft_version: int
    voters: tuple[Voter, ...] | None
    scram: tuple[ScramCredential, ...] = field(repr=False)

    def of_directory(self, directory_id: Uuid | None, *, is_metadata: bool) -> tuple[PlannedFile, ...]:
        """Return the files of one directory in the order of publishing; `directory_id` is None in layout 1."""
        files = []
        if is_metadata and self._first_checkpoint is not None:
            files.append(self._first_checkpoint)
        if self.layout < _EVERYTHING_IN_FIRST_CHECKPOINT:
            files.append(self._bootstrap_checkpoint)
        files.append(self._meta_properties(directory_id))
        return tuple(files)

    @cached_property
    def records(self) -> tuple[MetadataRecord, ...]:
        """Return metadata.version, the other features by name, the SCRAM credentials as given (BootstrapMetadata)."""
        features = _level_records(self.metadata_version_level, sorted(self.features.items()))
        credentials = [_record("UserScramCredentialRecord", user.record_value()) for user in self.scram]
        return (*features, *credentials)

    @cached_property
    def _bootstrap_checkpoint(self) -> PlannedFile:
        if self.scram:
            content = _bootstrap_content(self.records, self.now_ms)
        else:
            content = _keyless_bootstrap(self.metadata_version_level, tuple(sorted(self.features.items())), self.now_ms)
        return PlannedFile(name=BOOTSTRAP_CHECKPOINT, content=content, mode=KEYS_MODE if self.scram else None)

    @cached_property
    def _first_checkpoint(self) -> PlannedFile | None:
        if self.layout < _EVERYTHING_IN_FIRST_CHECKPOINT:
            if self.voters is None:
                return None
            records: tuple[MetadataRecord, ...] = ()
        else:
            if not self.is_controller:
                return None
            records = self.records
        content = encode_first_checkpoint(
            now_ms=self.now_ms, kraft_version=self.kraft_version or None, voters=self.voters, records=records
        )
        _must_decode(content, records, self.voters)
        return PlannedFile(name=f"{METADATA_LOG}/{FIRST_CHECKPOINT}", content=content, mode=SNAPSHOT_MODE)

    def _meta_properties(self, directory_id: Uuid | None) -> PlannedFile:
        """Return the file of one directory: that of another one with the id replaced, which is all that differs."""
        content, example = self._checked_meta_properties, str(_EXAMPLE_ID).encode()
        if directory_id is None or content.count(example) != 1:
            content = self._meta_properties_content(directory_id)
        else:
            content = content.replace(example, str(directory_id).encode())
        return PlannedFile(name=META_PROPERTIES, content=content, mode=None)

    @cached_property
    def _checked_meta_properties(self) -> bytes:
        return self._meta_properties_content(_EXAMPLE_ID)

    def _meta_properties_content(self, directory_id: Uuid | None) -> bytes:
        content = render_meta_properties(
            layout=self.layout,
            cluster_id=self.cluster_id,
            node_id=self.node_id,
            directory_id=directory_id,
            now_ms=self.now_ms,
        )
        read = parse_meta_properties(content)
        written = directory_id if self.layout >= FIRST_LAYOUT_WITH_DIRECTORY_ID else None
        if (read.node_id, read.directory_id) != (self.node_id, written):
            raise _not_ours(META_PROPERTIES)
        return content


def _level_records(metadata_version: int, features: Iterable[tuple[str, int]]) -> tuple[MetadataRecord, ...]:
    levels = [(METADATA_VERSION, metadata_version), *features]
    return tuple(_record("FeatureLevelRecord", {"Name": name, "FeatureLevel": level}) for name, level in levels)


def _bootstrap_content(records: Sequence[MetadataRecord], now_ms: int) -> bytes:
    content = encode_bootstrap_checkpoint(records, now_ms)
    _must_decode(content, records, None)
    return content


@functools.lru_cache(maxsize=4)  # the same for every node of a fleet, and without keys
def _keyless_bootstrap(metadata_version: int, features: tuple[tuple[str, int], ...], now_ms: int) -> bytes:
    return _bootstrap_content(_level_records(metadata_version, features), now_ms)


def _record(type_: str, data: dict[str, object]) -> MetadataRecord:
    api_key = message(type_).api_key
    if api_key is None:
        raise SchemaError(f"{type_} has no api key", id="invalid-definition")
    return MetadataRecord(type=type_, api_key=api_key, version=0, data=data)


def _must_decode(content: bytes, records: Sequence[MetadataRecord], voters: Sequence[Voter] | None) -> None:
    """Check that the encoded checkpoint decodes to the intended records; apply compares bytes with these later."""
    read = decode_checkpoint(content)
    found = [
        (record.type, {key: value for key, value in record.data.items() if key != "_tags"})
        for _, record in read.records
    ]
    meant = [(record.type, dict(record.data)) for record in records]
    if not read.is_complete or found != meant or read.voters != (None if voters is None else tuple(voters)):
        raise _not_ours("a checkpoint")


def _not_ours(what: str) -> SchemaError:
    return SchemaError(
        f"the bytes planned for {what} do not decode to the intended content; nothing was written",
        id="planned-bytes-do-not-decode",
    )
