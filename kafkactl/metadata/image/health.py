"""Counts of partitions that are not in full order, by the definitions of `kafka-topics.sh --describe`.

Its filters (`TopicCommand.PartitionDescription`): unavailable is a partition without a leader; under min ISR is one
without a leader or whose ISR is smaller than min.insync.replicas; at min ISR one whose ISR has exactly that size;
under-replicated one whose ISR is smaller than its replicas without those that a reassignment adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafkactl.core.frozen import frozen
from kafkactl.metadata.image.model import (
    ADDING_AT,
    BROKER_CONFIG,
    ISR_AT,
    LEADER_AT,
    REMOVING_AT,
    REPLICAS_AT,
    TOPIC_CONFIG,
    Image,
    PackedTopics,
)

MIN_INSYNC: Final = "min.insync.replicas"
NOT_KNOWN: Final = -1
NAMED_OF_EACH: Final = 20


class PartitionRow(NamedTuple):
    """The parts of a partition that decide if it is in order. `leader` is -1 for none."""

    topic: str
    number: int
    replicas: Sequence[int]
    isr: Sequence[int]
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()
    leader: int = -1


@frozen
class PartitionHealth:
    """Numbers of partitions. `under_min_isr` and `at_min_isr` are None if a topic's min.insync.replicas is not known,
    `reassigning` if reassignments are not.

    `named` has some partitions of each kind, `replicas_on` the ids of all brokers that have a replica.
    """

    partitions: int
    without_leader: int
    under_min_isr: int | None
    at_min_isr: int | None
    out_of_sync: int
    reassigning: int | None
    not_preferred: int
    named: Mapping[str, tuple[str, ...]]
    replicas_on: frozenset[int]


def least_in_sync(image: Image, default: int | None) -> Callable[[str], int]:
    """Return a function from the name of a topic to its min.insync.replicas; `default` is the value of topics without
    a value of their own, None if it is not known."""
    own = {
        name: value
        for (kind, name), values in image.configs.items()
        if kind == TOPIC_CONFIG and (value := _number(values.get(MIN_INSYNC))) is not None
    }
    other = NOT_KNOWN if default is None else default
    return lambda name: own.get(name, other)


def cluster_minimum(image: Image) -> int | None:
    """Return min.insync.replicas of the whole cluster in the log; None if there is none, or a broker has its own."""
    if any(kind == BROKER_CONFIG and name and MIN_INSYNC in held for (kind, name), held in image.configs.items()):
        return None
    return _number(image.configs.get((BROKER_CONFIG, ""), {}).get(MIN_INSYNC))


def image_health(image: Image, default: int | None) -> PartitionHealth:
    """Count the partitions of an image."""
    least = least_in_sync(image, default)
    if isinstance(image.topics, PackedTopics):
        return image.topics.health([least(name) for name, _, _ in image.topics.heads()])
    return count_partitions(_rows(image), least)


def count_partitions(
    rows: Iterable[PartitionRow], least: Callable[[str], int], *, knows_reassignments: bool = True
) -> PartitionHealth:
    """Count partitions one by one; `least` returns min.insync.replicas of a topic, -1 if it is not known."""
    counts = dict.fromkeys(KINDS, 0)
    named: dict[str, list[str]] = {kind: [] for kind in KINDS}
    replicas_on: set[int] = set()
    total, is_known = 0, True
    for row in rows:
        total += 1
        replicas_on.update(row.replicas)
        minimum = least(row.topic)
        is_known = is_known and minimum != NOT_KNOWN
        for kind in _kinds(row, minimum):
            counts[kind] += 1
            if len(named[kind]) < NAMED_OF_EACH:
                named[kind].append(f"{row.topic}-{row.number}")
    return health_of(
        total,
        counts,
        {kind: tuple(names) for kind, names in named.items()},
        frozenset(replicas_on),
        knows_minimum=is_known,
        knows_reassignments=knows_reassignments,
    )


KINDS: Final = ("without_leader", "under_min_isr", "at_min_isr", "out_of_sync", "reassigning", "not_preferred")


def health_of(
    total: int,
    counts: Mapping[str, int],
    named: Mapping[str, tuple[str, ...]],
    replicas_on: frozenset[int],
    *,
    knows_minimum: bool,
    knows_reassignments: bool = True,
) -> PartitionHealth:
    """Return the counts by `KINDS` as a value; what is not known is None, with no names."""
    unknown = (() if knows_minimum else ("under_min_isr", "at_min_isr")) + (
        () if knows_reassignments else ("reassigning",)
    )
    return PartitionHealth(
        partitions=total,
        without_leader=counts["without_leader"],
        under_min_isr=counts["under_min_isr"] if knows_minimum else None,
        at_min_isr=counts["at_min_isr"] if knows_minimum else None,
        out_of_sync=counts["out_of_sync"],
        reassigning=counts["reassigning"] if knows_reassignments else None,
        not_preferred=counts["not_preferred"],
        named={kind: names for kind, names in named.items() if names and kind not in unknown},
        replicas_on=replicas_on,
    )


def _kinds(row: PartitionRow, minimum: int) -> Iterator[str]:
    in_sync = len(row.isr)
    if row.leader < 0:
        yield "without_leader"
    elif row.replicas and row.leader != row.replicas[0]:
        yield "not_preferred"
    if row.leader < 0 or in_sync < minimum:
        yield "under_min_isr"
    if in_sync == minimum:
        yield "at_min_isr"
    if len(row.replicas) - len(row.adding) > in_sync:
        yield "out_of_sync"
    if row.adding or row.removing:
        yield "reassigning"


def _rows(image: Image) -> Iterator[PartitionRow]:
    for topic in sorted(image.topics.values(), key=lambda topic: topic.name):
        for number, state in sorted(topic.partitions.states.items()):
            yield PartitionRow(
                topic.name,
                number,
                state[REPLICAS_AT],
                state[ISR_AT],
                state[ADDING_AT],
                state[REMOVING_AT],
                state[LEADER_AT],
            )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None
