"""The verbs of `kafkactl tiered` from the command line: formats, exit codes, and answers that fit their models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kafkactl.core.answer_kinds import answer_schema, has_published_shape
from tests.conftest import Run
from tests.tiered.logs import FINISHED, TIERED, LogOf, Topic, observed, partition_seen, save_observation, segment_uuid

HOSTILE_LINES = {
    "tiered audit": ("{log}", "{log} --bucket {text}"),
    "tiered report": ("{log} --html {report}", "{log} --topic {text}"),
    "tiered segments": ("{log} --topic {text}",),
    "tiered history": ("{log} --topic {text}",),
    "tiered forecast": ("{text}",),
    "tiered observe": ("{log} --out {new}", "{text} --out {new}"),
    "tiered leftovers": ("{log} --bucket {config}",),
}

HOSTILE_PATHS = {
    "tiered leftovers": [
        ("--details", "--observation {remote} --bucket {config} --details {}", (1, 2, 3)),
        ("--out", "--observation {remote} --bucket {config} --out {}", (1, 2, 3)),
        ("--bundle", "--bundle {} --bucket {config}"),
    ],
    "tiered observe": [
        ("--out", "--observation {remote} --out {}", (1, 2, 3)),
    ],
}

TOPIC = Topic("orders", 1)
Answering = Callable[..., tuple[int, str, str]]


@pytest.fixture
def saved(tmp_path: Path) -> str:
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19), TOPIC.started(0, "x", 20, 29))
    seen = partition_seen(earliest=0, local=20, latest=40, bases=(20, 30))
    return str(save_observation(tmp_path / "seen", observed([(TOPIC, TIERED, [seen])]), log))


@pytest.fixture
def run(kafkactl: Callable[..., Run]) -> Answering:
    def answered(*words: str) -> tuple[int, str, str]:
        result = kafkactl("tiered", *words)
        return result.code, result.stdout, result.stderr

    return answered


def fits(kind: str, answer: dict) -> None:
    assert set(answer) <= set(answer_schema(kind)["properties"])
    assert has_published_shape(kind, answer)


@pytest.mark.parametrize("verb", ["audit", "segments", "forecast", "report"])
def test_answers_fit_their_models(run: Answering, saved: str, verb: str):
    code, out, _ = run(verb, "--observation", saved, "-o", "json")
    assert code == 0
    fits(f"tiered.{verb}", json.loads(out))
    code, out, _ = run(verb, "--observation", saved)
    assert code == 0
    assert "orders-0" in out


def test_history_prints_a_line_a_record(run: Answering, saved: str):
    code, out, _ = run("history", "--observation", saved, "--state", "COPY_SEGMENT_FINISHED")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["offset"] for line in lines] == [1, 3]
    _, out, _ = run("history", "--observation", saved, "-o", "json")
    fits("tiered.history", json.loads(out))


def test_keys_of_leftovers_are_written(run: Answering, saved: str, tmp_path: Path):
    key = f"kafka-tiered-storage/orders-0-{TOPIC.id}/{0:020}-{segment_uuid('stranger')}.log"
    (tmp_path / "list").write_text(f"{key} 5 1600000000000\n")
    words = ("leftovers", "--observation", saved, "--bucket", str(tmp_path / "list"), "--out", str(tmp_path / "keys"))
    code, out, _ = run(*words, "-o", "json")
    assert code == 0
    fits("tiered.leftovers", json.loads(out))
    assert (tmp_path / "keys").read_text() == f"{key}\n"
    assert run(*words)[0] == 2
    assert run("leftovers", "--observation", saved)[0] == 2


def test_observation_gives_the_answers_of_what_it_was_made_from(run: Answering, saved: str, tmp_path: Path):
    again = str(tmp_path / "again")
    (tmp_path / "list").write_text(f"kafka-tiered-storage/orders-0-{TOPIC.id}/{0:020}-{segment_uuid('a')}.log 5\n")
    words = ("--observation", saved, "--bucket", str(tmp_path / "list"))
    code, out, _ = run("observe", *words, "--out", again, "-o", "json")
    assert code == 0
    fits("tiered.observe", json.loads(out))
    first, second = (
        json.loads(run("audit", *from_where, "-o", "json")[1]) for from_where in (words, ("--observation", again))
    )
    assert first["findings"] == [
        {**finding, "subject": finding["subject"].replace(f"{again}/bucket.jsonl.gz", words[-1])}
        for finding in second["findings"]
    ]
    assert first["partitions"] == second["partitions"]
    assert run("forecast", "--observation", again, "-o", "json")[1] == run("forecast", *words[:2], "-o", "json")[1]
    assert run("observe", *words, "--out", again)[0] == 2
    assert oct((tmp_path / "again").stat().st_mode)[-3:] == "700"


@pytest.mark.parametrize("verb", ["report", "audit"])
def test_page_is_written_whole_and_replaces_only_its_like(run: Answering, saved: str, tmp_path: Path, verb: str):
    page, other = tmp_path / "page.html", tmp_path / "server.properties"
    code, out, err = run(verb, "--observation", saved, "--html", str(page), "-o", "json")
    assert (code, json.loads(out)["html"]) == (0, str(page)) and str(page) in err
    fits(f"tiered.{verb}", json.loads(out))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n<!-- written by kafkactl tiered -->") and "orders-0" in text
    assert run(verb, "--observation", saved, "--html", str(page))[0] == 0
    other.write_text("node.id=1\n")
    assert run(verb, "--observation", saved, "--html", str(other))[0] == 3
    assert other.read_text() == "node.id=1\n"
    assert run(verb, "--observation", saved, "--html", str(tmp_path / "none" / "page.html"))[0] == 1
    assert run(verb, "--observation", str(tmp_path / "absent"), "--html", str(tmp_path / "new.html"))[0] == 2
    assert not (tmp_path / "new.html").exists()


def test_page_is_equal_by_audit_and_report(run: Answering, saved: str, tmp_path: Path):
    pages = [tmp_path / f"{verb}.html" for verb in ("report", "audit")]
    for page in pages:
        run(page.stem, "--observation", saved, "--html", str(page))
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_report_ends_as_its_audit_does(run: Answering, saved: str, tmp_path: Path):
    place = str(LogOf(0).add(b"garbage").save(tmp_path / "poison"))
    hollow = str(LogOf(0).save(tmp_path / "hollow"))
    assert [run("report", place)[0], run("report", hollow)[0], run("report")[0]] == [7, 6, 2]
    assert run("report", "--observation", saved, "--fail-on", "info")[0] == 7
    code, out, _ = run("report", hollow)
    assert (code, out.splitlines()[0]) == (6, "There was no record to judge")


def test_lines_for_people_have_ids_and_the_number_left_out(run: Answering, saved: str):
    lines = run("segments", "--observation", saved)[1].splitlines()
    assert lines[0] == "orders-0"
    assert lines[3].split() == [str(segment_uuid("x")), "20-29", "1.0", "kB", "COPY_SEGMENT_STARTED"]
    lines = run("audit", "--observation", saved)[1].splitlines()
    assert lines[0] == "The remote log is sound"
    assert lines[-1].split("  ") == ["", "log start 0", "remote 0-19", "local from 20", "next upload 20", "no holes"]
    assert "Not shown: 1 partition without" not in "".join(lines)
    heading, *_ = run("forecast", "--observation", saved)[1].splitlines()
    assert heading == "No replica would do harm as leader"


def test_partition_without_a_finding_is_counted(run: Answering, tmp_path: Path):
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9))
    seen = partition_seen(earliest=0, local=10, latest=40, bases=(10,))
    out = run("audit", "--observation", str(save_observation(tmp_path, observed([(TOPIC, TIERED, [seen])]), log)))[1]
    assert out.splitlines()[-1] == "Not shown: 1 partition without a finding (-o json has all)"


@pytest.mark.slow
def test_many_findings_of_a_kind_are_counted(run: Answering, tmp_path: Path):
    log = LogOf(0)
    for partition in range(30):
        log.add(
            TOPIC.copied(partition, f"a{partition}", 0, 9), TOPIC.copied(partition, f"b{partition}", 20 + partition, 99)
        )
    seen = [partition_seen(partition, earliest=0, local=40, latest=120, bases=(40,)) for partition in range(30)]
    place = str(save_observation(tmp_path, observed([(TOPIC, TIERED, seen)]), log))
    code, out, _ = run("audit", "--observation", place)
    assert (code, "The remote log has 30 problems" in out) == (7, True)
    assert "Not shown: 10 findings: 10 gap (-o json has all)" in out
    assert len(json.loads(run("audit", "--observation", place, "-o", "json")[1])["findings"]) == 30


def test_history_as_a_table_has_the_effect_of_each_record(run: Answering, tmp_path: Path):
    log = LogOf(0).add(
        TOPIC.started(0, "a", 0, 9), TOPIC.update(0, "q", FINISHED), TOPIC.partition_delete(0), b"\ngarbage"
    )
    code, out, _ = run("history", str(log.save(tmp_path)), "-o", "table")
    title, *lines = out.splitlines()
    assert (code, title.split()) == (0, ["METADATA", "OFFSET", "TIME", "WHAT"])
    assert f"COPY_SEGMENT_STARTED orders-0 {segment_uuid('a')} 0-9 1000 B epoch 0:0 broker 1" in lines[0]
    assert lines[1].endswith("broker 1  NOT APPLIED: update-without-base")
    assert lines[2].endswith("DELETE_PARTITION_FINISHED orders-0 broker 1")
    assert "undecodable: " in lines[3] and lines[3].endswith("NOT APPLIED: poison-record")
    assert len(lines) == 4


def test_headings_are_never_better_than_what_was_read(run: Answering, tmp_path: Path):
    document = observed([(TOPIC, TIERED, [partition_seen(earliest=0, local=10, latest=40, bases=(10,))])])
    document["metadata_topic"]["logs"] = [{"partition": 0, "log_start_offset": 0, "end_offset": 9}]
    place = str(save_observation(tmp_path, document, LogOf(0).add(TOPIC.copied(0, "a", 0, 9))))
    for verb in ("audit", "report"):
        assert run(verb, "--observation", place)[1].startswith("What was read shows no loss, but part of the metadata")
    assert run("forecast", "--observation", place)[1].startswith("What replicas would do as leader is not known")


@pytest.mark.parametrize("verb", ["audit", "segments", "forecast", "report", "leftovers", "history"])
def test_yaml_has_what_json_has(run: Answering, saved: str, tmp_path: Path, verb: str):
    (tmp_path / "list").write_text(f"kafka-tiered-storage/orders-0-{TOPIC.id}/{0:020}-{segment_uuid('q')}.log 5\n")
    bucket = ["--bucket", str(tmp_path / "list")] if verb in ("audit", "leftovers") else []
    words = (verb, "--observation", saved, *bucket)
    answers = [run(*words, "-o", form) for form in ("json", "yaml")]
    assert answers[0][0] == answers[1][0]
    assert json.loads(answers[0][1]) == yaml.safe_load(answers[1][1])


def test_exit_code_depends_on_the_findings(run: Answering, saved: str, tmp_path: Path):
    assert run("audit")[0] == 2
    assert run("audit", "--observation", saved, "--fail-on", "info")[0] == 7
    place = LogOf(0).add(b"garbage").save(tmp_path / "poison")
    assert run("audit", str(place))[0] == 7
    hollow = LogOf(0).save(tmp_path / "hollow")
    assert run("audit", str(hollow))[0] == 6
    assert run("segments", str(hollow))[0] == 6
    assert run("history", str(hollow))[0] == 6
    assert run("forecast", str(place))[0] == 2
    refused = run("leftovers", str(place), "--bucket", str(tmp_path), "-o", "json")
    assert (refused[0], json.loads(refused[1])["outcome"]) == (3, "refused")


@pytest.mark.parametrize("verb", ["audit", "segments", "history", "forecast", "report"])
def test_damage_is_reported_by_every_verb(run: Answering, tmp_path: Path, verb: str):
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19))
    damaged = bytearray(log.data)
    damaged[200] ^= 0xFF
    log.data = bytes(damaged)
    seen = partition_seen(earliest=0, local=20, latest=40)
    place = str(save_observation(tmp_path, observed([(TOPIC, TIERED, [seen])]), log))
    code, out, err = run(verb, "--observation", place)
    assert (code, "damaged-metadata-log" in out + err) == (7, True)


@pytest.mark.parametrize(("text", "expected"), [("0s", 0), ("7d", 604_800_000), ("12h", 43_200_000)])
def test_ages_are_converted(text: str, expected: int):
    from kafkactl.commands.tiered.leftovers import Age

    assert Age().convert(text, None, None) == expected
