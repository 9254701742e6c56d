"""The tables of a report: the worst few of everything, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.report.model import TONES, Cell, Table
from kafkactl.simulator.page.rows import ELECTIONS, FAILURES, SimulatedRow, election_rows, failure_rows, seeds_of

ROWS: Final = 100


def tables(effects: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables that the effects of a scenario call for, none of them empty."""
    makers = (_changes, _results, _features, _moves, _stranded, _differences, _appended, _state, _elections, _failures)
    yield from (found for found in (make(effects) for make in makers) if found is not None and found.rows)


def _changes(effects: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            Cell(f"{change['topic']}-{change['partition']}"),
            _leaders(change),
            Cell(" → ".join(dict.fromkeys(_ids(change[name]) or "none" for name in ("isr_before", "isr_after")))),
            Cell(_ids(change["elr_after"]) or "-"),
            Cell("yes") if change["certain"] else Cell(f"no, {len(change['alternatives'])} outcomes", "warn"),
        )
        for change in effects["changes"][:ROWS]
    )
    return Table(
        title="Partitions that change, the worst first",
        columns=("partition", "leader", "ISR", "ELR then", "certain"),
        rows=rows,
        more=effects["changes_total"] - len(rows),
    )


def _leaders(partition: Mapping[str, Any]) -> Cell:
    before, after = (_leader(partition[name]) for name in ("leader_before", "leader_after"))
    if before == after:
        return Cell(before)
    mark = " (recovering)" if partition["recovering_after"] and partition["leader_after"] >= 0 else ""
    return Cell(f"{before} → {after}{mark}", "bad" if partition["leader_after"] < 0 else "warn" if mark else "plain")


def _leader(node_id: int) -> str:
    return "none" if node_id < 0 else str(node_id)


def _ids(ids: Sequence[int]) -> str:
    return ",".join(str(id_) for id_ in ids)


def _results(effects: Mapping[str, Any]) -> Table:
    failed = [result for result in effects["results"] if result["error_code"]]
    rows = tuple(
        (
            Cell(partition["topic"]),
            Cell(str(partition["partition"])),
            Cell(f"{partition['error_code']} {partition['error_name']}", "bad"),
        )
        for partition in failed[:ROWS]
    )
    return Table(
        title="What Kafka refuses",
        columns=("topic", "partition", "Kafka answers"),
        rows=rows,
        more=len(failed) - len(rows),
    )


def _features(effects: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            Cell(feature["name"]),
            Cell(f"{feature['from']} → {feature['to']}"),
            Cell(feature["kind"]),
            Cell(feature["verdict"], TONES[feature["verdict"]]),
            Cell("yes" if feature["reversible"] else "no", "plain" if feature["reversible"] else "warn"),
            Cell(" ".join(feature["consequences"]) or "-"),
        )
        for feature in effects["features"][:ROWS]
    )
    columns = ("feature", "level", "kind", "verdict", "can be undone", "what it does")
    return Table(title="Feature levels", columns=columns, rows=rows)


def _moves(effects: Mapping[str, Any]) -> Table:
    moves = [step for step in effects["steps"] if step.get("completes") is not None]
    stuck_first = sorted(moves, key=lambda move: move["completes"])
    rows = tuple(
        (
            Cell(f"{move['topic']}-{move['partition']}"),
            Cell("yes") if move["completes"] else Cell("no, it is stuck", "bad"),
            Cell(_ids(move.get("replicas_after") or []) or "-"),
        )
        for move in stuck_first[:ROWS]
    )
    return Table(title="Moves", columns=("partition", "ends", "replicas then"), rows=rows, more=len(moves) - len(rows))


def _stranded(effects: Mapping[str, Any]) -> Table:
    stranded = effects.get("stranded") or []
    rows = tuple((Cell(f"{partition['topic']}-{partition['partition']}", "bad"),) for partition in stranded[:ROWS])
    return Table(
        title="Partitions that stay without a leader",
        columns=("partition",),
        rows=rows,
        more=len(stranded) - len(rows),
    )


def _differences(effects: Mapping[str, Any]) -> Table:
    found = effects.get("differences") or []
    rows = tuple(
        (
            Cell(str(difference["from_offset"])),
            Cell(difference["part"]),
            Cell(difference["key"]),
            Cell(difference["change"], "warn"),
        )
        for difference in found[:ROWS]
    )
    columns = ("start at offset", "part", "what", "is")
    return Table(title="What a starting node gets wrong", columns=columns, rows=rows, more=len(found) - len(rows))


def _appended(effects: Mapping[str, Any]) -> Table | None:
    appended = effects["records_appended"]
    if appended is None:
        return None
    rows = tuple((Cell(name), Cell(f"{count:,}")) for name, count in appended["by_type"].items())
    return Table(title="Records that would be appended", columns=("record", "count"), rows=rows)


def _state(effects: Mapping[str, Any]) -> Table | None:
    if effects.get("state") is None:
        return None
    rows = tuple((Cell(name.replace("_", " ")), Cell(f"{count:,}")) for name, count in effects["state"].items())
    return Table(title="The state in numbers", columns=("what", "count"), rows=rows)


def _elections(effects: Mapping[str, Any]) -> Table | None:
    found = effects.get("simulation")
    return found and _simulated_table(f"How long an election takes, {seeds_of(found)}", ELECTIONS, election_rows(found))


def _failures(effects: Mapping[str, Any]) -> Table | None:
    found = effects.get("simulation")
    return found and _simulated_table(
        f"A second failure in the middle, {seeds_of(found)}", FAILURES, failure_rows(found)
    )


def _simulated_table(title: str, columns: tuple[str, ...], shown: Iterator[SimulatedRow]) -> Table:
    rows = tuple((Cell(row.cells[0]), *(Cell(text, row.tone) for text in row.cells[1:])) for row in shown)
    return Table(title=title, columns=columns, rows=rows)
