"""A row of the table of checks, and the findings that a row yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.roll.case import RollCase


@frozen
class RollFinding:
    """A finding of a check, and the nodes that it concerns: it is shown with each of them."""

    finding: Finding
    nodes: tuple[int, ...] = ()


Check: TypeAlias = Callable[[RollCase], Iterator[RollFinding]]


@frozen
class CheckRow:
    """A check: the ids of its findings, and its function."""

    ids: tuple[str, ...]
    find: Check


def about(finding: Finding, nodes: Iterable[int] = ()) -> RollFinding:
    """Return a finding that concerns these nodes."""
    return RollFinding(finding=finding, nodes=tuple(nodes))
