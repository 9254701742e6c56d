"""Upgrades of real clusters and back whose driver is killed at every kind of act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.campaigns.roll.killing import KilledRoll
from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.roll.rolling import ACCEPTED, canary, create_topics
from tests.proof_page import record_part

pytestmark = pytest.mark.timeout(7200)
TOPICS = {"canary": (6, 3, {"min.insync.replicas": "2"}), "orders": (12, 3, {"min.insync.replicas": "2"})}
SHAPES = (
    ("3.9.2", "4.3.1", {"controllers": 1, "brokers": 3}),
    ("4.0.2", "4.3.1", {"controllers": 3, "brokers": 0, "combined": True}),
)


@pytest.mark.parametrize(("old", "new", "shape"), SHAPES, ids=lambda part: part if isinstance(part, str) else "")
def test_roll_that_is_killed_at_every_kind_of_act_is_resumed(
    old: str, new: str, shape: dict[str, Any], new_cluster: Callable[..., KafkaCluster]
) -> None:
    cluster = new_cluster(old, **shape).start()
    create_topics(cluster, TOPICS)
    nodes = sorted({*cluster.controller_ids, *cluster.broker_ids})
    with KilledRoll(cluster) as rolled, canary(cluster) as producer:
        for verb, to, *words in (
            ("run", new), ("rollback", old), ("run", new), ("run", new, "--until", "levels"),
        ):  # fmt: skip
            rolled.terminated.clear()
            more = ("--confirm", cluster.cluster_id, *words) if words else ()
            answer = rolled.to_the_end(verb, to, ACCEPTED, *more)
            assert {node["release"] for node in answer["proof"]} == {to}
            assert Counter(rolled.terminated) == Counter([] if words else nodes)
    counts = producer.result
    assert (rolled.harm, rolled.odd) == ([], [])
    assert (counts["lost"], counts["errors"]) == (0, 0)
    assert len(rolled.kills) > 60
    kind = "combined nodes" if shape.get("combined") else "separate nodes"
    record_part(
        PAGE,
        HEAD,
        f"driver killed at each kind of act, {old} to {new}, back, and to the levels, {len(nodes)} {kind}",
        f"{len(rolled.kills)} kills, each followed by status and the command that it names ({rolled.waits} times after "
        "the wait that it names); each node stopped once a way, none while another one was down or a replica was "
        f"missing; canary: {counts['acked']} acked, {counts['errors']} errors, longest gap "
        f"{counts['longest_gap_ms']} ms, {counts['lost']} lost",
    )
