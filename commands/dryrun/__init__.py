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
    "broker-loss": _scenario("Brokers crash or are shut down; or the worst that K can do."),
    "broker-return": _scenario("Brokers that are down come back."),
    "rolling-restart": _scenario("Every broker once; the safest order."),
    "unregister-broker": _scenario("Predict the removal of a broker's registration."),
    "elect-leaders": _scenario("Preferred or unclean elections."),
    "alter-config": _scenario("A configuration changes, and whom that strands."),
    "reassignment": _scenario("A reassignment plan: does it end?"),
    "features": _scenario("Feature levels change: would Kafka accept it?"),
    "controllers": _scenario("Voters are lost, added or removed."),
    "replay": _scenario("What the log holds and leads to."),
    "restart": _scenario("What a node that replays this log will believe."),
    "growth": _scenario("Log and snapshots after some days; how long a start takes."),
    "zk-migration": Entry(
        "kafkactl.commands.dryrun.zk_migration", "zk_migration", "The copy from ZooKeeper: records, time, what fails."
    ),
    "report": Entry(
        "kafkactl.commands.dryrun.report", "report", "All scenarios without arguments, as one HTML report."
    ),
}


class ScenarioGroup(LazyGroup):
    """A group that makes the command of a scenario from its description."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if the table has none."""
        entry = self.entries.get(cmd_name)
        if entry is None or entry.module != _SCENARIO:
            return super().get_command(ctx, cmd_name)
        from kafkactl.commands.dryrun.leaf import scenario_command
        from kafkactl.operations.dryrun import find_scenario

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
