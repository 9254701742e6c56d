"""The image of the metadata log of a live cluster, continued from one observation to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkactl.cluster.io.fetched_batches import FetchedPiece
from kafkactl.cluster.io.metadata_fetch import FetchedSnapshot, iterate_metadata_log
from kafkactl.cluster.quorum.observation import QuorumAnswer
from kafkactl.core.errors import UnreachableError
from kafkactl.kafka.client import Client
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs

_IDLE: Final = frozenset({"NoOpRecord", "LeaderChange"})


class LogFollower:
    """The image at the end of the log, as of the last observation.

    The first observation reads a snapshot or the whole log; a later one reads the records that were written since. If
    the log no longer continues (another cluster, an election that truncated what was read), all of it is read again.
    """

    def __init__(self, client: Client, quorum: Callable[[], QuorumAnswer]) -> None:
        """Keep `client`, which may take long for a large log, and `quorum`, which returns the present answer of the
        leader."""
        self._client, self._quorum = client, quorum
        self._replay = LogReplay(EMPTY, first_offset=0)
        self._next_offset: int | None = None
        self._image: Image = EMPTY
        self._seen = 0

    def image(self) -> Image:
        """Return the image now; the same object if nothing changed since the observation before.

        Raises UnreachableError as `iterate_metadata_log` does.
        """
        try:
            self._read()
        except UnreachableError as error:
            if self._next_offset is None or error.id != "invalid-fetch-response":
                raise
            self._begin()
            self._read()
        seen = sum(count for name, count in self._replay.counts.items() if name not in _IDLE)
        if seen != self._seen or self._image is EMPTY:
            self._image, self._seen = self._replay.image(), seen
        return self._image

    def _begin(self) -> None:
        self._replay, self._next_offset, self._image, self._seen = LogReplay(EMPTY, first_offset=0), None, EMPTY, 0

    def _read(self) -> None:
        quorum = self._quorum()
        if self._next_offset is not None and 0 <= quorum.high_watermark < self._next_offset:
            self._begin()  # another cluster answers at this address now
        with no_collection():
            for part in iterate_metadata_log(self._client, from_offset=self._next_offset, quorum=quorum):
                if isinstance(part, FetchedSnapshot):
                    self._take_snapshot(part)
                else:
                    self._take_piece(part)

    def _take_snapshot(self, part: FetchedSnapshot) -> None:
        replay = LogReplay(EMPTY, snapshot=True)
        _take(replay, part.pieces(), "snapshot")
        self._replay = LogReplay(replay.image(), first_offset=part.end_offset)
        self._next_offset, self._image, self._seen = part.end_offset, EMPTY, 0

    def _take_piece(self, part: FetchedPiece) -> None:
        if self._next_offset is None and part.base_offset:
            # A leader with a snapshot does not return offset 0, which has no part of the state.
            self._replay = LogReplay(EMPTY, first_offset=part.base_offset)
        _take(self._replay, [part.data], "log")
        self._next_offset = part.end_offset


def _take(replay: LogReplay, pieces: object, name: str) -> None:
    for run in walk_runs(pieces, file=name):  # type: ignore[arg-type]
        if not isinstance(run, BatchRun):
            raise UnreachableError(
                f"the {name} that the active controller returned cannot be read: {run.error.message}",
                id="invalid-fetch-response",
            )
        replay.take_run(run.data, run.positions, run.base)
        del run  # Its bytes are not needed while the next ones are read.
