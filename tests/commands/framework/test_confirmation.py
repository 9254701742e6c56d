from __future__ import annotations

import io
import sys

import pytest

from kafkactl.commands.framework import confirmation
from tests.commands.sample import CLUSTER_ID


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_a_missing_yes_is_a_refusal(sample):
    run = sample("--do", "ask", "-o", "json")
    assert run.code == 3
    assert run.json["outcome"] == "refused"
    assert run.json["findings"][0]["id"] == "confirmation-missing"
    assert sample("--do", "ask", "--yes").code == 0


def test_yes_does_not_do_for_what_cannot_be_undone(sample):
    run = sample("--do", "ask-hard", "--yes", "-o", "json")
    assert run.code == 3
    assert run.json["findings"][0]["id"] == "confirmation-missing"
    assert sample("--do", "ask-hard", "--confirm", CLUSTER_ID).code == 0


def test_another_clusters_id_is_a_refusal(sample):
    run = sample("--do", "ask-hard", "--confirm", "other", "-o", "json")
    assert run.code == 3
    assert run.json["findings"][0]["id"] == "confirmation-mismatch"
    assert CLUSTER_ID in run.json["findings"][0]["message"]


@pytest.mark.parametrize(("typed", "refused"), [("y\n", None), ("n\n", "not-confirmed"), ("\n", "not-confirmed")])
def test_on_a_terminal_the_question_is_asked(monkeypatch, capsys, typed, refused):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    finding = confirmation.confirm("Format node 1?", yes=False, subject="node 1")
    assert (finding.id if finding else None) == refused
    captured = capsys.readouterr()
    assert "Format node 1?" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(("typed", "refused"), [(f"{CLUSTER_ID}\n", None), ("wrong\n", "confirmation-mismatch")])
def test_on_a_terminal_the_cluster_id_is_typed(monkeypatch, capsys, typed, refused):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    finding = confirmation.confirm_cluster_id("All is lost.", CLUSTER_ID, confirm=None, subject="node 1")
    assert (finding.id if finding else None) == refused
    assert "Type the cluster id" in capsys.readouterr().err
