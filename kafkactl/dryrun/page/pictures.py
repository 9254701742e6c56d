"""The pictures of a report as data: what is counted, compared, or changes with time. Every one is capped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.core.wording import plural
from kafkactl.dryrun.page.cluster import BrokerLoad, Cluster
from kafkactl.report.model import Bars, Block, Cell, Curve, Quorum, Series, Table, Voters

BROKERS: Final = 30  # bars; those that change most come first
KINDS: Final = 14
_POINTS: Final = 40
_LOADS: Final = (
    ("Leaders per broker, before and after", "leaders"),
    ("Replicas per broker, before and after", "replicas"),
    ("Replicas not in sync, before and after", "lagging"),
)
_BEFORE_AFTER: Final = (Series("before", "dim"), Series("after", "plain"))


def now(cluster: Cluster) -> Iterator[Block]:
    """Yield the cluster before anything happens: who leads and holds what."""
    if cluster.brokers:
        chosen, text = _chosen(cluster.brokers, lambda broker: broker.replicas + broker.leaders)
        yield Bars(
            title="Leaders and replicas per broker",
            text=f"How many partitions each broker leads and holds now{text}.",
            series=(Series("leads"), Series("holds", "dim")),
            rows=tuple((_name(broker), (broker.leaders, broker.replicas)) for broker in chosen),
        )
        lagging, text = _chosen([broker for broker in cluster.brokers if broker.lagging], lambda broker: broker.lagging)
        if lagging:
            yield Bars(
                title="Replicas that are not in sync",
                text=f"How many replicas of each broker are outside of the ISR now{text}.",
                series=(Series("not in sync", "warn"),),
                rows=tuple((_name(broker), (broker.lagging,)) for broker in lagging),
            )
    if cluster.features:
        rows = tuple((Cell(name), Cell(str(level))) for name, level in cluster.features)
        yield Table(title="Finalized feature levels", columns=("feature", "level"), rows=rows)


def loads(before: Cluster, after: Cluster) -> Iterator[Block]:
    """Draw leaders and replicas of each broker before and after; nothing if nothing moves."""
    pairs = {broker.id: (broker, after.load(broker.id)) for broker in before.brokers}
    pairs |= {broker.id: (before.load(broker.id) or _nothing(broker), broker) for broker in after.brokers}
    for title, name in _LOADS:
        rows = [(broker, (getattr(broker, name), getattr(then, name, 0))) for broker, then in pairs.values()]
        if any(was != then for _, (was, then) in rows):
            chosen, text = _chosen(rows, lambda row: abs(row[1][0] - row[1][1]))
            order = sorted(chosen, key=lambda row: row[0].id)
            yield Bars(
                title=title,
                text=f"{title}{text}; where the order of events decides, in one of the orders.",
                series=_BEFORE_AFTER,
                rows=tuple((f"broker {broker.id}", values) for broker, values in order),
            )


def pictures(effects: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the pictures that the effects of a scenario call for."""
    if effects.get("partitions") is not None:
        yield at_risk(effects["partitions"])
    if effects.get("alive") is not None and effects.get("voters") is not None:
        yield quorum(effects)
    if effects.get("counts") is not None:
        yield record_mix(effects["counts"])
    if effects.get("controller_load") is not None:
        yield log_growth(effects)
    if effects.get("order") is not None:
        yield from _steps(effects["steps"])
    if effects.get("worst") is not None:
        yield _worst(effects["worst"], effects["sets"], effects["partitions"])


def at_risk(counts: Mapping[str, int]) -> Bars:
    """Return all partitions in one bar: offline, not writable, at the minimum ISR."""
    no_leader, under = counts["offline"], counts["under_min_isr"] - counts["offline"]
    safe = counts["total"] - counts["under_min_isr"] - counts["at_min_isr"]
    return Bars(
        title="Partitions at risk",
        text=f"Of {counts['total']:,} partitions {no_leader:,} end without a leader, {under:,} with a leader and fewer "
        f"in sync than min.insync.replicas, {counts['at_min_isr']:,} with just as many, {safe:,} with more.",
        series=(
            Series("no leader", "bad"),
            Series("under min ISR", "warn"),
            Series("at min ISR", "dim"),
            Series("above", "good"),
        ),
        rows=(("partitions then", (no_leader, under, counts["at_min_isr"], safe)),),
        stacked=True,
    )


