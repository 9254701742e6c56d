"""Asking several nodes: one after the other until one answers, or all at once.

Both end by their deadline, and both know only nodes and questions: what is asked is a function. Such a function raises
UnreachableError where another node, or the same a moment later, may still be asked; any other error ends the search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.kafka.line import TIMED_OUT
from kafkactl.kafka.retries import Backoff, is_transient
from kafkactl.net.transport import Address

T = TypeVar("T")
Ask = Callable[[Address, Deadline], T]
_GRACE_MS = 250.0  # how much later than its deadline a thread may still bring its own, better, error
_SILENT_MS = 250.0  # for a node that was silent before: one that runs again answers in some milliseconds


class NotLeaderError(UnreachableError):
    """A controller reports that it does not lead the quorum."""

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
    """Return the answer of the first candidate that gives one; tried in rounds as long as an error may be transient.

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


class SilentNodes:
    """Nodes that did not answer in time, as known to who asks the same nodes again and again.

    Silent nodes are not waited for any more if the other nodes say enough, or each of many observations of a cluster
    with one node that hangs would take the whole time that a node has to answer. A node that answers is not silent any
    more, also if its answer was too late for who asked: so its question stays open, and no second one is asked until
    then.
    """

    def __init__(self) -> None:
        self._silent: set[Address] = set()
        self._asked: set[Address] = set()

    def __contains__(self, address: Address) -> bool:
        return address in self._silent

    def has_question(self, address: Address) -> bool:
        """Return True if a silent node still has an earlier question."""
        return address in self._silent and address in self._asked

    def ask(self, address: Address) -> None:
        """Record a pending request to the node."""
        self._asked.add(address)

    def answered(self, address: Address, error: KafkactlError | None) -> None:
        """Record the answer to a request, or its error."""
        self._asked.discard(address)
        if error is None or error.id != TIMED_OUT:
            self._silent.discard(address)

    def add(self, address: Address) -> None:
        """Record that the node did not answer within the whole time."""
        self._silent.add(address)


def all_at_once(
    addresses: Sequence[Address],
    ask: Ask[T],
    deadline: Deadline,
    *,
    meanwhile: Callable[[], object] | None = None,
    soon: Deadline | None = None,
    silent: SilentNodes | None = None,
    is_enough: Callable[[Collection[T]], bool] = bool,
) -> dict[Address, T | KafkactlError]:
    """Return every node's answer, or error, in the order of `addresses`; one thread per node.

    `meanwhile` is called after all are asked, for work that the caller can do in parallel. If the answers so far are
    enough, by default one, silent nodes are not waited for after `soon`, nor are those that were `silent` before.
    Threads continue to the deadline, as does one in a call without a deadline (resolving a name); their nodes have
    timed out.
    """
    found: dict[Address, T | KafkactlError] = {}
    bugs: list[BaseException] = []
    news = threading.Condition()
    nodes = SilentNodes() if silent is None else silent

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
        nodes.answered(address, answer if isinstance(answer, KafkactlError) else None)
        with news:
            found[address] = answer
            news.notify()

    def begin(several: Iterable[Address]) -> None:
        for address in several:
            nodes.ask(address)
            threading.Thread(target=work, args=(address,), daemon=True).start()

    distinct = tuple(dict.fromkeys(addresses))
    waited = {address for address in distinct if address not in nodes}
    later = [address for address in distinct if nodes.has_question(address)]
    shortly = deadline.at_most(_SILENT_MS)
    begin(address for address in distinct if address not in later)
    if meanwhile is not None:
        meanwhile()
    with news:
        while len(found) + len(bugs) < len(distinct):
            left_ms = deadline.left_ms + _GRACE_MS
            is_last = not waited - found.keys()
            if is_enough([answer for answer in found.values() if not isinstance(answer, KafkactlError)]):
                left_ms = left_ms if soon is None else min(left_ms, soon.left_ms)
                left_ms = min(left_ms, shortly.left_ms) if is_last else left_ms
            elif is_last:
                begin(later)
                later = []
            if left_ms <= 0 or not news.wait(left_ms / 1000):
                break
        answers = dict(found)  # what comes later than this comes too late
    if bugs:
        raise bugs[0]
    for address in distinct:
        answers.setdefault(address, _too_late(address))
        if deadline.passed and _has_timed_out(answers[address]):
            nodes.add(address)
    return {address: answers[address] for address in distinct}


def _has_timed_out(answer: object) -> bool:
    return isinstance(answer, KafkactlError) and answer.id == TIMED_OUT


def worst_of(failures: Sequence[KafkactlError]) -> UnreachableError:
    """Return the error to report: a lasting one before a lost leadership, and that before a temporary one.

    Those of the other nodes are its cause, so that no node that was asked is left out.
    """
    if not failures:
        return UnreachableError("no node was asked: the time was over before", id=TIMED_OUT)
    ordered = sorted(failures, key=lambda error: (is_transient(error), isinstance(error, NotLeaderError)))
    worst, others = ordered[0], ordered[1:]
    causes = [worst.cause] if worst.cause else []
    causes += [error.message for error in others]
    return UnreachableError(
        worst.message, id=worst.id, cause="; ".join(dict.fromkeys(causes)) or None, next_step=worst.next_step
    )


def _too_late(address: Address) -> UnreachableError:
    return UnreachableError(f"{address} did not answer in time", id=TIMED_OUT)
