"""Scenarios of `kafkactl dryrun` about requests that an operator sends."""

from __future__ import annotations

from pathlib import Path

import click

from kafkactl.commands.dryrun.run import CODES, Common, NodeIds, answer, scenario_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice


@leaf_command(
    "elect-leaders",
    examples=(
        "kafkactl dryrun elect-leaders /disk1/__cluster_metadata-0 --type preferred",
        "kafkactl dryrun elect-leaders /disk1/__cluster_metadata-0 --type unclean --topic orders:3",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option(
    "--type", "kind", type=Choice(("preferred", "unclean")), default="preferred", show_default=True,
    help="Which election.",
)  # fmt: skip
@click.option("--topic", "topics", multiple=True, metavar="T[:P]", help="Only these partitions. Repeatable.")
def elect_leaders(*, common: Common, kind: str, topics: tuple[str, ...]) -> None:
    """What kafka-leader-election.sh would do."""
    answer(common, "elect-leaders", {"type": kind, "topics": list(topics)})


@leaf_command(
    "alter-config",
    examples=(
        "kafkactl dryrun alter-config /disk1/__cluster_metadata-0 --entity topic:orders --set min.insync.replicas=2",
        "kafkactl dryrun alter-config /disk1/__cluster_metadata-0 --entity cluster --delete log.retention.ms",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--entity", required=True, metavar="ENTITY", help="topic:NAME, broker:ID or cluster.")
@click.option("--set", "settings", multiple=True, metavar="K=V", help="Set a key. Repeatable.")
@click.option("--delete", "deleted", multiple=True, metavar="K", help="Delete a key. Repeatable.")
@click.option("--through-broker", is_flag=True, help="Sent to a broker, which checks it first, not to a controller.")
def alter_config(
    *, common: Common, entity: str, settings: tuple[str, ...], deleted: tuple[str, ...], through_broker: bool
) -> None:
    """What a change of configuration writes, and which partitions it strands.

    With eligible leader replicas, touching min.insync.replicas forgets who may lead: a partition
    that has no leader at that moment then stays without one.
    """
    split = [text.partition("=") for text in settings]
    wrong = [text for text, (key, equals, _) in zip(settings, split, strict=True) if not (key and equals)]
    if wrong:
        raise click.UsageError(f"{wrong[0]!r} sets nothing: write KEY=VALUE.")
    if not settings and not deleted:
        raise click.UsageError("Give --set or --delete.")
    both = [key for key, _, _ in split if key in deleted]
    if both:
        raise click.UsageError(f"{both[0]!r} is both set and deleted.")
    answer(
        common,
        "alter-config",
        {
            "entity": entity,
            "set": {key: value for key, _, value in split},
            "delete": list(deleted),
            "through_broker": through_broker,
        },
    )


@leaf_command(
    "reassignment",
    examples=("kafkactl dryrun reassignment /disk1/__cluster_metadata-0 --plan plan.json",),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--plan", required=True, metavar="FILE", type=click.Path(), help="As kafka-reassign-partitions.sh reads.")
def reassignment(*, common: Common, plan: str) -> None:
    """What a reassignment writes, and whether it can end."""
    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.dryrun.scenarios.reassignment import parse_plan

    text = read_input(Path(plan), "reassignment plan", InputKind.DOCUMENT).decode("utf-8", "replace")
    moves = parse_plan(text, file=plan)
    answer(
        common,
        "reassignment",
        {
            "moves": [
                {
                    "topic": move.topic,
                    "partition": move.partition,
                    "replicas": None if move.replicas is None else list(move.replicas),
                }
                for move in moves
            ]
        },
    )


@leaf_command(
    "features",
    examples=(
        "kafkactl dryrun features /disk1/__cluster_metadata-0 --upgrade metadata.version=30",
        "kafkactl dryrun features /disk1/__cluster_metadata-0 --release-version 4.3",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--upgrade", multiple=True, metavar="NAME=LEVEL", help="Raise a feature. Repeatable.")
@click.option("--downgrade", multiple=True, metavar="NAME=LEVEL", help="Lower a feature. Repeatable.")
@click.option("--disable", multiple=True, metavar="NAME", help="Turn a feature off. Repeatable.")
@click.option("--release-version", metavar="R", help="Raise all features to those of a release.")
@click.option("--unsafe", is_flag=True, help="A downgrade that accepts losses.")
@click.option("--down", type=NodeIds(), default=[], metavar="IDS", help="Nodes that do not answer now.")
def features(
    *,
    common: Common,
    upgrade: tuple[str, ...],
    downgrade: tuple[str, ...],
    disable: tuple[str, ...],
    release_version: str | None,
    unsafe: bool,
    down: list[int],
) -> None:
    """What the controller would answer to a change of feature levels, and what the change does.

    With --from-cluster, voters that are not seen to follow the live leader count as down.
    """
    from kafkactl.commands.dryrun.cluster import observed_quorum
    from kafkactl.features.plan.request import Operation, parse_request

    ways = {Operation.UPGRADE: upgrade, Operation.DOWNGRADE: downgrade, Operation.DISABLE: disable}
    given = [way for way, named in ways.items() if named]
    if len(given) > 1 or bool(given) == (release_version is not None):
        raise click.UsageError("Give one of --upgrade, --downgrade, --disable and --release-version.")
    operation = given[0] if given else Operation.UPGRADE
    request = parse_request(operation, features=ways[operation], release_version=release_version, unsafe=unsafe)
    answer(
        common,
        "features",
        {
            "operation": request.operation.value,
            "levels": dict(request.levels),
            "unsafe": request.unsafe,
            "release_version": request.release_version,
            "down": down,
        },
        observed=observed_quorum(common) if common.from_cluster else None,
    )
