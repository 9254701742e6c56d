"""Errors of a client: nodes that did not answer, or that answered something else than was asked."""

from __future__ import annotations

from collections.abc import Collection

from kafkactl.core.errors import UnknownOutcomeError, UnreachableError
from kafkactl.kafka.line import TIMED_OUT
from kafkactl.net.transport import Address
from kafkactl.protocol.schema.error_codes import error_code


def forwarded_in_vain(address: Address) -> UnreachableError:
    """Return the error of a broker that answers ApiVersions only: the node that does not answer is another one."""
    return UnreachableError(
        f"the broker {address} answers, but not DescribeQuorum, which it forwards to the active controller",
        id=TIMED_OUT,
        next_step="Ask the controllers themselves: `kafkactl quorum describe --bootstrap-controller HOST:PORT`.",
    )


def no_time_left(silent: Collection[Address]) -> UnreachableError:
    """Return the error of a question without time: earlier ones used it up, most often at `silent` nodes."""
    if not silent:
        return UnreachableError("no node was asked: the time was over before", id=TIMED_OUT)
    names = ", ".join(sorted(map(str, silent)))
    return UnreachableError(f"{names} did not answer, and no time was left to ask again", id=TIMED_OUT)


def not_described(address: Address, code: int, text: str) -> UnreachableError:
    """Return the error of a node that does not describe its cluster."""
    name = error_code(code).name
    return UnreachableError(
        f"{address} does not describe its cluster: {name}", id="cluster-not-described", cause=text or None
    )


def leadership_lost(name: str, leader: Address) -> UnknownOutcomeError:
    """Return the error of a change that met a controller on its way out."""
    return UnknownOutcomeError(
        f"{leader} led the quorum, and answered {name} by saying that it does not: the change may be in its log",
        id="leadership-lost",
    )
