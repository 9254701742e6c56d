"""The files of the states are complete: each state has one definition, and its rows are in its own file."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest

from kafkactl.migration import steps
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.broken_states import BROKEN, way_out_of
from kafkactl.migration.steps.definition import Row, StateDefinition
from kafkactl.migration.steps.table import PROCEDURE, TABLE, definition_of

MODULES = [importlib.import_module(f"{steps.__name__}.{found.name}") for found in pkgutil.iter_modules(steps.__path__)]
NEVER_OBSERVED = {State.M1, State.M9}
"""Decisions of an operator, which only a journal shows."""


def rows_of(module: ModuleType) -> list[Row]:
    return [value for value in vars(module).values() if isinstance(value, Row)]


def test_procedure_has_each_state_once_in_order() -> None:
    assert [definition.state for definition in PROCEDURE] == [state for state in State if not state.is_broken]


def test_each_broken_state_is_listed_once() -> None:
    listed = [broken.state for broken in BROKEN]
    assert sorted(listed) == sorted(state for state in State if state.is_broken)
    assert all(way_out_of(state) is not None and definition_of(state) is None for state in listed)


def test_state_of_the_procedure_has_no_way_out() -> None:
    assert [definition.state for definition in PROCEDURE if way_out_of(definition.state) is not None] == []


def test_table_has_every_row_of_the_files_once() -> None:
    declared = [row for module in MODULES for row in rows_of(module)]
    listed = [row for row in TABLE if isinstance(row, Row)]
    assert len(listed) == len(declared) == len({id(row) for row in listed} | {id(row) for row in declared})
    assert {row.state for row in listed} | NEVER_OBSERVED == set(State)


@pytest.mark.parametrize("module", [found for found in MODULES if rows_of(found)], ids=lambda found: found.__name__)
def test_rows_are_in_the_file_of_their_state(module: ModuleType) -> None:
    name = module.__name__.rpartition(".")[2]
    states = {row.state for row in rows_of(module)}
    if name == "broken_states":
        assert all(state.is_broken for state in states)
    else:
        assert {state.value.lower().removesuffix("l") for state in states} == {name}


@pytest.mark.parametrize("definition", PROCEDURE, ids=lambda definition: definition.state.value)
def test_steps_that_lead_to_a_state_are_undone_and_shown_up_to_a_state(definition: StateDefinition) -> None:
    if definition.plan is not None:
        assert definition.undo is not None
        assert definition.shown_until is not None
        assert (definition.shown_until.place or 0) >= (definition.state.place or 0)


def test_decision_of_an_operator_is_observed_as_the_state_before_it() -> None:
    shown = {definition.state: definition.observed_as for definition in PROCEDURE if definition.observed_as}
    assert shown == {State.M1: State.M0, State.M9: State.M8}
