"""One log between the job and its state: what the job found, whether it went by the truth, and the end of the fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from kafkactl.dryrun.engine.columns import BATCH, Body, body_of
from kafkactl.dryrun.engine.local import Loaded, Start
from kafkactl.dryrun.engine.outline import outline_of
from kafkactl.dryrun.engine.patches import FIELDS, Patch, applied, is_regular, unpacked
from kafkactl.dryrun.engine.spark.files import opened_segment
from kafkactl.dryrun.engine.spark.found import Found, Patches
from kafkactl.dryrun.engine.spark.pack import (
    ABORTED,
    BEFORE,
    BODIES,
    GONE,
    OTHERS,
    WRONG,
    bodies_in,
    json_in,
    others_in,
    place_of,
)
from kafkactl.dryrun.engine.spark.plan import NO_END, ClusterLog, Played, Row, planned
from kafkactl.dryrun.engine.spark.read import bytes_of
from kafkactl.errors import DecodeError, FailedError
from kafkactl.metadata.image.model import PartitionState, cleared
from kafkactl.metadata.replay.batches import BatchReplaying
from kafkactl.metadata.replay.columns.bytes import Array
from kafkactl.protocol.record_batch import decode_header, decode_records
from kafkactl.values import Uuid

_LIST_FIELDS: Final = frozenset({"replicas", "isr", "removing_replicas", "adding_replicas", "elr", "last_known"})


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
        self._bodies, self._before = self._found.of(BODIES), self._found.of(BEFORE)
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
        if eras == self.eras and not hidden and exact == self.window.exact:
            return True
        self.eras = eras
        self.window = replace(self.window, withheld=self._outline.withheld, exact=exact)
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
        """The records that are replayed as they stand, in the order of the log."""
        files = {stretch.number: stretch.file for stretch in self.plan.stretches}
        rows = []
        for key in self._found.of(OTHERS):
            split, _ = place_of(key)
            rows += [Row(files[split], item[0], item[1], item[2], split, *item[3:]) for item in others_in(key)]
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
        numbers, known = self._patches.numbers, self._known()
        first, last = numbers["first_offset"], numbers["last_offset"]
        topics: dict[bytes, int] = {}
        topic = np.array([topics.setdefault(key[4:], len(topics)) for key in self._patches.keys], np.int64)
        lives = np.array([self._life(raw) for raw in topics], np.int64).reshape(-1, 2)
        after, before = lives[topic, 0], lives[topic, 1]
        unversioned = max((end for _, end in self._outline.unversioned), default=-1)
        wrong = (first <= after) | (last >= before) | (first <= unversioned) | (numbers["unusual"] > 0)
        raws = list(topics)
        if self.eras:
            odd = {
                key[4:]
                for key, rows in self._by_key().items()
                if not is_regular((self._patches.patch(row) for row in rows), known=bool(known[rows[0]]))
            }
        else:
            odd = set()
            one_reset = (numbers["resets"] == 1) & (numbers["reset_at"] == first)
            wrong |= np.where(known, numbers["resets"] > 0, ~one_reset)
        return odd | {raws[at] for at in np.unique(topic[wrong]).tolist()}

    def _known(self) -> Array:
        """Which of the patched partitions were there at the start."""
        if not self._start.image.topics:
            return np.zeros(len(self._patches.keys), bool)
        return np.array([self._base(key) is not None for key in self._patches.keys], bool)

    def _life(self, raw: bytes) -> tuple[int, int]:
        """Between which offsets a topic was there without a doubt."""
        born = self._outline.born.get(raw, ())
        is_old = Uuid(raw) in self._start.image.topics
        after = NO_END
        if is_old and not born:
            after = -1
        elif not is_old and len(born) == 1:
            after = born[0]
        return after, self._outline.gone.get(raw, NO_END)

    def _base(self, key: bytes) -> PartitionState | None:
        topic = self._start.image.topics.get(Uuid(key[4:]))
        return None if topic is None else topic.partitions.states.get(_number(key))

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
        for row in sorted([*self._others, *self.plan.older_epochs], key=lambda row: row[:3]):
            replaying.play(row)
        self._put_in(replaying)
        self._set_position(replaying)
        return self.plan.loaded(self._log.checkpoints)

    def _put_in(self, replaying: Played) -> None:
        """In the order in which a replay would meet them."""
        patches = self._patches
        values = _Values(self._meanings(), replaying)
        whole = values.states(patches) if not self.eras else None
        topics = replaying.state.topics
        for key, rows in (
            self._by_key().items() if self.eras else ((key, [row]) for row, key in enumerate(patches.keys))
        ):
            topic = topics.get(key[4:])
            if topic is not None:
                state = None if whole is None else whole[rows[0]]
                state = state or self._state(key, [patches.patch(row) for row in rows], values)
                topic.own()[_number(key)] = state
        counts = Counter(
            PartitionRecord=int(patches.numbers["resets"].sum()),
            PartitionChangeRecord=int(patches.numbers["changes"].sum()),
        )
        replaying.counts.update({name: count for name, count in counts.items() if count})

    def _meanings(self) -> dict[int, list[Body | None]]:
        """What the bodies of each stretch mean, by number."""
        found: dict[int, list[Body | None]] = {}
        for key in self._bodies:
            found.setdefault(place_of(key)[0], []).extend(body_of(item) for item in bodies_in(key))
        return found

    def _by_key(self) -> dict[bytes, list[int]]:
        rows: dict[bytes, list[int]] = {}
        for row, key in enumerate(self._patches.keys):
            rows.setdefault(key, []).append(row)
        return rows

    def _state(self, key: bytes, patches: Sequence[Patch], values: _Values) -> PartitionState:
        clears = self._outline.clears
        state = self._base(key) if not patches[0].resets else None
        by_era = {patch.era: patch for patch in patches}
        for era in range(len(clears) + 1):
            if era in by_era:
                state = applied(state, by_era[era], values.get)
            if era < len(clears) and state is not None and clears[era][1] in (None, key[4:]):
                state = cleared(state)
        if state is None:
            raise ValueError("a partition without a record of its own")
        return state

    def _set_position(self, replaying: Played) -> None:
        """That of the last record, which may have been a partition's."""
        for path, start, end in reversed(self.plan.last):
            with opened_segment(path) as file:
                data = bytes_of(file, start, end - start)
            last = BatchReplaying(first_offset=self.window.first, end_offset=self.window.end)
            last.take_run(data, [0], start)
            if last.position is not None:
                replaying.position = last.position
                return


