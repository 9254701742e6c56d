"""An error with several reasons tells them all, to people and to scripts."""

from __future__ import annotations

import pytest


@pytest.fixture
def broken(tmp_path):
    """A configuration that Kafka refuses for four reasons."""
    file = tmp_path / "server.properties"
    file.write_text("process.roles=controllr\nnode.id=-3\nlisteners=PLAINTEXT\nlog.dirs=\n")
    return str(file)


def test_a_refused_configuration_lists_every_reason_in_json(kafkactl, broken):
    answer = kafkactl("storage", "format", "-t", "abc", "-c", broken, "-o", "json")
    error = answer.error
    assert (answer.code, error["exit_code"], error["id"]) == (2, 2, "invalid-config-value")
    assert [finding["evidence"]["key"] for finding in error["findings"]] == [
        "process.roles",
        "node.id",
        "controller.listener.names",
        "log.dirs",
    ]


def test_a_refused_configuration_lists_every_reason_for_people(kafkactl, broken):
    answer = kafkactl("storage", "format", "-t", "abc", "-c", broken)
    assert answer.stderr.count("\n  also") == 3
    assert "line 2" not in answer.stdout
    assert "Invalid value -3 for configuration node.id" in answer.stderr
