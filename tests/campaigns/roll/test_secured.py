"""Rolls of clusters whose listeners all take TLS and a login, with an authorizer, by a driver with few rights."""

from __future__ import annotations

import json
import re
import shlex
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
from tests.lab.roll.rolling import (
    ACCEPTED,
    canary,
    create_topics,
    differences,
    ids,
    leader_changes,
    stops,
    there_and_back,
    wait_until_quiet,
)
from tests.net.certificates import Authority
from tests.proof_page import record_part

pytestmark = [
    pytest.mark.timeout(1800),
]
OLD, NEW = "3.9.2", "4.3.1"
TOPICS = {"canary": (6, 3, {"min.insync.replicas": "2"}), "orders": (12, 3, {"min.insync.replicas": "2"})}


def rights_of_roll() -> list[str]:
    """Return the operations that docs/clusters.md names for `roll`."""
    row = next(row for row in command_rights() if "roll" in row.names)
    return list(dict.fromkeys(request_rights()[name].right.operation for name in (*row.answer, *row.change)))


def login_of_admin(cluster: GuardedCluster) -> dict[str, object]:
    """Return settings of a Python client of admin."""
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "admin",
        "sasl_plain_password": ADMIN,
        "ssl_cafile": str(cluster.disks.workdir / "authority.pem"),
    }


@pytest.fixture
def cluster(lab_pool: Pool, storage_tool: StorageToolServer, tmp_path: Path) -> Iterator[GuardedCluster]:
    with GuardedCluster(OLD, tmp_path / "cluster", controllers=3, brokers=3) as cluster:
        cluster.start()
        create_topics(cluster, TOPICS, **login_of_admin(cluster))
        yield cluster


def acl(cluster: GuardedCluster, tool: StorageToolServer, action: str, *operations: str) -> None:
    words = [word for operation in operations for word in ("--operation", operation)]
    force = ["--force"] if action == "--remove" else []
    cluster.acls(tool, action, *force, "--allow-principal", "User:ops", *words, "--cluster")


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
        for seconds, answer in there_and_back(rolled, NEW, OLD):
            took.append(seconds)
            missed += differences(answer)
            moves.append(leader_changes(answer))
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


def granted(cluster: GuardedCluster, tool: StorageToolServer, answer: dict[str, Any]) -> str:
    """Carry out the only command that an answer prints to add a right, as admin; return the operation."""
    text = json.dumps(answer["findings"])
    (line,) = set(re.findall(r"kafka-acls\.sh --bootstrap-server .*? --operation \w+ --cluster", text))
    words = shlex.split(line)
    assert words[words.index("--bootstrap-server") + 1] == cluster.bootstrap_server
    assert words[words.index("--allow-principal") + 1] == "User:ops"
    cluster.acls(tool, *words[words.index("--add") :])
    return words[words.index("--operation") + 1]


def test_missing_right_or_certificate_stops_a_roll_and_never_leaves_a_broker_down(
    lab_pool: Pool, storage_tool: StorageToolServer, tmp_path: Path
) -> None:
    words = ("--only", "11", *ACCEPTED)
    with GuardedCluster(OLD, tmp_path / "cluster", controllers=1, brokers=2) as cluster:
        cluster.start()
        create_topics(cluster, {"orders": (4, 2, {"min.insync.replicas": "1"})}, **login_of_admin(cluster))

        def deny(held: Rolled, node_id: int) -> dict[str, Any] | None:
            acl(cluster, storage_tool, "--remove", "Describe")
            return None

        def spoil(held: Rolled, node_id: int) -> dict[str, Any] | None:
            Authority("another authority").identity("node-11").save(cluster.disks.workdir, "certificate-11")
            return None

        with Rolled(cluster, client_file=cluster.client_file("ops")) as rolled:
            acl(cluster, storage_tool, "--add", "ClusterAction")
            assert granted(cluster, storage_tool, rolled.kafkactl("run", *words, code=3)) == "Describe"
            acl(cluster, storage_tool, "--remove", "ClusterAction")
            assert granted(cluster, storage_tool, rolled.kafkactl("run", *words, code=3)) == "ClusterAction"
            assert stops(rolled) == []

            rolled.faults["stop", 11] = deny
            answer = rolled.kafkactl("run", *words, "--gate-timeout", "30s", code=5)
            assert cluster.node(11).alive
            assert "it is unknown if node 11 is back" in json.dumps(answer["findings"])
            assert granted(cluster, storage_tool, answer) == "Describe"
            rolled.faults.clear()
            assert rolled.kafkactl("run", *words)["outcome"] == "done"
            assert stops(rolled) == [11]

            wait_until_quiet(rolled)
            rolled.faults["start", 11] = spoil
            assert "start-failed" in ids(rolled.kafkactl("run", *words, code=5))
            rolled.faults.clear()
            cluster.disks.authority.identity("node-11").save(cluster.disks.workdir, "certificate-11")
            assert rolled.kafkactl("run", *words)["outcome"] == "done"
            assert stops(rolled) == [11, 11]
    record_part(
        PAGE, HEAD, "rights missing before and during a restart, and a certificate of another authority at a start",
        "refused before the first stop without Describe or ClusterAction, each with the command that adds the right, "
        "carried out as printed; Describe taken away during a stop: the broker is started, its return is unknown, and "
        "proved by the next run; the broker with the wrong certificate is reported, and back after its repair",
    )  # fmt: skip
