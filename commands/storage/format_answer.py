"""How `format` and `ensure` end: the plan is applied unless it is a dry run, and the answer is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.findings import Finding
    from kafkactl.operations.storage.answers import DirectoryDict, FormatDict, VoterDict
    from kafkactl.operations.storage.format import FormatResult

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


def carry_out(kind: str, planned: FormatResult, notes: Sequence[Finding], *, dry_run: bool) -> NoReturn:
    """Apply a planned format unless it is a dry run, and print the answer with the notes on its options."""
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.operations.storage.format import apply_format

    result = planned if dry_run else apply_format(planned)
    answer = result.to_dict(digests=dry_run or current_settings().output != "table")  # people see them in a dry run
    answer["findings"] += [note.to_dict() for note in notes]
    emit(kind, answer, render=show_format, exit_code=result.outcome.exit_code)


def show_format(page: Page, answer: FormatDict) -> None:
    """The answer `storage.format`."""
    outcome = answer["outcome"]
    page.heading(_TITLES[outcome].format(**answer), _TONES[outcome])
    if outcome == "nothing-to-do":  # what was asked beyond the id is not what is on the disks
        page.fields((("cluster id", answer["cluster_id"]),))
    elif outcome != "refused":
        version = answer["metadata_version"]
        page.fields(
            (
                ("cluster id", answer["cluster_id"]),
                ("metadata.version", f"{version['name']} ({version['level']})"),
                ("kraft.version", answer["kraft_version"]),
                *((name, level) for name, level in answer["features"].items()),
                ("voters", ", ".join(_voter(voter) for voter in answer["voters"]) or None),
            )
        )
    page.table(
        ("directory", "role", "action", "directory id", "files"),
        (
            (
                directory["path"],
                directory["role"],
                _action(directory),
                directory["directory_id"],
                len(directory["files"]) or None,
            )
            for directory in answer["directories"]
        ),
    )
    if outcome == "planned":
        page.groups(
            (Word(file["path"], "strong"), [(f"{file['size']} bytes", f"sha256 {file.get('sha256')}")])
            for directory in answer["directories"]
            for file in directory["files"]
        )
    page.findings(answer["findings"])


def _voter(voter: VoterDict) -> str:
    where = ", ".join(f"{endpoint['host']}:{endpoint['port']}" for endpoint in voter["endpoints"])
    return f"{voter['id']}@{where}:{voter['directory_id']}"


def _action(directory: DirectoryDict) -> Word:
    progress, action = directory["progress"], directory["action"]
    if action != "format" or progress is None:
        return Word(action)
    tones = {"done": "good", "unchanged": "good"}
    words = {"done": "formatted", "unchanged": "formatted before"}
    return Word(words.get(progress, progress), tones.get(progress, "bad"))
