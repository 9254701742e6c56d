"""`kafkactl dryrun`: the table of its scenarios, read by `--help` without importing one.

A scenario is a module of `kafkactl.dryrun.scenarios`, found by its name; what is not about a metadata log, or about
several scenarios at once, has a module of its own.
"""

from __future__ import annotations

import click

from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

_SCENARIO = "kafkactl.commands.dryrun.leaf"


def _scenario(short_help: str) -> Entry:
    return Entry(_SCENARIO, "scenario_command", short_help)


SCENARIOS = {
    "broker-loss": _scenario("Predict the loss of brokers, or the worst loss of K brokers."),
    "broker-return": _scenario("Predict the return of brokers that are down."),
    "rolling-restart": _scenario("Predict a restart of every broker, in the safest order."),
    "unregister-broker": _scenario("Predict the removal of a broker's registration."),
    "elect-leaders": _scenario("Predict preferred or unclean leader elections."),
    "alter-config": _scenario("Predict a change of configuration, and what it affects."),
    "reassignment": _scenario("Predict whether a reassignment plan completes."),
    "features": _scenario("Predict whether Kafka accepts a change of feature levels."),
    "controllers": _scenario("Predict the loss, addition or removal of voters."),
    "replay": _scenario("Show what the log contains, and the state it results in."),
    "restart": _scenario("Predict the state of a node that replays this log."),
    "growth": _scenario("Predict log, snapshots and start-up time after some days."),
    "zk-migration": Entry(
        "kafkactl.commands.dryrun.zk_migration",
        "zk_migration",
        "Predict the copy from ZooKeeper: records, time, failures.",
    ),
    "report": Entry(
        "kafkactl.commands.dryrun.report", "report", "Run all scenarios without arguments, as one HTML report."
    ),
}


class ScenarioGroup(LazyGroup):
    """A group that makes the command of a scenario from its description."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; None if the table has none."""
        entry = self.entries.get(cmd_name)
        if entry is None or entry.module != _SCENARIO:
            return super().get_command(ctx, cmd_name)
        from kafkactl.commands.dryrun.leaf import scenario_command
        from kafkactl.dryrun.api import find_scenario

        return scenario_command(find_scenario(cmd_name))


@click.group(
    "dryrun",
    cls=ScenarioGroup,
    entries=SCENARIOS,
    examples=(
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --brokers 3,4",
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --worst 2",
        "kafkactl dryrun rolling-restart /disk1/__cluster_metadata-0 --config server.properties",
    ),
)
def command() -> None:
    """Replay a cluster's metadata log and predict the effect of failures and changes.

    A SOURCE is a __cluster_metadata-0 folder, the log directory around it, or single .log and
    .checkpoint files. Sources with one cluster id (meta.properties next to or above the log) are
    replicas of one log; others are other clusters, each with its own answer. --from-cluster fetches
    the log from the active controller of a live cluster and changes nothing there. Information that
    the log does not contain is assumed, and the assumptions are listed.
    """
