"""Descriptions of scenarios: one for each scenario, in its own file, and true."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kafkactl.commands.dryrun import SCENARIOS
from kafkactl.dryrun.by_name import find_scenario, run, scenario_names
from kafkactl.dryrun.engine.loader import Started
from kafkactl.dryrun.fields import fields_of
from kafkactl.dryrun.scenario import ScenarioContext
from tests.constants import merged_constant
from tests.dryrun.clusters import cluster
from tests.dryrun.scenarios.test_growth import loaded

HOSTILE_LINES = {"dryrun replay": ("{log} --details {details}", "{log} --records")}

INPUTS = {"replay": [{}, {"at": 2}]}

ASKED: Mapping[str, list[dict[str, Any]]] = merged_constant("INPUTS", "dryrun/scenarios/test_*.py")
TEXT = "brokers 1 2 3 4\ntopic spread\n  4 | 4 1 2 | 4 1 2"


def test_every_scenario_has_inputs() -> None:
    missing = [f"tests/dryrun/scenarios/test_{name.replace('-', '_')}.py" for name in {*scenario_names()} - {*ASKED}]
    assert not missing, f"add INPUTS, the inputs with which the scenario is tried, to {missing}"
    assert set(ASKED) <= set(scenario_names())


def test_table_of_the_command_line_has_every_scenario() -> None:
    assert set(SCENARIOS) == {*scenario_names(), "zk-migration", "report"}


@pytest.mark.parametrize("name", sorted(ASKED))
def test_title_and_effects_are_those_that_are_described(name: str) -> None:
    scenario = find_scenario(name)
    image, facts = cluster(TEXT)
    log = replace(loaded()[0], image=image, voters=(1, 2, 3))
    started = (Started(image=image, from_offset=0, phantoms=0),)
    for asked in ASKED[name]:
        found = run(name, ScenarioContext(loaded=log, facts=facts, started=started), asked)
        assert set(found.effects) <= set(scenario.effects), asked
        assert scenario.title(asked)[:1].isupper(), asked
        scenario.input_of(found.to_dict()["input"])  # what is printed is accepted as input again


@pytest.mark.parametrize("name", sorted(ASKED))
def test_options_fit_the_input(name: str) -> None:
    scenario = find_scenario(name)
    assert scenario.name == name
    names = [option.name for option in scenario.options]
    if scenario.from_options is not None:
        assert names == list(inspect.signature(scenario.from_options).parameters)
    else:
        assert {option.field or option.name for option in scenario.options} <= set(fields_of(scenario.input))


def test_report_has_an_order() -> None:
    scenarios = map(find_scenario, scenario_names())
    places = [scenario.report.place for scenario in scenarios if scenario.report is not None]
    assert sorted(places) == list(range(1, len(places) + 1))
