"""The state that a starting node builds from a log: Kafka's loader, with its differences from the controller.

The active controller applies records one by one. A node that starts reads up to 8 MiB at a time and collects each read
into one delta. Three parts of such a delta are not the sum of their records:

* SCRAM (`ScramDelta.apply`): users are changed in the order of a hash table. If removals make a mechanism empty, all
  later changes of that mechanism in the same delta are lost. Measured up to 4.4.0.
* Topic configurations (`ConfigurationsDelta.replay`): the removal of a topic removes its configurations only if they
  existed before the read; if they were created and removed within one read, they remain. Measured from 3.8.1 on, not
  in 3.7.2.
* Aborted transactions (`MetadataBatchLoader`): aborted records are discarded only if nothing follows the abort in the
  same read.

Nearly all records are about partitions, and what they do is the same for a node and the controller. So the log is gone
through once without decoding these (`skim`), which gives the three parts and the aborted transactions that take
effect, and replayed once by columns with these transactions. A log in which something is odd is read record by record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.core.progress import heard_by
from kafkactl.dryrun.engine.delta_scan import LogDeltas
from kafkactl.dryrun.engine.deltas import Deltas
from kafkactl.dryrun.engine.local import LogFile, Start, records_in, start_of
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs

TIMES_READ: Final = 2
"""How often `started` reads the segments of a log, for the announcement of its progress."""
_ODD: Final = frozenset({"transaction-inside-transaction", "transaction-not-open"})


@frozen
class Started:
    """State of a node after it read the log.

    `phantoms` counts records of aborted transactions that took effect; `from_offset` is where the replay began: 0, or
    after a checkpoint.
    """

    image: Image
    from_offset: int
    phantoms: int


def started(segments: Sequence[LogFile], checkpoints: Sequence[LogFile], *, keeps_configs: bool = True) -> Started:
    """Return the image of a node that starts from these files. Raise InputError `log-start-missing`, and what pieces
    raise.

    `keeps_configs` is that of the release (`StartRules.keeps_orphaned_configs`).
    """
    with no_collection():
        begin = start_of(segments, checkpoints, None)
        found = _quickly(segments, begin, keeps_configs=keeps_configs)
        if found is not None:
            return found
        with heard_by(None):  # what was announced may have been read already
            return by_the_record(segments, begin, keeps_configs=keeps_configs)


def by_the_record(segments: Sequence[LogFile], begin: Start, *, keeps_configs: bool = True) -> Started:
    """Load any log record by record. Raise the errors of its pieces."""
    deltas = Deltas(begin.image, keeps_configs=keeps_configs)
    for segment, is_needed in _needed(segments, begin):
        # A starting node truncates the log at the first damage, even at offsets that the checkpoint covers.
        if not (_read(deltas, segment, begin.end_offset) if is_needed else _is_sound(segment)):
            break
    return Started(image=deltas.image(), from_offset=begin.end_offset, phantoms=deltas.phantoms)


def _needed(segments: Sequence[LogFile], begin: Start) -> Iterator[tuple[LogFile, bool]]:
    """Yield each segment, and whether it has records after the start."""
    for position, segment in enumerate(segments):
        following = segments[position + 1].base_offset if position + 1 < len(segments) else None
        yield segment, following is None or following > begin.end_offset


def _is_sound(segment: LogFile) -> bool:
    return not any(isinstance(run, Damage) for run in walk_runs(segment.pieces(), file=segment.name))


def _read(deltas: Deltas, segment: LogFile, from_offset: int) -> bool:
    """Read a segment; return True if it is sound to its end."""
    is_sound = True
    deltas.begin_segment()
    for found in records_in(segment):
        if isinstance(found, Damage):
            is_sound = False
            break
        record, header = found
        if header.last_offset >= from_offset:
            deltas.begin_batch(header.base_offset, header.size_bytes)
            deltas.take(record, is_control=header.is_control)
    deltas.end_segment()
    return is_sound


def _quickly(segments: Sequence[LogFile], begin: Start, *, keeps_configs: bool) -> Started | None:
    """Load a log by columns; return None for an irregular one, which only `by_the_record` can judge."""
    if begin.image.transaction is not None:
        return None
    skimming = LogDeltas(begin.image, begin.end_offset, keeps_configs=keeps_configs)
    deltas = skimming.deltas
    for run in _runs(segments, begin):
        if run is None:
            deltas.begin_segment()
        elif not skimming.take_run(run):
            return None
    deltas.end_segment()
    replaying = LogReplay(
        begin.image,
        first_offset=begin.end_offset,
        on_gap=lambda _expected, _found: None,
        kept_aborts=frozenset(deltas.kept_aborts),
    )
    for run in _runs(segments, begin):
        if run is not None:
            replaying.take_run(run.data, run.positions, run.base)
    result = replaying.result()
    if "undecodable" in result.counts or any(finding.id in _ODD for finding in result.findings):
        return None
    image = deltas.on(replace(result.image, transaction=None))
    return Started(image=image, from_offset=begin.end_offset, phantoms=deltas.phantoms)


def _runs(segments: Sequence[LogFile], begin: Start) -> Iterator[BatchRun | None]:
    """Yield the sound batches of needed segments up to the first damage; None before each such segment."""
    for segment, is_needed in _needed(segments, begin):
        if is_needed:
            yield None
        for run in walk_runs(segment.pieces(), file=segment.name):
            if isinstance(run, Damage):
                return
            if is_needed:
                yield run
