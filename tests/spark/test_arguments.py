"""Arguments of the functions of the pipeline, as far as no session is needed to judge them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from kafkactl.core.errors import InputError

pandas = pytest.importorskip("pandas")
frames = pytest.importorskip("kafkactl.spark.frames")
prediction_rows = pytest.importorskip("kafkactl.spark.prediction_rows")


@pytest.mark.parametrize("time", ["", "now", "1764288000", 5, True, date(2026, 11, 28), pandas.NaT])
def test_value_without_a_time_is_refused(time: Any) -> None:
    with pytest.raises(InputError) as refused:
        frames.milliseconds(time)
    assert refused.value.id == "invalid-time"


def test_time_of_pandas_is_that_of_the_same_datetime() -> None:
    zoned = pandas.Timestamp("2026-11-28T03:00:00.5", tz="Asia/Tokyo")
    assert frames.milliseconds(zoned) == frames.milliseconds("2026-11-27T18:00:00.500Z")
    assert frames.milliseconds(zoned.tz_localize(None)) == frames.milliseconds(datetime(2026, 11, 28, 3, 0, 0, 500_000))


@pytest.mark.parametrize("scenarios", ["replay", ["replay"], [5], [None], [{"brokers": [1]}], {"name": 3}])
def test_scenario_without_a_name_is_refused(scenarios: Any) -> None:
    with pytest.raises(InputError, match="has no name") as refused:
        prediction_rows.questions_of(scenarios)
    assert refused.value.id == "invalid-scenario-input"
