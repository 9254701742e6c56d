"""`kafkactl features verify`: proof that levels are in force on every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkactl.commands.features.options import level_options
from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.features.api.cluster import LevelProof
    from kafkactl.features.change.proof import NodeProof


@leaf_command(
    "verify",
    examples=(
        "kafkactl features verify --bootstrap-server b1:9092",
        "kafkactl features verify --bootstrap-server b1:9092 --metadata 4.3 --wait 1m",
        "kafkactl features verify --bootstrap-controller c1:9093 --feature group.version=1 -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.PROBLEMS_FOUND, exit_codes.INTERRUPTED,
    ),
    timeout="2m",
)  # fmt: skip
@level_options
@click.option(
    "--wait",
    "wait_ms",
    type=Duration(),
    metavar="TIME",
    help="Repeat until all nodes have the levels, at most this long.",
)
@reading_options
def command(
    *,
    metadata: str | None,
    features: tuple[str, ...],
    release_version: str | None,
    wait_ms: int | None,
    connection: ConnectionArguments,
) -> None:
    """Query every node for its levels. Exit code 7 if a node has others, or did not respond.

    Without given levels, all nodes are compared with the active controller. Only levels are
    compared: epochs differ even between nodes that agree.
    """
    from kafkactl.features.api.cluster import verify_levels

    with open_reading_client(connection) as client:
        found = verify_levels(
            client, metadata=metadata, features=features, release_version=release_version, wait_ms=wait_ms or 0
        )
    emit(
        "features.verify",
        found,
        render=_show,
        exit_code=exit_codes.DONE if found.is_proved else exit_codes.PROBLEMS_FOUND,
    )


def _show(page: Page, found: LevelProof) -> None:
    nodes = found.proof.nodes
    if found.is_proved:
        shown = len([node for node in nodes if node.levels is not None])
        page.heading(f"All {shown} nodes that live have these levels", "good")
    else:
        page.heading("Not every node has these levels, or shows it", "bad")
    page.table(
        ("feature", "wanted", "nodes that have it", "nodes that have not"),
        ((name, level, *_counted(nodes, name, level)) for name, level in sorted(found.wanted.items())),
    )
    page.findings(found.findings)


def _counted(proof: Sequence[NodeProof], name: str, level: int) -> tuple[int, Word]:
    have = sum(node.levels is not None and node.levels[name] == level for node in proof)
    lacking = [node for node in proof if node.levels is None or node.levels[name] != level]
    names = [f"{node.role} {node.node_id}" + (" (unknown)" if node.levels is None else "") for node in lacking]
    return have, Word(", ".join(names) or "none", "bad" if names else "plain")
