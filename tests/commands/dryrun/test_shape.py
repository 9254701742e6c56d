"""The typed shape of an answer and the published schema have the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.commands.models import dryrun as models
from kafkactl.dryrun import answer
from kafkactl.dryrun.prediction import _NO_EFFECTS, _NO_STEP

PAIRS: list[tuple[Any, Any]] = [
    (answer.CountsDict, models.Counts),
    (answer.OutcomeDict, models.Alternative),
    (answer.ChangeDict, models.Change),
    (answer.AppendedDict, models.Appended),
    (answer.BeforeAfter, models.BeforeAfter),
    (answer.Members, models.Members),
    (answer.ServerErrorDict, models.ServerError),
    (answer.Result, models.Result),
    (answer.Feature, models.Feature),
    (answer.Step, models.Step),
    (answer.LossDict, models.Loss),
    (answer.TopicPartition, models.TopicPartition),
    (answer.DifferenceDict, models.Difference),
    (answer.LogSize, models.LogSize),
    (answer.SnapshotSize, models.SnapshotSize),
    (answer.Load, models.Load),
    (answer.Effects, models.Effects),
    (answer.ReplicaDict, models.Replica),
    (answer.Source, models.Source),
    (answer.Earlier, models.Earlier),
    (answer.PredictionDict, models.Played),
]


@pytest.mark.parametrize("shape, model", PAIRS, ids=lambda scenario: scenario.__name__)
def test_a_part_has_the_fields_of_the_schema(shape: Any, model: Any) -> None:
    published = {field.alias or name for name, field in model.model_fields.items()}
    assert set(shape.__annotations__) == published


def test_an_answer_has_all_of_them() -> None:
    inherited = {"kind", "schema_version"}
    assert {*answer.Answer.__annotations__} == {*models.DryrunPrediction.model_fields} - inherited
    always = {"partitions", "changes", "changes_total", "records_appended", "results", "steps"}
    assert {*_NO_EFFECTS, *always} == {*answer.Effects.__annotations__}
    assert {*_NO_STEP} == {*answer.Step.__annotations__}
