"""The pictures of the documentation: small, shown on a page, and what commands really print."""

from __future__ import annotations

import re
import struct
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scripts import make_picture, make_pictures
from scripts.terminal_capture import on_a_terminal
from tests.repository.tree import ROOT

FOLDER = ROOT / "docs" / "pictures"
MOST, MOST_BYTES = 8, 150_000
ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])")
SVG = "{http://www.w3.org/2000/svg}"


def words_of(picture: Path) -> str:
    """Return the words on the terminal of a picture, line after line; ids are ID."""
    lines: dict[float, list[tuple[float, str]]] = {}
    for text in ET.fromstring(picture.read_text(encoding="utf-8")).iter(f"{SVG}text"):
        if "clip-path" in text.attrib:  # the others are of the window's frame
            place = lines.setdefault(float(text.attrib["y"]), [])
            place.append((float(text.attrib["x"]), "".join(text.itertext()).replace("\xa0", " ")))
    shown = " ".join(" ".join(part for _, part in sorted(line)) for _, line in sorted(lines.items()))
    return " ".join(ID.sub("ID", shown).split())


def test_pictures_are_few_and_small_and_each_is_on_a_page() -> None:
    pictures = sorted(path.name for path in FOLDER.iterdir())
    assert len(pictures) <= MOST
    assert not [name for name in pictures if (FOLDER / name).stat().st_size > MOST_BYTES]
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
    assert [name for name in pictures if f"pictures/{name})" not in pages] == []
    assert {*make_pictures.PAGES, *make_pictures.TERMINALS, make_picture.PICTURE.name} <= set(pictures)


@pytest.mark.parametrize("name", make_pictures.PAGES)
def test_screenshot_is_a_png_of_the_size_that_was_asked_for(name: str) -> None:
    head = (FOLDER / name).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (make_pictures.WIDTH, make_pictures.HEIGHT)


@pytest.mark.slow
def test_terminal_shows_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    # Run again, in a folder of another name, and not below /tmp, which a format would warn of.
    monkeypatch.setattr(make_picture, "COLUMNS", 250)
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        text = "\n".join(make_picture.scene(Path(name)))
    printed = re.sub(r"\x1b\[[0-9;]*m", "", text).replace(name, str(make_picture.DISKS))
    # Rich leaves out some blanks, and where lines end depends on the length of the folder's name.
    assert words_of(make_picture.PICTURE).replace(" ", "") == "".join(ID.sub("ID", printed).split())


@pytest.mark.parametrize("name", make_pictures.TERMINALS)
def test_playground_on_a_picture_is_that_of_today(name: str) -> None:
    # Each sentence that the scene says, without what differs from one run to the next.
    words = words_of(FOLDER / name)
    assert words.startswith(f"$ {make_pictures.TERMINALS[name]} ")
    from kafkactl.commands.demo.scenes import SCENES

    assert f"Scene wedge: {SCENES['wedge'].title}" in words
    for expected in ("quorum-would-wedge", "(exit code 3)", "DRY RUN", "The demo is over."):
        assert expected in words
    assert "Traceback" not in words and "\r" not in words


def test_erased_text_is_not_captured(tmp_path: Path) -> None:
    script = "printf 'step 1'; printf '\\r\\033[Kstep 2'; printf '\\r\\033[Kdone\\n'; exit 3"
    assert on_a_terminal(["sh", "-c", script], folder=tmp_path, columns=80) == (3, "done\n")
