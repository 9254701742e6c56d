"""The man pages: those of the commands as they are, sound for both formatters, and found where a wheel puts them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from scripts import make_man
from scripts.make_reference import every_command
from tests.repository.docs.generated import check_page

PAGES = sorted(make_man.FOLDER.glob("*.1"))


def needs(program: str, package: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed (Debian: apt-get install {package})")
    return path


def test_manual_equals_what_its_generator_writes():
    pages = make_man.pages()
    for name, text in pages.items():
        check_page(make_man.FOLDER / name, text, make_man)
    assert {path.name for path in PAGES} == set(pages)
    assert len(pages) == len(list(every_command()))


def test_every_page_that_is_named_is_there():
    named = {name for path in PAGES for name in re.findall(r"\\fB([a-z\\-]+)\\fR\(1\)", path.read_text())}
    listed = {name for path in PAGES for name in re.findall(r"\\fB([a-z\\-]+)\(1\)\\fR", path.read_text())}
    assert len(listed) == len(PAGES) - 1  # all but the page of the program itself are listed by their group
    assert {name.replace("\\-", "-") + ".1" for name in named | listed} <= {path.name for path in PAGES}


def test_mandoc_has_nothing_to_say():
    run = subprocess.run(
        [needs("mandoc", "mandoc"), "-T", "lint", "-W", "warning", *map(str, PAGES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_groff_has_nothing_to_say():
    groff = needs("groff", "groff")
    said = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-z", *map(str, PAGES)], capture_output=True, check=False)
    assert (said.stderr, said.returncode) == (b"", 0)


def test_lines_begin_no_request_and_keep_their_hyphens():
    assert make_man._line(".hidden -- file\\n") == "\\&.hidden \\-\\- file\\en"
    assert make_man._line("'quoted' -x") == "\\&'quoted' \\-x"
    page = subprocess.run(
        [needs("man", "man-db"), "-l", str(make_man.FOLDER / "kafkactl-storage-format.1")],
        capture_output=True, text=True, check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "90"},
    ).stdout  # fmt: skip
    assert "--expect-mount" in page and "kafkactl storage format" in page
