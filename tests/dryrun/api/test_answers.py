"""Predictions as a library gives them: of an image, and of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.core.errors import InputError
from kafkactl.dryrun.api import Verdict, context_of, heaviest, predict, read_context, report
from kafkactl.metadata.api import load_image
from tests.dryrun.clusters import cluster

TEXT = "brokers 1 2 3\ntopic orders\n  1 | 1 2 | 1 2\n  3 | 3 | 3"


def test_context_of_an_image_is_enough_for_scenarios_about_the_state() -> None:
    image, _ = cluster(TEXT)
    found = predict(context_of(image), "broker-loss", brokers=[3])
    assert found.verdict is Verdict.UNAVAILABLE
    assert [(change.topic, change.leader_after) for change in found.changes] == [("orders", -1)]
    assert found.to_dict()["input"] == {"brokers": [3], "mode": "crash", "in_order": False}


def test_settings_are_those_given() -> None:
    image, _ = cluster(TEXT)
    for least, under in (("1", 0), ("2", 1)):
        found = predict(context_of(image, static={"min.insync.replicas": least}), "broker-loss", brokers=[1])
        assert found.counts is not None and found.counts.under_min_isr == under


@pytest.mark.parametrize(
    "scenario, inputs, id",
    [
        ("storm", {}, "unknown-scenario"),
        ("broker-loss", {"brokers": "3"}, "invalid-scenario-input"),
        ("broker-loss", {"brokers": [77]}, "unknown-broker"),
        ("growth", {"days": 30}, "scenario-needs-log"),
        ("replay", {}, "scenario-needs-log"),
        ("restart", {}, "scenario-needs-log"),
    ],
)
def test_invalid_scenario_of_an_image_is_refused(scenario: str, inputs: dict[str, object], id: str) -> None:
    with pytest.raises(InputError) as caught:
        predict(context_of(cluster(TEXT)[0]), scenario, **inputs)
    assert caught.value.id == id


def test_image_without_context_is_refused(tmp_path: Path) -> None:
    # Voters, replicas and settings are not in an image, so the command would give another answer.
    write_log(tmp_path / "log", Shape(records=300, partitions=20, brokers=3))
    loaded: Any = load_image(tmp_path / "log")
    for state in (loaded, loaded.image):
        with pytest.raises(InputError) as refused:
            predict(state, "broker-loss", brokers=[1])
        assert refused.value.id == "scenario-needs-context"


def test_log_is_enough_for_all(tmp_path: Path) -> None:
    expected = write_log(tmp_path / "log", Shape(records=300, partitions=20, brokers=3))
    context = read_context(str(tmp_path / "log"))
    assert predict(context, "replay").effects["counts"] == expected.by_type
    with pytest.raises(InputError, match="is about the metadata log"):
        predict(context, "restart")
    started = read_context(str(tmp_path / "log"), restarts=True)
    assert predict(started, "restart").verdict is Verdict.OK


@pytest.mark.slow
def test_report_has_every_scenario_without_arguments_and_the_worst_verdict(tmp_path: Path) -> None:
    write_log(tmp_path / "log", Shape(records=300, partitions=20, brokers=3))
    context = read_context(str(tmp_path / "log"), restarts=True)
    whole = report(context)
    assert [found.scenario for found in whole.predictions] == [
        "replay", "restart", "growth", "controllers", "rolling-restart", "elect-leaders", "broker-loss", "broker-loss",
    ]  # fmt: skip
    for found in whole.predictions:
        assert predict(context, found.scenario, **found.input).verdict is found.verdict
    assert whole.verdict is heaviest([found.verdict for found in whole.predictions])
    for processes in (1, 2):
        kept = report(context, lambda number, found: (number, found.scenario), processes=processes)
        assert kept.verdict is whole.verdict
        assert list(kept.predictions) == [(at + 1, found.scenario) for at, found in enumerate(whole.predictions)]


def test_report_of_a_log_without_the_starting_nodes_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "log", Shape(records=300, partitions=20, brokers=3))
    with pytest.raises(InputError, match="scenario restart is about the metadata log"):
        report(read_context(str(tmp_path / "log")))
