from __future__ import annotations

from itertools import product

import pytest

from kafkactl.change.reply import Reply
from kafkactl.core.findings import Outcome
from kafkactl.features.change.outcome import overall, resolve
from kafkactl.features.change.results import FeatureResult
from kafkactl.features.plan.plan import plan_change
from kafkactl.features.plan.request import FeatureRequest, Operation
from tests.features.clusters import cluster

STATE = cluster("levels metadata.version=25\ncontrollers 1*\nbrokers 2")
CHANGES = plan_change(STATE, FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 27})).changes
A, B, OTHER, UNREAD = {"metadata.version": 27}, {"metadata.version": 25}, {"metadata.version": 26}, None


def result(reply: Reply) -> FeatureResult:
    return FeatureResult(name="metadata.version", reply=reply, error_code=None, message="")


def ended(reply: Reply, levels: dict[str, int] | None, settled: bool) -> tuple[str, list[str]]:
    (feature,) = resolve(CHANGES, [result(reply)], levels, settled=settled)
    return feature.outcome.value, [finding.id for finding in feature.findings]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("reply", list(Reply))
def test_observed_level_is_done_for_any_answer(reply: Reply, settled: bool) -> None:
    outcome, findings = ended(reply, A, settled)
    assert outcome == "done"
    assert findings == ([] if reply is Reply.ACCEPTED else ["change-made-despite-answer"])


@pytest.mark.parametrize("levels", [B, OTHER, UNREAD])
def test_refusal_is_a_failure(levels: dict[str, int] | None) -> None:
    assert ended(Reply.REFUSED, levels, False)[0] == "failed"


def test_lost_answer_is_unknown_until_nothing_can_land_any_more() -> None:
    assert ended(Reply.UNCLEAR, B, False) == ("unknown", ["feature-outcome-unknown"])
    assert ended(Reply.UNCLEAR, B, True) == ("failed", [])
    assert ended(Reply.UNCLEAR, UNREAD, True) == ("unknown", ["feature-outcome-unknown"])


def test_success_that_is_not_there_is_no_success() -> None:
    # 4.0.2 and kraft.version: answered as done, ignored.
    assert ended(Reply.ACCEPTED, B, False) == ("unknown", ["feature-outcome-unknown"])
    assert ended(Reply.ACCEPTED, B, True) == ("failed", ["accepted-change-not-made"])
    assert ended(Reply.ACCEPTED, UNREAD, True)[0] == "unknown"


@pytest.mark.parametrize("reply", list(Reply))
def test_third_level_is_another_operators(reply: Reply) -> None:
    assert "feature-level-changed-by-others" in ended(reply, OTHER, True)[1]


def test_change_without_a_result_is_unclear() -> None:
    (feature,) = resolve(CHANGES, [], B, settled=False)
    assert feature.outcome is Outcome.UNKNOWN


def test_nothing_is_done_that_is_not_seen() -> None:
    for reply, levels, settled in product(Reply, (A, B, OTHER, UNREAD), (False, True)):
        assert (ended(reply, levels, settled)[0] == "done") == (levels is A)


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        ([], Outcome.NOTHING_TO_DO),
        (["done", "done"], Outcome.DONE),
        (["failed"], Outcome.FAILED),
        (["done", "failed"], Outcome.PARTIAL),
        (["done", "unknown"], Outcome.UNKNOWN),
        (["failed", "unknown"], Outcome.UNKNOWN),
    ],
)
def test_several_outcomes_are_combined(outcomes: list[str], whole: Outcome) -> None:
    from kafkactl.features.change.outcome import Resolved

    assert overall([Resolved(name=str(n), outcome=Outcome(outcome)) for n, outcome in enumerate(outcomes)]) is whole
