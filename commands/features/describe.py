"""`kafkactl features describe`: the finalized levels, and what every node supports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import completing_live, exit_codes
from kafkactl.commands.framework.bundles import bundle_option, stored_as
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.answers import read_fields
from kafkactl.core.wording import counted, first_few

if TYPE_CHECKING:
    from kafkactl.cluster.describe import FeatureSeen, MemberSeen, NodeRange
    from kafkactl.features.api.description import FeatureDescription


@leaf_command(
    "describe",
    examples=(
        "kafkactl features describe --bootstrap-server b1:9092",
        "kafkactl features describe --bootstrap-controller c1:9093 -o json",
        "kafkactl features describe --bootstrap-server b1:9092 --node-id 4",
    ),
    codes=(exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.INTERRUPTED),
)
@click.option(
    "--node-id",
    shell_complete=completing_live.nodes,
    type=click.IntRange(min=0),
    metavar="ID",
    help="Show only this node's response. [default: all nodes]",
)
@bundle_option
@reading_options
def command(*, node_id: int | None, bundle: str | None, connection: ConnectionArguments) -> None:
    """Show every feature: the level that is finalized, and the levels that each node supports.

    In a pipe the lines of `kafka-features.sh describe` come first, in the form of the cluster's
    release. Information that could not be obtained is reported as unknown. On the host of a node no
    option is needed: the node's own configuration names the cluster.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.features.api.description import FeatureDescription, describe

    if bundle is not None:
        if node_id is not None or any(connection):
            raise click.UsageError("--bundle is used alone: it contains the answer of a cluster.")
        saved, answer, _ = stored_as(partial(read_fields, FeatureDescription), bundle, "features.describe")
        emit("features.describe", answer, render=lambda page, _: _show_all(page, saved), listing="features")
    with open_reading_client(connection) as client:
        found = describe(client, node_id=node_id, timeout_ms=current_settings().timeout_ms)

    def show(page: Page, answer: FeatureDescription) -> None:
        if sys.stdout.isatty():
            _show(page, answer)
        else:
            for line in answer.lines:
                page.tabbed(line)
            _show_nodes(page, answer)
        page.findings(answer.findings)

    emit("features.describe", found, render=show, listing="features")


def _show_all(page: Page, answer: FeatureDescription) -> None:
    _show(page, answer)
    page.findings(answer.findings)


def _show(page: Page, answer: FeatureDescription) -> None:
    page.heading(f"Cluster {answer.cluster_id or '(id not known)'}")
    leader, epoch = answer.active_controller, answer.finalized_epoch
    page.fields(
        (
            ("active controller", Word("not known", "warn") if leader is None else leader),
            ("nodes", _crowd(answer.nodes)),
            ("finalized epoch", epoch),
        )
    )
    differing = {feature.name: _differing(feature) for feature in answer.features}
    has_any = any(differing.values())
    page.table(
        ("feature", "finalized", "supported by all", *(("nodes that differ",) if has_any else ())),
        (
            (
                feature.name,
                _finalized(feature),
                _range(feature),
                *((differing[feature.name] or "none",) if has_any else ()),
            )
            for feature in answer.features
        ),
    )
    _show_nodes(page, answer)


def _show_nodes(page: Page, answer: FeatureDescription) -> None:
    """Show the version of each node; nothing if all nodes answer and are alike."""
    versions = {node.kafka_version for node in answer.nodes}
    if len(versions) > 1 or any(node.answers is not True for node in answer.nodes):
        page.table(
            ("node", "role", "answers", "kafka"),
            ((node.id, node.role, _answers(node.answers), node.kafka_version) for node in answer.nodes),
        )


def _crowd(nodes: Sequence[MemberSeen]) -> str:
    words = []
    for role in ("controller", "broker"):
        of_role = [node for node in nodes if node.role == role]
        silent = sum(node.answers is not True for node in of_role)
        words += [counted(len(of_role), role)] if of_role else []
        words[-1:] = [f"{words[-1]} ({silent} without an answer)"] if silent else words[-1:]
    return ", ".join(words)


def _answers(answers: bool | None) -> Word:
    return {True: Word("yes", "good"), False: Word("no", "bad"), None: Word("not asked", "warn")}[answers]


def _finalized(feature: FeatureSeen) -> Word:
    level, name = feature.finalized, feature.finalized_name
    if level is None:
        return Word("?", "warn")
    if not level:
        return Word("off", "dim")
    return Word(f"{level}" if name is None else f"{level} ({name})")


def _range(feature: FeatureSeen) -> Word:
    low, high = feature.supported_min, feature.supported_max
    if low is None or high is None:
        return Word("none", "bad")
    return Word(_span(feature.name, low, high))


def _span(name: str, low: int, high: int) -> str:
    from kafkactl.features.api.levels import level_name

    return f"{level_name(name, low)} to {level_name(name, high)}"


def _differing(feature: FeatureSeen) -> str:
    """Return the nodes whose range differs from the common one; "" if there is none."""
    common = (feature.supported_min, feature.supported_max)
    levels = [
        f"{node.role} {node.id}: {_range_of(feature.name, node)}" for node in feature.nodes if _is_other(node, common)
    ]
    return _shortened(levels)


def _is_other(node: NodeRange, common: Sequence[int | None]) -> bool:
    return node.min is not None and (node.min, node.max) != tuple(common)


def _range_of(name: str, node: NodeRange) -> str:
    return _span(name, node.min or 0, node.max) if node.max else "not supported"


def _shortened(levels: Sequence[str], most: int = 4) -> str:
    return first_few(levels, most)
