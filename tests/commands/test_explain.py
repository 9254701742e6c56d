from __future__ import annotations

import json

from kafkactl.schema.explanations import explanations


def test_an_id_is_explained(kafkactl):
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


def test_a_misspelt_id_is_guessed(kafkactl):
    run = kafkactl("explain", "invalid-uid", "-o", "json")
    assert run.code == 2
    assert run.error["id"] == "unknown-id"
    assert "invalid-uuid" in run.error["next_step"]


def test_all_ids_are_listed(kafkactl):
    lines = [json.loads(line) for line in kafkactl("explain", "--list", "-o", "jsonl").stdout.splitlines()]
    assert [line["id"] for line in lines] == sorted(explanations())