def _changed(path: str, position: int) -> FailedError:
    return FailedError(
        f"{path} changed while it was read: the data at byte {position} is gone", id="log-changed-while-read"
    )


class _Values:
    """The fields that patches point to; equal ones are one object."""

    def __init__(self, bodies: Mapping[int, Sequence[Body | None]], replaying: BatchReplaying) -> None:
        self._bodies = bodies
        self._state = replaying.state
        self._known: list[dict[int, Any]] = [{} for _ in FIELDS]

    def get(self, field: int, packed: int) -> Any:
        """The value of a field by its place in FIELDS."""
        known = self._known[field]
        if packed not in known:
            known[packed] = self._new(field, packed)
        return known[packed]

    def _new(self, field: int, packed: int) -> Any:
        place = unpacked(packed)
        body = None if place is None else self._bodies[place[0]][place[1]]
        if body is None:
            raise ValueError("a field that nothing gave")
        value = body.fields[field]
        if isinstance(value, tuple):
            return self._state.ids(value)
        return self._state.joined(value) if isinstance(value, bytes) else value

    def states(self, patches: Patches) -> list[PartitionState | None]:
        """What each patch that begins with a PartitionRecord comes to, None for the others."""
        numbers = patches.numbers
        rows = np.flatnonzero(numbers["resets"] > 0)
        columns: list[Any] = [self._column(at, numbers[name][rows]) for at, name in enumerate(FIELDS)]
        epochs = [
            (numbers[name][rows] + numbers[more][rows]).tolist()
            for name, more in (("leader_epoch", "leader_changes"), ("partition_epoch", "changes"))
        ]
        found: list[PartitionState | None] = [None] * len(patches.keys)
        for row, state in zip(rows.tolist(), zip(*columns[:6], *epochs, *columns[6:], strict=True), strict=True):
            found[row] = state
        return found

    def _column(self, field: int, packed: Array) -> Any:
        codes, at = np.unique(packed, return_inverse=True)
        values = [self.get(field, code) for code in codes.tolist()]
        return map(values.__getitem__, at.tolist())


def _number(key: bytes) -> int:
    return int.from_bytes(key[:4], "big", signed=True)
