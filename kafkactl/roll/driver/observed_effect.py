"""Effect of a stop on partitions, counted from the metadata log, next to the prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding, note
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.roll.case import RollCase
from kafkactl.roll.cluster_log import EventKind, RegistrationEvent
from kafkactl.roll.partitions import RollPartition
from kafkactl.roll.predict import StepPrediction


@frozen
class ObservedEffect:
    """Partitions while the nodes of a step were down, and how long the step took. Null is unknown."""

    leader_changes: int | None
    offline: int | None
    under_min_isr: int | None
    shutdown_ms: int | None
    """Time from the controlled shutdown to the fencing, by the records of the log."""
    back_ms: int | None
    """Time from the start of a node to its gate."""

    to_dict = by_fields


def effect_of_stop(before: RollCase, down: RollCase, node_ids: Iterable[int]) -> ObservedEffect:
    """Return the effect of a stop, from an observation before and one while the nodes are down."""
    ids = frozenset(node_ids)
    if not before.has_log or not down.has_log:
        return ObservedEffect(leader_changes=None, offline=None, under_min_isr=None, shutdown_ms=None, back_ms=None)
    leaders = {(part.topic, part.number): part.leader for part in before.partitions}
    living = {id for id, broker in down.image.brokers.items() if not broker.fenced and id not in ids}
    return ObservedEffect(
        leader_changes=sum(
            leaders.get((part.topic, part.number), part.leader) != part.leader for part in down.partitions
        ),
        offline=sum(part.leader < 0 for part in down.partitions),
        under_min_isr=sum(_is_under(part, living) for part in down.partitions),
        shutdown_ms=_shutdown_ms(before, down, ids),
        back_ms=None,
    )


def _is_under(part: RollPartition, living: set[int]) -> bool:
    return len([replica for replica in part.isr if replica in living]) < part.enough


def _shutdown_ms(before: RollCase, down: RollCase, ids: frozenset[int]) -> int | None:
    """Return the longest time between the records of a controlled shutdown and its fencing."""
    log, earlier = down.observation.log, before.observation.log
    if log is None:
        return None
    since = 0 if earlier is None else earlier.end_offset
    found = []
    for node_id in ids:
        events = [event for event in log.events_of(node_id, Role.BROKER) if event.offset >= since]
        stopping, fenced = _first_ms(events, EventKind.STOPPING), _first_ms(events, EventKind.FENCED)
        if stopping is not None and fenced is not None:
            found.append(fenced - stopping)
    return max(found, default=None)


def _first_ms(events: Iterable[RegistrationEvent], kind: EventKind) -> int | None:
    return next((event.at_ms for event in events if event.kind is kind), None)


def missed(name: str, predicted: StepPrediction | None, effect: ObservedEffect | None) -> Finding | None:
    """Return a note if the log shows another effect than was predicted."""
    if predicted is None or effect is None or effect.leader_changes is None:
        return None
    fields = ("leader_changes", "offline", "under_min_isr")
    expected: Mapping[str, int] = {field: getattr(predicted, field) for field in fields}
    counted: Mapping[str, int | None] = {field: getattr(effect, field) for field in fields}
    if expected == counted:
        return None
    pairs = ", ".join(f"{field} {counted[field]} instead of {expected[field]}" for field in fields
                      if counted[field] != expected[field])  # fmt: skip
    text = f"the stop of {name} had another effect than predicted: {pairs}"
    return note("prediction-missed", name, text, predicted=dict(expected), observed=dict(counted))
