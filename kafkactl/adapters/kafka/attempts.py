"""Asking several nodes: one after the other until one answers, or all at once.

Both end by their deadline, and both know only nodes and questions: what is asked is a function. Such a function raises
UnreachableError where another node, or the same a moment later, may still be asked; any other error ends the search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kafkactl.adapters.kafka.retries import Backoff, is_transient
from kafkactl.adapters.net.transport import Address
from kafkactl.change.clock import Deadline
from kafkactl.errors import KafkactlError, UnreachableError

T = TypeVar("T")
Ask = Callable[[Address, Deadline], T]
_GRACE_MS = 250.0  # how much later than its deadline a thread may still bring its own, better, error


class NotLeaderError(UnreachableError):
    """A controller says that it does not lead the quorum."""

    def __init__(self, address: Address) -> None:
        super().__init__(
            f"no controller that could be asked leads the quorum ({address} does not)",
            id="no-active-controller",
            next_step="See `kafkactl quorum describe`: it asks every controller.",
        )


def one_after_another(
    candidates: Callable[[], Iterable[Address]],
    ask: Ask[T],
    *,
    deadline: Deadline,
    backoff: Backoff,
    randomness: Callable[[], float],
) -> T:
    """The answer of the first candidate that gives one; tried in rounds as long as an error may be transient.

    Each attempt has half of the time that is left, so that one node that never answers does not use all of it. Raises
    the most informative error, with those of the other nodes as its cause.
    """
    failures: dict[Address, UnreachableError] = {}
    for _ in backoff.each_round(deadline, randomness):
        failures = {}
        for address in candidates():
            try:
                return ask(address, deadline.at_most(deadline.left_ms / 2))
            except UnreachableError as error:
                failures[address] = error
        if not any(is_transient(error) or isinstance(error, NotLeaderError) for error in failures.values()):
            break
    raise worst_of(list(failures.values()))


def all_at_once(
    addresses: Sequence[Address],
    ask: Ask[T],
    deadline: Deadline,
    *,
    meanwhile: Callable[[], object] | None = None,
    soon: Deadline | None = None,
) -> dict[Address, T | KafkactlError]:
    """Every node's answer, or error, in the order of `addresses`; one thread per node.

    `meanwhile` is called once all are asked: what the caller has to do anyhow costs no time then. From `soon` on one
    answer is enough, and nodes that have not answered are not waited for. Their threads go on to the deadline, as does
    one that is stuck in a call without a deadline (resolving a name); their nodes have timed out.
    """
    found: dict[Address, T | KafkactlError] = {}
    bugs: list[BaseException] = []
    news = threading.Condition()

    def work(address: Address) -> None:
        try:
            answer: T | KafkactlError = ask(address, deadline)
        except KafkactlError as error:
            answer = error
        except BaseException as error:  # raised again below: an exception of a thread does not reach the caller
            with news:
                bugs.append(error)
                news.notify()
            return
        with news:
            found[address] = answer
            news.notify()

    distinct = tuple(dict.fromkeys(addresses))
    for address in distinct:
        threading.Thread(target=work, args=(address,), daemon=True).start()
    if meanwhile is not None:
        meanwhile()
    with news:
        while len(found) + len(bugs) < len(distinct):
            is_enough = soon is not None and not all(isinstance(answer, KafkactlError) for answer in found.values())
            left_ms = soon.left_ms if soon is not None and is_enough else deadline.left_ms + _GRACE_MS
            if left_ms <= 0 or not news.wait(left_ms / 1000):
                break
        answers = dict(found)  # what comes later than this comes too late
    if bugs:
        raise bugs[0]
    return {address: answers[address] if address in answers else _too_late(address) for address in distinct}


def worst_of(failures: Sequence[KafkactlError]) -> UnreachableError:
    """The one error to tell: a lasting reason before a lost office, and that before a passing one.

    Those of the other nodes are its cause, so that no node that was asked is left out.
    """
    if not failures:
        return UnreachableError("no node was asked: the time was over before", id="connection-timed-out")
    ordered = sorted(failures, key=lambda error: (is_transient(error), isinstance(error, NotLeaderError)))
    worst, others = ordered[0], ordered[1:]
    causes = [worst.cause] if worst.cause else []
    causes += [error.message for error in others]
    return UnreachableError(
        worst.message, id=worst.id, cause="; ".join(dict.fromkeys(causes)) or None, next_step=worst.next_step
    )


def _too_late(address: Address) -> UnreachableError:
    return UnreachableError(f"{address} did not answer in time", id="connection-timed-out")
