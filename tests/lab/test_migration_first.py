"""The first hour with a cluster as operators have it: ordinary files, no hooks, and an edit between two phases."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.protocol.properties import parse_properties
from tests.lab.migration_first import CREDENTIALS, ByHand, FirstCluster

PACE = ("--gate-interval", "1s")


def open_words(checked: dict) -> list[str]:
    """What accepts every warning and unknown of a check, as its screen says."""
    asked = [one["evidence"]["number"] for one in checked["findings"] if one["severity"] == "warning"]
    return [word for number in dict.fromkeys(asked) for word in ("--accept", number)]


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_ordinary_files_by_hand_into_dual_write_and_an_edit_on_the_way(tmp_path: Path) -> None:
    """Kafka 3.9.2, two brokers with two directories each, clients over TLS, a controller with SASL/PLAIN, by hand."""
    with FirstCluster("3.9.2", tmp_path, brokers=2, controllers=1) as cluster:
        cluster.reach("M0")
        hand = ByHand(cluster)
        checked = hand.kafkactl("check")
        assert checked["counts"]["blocker"] == 0, checked["findings"]
        missing = {one["subject"] for one in checked["findings"] if one["id"] == "listener-credentials-missing"}
        assert missing == {"broker 1", "broker 2"}
        cluster.add_credentials()
        checked = hand.kafkactl("check")
        assert "listener-credentials-missing" not in {one["id"] for one in checked["findings"]}
        words = [*PACE, *open_words(checked)]

        answer = hand.kafkactl("run", "--yes", "--until", "M4L", *words)
        assert (answer["outcome"], answer["state"]) == ("done", "M4L"), answer["findings"]
        states = {(one["action"], one["state"]) for one in answer["steps"]}
        assert ("format-disk", "done") in states  # its disk can be read from here, so it was seen
        assert ("put-config", "asked") in states  # a file without a get_config hook is not
        assert any(one.startswith("kafka-storage.sh format --config ") for one in hand.did)

        files = {id: cluster.config_file(id).read_text() for id in cluster.broker_ids}
        with cluster.config_file(2).open("a") as file:
            file.write("num.io.threads=3\n")
        refused = hand.kafkactl("run", "--yes", *words, code=3)
        assert {one["id"] for one in refused["findings"]} == {"config-edited-by-hand"}
        assert cluster.config_file(1).read_text() == files[1]

        answer = hand.kafkactl("run", "--yes", "--until", "M6", "--hand-edits", "carry", *words)
        assert (answer["outcome"], answer["state"]) == ("done", "M6"), answer["findings"]
        read = {id: parse_properties(cluster.config_file(id).read_bytes()).mapping for id in cluster.broker_ids}
        assert {id: one["num.io.threads"] for id, one in read.items()} == {1: "2", 2: "3"}
        assert all(CREDENTIALS in one for one in read.values())
        assert hand.kafkactl("compare")["unexplained"] == 0
