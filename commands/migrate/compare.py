"""`kafkactl migrate compare`: does KRaft say what ZooKeeper says, and the other way round?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.options import ObservationArguments, observation_options, open_observation
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Cell, Page, Word
from kafkactl.core.frozen import changed
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.migration.api.comparing import ComparisonResult, CopyComparison
    from kafkactl.migration.compare.case import Difference

_SHOWN = 40
_WIDE = 60
_TITLES = {
    "before-copy": "ZooKeeper has not been copied yet",
    "dual-write": "Dual write: both must have the same metadata",
    "mirror-without-copy": "KRaft is mirrored without having copied ZooKeeper",
    "finalized": "The migration is finalized: ZooKeeper is no longer written",
    "rolled-back": "Rolled back: the metadata log is no longer written",
    "unknown": "The metadata log does not show the phase of the migration",
}


@leaf_command(
    "compare",
    examples=(
        "kafkactl migrate compare --inventory migration.toml",
        "kafkactl migrate compare --observation observation-m6",
        "kafkactl migrate compare --observation observation-m6 --before observation-m4l",
    ),
    codes=exit_codes.READING,
    timeout="10m",
)  # fmt: skip
@click.option(
    "--before",
    metavar="PATH",
    help="An observation, or its zk.jsonl.gz, from before the copy: its prediction is compared with the copy, too.",
)
@click.option("--kafka-version", metavar="V", help="The release that made the copy, if not in the observation.")
@observation_options
def command(*, source: ObservationArguments, before: str | None, kafka_version: str | None) -> None:
    """Compare ZooKeeper with KRaft, entity by entity.

    Topics, partitions, configs, quotas, SCRAM credentials, ACLs, tokens, producer ids, brokers and
    release. The exit code is 7 if a difference is unexplained; do not continue before it is resolved.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.migration.api.comparing import compare

    observation = open_observation(source)
    found = compare(observation, before=before, kafka_version=kafka_version)
    lacks_zookeeper = source.observation is None and observation.tree is None
    nothing = exit_codes.UNREACHABLE if lacks_zookeeper else exit_codes.UNKNOWN
    code = exit_codes.PROBLEMS_FOUND if found.has_problems else exit_codes.DONE if found.is_compared else nothing
    if current_settings().output == "jsonl":  # all of them only if each has a line of its own
        found = changed(found, most=None)
    emit("migrate.compare", found, render=_show, exit_code=code, listing="differences")


def _show(page: Page, found: ComparisonResult) -> None:
    if not found.is_compared:
        page.heading("Nothing was compared", "warn")
        page.findings(found.findings)
        return
    comparison, copy, log = found.comparison, found.copy, found.observation.log
    bad, total = len(comparison.unexplained), len(comparison.differences)
    bad_in_copy = 0 if copy is None else copy.unexplained
    unknown = len(comparison.unknown) + (0 if copy is None else len(copy.unknown))
    hidden = f"; {unknown} unknown: their values are not shown" if unknown else ""
    if bad or bad_in_copy:
        where = [f"{bad} between ZooKeeper and KRaft"] if bad else []
        where += [f"{bad_in_copy} between the copy and its prediction"] if bad_in_copy else []
        count = counted(bad + bad_in_copy, "difference")
        page.heading(f"{count} without an explanation: {', '.join(where)}{hidden}", "bad")
    else:
        page.heading(
            f"No unexplained difference{f', {total} explained' if total else ''}{hidden}", "warn" if unknown else "good"
        )
    page.fields(
        (
            ("phase", _TITLES[comparison.phase]),
            ("log ends at", None if log is None else log.last_offset),
            ("mirror is at", found.mirror_offset),
        )
    )
    page.table(
        ("entity", "unexplained", "explained", "unknown"),
        (
            (entity, count["unexplained"], count["explained"], count["unknown"])
            for entity, count in comparison.counts.items()
        ),
    )
    page.table(("entity", "key", "ZooKeeper", "KRaft", "because"), _rows(comparison.differences))
    if total > _SHOWN:
        page.line(f"… and {total - _SHOWN} more; -o jsonl gives all of them")
    if copy is not None:
        _show_copy(page, copy)
    page.findings(found.findings)


def _rows(differences: Iterable[Difference]) -> Iterable[Sequence[Cell]]:
    for difference in islice(differences, _SHOWN):
        because = Word("unexplained", "bad") if difference.explained is None else Word(difference.rule or "-", "dim")
        yield difference.entity, difference.key, _short(difference.zookeeper), _short(difference.kraft), because


def _short(value: Any) -> str | None:
    """Return one line; a list or a table of fields is shortened."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    else:
        text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"


def _plain(value: Any) -> str:
    return "none" if value is None else "[" + ",".join(map(str, value)) + "]" if isinstance(value, list) else str(value)


def _show_copy(page: Page, copy: CopyComparison) -> None:
    total, unknown = len(copy.differences), len(copy.unknown)
    if not total:
        words = f", but for {unknown} records whose values are not shown" if unknown else ", record by record"
        page.line(Word(f"The copy is as predicted{words}", "warn" if unknown else "good"))
        return
    if copy.unexplained:
        page.line(f"The copy differs from its prediction in {total} records")
    else:
        page.line(f"The copy is as predicted, but for {total} records that are explained")
    page.table(("record", "key", "predicted", "copied", "because"), _rows(copy.ordered))
