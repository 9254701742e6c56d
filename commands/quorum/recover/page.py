"""A recovery on a page: which disk, what is lost, what is written, what people do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkactl.commands.rendering.page import Cell, Page, Word

if TYPE_CHECKING:
    from kafkactl.quorum.recover.answer import Recovery
    from kafkactl.quorum.recover.losses import Losses
    from kafkactl.quorum.recover.repairs import Repairs

_HEADINGS = {
    "done": ("Written: the recovered directory", "good"),
    "nothing-to-do": ("Nothing to do: the directory is exactly as planned", "good"),
    "planned": ("Plan: nothing was written", "strong"),
    "refused": ("Refused: nothing was written", "bad"),
    "failed": ("Failed: do not start a node from the new directory", "bad"),
    "partial": ("Partly written", "bad"),
    "unknown": ("Outcome unknown", "warn"),
}
_SHOWN = 20


def show(page: Page, recovery: Recovery) -> None:
    """Show the recovery."""
    text, tone = _HEADINGS[recovery.outcome]
    page.heading(text, tone)
    page.fields(_facts(recovery))
    page.table(("rank", "directory", "role", "node", "epoch", "end offset", "behind", "damage"), _disks(recovery))
    page.table(("voter", "directory id", "disk"), _voters(recovery))
    _losses(page, recovery.plan.losses)
    _repairs(page, recovery.plan.repairs)
    for step in recovery.steps:
        page.line(f"{step.number:>3}. {step.action}, {step.target}: {step.text}")
        if step.command:
            page.line(Word(f"       {step.command}", "strong"))
    page.findings(recovery.findings)


def tell_plan(recovery: Recovery) -> None:
    """Show the plan on stderr before a question."""
    import sys

    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.commands.rendering import output, plain_text

    page = Page()
    show(page, recovery)
    output.say(plain_text.render(page, color=current_settings().colors(sys.stderr)))


def _facts(recovery: Recovery) -> Iterable[tuple[str, Cell]]:
    plan, version = recovery.plan, recovery.metadata_version
    made, (epoch, end_offset) = plan.result, plan.source.place
    yield "cluster", plan.cluster_id
    yield "quorum", f"{recovery.mode}, {recovery.shown} of {len(plan.voters)} voters' disks shown"
    yield "metadata.version", None if version is None else f"{version[1]} ({version[0]})"
    yield "source", f"{plan.source.path}, to offset {end_offset} (epoch {epoch})"
    if made is not None:
        yield "new directory", plan.request.target.directory
        yield "controller", f"{made.node_id}, directory id {made.directory_id}"
        yield "snapshot", f"offset {made.offset}, epoch {made.epoch}"


def _disks(recovery: Recovery) -> Iterable[Sequence[Cell]]:
    for disk in sorted(recovery.disks, key=lambda disk: (disk.rank is None, disk.rank)):
        seen, found = disk.seen, disk.seen.candidate
        yield (
            disk.rank,
            seen.path,
            disk.role,
            seen.node_id,
            None if found is None else found.last_epoch,
            None if found is None else found.end_offset,
            disk.behind,
            Word(disk.damage, "bad") if disk.damage else None,
        )


def _voters(recovery: Recovery) -> Iterable[Sequence[Cell]]:
    tones = {"shown": "good", "lost": "warn", "unknown": "bad"}
    for voter in recovery.plan.voters:
        directory_id = None if voter.directory_id is None else str(voter.directory_id)
        yield voter.id, directory_id, Word(voter.state, tones[voter.state])


def _losses(page: Page, losses: Losses) -> None:
    stray = [f"{folder.topic}-{folder.partition} on broker {folder.broker}" for folder in losses.partitions_stray]
    settings = [
        f"{change['entity']} {change['key']}: {_value(change['recovered'])} instead of {_value(change['newer'])}"
        for change in losses.configs_changed
    ]
    rows: list[tuple[str, Cell]] = [
        ("records after the source", losses.records_after_source or None),
        ("topics that are missing", _some(losses.topics_missing)),
        ("partitions that are missing", _some(losses.partitions_missing)),
        ("topics that come back empty", _some(losses.topics_returning_empty)),
        ("topics that come back", _some(losses.topics_returning)),
        ("folders that become stray", _some(stray)),
        ("settings", _some(settings)),
    ]
    entities = (
        ("ACLs", losses.acls), ("users", losses.users), ("quotas", losses.quotas), ("other entities", losses.others),
    )  # fmt: skip
    rows += [(words, _some([f"{loss['entity']} ({loss['change']})" for loss in lost])) for words, lost in entities]
    kept = [row for row in rows if row[1] is not None]
    if kept:
        page.line(Word(f"Lost or changed (--confirm-loss {losses.count})", "warn"))
        page.fields(kept)
    else:
        page.line(Word("No loss is visible on these disks", "good"))


def _repairs(page: Page, repairs: Repairs) -> None:
    unknown = [given.topic for given in repairs.settings if not given.known]
    adopted = [f"{found.topic}-{found.partition} (brokers {found.brokers})" for found in repairs.adopted]
    page.fields(
        (
            ("adopted", _some(adopted)),
            (
                "settings not known, all data kept",
                _some(unknown),
            ),
            ("tiered again", _some(repairs.tiered)),
            ("left out", _some(repairs.dropped)),
        )
    )


def _value(value: object) -> str:
    return "not set" if value is None else str(value)


def _some(names: Sequence[str]) -> str | None:
    from kafkactl.core.wording import first_few

    return first_few(list(names), _SHOWN) if names else None
