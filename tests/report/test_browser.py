"""A report in a real browser: nothing complains, nothing is asked for, nothing is wider than the window.

Needs Chromium (Debian: chromium; `make test` installs it on continuous integration; KAFKACTL_BROWSER names another).
What can be tested without one is in test_report.py. KAFKACTL_REPORT_PICTURES names a folder for pictures of the pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.dryrun.page.build import SimulatedScenario, report_of
from kafkactl.dryrun.page.cluster import cluster_of
from kafkactl.report.html import TIERED_MARK, render_html
from kafkactl.report.model import Cell, Table
from kafkactl.tiered.page.build import tiered_report_of
from tests.conftest import Run
from tests.dryrun.clusters import cluster
from tests.report.answers import HOSTILE, answer, finding
from tests.report.browser import Tab, find_browser, opened
from tests.tiered.page.answers import tiered_report

BROWSER = find_browser()
PICTURES = os.environ.get("KAFKACTL_REPORT_PICTURES")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine; see the first lines of this file")

# What sticks out of the window to the right, except inside elements that scroll on their own, and pictures.
WIDER = """
[...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > WIDTH + 1
  && !one.closest('.wide, svg')).map(one => one.tagName + ' ' + one.textContent.slice(0, 40))
"""
# What holds names and lets stacked marks out over its neighbours.
LEAKING = """
[...document.querySelectorAll('td, dd, .finding p')].filter(one => getComputedStyle(one).overflowY !== 'clip')
  .map(one => one.textContent.slice(0, 40))
