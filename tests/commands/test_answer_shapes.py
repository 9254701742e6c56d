"""The typed shapes of answers and the published schemas have the same fields."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from kafkactl.commands.models import (
    migrate_compare,
    migrate_state,
    recover,
    shared,
)  # fmt: skip
from kafkactl.core.answers import by_fields
from kafkactl.core.values import Endpoint
from kafkactl.migration.api.position import JournalSummary, MigrationStatus
from kafkactl.migration.compare.case import Difference as EntityDifference
from kafkactl.migration.steps.step import Step as MigrationStep
from kafkactl.quorum.api.recover.collect import RecoveryCopy
from kafkactl.quorum.recover import losses
from kafkactl.quorum.recover.rank import OldVoter
from kafkactl.quorum.recover.steps import Step as RecoveryStep
from kafkactl.simulator.study import Electing, SecondFailure, Study

HEAD = {"kind", "schema_version"}
PAIRS: list[tuple[Any, Any]] = [
    (losses.SettingDict, recover.RecoverSetting),
    (losses.EntityDict, recover.RecoverEntity),
    (losses.OtherDict, recover.RecoverOther),
]


@pytest.mark.parametrize("shape, model", PAIRS, ids=lambda pair: f"{pair.__module__}.{pair.__name__}")
def test_a_part_has_the_fields_of_the_schema(shape: Any, model: Any) -> None:
    published = {field.alias or name for name, field in model.model_fields.items()}
    assert {*shape.__required_keys__, *shape.__optional_keys__} - HEAD == published - HEAD


# Answers without a typed dictionary: with each model the class, and the one whose entries are among its own.
CLASSES: list[tuple[Any, tuple[Any, ...]]] = [
    (migrate_compare.Difference, (EntityDifference,)),
    (migrate_state.MigrateStatus, (MigrationStatus,)),
    (migrate_state.MigrationStep, (MigrationStep,)),
    (migrate_state.Remembered, (JournalSummary,)),
    (recover.QuorumRecoverCollect, (RecoveryCopy,)),
    (recover.RecoverStep, (RecoveryStep,)),
    (recover.RecoverVoter, (OldVoter,)),
    (shared.Endpoint, (Endpoint,)),
    (shared.Electing, (Electing,)),
    (shared.SecondFailure, (SecondFailure,)),
    (shared.Simulation, (Study,)),
]


@pytest.mark.parametrize("model, classes", CLASSES, ids=lambda given: getattr(given, "__name__", ""))
def test_a_class_has_the_fields_of_the_schema(model: Any, classes: tuple[Any, ...]) -> None:
    published = {field.alias or name for name, field in model.model_fields.items()}
    assert set().union(*map(_entries, classes)) == published - HEAD


def _entries(cls: Any) -> set[str]:
    """The names in JSON of what `by_fields` or `json_of` gives."""
    if cls.to_dict is by_fields:
        return set(cls._shape_.kinds)
    paths = inspect.getclosurevars(cls.to_dict).nonlocals["paths"]
    return {name for name, _, _ in paths if name}
