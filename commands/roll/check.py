"""`kafkactl roll check`: everything that stops or harms a roll, all of it at once, node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.roll.options import (
    RequestOptions,
    RollSource,
    open_observation,
    request_of,
    request_options,
    source_options,
)
from kafkactl.commands.roll.page_text import rollback_line, word_of

if TYPE_CHECKING:
    from kafkactl.roll.api import RollCheck


@leaf_command(
    "check",
    examples=(
        "kafkactl roll check --inventory roll.toml --to 4.3.1",
        "kafkactl roll check --observation observation --to 4.3.1 -o json",
        "kafkactl roll check --inventory roll.toml --rendered new-configuration",
    ),
    codes=(*exit_codes.READING, exit_codes.REFUSED),
    timeout="2m",
)
@source_options
@request_options
def command(*, source: RollSource, asked: RequestOptions) -> None:
    """Report what stops or harms a rolling restart or upgrade, all of it at once.

    Without --to the roll is a restart with the same release. For each node the answer says whether it
    would start alone with its file, its Java and the present levels and settings. The exit code is 7 if
    something blocks the roll. Facts that were not observed are unknown, and are listed.
    """
    from kafkactl.roll.api import check

    observation = open_observation(source)
    found = check(observation, request_of(asked, observation, source.inventory))
    code = exit_codes.PROBLEMS_FOUND if found.has_blockers else exit_codes.DONE
    emit("roll.check", found, render=_show, exit_code=code, listing="findings")


def _show(page: Page, found: RollCheck) -> None:
    title = f"{found.way.value} to {found.to}" if found.to else "restart with the same release"
    is_known = all(node.will_start is not None for node in found.nodes)
    free = "nothing blocks it" if is_known else "nothing that is known blocks it"
    page.heading(f"{title}: {'blocked' if found.has_blockers else free}", _tone(found))
    page.table(
        ("node", "roles", "release", "starts", "expected failure"),
        [
            (
                node.id,
                ", ".join(node.roles),
                node.release,
                word_of(node.will_start),
                _failure(node),
            )
            for node in found.nodes
        ],
    )
    page.table(
        ("level", "finalized", "supported", "fits"),
        [(fit.name, fit.finalized, f"{fit.target_min}-{fit.target_max}", word_of(fit.fits)) for fit in found.levels],
    )
    page.findings(found.findings)
    page.line(rollback_line(found.rollback))


def _tone(found: RollCheck) -> str:
    return "bad" if found.has_blockers else "good"


def _failure(node: object) -> str | None:
    failure, unknown = getattr(node, "expected_failure", None), getattr(node, "unknown", ())
    if failure is not None:
        return f"{failure.phase.value}: {failure.message}"
    return f"unknown: {'; '.join(unknown)}" if unknown else None
