from __future__ import annotations

import pytest

from kafkactl.commands import plain
from kafkactl.commands.page import Page, Word
from kafkactl.commands.terminal import fitted


@pytest.mark.parametrize(
    ("widths", "available", "expected"),
    [
        ([5, 40, 22], 80, [5, 40, 22]),
        ([5, 40, 22], 60, [5, 33, 22]),
        ([5, 40, 22], 40, [5, 17, 17]),
        ([5, 40, 22], 2, [1, 1, 1]),
        ([], 10, []),
    ],
)
def test_the_widest_columns_give_way_first(widths, available, expected):
    assert fitted(widths, available) == expected


def test_rows_of_groups_line_up_over_all_groups():
    page = Page()
    page.groups([("node 1", [("data", "/a"), ("metadata", None)]), (Word("node 2", "bad"), [("data", "/bbbb")])])
    assert plain.render(page, color=False) == "node 1\n  data      /a\n  metadata  -\nnode 2\n  data      /bbbb\n"


def test_blocks_are_set_apart_and_empty_ones_leave_nothing():
    page = Page()
    page.heading("Title")
    page.table(("a", "b"), [])
    page.fields([("gone", None)])
    page.findings([])
    page.groups([])
    page.line("one")
    page.line("two")
    assert plain.render(page, color=False) == "Title\n\none\ntwo\n"


def test_colour_does_not_move_columns():
    page = Page()
    page.table(("name", "n"), [(Word("x", "good"), 1), ("long", 22)])
    colored = plain.render(page, color=True)
    assert "\x1b[32mx\x1b[0m     1" in colored
    assert plain.render(page, color=False) == "NAME  N\nx     1\nlong  22\n"


def test_what_others_say_cannot_steer_the_terminal():
    page = Page()
    evil = "a\x1b[2Jb\rc\x9bd\x7f"
    page.heading(evil)
    page.line(Word(evil))
    page.fields([("host", evil)])
    page.table(("host",), [(evil,)])
    page.findings(
        [{"id": "x", "severity": "info", "subject": evil, "message": evil, "next_step": evil, "evidence": {}}]
    )
    text = plain.render(page, color=False)
    assert text.count(r"a\x1b[2Jb\x0dc\x9bd\x7f") == 7
    assert not any(sign in text for sign in "\x1b\r\x9b\x7f")
    page = Page()
    page.table(("path", "n"), [("n\udcff", 1)])  # a byte of a file name that is no text
    assert plain.render(page, color=False) == "PATH   N\nn\\xff  1\n"
    page = Page()
    page.line("tabs\tstay\nand lines")
    assert plain.render(page, color=False) == "tabs\tstay\nand lines\n"
