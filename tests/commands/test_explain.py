from __future__ import annotations

import json

import pytest

from kafkactl.core.explanations import explanations

HOSTILE_LINES = {"explain": ("{text}", "crc-mismatch")}


def test_id_is_explained(kafkactl):
    run = kafkactl("explain", "invalid-uuid", "-o", "json")
    assert run.code == 0
    assert run.json == {
        "kind": "explain",
        "schema_version": 1,
        "id": "invalid-uuid",
        "cause": explanations()["invalid-uuid"].cause,
        "consequence": explanations()["invalid-uuid"].consequence,
        "remedy": explanations()["invalid-uuid"].remedy,
    }
    text = kafkactl("explain", "invalid-uuid").stdout
    assert all(word in text for word in ("cause", "consequence", "remedy"))


def test_misspelt_id_is_guessed(kafkactl):
    run = kafkactl("explain", "invalid-uid", "-o", "json")
    assert run.code == 2
    assert run.error["id"] == "unknown-id"
    assert "invalid-uuid" in run.error["next_step"]


def test_all_ids_are_listed(kafkactl):
    lines = [json.loads(line) for line in kafkactl("explain", "--list", "-o", "jsonl").stdout.splitlines()]
    assert [line["id"] for line in lines] == sorted(explanations())


@pytest.mark.parametrize(
    ("number", "id"),
    [
        ("C-13d", "inter-broker-listener-differs"),
        ("X-seenc", "observed-log-unreadable"),
        ("c-51F", "topic-config-values-unknown"),
    ],
)
def test_number_of_earlier_build_is_explained_with_a_note_that_names_the_id(kafkactl, number, id):
    run = kafkactl("explain", number, "-o", "json")
    assert (run.code, run.json["kind"], run.json["id"]) == (0, "explain", id)
    assert run.stderr.strip() == f"{number} is a number of an earlier version: use `kafkactl explain {id}`"


def test_question_of_a_check_is_explained(kafkactl):
    run = kafkactl("explain", "znode-contents-unknown", "-o", "json")
    assert (run.code, run.json["id"], run.stderr) == (0, "znode-contents-unknown", "")
    assert run.json["cause"].startswith("Check C-50 (znodes can be read) cannot be answered.")
    assert "Pause all automation" in kafkactl("explain", "automation-unknown", "-o", "json").json["remedy"]
    assert kafkactl("explain", "C-41", "-o", "json").json["id"] == "automation-unknown"


def test_check_explains_its_findings(kafkactl):
    every = kafkactl("explain", "c-13", "-o", "json")
    assert (every.code, every.json["kind"]) == (0, "explain.list")
    ids = [explanation["id"] for explanation in every.json["explanations"]]
    assert {"check-unknown", "controller-without-flag", "inter-broker-listener-differs"} <= set(ids)
    assert all(explanation["consequence"] and explanation["remedy"] for explanation in every.json["explanations"])
    assert "inter-broker-listener-differs" in kafkactl("explain", "C-13").stdout
    assert kafkactl("explain", "C-99").code == 2
