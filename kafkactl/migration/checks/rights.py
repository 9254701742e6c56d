"""C-31: questions that nodes denied to the user of kafkactl, and nodes that did not let kafkactl in.

Nothing else is concluded from either: who could not be asked is unknown, and what is missing is a right or a login.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.core.wording import some
from kafkactl.migration.checks.case import ALWAYS, FORWARD, CheckCase, Row, Stage
from kafkactl.migration.observed.silence import denying, principals
from kafkactl.protocol.schema.rights import Login, right_of

_BEFORE_COPY: Final = FORWARD | {Stage.COPY}


def _denied_questions(case: CheckCase) -> Iterator[Finding]:
    """Check C-31: DescribeQuorum, which finds the leader at the controllers, needs DESCRIBE on the cluster."""
    denied = denying(case.controllers)
    if not denied or case.quorum is not None:
        return
    names, who = some(node.name for node in denied), principals(denied)
    yield warning(
        "quorum-question-denied",
        ", ".join(node.name for node in denied),
        f"{names} denied DescribeQuorum to {who}: who leads the quorum, and how far each voter is, is unknown",
        _grant(case, who),
        request="DescribeQuorum",
        principal=who,
    )


def _grant(case: CheckCase, who: str) -> str:
    """Return the next step that grants the right: before the copy the quorum has no ACLs, and accepts none."""
    if case.stage in _BEFORE_COPY:
        return (
            f"Add {who} to super.users of every controller and restart the controllers one at a time, or name a login"
            " that is in it as controller_command_config of the inventory: before the copy the quorum has no ACLs."
        )
    brokers = ",".join(broker.address for broker in case.brokers if broker.address)
    login = Login(principal=who if who.startswith("User:") else None, brokers=brokers or None)
    return login.grant([right_of("DescribeQuorum")])


ROWS: Final = (
    Row("C-31", "controller-answers-unknown", "questions that controllers answer", ALWAYS, _denied_questions),
)
