"""Order in which voters are added and removed: the safest one, found by trying all that differ.

Rule: one voter changes at a time (KIP-853), an id is in the set once (`VoterSet.addVoter`), and no set on the
way may tolerate less than it must. Of all orders that one is best which

1. has the highest lowest tolerance, then spends the fewest steps at it, then at the next lowest, and so on. What is
   above both the tolerance at the start and that of the target counts like the higher of the two: to be richer than
   both is not an aim, or every replacement would pass through the largest set there is;
2. makes the smallest largest set;
3. removes dead voters early (what is added first has to help commit before it has ever voted);
4. removes the leader late (it resigns after its removal is committed: one election, no more);
5. takes the lowest ids first.

Members of a kind (live and to be added, dead and to be removed, ...) are interchangeable but for their ids, so a state
is how many of each kind were moved: a handful of states where subsets would be thousands.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from enum import StrEnum

from kafkactl.cluster.quorum.majority import tolerates
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ReplicaKey

_State = tuple[int, ...]
_Cost = tuple[int, ...]
VoterKeys = frozenset[ReplicaKey]


class Turn(StrEnum):
    """Direction of a move: the addition or removal of a voter."""

    ADD = "add"
    REMOVE = "remove"


@frozen
class Move:
    """A change of the voter set."""

    turn: Turn
    key: ReplicaKey

    def on(self, voters: VoterKeys) -> VoterKeys:
        """Return the set after it."""
        return voters | {self.key} if self.turn is Turn.ADD else voters - {self.key}


def safest_order(
    voters: VoterKeys, target: VoterKeys, alive: VoterKeys, *, leader: ReplicaKey | None = None
) -> tuple[Move, ...]:
    """Return the moves that lead from `voters` to `target`, best order first.

    `alive` are the members of both sets that are known to be alive (one that is added is taken as alive from then on
    only if it is in there). The order is returned also if it passes through a set without a live majority: then
    every order does. Raises ValueError for a target that has an id twice.
    """
    if len({key.node_id for key in target}) != len(target):
        raise ValueError("a node id occurs twice in the target")
    search = _Search(voters, target, alive, leader)
    return search.best()


@frozen(kw_only=False)
class _Kind:
    """Moves that differ by their ids only.

    `swap`: of a removal that frees its id for another directory, whether that one is alive. `waits_for`: of such an
    addition, the kind of the removal that comes before; both queues run by id, so the k-th waits for the k-th.
    """

    turn: Turn
    alive: bool
    leads: bool = False
    swap: bool | None = None
    waits_for: _Kind | None = None


class _Search:
    """Shortest path over counts of moves made, by kind; costs compare like tuples."""

    def __init__(self, voters: VoterKeys, target: VoterKeys, alive: VoterKeys, leader: ReplicaKey | None) -> None:
        self.voters, self.target, self.alive, self.leader = voters, target, alive, leader
        self.queues = _queues(voters, target, alive, leader)
        self.kinds = list(self.queues)
        self.rows = list(self.queues.values())
        # For each kind, the position of the one it waits for; -1 for none.
        self.waits = [-1 if kind.waits_for is None else self.kinds.index(kind.waits_for) for kind in self.kinds]
        self.end: _State = tuple(len(queue) for queue in self.queues.values())
        self.cap = max(tolerates(voters, alive), tolerates(target, alive))
        self.floor = -len(voters | target) - 1
        self.most = len(voters | target)
        self.cost_from = functools.cache(self._cost_from)
        self.cost_of = functools.cache(self._cost_of)
        self.members = functools.cache(self._members)

    def best(self) -> tuple[Move, ...]:
        """Return the smallest bound on the size of a set that costs no tolerance, and the best path under it."""
        lowest = max(len(self.voters), len(self.target))
        levels = self.cap - self.floor
        ideal = self.cost_from(self._start(), self.most)
        assert ideal is not None
        for bound in range(lowest, self.most + 1):
            cost = self.cost_from(self._start(), bound)
            if cost is not None and cost[:levels] == ideal[:levels]:
                return self._path(bound)
        raise AssertionError("the unbounded search is among the bounded ones")

    def _start(self) -> _State:
        return (0,) * len(self.kinds)

    def _path(self, bound: int) -> tuple[Move, ...]:
        moves: list[Move] = []
        state = self._start()
        while state != self.end:
            options = self._options(state, bound)
            # Lowest cost, then lowest id; a removal before an addition of the same id cannot tie: it frees the id.
            _, _, move, state = min(options, key=lambda option: (option[0], option[1]))
            moves.append(move)
        return tuple(moves)

    def _options(self, state: _State, bound: int) -> list[tuple[_Cost, int, Move, _State]]:
        found = []
        for position, kind in enumerate(self.kinds):
            following = self._moved(state, position)
            rest = None if following is None else self.cost_from(following, bound)
            if following is not None and rest is not None:
                move = Move(turn=kind.turn, key=self.rows[position][state[position]])
                cost = _plus(self.cost_of(following), rest)
                found.append((cost, move.key.node_id, move, following))
        return found

    def _cost_from(self, state: _State, bound: int) -> _Cost | None:
        """Return the lowest cost from this state to the end; None if no sequence stays within the bound."""
        if len(self.members(state)) > bound:
            return None
        if state == self.end:
            return (0,) * (self.cap - self.floor + 2)
        return min((cost for cost, *_ in self._options(state, bound)), default=None)

    def _moved(self, state: _State, position: int) -> _State | None:
        made = state[position]
        if made == self.end[position]:
            return None
        if self.waits[position] >= 0 and state[self.waits[position]] <= made:
            return None
        return (*state[:position], made + 1, *state[position + 1 :])

    def _members(self, state: _State) -> VoterKeys:
        members = set(self.voters)
        for kind, row, made in zip(self.kinds, self.rows, state, strict=True):
            if made:
                members = members.union(row[:made]) if kind.turn is Turn.ADD else members.difference(row[:made])
        return frozenset(members)

    def _cost_of(self, state: _State) -> _Cost:
        """Return the steps at each tolerance from the lowest up, the dead voters left, and 1 if the leader is gone."""
        members = self.members(state)
        level = min(tolerates(members, self.alive), self.cap)
        at_level = tuple(int(level == number) for number in range(self.floor, self.cap))
        dead = len(members - self.target - self.alive)
        leader_gone = self.leader is not None and self.leader in self.voters and self.leader not in members
        return (*at_level, dead, int(leader_gone))


def _queues(
    voters: VoterKeys, target: VoterKeys, alive: VoterKeys, leader: ReplicaKey | None
) -> Mapping[_Kind, list[ReplicaKey]]:
    """Return the moves to be made by kind, lowest ids first."""
    adds = {key.node_id: key for key in target - voters}
    queues: dict[_Kind, list[ReplicaKey]] = {}
    kind_of_removal: dict[int, _Kind] = {}
    for key in sorted(voters - target):
        swap = adds[key.node_id] in alive if key.node_id in adds else None
        kind = _Kind(turn=Turn.REMOVE, alive=key in alive, leads=key == leader, swap=swap)
        queues.setdefault(kind, []).append(key)
        kind_of_removal[key.node_id] = kind
    for key in sorted(target - voters):
        kind = _Kind(turn=Turn.ADD, alive=key in alive, waits_for=kind_of_removal.get(key.node_id))
        queues.setdefault(kind, []).append(key)
    return queues


def _plus(cost: _Cost, other: _Cost) -> _Cost:
    return tuple(a + b for a, b in zip(cost, other, strict=True))
