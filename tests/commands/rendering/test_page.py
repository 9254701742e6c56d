from __future__ import annotations

import pytest

from kafkactl.commands.rendering import plain_text
from kafkactl.commands.rendering.page import Findings, Page, Word
from kafkactl.commands.rendering.terminal import broken, fitted
from kafkactl.core.findings import Finding, blocker, note


@pytest.mark.parametrize(
    ("widths", "least", "available", "expected"),
    [
        ([5, 40, 22], [5, 9, 22], 80, [5, 40, 22]),
        ([5, 40, 22], [5, 9, 22], 60, [5, 33, 22]),
        ([5, 40, 22], [5, 9, 22], 40, [5, 13, 22]),
        ([5, 40, 40], [5, 9, 22], 70, [5, 33, 32]),
        ([5, 40, 22], [5, 9, 22], 30, [5, 9, 16]),
        ([5, 40, 22], [5, 9, 22], 2, [1, 1, 1]),
        ([], [], 10, []),
    ],
)
def test_columns_that_can_be_broken_between_words_give_way_before_ids(widths, least, available, expected):
    assert fitted(widths, least, available) == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("/var/lib/kafka/data", ["/var/lib/", "kafka/data"]),
        ("step 1, broker/controller", ["step 1, broker/", "controller"]),
        ("4L6g3nShT-eMCtK--X86sw", ["4L6g3nShT-eMCtK--X86sw"]),
        ("CLIENT://127.0.0.1:9093", ["CLIENT://", "127.0.0.1:9093"]),
    ],
)
def test_path_is_broken_after_a_slash(text, lines):
    assert broken(text, 10) == "\n".join(lines)


def test_rows_of_groups_line_up_over_all_groups():
    page = Page()
    page.groups([("node 1", [("data", "/a"), ("metadata", None)]), (Word("node 2", "bad"), [("data", "/bbbb")])])
    assert plain_text.render(page, color=False) == "node 1\n  data      /a\n  metadata  -\nnode 2\n  data      /bbbb\n"


def test_blocks_are_set_apart_and_empty_ones_leave_nothing():
    page = Page()
    page.heading("Title")
    page.table(("a", "b"), [])
    page.fields([("gone", None)])
    page.findings([])
    page.groups([])
    page.line("one")
    page.line("two")
    assert plain_text.render(page, color=False) == "Title\n\none\ntwo\n"


def test_colour_does_not_move_columns():
    page = Page()
    page.table(("name", "n"), [(Word("x", "good"), 1), ("long", 22)])
    colored = plain_text.render(page, color=True)
    assert "\x1b[32mx\x1b[0m     1" in colored
    assert plain_text.render(page, color=False) == "NAME  N\nx     1\nlong  22\n"


def test_foreign_text_cannot_control_the_terminal():
    page = Page()
    evil = "a\x1b[2Jb\rc\x9bd\x7f"
    page.heading(evil)
    page.line(Word(evil))
    page.fields([("host", evil)])
    page.table(("host",), [(evil,)])
    page.findings(
        [{"id": "x", "severity": "info", "subject": evil, "message": evil, "next_step": evil, "evidence": {}}]
    )
    text = plain_text.render(page, color=False)
    assert text.count(r"a\x1b[2Jb\x0dc\x9bd\x7f") == 7
    assert not any(sign in text for sign in "\x1b\r\x9b\x7f")
    page = Page()
    page.table(("path", "n"), [("n\udcff", 1)])  # a byte of a file name that is not UTF-8
    assert plain_text.render(page, color=False) == "PATH   N\nn\\xff  1\n"
    page = Page()
    page.line("a tab\tand a line\n\u2714 done")  # nothing of others begins a line
    assert plain_text.render(page, color=False) == "a tab\\tand a line\\n\u2714 done\n"


