"""`kafkactl dryrun`: the table of its scenarios. Each is a leaf of one of a few modules."""

from __future__ import annotations

import click

from kafkactl.commands.framework.lazy_group import Entry, LazyGroup

_BROKERS = "kafkactl.commands.dryrun.brokers"
_REQUESTS = "kafkactl.commands.dryrun.requests"
_CLUSTER = "kafkactl.commands.dryrun.cluster"

SCENARIOS = {
    "broker-loss": Entry(_BROKERS, "broker_loss", "Brokers crash or are shut down; or the worst that K can do."),
    "broker-return": Entry(_BROKERS, "broker_return", "Brokers that are down come back."),
    "rolling-restart": Entry(_BROKERS, "rolling_restart", "Every broker once; the safest order."),
    "unregister-broker": Entry(_BROKERS, "unregister_broker", "A broker's registration is taken away."),
    "elect-leaders": Entry(_REQUESTS, "elect_leaders", "Preferred or unclean elections."),
    "alter-config": Entry(_REQUESTS, "alter_config", "A configuration changes, and whom that strands."),
    "reassignment": Entry(_REQUESTS, "reassignment", "A reassignment plan: does it end?"),
    "features": Entry(_REQUESTS, "features", "Feature levels change: would Kafka accept it?"),
    "controllers": Entry(_CLUSTER, "controllers", "Voters are lost, added or removed."),
    "replay": Entry(_CLUSTER, "replay", "What the log holds and leads to."),
    "restart": Entry(_CLUSTER, "restart", "What a node that replays this log will believe."),
    "growth": Entry(_CLUSTER, "growth", "Log and snapshots after some days; how long a start takes."),
    "zk-migration": Entry(
        "kafkactl.commands.dryrun.zk_migration", "zk_migration", "The copy from ZooKeeper: records, time, what fails."
    ),
    "report": Entry(
        "kafkactl.commands.dryrun.report", "report", "All that needs no argument, as one page with pictures."
    ),
}


@click.group(
    "dryrun",
    cls=LazyGroup,
    entries=SCENARIOS,
    examples=(
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --brokers 3,4",
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --worst 2",
        "kafkactl dryrun rolling-restart /disk1/__cluster_metadata-0 --config server.properties",
    ),
)
def command() -> None:
    """Replay a cluster's metadata log and say what would happen, before it is done.

    A SOURCE is a __cluster_metadata-0 folder, the log directory around it, or single .log and
    .checkpoint files. Sources with one cluster id (meta.properties beside or above the log) are
    replicas of one log; others are other clusters, each with an answer of its own. --from-cluster
    fetches the log from the active controller of a live cluster. Nothing is written there, and nothing
    else is asked: what the log does not tell is assumed, and told.
    """
