"""The verbs of `kafkactl tiered` from the command line: formats, exit codes, and answers that fit their models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.commands.models import kinds
from tests.conftest import Run
from tests.tiered.logs import TIERED, LogOf, Topic, observed, partition_seen, save_observation, segment_uuid

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
    model = kinds()[kind]
    assert set(answer) <= set(model.model_fields)
    model.model_validate(answer, strict=True)


@pytest.mark.parametrize("verb", ["audit", "segments", "forecast"])
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


def test_leftovers_write_their_keys(run: Answering, saved: str, tmp_path: Path):
    key = f"kafka-tiered-storage/orders-0-{TOPIC.id}/{0:020}-{segment_uuid('stranger')}.log"
    (tmp_path / "list").write_text(f"{key} 5 1600000000000\n")
    words = ("leftovers", "--observation", saved, "--bucket", str(tmp_path / "list"), "--out", str(tmp_path / "keys"))
    code, out, _ = run(*words, "-o", "json")
    assert code == 0
    fits("tiered.leftovers", json.loads(out))
    assert (tmp_path / "keys").read_text() == f"{key}\n"
    assert run(*words)[0] == 2
    assert run("leftovers", "--observation", saved)[0] == 2


def test_an_observation_gives_the_answers_of_what_it_was_made_from(run: Answering, saved: str, tmp_path: Path):
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


def test_exit_codes(run: Answering, saved: str, tmp_path: Path):
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


@pytest.mark.parametrize(("text", "expected"), [("0s", 0), ("7d", 604_800_000), ("12h", 43_200_000)])
def test_ages(text: str, expected: int):
    from kafkactl.commands.tiered.leftovers import Age

    assert Age().convert(text, None, None) == expected
