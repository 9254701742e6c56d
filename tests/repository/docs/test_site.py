"""The documentation as a site: it builds without a warning, and each link and picture in it leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from kafkactl.core.explanations import explanations
from scripts import site_hooks
from tests.repository.tree import ROOT

pytestmark = pytest.mark.slow

REFERENCE = re.compile(r"<(?:a|link|img|script)\b[^>]*?\b(?:href|src)=\"?([^\"\s>]+)")
TARGET = re.compile(r"\s(?:id|name)=\"?([^\"\s>]+)")
ELSEWHERE = re.compile(r"[a-z]+:|//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_every_link_and_picture_leads_somewhere(site: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors = {str(path): set(map(unescape, TARGET.findall(text))) for path, text in texts.items()}
    files = {str(path) for path in site.rglob("*")}
    folders = {str(path.parent) for path in texts}
    wrong = []
    for path, text in texts.items():
        if path.name == "404.html":  # served for any path, so its links begin at the root of the site
            continue
        for reference in set(REFERENCE.findall(text)):
            if ELSEWHERE.match(reference):
                continue
            file, _, anchor = unescape(reference).partition("#")
            target = os.path.normpath(path.parent / unquote(file)) if file else str(path)
            target = f"{target}/index.html" if target in folders else target
            if target not in files or (anchor and unquote(anchor) not in anchors.get(target, ())):
                wrong.append(f"{path.relative_to(site)}: {reference}")
    assert len(texts) > 1000 and wrong == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:link|img|script)\b[^>]*?\b(?:href|src)=\"?(https?:[^\"\s>]+)")
    assert [url for path in site.rglob("*.html") for url in loaded.findall(path.read_text(encoding="utf-8"))] == []


def test_every_id_has_a_page_that_the_catalogue_leads_to(site: Path) -> None:
    catalogue = (site / "findings" / "index.html").read_text(encoding="utf-8")
    missing = [
        name
        for name in explanations()
        if f'href="{name}.html"' not in catalogue and f"href={name}.html" not in catalogue
    ]
    assert missing == []
    assert all((site / "findings" / f"{name}.html").exists() for name in explanations())


@pytest.mark.parametrize(
    ("place", "page", "link", "rewritten"),
    [
        ("README.md", "index.md", "[a](docs/log.md)", "[a](log.md)"),
        ("README.md", "index.md", "![a](docs/pictures/layers.svg)", "![a](pictures/layers.svg)"),
        ("README.md", "index.md", "[a](docs/proof/)", "[a](proof/bench.md)"),
        ("README.md", "index.md", "[a](LICENSE)", "a"),
        ("docs/log.md", "log.md", "[a](../README.md#install)", "[a](index.md#install)"),
        ("docs/log.md", "log.md", "[a](reference/ids.md#no-leader)", "[a](findings/no-leader.md)"),
        ("docs/proof/bench.md", "proof/bench.md", "[a](../log.md#dump)", "[a](../log.md#dump)"),
        ("docs/log.md", "log.md", "[a](https://kafka.apache.org)", "[a](https://kafka.apache.org)"),
        ("docs/log.md", "log.md", "[a](#here)", "[a](#here)"),
    ],
)
def test_links_are_rewritten_to_the_site(place: str, page: str, link: str, rewritten: str) -> None:
    assert site_hooks.rewritten_links(link, place, page) == rewritten
