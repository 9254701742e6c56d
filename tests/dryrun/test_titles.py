"""Titles of scenarios for people, and the state of a cluster apart from what might happen."""

from __future__ import annotations

import pytest

from kafkactl.dryrun.page.build import today_and_worst
from kafkactl.dryrun.page.titles import title_of


def test_scenario_of_a_later_build_has_its_name_as_title():
    assert title_of({"scenario": "meteor", "input": {}}) == "meteor"


@pytest.mark.parametrize(
    ("scenario", "asked", "expected"),
    [
        ("broker-loss", {"brokers": [3], "mode": "crash"}, "Loss of broker 3"),
        ("broker-loss", {"brokers": [3, 4], "mode": "controlled"}, "Loss of brokers 3, 4, shut down one by one"),
        ("broker-loss", {"worst": 1}, "Loss of the worst broker"),
        ("broker-loss", {"worst": 2}, "Loss of the 2 worst brokers"),
        ("rolling-restart", {"order": "auto"}, "Rolling restart of all brokers in the safest order"),
        ("rolling-restart", {"order": [3, 1]}, "Rolling restart of brokers 3, 1"),
        ("controllers", {"lose": [1], "down": [2]}, "Loss of controller 1 without an answer of controller 2"),
        ("controllers", {}, "The quorum as it is"),
        ("elect-leaders", {"type": "preferred", "topics": ["a:1"]}, "Election of preferred leaders of a:1"),
        ("alter-config", {"entity": "topic:a", "set": {"k": "v"}}, "Settings of topic:a: k=v"),
        ("alter-config", {"entity": "cluster", "delete": ["d"]}, "Settings of cluster: d deleted"),
        ("zk-migration", {}, "The copy from ZooKeeper"),
        ("features", {"operation": "upgrade", "release_version": "4.3"}, "Upgrade to the levels of 4.3"),
    ],
)  # fmt: skip
def test_title_is_a_sentence(scenario, asked, expected):
    assert title_of({"scenario": scenario, "input": asked}) == expected


def answer(scenario: str, verdict: str, *severities: str):
    return {"scenario": scenario, "verdict": verdict, "findings": [{"severity": severity} for severity in severities]}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([answer("replay", "ok", "info"), answer("broker-loss", "unavailable", "blocker")], ("healthy", "unavailable")),
        ([answer("replay", "ok", "warning"), answer("growth", "ok")], ("not healthy, 1 warning", "ok")),
        ([answer("broker-loss", "ok"), answer("growth", "ok")], None),
        ([answer("replay", "ok")], None),
    ],
)
def test_cluster_as_it_is_and_worst_case_are_apart(answers, expected):
    assert today_and_worst(answers) == expected
