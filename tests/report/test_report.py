"""Reports: what they say, that nothing in them can run or load, and how large they become."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.core.safe_text import is_unsafe
from kafkactl.dryrun.page.build import SimulatedScenario, overview, report_of
from kafkactl.dryrun.page.cluster import cluster_of
from kafkactl.report.events import FEATURES, Event, events_of
from kafkactl.report.html import MARK, render_html
from kafkactl.report.model import (
    Band,
    Bars,
    Curve,
    Lane,
    Mark,
    Picture,
    Quorum,
    Report,
    Series,
    Span,
    Strip,
    Timeline,
    Voters,
)
from kafkactl.report.numbers import MOST_ROWS, numbers_of
from kafkactl.report.svg import draw
from kafkactl.report.timeline import LANES, timeline_of
from tests.conftest import Run
from tests.dryrun.clusters import cluster
from tests.report.answers import HOSTILE, answer, finding
from tests.report.page_reader import assert_nothing_runs_or_loads, read
from tests.sampling import one_in

Kafkactl = Callable[..., Run]


def report(*answers: dict, timeline: Timeline | None = None) -> Report:
    image, _ = cluster("brokers 1 2 3\nbroker 3 fenced\ntopic a\n 1 | 1 2 3 | 1 2\n - | 3 | | 3 | 3")
    return report_of([SimulatedScenario(answer=answer) for answer in answers], cluster_of(image), timeline=timeline)


def test_verdict_and_the_findings_come_first() -> None:
    predicted = answer(verdict="unavailable", findings=[finding("later", "info"), finding("first", "blocker")])
    page = render_html(report(predicted))
    text = " ".join("".join(read(page).text).split())
    places = [text.index(word) for word in ("unavailable", "the message of first", "the message of later", "offsets")]
    assert places == sorted(places)


def test_report_of_several_scenarios_takes_the_heaviest_verdict() -> None:
    several = report(answer(scenario="replay"), answer(verdict="degraded"), answer(verdict="unknown"))
    assert (several.verdict, len(several.sections)) == ("unknown", 3)
    page = read(render_html(several))
    links = {found["href"] for tag, found in page.seen if tag == "a"}
    anchors = {f"#{section.anchor}" for section in several.sections}
    assert anchors <= links
    assert links == anchors | {"#top", "#cluster"}
    assert {f"#{found.get('id')}" for tag, found in page.seen if tag in ("section", "header")} >= links


def test_every_picture_has_its_numbers_as_a_table() -> None:
    bars = Bars(title="T", text="D", series=(Series("a"), Series("b")), rows=(("x", (0, 3)), ("y", (2, 1000))))
    assert lines_of(bars) == [("x", "0", "3"), ("y", "2", "1,000")]
    disk = Bars(title="T", text="D", series=(Series("a"),), rows=(("x", (2_000_000,)),), unit="bytes")
    assert lines_of(disk) == [("x", "2.0 MB")]
    assert lines_of(Curve(title="T", text="D", points=((0, 10), (30, 2048)), unit="bytes")) == [
        ("0", "10 bytes"), ("30", "2.0 KiB"),
    ]  # fmt: skip
    lanes = (("broker 1", (Mark(2000, "up", "broker 1 up"),)), ("broker 2", (Mark(1000, "down", "broker 2 down"),)))
    line = Timeline(title="T", text="D", start_ms=0, end_ms=9, lanes=lanes, is_virtual=True, more=2)
    assert lines_of(line) == [("1.000 s", "broker 2", "broker 2 down"), ("2.000 s", "broker 1", "broker 1 up")]
    led = replace(line, bands={"broker 2": (Band(1500, 1900, "led from 1.500 s to 1.900 s"),)})
    assert lines_of(led)[1] == ("1.500 s", "broker 2", "led from 1.500 s to 1.900 s")
    quorum = Quorum(title="T", text="D", sides=(Voters("before", (1, 2), (1,), 2, 0),))
    assert lines_of(quorum) == [("before", "1", "alive"), ("before", "2", "lost")]
    parts = (Lane(name="remote", value="5", spans=(Span(0, 4, "good", "0 to 4"),)),)
    strip = Strip(title="T", text="D", first=0, last=9, lanes=parts, marks=((7, "log start"),))
    assert lines_of(strip) == [("remote", "0", "4", "0 to 4"), ("mark", "7", "7", "log start")]


def test_numbers_of_a_picture_are_bounded() -> None:
    spans = tuple(Span(at * 2, at * 2, "good", "one segment") for at in range(1_000))
    strip = Strip(title="T", text="D", first=0, last=2_000, lanes=(Lane(name="remote", value="", spans=spans),))
    numbers = numbers_of(strip)
    assert (len(numbers.rows), numbers.more) == (MOST_ROWS, 1_000 - MOST_ROWS)


def lines_of(picture: Picture) -> list[tuple[str, ...]]:
    numbers = numbers_of(picture)
    assert all(len(row) == len(numbers.columns) for row in numbers.rows)
    return [tuple(cell.text for cell in row) for row in numbers.rows]


def test_first_screen_says_what_decides_and_why() -> None:
    heavy = [
        finding("small", "info"),
        finding("odd", "warning"),
        finding("bad", "blocker"),
        finding("odder", "warning"),
    ]
    shown = report(answer(), answer(scenario="restart", verdict="degraded", findings=heavy), answer(scenario="growth"))
    assert shown.meaning.endswith("Decided by: Start of a node from this log.")
    rows = [[cell.text for cell in row][1:] for row in overview(shown.sections).rows]
    assert rows == [["degraded", "1 blocker, 2 warnings, first bad: bad"], ["ok", "none"], ["ok", "none"]]
    assert "Decided" not in report(answer(), answer(scenario="growth")).meaning


def test_assumptions_that_all_share_are_reported_once() -> None:
    found = report(answer(assumptions=["all", "mine"]), answer(assumptions=["all"]))
    assert (found.assumptions, found.sections[0].assumptions) == (("all",), ("mine",))


@pytest.mark.parametrize("words", one_in(4, HOSTILE))
def test_names_from_the_log_stay_text(words: str) -> None:
    predicted = answer(verdict="unavailable", findings=[finding(words, "blocker")], topic=words, paths=[words])
    event = Event(time_ms=1, offset=1, lane=FEATURES, label=words)
    page = render_html(report(predicted, predicted, timeline=timeline_of([event], end_ms=5)))
    reader = read(page)
    assert_nothing_runs_or_loads(page, reader)
    assert not [sign for sign in page.decode().replace("\n", "") if is_unsafe(sign)]
    assert "\n✔ done" not in page.decode()
    kept = "".join(word for word in words if word.isprintable())
    if kept == words:
        assert words in "".join(reader.text)


def test_every_picture_is_sound_and_says_in_words_what_it_shows() -> None:
    bars = Bars(title="T", text="D", series=(Series("a", "bad"), Series("b")), rows=(("x", (0, 3)), ("y", (2, 1))))
    curve = Curve(title="T", text="D", points=((0, 10), (30, 50)), unit="bytes", limit=50)
    line = Timeline(title="T", text="D", start_ms=0, end_ms=0, lanes=(("l", (Mark(0, "fenced", "all", "bad"),)),))
    voters = Voters("before", (1, 2, 3), (1, 2), 2, 0)
    quorum = Quorum(title="T", text="D", sides=(voters, Voters("after", (1, 2, 3), (1,), 2, 0)))
    for number, item in enumerate((bars, curve, line, quorum)):
        drawn = ET.fromstring(draw(item, f"p{number}"))
        assert [drawn[0].text, drawn[1].text] == ["T", "D"]
        assert drawn.get("role") == "img" and drawn.get("aria-labelledby") == f"p{number}-t p{number}-d"


def test_bar_is_as_long_as_its_value() -> None:
    bars = Bars(title="T", text="D", series=(Series("a"),), rows=(("x", (10,)), ("y", (4,)), ("z", (0,))))
    widths = re.findall(r'<rect class="t-plain"[^>]* width="([\d.]+)%"', draw(bars, "p"))
    assert widths == ["100.00", "40.00"]


@pytest.mark.slow
def test_report_stays_small_whatever_the_size_of_the_cluster() -> None:
    many = answer(changes=100_000, findings=[finding(f"f{index}", "warning") for index in range(5_000)])
    image, _ = cluster("brokers " + " ".join(str(number) for number in range(3_000)))
    events = [Event(time_ms=item, offset=item, lane=f"broker {item % 500}", label="fenced") for item in range(50_000)]
    line = timeline_of(events, end_ms=50_000)
    assert line is not None and (len(line.lanes), line.more) == (LANES, 500 - LANES)
    load = cluster_of(image)
    page = render_html(report_of([SimulatedScenario(answer=many, after=load)], load, timeline=line))
    assert len(page) < 500_000
    assert b"99,900 more" in page and b"4950 more findings" in page


def test_loads_are_counted_from_the_image() -> None:
    image, _ = cluster("brokers 1 2 3\nbroker 3 fenced\ntopic a\n 1 | 1 2 3 | 1 2\n - | 3 | | 3 | 3")
    load = cluster_of(image)
    assert [(broker.id, broker.leaders, broker.replicas, broker.lagging, broker.fenced) for broker in load.brokers] == [
        (1, 1, 1, 0, False),
        (2, 0, 1, 0, False),
        (3, 0, 2, 2, True),
    ]
    assert (load.topics, load.partitions, load.without_leader) == (1, 2, 1)


def test_brokers_that_are_down_are_listed_and_unregistered_ids_are_not_counted() -> None:
    image, _ = cluster("brokers 1 2 3\nbroker 3 fenced\ntopic a\n 1 | 1 2 77 | 1 2")
    text = "".join(read(render_html(report_of([SimulatedScenario(answer=answer())], cluster_of(image)))).text)
    assert "3 brokers, 1 topic, 1 partition" in text
    assert "3, 77 (not registered)" in text


def test_without_a_leader_nothing_recovers() -> None:
    predicted = answer()
    change = {**predicted["effects"]["changes"][0], "leader_before": 1, "leader_after": -1, "recovering_after": True}
    predicted["effects"]["changes"] = [change]
    assert "recovering" not in "".join(read(render_html(report(predicted))).text)


def test_isr_that_stays_is_shown_once() -> None:
    predicted = answer()
    kept = {**predicted["effects"]["changes"][0], "isr_before": [41, 42], "isr_after": [41, 42]}
    gone = {**kept, "isr_after": []}
    predicted["effects"]["changes"] = [kept, gone]
    text = "".join(read(render_html(report(predicted))).text)
    assert text.count("41,42 → none") == 1 and text.count("41,42") == 2


def test_events_of_a_log_are_found(tmp_path: Path) -> None:
    from kafkactl.metadata.io.source import open_source

    write_log(tmp_path / "log", Shape(records=2_000, partitions=50, brokers=4))
    segments = open_source(str(tmp_path / "log" / "__cluster_metadata-0")).segments
    found = list(events_of(segments))
    assert {event.lane for event in found} >= {FEATURES, "broker 0", "broker 3"}
    assert [event.offset for event in found] == sorted(event.offset for event in found)
    assert {event.label for event in found if event.lane == "broker 0"} & {"registered", "registered, fenced"}
    assert list(events_of(segments, up_to=found[2].offset)) == found[:3]


def test_mark_by_which_a_report_is_known_is_at_its_head() -> None:
    assert MARK.encode() in render_html(report(answer()))[:512]
