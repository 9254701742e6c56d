"""A roll judged from saved observations of real clusters, against what released Kafka then does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kafkactl.features.api import change_levels, feature_request
from kafkactl.roll.api import RollRequest, check, load_observation, plan, status
from kafkactl.roll.observation import RollObservation
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.lost_majority import admin
from tests.lab.roll.rolled import Rolled

OLD, NEW = "3.9.2", "4.3.1"
REFUSED = "because the controller returned error UNSUPPORTED_VERSION"
"""Logged by a broker at each registration that its controller refuses. It gives up after 60 s."""


class Judge:
    """Observations of one cluster, each in a folder of its own."""

    def __init__(self, rolled: Rolled, folder: Path) -> None:
        self._rolled = rolled
        self._folder = folder
        self._count = 0

    def observe(self) -> RollObservation:
        self._count += 1
        place = self._folder / f"seen-{self._count}"
        self._rolled.kafkactl("observe", "--out", str(place))
        return load_observation(place)


def starts(seen: RollObservation, to: str | None) -> dict[int, bool | None]:
    return {node.id: node.will_start for node in check(seen, RollRequest(to=to)).nodes}


def stoppable(seen: RollObservation, to: str | None = None) -> dict[int, bool | None]:
    return {node.id: node.may_stop for node in status(seen, RollRequest(to=to)).nodes}


def blocking(seen: RollObservation, to: str | None = None) -> Counter[str]:
    return Counter(f.id for f in check(seen, RollRequest(to=to)).findings if f.severity == "blocker")


def settle(cluster: KafkaCluster, judge: Judge, to: str | None = None) -> RollObservation:
    """Observe until every node is back."""
    found: list[RollObservation] = []

    def is_back() -> bool:
        found.append(judge.observe())
        return all(node.back for node in status(found[-1], RollRequest(to=to)).nodes)

    cluster.wait_for(is_back, "every node back", timeout_s=180)
    return found[-1]


def test_upgrade_in_the_middle_is_judged_as_kafka_acts(
    new_cluster: Callable[..., KafkaCluster], tmp_path: Path
) -> None:
    cluster = new_cluster(OLD, controllers=1, brokers=3).start()
    first, second, third = cluster.broker_ids
    with admin(cluster) as client:
        client.create_topics(
            {
                "orders": {"num_partitions": 6, "replication_factor": 3, "configs": {"min.insync.replicas": "2"}},
                "pair": {"num_partitions": 3, "replication_factor": 2},
                "one": {"num_partitions": 3, "replication_factor": 1},
            },
            wait_for_metadata=True,
        )
    with Rolled(cluster) as rolled:
        judge = Judge(rolled, tmp_path)
        seen = settle(cluster, judge)
        assert starts(seen, NEW) == dict.fromkeys((1, first, second, third), True)
        assert stoppable(seen) == dict.fromkeys((1, first, second, third), True)
        assert blocking(seen, NEW) == Counter()
        assert status(seen, RollRequest(to=NEW)).phase == "before"
        cluster.change_release(1, NEW)
        seen = settle(cluster, judge, NEW)
        middle = status(seen, RollRequest(to=NEW))
        assert (middle.phase, middle.rollback.how) == ("brokers", "binaries")
        assert {node.id: node.done for node in middle.nodes} == {1: True, first: False, second: False, third: False}
        _stop_as_predicted(cluster, judge, seen)


def _stop_as_predicted(cluster: KafkaCluster, judge: Judge, seen: RollObservation) -> None:
    """Stop the first broker of the plan, and count what the plan predicted; then start it as the new release."""
    step = next(step for step in plan(seen, RollRequest(to=NEW)).steps if step.action == "stop")
    (broker,) = step.nodes
    before = leaders(seen)
    cluster.stop(broker, grace_s=60)
    cluster.wait_for(lambda: down_brokers(judge.observe()) == {broker}, "the broker fenced", 120)
    down = judge.observe()
    after = leaders(down)
    moved = sum(after[name] != leader for name, leader in before.items())
    assert (moved, sum(leader < 0 for leader in after.values())) == (
        step.predicted.leader_changes,
        step.predicted.offline,
    )
    others = [id for id in cluster.broker_ids if id != broker]
    assert [stoppable(down, NEW)[id] for id in others] == [False, False]
    assert "broker-down" in blocking(down, NEW)
    assert starts(down, NEW)[broker] is True
    cluster.change_release(broker, NEW)
    seen = settle(cluster, judge, NEW)
    middle = status(seen, RollRequest(to=NEW))
    assert (middle.phase, {node.id for node in middle.nodes if node.done}) == ("brokers", {1, broker})


def leaders(seen: RollObservation) -> dict[tuple[str, int], int]:
    assert seen.log is not None
    topics = seen.log.image.topics.values()
    return {(topic.name, number): part.leader for topic in topics for number, part in topic.partitions.items()}


def down_brokers(seen: RollObservation) -> set[int]:
    assert seen.log is not None
    return {id for id, broker in seen.log.image.brokers.items() if broker.fenced}


def test_forecast_of_a_start_is_what_kafka_does(new_cluster: Callable[..., KafkaCluster], tmp_path: Path) -> None:
    # A stored topic setting, a raised level, and the way down: each forecast is followed by the start itself.
    cluster = new_cluster(OLD, controllers=1, brokers=1).start()
    (broker,) = cluster.broker_ids
    with admin(cluster) as client:
        small = {"num_partitions": 1, "replication_factor": 1, "configs": {"segment.bytes": "100000"}}
        client.create_topics({"small": small}, wait_for_metadata=True)
    with Rolled(cluster) as rolled:
        judge = Judge(rolled, tmp_path)
        seen = settle(cluster, judge)
        assert starts(seen, NEW) == {1: True, broker: False}
        failure = next(node.expected_failure for node in check(seen, RollRequest(to=NEW)).nodes if node.id == broker)
        cluster.change_release(broker, NEW)
        outcome = cluster.node(broker).outcome(90)
        assert outcome.exit_code == 1
        assert "segment.bytes" in failure.message
        cluster.change_release(broker, OLD)
        settle(cluster, judge)
        with admin(cluster) as client:
            client.delete_topics(["small"])
        cluster.wait_for(lambda: starts(judge.observe(), NEW) == {1: True, broker: True}, "no small topic", 120)
        for node_id in (1, broker):
            cluster.change_release(node_id, NEW)
        seen = settle(cluster, judge, NEW)
        assert starts(seen, OLD) == {1: True, broker: True}
        assert status(seen, RollRequest(to=NEW)).rollback.how == "binaries"
        _raise_level(cluster)
        seen = settle(cluster, judge, NEW)
        assert starts(seen, OLD) == {1: False, broker: False}
        assert status(seen, RollRequest(to=NEW)).rollback.how == "no"
        cluster.change_release(broker, OLD)
        assert cluster.node(broker).outcome(90).exit_code == 1
        seen = judge.observe()
        assert starts(seen, NEW)[broker] is True
        cluster.change_release(broker, NEW)
        settle(cluster, judge, NEW)


def _raise_level(cluster: KafkaCluster) -> None:
    with cluster.client() as client:
        assert change_levels(client, feature_request("upgrade", metadata="4.3")).outcome == "done"


def test_broker_that_hangs_below_a_raised_level_is_not_back(
    new_cluster: Callable[..., KafkaCluster], tmp_path: Path
) -> None:
    cluster = new_cluster("4.4.0", controllers=1, brokers=1).start()
    (broker,) = cluster.broker_ids
    with Rolled(cluster) as rolled:
        judge = Judge(rolled, tmp_path)
        seen = settle(cluster, judge)
        found = {node.id: node.expected_failure for node in check(seen, RollRequest(to=NEW)).nodes}
        assert (found[1].phase, found[broker].phase) == ("load", "register")
        assert status(seen, RollRequest(to=NEW)).rollback.how == "no"
        cluster.change_release(broker, NEW)
        node = cluster.node(broker)
        cluster.wait_for(lambda: node.log_text().count(REFUSED) > 1, "registrations that are refused and repeated", 60)
        assert node.alive and not node.ready()
        seen = judge.observe()
        row = next(node for node in status(seen, RollRequest(to=NEW)).nodes if node.id == broker)
        assert (row.back, row.may_stop) == (False, True)  # its listener does not answer, and the process runs
        assert "broker-down" in blocking(seen)
        assert starts(seen, None)[broker] is False  # once more with the same binary
        assert starts(seen, "4.4.0") == {1: True, broker: True}
        cluster.change_release(broker, "4.4.0")
        settle(cluster, judge)
