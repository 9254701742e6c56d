from __future__ import annotations

from typing import Any

import pytest

from kafkactl.change.reply import Reply
from kafkactl.core.findings import Outcome
from kafkactl.features.change.answer import Answered
from kafkactl.features.change.kafka_words import failure_line, result_lines
from kafkactl.features.change.results import (
    FeatureResult,
    check_dry_run,
    no_response,
    not_sent,
    read_response,
    update_features_request,
)
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.request import Operation
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.schema.definitions import request, response

WHOLE = "The update failed for all features since the following feature had an error: Invalid update version 31"
UPDATE_FEATURES = 57
NAMES = ("metadata.version", "foo.version")


def answer(version: int, top: int, message: str | None, *results: tuple[str, int, str | None]) -> dict[str, Any]:
    """Return the answer as it comes over the wire in that version."""
    spec = response(UPDATE_FEATURES)
    results = [{"Feature": name, "ErrorCode": code, "ErrorMessage": text} for name, code, text in results]
    data = {"ErrorCode": top, "ErrorMessage": message, "Results": results}
    decoded, _ = decode_message(spec, version, encode_message(spec, version, data))
    return decoded


def results_of(version: int, body: dict[str, Any]) -> list[tuple[str, str, int | None, str]]:
    return [(r.name, r.reply.value, r.error_code, r.message) for r in read_response(NAMES, version, body)]


def test_answer_of_3_9_is_read_from_its_results() -> None:
    body = answer(1, 0, "", ("metadata.version", 0, ""), ("foo.version", 95, "Invalid update version 1"))
    assert results_of(1, body) == [
        ("metadata.version", "accepted", 0, ""),
        ("foo.version", "refused", 95, "Invalid update version 1"),
    ]


def test_answer_of_4_is_read_from_its_top_level() -> None:
    for version in (1, 2):
        assert results_of(version, answer(version, 95, WHOLE)) == [(name, "refused", 95, WHOLE) for name in NAMES]


def test_success_of_4_fills_the_message_with_the_code() -> None:
    body = answer(1, 0, "", *[(name, 0, "NONE") for name in NAMES])
    assert results_of(1, body) == [(name, "accepted", 0, "") for name in NAMES]


def test_success_in_version_2_has_no_results() -> None:
    assert results_of(2, answer(2, 0, None)) == [(name, "accepted", 0, "") for name in NAMES]


def test_feature_missing_in_an_answer_is_unclear() -> None:
    body = answer(1, 0, "", ("metadata.version", 0, ""))
    assert [reply for _, reply, _, _ in results_of(1, body)] == ["accepted", "unclear"]


def test_code_at_the_top_wins_over_a_silent_success_below() -> None:
    assert results_of(1, answer(1, 31, "no", ("metadata.version", 0, "")))[0][1:] == ("refused", 31, "no")


@pytest.mark.parametrize(
    ("code", "reply"),
    [(0, "accepted"), (31, "refused"), (35, "refused"), (42, "refused"), (95, "refused"), (7, "unclear"),
     (41, "unclear"), (-1, "unclear"), (6, "unclear")],
)  # fmt: skip
def test_error_code_is_classified_as_refused_or_open(code: int, reply: str) -> None:
    # A controller that resigns answers 41 for records that may yet be committed; 7 and -1 say nothing at all.
    assert {answered for _, answered, _, _ in results_of(2, answer(2, code, "x"))} == {reply}


def test_no_answer_and_nothing_sent_are_not_the_same() -> None:
    assert {result.reply for result in no_response(NAMES, "connection lost")} == {Reply.UNCLEAR}
    assert {result.reply for result in not_sent(NAMES, "refused")} == {Reply.REFUSED}


def test_results_as_they_are_shown() -> None:
    shown = [result.to_dict() for result in read_response(["a"], 2, answer(2, 95, "no"))]
    assert shown == [{"name": "a", "error_code": 95, "error_name": "INVALID_UPDATE_VERSION", "message": "no"}]
    assert no_response(["a"], "lost")[0].to_dict()["error_name"] is None


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", list(UpgradeType))
def test_request_survives_the_wire(version: int, kind: UpgradeType) -> None:
    spec = request(UPDATE_FEATURES)
    body = update_features_request({"metadata.version": 30, "group.version": 1}, kind, validate_only=True, timeout_ms=5)
    sent, _ = decode_message(spec, version, encode_message(spec, version, body))
    assert [
        (featureupdate["Feature"], featureupdate["MaxVersionLevel"], featureupdate["UpgradeType"])
        for featureupdate in sent["FeatureUpdates"]
    ] == [
        ("metadata.version", 30, int(kind)),
        ("group.version", 1, int(kind)),
    ]
    assert sent["ValidateOnly"] is True


def test_difference_between_dry_run_and_prediction_is_reported() -> None:
    refused, accepted = answer(2, 95, "no"), answer(2, 0, None)
    assert [finding.id for finding in check_dry_run({"a": True}, read_response(["a"], 2, refused))] == [
        "dry-run-refused"
    ]
    assert [finding.id for finding in check_dry_run({"a": None}, read_response(["a"], 2, refused))] == [
        "dry-run-refused"
    ]
    assert [finding.id for finding in check_dry_run({"a": False}, read_response(["a"], 2, accepted))] == [
        "dry-run-accepted"
    ]
    assert check_dry_run({"a": False}, read_response(["a"], 2, refused)) == []
    assert check_dry_run({"a": None}, read_response(["a"], 2, accepted)) == []


def shown(*results: FeatureResult, outcome: str) -> list[Answered]:
    return [Answered(result=result, outcome=Outcome(outcome)) for result in results]


def test_lines_are_those_of_kafkas_tool() -> None:
    results = shown(*read_response(["b", "a"], 2, answer(2, 0, None)), outcome="done")
    assert result_lines(Operation.UPGRADE, results, {"a": 1, "b": 2}, dry_run=False) == [
        "a was upgraded to 1.",
        "b was upgraded to 2.",
    ]
    assert failure_line(results) is None
    planned = shown(*read_response(["b", "a"], 2, answer(2, 0, None)), outcome="planned")
    assert result_lines(Operation.DISABLE, planned, {"a": 0, "b": 0}, dry_run=True)[0] == "a can be disabled."
    failed = shown(*read_response(["a"], 2, answer(2, 95, "no")), outcome="failed")
    assert result_lines(Operation.DOWNGRADE, failed, {"a": 1}, dry_run=False) == ["Could not downgrade a to 1. no"]
    assert result_lines(Operation.DISABLE, failed, {"a": 0}, dry_run=True) == ["Can not disable a. no"]
    assert failure_line(failed) == "1 out of 1 operation(s) failed."


def test_line_shows_the_observed_level_and_not_the_answer() -> None:
    lost = shown(*no_response(["a"], "no answer came"), outcome="done")
    assert result_lines(Operation.UPGRADE, lost, {"a": 1}, dry_run=False) == ["a was upgraded to 1."]
    claimed = shown(*read_response(["a"], 2, answer(2, 0, None)), outcome="failed")
    assert result_lines(Operation.UPGRADE, claimed, {"a": 1}, dry_run=False) == ["Could not upgrade a to 1."]