def quorum(effects: Mapping[str, Any]) -> Quorum:
    """Return the voters before and after, and whether those alive are enough."""
    sides = tuple(
        Voters(
            name=side,
            ids=tuple(effects["voters"][side]),
            alive=tuple(effects["alive"][side]),
            majority=effects["majority"][side],
            tolerates=effects["tolerates"][side],
        )
        for side in ("before", "after")
    )
    then = sides[1]
    return Quorum(
        title="Quorum arithmetic",
        text=f"Then {len(then.alive)} of {len(then.ids)} voters are alive, and {then.majority} must be: the quorum "
        + (
            f"survives {then.tolerates} more {plural('failure', then.tolerates)}."
            if len(then.alive) >= then.majority
            else "has no majority."
        ),
        sides=sides if sides[0].ids != then.ids or sides[0].alive != then.alive else (sides[0],),
    )


def record_mix(counts: Mapping[str, int]) -> Bars:
    """Draw records of the log by type, the most frequent first; the rest as one."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [(name, (count,)) for name, count in ordered[:KINDS]]
    if len(ordered) > KINDS:
        rows.append((f"{len(ordered) - KINDS} other types", (sum(count for _, count in ordered[KINDS:]),)))
    return Bars(
        title="Records by type",
        text=f"The {sum(counts.values()):,} records of the log by type, the most frequent first.",
        series=(Series("records"),),
        rows=tuple(rows),
    )


def log_growth(effects: Mapping[str, Any]) -> Curve:
    """Draw bytes of log and snapshots that are kept, day by day, with the ceiling that retention sets."""
    log = effects["log"]
    start, a_day, last = log["bytes"], log["bytes_per_day"], log["bytes_kept_after"]
    days = (log["bytes_written_after"] // a_day) if a_day else 1
    step = max(1, days // _POINTS)
    at = [*range(0, days, step), days]
    return Curve(
        title="Bytes kept, day by day",
        text=f"The log holds {start:,} bytes now and grows by {a_day:,} a day; after {days} days {last:,} bytes of log "
        "and snapshots are kept.",
        points=tuple((day, max(min(start + a_day * day, last), min(start, last))) for day in dict.fromkeys(at)),
        unit="bytes",
        limit=last if start + a_day * days > last else None,
    )


def _steps(steps: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    counted = [step for step in steps if step["partitions"] is not None]
    chosen = sorted(counted, key=lambda step: (-step["partitions"]["offline"], -step["partitions"]["under_min_isr"]))
    chosen = sorted(chosen[:BROKERS], key=lambda step: step["number"])
    if chosen:
        text = "" if len(chosen) == len(counted) else f" (the worst {BROKERS} of {len(counted)} steps)"
        yield Bars(
            title="While each broker is down",
            text=f"Partitions without a leader, and with a leader but under min.insync.replicas, in each step{text}.",
            series=_OF_ALL,
            rows=tuple(
                (f"step {step['number']}: broker {step['broker']}", _shares(step["partitions"])) for step in chosen
            ),
            stacked=True,
        )


_OF_ALL = (Series("no leader", "bad"), Series("under min ISR", "warn"), Series("others", "good"))


def _shares(counts: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the partitions without a leader, those with one and under min ISR, and all others: the whole bar."""
    return counts["offline"], counts["under_min_isr"] - counts["offline"], counts["total"] - counts["under_min_isr"]


def _worst(losses: Sequence[Mapping[str, Any]], sets: int, counts: Mapping[str, int] | None) -> Bars:
    total = 0 if counts is None else counts["total"]
    return Bars(
        title="The worst sets of brokers",
        text=f"What the worst of {sets:,} sets do: partitions that lose their leader, and that keep one and fall under "
        "min.insync.replicas.",
        series=(
            Series("lose their leader", "bad"),
            Series("fall under min ISR", "warn"),
            Series("others", "good"),
        ),
        rows=tuple(
            (
                f"without {', '.join(str(two) for two in loss['brokers'])}",
                (
                    loss["offline"],
                    loss["under_min_isr"],
                    max(0, total - loss["offline"] - loss["under_min_isr"]),
                ),
            )
            for loss in losses[:BROKERS]
        ),
        stacked=True,
    )


def _name(load: BrokerLoad) -> str:
    return f"broker {load.id}" + (" (not registered)" if not load.known else " (fenced)" if load.fenced else "")


def _nothing(load: BrokerLoad) -> BrokerLoad:
    return BrokerLoad(id=load.id, leaders=0, replicas=0, lagging=0, fenced=True, known=False)


def _chosen(rows: Sequence[Any], weight: Any) -> tuple[list[Any], str]:
    """Return the heaviest few in the order given, and words if some are left out."""
    if len(rows) <= BROKERS:
        return list(rows), ""
    kept = sorted(range(len(rows)), key=lambda place: (-weight(rows[place]), place))[:BROKERS]
    return [rows[place] for place in sorted(kept)], f" (the {BROKERS} of {len(rows)} with the most)"
