"""Comments are sentences, reasons or units: a file has no section rulers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, python_files, shown, text_of

# A comment that begins or ends with a rule.
RULER = re.compile(r"^[ \t]*#+ ?(?:[-=*#~_]{3,}.*|.*[-=*#~_]{4,})$", re.MULTILINE)


def rulers(path: Path) -> list[str]:
    """Return the places of section rulers in one file."""
    text = text_of(path)
    return [f"{shown(path)}:{text.count(chr(10), 0, found.start()) + 1}" for found in RULER.finditer(text)]


def test_files_have_no_section_rulers():
    files = [
        *python_files("kafkactl", "commands", "tests", "bench", "scripts"),
        *sorted((ROOT / "schemas").rglob("*.toml")),
    ]
    found = [place for path in files for place in rulers(path)]
    assert not found, "a file that needs sections is two files: remove the rulers, or split the file"


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("# --- writing ---", True),
        ("    # ======", True),
        ("# writing -----", True),
        ("# The limit is 4 GiB - 1.", False),
        ("value = 1  # --soak in ms", False),
    ],
)
def test_section_ruler_is_found(tmp_path, monkeypatch, line, is_found):
    monkeypatch.setattr("tests.repository.language.test_comments.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text(f'"""Example."""\n\n{line}\n')
    assert rulers(path) == (["example.py:3"] if is_found else [])
