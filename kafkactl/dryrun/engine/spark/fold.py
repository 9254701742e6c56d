"""One log between the job and its state: what the job found, whether it went by the truth, and the end of the fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kafkactl.core.errors import DecodeError, FailedError
from kafkactl.core.values import Uuid
from kafkactl.dryrun.engine.columns import BATCH, VALUE
from kafkactl.dryrun.engine.local import Loaded, Start
from kafkactl.dryrun.engine.outline import outline_of
from kafkactl.dryrun.engine.patches import Placing, put
from kafkactl.dryrun.engine.spark.files import opened_segment
from kafkactl.dryrun.engine.spark.found import Found
from kafkactl.dryrun.engine.spark.pack import (
    ABORTED,
    BEFORE,
    COUNTS,
    GONE,
    OTHERS,
    WORDS,
    WRONG,
    json_in,
    others_in,
    place_of,
    words_in,
)
from kafkactl.dryrun.engine.spark.plan import NO_END, ClusterLog, Row, RowReplaying, planned
from kafkactl.dryrun.engine.spark.read import bytes_of
from kafkactl.metadata.log.frame import expect
from kafkactl.metadata.replay.columns.bytes import Array
from kafkactl.metadata.replay.columns.lists import Lists
from kafkactl.metadata.replay.columns.table import PartitionTable, are_sparse
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.record_batch import decode_header, decode_records


class Fold:
    """One log. `window` and `eras` are what the next job goes by."""

    def __init__(self, number: int, log: ClusterLog, start: Start, split_bytes: int) -> None:
        self._number = number
        self._log = log
        self._start = start
        self._split_bytes = split_bytes
        self._damaged: set[str] = set()
        self.eras: tuple[int, ...] = ()
        self._found = Found()
        self._plan()

    def _plan(self) -> None:
        self.plan = planned(self._number, self._log, self._start, self._damaged, self._split_bytes)
        careful = not self.plan.is_ascending or self._start.image.transaction is not None
        self.window = replace(self.plan.window, all_exact=careful)

    def take(self, found: Found) -> None:
        """What the job found."""
        self._found = found

    def is_settled(self) -> bool:
        """Whether the job went by what is true of this log; if not, `window` and `eras` now say what is.

        Raises FailedError `log-changed-while-read`.
        """
        for key in self._found.of(GONE):
            raise _changed(*json_in(key))
        wrong = dict(json_in(key) for key in self._found.of(WRONG))
        if wrong:
            self._rescan(wrong)
            return False
        self._others = self._rows()
        self._outline = outline_of(self._values(), self._start.image)
        self._words, self._before = self._found.of(WORDS), self._found.of(BEFORE)
        self._counts = [json_in(key) for key in self._found.of(COUNTS)]
        eras = tuple(offset for offset, _ in self._outline.clears)
        seen = {(first, last) for key in self._found.of(ABORTED) for first, last in json_in(key)}
        self._patches = self._found.patches()
        self._found = Found()  # what was taken out of it need not stand in memory twice
        hidden = any(item not in seen for item in self._outline.withheld if item not in self.window.withheld)
        exact = self.window.exact | self._outline.exact
        if eras == self.eras and not hidden:  # else patches are not what they have to be
            exact |= self._unusual()
        if self.window.all_exact:
            exact = self.window.exact
        # A NoOpRecord without a metadata.version is a finding: it has to be replayed.
        early = any(no_ops and first <= self._unversioned() for first, *_, no_ops in self._counts)
        if eras == self.eras and not hidden and not early and exact == self.window.exact:
            return True
        self.eras = eras
        all_exact = self.window.all_exact or early
        self.window = replace(self.window, withheld=self._outline.withheld, exact=exact, all_exact=all_exact)
        return False

    def _rescan(self, wrong: Mapping[str, int]) -> None:
        """Raises FailedError `log-changed-while-read` where a scan has shown nothing wrong."""
        path, position = next(iter(wrong.items()))
        if set(wrong) <= self._damaged:
            raise _changed(path, position)
        self._damaged |= set(wrong)
        window = self.window
        self._plan()
        self.window = replace(self.window, withheld=window.withheld, exact=window.exact)

    def _rows(self) -> list[Row]:
        """The records that are replayed one by one, in the order of the log."""
        files = {stretch.number: stretch.file for stretch in self.plan.stretches}
        rows = []
        for key in self._found.of(OTHERS):
            split, _ = place_of(key)
            rows += [Row(files[split], item[0], item[1], item[2], split, *item[3:]) for item in others_in(key)]
        expect(row.content for row in rows if row.kind == VALUE)
        rows.sort(key=lambda row: row[:3])
        return rows

    def _values(self) -> Iterator[tuple[int, bytes]]:
        for row in self._others:
            if row.kind != BATCH:
                yield row.offset, row.content
                continue
            header = decode_header(row.content, 0)
            try:
                records = () if header.is_control else decode_records(row.content, header)
            except DecodeError:
                continue
            for record in records:
                if (
                    self.window.first <= record.offset < self.window.end
                    and record.key is None
                    and record.value is not None
                ):
                    yield record.offset, record.value

    # --- what is not plain ----------------------------------------------------------------------------------------

    def _unusual(self) -> set[bytes]:
        """The topics that have to be replayed record by record."""
        found, known = self._patches, self._known()
        lives = np.array([self._life(raw) for raw in found.topics], np.int64).reshape(-1, 2)
        after, before = lives[found.topic, 0], lives[found.topic, 1]
        wrong = (found.first <= after) | (found.last >= before) | (found.first <= self._unversioned())
        # Those that are not made once, and before all else.
        once = (found.resets == 1) & (found.reset_at == found.first)
        wrong |= np.where(known, found.resets > 0, ~once)
        wrong |= np.array([self._is_sparse(raw) for raw in found.topics], bool)[found.topic]
        return {found.topics[at] for at in np.flatnonzero(np.bincount(found.topic[wrong])).tolist()}

    def _unversioned(self) -> int:
        """The last offset without a metadata.version."""
        return max((end for _, end in self._outline.unversioned), default=-1)

    def _known(self) -> Array:
        """Which of the patched partitions were there at the start."""
        found = self._patches
        topics = self._start.image.topics
        if not topics:
            return np.zeros(len(found.topic), bool)
        held = [topics.get(Uuid(raw)) for raw in found.topics]
        states = [{} if topic is None else topic.partitions.states for topic in held]
        return np.array(
            [number in states[at] for at, number in zip(found.topic.tolist(), found.number.tolist(), strict=True)], bool
        )

    def _is_sparse(self, raw: bytes) -> bool:
        """Whether a topic that was there at the start has partitions that no table can hold."""
        topics = self._start.image.topics
        topic = topics.get(Uuid(raw)) if topics else None
        return topic is not None and bool(topic.partitions) and are_sparse(topic.partitions)

    def _life(self, raw: bytes) -> tuple[int, int]:
        """Between which offsets a topic was there without a doubt."""
        born = self._outline.born.get(raw, ())
        topics = self._start.image.topics
        is_old = bool(topics) and Uuid(raw) in topics
        after = NO_END
        if is_old and not born:
            after = -1
        elif not is_old and len(born) == 1:
            after = born[0]
        return after, self._outline.gone.get(raw, NO_END)

    # --- the end --------------------------------------------------------------------------------------------------

    def loaded(self) -> Loaded:
        """Replay what is left, put the partitions in, and say what the local engine says."""
        before = self.plan.before
        for key in self._before:
            before.counts.update(json_in(key))
        for row in self._others:
            if row.kind == BATCH and row.offset < self.window.first:
                before.take(row.content, 0, row.position)
        replaying = self.plan.replaying
        replaying.decoded = self._outline.topics
        for row in sorted([*self._others, *self.plan.older_epochs], key=lambda row: row[:3]):
            replaying.replay_row(row)
        self._put_in(replaying)
        self._set_position(replaying)
        return self.plan.loaded(self._log.checkpoints)

    def _put_in(self, replaying: RowReplaying) -> None:
        """Partitions into a table, each era before the ClearElrRecord that ends it."""
        self._begin_again(replaying)
        table, patches = PartitionTable(replaying.state), self._patches
        halves = np.frombuffer(b"".join(patches.topics), "<u8").reshape(-1, 2).astype(np.uint64)
        topics, placing = table.topics.numbers(halves[:, 0], halves[:, 1]), self._placing(table.lists)
        for era, (_, cleared) in enumerate([*self._outline.clears, (NO_END, b"")]):
            for part in patches.parts:
                if part.era == era:
                    own = part.only(table.is_live[topics[part.topic]])
                    put(table, table.room_for(topics[own.topic], own.number), own.numbers, own.stretch, placing)
            if cleared is None or cleared in patches.topics:  # the others were replayed with it
                table.clear_elr(cleared)
        replaying.table = table
        _, partitions, changes, no_ops = (sum(counts) for counts in zip((0, 0, 0, 0), *self._counts, strict=True))
        replaying.counts.update(+Counter(PartitionRecord=partitions, PartitionChangeRecord=changes, NoOpRecord=no_ops))

    def _begin_again(self, replaying: RowReplaying) -> None:
        """ClearElrRecords were replayed without the patches before them: those come again, on what was at the start."""
        for raw in self._patches.topics if self._outline.clears else ():
            topic, held = self._start.image.topics.get(Uuid(raw)), replaying.state.topics.get(raw)
            if topic is not None and held is not None:
                held.partitions, held.shared = dict(topic.partitions.states), False

    def _placing(self, lists: Lists) -> Placing:
        """Where the lists of each stretch are among these; called with one of them, they are copied there.

        Where each stretch is one part, its lists come whole.
        """
        found: dict[int, list[bytes]] = {stretch.number: [] for stretch in self.plan.stretches}
        for content in self._words:
            found[place_of(content)[0]].append(words_in(content))
        self._words = []
        words = {number: Lists.of(b"".join(parts)) for number, parts in found.items()}
        if self._outline.clears or any(part.stretch is None for part in self._patches.parts):
            return lambda stretch, places, width: words[stretch].moved(lists, places, width)
        behind = {number: lists.join(words.pop(number)) for number in sorted(words)}
        return lambda stretch, places, _: behind[stretch].places(places)

    def _set_position(self, replaying: RowReplaying) -> None:
        """That of the last record, which may have been a partition's."""
        for path, start, end in reversed(self.plan.last):
            with opened_segment(path) as file:
                data = bytes_of(file, start, end - start)
            last = LogReplay(first_offset=self.window.first, end_offset=self.window.end)
            last.take_run(data, [0], start)
            if last.position is not None:
                replaying.position = last.position
                return


def _changed(path: str, position: int) -> FailedError:
    return FailedError(
        f"{path} changed while it was read: the data at byte {position} is gone", id="log-changed-while-read"
    )
