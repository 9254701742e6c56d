"""Scenarios of `kafkactl dryrun` about the quorum and the log itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.dryrun.run import CODES, Common, NodeIds, answer, scenario_options
from kafkactl.commands.framework.leaf import leaf_command

if TYPE_CHECKING:
    from kafkactl.dryrun.scenarios.controllers import Observed


@leaf_command(
    "controllers",
    examples=(
        "kafkactl dryrun controllers /disk1/__cluster_metadata-0 --lose 2,3",
        "kafkactl dryrun controllers /disk1/__cluster_metadata-0 --down 3 --remove 2",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--down", type=NodeIds(), default=[], metavar="IDS", help="Controllers that do not answer now.")
@click.option("--lose", type=NodeIds(), metavar="IDS", help="Controllers that are lost.")
@click.option("--add", metavar="ID:DIR[@LISTENER://HOST:PORT]", help="A voter that is added.")
@click.option("--remove", metavar="ID[:DIR]", help="A voter that is removed.")
@click.option("--cluster-id", metavar="ID", help="The cluster id that the request would carry.")
def controllers(
    *,
    common: Common,
    down: list[int],
    lose: list[int] | None,
    add: str | None,
    remove: str | None,
    cluster_id: str | None,
) -> None:
    """Whether the quorum lives on when voters are lost, added or removed.

    Kafka takes a change of voters that can never commit; here the verdict is wedged. With
    --from-cluster, voters that are not seen to follow the live leader count as down.
    """
    from kafkactl.dryrun.scenarios.controllers import parse_wish

    if sum(one is not None for one in (lose, add, remove)) > 1:
        raise click.UsageError("Give one of --lose, --add and --remove.")
    wishes: dict[str, Any] = {}
    for name, text in (("add", add), ("remove", remove)):
        wish = None if text is None else parse_wish(text)
        directory = None if wish is None or wish.directory_id is None else str(wish.directory_id)
        wishes[name] = wish and {"id": wish.node_id, "directory_id": directory, "endpoint": wish.endpoint}
    asked = {"down": down, "lose": lose or [], **wishes, "cluster_id": cluster_id}
    added = frozenset({wishes["add"]["id"]}) if wishes["add"] else frozenset[int]()
    answer(common, "controllers", asked, observed=observed_quorum(common, added) if common.from_cluster else None)


def observed_quorum(common: Common, added: frozenset[int] = frozenset()) -> Observed:
    """The live quorum. Raises UnreachableError where no controller leads for as long as the quorum is watched."""
    from kafkactl.adapters.kafka.quorum_view import QuorumObserver
    from kafkactl.commands.framework.connection import open_client
    from kafkactl.dryrun.scenarios.controllers import Observed
    from kafkactl.errors import UnreachableError
    from kafkactl.quorum.liveness import is_steady

    with open_client(common.connection) as client, QuorumObserver(client) as observer:
        state = observer.prove(node_ids=added)
    if not is_steady(state):
        raise UnreachableError(
            "who of the voters is alive could not be observed: no leader, or the leader changed meanwhile",
            id="quorum-not-steady",
            next_step="Run the command again once the quorum keeps one leader; see `kafkactl quorum describe`.",
        )
    asked = (*state.voters, *(one for one in state.observers if one.id in added))
    return Observed(
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        cluster_id=state.cluster_id,
        not_alive={one.id: one.evidence or "was not seen to advance" for one in asked if one.alive is not True},
    )


@leaf_command(
    "replay",
    examples=(
        "kafkactl dryrun replay /disk1/__cluster_metadata-0",
        "kafkactl dryrun replay /disk1/__cluster_metadata-0 --at 5000 -o json",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--at", type=click.IntRange(min=0), metavar="OFFSET", help="The state after this offset.")
def replay(*, common: Common, at: int | None) -> None:
    """What a log holds and leads to: record counts, the state in numbers, its SHA-256."""
    answer(common, "replay", {"at": at}, at=at)


@leaf_command(
    "growth",
    examples=("kafkactl dryrun growth /disk1/__cluster_metadata-0 --days 30",),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option("--days", type=click.IntRange(min=1), default=30, show_default=True, metavar="N", help="How far ahead.")
def growth(*, common: Common, days: int) -> None:
    """How large log and snapshots become, and how long a controller takes to load them."""
    answer(common, "growth", {"days": days})


@leaf_command(
    "restart",
    examples=("kafkactl dryrun restart /disk1/__cluster_metadata-0",),
    codes=CODES,
    timeout="1h",
)
@scenario_options
@click.option(
    "--node", type=click.IntRange(min=0), metavar="ID", help="The node whose files these are; for the record."
)
def restart(*, common: Common, node: int | None) -> None:
    """What a node that starts on this log will believe, where it is not what the controller knows.

    A starting node replays the log in large reads, and three defects of Kafka show there: SCRAM users
    can be lost, configurations of removed topics and records of aborted transactions can come back.
    """
    answer(common, "restart", {"node": node})