def test_same_of_several_subjects_is_one_finding():
    def found(id: int, text: str) -> Finding:
        return blocker("no-flag", f"controller {id}", text.format(id), f"Start controller {id}.")

    page = Page()
    page.findings(
        [
            found(1, "controller {} lacks it"),
            found(12, "controller {} lacks it"),
            found(3, "another thing of controller {}"),
            blocker("no-flag", "quorum", "controller 1 lacks it", "Start controller 1."),
        ]
    )
    (block,) = page.blocks
    assert isinstance(block, Findings)
    assert [(finding["subject"], finding["message"]) for finding in block.findings] == [
        ("controllers 1, 12", "controller 1 lacks it (the same for controller 12)"),
        ("controller 3", "another thing of controller 3"),
        ("quorum", "controller 1 lacks it"),
    ]


def test_number_of_a_check_before_a_subject_does_not_hide_the_name_in_the_message():
    page = Page()
    page.findings(
        [blocker("no-login", f"C-14  broker {id}", f"the file of broker {id} has no login", "") for id in (1, 2)]
    )
    (block,) = page.blocks
    assert isinstance(block, Findings)
    (finding,) = block.findings
    assert finding["message"] == "the file of broker 1 has no login (the same for broker 2)"


def test_many_subjects_are_cut_in_the_middle_of_no_sentence():
    page = Page()
    page.findings([blocker("down", f"broker {id}", "it does not answer", "") for id in range(20)])
    (block,) = page.blocks
    assert isinstance(block, Findings)
    assert block.findings[0]["subject"].endswith("10, 11 and 8 more")


def test_nodes_that_differ_in_their_address_alone_are_one_finding():
    page = Page()
    page.findings(
        [note("silent", f"controller {id}", f"nothing listens on 127.0.0.1:{9000 + id}", "") for id in (1, 2, 3)]
    )
    (block,) = page.blocks
    assert isinstance(block, Findings)
    assert [(finding["subject"], finding["message"]) for finding in block.findings] == [
        ("controllers 1, 2, 3", "nothing listens on 127.0.0.1:9001 (controller 1; similar for the 2 others)")
    ]


def test_directories_of_one_finding_are_listed_once():
    page = Page()
    page.findings([blocker("x", f"directory /{name}", f"already: directory /{name}; go on", "") for name in "abc"])
    (block,) = page.blocks
    assert isinstance(block, Findings)
    assert [(finding["subject"], finding["message"]) for finding in block.findings] == [
        ("directories /a, /b, /c", "already: directory /a; go on (the same for the 2 others)")
    ]


def test_tabs_of_kafkas_own_lines_stay_and_nothing_else_does():
    page = Page()
    page.tabbed("Feature: a\x1b[2J\tEpoch: 3\nforged")
    page.line("topic\twith a tab")
    assert plain_text.render(page, color=False) == "Feature: a\\x1b[2J\tEpoch: 3\\nforged\ntopic\\twith a tab\n"


def test_number_of_a_node_in_the_name_of_a_level_does_not_split_a_finding():
    text = "level 4.4-IV2 (33) is not in the range of the node, 3.3-IV3 to 4.3-IV0"
    page = Page()
    page.findings([blocker("x", f"controller {id}", text, "Upgrade it.") for id in (1, 2, 3, 4)])
    (findings,) = (block for block in page.blocks if isinstance(block, Findings))
    assert [finding["subject"] for finding in findings.findings] == ["controllers 1, 2, 3, 4"]


def test_numbers_of_nodes_are_joined_where_texts_name_them():
    page = Page()
    page.findings([blocker("x", f"broker {id}", f"node {id} is down", f"Start {id}.") for id in (1, 2)])
    (findings,) = (block for block in page.blocks if isinstance(block, Findings))
    assert [finding["subject"] for finding in findings.findings] == ["brokers 1, 2"]


def test_signs_are_ascii_where_the_locale_is(monkeypatch):
    monkeypatch.setattr("kafkactl.commands.rendering.glyphs.utf8_glyphs", lambda: False)
    page = Page()
    page.table(("before → after",), [("1,2,3 → 1,2…",)])
    text = plain_text.render(page, color=False)
    assert text.isascii() and "1,2,3 -> 1,2..." in text
