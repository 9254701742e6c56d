"""The order of a rolling restart that does the least harm: whole sequences are simulated, not single losses compared.

A roll moves every leader at least once, in any order. What an order can save are second moves (a broker is best
restarted before it inherits leaders), steps in which a replica is down while another one has not caught up, and steps
in which a partition waits for the restart that makes it whole. What becomes of a partition depends on the order of its
own replicas alone, so each kind of partition is simulated once for each order of its replicas; how long it stays so
depends on the steps of other brokers in between. Up to six brokers every order is tried; beyond that neighbours are
exchanged from several starts for as long as that helps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations
from typing import Final, NamedTuple, TypeAlias

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.metadata.image.model import ISR_AT, LEADER_AT, REPLICAS_AT

MOST_TRIED: Final = 6  # 720 orders
_MOST_PASSES: Final = 50
Cost: TypeAlias = tuple[int, int, int]  # steps of partitions without a leader, under min ISR, moves of leaders
Harm: TypeAlias = tuple[int, int]  # without a leader, under min ISR
NO_HARM: Final[Harm] = (0, 0)


class Kind(NamedTuple):
    """Partitions that are alike: replicas, who is in sync, who leads, how many in sync acks=all needs."""

    replicas: tuple[int, ...]
    in_sync: frozenset[int]
    leader: int
    enough: int


def best_order(
    controller: ActiveController,
    first: Sequence[int],
    brokers: Collection[int],
    racks: Mapping[int, str | None] | None = None,
) -> list[int]:
    """Return `brokers`, all alive, in the order that does the least harm after `first` have come back.

    Of equal orders the one that follows the names of `racks` is taken, then the ids.
    """
    roll = _Roll(controller, first)
    ids = sorted(brokers)
    rack_of = racks or {}

    def harm(order: Sequence[int]) -> tuple[Cost, list[tuple[str, int]]]:
        return roll.cost(order), [(rack_of.get(broker) or "", broker) for broker in order]

    if len(ids) <= MOST_TRIED:
        return min(map(list, permutations(ids)), key=harm)
    led = roll.led()
    starts = [ids, ids[::-1], *(sorted(ids, key=lambda broker: (sign * led[broker], broker)) for sign in (1, -1))]
    found = [roll.improved(start) for start in starts]
    return min(found, key=harm)


class _Roll:
    """The kinds of partitions of a cluster, and what each costs by the order of its replicas."""

    def __init__(self, controller: ActiveController, first: Sequence[int]) -> None:
        enough = controller.facts.rules.enough
        counted: Counter[Kind] = Counter()
        for topic, _, fields in controller.all_fields():
            replicas = fields[REPLICAS_AT]
            least = enough(controller.min_isr(topic), len(replicas))
            counted[Kind(replicas, frozenset(fields[ISR_AT]), fields[LEADER_AT], least)] += 1
        live = {broker for broker in controller.brokers if controller.is_active(broker)}
        self._kinds: Counter[Kind] = Counter()
        for kind, count in counted.items():
            alive = live
            for broker in first:
                alive = alive | {broker}
                kind = _back(kind, broker, alive)  # noqa: PLW2901 - the kind that it becomes
            self._kinds[kind] += count
        self._live = frozenset(live.union(first))
        self._known: dict[tuple[Kind, tuple[int, ...]], tuple[Cost, tuple[Harm, ...]]] = {}
        self._of_pair: dict[frozenset[int], list[Kind]] = defaultdict(list)
        self._waiting: dict[int, list[Kind]] = defaultdict(list)
        for kind in self._kinds:
            for pair in combinations(kind.replicas, 2):
                self._of_pair[frozenset(pair)].append(kind)
            for broker in kind.replicas if _harm(kind) != NO_HARM else ():
                self._waiting[broker].append(kind)

    def led(self) -> Counter[int]:
        """Return the number of partitions that each broker leads."""
        led: Counter[int] = Counter()
        for kind, count in self._kinds.items():
            led[kind.leader] += count
        return led

    def cost(self, order: Sequence[int], kinds: Collection[Kind] | None = None) -> Cost:
        """Return the cost of a whole roll, or of only these kinds of partitions in it."""
        place = {broker: at for at, broker in enumerate(order)}
        offline = under = moves = 0
        for kind in self._kinds if kinds is None else kinds:
            own = tuple(sorted((replica for replica in kind.replicas if replica in place), key=place.__getitem__))
            found = self._known.get((kind, own))
            if found is None:
                found = self._known[kind, own] = _simulated(kind, own, self._live)
            (gone, few, moved), waits = found
            if waits:
                ends = [-1, *(place[broker] for broker in own), len(order)]
                for (start, end), harm in zip(pairwise(ends), waits, strict=True):
                    gone, few = gone + (end - start - 1) * harm[0], few + (end - start - 1) * harm[1]
            count = self._kinds[kind]
            offline, under, moves = offline + count * gone, under + count * few, moves + count * moved
        return offline, under, moves

    def improved(self, start: Sequence[int]) -> list[int]:
        """Exchange neighbours for as long as that costs less. An exchange concerns the partitions of both, and those
        of either that wait for a restart.
        """
        order = list(start)
        for _ in range(_MOST_PASSES):
            helped = [self._exchanged(order, at) for at in range(len(order) - 1)]
            if not any(helped):
                break
        return order

    def _exchanged(self, order: list[int], at: int) -> bool:
        pair = order[at : at + 2]
        kinds = {*self._of_pair.get(frozenset(pair), ()), *(kind for id in pair for kind in self._waiting.get(id, ()))}
        other = [*order[:at], order[at + 1], order[at], *order[at + 2 :]]
        if not kinds or self.cost(other, kinds) >= self.cost(order, kinds):
            return False
        order[:] = other
        return True


def _simulated(kind: Kind, order: Sequence[int], live: frozenset[int]) -> tuple[Cost, tuple[Harm, ...]]:
    """Return the cost of these restarts, one by one, for a partition; each ends when the replica is in sync again.

    The second value is the harm of a step of another broker before the first restart, after the first, and so on;
    empty if there is none.
    """
    offline = under = moves = 0
    waits = [_harm(kind)]
    for broker in order:
        down = _without(kind, broker, live - {broker})
        moves += down.leader != kind.leader
        gone, few = _harm(down)
        offline, under = offline + gone, under + few
        kind = _back(down, broker, live)
        waits.append(_harm(kind))
    return (offline, under, moves), tuple(waits) if any(harm != NO_HARM for harm in waits) else ()


def _harm(kind: Kind) -> Harm:
    """Return the harm of a partition in this state to a step."""
    if kind.leader == NO_LEADER:
        return (1, 0)
    return (0, int(len(kind.in_sync) < kind.enough))


def _without(kind: Kind, broker: int, live: Collection[int]) -> Kind:
    """Return a partition while a broker is down. The last replica in sync stays the one that may lead."""
    in_sync = kind.in_sync - {broker} or kind.in_sync
    leader = kind.leader if kind.leader != broker else _first(kind.replicas, in_sync - {broker}, live)
    return kind._replace(in_sync=in_sync, leader=leader)


def _back(kind: Kind, broker: int, live: Collection[int]) -> Kind:
    """Return a partition after the return of a broker, which leads if it was the last in sync.

    Every live replica catches up with the leader, as in `broker_return.catch_up`.
    """
    if broker not in kind.replicas:
        return kind
    leader = kind.leader if kind.leader != NO_LEADER else _first(kind.replicas, kind.in_sync, live)
    if leader == NO_LEADER:
        return kind
    return kind._replace(in_sync=kind.in_sync.union({broker}, live).intersection(kind.replicas), leader=leader)


def _first(replicas: Sequence[int], in_sync: Collection[int], live: Collection[int]) -> int:
    return next(_choices(replicas, in_sync, live), NO_LEADER)


def _choices(replicas: Sequence[int], in_sync: Collection[int], live: Collection[int]) -> Iterator[int]:
    """Return the replicas that may lead, in the order of the assignment."""
    return (replica for replica in replicas if replica in in_sync and replica in live)
