"""Next steps for a node whose listener refuses the client properties: what the other nodes accept decides."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.other_login import inventory_login_step, login_step

REFUSED = UnreachableError("c2:9093 does not let kafkactl in", id="authentication-failed")
EXPIRED = UnreachableError("c2:9093 shows a certificate that is expired", id="certificate-expired")
BOTH = frozenset(Role)


@pytest.mark.parametrize(
    ("asked", "accepted", "text"),
    [
        (Role.CONTROLLER, {Role.BROKER}, "--controller-command-config FILE"),
        (Role.BROKER, {Role.BROKER}, "Other brokers accept these client properties"),
        (Role.CONTROLLER, BOTH, "Other controllers accept these client properties"),
        (Role.BROKER, set(), "Check user, password or token"),
    ],
)
def test_step_of_a_refused_login_follows_from_the_nodes_that_accept_it(
    asked: Role, accepted: set[Role], text: str
) -> None:
    assert text in login_step(REFUSED, asked=asked, named=Role.BROKER, accepted=accepted)


@pytest.mark.parametrize(
    ("asked", "accepted", "one_file", "text"),
    [
        (Role.CONTROLLER, {Role.BROKER}, True, "`controller_command_config` in the inventory"),
        (Role.BROKER, {Role.CONTROLLER}, True, "`command_config` in the inventory"),
        (Role.CONTROLLER, {Role.BROKER}, False, "Check user, password or token"),
        (Role.CONTROLLER, set(), True, "Check user, password or token"),
        (Role.CONTROLLER, BOTH, True, "Other controllers accept these client properties"),
    ],
)
def test_step_of_an_inventory_names_its_keys(asked: Role, accepted: set[Role], one_file: bool, text: str) -> None:
    assert text in inventory_login_step(REFUSED, asked, accepted, one_file=one_file)


def test_expired_certificate_has_its_own_step() -> None:
    assert login_step(EXPIRED, asked=Role.CONTROLLER, named=Role.BROKER, accepted=BOTH) == EXPIRED.advice
    assert inventory_login_step(EXPIRED, Role.CONTROLLER, BOTH, one_file=True) == EXPIRED.advice
