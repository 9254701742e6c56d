"""`kafkactl migrate compare`: does KRaft say what ZooKeeper says, and the other way round?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.options import ObservationArguments, observation_options, open_observation
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.wording import counted

_IN_JSON = 1000
_SHOWN = 40
_WIDE = 60
_TITLES = {
    "before-copy": "ZooKeeper has not been copied yet",
    "dual-write": "Dual write: both must say the same",
    "mirror-without-copy": "KRaft is mirrored without having copied ZooKeeper",
    "finalized": "The migration is finalized: ZooKeeper is what is left over",
    "rolled-back": "Rolled back: the metadata log is what is left over",
    "unknown": "The metadata log does not say where the migration stands",
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
    from kafkactl.operations.migrate.comparing import compare

    observation = open_observation(source)
    found = compare(observation, before=before, kafka_version=kafka_version)
    lacks_zookeeper = source.observation is None and observation.tree is None
    nothing = exit_codes.UNREACHABLE if lacks_zookeeper else exit_codes.UNKNOWN
    code = exit_codes.PROBLEMS_FOUND if found.has_problems else exit_codes.DONE if found.is_compared else nothing
    # All of them only where each has a line of its own.
    answer = found.to_dict(most=None if current_settings().output == "jsonl" else _IN_JSON)
    emit("migrate.compare", answer, render=_show, exit_code=code, listing="differences")


# --- for people -----------------------------------------------------------------------------------------------------


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    if not answer["compared"]:
        page.heading("Nothing was compared", "warn")
        page.findings(answer["findings"])
        return
    bad, total = answer["unexplained"], answer["differences_total"]
    copy = answer["copy"]
    bad_in_copy = 0 if copy is None else copy["unexplained"]
    unknown = sum(count["unknown"] for count in answer["counts"].values()) + len(answer["copy_unknown"])
    told = f"; {unknown} unknown: their values are not shown" if unknown else ""
    if bad or bad_in_copy:
        where = [f"{bad} between ZooKeeper and KRaft"] if bad else []
        where += [f"{bad_in_copy} between the copy and its prediction"] if bad_in_copy else []
        count = counted(bad + bad_in_copy, "difference")
        page.heading(f"{count} that nothing explains: {', '.join(where)}{told}", "bad")
    else:
        page.heading(
            f"No unexplained difference{f', {total} explained' if total else ''}{told}", "warn" if unknown else "good"
        )
    page.fields(
        (
            ("phase", _TITLES[answer["phase"]]),
            ("log ends at", answer["last_offset"]),
            ("mirror is at", answer["mirror_offset"]),
        )
    )
    counts = answer["counts"]
    page.table(
        ("entity", "unexplained", "explained", "unknown"),
        ((entity, count["unexplained"], count["explained"], count["unknown"]) for entity, count in counts.items()),
    )
    _show_differences(page, answer["differences"], total)
    if answer["copy"] is not None:
        _show_copy(page, answer["copy"], unknown=len(answer["copy_unknown"]))
    page.findings(answer["findings"])


def _show_differences(page: Page, differences: list[Mapping[str, Any]], total: int) -> None:
    page.table(
        ("entity", "key", "ZooKeeper", "KRaft", "because"),
        (
            (
                difference["entity"],
                difference["key"],
                _short(difference["zookeeper"]),
                _short(difference["kraft"]),
                _because(difference),
            )
            for difference in differences[:_SHOWN]
        ),
    )
    if total > _SHOWN:
        page.line(f"… and {total - _SHOWN} more; -o jsonl gives all of them")


def _because(difference: Mapping[str, Any]) -> Word:
    return Word("unexplained", "bad") if difference["explained"] is None else Word(difference["rule"], "dim")


def _short(value: Any) -> str | None:
    """One line; a list or a table of fields with its first words."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    else:
        text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"


def _plain(value: Any) -> str:
    return "none" if value is None else "[" + ",".join(map(str, value)) + "]" if isinstance(value, list) else str(value)


def _show_copy(page: Page, copy: Mapping[str, Any], *, unknown: int) -> None:
    if not copy["differences_total"]:
        words = f", but for {unknown} records whose values are not shown" if unknown else ", record by record"
        page.line(Word(f"The copy is the predicted one{words}", "warn" if unknown else "good"))
        return
    if copy["unexplained"]:
        page.line(f"The copy differs from its prediction in {copy['differences_total']} records")
    else:
        page.line(f"The copy is the predicted one, but for {copy['differences_total']} records that are explained")
    page.table(
        ("record", "key", "predicted", "copied", "because"),
        (
            (
                difference["entity"],
                difference["key"],
                _short(difference["zookeeper"]),
                _short(difference["kraft"]),
                _because(difference),
            )
            for difference in copy["differences"][:_SHOWN]
        ),
    )
