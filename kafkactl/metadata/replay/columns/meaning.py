"""What partition records say behind their ids, by columns: numbers for lists, and for each text what it means.

The same readings as in `replay_batches`, with lists and directory ids as numbers instead of objects.
"""

from __future__ import annotations

from typing import Any, Final

from kafkactl.errors import DecodeError
from kafkactl.metadata.log.frame import FRAME_VERSION, decode_record
from kafkactl.metadata.replay.columns.bytes import ByteNumbers, Grown
from kafkactl.metadata.replay.state import State
from kafkactl.metadata.replay.topics import LEADER_STAYS, RECOVERY_STATE_STAYS

PARTITION, CHANGE, NEWEST = 3, 5, 2
IDS_BYTES: Final = 20  # partition number and topic id
STAYS: Final = -1  # instead of the number of a list: the record does not give it

# Columns of a change's meaning.
ISR, LEADER, ELR, LAST_KNOWN, REMOVING, ADDING, RECOVERY, REPLICAS, DIRECTORIES, KIND = range(10)
# Its kinds: ISR and leader at most; more than that; what it does depends on the partition; wrong.
SIMPLE, FULL, DEPENDENT, WRONG = range(4)
_CHANGED_LISTS: Final = ("Isr", "EligibleLeaderReplicas", "LastKnownElr", "RemovingReplicas", "AddingReplicas")

# Columns of the meaning of a PartitionRecord's lists (replicas, ISR, removing, adding, how many replicas), and of what
# stands behind its epochs (directories, recovery state, ELR, last known ELR, how many directories).
ANY_COUNT, WRONG_COUNT = -1, -2


class Meanings:
    """The texts seen so far."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.lists: list[tuple[int, ...]] = []
        self.directories: list[bytes] = []
        self._list_numbers: dict[tuple[int, ...], int] = {}
        self._directory_numbers: dict[bytes, int] = {}
        self.change, self.four, self.rest = Grown(10), Grown(5), Grown(5)
        self.changes = ByteNumbers(self._new_change)
        self.fours = ByteNumbers(self._new_four)
        self.rests = ByteNumbers(self._new_rest)

    def __len__(self) -> int:
        return len(self.changes) + len(self.fours) + len(self.rests) + len(self.lists) + len(self.directories)

    def list_number(self, ids: Any) -> int:
        """The number of a list of node ids."""
        shared = self._state.ids(ids)
        found = self._list_numbers.setdefault(shared, len(self.lists))
        if found == len(self.lists):
            self.lists.append(shared)
        return found

    def directory_number(self, joined: bytes) -> int:
        """The number of a list of directory ids."""
        shared = self._state.joined(joined)
        found = self._directory_numbers.setdefault(shared, len(self.directories))
        if found == len(self.directories):
            self.directories.append(shared)
        return found

    def _given(self, ids: Any) -> int:
        return STAYS if ids is None else self.list_number(ids)

    def _new_change(self, rest: bytes, version: int) -> None:
        try:
            data = decode_record(bytes([FRAME_VERSION, CHANGE, version]) + bytes(IDS_BYTES) + rest).data
        except DecodeError:
            self.change.add((0,) * 9 + (WRONG,))
            return
        lists = [self._given(data[name]) for name in _CHANGED_LISTS]
        recovery, replicas, directories = data["LeaderRecoveryState"], data["Replicas"], STAYS
        is_simple = lists[1:] == [STAYS] * 4 and recovery == RECOVERY_STATE_STAYS and replicas is None
        kind = SIMPLE if is_simple else FULL
        if (replicas is None) != (data["Directories"] is None):
            kind = DEPENDENT
        elif replicas is not None:
            joined = _joined(data["Directories"], len(replicas))
            kind = FULL if joined is not None else WRONG
            directories = STAYS if joined is None else self.directory_number(joined)
        if recovery not in (RECOVERY_STATE_STAYS, 0, 1):
            kind = WRONG
        given = lists[0], data["Leader"], *lists[1:], recovery, self._given(replicas), directories, kind
        self.change.add(given)

    def _new_four(self, content: bytes, _tag: int) -> None:
        found, at = [], 0
        for _ in range(4):
            end = at + 4 * content[at] - 3
            ids = [int.from_bytes(content[one : one + 4], "big", signed=True) for one in range(at + 1, end, 4)]
            found.append(ids)
            at = end
        replicas, isr, removing, adding = (self.list_number(one) for one in found)
        self.four.add((replicas, isr, removing, adding, len(found[0])))

    def _new_rest(self, rest: bytes, version: int) -> None:
        nothing = bytes(IDS_BYTES) + bytes([1]) * 4 + bytes(12)
        try:
            data = decode_record(bytes([FRAME_VERSION, PARTITION, version]) + nothing + rest).data
        except DecodeError:
            self.rest.add((0, 0, 0, 0, WRONG_COUNT))
            return
        joined = b"".join(one.raw for one in data["Directories"])
        recovery, count = data["LeaderRecoveryState"], len(joined) // 16 if any(joined) else ANY_COUNT
        if recovery not in (0, 1):
            count = WRONG_COUNT
        elr, last_known = (self.list_number(data[name] or ()) for name in ("EligibleLeaderReplicas", "LastKnownElr"))
        self.rest.add((self.directory_number(joined), recovery, elr, last_known, count))


def _joined(uuids: Any, replicas: int) -> bytes | None:
    """As `apply_topics.directories_for`; None where that is a contradiction."""
    raw = b"".join(one.raw for one in uuids)
    if not any(raw):
        return bytes(16 * replicas)
    return raw if len(uuids) == replicas else None


def leaves_leader(leader: Any) -> Any:
    """Whether a change names no leader; of a column."""
    return leader == LEADER_STAYS
