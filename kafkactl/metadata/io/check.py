"""Input of `metadata/verify/check.py`: the metadata logs of one or several nodes, read whole, with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kafkactl.metadata.io.metadata_log import scan_checkpoint_file, scan_log_folder, scan_segment_file
from kafkactl.metadata.io.source import LogSource, announce, log_folder, open_source, read_pieces
from kafkactl.metadata.log.lineage import BatchIndex
from kafkactl.metadata.verify.check import Beyond, NodeLog
from kafkactl.metadata.verify.folder import MetadataLogFacts
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.record_batch import decode_header


def read_node_log(path: str) -> NodeLog:
    """Read the log that a path names as a whole. Raise InputError as `open_source` does, FailedError for a bad disk."""
    source = open_source(path)
    announce([*source.checkpoints[-1:], *source.segments, *source.segments])  # segments are read twice
    facts = _facts(path, source)
    index, beyond = _indexed(source, facts)
    return NodeLog(
        path=path,
        cluster_id=source.cluster_id,
        facts=facts,
        index=index,
        beyond=beyond,
        node_id=source.node_id,
        directory_id=source.directory_id,
    )


def _facts(path: str, source: LogSource) -> MetadataLogFacts:
    folder = log_folder(path)
    if folder is not None:
        return scan_log_folder(folder, decode_all=True)
    return scan_segment_file(path) if source.segments else scan_checkpoint_file(path)


def _indexed(source: LogSource, facts: MetadataLogFacts) -> tuple[BatchIndex, Beyond]:
    """Return every batch that can be read, and those after the place at which a start cuts the log."""
    index, behind = BatchIndex(), _Counter()
    cut = facts.damaged_segment
    is_beyond = False
    for file in source.segments:
        cut_at = cut.stop.position if cut is not None and cut.stop is not None and _is(file.name, cut.name) else None
        for run in _runs(walk_runs(read_pieces(file.name), file=file.name)):
            index.add(run)
            behind.add(run, 0 if is_beyond else cut_at)
        is_beyond = is_beyond or cut_at is not None
    return index, Beyond(batches=behind.batches, records=behind.records, last_offset=behind.last_offset)


def _is(path: str, name: str) -> bool:
    return Path(path).name == name


def _runs(found: Iterable[BatchRun | Damage]) -> Iterator[BatchRun]:
    return (run for run in found if isinstance(run, BatchRun))


class _Counter:
    """Batches and records after a place."""

    def __init__(self) -> None:
        self.batches = self.records = 0
        self.last_offset: int | None = None

    def add(self, run: BatchRun, since: int | None) -> None:
        """Count those of a run that begin at or after byte `since` of the file; None: none of them."""
        if since is None:
            return
        for position in run.positions:
            if run.base + position >= since:
                header = decode_header(run.data, position, base=run.base)
                self.batches += 1
                self.records += header.record_count
                self.last_offset = header.last_offset
