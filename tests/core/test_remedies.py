"""An error or finding without a next step of its own shows the remedy of its id."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkactl.core import explanations as catalogue
from kafkactl.core import remedies
from kafkactl.core.errors import InputError
from kafkactl.core.findings import blocker, note, warning
from kafkactl.core.package_data import DataMissingError
from kafkactl.core.remedies import remedy_of

ID = "zookeeper-mode-node"


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    yield
    remedy_of.cache_clear()
    remedies._catalogue.cache_clear()


@pytest.mark.parametrize("finding", [blocker, warning])
def test_finding_without_a_next_step_shows_the_remedy(finding):
    shown = finding(ID, "node 1", "its process.roles is empty").to_dict()
    assert shown["next_step"] == catalogue.explanations()[ID].remedy


def test_finding_that_only_informs_shows_no_step_but_its_own():
    assert note(ID, "node 1", "its process.roles is empty").to_dict()["next_step"] == ""
    assert note(ID, "node 1", "its process.roles is empty", "Wait.").to_dict()["next_step"] == "Wait."


def test_next_step_that_is_given_is_shown():
    assert (
        blocker(ID, "node 1", "its process.roles is empty", "Format node 2.").to_dict()["next_step"] == "Format node 2."
    )
    assert InputError("bad", id=ID, next_step="Give one id.").to_dict()["next_step"] == "Give one id."


def test_error_without_a_next_step_shows_the_remedy():
    error = InputError("its process.roles is empty", id=ID)
    assert error.to_dict()["next_step"] == error.advice == catalogue.explanations()[ID].remedy
    assert error.next_step is None


def test_remedy_of_every_id_is_that_of_its_explanation():
    assert {id: remedy_of(id) for id in catalogue.explanations()} == {
        id: explanation.remedy for id, explanation in catalogue.explanations().items()
    }


def test_id_without_an_explanation_shows_how_to_ask_for_one():
    assert remedy_of("no-such-id") == "Run `kafkactl explain no-such-id`."


def test_catalogue_that_cannot_be_read_hides_no_finding(monkeypatch):
    def missing(*_args):
        raise DataMissingError("gone")

    monkeypatch.setattr(remedies, "data_names", missing)
    remedies._catalogue.cache_clear()
    remedy_of.cache_clear()
    assert blocker(ID, "node 1", "its process.roles is empty").to_dict()["next_step"] == f"Run `kafkactl explain {ID}`."


def test_making_a_finding_or_an_error_loads_no_catalogue():
    script = """
import sys
from kafkactl.core.errors import InputError
from kafkactl.core.findings import blocker, note
blocker("a-b", "node 1", "text"); InputError("text", id="a-b"); note("a-b", "node 1", "text").to_dict()
blocker("a-b", "node 1", "text", "step").to_dict()
print(sorted(name for name in sys.modules if name in ("kafkactl.core.data_files", "kafkactl.core.explanations")))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
