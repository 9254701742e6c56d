"""Concurrent questions, each on a thread and with a deadline of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkactl.cluster.io.leader import NO_ACCESS
from kafkactl.cluster.node import NotAsked
from kafkactl.core.errors import KafkactlError

LATE: Final = NotAsked(
    reason="no answer came in time", step="Run the command again; with --watch the next answer has more time."
)
"""Answer of a question that is still pending at its deadline."""


class Question:
    """A question that is asked repeatedly.

    A pending question is not asked a second time, and an answer that came too late is returned by the next call.
    """

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask
        self._news = threading.Condition()
        self._is_pending = self._is_unread = False
        self._answer: Any = None
        self._bug: BaseException | None = None

    def start(self) -> None:
        """Ask on a thread, unless an earlier request is pending, or its answer has not been read."""
        with self._news:
            if self._is_pending or self._is_unread:
                return
            self._is_pending, self._answer, self._bug = True, None, None
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        answer: Any = None
        bug: BaseException | None = None
        try:
            answer = self._ask()
        except KafkactlError as error:
            answer = error
        except BaseException as error:  # raised again by the thread that waits
            bug = error
        with self._news:
            self._answer, self._bug, self._is_pending, self._is_unread = answer, bug, False, True
            self._news.notify_all()

    def answer(self, deadline_s: float) -> Any:
        """Return the answer, a KafkactlError as it was raised, or `LATE` if none came by this monotonic time.

        Raise any other exception of the question.
        """
        with self._news:
            while self._is_pending:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0 or not self._news.wait(left_s):
                    break
            if self._is_pending:
                return LATE
            if self._bug is not None:
                raise self._bug
            return self._answer

    def mark_read(self) -> None:
        """Ask again at the next start, if the request is not pending."""
        with self._news:
            self._is_unread = False

    def join(self, deadline_s: float) -> None:
        """Wait until a pending request has ended, or until this monotonic time."""
        with self._news:
            while self._is_pending and (left_s := deadline_s - time.monotonic()) > 0:
                self._news.wait(left_s)


def ask_all(questions: Mapping[str, Question], limits_ms: Mapping[str, float]) -> dict[str, Any]:
    """Ask all questions at once and return the answers as `Question.answer` does; each has its own time in ms."""
    begin_s = time.monotonic()
    for question in questions.values():
        question.start()
    found = {name: question.answer(begin_s + limits_ms[name] / 1000) for name, question in questions.items()}
    for question in questions.values():
        question.mark_read()
    return found


def not_asked(error: KafkactlError) -> NotAsked:
    """Return the reason why a question has no answer."""
    return NotAsked(reason=error.message, step=error.advice, is_access=error.id in NO_ACCESS)
