"""UpdateFeatures as values: the request of a step, and what an answer reports about every feature.

Errors are in two places. Up to 3.9 the top of the answer reports 0 even when everything was refused, and the codes are
in the results; from 4.0 on a refusal is one code at the top and no results. Who reads one place only believes that a
3.9 refusal succeeded or that a 4.x refusal was empty. A success of 4.x carries results in v0 and v1, none in v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkactl.change.reply import Reply
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.features.plan.change import UpgradeType
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import server_text

_NO_RESULTS_FROM = 2
# Answers after which nothing of the request was or will be written. Any other error (a time-out, a controller that
# resigned with the record on its way, an internal error) leaves it open.
_DEFINITE = frozenset(
    {
        31,  # CLUSTER_AUTHORIZATION_FAILED
        35,  # UNSUPPORTED_VERSION
        42,  # INVALID_REQUEST
        95,  # INVALID_UPDATE_VERSION
        96,  # FEATURE_UPDATE_FAILED
    }
)


@frozen
class FeatureResult:
    """Answer about one feature. `error_code` is None if the answer does not mention it, or none came."""

    name: str
    reply: Reply
    error_code: int | None
    """None if no answer came, or none that speaks of this feature."""
    message: str

    @property
    def error_name(self) -> str | None:
        """Return Kafka's name of the code."""
        return None if self.error_code is None else error_code(self.error_code).name

    to_dict = json_of("name", "error_code", "error_name", "message")


def update_features_request(
    levels: Mapping[str, int], kind: UpgradeType, *, validate_only: bool, timeout_ms: int
) -> dict[str, Any]:
    """Return the body of an UpdateFeatures request, version 1 or 2. The controller of KRaft ignores the time-out."""
    return {
        "timeoutMs": timeout_ms,
        "FeatureUpdates": [
            {"Feature": name, "MaxVersionLevel": level, "UpgradeType": int(kind)} for name, level in levels.items()
        ],
        "ValidateOnly": validate_only,
    }


def read_response(names: Iterable[str], version: int, body: Mapping[str, Any]) -> tuple[FeatureResult, ...]:
    """Return the result of each requested feature in an UpdateFeatures answer, wherever the answer contains it.

    A code at the top counts for every feature without a code of its own. A feature that is mentioned nowhere is
    accepted if the version has no results (v2) and the top says 0, and unclear otherwise.
    """
    top, answers = int(body["ErrorCode"]), {result["Feature"]: result for result in body.get("Results") or ()}
    results = []
    for name in names:
        own = answers.get(name)
        if own is not None and (own["ErrorCode"] or not top):
            results.append(_result(name, own["ErrorCode"], own["ErrorMessage"]))
        elif top or version >= _NO_RESULTS_FROM:
            results.append(_result(name, top, body["ErrorMessage"]))
        else:
            results.append(
                FeatureResult(
                    name=name, reply=Reply.UNCLEAR, error_code=None, message="the answer does not mention this feature"
                )
            )
    return tuple(results)


def no_response(names: Iterable[str], reason: str) -> tuple[FeatureResult, ...]:
    """Return the results of a request whose answer never came: nothing is known of any feature."""
    return tuple(FeatureResult(name=name, reply=Reply.UNCLEAR, error_code=None, message=reason) for name in names)


def not_sent(names: Iterable[str], reason: str) -> tuple[FeatureResult, ...]:
    """Return the results of a request of which not a byte left: it has no effect."""
    return tuple(FeatureResult(name=name, reply=Reply.REFUSED, error_code=None, message=reason) for name in names)


def check_dry_run(expected: Mapping[str, bool | None], results: Iterable[FeatureResult]) -> list[Finding]:
    """Report results of the controller's dry run that differ from the prediction (`predict.predicted_acceptance`).

    A refusal that was not foreseen is a blocker: the controller knows something that was not seen here.
    """
    found = []
    for result in results:
        foreseen = expected.get(result.name)
        evidence = {"error_code": result.error_code, "answer": result.message}
        if result.reply is Reply.REFUSED and foreseen is not False:
            found.append(
                blocker(
                    "dry-run-refused",
                    f"feature {result.name}",
                    f"the controller refuses {result.name}, for a reason not seen by kafkactl: {result.message}",
                    "Go by what the controller says.",
                    **evidence,
                )
            )
        elif result.reply is Reply.ACCEPTED and foreseen is False:
            found.append(
                warning(
                    "dry-run-accepted",
                    f"feature {result.name}",
                    f"the controller's dry run accepts {result.name}, which kafkactl expected to be refused",
                    "The controller's dry run looks at less than kafkactl does; the blockers above still hold.",
                    **evidence,
                )
            )
    return found


def _result(name: str, code: int, message: str | None) -> FeatureResult:
    reply = Reply.ACCEPTED if code == 0 else Reply.REFUSED if code in _DEFINITE else Reply.UNCLEAR
    # 4.x fills the text of a success with the name of the code.
    text = "" if code == 0 else server_text(message)
    return FeatureResult(name=name, reply=reply, error_code=int(code), message=text)
