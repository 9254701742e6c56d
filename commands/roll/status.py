"""`kafkactl roll status`: where the cluster stands, and which node may be stopped now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.roll.options import RollSource, open_observation, source_options, to_option
from kafkactl.commands.roll.page_text import rollback_line, word_of
from kafkactl.core.wording import first_few, plural

if TYPE_CHECKING:
    from kafkactl.roll.api import RollStatus

_REASONS: Final = 8
"""Lines of reasons under the table of nodes."""


@leaf_command(
    "status",
    examples=(
        "kafkactl roll status --inventory roll.toml",
        "kafkactl roll status --observation observation --to 4.3.1 -o json",
    ),
    codes=(*exit_codes.READING, exit_codes.REFUSED),
    timeout="2m",
)
@source_options
@to_option
def command(*, source: RollSource, to: str | None) -> None:
    """Show the position of a cluster in a roll: the release of each node, if it is back, if it may be stopped.

    The phase is derived from all nodes together, never from the journal. --to names the goal if no journal
    does. The exit code is 7 if a node is not back, or a gate of the open step is violated.
    """
    from kafkactl.roll.api import RollRequest, status

    found = status(open_observation(source), RollRequest.of(to=to, inventory=source.inventory))
    code = exit_codes.PROBLEMS_FOUND if found.has_problems else exit_codes.DONE
    emit("roll.status", found, render=_show, exit_code=code)


def _show(page: Page, found: RollStatus) -> None:
    page.findings(found.findings)
    goal = f" of the roll to {found.goal}" if found.goal else ""
    page.heading(
        f"Phase{goal}: {found.phase.value if found.phase else 'unknown'}", "bad" if found.has_problems else "good"
    )
    page.table(
        ("node", "roles", "release", "done", "back", "may be stopped", "why"),
        [
            (
                node.id,
                ", ".join(node.roles),
                node.release,
                word_of(node.done),
                word_of(node.back),
                word_of(node.may_stop),
                ", ".join(dict.fromkeys(finding.id for finding in node.why)) or None,
            )
            for node in found.nodes
        ],
    )
    reasons = _reasons(found)
    for text, ids in reasons[:_REASONS]:
        page.line(f"{plural('node', len(ids))} {first_few([str(id) for id in ids])}: {text}")
    if len(reasons) > _REASONS:
        page.line(f"and {len(reasons) - _REASONS} more reasons: -o json has all of them")
    step = found.open_step
    if step is not None:
        page.line(f"Open step {step.number}: {step.action} of {', '.join(map(str, step.nodes))}")
    page.line(rollback_line(found.rollback))
    page.line(f"Next: {found.next_action}")


def _reasons(found: RollStatus) -> list[tuple[str, list[int]]]:
    """Return why nodes are not back or may not be stopped, with the ids of the nodes, the most frequent first."""
    ids: dict[str, list[int]] = {}
    for node in found.nodes:
        for text in dict.fromkeys(finding.message for finding in node.why):
            ids.setdefault(text, []).append(node.id)
    return sorted(ids.items(), key=lambda reason: -len(reason[1]))
