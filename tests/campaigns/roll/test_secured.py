"""Rolls of clusters whose listeners all take TLS and a login, with an authorizer, by a driver with few rights."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.protocol.schema.rights import command_rights, request_rights
from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.pool import Pool
from tests.lab.harness.services.guarded_cluster import ADMIN, SECRETS, GuardedCluster
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import ACCEPTED, canary, create_topics, differences, stops
from tests.proof_page import record_part

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # these are of kafka-python's making
]
OLD, NEW = "3.9.2", "4.3.1"
TOPICS = {"canary": (6, 3, {"min.insync.replicas": "2"}), "orders": (12, 3, {"min.insync.replicas": "2"})}


def rights_of_roll() -> list[str]:
    """Return the operations that docs/clusters.md names for `roll`."""
    row = next(row for row in command_rights() if "roll" in row.names)
    return list(dict.fromkeys(request_rights()[name].right.operation for name in (*row.answer, *row.change)))


@pytest.fixture
def cluster(lab_pool: Pool, storage_tool: StorageToolServer, tmp_path: Path) -> Iterator[GuardedCluster]:
    with GuardedCluster(OLD, tmp_path / "cluster", controllers=3, brokers=3) as cluster:
        cluster.start()
        login = {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "admin",
            "sasl_plain_password": ADMIN,
            "ssl_cafile": str(cluster.disks.workdir / "authority.pem"),
        }
        create_topics(cluster, TOPICS, **login)
        yield cluster


def acl(cluster: GuardedCluster, tool: StorageToolServer, action: str, *operations: str) -> None:
    words = [word for operation in operations for word in ("--operation", operation)]
    cluster.acls(tool, action, "--allow-principal", "User:ops", *words, "--cluster")


def test_secured_cluster_is_upgraded_and_rolled_back_by_a_driver_with_the_rights_of_the_table(
    cluster: GuardedCluster, storage_tool: StorageToolServer
) -> None:
    # Meanwhile each broker gets a renewed certificate of the same authority before its first start.
    acl(cluster, storage_tool, "--add", *rights_of_roll())
    renewed: list[int] = []

    def renew(held: Rolled, node_id: int) -> dict[str, Any] | None:
        if node_id not in renewed:
            renewed.append(node_id)
            cluster.disks.authority.identity("renewed").save(cluster.disks.workdir, f"certificate-{node_id}")
        return None

    took: list[float] = []
    missed: list[str] = []
    moves: list[int] = []
    own = cluster.client_file("ops")
    with (
        Rolled(cluster, client_file=own) as rolled,
        canary(cluster, client_file=cluster.client_file("admin")) as producer,
    ):
        for broker_id in cluster.broker_ids:
            rolled.faults["start", broker_id] = renew
        for verb, release in (("run", NEW), ("rollback", OLD)):
            began = time.monotonic()
            answer = rolled.kafkactl(verb, "--to", release, *ACCEPTED)
            took.append(time.monotonic() - began)
            missed += differences(answer)
            counted = [step["observed"] for step in answer["steps"] if step["action"] == "stop"]
            moves.append(sum(effect["leader_changes"] or 0 for effect in counted))
            assert answer["outcome"] == "done"
            assert {node["release"] for node in answer["proof"]} == {release}
    assert (len(stops(rolled)), sorted(renewed), missed) == (12, [11, 12, 13], [])
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    assert SECRETS["ops"] not in rolled.stderr
    record_part(
        PAGE,
        HEAD,
        f"{OLD} to {NEW} and back, 6 separate nodes, SASL_SSL and StandardAuthorizer",
        f"the driver has {', '.join(rights_of_roll())}; certificates of brokers replaced at their start; forward "
        f"{took[0]:.0f} s, back {took[1]:.0f} s; {moves[0]} and {moves[1]} leader changes, each as predicted; "
        f"canary: {counts['acked']} acked, {counts['errors']} errors, longest gap {counts['longest_gap_ms']} ms, "
        f"{counts['lost']} lost",
    )
