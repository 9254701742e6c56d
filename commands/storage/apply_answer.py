"""Page of the answer of `apply`: every node as checked, and as applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.storage.api.fleet_apply import AppliedNode, FleetApplyResult
    from kafkactl.storage.api.format import FormattedDirectory, WrittenFile

_TITLES = {
    "done": ("Formatted as planned", "good"),
    "nothing-to-do": ("All of it is formatted as planned already", "good"),
    "planned": ("Would format", "strong"),
    "refused": ("Refused: nothing was written on any node", "bad"),
    "failed": ("Failed", "bad"),
    "partial": ("Done in part", "bad"),
    "unknown": ("The outcome is unknown", "bad"),
}


def show_apply(page: Page, result: FleetApplyResult) -> None:
    """Show the answer `storage.apply`."""
    page.heading(*_TITLES[result.outcome])
    page.fields((("cluster id", result.plan.cluster_id), ("Kafka", result.plan.kafka_version)))
    titles = (f"node {node.planned.id}  {node.planned.host}: {node.outcome}" for node in result.results)
    page.groups(zip(titles, map(_rows, result.results), strict=True))
    page.findings(result.findings)


def _rows(node: AppliedNode) -> list[tuple[str, str, str, str | None]]:
    rows: list[tuple[str, str, str, str | None]] = []
    for directory in node.directories:
        planned = directory.planned
        what = directory.progress or planned.action
        rows.append((planned.role, what, planned.path, directory.directory_id))
        if what == "format":  # not done yet: what exactly will be
            rows += [("", "file", file.path, _access(file, directory)) for file in directory.files]
    users = node.scram_users or ()
    return rows + [("user", user.mechanism.name, user.name, f"{user.iterations} iterations") for user in users]


def _access(file: WrittenFile, directory: FormattedDirectory) -> str:
    owner = "this user" if directory.owner is None else directory.owner.text
    return f"mode {file.mode or 'by umask'}, owner {owner}, {file.size_bytes} bytes"
