"""`kafkactl storage verify`: will this node start on its disks, and what would it lose?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import find_node_file
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.storage.api.reading import NodeVerification

_COLUMNS = (
    ("directory", "path"), ("role", "role"), ("state", "state"), ("cluster", "cluster_id"), ("node", "node_id"),
    ("directory id", "directory_id"),
)  # fmt: skip
_VERDICTS: dict[bool | None, tuple[str, str]] = {
    True: ("starts", "good"),
    False: ("does not start", "bad"),
    None: ("may or may not start", "warn"),
}


@leaf_command(
    "verify",
    examples=(
        "kafkactl storage verify -c server.properties",
        "kafkactl storage verify -c server.properties --kafka-version 3.9.2 -o json",
    ),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.PROBLEMS_FOUND),
    timeout="10m",
    has_metrics=True,
)
@click.option(
    "-c", "--config", metavar="FILE",
    help="The node's configuration (server.properties). [default: that of the one node found on this host]",
)  # fmt: skip
@kafka_version_option
def command(config: str | None, kafka_version: str | None) -> None:
    """Predict the start of a node from its configuration and its disks. Nothing is written.

    Three kinds of problems are reported: the node exits with an error, it waits indefinitely without
    one, or it starts and silently loses something: features, users, replicas, the whole metadata log.
    The exit code is 7 for each of them. Run it as the user that runs Kafka, because permissions are
    checked for that user. Other nodes of the cluster are assumed to be running and healthy.
    """
    from kafkactl.storage.api.reading import verify_node

    verified = verify_node(config or find_node_file().path, kafka_version=kafka_version)
    emit(
        "storage.verify",
        verified,
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if verified.has_problems else exit_codes.DONE,
    )


def _show(page: Page, verified: NodeVerification) -> None:
    found = verified.verification
    verdict, tone = _VERDICTS[found.will_start]
    who = "The node" if verified.node_id is None else f"Node {verified.node_id}"
    loses = " and loses something" if found.will_start is not False and found.would_lose else ""
    page.heading(f"{who} {verdict} with Kafka {verified.kafka_version}{loses}", "warn" if loses else tone)
    failure = found.expected_failure
    directories: Sequence[Mapping[str, Any]] = found.directories
    same = _same_everywhere(directories)
    page.fields(
        (
            ("phase", failure.phase.word if failure else None),
            ("in its log", failure.message if failure else None),
            ("starts with", ", ".join(verified.starts_with or ()) or None),
            *((name, value) for name, value in same.items()),
        )
    )
    page.table(
        ("lost", "of", "what happens"),
        ((Word(loss.what, "bad"), loss.subject, loss.message) for loss in found.would_lose),
    )
    columns = [(name, key) for name, key in _COLUMNS if name not in same]
    page.table(
        [name for name, _ in columns],
        ([_shown(directory[key]) for _, key in columns] for directory in directories),
    )
    page.findings(found.findings)


def _same_everywhere(directories: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the cluster and the node if all directories have the same one: it is then no column of the table."""
    found = {
        name: {directory[key] for directory in directories} for name, key in _COLUMNS if name in ("cluster", "node")
    }
    return {name: str(values.pop()) for name, values in found.items() if len(values) == 1 and None not in values}


def _shown(value: object) -> str | None:
    return None if value is None else str(value)
