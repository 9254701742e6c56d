"""Predictions in sequence: the records that one predicts are replayed, and the next starts from the resulting image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.dryrun.controller.appended_records import records_of
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.rules import rules_of
from kafkactl.dryrun.prediction import Prediction
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.replay.reference import Replaying
from kafkactl.protocol.log.frame import MetadataRecord


def after(image: Image, prediction: Prediction) -> tuple[Image, Facts]:
    """Return the image and the facts after all predicted operations."""
    facts = prediction.facts
    operations = prediction.operations or ()
    changed = replayed(image, facts, records_of(operations, facts.rules))
    migrating = facts.static.get(MIGRATION_ENABLE, "").strip().lower() == "true"
    rules = rules_of(facts.release, changed.features, migration_enabled=migrating)
    gone = {**facts.departed, **{id: held for id, held in image.brokers.items() if id not in changed.brokers}}
    return changed, replace(
        facts,
        next_offset=facts.next_offset + sum(len(operation.items) for operation in operations),
        rules=rules,
        departed={id: held for id, held in gone.items() if id not in changed.brokers},
        starting=frozenset(id for id in facts.starting if changed.brokers.get(id) == image.brokers.get(id)),
    )


def replayed(image: Image, facts: Facts, records: Iterable[MetadataRecord]) -> Image:
    """Return the image after these records."""
    replaying = Replaying(image)
    for offset, record in enumerate(records, start=facts.next_offset):
        replaying.take(offset, facts.leader_epoch, facts.timestamp_ms, record)
    return replaying.image()
