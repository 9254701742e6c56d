"""`kafkactl migrate compare`: does KRaft say what ZooKeeper says, and the other way round?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.options import ObservationArguments, observation_options, open_captured
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.wording import counted

if TYPE_CHECKING:
    from kafkactl.findings import Finding
    from kafkactl.migration.compare.case import Difference, Unknown
    from kafkactl.migration.compare.comparison import Comparison
    from kafkactl.migration.observed.observation import Observation

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
@click.option("--kafka-version", metavar="V", help="The release that copied, where the observation does not say it.")
@observation_options
def command(*, source: ObservationArguments, before: str | None, kafka_version: str | None) -> None:
    """Compare ZooKeeper with KRaft, entity by entity.

    Topics, partitions, configs, quotas, SCRAM credentials, ACLs, tokens, producer ids, brokers and
    release. A difference that nothing explains ends with exit code 7, and is a reason not to go on.
    """
    from kafkactl.adapters.migration.saved import observation_from
    from kafkactl.findings import blockers
    from kafkactl.migration.compare.comparison import compare_observation

    observation = observation_from(open_captured(source))
    comparison = compare_observation(observation)
    copy = None if before is None else _copy(observation, before, kafka_version)
    findings = [*comparison.findings, *(copy[1] if copy else ()), *observation.findings]
    wrong = bool(comparison.unexplained or blockers(findings) or (copy and _unexplained(copy[0])))
    lacks_zookeeper = source.observation is None and observation.tree is None
    nothing = exit_codes.UNREACHABLE if lacks_zookeeper else exit_codes.UNKNOWN
    code = exit_codes.PROBLEMS_FOUND if wrong else exit_codes.DONE if comparison.compared else nothing
    emit(
        "migrate.compare",
        {
            **_answer(comparison, observation),
            "copy": copy and _copy_answer(copy[0]),
            "copy_unknown": _unknown(copy[2]) if copy else [],
            "findings": findings,
        },
        render=_show,
        exit_code=code,
        listing="differences",
    )


def _answer(comparison: Comparison, observation: Observation) -> dict[str, Any]:
    from kafkactl.migration.compare.comparison import phase_facts

    log = observation.log
    return {
        "phase": comparison.phase.value,
        "compared": comparison.compared,
        "time_ms": observation.time_ms,
        "last_offset": None if log is None else log.last_offset,
        "mirror_offset": phase_facts(observation).migration_offset,
        "counts": comparison.counts,
        "unexplained": len(comparison.unexplained),
        **_bounded(comparison.differences),
        "unknown": _unknown(comparison.unknown),
    }


def _bounded(differences: tuple[Difference, ...]) -> dict[str, Any]:
    """The unexplained ones first; all of them only where each has a line of its own."""
    from kafkactl.commands.framework.settings import current_settings

    shown = differences if current_settings().output == "jsonl" else differences[:_IN_JSON]
    return {"differences_total": len(differences), "differences": [one.to_dict() for one in shown]}


# --- the copy against its prediction --------------------------------------------------------------------------------


def _copy(
    observation: Observation, before: str, kafka_version: str | None
) -> tuple[tuple[Difference, ...], tuple[Finding, ...], tuple[Unknown, ...]]:
    """Differences between the prediction and the copy, and what is not known of them. Raises InputError where one of
    the two is not known at all.
    """
    from kafkactl.errors import InputError
    from kafkactl.migration.compare.comparison import encoder_secrets
    from kafkactl.migration.compare.copy import copy_compared, copy_findings
    from kafkactl.migration.copy.rules import copy_rules

    log = observation.log
    if log is None or not log.copy_records or log.copy_end is None:
        raise InputError(
            "the metadata log of the observation holds no copy of ZooKeeper that was ended",
            id="no-copy-in-log",
            next_step="Compare without --before, or observe again before the log is cut behind a snapshot.",
        )
    rules = copy_rules(_version(observation, kafka_version))
    secrets = encoder_secrets(observation.nodes)
    found, unknown = copy_compared(_tree_before(before), log.copy_records, rules, secrets=secrets)
    return found, copy_findings(found), unknown


def _version(observation: Observation, named: str | None) -> Any:
    """The release of the controllers; the last one with ZooKeeper where nobody says it."""
    from kafkactl.features.catalog.releases import find_release

    known = [one.kafka_version for one in observation.controllers if one.kafka_version]
    return find_release(named or (known[0] if known else "3.9")).version


def _tree_before(path: str) -> Any:
    from pathlib import Path

    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.adapters.migration.saved import ZNODES
    from kafkactl.errors import InputError
    from kafkactl.migration.zktree.parse import parse_saved_tree

    file = Path(path)
    if file.is_dir():
        file = next((file / name for name in ZNODES if (file / name).exists()), file / ZNODES[0])
    tree, findings = parse_saved_tree(read_input(file, "saved tree", InputKind.SAVED_TREE), file=str(file))
    for one in findings:  # from a part of a tree only a part of the copy can be foretold
        raise InputError(f"{one.subject}: {one.message}", id=one.id, next_step=one.next_step)
    return tree


def _unexplained(differences: tuple[Difference, ...]) -> int:
    return sum(one.explained is None for one in differences)


def _unknown(unknown: tuple[Unknown, ...]) -> list[dict[str, str]]:
    return [{"entity": one.entity, "key": one.key, "reason": one.reason} for one in unknown[:_IN_JSON]]


def _copy_answer(differences: tuple[Difference, ...]) -> dict[str, Any]:
    return {
        "unexplained": _unexplained(differences),
        "differences_total": len(differences),
        "differences": [one.to_dict() for one in sorted(differences, key=lambda one: one.explained or "")[:_IN_JSON]],
    }


# --- for people -----------------------------------------------------------------------------------------------------


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    if not answer["compared"]:
        page.heading("Nothing was compared", "warn")
        page.findings(answer["findings"])
        return
    bad, total = answer["unexplained"], answer["differences_total"]
    copy = answer["copy"]
    bad_in_copy = 0 if copy is None else copy["unexplained"]
    unknown = sum(one["unknown"] for one in answer["counts"].values()) + len(answer["copy_unknown"])
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
            (one["entity"], one["key"], _short(one["zookeeper"]), _short(one["kraft"]), _because(one))
            for one in differences[:_SHOWN]
        ),
    )
    if total > _SHOWN:
        page.line(f"… and {total - _SHOWN} more; -o jsonl gives all of them")


def _because(one: Mapping[str, Any]) -> Word:
    return Word("unexplained", "bad") if one["explained"] is None else Word(one["rule"], "dim")


def _short(value: Any) -> str | None:
    """One line; a list or a table of fields with its first words."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
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
            (one["entity"], one["key"], _short(one["zookeeper"]), _short(one["kraft"]), _because(one))
            for one in copy["differences"][:_SHOWN]
        ),
    )
