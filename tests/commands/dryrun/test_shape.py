"""An answer of the dry run has every field of the published schema, and those that scenarios leave out."""

from __future__ import annotations

from kafkactl.commands.models import dryrun as models
from kafkactl.dryrun import answer
from kafkactl.dryrun.prediction import _NO_EFFECTS, _NO_STEP


def test_an_answer_has_all_of_them() -> None:
    inherited = {"kind", "schema_version"}
    assert {*answer.Answer.__annotations__} == {*models.DryrunPrediction.model_fields} - inherited
    always = {"partitions", "changes", "changes_total", "records_appended", "results", "steps"}
    assert {*_NO_EFFECTS, *always} == {*answer.Effects.__annotations__}
    assert {*_NO_STEP} == {*answer.Step.__annotations__}
