"""Reports of tiered storage: what they say in words, that nothing in them runs or loads, and how large they become."""

from __future__ import annotations

import re

import pytest

from kafkactl.core.frozen import changed
from kafkactl.core.safe_text import is_unsafe
from kafkactl.report.html import TIERED_MARK, render_html
from kafkactl.tiered.api.pages import TieredReport
from kafkactl.tiered.page.build import SHOWN_FINDINGS, tiered_report_of
from kafkactl.tiered.page.strips import LANES, metadata_strip, strip_of
from kafkactl.tiered.page.verdict import meaning_of, verdict_of
from kafkactl.tiered.pictures import LocalLog
from tests.report.answers import HOSTILE
from tests.report.page_reader import assert_nothing_runs_or_loads, read
from tests.sampling import one_in
from tests.tiered.page.answers import (
    lane,
    metadata_partition,
    picture,
    status,
    tiered_audit,
    tiered_finding,
    tiered_report,
)


def page_of(report: TieredReport) -> bytes:
    return render_html(tiered_report_of(report), TIERED_MARK)


def words_of(report: TieredReport) -> str:
    return " ".join("".join(read(page_of(report)).text).split())


def test_verdict_then_the_topics_then_what_was_found():
    text = words_of(tiered_report("orders", "payments"))
    places = [
        text.index(words) for words in ("problems", "Topics, the worst first", "/orders", "Findings by kind", "Age of")
    ]
    assert places == sorted(places)


def test_every_picture_has_its_numbers_as_text():
    text = words_of(tiered_report("orders"))
    for words in (
        "Offsets 0 to 99: 40 only remote, 10 remote and local, 40 only local. The local log begins at 50.",
        "10 offsets in 1 hole: 20 to 29.",
        "Orphaned copies: 2 segments, 2.0 kB, offsets 60 to 79.",
        "2 segments, 2.0 kB whose copy began and never ended; the oldest is 5 hours old.",
        "By age: 1 hour to 1 day: 2 with 2.0 kB.",
        "190 records in 2 metadata partitions, 0 of which read to the end that is known.",
        "In partition 1: offsets below 10 are deleted; offsets 100 to 119 were not read; offset 50 has a record at"
        " which metadata consumers end.",
        "gap 10 B. One segment may be in several.",
        "5.0 MB in complete segments of topics that exist or are not known to be deleted, 2.0 kB in orphaned copies",
        "log start 0", "highest copied 59", "next upload 60",
        "0 to 29, 3.0 kB",
    ):  # fmt: skip
        assert words in text


@pytest.mark.parametrize("words", one_in(4, HOSTILE))
def test_names_from_the_cluster_stay_text(words: str):
    page = page_of(tiered_report(words))
    reader = read(page)
    assert_nothing_runs_or_loads(page, reader)
    assert not [sign for sign in page.decode().replace("\n", "") if is_unsafe(sign)]
    assert "\n✔ done" not in page.decode()
    if "".join(sign for sign in words if sign.isprintable()) == words:
        assert words in "".join(reader.text)


@pytest.mark.slow
def test_huge_cluster_makes_a_small_page():
    topics = [f"topic-{number}" for number in range(20)]
    report = tiered_report(
        *topics,
        partitions=tuple(status(f"topic-{number % 5000}", number // 5000) for number in range(20_000)),
        findings=tuple(tiered_finding(f"topic-{number % 5000}", bytes=1) for number in range(20_000)),
        pictures=tuple(
            picture(topic, number, remote=lane(*((at * 4, at * 4) for at in range(200))))
            for topic in topics
            for number in range(6)
        ),
        metadata_partitions=tuple(changed(metadata_partition(0), partition=at) for at in range(1000)),
    )
    page = page_of(report)
    assert len(page) < 6_000_000
    assert b"and 4,980 more that are not listed here" in page
    assert f"{20_000 - 3:,} more findings".encode() in page
    assert page.count(b'<li class="finding') <= SHOWN_FINDINGS + 1
    assert f"The first {LANES} of 1,000 are drawn".encode() in page


def test_unknown_offsets_are_reported_in_the_report():
    unknown = picture("a", local=None, both=None, whole=False, holes=lane(), others=(), log_start_offset=None,
                      highest_offset=None, next_upload_offset=None)  # fmt: skip
    strip = strip_of(unknown)
    assert "50 remote; the local log is not known." in strip.text
    assert "which holes and orphans there are is not known" in strip.text and "No holes" not in strip.text
    assert (strip.marks, [lane.name for lane in strip.lanes]) == ((), ["remote"])
    open_end = picture("a", local=LocalLog(from_offset=50, to_offset=None, offsets=None))
    assert "whose end is not known" in strip_of(open_end).text
    gone = picture("a", exists=False, local=None, both=None, holes=lane(), others=())
    assert "no broker deletes these segments" in strip_of(gone).text


def test_metadata_topic_is_drawn_with_what_is_missing_and_what_harms():
    audit = tiered_audit("a")
    strip = metadata_strip(audit.source.metadata_partitions, audit.findings)
    assert strip is not None
    harmed, other = strip.lanes
    assert (harmed.name, harmed.value) == ("partition 1", "90 records")
    assert [(span.first, span.last, span.form) for span in harmed.spans] == [
        (10, 99, "plain"), (0, 9, "gone"), (100, 119, "gone"), (50, 50, "bad"),
    ]  # fmt: skip
    assert [span.form for span in other.spans] == ["plain", "gone"]
    absent = tiered_finding("x", id="metadata-view-incomplete", metadata_partition=7, offset=0, expected_end_offset=500)
    with_absent = metadata_strip(audit.source.metadata_partitions, [absent])
    assert with_absent is not None and with_absent.last == 499
    assert (with_absent.lanes[0].name, with_absent.lanes[0].value) == ("partition 7", "not read")
    assert metadata_strip([], []) is None


def test_healthy_and_empty_answers_are_shown():
    sound = tiered_report("a", findings=(), orphan_ages=(), forecast=None)
    text = words_of(sound)
    assert "sound" in text and "What was found" in text and "would do harm" not in text
    empty = changed(tiered_finding("a", id="no-remote-log-metadata-records", severity="warning"), evidence={})
    nothing = tiered_report(
        "a", partitions=(), pictures=(), orphan_ages=(), forecast=None, findings=(empty,), metadata_partitions=()
    )
    assert "unknown There was no record to judge." in words_of(nothing)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([], "sound"),
        ([("superseded", "info")], "sound"),
        ([("orphan-copy", "warning")], "warnings"),
        ([("metadata-view-incomplete", "warning"), ("orphan-copy", "warning")], "unknown"),
        ([("no-remote-log-metadata-records", "warning")], "unknown"),
        ([("unread-metadata-batch", "warning"), ("gap", "blocker")], "problems"),
    ],
)
def test_verdict_follows_the_most_severe_finding(found: list[tuple[str, str]], verdict: str):
    findings = [tiered_finding("a", id=id, severity=severity) for id, severity in found]
    assert verdict_of(findings) == verdict
    assert re.fullmatch(r"[A-Z].*\.", meaning_of(findings))
