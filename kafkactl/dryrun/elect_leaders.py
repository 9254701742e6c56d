"""Scenario `elect-leaders`: elections that are asked for (`kafka-leader-election.sh`, `electLeaders`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, leaderless, verdict_of
from kafkactl.dryrun.controller import ActiveController, Key
from kafkactl.dryrun.election import Election, Target
from kafkactl.dryrun.facts import Facts
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.metadata.image import NO_LEADER, Image
from kafkactl.schema.error_codes import error_code

NONE, UNKNOWN_PARTITION, PREFERRED_NOT_AVAILABLE, ELIGIBLE_NOT_AVAILABLE, NOT_NEEDED = 0, 3, 80, 83, 84

Wanted = Sequence[tuple[str, int | None]]  # topic, and a partition or None for all of them


def elect_leaders(image: Image, facts: Facts, election: Election, wanted: Wanted = ()) -> Prediction:
    """What an election would do; without `wanted` it is asked for all partitions.

    `results` has a line for each partition; as Kafka does, what needs no election is left out where all were asked.
    """
    controller = ActiveController(image, facts)
    operation: list[Any] = []
    results: list[dict[str, Any]] = []
    for topic, number, key in _asked(image, wanted):
        code, items = (UNKNOWN_PARTITION, []) if key is None else _elect(controller, key, election)
        operation += items
        if wanted or code != NOT_NEEDED:
            results.append(
                {"topic": topic, "partition": number, "error_code": code, "error_name": error_code(code).name}
            )
    if operation:
        controller.apply(f"{election.value} election", *operation)
    changes = changes_of(controller)
    refused = bool(results) and all(one["error_code"] not in (NONE, NOT_NEEDED) for one in results)
    return Prediction(
        scenario="elect-leaders",
        input={"type": election.value, "topics": [_text(one) for one in wanted]},
        verdict=Verdict.REFUSED if refused else verdict_of(changes),
        facts=facts,
        findings=tuple(findings_of(changes, leaderless(controller))),
        counts=counts_of(controller, changes),
        changes=changes,
        operations=tuple(controller.operations),
        effects={"results": results},
    )


def _asked(image: Image, wanted: Wanted) -> list[tuple[str, int | None, Key | None]]:
    """Topic, partition and where it is found, for each partition that is asked for."""
    names = wanted or [(name, None) for name in sorted(image.topic_ids)]
    found: list[tuple[str, int | None, Key | None]] = []
    for name, number in names:
        topic = image.topic(name)
        if topic is None:
            found.append((name, number, None))
        elif number is None:
            found += [(name, one, (topic.id, one)) for one in sorted(topic.partitions)]
        else:
            found.append((name, number, (topic.id, number) if number in topic.partitions else None))
    return found


def _elect(controller: ActiveController, key: Key, election: Election) -> tuple[int, list[Any]]:
    partition = controller.partition(key)
    preferred = election is Election.PREFERRED
    if partition.leader == partition.replicas[0] if preferred else partition.leader != NO_LEADER:
        return NOT_NEEDED, []
    least, _ = controller.settings(controller.image.topics[key[0]])
    items = controller.change(key, Target(min_isr=least, election=election), controller.is_active)
    if items:
        return NONE, items
    return (PREFERRED_NOT_AVAILABLE if preferred else ELIGIBLE_NOT_AVAILABLE), []


def _text(wanted: tuple[str, int | None]) -> str:
    topic, partition = wanted
    return topic if partition is None else f"{topic}:{partition}"
