"""Changes of a watched answer, each with its time."""

from __future__ import annotations

import re

import pytest

from kafkactl.commands.rendering import plain_text
from kafkactl.commands.rendering.change_log import ChangeLog
from kafkactl.commands.rendering.page import Page
from kafkactl.core.errors import UnreachableError


def shown(log: ChangeLog[int]) -> str:
    page = Page()
    log.show_changes(page)
    return plain_text.render(page, color=False)


def test_answers_that_are_equal_show_nothing():
    log: ChangeLog[int] = ChangeLog(lambda before, after: [])
    observe = log.observing(lambda: (1, 0))
    assert observe() == observe() == (1, 0)
    assert shown(log) == ""


def test_last_changes_are_shown_with_their_times():
    answers = iter(range(20))
    log: ChangeLog[int] = ChangeLog(lambda before, after: [f"{before} → {after}"])
    observe = log.observing(lambda: (next(answers), 0))
    for _ in range(20):
        observe()
    lines = shown(log).strip().splitlines()
    assert len(lines) == 8
    assert re.fullmatch(r"\d\d:\d\d:\d\d  18 → 19", lines[-1])


def test_cluster_that_is_not_reached_is_one_change_however_long_it_lasts():
    def observe() -> tuple[int, int]:
        raise UnreachableError("no node answers", id="no-node-answered")

    log: ChangeLog[int] = ChangeLog(lambda before, after: [])
    for _ in range(3):
        with pytest.raises(UnreachableError):
            log.observing(observe)()
    assert shown(log).count("no node answers") == 1
