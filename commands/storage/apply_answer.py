"""How the answer of `apply` is shown to people: every node as it was checked, and as it was then applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.operations.storage.answers import AppliedNodeDict, ApplyDict, DirectoryDict, FileDict

_TITLES = {
    "done": ("Formatted as planned", "good"),
    "nothing-to-do": ("All of it is formatted as planned already", "good"),
    "planned": ("Would format", "strong"),
    "refused": ("Refused: nothing was written on any node", "bad"),
    "failed": ("Failed", "bad"),
    "partial": ("Done in part", "bad"),
    "unknown": ("The outcome is unknown", "bad"),
}


def show_apply(page: Page, answer: ApplyDict) -> None:
    """The answer `storage.apply`."""
    page.heading(*_TITLES[answer["outcome"]])
    page.fields((("cluster id", answer["cluster_id"]), ("Kafka", answer["kafka_version"])))
    page.groups((f"node {node['id']}  {node['host']}: {node['outcome']}", _rows(node)) for node in answer["nodes"])
    page.findings(answer["findings"])


def _rows(node: AppliedNodeDict) -> list[tuple[str, str, str, str | None]]:
    rows = []
    for directory in node["directories"]:
        what = directory["progress"] or directory["action"]
        rows.append((directory["role"], what, directory["path"], directory["directory_id"]))
        if what == "format":  # not done yet: what exactly will be
            rows += [("", "file", file["path"], _access(file, directory)) for file in directory["files"]]
    users = node["scram_users"] or ()
    return rows + [("user", user["mechanism"], user["name"], f"{user['iterations']} iterations") for user in users]


def _access(file: FileDict, directory: DirectoryDict) -> str:
    return f"mode {file['mode'] or 'by umask'}, owner {directory['owner'] or 'this user'}, {file['size']} bytes"
