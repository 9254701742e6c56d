"""An answer of the dry run has all published fields, also those that a scenario leaves out."""

from __future__ import annotations

from kafkactl.dryrun import answer
from kafkactl.dryrun.prediction import _NO_EFFECTS, _NO_STEP


def test_fields_that_a_scenario_leaves_out_have_a_value() -> None:
    always = {"partitions", "changes", "changes_total", "records_appended", "results", "steps"}
    assert {*_NO_EFFECTS, *always} == {*answer.Effects.__annotations__}
    assert {*_NO_STEP} == {*answer.Step.__annotations__}
