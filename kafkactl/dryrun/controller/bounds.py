"""The number of records that one request may write, for requests that are not atomic (`BoundedList`, 3.5 on).

Beyond 10,000 records nothing is written. With 10,000 exactly the controller appends a whole batch and then an empty
one, which fails: the client gets UNKNOWN_SERVER_ERROR, another leader epoch begins, and the records may be in the log
(elections are on 3.9.2 and 4.3.1, an unregistration on 4.3.1 only). Measured with 9,999 to 12,000 partitions.
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.controller.rules import MOST_RECORDS_OF_REQUEST, Rules
from kafkactl.dryrun.prediction import ServerError, Verdict

POLICY_VIOLATION, UNKNOWN_SERVER_ERROR = 44, -1
_EMPTY: Final = "java.lang.IllegalArgumentException: Append failed because there are no records"


@frozen
class BeyondBound:
    """The answer to a request that writes too much: the verdict, the finding, and what the controller sends."""

    verdict: Verdict
    finding: Finding
    error: ServerError


def beyond_bound(
    records: int, rules: Rules, *, id: str, subject: str, what: str, next_step: str = ""
) -> BeyondBound | None:
    """Return the finding about a request of so many records, None if it fits.

    `what` names the request, `id` the finding for a request that is too large.
    """
    if not rules.bounded_requests or records < MOST_RECORDS_OF_REQUEST:
        return None
    if records == MOST_RECORDS_OF_REQUEST:
        error = ServerError(code=UNKNOWN_SERVER_ERROR, message=_EMPTY)
        finding = blocker(
            "request-fills-batch",
            subject,
            f"{what} writes exactly {records} records: Kafka answers {error.code} {error.name}, another leader epoch "
            "begins, and whether the request was carried out is found in the log only",
            records=records,
        )
        return BeyondBound(verdict=Verdict.UNKNOWN, finding=finding, error=error)
    error = ServerError(code=POLICY_VIOLATION, message="Unable to perform excessively large batch operation.")
    finding = blocker(
        id,
        subject,
        f"{what} writes {records} records in one request, which may write {MOST_RECORDS_OF_REQUEST}: Kafka answers "
        f"{error.code}: {error.message}",
        next_step,
        records=records,
    )
    return BeyondBound(verdict=Verdict.REFUSED, finding=finding, error=error)
