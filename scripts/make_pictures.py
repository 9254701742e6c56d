"""Renewal of all pictures of the documentation: `make pictures` (needs Chromium, and may make a folder below /srv).

Terminals are drawn by make_picture, from commands that really ran; the report is the one that `kafkactl demo` writes,
as Chromium shows it in light and dark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from scripts import make_picture
from scripts.make_picture import FOLDER, PROGRAM, shot, svg
from tests.report.browser import Tab, find_browser, opened

WIDTH: Final = 1100
HEIGHT: Final = 900
# File -> whether the system prefers dark colours, and from which element of the page on it shows.
PAGES: Final = {
    "report-light.png": (False, "body"),
    "report-dark.png": (True, "body"),
    "report-section.png": (False, "section:nth-of-type(7)"),
}
# File -> the command on the terminal.
TERMINALS: Final = {"wedge.svg": "kafkactl demo --scene wedge --no-wait"}


def main() -> None:
    """Write every picture."""
    browser = find_browser()
    if browser is None:
        sys.exit("error: there is no Chromium on this machine; KAFKACTL_BROWSER names one")
    os.environ["TMPDIR"] = "/tmp"  # a picture of the demo shows the path of its folder, which is otherwise in HOME
    make_picture.main()
    with tempfile.TemporaryDirectory(prefix="kafkactl-pictures-") as name:
        folder = Path(name)
        for file, line in TERMINALS.items():
            (FOLDER / file).write_text(svg(shot(line, folder)), encoding="utf-8")
        page = folder / "report.html"
        command = [str(PROGRAM), "demo", "--scene", "report", "--no-wait", "--out", str(page)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with opened(browser, folder / "profile") as tab:
            for file, (dark, start) in PAGES.items():
                _take(tab, page, FOLDER / file, dark=dark, start=start)


def _take(tab: Tab, page: Path, picture: Path, *, dark: bool, start: str) -> None:
    tab.open(page.as_uri(), width=WIDTH, dark=dark)
    top = tab.value(f"document.querySelector('{start}').getBoundingClientRect().top + scrollY")
    tab.picture(picture, top=max(0, top), height=HEIGHT)
    if tab.complaints:
        sys.exit(f"error: the browser complains: {tab.complaints}")


if __name__ == "__main__":
    main()
