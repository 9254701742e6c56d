"""Changes of a real quorum for the tests of the lab: a goal carried out in process, with a journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkactl.core.values import Endpoint, ReplicaKey, Role, Uuid
from kafkactl.files.clock import SystemClock
from kafkactl.files.journal import open_journal
from kafkactl.kafka.client import Client
from kafkactl.quorum.catch_up import CatchUpLimits
from kafkactl.quorum.change.journal import SUBJECT
from kafkactl.quorum.change.ports import ChangeResult, Event, Goal, QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out, plan_only
from kafkactl.quorum.io.live_quorum import LiveQuorum
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.ports import HOST

QUICK = QuorumWaitPolicy(
    gate=CatchUpLimits(samples=2, span_ms=500), stays_away_ms=1_000, step_ms=15_000, catch_up_ms=30_000
)


def key_of(cluster: KafkaCluster, node_id: int) -> ReplicaKey:
    """Return a controller with the directory it has now."""
    return ReplicaKey(node_id=node_id, directory_id=Uuid.parse(cluster.directory_id(node_id)))


def endpoint_of(cluster: KafkaCluster, node_id: int) -> Endpoint:
    """Return where it answers."""
    return Endpoint(listener="CONTROLLER", host=HOST, port=cluster.disks.controller_ports[node_id])


def change(
    cluster: KafkaCluster,
    goal: Goal,
    journal: Path,
    *,
    role: Role = Role.CONTROLLER,
    policy: QuorumWaitPolicy = QUICK,
    tell: Callable[[Event], None] = lambda _: None,
    client: Client | None = None,
) -> ChangeResult:
    """Carry out a goal on a cluster, with a client of one's own where it is given (it is closed)."""
    with (
        client or cluster.client(role) as opened_client,
        LiveQuorum(opened_client, with_brokers=goal.asks_brokers) as world,
        open_journal(str(journal), subject=SUBJECT, cluster_id=world.cluster_id) as opened,
    ):
        return carry_out(world, goal, opened, clock=SystemClock(), policy=policy, tell=tell)


def plan(cluster: KafkaCluster, goal: Goal, *, role: Role = Role.CONTROLLER) -> ChangeResult:
    """Return what it would do."""
    with cluster.client(role) as client, LiveQuorum(client, with_brokers=goal.asks_brokers) as world:
        return plan_only(world, goal, clock=SystemClock(), policy=QUICK)
