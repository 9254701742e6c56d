"""Pages that fit the terminal: tables that break no word, and a page that is drawn more briefly."""

from __future__ import annotations

import io
import sys

import pytest

from kafkactl.commands.rendering import screen, terminal
from kafkactl.commands.rendering.page import Page
from kafkactl.core.findings import Finding, blocker, note, warning

NODES = [
    (
        id,
        "controller, broker",
        "4.3",
        "yes",
        "voter",
        "yes",
        f"PLAINTEXT://127.0.0.1:4412{id} CONTROLLER://c{id}.example:4074{id}",
    )
    for id in (1, 2)
]
TITLES = ("id", "roles", "release", "registered", "state", "answers", "endpoints")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    def show(page: Page, columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = Screen()
        terminal.show(page, stream, color=False)
        return stream.getvalue().splitlines()

    return show


@pytest.mark.parametrize("columns", [80, 60, 120, 40])
def test_table_that_is_too_wide_breaks_no_address(shown, columns):
    page = Page()
    page.table(TITLES, NODES)
    lines = shown(page, columns)
    assert max(map(len, lines)) <= columns
    words = " ".join(lines).split()
    for id, *_ in NODES:
        assert f"PLAINTEXT://127.0.0.1:4412{id}" in words and f"CONTROLLER://c{id}.example:4074{id}" in words


def test_table_that_fits_has_a_line_for_each_row(shown):
    page = Page()
    page.table(TITLES, NODES)
    assert len(shown(page, 130)) == 1 + len(NODES)


def test_cell_without_a_value_has_no_line_of_its_own(shown):
    page = Page()
    page.table(("number", "endpoints"), [(1, "PLAINTEXT://broker-1.example:9092"), (2, None)])
    assert shown(page, 40) == ["NUMBER", "    ENDPOINTS", "1", "    PLAINTEXT://broker-1.example:9092", "2"]


def findings(blockers: int, warnings: int) -> list[Finding]:
    text = "a sentence that is long enough to be continued on a second line of a screen of eighty columns, and more"
    return [
        *(note(f"note-{number}", "cluster", text) for number in range(2)),
        *(warning(f"warning-{number}", f"topic t{number}", text, "Do something.") for number in range(warnings)),
        *(blocker(f"blocker-{number}", f"broker {number}", text, "Do something.") for number in range(blockers)),
    ]


def drawn(monkeypatch, found: list[Finding], *, rows: int, columns: int = 80) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(rows))
    monkeypatch.setattr(sys, "stdout", stream := Screen())

    def draw(page: Page, brevity: int) -> None:
        page.heading("Loss of broker 3: unavailable")
        if brevity:
            screen.brief_findings(page, found, whole=(3, 1)[brevity - 1])
        else:
            page.findings(found)
        page.fields([("verdict", "unavailable")])

    page = Page()
    screen.fit_screen(page, draw, briefest=2)
    terminal.show(page, stream, color=False)
    return stream.getvalue().splitlines()


def test_page_that_fits_is_shown_in_full(monkeypatch):
    lines = drawn(monkeypatch, findings(1, 1), rows=40)
    assert sum("a sentence that is long" in line for line in lines) == 4


def test_page_that_is_too_long_keeps_every_blocker_and_ends_with_the_verdict(monkeypatch):
    lines = drawn(monkeypatch, findings(4, 10), rows=24)
    assert len(lines) < 24
    assert lines[-1].split() == ["verdict", "unavailable"]
    text = "\n".join(lines)
    assert all(f"blocker-{number} " in text for number in range(4))
    assert "and 7 more, none a blocker; -v shows all" in text
    assert "note-" not in text, "what only informs gives way to warnings"


def test_equal_findings_are_one_line_with_their_subjects(monkeypatch):
    found = [*findings(5, 0), *(warning("replica-lags", f"broker {id}", f"broker {id} lags", "Wait.") for id in (1, 2))]
    assert "replica-lags  brokers 1, 2" in "\n".join(drawn(monkeypatch, found, rows=20))
