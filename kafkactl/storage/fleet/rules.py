"""Rules between the nodes of a fleet.

They find mistakes that no single node can detect. Each of these nodes would format well, and some would even start;
together they would be two clusters, a quorum that never forms, or a disk written by two nodes.

Every rule is a function from the fleet to findings; `RULES` lists them all, and all of them run every time, so that an
operator sees every problem of every node at once. Rules group by key and are linear in the number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkactl.core.findings import Finding
from kafkactl.storage.fleet.model import Fleet
from kafkactl.storage.fleet.rules_hosts import HOST_RULES
from kafkactl.storage.fleet.rules_logins import LOGIN_RULES
from kafkactl.storage.fleet.rules_quorum import QUORUM_RULES

Rule = Callable[[Fleet], Iterable[Finding]]

RULES: tuple[Rule, ...] = (*HOST_RULES, *QUORUM_RULES, *LOGIN_RULES)


def check_fleet(fleet: Fleet) -> list[Finding]:
    """Return the findings of all rules, in the order of the rules."""
    return [finding for rule in RULES for finding in rule(fleet)]
