"""The answer of `format`, `ensure` and `apply` about one node: `storage.format` (cli.md 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.findings import Finding, Outcome
    from kafkactl.storage.model import Applied, FormatPlan, Owner, PlannedDirectory

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


def format_answer(
    plan: FormatPlan, *, outcome: Outcome, findings: Sequence[Finding], applied: Applied | None, digests: bool = True
) -> dict[str, Any]:
    """The payload. `applied` is None where nothing was tried; without `digests`, files have no `sha256`."""
    return {
        "outcome": outcome,
        "cluster_id": plan.cluster_id,
        "node_id": plan.node_id,
        "kafka_version": plan.kafka_version,
        "metadata_version": {"level": plan.metadata_version_level, "name": plan.metadata_version_name},
        "kraft_version": plan.kraft_version,
        "features": dict(plan.features),
        "voters": [
            {
                "id": voter.node_id,
                "directory_id": str(voter.directory_id),
                "endpoints": [
                    {"listener": one.listener, "host": one.host, "port": one.port} for one in voter.endpoints
                ],
            }
            for voter in plan.voters
        ],
        "directories": [_directory(directory, plan.owner, applied, digests) for directory in plan.directories],
        "findings": list(findings),
    }


def _directory(
    directory: PlannedDirectory, owner: Owner | None, applied: Applied | None, digests: bool
) -> dict[str, Any]:
    return {
        "path": directory.path,
        "role": directory.role,
        "directory_id": None if directory.directory_id is None else str(directory.directory_id),
        "action": directory.action,
        "progress": None if applied is None else applied.progress[directory.path],
        "owner": None if owner is None else owner.text,
        "files": [
            {
                "path": str(PurePosixPath(directory.path) / file.name),
                "size": len(file.content),
                "mode": None if file.mode is None else f"{file.mode:04o}",
                **({"sha256": _sha256(file.content)} if digests else {}),
            }
            for file in directory.files
        ],
    }


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def show_format(page: Page, answer: Mapping[str, Any]) -> None:
    """The same answer for people."""
    outcome = answer["outcome"]
    page.heading(_TITLES[outcome].format(**answer), _TONES[outcome])
    if outcome == "nothing-to-do":  # what was asked beyond the id is not what stands on the disks
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
            (one["path"], one["role"], _action(one), one["directory_id"], len(one["files"]) or None)
            for one in answer["directories"]
        ),
    )
    if outcome == "planned":
        page.groups(
            (Word(file["path"], "strong"), [(f"{file['size']} bytes", f"sha256 {file['sha256']}")])
            for one in answer["directories"]
            for file in one["files"]
        )
    page.findings(answer["findings"])


def _voter(voter: Mapping[str, Any]) -> str:
    where = ", ".join(f"{one['host']}:{one['port']}" for one in voter["endpoints"])
    return f"{voter['id']}@{where}:{voter['directory_id']}"


def _action(directory: Mapping[str, Any]) -> Word:
    progress, action = directory["progress"], directory["action"]
    if action != "format" or progress is None:
        return Word(action)
    tones = {"done": "good", "unchanged": "good"}
    words = {"done": "formatted", "unchanged": "formatted before"}
    return Word(words.get(progress, progress), tones.get(progress, "bad"))
