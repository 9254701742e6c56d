"""An error with several reasons shows all of them, to people and to scripts."""

from __future__ import annotations

import pytest

from kafkactl.commands.framework.failure import report
from kafkactl.commands.framework.settings import Settings
from kafkactl.core.errors import UnreachableError


@pytest.fixture
def broken(tmp_path):
    """Return a configuration that Kafka refuses for four reasons."""
    file = tmp_path / "server.properties"
    file.write_text("process.roles=controllr\nnode.id=-3\nlisteners=PLAINTEXT\nlog.dirs=\n")
    return str(file)


def test_refused_configuration_lists_every_reason_in_json(kafkactl, broken):
    answer = kafkactl("storage", "format", "-t", "abc", "-c", broken, "-o", "json")
    error = answer.error
    assert (answer.code, error["exit_code"], error["id"]) == (2, 2, "invalid-config-value")
    assert [finding["evidence"]["key"] for finding in error["findings"]] == [
        "process.roles",
        "node.id",
        "controller.listener.names",
        "log.dirs",
    ]


def test_refused_configuration_lists_every_reason_for_people(kafkactl, broken):
    answer = kafkactl("storage", "format", "-t", "abc", "-c", broken)
    assert answer.stderr.count("\n  also") == 3
    assert "line 2" not in answer.stdout
    assert "Invalid value -3 for configuration node.id" in answer.stderr


def test_many_reasons_do_not_hide_the_first(kafkactl, tmp_path):
    wrong = tmp_path / "notes.md"
    wrong.write_text("".join(f"- item {number}\n" for number in range(40)))
    command = ("storage", "format", "-t", "abc", "-c", wrong)
    shown, all_of_them = kafkactl(*command), kafkactl(*command, "-v")
    assert shown.stderr.count("\n  also") == 11 and "more, which -v shows" in shown.stderr
    assert all_of_them.stderr.count("\n  also") > 30
    assert len(kafkactl(*command, "-o", "json").error["findings"]) == all_of_them.stderr.count("\n  also") + 1


def test_words_of_a_server_do_not_move_the_cursor(capsys):
    # An authorization server's reason, say, ends up in the error block.
    error = UnreachableError("refused: \x1b[2Jall is well", id="authentication-failed", cause="a\x07\nb")
    for output in ("table", "json"):
        assert report(error, Settings(output=output)) == 4
        stderr = capsys.readouterr().err
        assert "all is well" in stderr and "\x1b" not in stderr and "\x07" not in stderr
