"""A recovery on a page, drawn from the plain answer: which disk, what is lost, what is written, what people do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkactl.commands.rendering.page import Cell, Page, Word

Answer = Mapping[str, Any]
_HEADINGS = {
    "done": ("Written: the recovered directory", "good"),
    "nothing-to-do": ("Nothing to do: the directory is exactly as planned", "good"),
    "planned": ("Plan: nothing was written", "strong"),
    "refused": ("Refused: nothing was written", "bad"),
    "failed": ("Failed: nothing that Kafka would start from was written", "bad"),
    "partial": ("Partly written", "bad"),
    "unknown": ("Outcome unknown", "warn"),
}
_SHOWN = 20


def show(page: Page, answer: Answer) -> None:
    """The whole of it."""
    text, tone = _HEADINGS[answer["outcome"]]
    page.heading(text, tone)
    page.fields(_facts(answer))
    page.table(("rank", "directory", "role", "node", "epoch", "end offset", "behind", "damage"), _disks(answer))
    page.table(("voter", "directory id", "disk"), _voters(answer))
    _losses(page, answer["losses"])
    _repairs(page, answer["repairs"])
    for step in answer["steps"]:
        page.line(f"{step['number']:>3}. {step['action']}, {step['target']}: {step['text']}")
        if step["command"]:
            page.line(Word(f"       {step['command']}", "strong"))
    page.findings(answer["findings"])


def tell_plan(answer: Answer) -> None:
    """The plan on stderr, before a question."""
    import sys

    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.commands.rendering import output, plain

    page = Page()
    show(page, answer)
    output.say(plain.render(page, color=current_settings().colors(sys.stderr)))


def _facts(answer: Answer) -> Iterable[tuple[str, Cell]]:
    version, made, source = answer["metadata_version"], answer["result"], answer["source"]
    yield "cluster", answer["cluster_id"]
    yield "quorum", f"{answer['mode']}, {answer['shown']} of {len(answer['voters_before'])} voters' disks shown"
    yield "metadata.version", None if version is None else f"{version['name']} ({version['level']})"
    yield "source", f"{source['path']}, to offset {source['end_offset']} (epoch {source['epoch']})"
    if made is not None:
        yield "new directory", made["directory"]
        yield "controller", f"{made['node_id']}, directory id {made['directory_id']}"
        yield "snapshot", f"offset {made['offset']}, epoch {made['epoch']}"


def _disks(answer: Answer) -> Iterable[Sequence[Cell]]:
    for shown in sorted(answer["disks"], key=lambda disk: (disk["rank"] is None, disk["rank"])):
        yield (
            shown["rank"],
            shown["path"],
            shown["role"],
            shown["node_id"],
            shown["last_epoch"],
            shown["log_end_offset"],
            shown["behind"],
            Word(shown["damage"], "bad") if shown["damage"] else None,
        )


def _voters(answer: Answer) -> Iterable[Sequence[Cell]]:
    tones = {"shown": "good", "lost": "warn", "unknown": "bad"}
    for voter in answer["voters_before"]:
        yield voter["id"], voter["directory_id"], Word(voter["state"], tones[voter["state"]])


_LISTS = {
    "topics_missing": "topics that are missing",
    "partitions_missing": "partitions that are missing",
    "topics_returning_empty": "topics that come back empty",
    "topics_returning": "topics that come back",
}


def _losses(page: Page, losses: Answer) -> None:
    stray = [
        f"{folder['topic']}-{folder['partition']} on broker {folder['broker']}" for folder in losses["partitions_stray"]
    ]
    rows: list[tuple[str, Cell]] = [("records after the source", losses["records_after_source"] or None)]
    rows += [(words, _some(losses[name])) for name, words in _LISTS.items()]
    rows += [("folders that become stray", _some(stray))]
    rows += [("settings", _some([_setting(change) for change in losses["configs_changed"]]))]
    rows += [
        (words, _some([f"{loss['entity']} ({loss['change']})" for loss in losses[name]]))
        for name, words in (("acls", "ACLs"), ("users", "users"), ("quotas", "quotas"), ("others", "other entities"))
    ]
    kept = [row for row in rows if row[1] is not None]
    if kept:
        page.line(Word(f"Lost or changed (--confirm-loss {losses['count']})", "warn"))
        page.fields(kept)
    else:
        page.line(Word("Nothing is lost that any of these disks shows", "good"))


def _setting(answer: Answer) -> str:
    return f"{answer['entity']} {answer['key']}: {answer['recovered']} instead of {answer['newer']}"


def _repairs(page: Page, repairs: Answer) -> None:
    adopted = [
        f"{partition['topic']}-{partition['partition']} (brokers {partition['replicas']})"
        for partition in repairs["adopted"]
    ]
    kept = [given["topic"] for given in repairs["adopted_settings"] if not given["known"]]
    rows = [
        ("adopted", _some(adopted)),
        ("settings not known, all data kept", _some(kept)),
        ("tiered again", _some(repairs["topics_tiered"])),
        ("left out", _some(repairs["topics_dropped"])),
    ]
    page.fields([row for row in rows if row[1] is not None])


def _some(names: Sequence[str]) -> str | None:
    from kafkactl.wording import first_few

    return first_few(list(names), _SHOWN) if names else None
