"""Tests of the pages that campaigns write."""

from __future__ import annotations

from pathlib import Path

from tests.proof_page import last_result, record_part

HEAD = "# A campaign\n\nHow it is run.\n"


def test_rows_of_other_parts_stay(tmp_path: Path) -> None:
    page = tmp_path / "campaign.md"
    record_part(page, HEAD, "4.3.1, restart", "3 of 3 agree")
    record_part(page, HEAD, "3.9.2", "4 of 5 agree; 12 s", ["a scene: 1 | 2"])
    lines = page.read_text().splitlines()
    assert lines[:5] == ["# A campaign", "", "How it is run.", "", "In all: 7 of 8."]
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| ")]
    assert rows == ["| part", "| 3.9.2", "| 4.3.1, restart"]
    assert lines[-1] == "- **3.9.2**: a scene: 1 / 2"
    assert last_result(page, "3.9.2") == "4 of 5 agree; 12 s"
    assert last_result(page, "4.4.0") == ""


def test_disagreement_of_an_earlier_run_is_removed(tmp_path: Path) -> None:
    page = tmp_path / "campaign.md"
    record_part(page, HEAD, "3.9.2", "4 of 5 agree", ["a scene"])
    record_part(page, HEAD, "3.9.2", "5 of 5 agree")
    assert "Disagreements" not in page.read_text()
    assert last_result(page, "3.9.2") == "5 of 5 agree"


def test_total_is_left_out_if_a_result_is_not_counted(tmp_path: Path) -> None:
    page = tmp_path / "campaign.md"
    record_part(page, HEAD, "a", "5 of 5 agree")
    record_part(page, HEAD, "b", "M8 after 40 s; 3 of 4 nodes")
    assert "In all" not in page.read_text()
