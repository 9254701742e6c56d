"""A rolling restart simulated on one partition of each shape gives the same result as one simulated on all."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.log_generator import LogGenerator, Shape
from kafkactl.dryrun.brokers.shapes import ShapedController
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, leaderless, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.facts import Facts, facts_of
from kafkactl.dryrun.scenarios.broker_loss import LossMode, lose
from kafkactl.dryrun.scenarios.broker_return import come_back
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart
from kafkactl.metadata.image.model import DIRECTORIES_AT, LEADER_EPOCH_AT, PARTITION_EPOCH_AT, Image, Partitions, Topic
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.protocol.log.batch_runs import walk_runs
from tests.dryrun.clusters import clusters, uuid
from tests.hypothesis_profiles import examples

_MOMENT = re.compile(r"^(while broker \d+ is down|when broker \d+ returns): ")


def rolled(image: Image, facts: Facts, order: list[int]) -> dict[str, Any]:
    """Return what a rolling restart comes to, partition by partition."""
    controller = ActiveController(image, facts)
    steps, findings = [], []
    for broker in order:
        controller.mark()
        written = len(controller.operations)
        if not controller.brokers[broker].fenced:
            lose(controller, broker, LossMode.CONTROLLED)
        changes = changes_of(controller, since_mark=True)
        findings += [(finding.id, finding.message, finding.evidence) for finding in findings_of(changes, 0)]
        step = {
            "broker": broker,
            "verdict": verdict_of(changes).value,
            "partitions": counts_of(controller, changes),
            "worst": list(changes[:10]),
        }
        come_back(controller, broker, clean=controller.brokers[broker].in_controlled_shutdown)
        led = [change for change in changes_of(controller, since_mark=True) if change.leader_after == broker]
        findings += [
            (finding.id, finding.message, finding.evidence)
            for finding in findings_of(led, 0)
            if finding.id == "unclean-leader"
        ]
        step["records_appended"] = sum(len(operation.items) for operation in controller.operations[written:])
        steps.append(step)
    changes = changes_of(controller)
    before = [(finding.id, finding.message, finding.evidence) for finding in findings_of((), leaderless(controller))]
    return {
        "steps": steps,
        "findings": findings + before,
        "changes": changes,
        "counts": counts_of(controller, changes),
        "operations": tuple(controller.operations),
    }


def check(image: Image, facts: Facts, order: list[int]) -> None:
    found, expected = rolling_restart(image, facts, order), rolled(image, facts, order)

    steps = [{name: value for name, value in step.items() if name != "number"} for step in found.effects["steps"]]
    assert steps == expected["steps"]
    assert found.changes == expected["changes"]
    assert found.counts == expected["counts"]
    assert found.operations == expected["operations"]
    reported = [(finding.id, _MOMENT.sub("", finding.message), finding.evidence) for finding in found.findings]
    assert reported == expected["findings"]


def more(image: Image, times: int) -> Image:
    """Return the same with each partition several times, in its topic and in others, with other epochs."""
    topics = dict(image.topics)
    for number, topic in enumerate(image.topics.values()):
        for copy in range(times):
            states = {
                at + copy_of * len(topic.partitions): (
                    *state[:LEADER_EPOCH_AT],
                    state[LEADER_EPOCH_AT] + copy,
                    state[PARTITION_EPOCH_AT] + at,
                    *state[DIRECTORIES_AT:],
                )
                for copy_of in range(2)
                for at, state in topic.partitions.states.items()
            }
            id, name = uuid(9_000 + number * times + copy), f"{'z' * (copy % 2)}{topic.name}{copy}"
            topics[id] = Topic(name=name, id=id, partitions=Partitions(states))
    return replace(image, topics=topics, topic_ids={topic.name: topic.id for topic in topics.values()})


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.randoms(use_true_random=False))
def test_any_cluster_in_any_order_has_the_exact_plan(drawn: tuple[Image, Facts], rng: Any) -> None:
    image, facts = drawn
    order = sorted(image.brokers)
    rng.shuffle(order)
    check(more(image, 2), facts, order)


@pytest.mark.slow
def test_generated_cluster_has_few_kinds_and_many_partitions() -> None:
    data = b"".join(LogGenerator(Shape(records=9_000, partitions=3_000, brokers=5, seed=3)).batches())
    image = replay_runs(walk_runs([data])).image
    facts = facts_of(image, static={}, next_offset=9_000)

    shaped = ShapedController(image, facts)
    assert len(shaped.members) < image.partition_count() / 4
    assert sum(map(shaped.weight, shaped.members)) == image.partition_count()
    check(image, facts, sorted(image.brokers))
