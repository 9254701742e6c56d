"""The page of a prediction, for people: the first screen answers the question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.commands.rendering.screen import brief_findings, fit_screen
from kafkactl.commands.rendering.simulation_blocks import show_simulation
from kafkactl.core.wording import counted, first_few
from kafkactl.report.model import TONES

if TYPE_CHECKING:
    from kafkactl.dryrun.answer import Feature
    from kafkactl.dryrun.api import Answer, Change, Effects

_SHOWN = 8
_FEW = 3
_BRIEFEST = 2
_WHOLE_BLOCKERS = {1: 3, 2: 1}  # by brevity: fewer are shown in full on the briefest page


def show_prediction(page: Page, answer: Answer) -> None:
    """Draw `dryrun.prediction`: on a terminal so that it fits the screen."""
    fit_screen(page, lambda drawn, brevity: _draw(drawn, answer, brevity), briefest=_BRIEFEST)


def _draw(page: Page, answer: Answer, brevity: int) -> None:
    from kafkactl.dryrun.page.titles import title_of

    effects, verdict = answer["effects"], answer["verdict"]
    page.heading(f"{title_of(answer)}: {verdict}", TONES[verdict])
    page.fields(_facts(answer, effects, is_brief=brevity > 0))
    if brevity:
        brief_findings(page, answer["findings"], whole=_WHOLE_BLOCKERS[brevity])
    else:
        page.findings(answer["findings"])
    shown = _FEW if brevity == _BRIEFEST else _SHOWN
    has_own_table = effects["order"] is not None or effects["worst"] is not None
    if not (brevity == _BRIEFEST and has_own_table):
        _changes(page, effects, shown)
    for show in (_steps, _worst, _counts):
        show(page, effects, shown if brevity else None)
    for show_whole in (_results, _features, _differences, _sizes):
        show_whole(page, effects)
    show_simulation(page, effects["simulation"])
    for text in _assumptions(answer["assumptions"], is_brief=brevity > 0):
        page.line(Word(text, "dim"))
    page.fields([("verdict", Word(verdict, TONES[verdict]))])


def _assumptions(texts: Sequence[str], *, is_brief: bool) -> Sequence[str]:
    """Return the assumptions, a line each; on a terminal, whose first screen they would push away, their number."""
    if not texts or current_settings().verbose or not sys.stdout.isatty():
        return [f"assumed: {text}" for text in texts]
    what = "everything" if is_brief else "what"
    return [f"assumed: {counted(len(texts), 'thing')} that the log does not have; -v shows {what}"]


def _facts(answer: Answer, effects: Effects, *, is_brief: bool) -> list[tuple[str, Any]]:
    source, partitions, appended = answer["source"], effects["partitions"], effects["records_appended"]
    paths = ", ".join(source["paths"])
    if is_brief:
        paths = first_few([path.partition(",")[0] for path in source["paths"]], 1)
    where = f"offset {source['last_offset']} of {paths}"
    after = "; ".join(f"{earlier['scenario']} ({earlier['verdict']})" for earlier in answer["after"])
    rows: list[tuple[str, Any]] = [("log", where), ("after", after or None)]
    if effects["batches"] is not None:
        holds = ", ".join(
            f"{count} {name.replace('_', ' ')}"
            for name, count in (effects["state"] or {}).items()
            if count and name != "znodes"
        )
        rows = [("ZooKeeper", f"{source['records']} znodes of {paths}"), ("holds", holds)]
        rows.append(("the copy", f"{effects['batches']} batches, about {effects['seconds']} s"))
    if partitions is not None and is_brief:
        counts = (
            f"{partitions.total}: {partitions.leader_changes} change their leader, {partitions.offline} without one,"
            f" {partitions.under_min_isr} under and {partitions.at_min_isr} at min ISR"
        )
        rows.append(("partitions then", counts))
    elif partitions is not None:
        rows += [
            ("partitions", f"{partitions.total}, {effects['changes_total']} change"),
            ("leaders that change", str(partitions.leader_changes)),
            ("without a leader then", str(partitions.offline)),
            ("under / at min ISR then", f"{partitions.under_min_isr} / {partitions.at_min_isr}"),
        ]
    if appended is not None and not is_brief:
        types = ", ".join(f"{count} {name}" for name, count in appended.by_type.items())
        rows.append(("records appended", f"{appended.count}, {appended.bytes} bytes ({types or 'none'})"))
    for name, number in (("majority", effects["majority"]), ("tolerates", effects["tolerates"])):
        if number is not None:
            rows.append((name, f"{number['before']} before, {number['after']} after"))
    if effects["server_error"] is not None:
        error = effects["server_error"]
        rows.append(("Kafka answers", f"{error.code} {error.name}: {error.message}"))
    if effects["image_sha256"] is not None:
        rows.append(("image SHA-256", effects["image_sha256"]))
    return rows


def _changes(page: Page, effects: Effects, shown: int) -> None:
    """Show partitions that get worse; if none does, all that change, such as leaders of an election."""
    changes = effects["changes"]
    worse = [change for change in changes if _is_worse(change)] or changes
    rows = [
        (
            f"{change.topic}-{change.partition}",
            _leaders(change),
            f"{_ids(change.isr_before)} → {_ids(change.isr_after)}",
            _ids(change.elr_after),
            "yes" if change.certain else Word(f"{len(change.alternatives)} outcomes", "warn"),
        )
        for change in worse[:shown]
    ]
    if rows:
        page.table(("partition", "leader", "ISR", "ELR then", "certain"), rows)
    more = effects["changes_total"] - len(rows)
    if more > 0:
        which = "more" if len(worse) > len(rows) else "keep a leader and enough replicas in sync"
        page.line(Word(f"{f'and {more}' if rows else more} {which} (the first 1,000 with -o json)", "dim"))


def _is_worse(change: Change) -> bool:
    """Return whether a reader has to look at the partition: no leader, too few in sync, or led by a stale replica."""
    return change.loses_leader or change.under_min_isr or change.elected_uncleanly or change.recovering_after


def _leaders(change: Change) -> Word:
    before, after = _leader(change.leader_before), _leader(change.leader_after)
    if change.leader_after < 0:
        return Word(f"{before} → {after}", "bad")
    mark = " recovering" if change.recovering_after and before != after else ""
    return Word(before if before == after else f"{before} → {after}{mark}", "warn" if mark else "plain")


def _leader(node_id: int) -> str:
    return "none" if node_id < 0 else str(node_id)


def _ids(ids: Sequence[int]) -> str:
    return ",".join(str(id) for id in ids) or "-"


def _steps(page: Page, effects: Effects, shown: int | None) -> None:
    if effects["order"] is None:
        return
    rows = [
        (
            step["number"],
            step["broker"],
            Word(verdict, TONES[verdict]),
            partitions.leader_changes,
            partitions.offline,
            partitions.under_min_isr,
        )
        for step in effects["steps"]
        if (verdict := step["verdict"]) is not None and (partitions := step["partitions"]) is not None
    ]
    page.table(("step", "broker", "while it is down", "leaders move", "no leader", "under min ISR"), rows[:shown])
    _more(page, len(rows), shown, "steps")


def _more(page: Page, count: int, shown: int | None, what: str) -> None:
    if shown is not None and count > shown:
        page.line(Word(f"and {count - shown} more {what}; -v shows all", "dim"))


def _worst(page: Page, effects: Effects, shown: int | None) -> None:
    if effects["worst"] is not None:
        rows = [
            (_ids(loss.brokers), Word("lost", "bad") if loss.loses_majority else "kept", *loss.harm)
            for loss in effects["worst"]
        ]
        page.line(Word(f"the worst of {effects['sets']} sets:", "strong"))
        titles = ("brokers lost", "quorum", "lose their leader", "fall under min ISR", "change their leader")
        page.table(titles, rows[:shown])
        _more(page, len(rows), shown, "sets")


def _results(page: Page, effects: Effects) -> None:
    failed = [result for result in effects["results"] if result["error_code"]]
    if failed:
        rows = [
            (result["topic"], result["partition"], f"{result['error_code']} {result['error_name']}")
            for result in failed[:_SHOWN]
        ]
        page.table(("topic", "partition", "Kafka answers"), rows)


def _features(page: Page, effects: Effects) -> None:
    rows = [
        (
            feature["name"],
            feature["from"],
            feature["to"],
            feature["kind"],
            feature["verdict"],
            _undo(feature),
        )
        for feature in effects["features"]
    ]
    if rows:
        page.table(("feature", "from", "to", "kind", "verdict", "can be undone"), rows)
    for feature in effects["features"]:
        for text in feature["consequences"]:
            page.line(f"{feature['name']}: {text}")
        if (error := feature["server_error"]) is not None:
            page.line(Word(f"Kafka answers {error.code}: {error.message}", "bad"))


def _undo(feature: Feature) -> str:
    """Return whether the change can be undone; "-" for what is refused."""
    if feature["verdict"] == "refused":
        return "-"
    unknown = (feature["way_back"] or "").startswith("unknown")
    return "unknown" if unknown else "yes" if feature["reversible"] else "no"


def _differences(page: Page, effects: Effects) -> None:
    rows = [
        (difference["from_offset"], difference["part"], difference["key"], difference["change"])
        for difference in (effects["differences"] or [])[:_SHOWN]
    ]
    if rows:
        page.table(("start at", "part", "what", "is"), rows)


def _counts(page: Page, effects: Effects, shown: int | None) -> None:
    if effects["counts"] is not None:
        for title, found in (("record", effects["counts"]), ("state", effects["state"] or {})):
            page.table((title, "count"), list(found.items())[:shown])
            _more(page, len(found), shown, f"kinds of {title}")


def _sizes(page: Page, effects: Effects) -> None:
    log, snapshot, load = effects["log"], effects["snapshot"], effects["controller_load"]
    if log is None or snapshot is None or load is None:
        return
    page.fields(
        [
            ("log now", f"{log['bytes']} bytes, {log['records']} records"),
            ("growth a day", f"{log['bytes_per_day']} bytes, {log['records_per_day']} records"),
            ("kept then", f"{log['bytes_kept_after']} bytes of {log['bytes_written_after']} written"),
            ("a snapshot", f"{snapshot['bytes']} bytes, {snapshot['records']} records, {snapshot['per_day']} a day"),
            ("a start takes", f"{load['seconds']} s now, {load['seconds_after']} s then"),
        ]
    )
