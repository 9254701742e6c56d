"""The page of a prediction, for people: the first screen answers the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkactl.commands.rendering.page import Page, Word
from kafkactl.report.model import TONES

_SHOWN = 15


def show_prediction(page: Page, answer: Mapping[str, Any]) -> None:
    """Draw `dryrun.prediction`."""
    from kafkactl.report.build import title_of

    effects, verdict = answer["effects"], answer["verdict"]
    page.heading(f"{title_of(answer)}: {verdict}", TONES[verdict])
    page.fields(_facts(answer, effects))
    page.findings(answer["findings"])
    for show in (_changes, _steps, _worst, _results, _features, _differences, _counts, _sizes):
        show(page, effects)
    for text in answer["assumptions"]:
        page.line(Word(f"assumed: {text}", "dim"))


def _facts(answer: Mapping[str, Any], effects: Mapping[str, Any]) -> list[tuple[str, Any]]:
    source, partitions, appended = answer["source"], effects["partitions"], effects["records_appended"]
    paths = ", ".join(source["paths"])
    where = f"offset {source['last_offset']} of {paths}"
    after = "; ".join(f"{one['scenario']} ({one['verdict']})" for one in answer["after"])
    rows: list[tuple[str, Any]] = [("log", where), ("after", after or None)]
    if effects["batches"] is not None:
        holds = ", ".join(
            f"{count} {name.replace('_', ' ')}"
            for name, count in effects["state"].items()
            if count and name != "znodes"
        )
        rows = [("ZooKeeper", f"{source['records']} znodes of {paths}"), ("holds", holds)]
        rows.append(("the copy", f"{effects['batches']} batches, about {effects['seconds']} s"))
    if partitions is not None:
        rows += [
            ("partitions", f"{partitions['total']}, {effects['changes_total']} change"),
            ("leaders that change", str(partitions["leader_changes"])),
            ("without a leader then", str(partitions["offline"])),
            ("under / at min ISR then", f"{partitions['under_min_isr']} / {partitions['at_min_isr']}"),
        ]
    if appended is not None:
        types = ", ".join(f"{count} {name}" for name, count in appended["by_type"].items())
        rows.append(("records appended", f"{appended['count']}, {appended['bytes']} bytes ({types or 'none'})"))
    for name in ("majority", "tolerates"):
        if effects[name] is not None:
            rows.append((name, f"{effects[name]['before']} before, {effects[name]['after']} after"))
    if effects["server_error"] is not None:
        error = effects["server_error"]
        rows.append(("Kafka answers", f"{error['code']} {error['name']}: {error['message']}"))
    if effects["image_sha256"] is not None:
        rows.append(("image SHA-256", effects["image_sha256"]))
    return rows


def _changes(page: Page, effects: Mapping[str, Any]) -> None:
    rows = [
        (
            f"{one['topic']}-{one['partition']}",
            _leaders(one),
            f"{_ids(one['isr_before'])} → {_ids(one['isr_after'])}",
            _ids(one["elr_after"]),
            None if one["certain"] else Word(f"{len(one['alternatives'])} outcomes", "warn"),
        )
        for one in effects["changes"][:_SHOWN]
    ]
    if rows:
        page.table(("partition", "leader", "ISR", "ELR then", "certain"), rows)
        more = effects["changes_total"] - len(rows)
        if more > 0:
            page.line(Word(f"and {more} more (the first 1,000 with -o json)", "dim"))


def _leaders(one: Mapping[str, Any]) -> Word:
    before, after = (_leader(one[name]) for name in ("leader_before", "leader_after"))
    if one["leader_after"] < 0:
        return Word(f"{before} → {after}", "bad")
    mark = " recovering" if one["recovering_after"] and before != after else ""
    return Word(before if before == after else f"{before} → {after}{mark}", "warn" if mark else "plain")


def _leader(node_id: int) -> str:
    return "none" if node_id < 0 else str(node_id)


def _ids(ids: Sequence[int]) -> str:
    return ",".join(str(one) for one in ids) or "-"


def _steps(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["order"] is None:
        return
    rows = [
        (
            one["number"],
            one["broker"],
            Word(one["verdict"], TONES[one["verdict"]]),
            one["partitions"]["leader_changes"],
            one["partitions"]["offline"],
            one["partitions"]["under_min_isr"],
        )
        for one in effects["steps"]
    ]
    page.table(("step", "broker", "while it is down", "leaders move", "no leader", "under min ISR"), rows)


def _worst(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["worst"] is not None:
        rows = [
            (_ids(one["brokers"]), one["offline"], one["under_min_isr"], one["leader_changes"])
            for one in effects["worst"]
        ]
        page.line(Word(f"the worst of {effects['sets']} sets:", "strong"))
        page.table(("brokers lost", "lose their leader", "fall under min ISR", "change their leader"), rows)


def _results(page: Page, effects: Mapping[str, Any]) -> None:
    failed = [one for one in effects["results"] if one["error_code"]]
    if failed:
        rows = [(one["topic"], one["partition"], f"{one['error_code']} {one['error_name']}") for one in failed[:_SHOWN]]
        page.table(("topic", "partition", "Kafka answers"), rows)


def _features(page: Page, effects: Mapping[str, Any]) -> None:
    rows = [
        (one["name"], one["from"], one["to"], one["kind"], one["verdict"], "yes" if one["reversible"] else "no")
        for one in effects["features"]
    ]
    if rows:
        page.table(("feature", "from", "to", "kind", "verdict", "can be undone"), rows)
    for one in effects["features"]:
        for text in one["consequences"]:
            page.line(f"{one['name']}: {text}")
        if one["server_error"] is not None:
            page.line(Word(f"Kafka answers {one['server_error']['code']}: {one['server_error']['message']}", "bad"))


def _differences(page: Page, effects: Mapping[str, Any]) -> None:
    rows = [
        (one["from_offset"], one["part"], one["key"], one["change"]) for one in (effects["differences"] or [])[:_SHOWN]
    ]
    if rows:
        page.table(("start at", "part", "what", "is"), rows)


def _counts(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["counts"] is not None:
        page.table(("record", "count"), list(effects["counts"].items()))
        page.table(("state", "count"), list(effects["state"].items()))


def _sizes(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["controller_load"] is None:
        return
    log, snapshot, load = effects["log"], effects["snapshot"], effects["controller_load"]
    page.fields(
        [
            ("log now", f"{log['bytes']} bytes, {log['records']} records"),
            ("growth a day", f"{log['bytes_per_day']} bytes, {log['records_per_day']} records"),
            ("kept then", f"{log['bytes_kept_after']} bytes of {log['bytes_written_after']} written"),
            ("a snapshot", f"{snapshot['bytes']} bytes, {snapshot['records']} records, {snapshot['per_day']} a day"),
            ("a start takes", f"{load['seconds']} s now, {load['seconds_after']} s then"),
        ]
    )
