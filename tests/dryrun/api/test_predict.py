"""`kafkactl.dryrun.predict` on a log, as the API reference writes it."""

from __future__ import annotations

import pytest

from kafkactl import dryrun, log
from kafkactl.core.errors import InputError
from tests.commands.captured_logs import unpacked
from tests.conftest import Run


def test_prediction_of_a_context_is_the_answer_of_the_command(tmp_path, kafkactl) -> None:
    place = unpacked("4.4.0", tmp_path)
    context = dryrun.read_context(str(place))
    broker = min(context.image.brokers)
    found = dryrun.predict(context, "broker-loss", brokers=[broker])
    run: Run = kafkactl("dryrun", "broker-loss", str(place), "--brokers", str(broker), "-o", "json")
    answer = run.json
    assert answer["verdict"] == found.verdict and answer["assumptions"] == list(found.reported["assumptions"])
    assert [finding["id"] for finding in answer["findings"]] == [finding.id for finding in found.findings]


def test_loaded_image_is_refused_with_the_call_to_use(tmp_path) -> None:
    loaded = log.load_image(unpacked("4.4.0", tmp_path))
    with pytest.raises(InputError) as refused:
        dryrun.predict(loaded, "broker-loss", brokers=[1])
    assert "read_context" in refused.value.advice