"""
# Words of pictures that leave their picture, or lie on each other.
CLIPPED = """
[...document.querySelectorAll('svg.picture')].flatMap(picture => {
  const frame = picture.getBoundingClientRect();
  const words = [...picture.querySelectorAll('text')].map(one => [one.getBoundingClientRect(), one.textContent]);
  const out = words.filter(([at]) => at.right > frame.right + 1 || at.left < frame.left - 1 || at.bottom > frame.bottom + 1);
  const on = words.filter(([a], i) => words.some(([b], j) => i < j && a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 4 && b.top < a.bottom - 4));
  return [...out, ...on].map(([, words]) => words);
})
"""  # noqa: E501


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    assert BROWSER is not None
    with opened(BROWSER, tmp_path_factory.mktemp("browser") / "profile") as tab:
        yield tab


@pytest.fixture
def pages(kafkactl: Callable[..., Run], tmp_path: Path) -> dict[str, Path]:
    write_log(tmp_path / "log", Shape(records=1_000, partitions=100, brokers=5))
    page = tmp_path / "report.html"
    kafkactl("dryrun", "report", tmp_path / "log" / "__cluster_metadata-0", "--html", page)
    image, _ = cluster("brokers 1 2 3\nbroker 3 fenced\ntopic a\n 1 | 1 2 3 | 1 2\n - | 3 | | 3 | 3")
    hostile = [
        SimulatedScenario(
            answer=answer(verdict="wedged", findings=[finding(words, "blocker")], topic=words, paths=[words])
        )
        for words in HOSTILE
    ]
    (tmp_path / "hostile.html").write_bytes(render_html(report_of(hostile, cluster_of(image))))
    tiered = tiered_report_of(tiered_report("orders", *HOSTILE))
    (tmp_path / "tiered.html").write_bytes(render_html(tiered, TIERED_MARK))
    return {name: tmp_path / f"{name}.html" for name in ("report", "hostile", "tiered")}


@pytest.mark.slow
def test_browser_shows_it_without_a_word(tab: Tab, pages: dict[str, Path]) -> None:
    paper = {}
    for name, page in pages.items():
        for width in (360, 1280):
            for dark in (False, True):
                tab.open(page.as_uri(), width=width, dark=dark)
                paper[dark] = tab.value("getComputedStyle(document.body).backgroundColor")
                assert tab.value("document.documentElement.scrollWidth") <= width
                assert tab.value(WIDER.replace("WIDTH", str(width))) == []
                assert tab.value(CLIPPED) == []
                assert tab.complaints == []
                assert tab.value("[document.scripts.length, document.images.length]") == [1, 0]
                assert tab.value(LEAKING) == []
                if PICTURES is not None:
                    tab.picture(Path(PICTURES) / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        tab.open(page.as_uri(), width=1280, dark=True, media="print")
        assert tab.value("getComputedStyle(document.body).backgroundColor") == paper[False] != paper[True]


@pytest.mark.slow
def test_contents_stay_in_view(tab: Tab, pages: dict[str, Path]) -> None:
    for width in (360, 1280):
        tab.open(pages["report"].as_uri(), width=width)
        tab.value("scrollTo(0, document.body.scrollHeight / 2)")
        box = "document.querySelector('nav.contents').getBoundingClientRect()"
        assert 0 <= tab.value(f"{box}.top") < tab.value(f"{box}.bottom") <= 900
        badges = tab.value("[...document.querySelectorAll('nav.contents .badge')].map(badge => badge.textContent)")
        assert badges[0] == tab.value("document.querySelector('.verdict strong').textContent") and len(badges) > 1
        tab.value("document.querySelector('#assumptions').scrollIntoView()")
        tab.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert tab.value("document.querySelectorAll('nav.contents [aria-current]').length") == 1
        assert tab.complaints == []


@pytest.mark.slow
def test_tables_are_sorted_and_filtered(tab: Tab, tmp_path: Path) -> None:
    cells = [("broker 2", "1.5 GiB"), ("broker 10", "900 MiB"), ("broker 1", "1,000 bytes"), ("broker x", "none")]
    rows = tuple((Cell(name), Cell(size)) for name, size in [*cells, *((f"node {at}", f"{at}") for at in range(40))])
    table = Table(title="Disks", columns=("node", "size"), rows=rows)
    image, _ = cluster("brokers 1 2 3\ntopic a\n 1 | 1 2 3 | 1 2")
    page = tmp_path / "page.html"
    page.write_bytes(
        render_html(replace(report_of([SimulatedScenario(answer=answer())], cluster_of(image)), summary=(table,)))
    )
    tab.open(page.as_uri(), width=1280)
    shown = "[...document.querySelectorAll('#findings tbody tr')].map(row => row.cells[0].textContent)"
    unsorted = tab.value(shown)
    assert unsorted == [name.text for name, _ in rows]
    tab.value("document.querySelectorAll('#findings thead button')[1].click()")
    assert tab.value(shown) == [f"node {at}" for at in range(40)] + ["broker 1", "broker 10", "broker 2", "broker x"]
    tab.value("document.querySelectorAll('#findings thead button')[1].click()")
    assert tab.value(shown)[:4] == ["broker x", "broker 2", "broker 10", "broker 1"]
    assert tab.value("document.querySelector('#findings th[aria-sort]').getAttribute('aria-sort')") == "descending"
    tab.value("document.querySelectorAll('#findings thead button')[0].click()")
    assert tab.value(shown)[:4] == ["broker 1", "broker 2", "broker 10", "broker x"]
    field = "(field => {field.value = 'BROKER'; field.dispatchEvent(new Event('input'))})"
    tab.value(f"{field}(document.querySelector('#findings input'))")
    assert tab.value(shown) == ["broker 1", "broker 2", "broker 10", "broker x"]
    assert tab.value("document.querySelector('#findings output').textContent") == "4 of 44 rows"
    assert tab.value("document.querySelector('#findings details.rest').hidden") is True
    assert tab.complaints == []


@pytest.mark.slow
def test_axe_finds_no_violation(tab: Tab, pages: dict[str, Path]) -> None:
    package = find_spec("axe_core_python")
    assert package is not None and package.origin is not None
    axe = (Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    for page in pages.values():
        for dark in (False, True):
            tab.open(page.as_uri(), width=1280, dark=dark)
            tab.value(axe)
            # A dark page differs in its colours alone.
            rules = "runOnly: ['color-contrast', 'link-in-text-block'], " if dark else ""
            found = tab.value(f"axe.run(document, {{{rules}resultTypes: ['violations']}})")
            assert found["passes"], "axe checked nothing"
            short = [
                (item["id"], node["html"][:200], node["failureSummary"])
                for item in found["violations"]
                for node in item["nodes"]
            ]
            assert short == []


@pytest.mark.slow
def test_browser_would_have_complained(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "wide.html").write_text(
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
        "<script>alert(1)</script><p style='width: 500px'>wide</p><img src='http://127.0.0.1:1/x.png'>"
        "<svg class='picture' width='100'><text x='0' y='9'>one</text><text x='5' y='9'>two</text></svg>"
        "<div><b style='position: absolute; left: 0; width: 900px'>wider</b></div>"
    )
    before = len(tab.complaints)
    tab.open((tmp_path / "wide.html").as_uri(), width=360)
    assert tab.value("document.documentElement.scrollWidth") > 360
    assert any("wider" in item for item in tab.value(WIDER.replace("WIDTH", "360")))
    assert tab.value(CLIPPED) == ["one"]
    assert len(tab.complaints) > before
    del tab.complaints[before:]
