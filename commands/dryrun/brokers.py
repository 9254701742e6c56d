"""Scenarios of `kafkactl dryrun` about brokers: lost, back, restarted, unregistered."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.dryrun.run import CODES, Common, NodeIds, answer, scenario_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice


class _Order(NodeIds):
    """Node ids, or the word auto."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The ids in their order, or "auto"."""
        return value if value == "auto" else super().convert(value, param, ctx)


@leaf_command(
    "broker-loss",
    examples=(
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --brokers 3,4",
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --brokers 3 --mode controlled --records -o json",
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --worst 2",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--brokers", type=NodeIds(), metavar="IDS", help="The brokers that are lost together.")
@click.option("--mode", type=Choice(("crash", "controlled")), default="crash", show_default=True, help="How they go.")
@click.option("--in-order", is_flag=True, help="Play the order given, not every order.")
@click.option("--worst", type=click.IntRange(min=1), metavar="K", help="Search all sets of K live brokers.")
def broker_loss(*, common: Common, brokers: list[int] | None, mode: str, in_order: bool, worst: int | None) -> None:
    """What happens when brokers are lost.

    Brokers that are lost together are noticed one after the other, in an order that nobody can
    tell: every order is played, and where it decides, all outcomes are listed.
    """
    if (brokers is None) == (worst is None):
        raise click.UsageError("Give --brokers, or --worst.")
    if worst is not None and (in_order or mode != "crash"):
        raise click.UsageError("--worst looks for crashes in every order; --mode and --in-order go with --brokers.")
    asked: dict[str, Any] = {"brokers": brokers, "mode": mode, "in_order": in_order}
    answer(common, "broker-loss", asked if worst is None else {"worst": worst})


@leaf_command(
    "broker-return",
    examples=("kafkactl dryrun broker-return /disk1/__cluster_metadata-0 --brokers 3",),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--brokers", type=NodeIds(), required=True, metavar="IDS", help="The brokers that come back.")
@click.option("--empty-disks", is_flag=True, help="With new disks: what was on theirs is gone.")
@click.option("--in-order", is_flag=True, help="One after the other, each in sync before the next starts.")
def broker_return(*, common: Common, brokers: list[int], empty_disks: bool, in_order: bool) -> None:
    """What happens when brokers that are down come back.

    Brokers that return together register in any order: every order is played, and where it
    decides, all outcomes are listed. Brokers that were unregistered register again.

    Whether a broker went down in order is taken from the log; with eligible leader replicas it
    decides whether the broker may lead at once.
    """
    answer(common, "broker-return", {"brokers": brokers, "empty_disks": empty_disks, "in_order": in_order})


@leaf_command(
    "rolling-restart",
    examples=(
        "kafkactl dryrun rolling-restart /disk1/__cluster_metadata-0",
        "kafkactl dryrun rolling-restart /disk1/__cluster_metadata-0 --order 3,1,2",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option(
    "--order", type=_Order(), default="auto", metavar="IDS|auto", show_default=True, help="The brokers in their order."
)
def rolling_restart(*, common: Common, order: list[int] | str) -> None:
    """What each step of a rolling restart does, and the safest order."""
    answer(common, "rolling-restart", {"order": order})


@leaf_command(
    "unregister-broker",
    examples=("kafkactl dryrun unregister-broker /disk1/__cluster_metadata-0 --broker 4",),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--broker", type=click.IntRange(min=0), required=True, metavar="ID", help="The broker.")
def unregister_broker(*, common: Common, broker: int) -> None:
    """What unregistering a broker does, to its partitions and to itself if it lives."""
    answer(common, "unregister-broker", {"broker": broker})
