"""Last part of `format` and `ensure`: application of the plan unless it is a dry run, and the page of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.values import host_port

if TYPE_CHECKING:
    from kafkactl.cluster.quorum.voter_sets import Voter
    from kafkactl.core.findings import Finding
    from kafkactl.storage.api.format import FormatResult, FormattedDirectory

_TONES = {
    "done": "good",
    "nothing-to-do": "good",
    "planned": "strong",
    "refused": "bad",
    "failed": "bad",
    "partial": "bad",
}
_TITLES = {
    "done": "Formatted node {node_id} for Kafka {kafka_version}",
    "nothing-to-do": "All of the log directories of node {node_id} are already formatted",
    "planned": "Would format node {node_id} for Kafka {kafka_version}",
    "refused": "Refused to format node {node_id}",
    "failed": "Failed to format node {node_id}",
    "partial": "Formatted only a part of node {node_id}",
}
_TITLES_OF_DATA = {
    "done": "Formatted the new data directories of node {node_id}",
    "planned": "Would format the new data directories of node {node_id}",
}


def carry_out(
    kind: str, planned: FormatResult, notes: Sequence[Finding], *, dry_run: bool, yes: bool, config: str
) -> NoReturn:
    """Apply a planned format unless it is a dry run, and print the answer with the notes on its options.

    Without `yes` the operator confirms the node first: its file `config` was found, and not named.
    """
    from kafkactl.core.findings import Outcome
    from kafkactl.core.frozen import changed
    from kafkactl.storage.api.format import apply_format

    if planned.outcome is Outcome.PLANNED and not dry_run and not yes:
        from kafkactl.commands.framework.confirmation import confirm

        plan = planned.plan
        paths = ", ".join(directory.path for directory in plan.directories if directory.action == "format")
        question = f"Format {paths} of node {plan.node_id} ({config}) for cluster {plan.cluster_id}?"
        no = confirm(question, yes=False, subject=f"file {config}")
        if no is not None:
            planned = changed(planned, plan=changed(plan, outcome=Outcome.REFUSED, findings=(*plan.findings, no)))
    result = changed(planned if dry_run else apply_format(planned), notes=tuple(notes))
    emit(kind, result, render=show_format, exit_code=result.outcome.exit_code)


def show_format(page: Page, result: FormatResult) -> None:
    """Show the answer `storage.format`."""
    outcome, plan = result.outcome, result.plan
    # Levels are written to the metadata directory alone: if it is kept, the disks and the cluster have their own.
    founds = any(d.planned.role == "metadata" and d.planned.action == "format" for d in result.directories)
    titles = _TITLES if founds else _TITLES | _TITLES_OF_DATA
    page.heading(titles[outcome].format(node_id=plan.node_id, kafka_version=plan.kafka_version), _TONES[outcome])
    if outcome == "nothing-to-do" or (outcome != "refused" and not founds):
        page.fields((("cluster id", plan.cluster_id),))
    elif outcome != "refused":
        page.fields(
            (
                ("cluster id", plan.cluster_id),
                ("metadata.version", f"{plan.metadata_version_name} ({plan.metadata_version_level})"),
                ("kraft.version", plan.kraft_version),
                *plan.features.items(),
                ("voters", ", ".join(map(_voter, plan.voters)) or None),
            )
        )
    page.table(
        ("directory", "role", "action", "directory id", "files"),
        (
            (
                directory.planned.path,
                directory.planned.role,
                _action(directory),
                directory.directory_id,
                len(directory.files) or None,
            )
            for directory in result.directories
        ),
    )
    if outcome == "planned":
        page.groups(
            (Word(file.path, "strong"), [(f"{file.size_bytes} bytes", f"sha256 {file.sha256}")])
            for directory in result.directories
            for file in directory.files
        )
    page.findings(result.findings)


def _voter(voter: Voter) -> str:
    where = ", ".join(host_port(endpoint.host, endpoint.port) for endpoint in voter.endpoints)
    return f"{voter.node_id}@{where}:{voter.directory_id}"


def _action(directory: FormattedDirectory) -> Word:
    progress, action = directory.progress, directory.planned.action
    if action != "format" or progress is None:
        return Word(action)
    tones = {"done": "good", "unchanged": "good"}
    words = {"done": "formatted", "unchanged": "formatted before"}
    return Word(words.get(progress, progress), tones.get(progress, "bad"))
