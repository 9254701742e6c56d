"""Questions with deadlines of their own: a late one is unknown, the others are answered."""

from __future__ import annotations

import threading
import time

import pytest

from kafkactl.cluster.node import NotAsked
from kafkactl.core.errors import UnreachableError
from kafkactl.status.io.asking import Question, ask_all


def test_late_question_is_unknown_and_keeps_no_other():
    gate, asked = threading.Event(), []

    def wait() -> int:
        asked.append(1)
        gate.wait(30)
        return 1

    questions = {"late": Question(wait), "soon": Question(lambda: 2)}
    found = ask_all(questions, {"late": 50, "soon": 20_000})
    assert isinstance(found["late"], NotAsked) and found["soon"] == 2
    questions["late"].start()
    assert asked == [1], "a pending question was asked a second time"
    gate.set()
    assert questions["late"].answer(time.monotonic() + 20) == 1
    questions["late"].join(time.monotonic() + 20)


def test_late_answer_is_that_of_the_next_observation():
    gate, asked = threading.Event(), []

    def wait() -> int:
        asked.append(1)
        gate.wait(30)
        return len(asked)

    question = Question(wait)
    assert isinstance(ask_all({"slow": question}, {"slow": 20})["slow"], NotAsked)
    gate.set()
    question.join(time.monotonic() + 20)
    assert [ask_all({"slow": question}, {"slow": 20_000})["slow"] for _ in range(2)] == [1, 2]


def test_error_of_a_question_is_its_answer():
    error = UnreachableError("no node answers", id="no-node-answered")

    def refuse() -> None:
        raise error

    assert ask_all({"refused": Question(refuse)}, {"refused": 20_000}) == {"refused": error}


def test_bug_of_a_question_is_raised():
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask_all({"wrong": Question(fail)}, {"wrong": 20_000})


def test_question_is_asked_again_after_its_answer():
    answers = iter([1, 2])
    question = Question(lambda: next(answers))
    assert [ask_all({"it": question}, {"it": 20_000})["it"] for _ in range(2)] == [1, 2]
