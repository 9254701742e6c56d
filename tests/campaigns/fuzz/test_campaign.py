"""Coverage-guided fuzzing of every target, and the parts of the campaign itself."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.campaigns.fuzz import campaign, corpus_choice
from tests.campaigns.fuzz.targets import TARGETS


def test_choice_of_inputs_keeps_what_reaches_more() -> None:
    from kafkactl.protocol.text.java_text import parse_boolean

    def feed(data: bytes) -> object:
        return parse_boolean(data.decode("ascii"))

    files = [b"true", b"TRUE", b"false", b"none", b"x" * 5_000]
    chosen = corpus_choice.choose(feed, (), files, set())
    assert 1 <= len(chosen) < len(files) and len(chosen[0]) == 4
    assert not corpus_choice.choose(
        feed, (), files, set().union(*(corpus_choice.steps(feed, (), each) for each in files))
    )


def test_ledger_is_read_as_it_is_written_and_a_complete_campaign_starts_again() -> None:
    rows = {
        name: campaign.Row(executions=10_000 + at, seconds=20, edges=5, features=7, corpus=2)
        for at, name in enumerate(TARGETS)
    }
    figures = campaign.Figures(rows, before=12)
    assert campaign.read_figures(campaign.ledger(figures)) == figures
    rows["jaas"] = campaign.Row(executions=campaign.EXECUTIONS, corpus=3, failures=1)
    again = campaign.read_figures(campaign.ledger(campaign.Figures(rows, before=12)))
    assert again.executions == 0 and again.before > campaign.EXECUTIONS
    assert again.rows["jaas"] == campaign.Row(corpus=3, failures=1)


def test_campaign_is_complete_when_every_target_was_tried_enough_or_says_why_not() -> None:
    rows = {name: campaign.Row(executions=10_000) for name in TARGETS}
    rows["jaas"] = campaign.Row(executions=campaign.EXECUTIONS)
    assert campaign.Figures(rows).is_complete and not campaign.Figures(rows).few
    rows["report-page"] = campaign.Row(executions=9_999)
    assert campaign.Figures(rows).is_complete
    assert "- report-page: a whole page is rendered" in campaign.section(campaign.Figures(rows))
    rows["pem"] = campaign.Row(executions=9_999)
    few = campaign.Figures(rows)
    assert not few.is_complete and few.few == ["pem", "report-page"]
    assert campaign.read_figures(campaign.ledger(few)).rows == rows


@pytest.mark.skipif(
    find_spec("atheris") is None, reason="needs atheris, which `make lab` installs where it has a wheel"
)
def test_damaged_input_is_an_answer_or_a_typed_error() -> None:
    assert campaign.campaign() == []
