"""`kafkactl simulate`: what is answered, how it ends, and what is refused."""

from __future__ import annotations

import os
import re
import signal as signals
import sys
from pathlib import Path

import pytest

from kafkactl.commands import simulate
from kafkactl.commands.simulate import PROFILES, RELEASES
from kafkactl.simulator import campaign, profiles, script

HOSTILE_LINES = {"simulate": ("--profile rolling-restart --duration 1s --html {report}", "--script {text}")}

HOSTILE_PATHS = {
    "simulate": [
        ("--script", "--script {}"),
        ("--html", "--profile rolling-restart --duration 1s --html {}", (1, 2, 3)),
    ],
}

FOLDER = Path(__file__).parents[1] / "scripts" / "simulator"
GUIDE = Path(__file__).parents[2] / "docs" / "simulate.md"
RESTART = FOLDER / "s05_the_leader_is_stopped.txt"


def test_choices_are_those_of_the_simulator():
    assert tuple(profiles.PROFILES) == PROFILES
    assert tuple(script.RELEASES) == RELEASES


def test_script_that_holds_ends_with_zero(kafkactl):
    run = kafkactl("simulate", "--script", str(RESTART), "--release", "3.9", "-o", "json")
    assert run.code == 0
    assert (run.json["verdict"], run.json["runs_passed"], run.json["release"]) == ("passed", 1, "3.9")
    assert run.json["figures"]["failovers"] == 1
    assert run.json["figures"]["failover_ms"]["p50"] < 100
    roles = [row["text"] for row in run.json["timeline"] if row["kind"] == "role"]
    assert any(text.startswith("leader, epoch") for text in roles)
    shown = kafkactl("simulate", "--script", str(RESTART))
    assert "passed" in shown.stdout


def test_equal_options_give_equal_answers(kafkactl):
    words = ("simulate", "--profile", "rolling-restart", "--duration", "10s", "--runs", "2", "-o", "json")
    assert kafkactl(*words).stdout == kafkactl(*words).stdout
    assert kafkactl(*words).stdout != kafkactl(*words, "--seed", "5").stdout


def test_expectation_that_is_not_met_is_a_problem(kafkactl, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("wait leader within 30s\nrun 1s\nexpect no leader\n")
    run = kafkactl("simulate", "--script", str(file), "--runs", "3", "-o", "json")
    assert run.code == 7
    assert (run.json["verdict"], run.json["runs_passed"], len(run.json["failures"])) == ("failed", 0, 3)
    assert run.json["failures"][0]["line"] == 3
    assert run.json["findings"][0]["id"] == "expectation-not-met"
    assert "leads" in run.json["failures"][0]["message"]


def test_action_that_cannot_be_done_is_a_problem(kafkactl, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("kill leader\n")
    run = kafkactl("simulate", "--script", str(file), "-o", "json")
    assert (run.code, run.json["failures"][0]["message"]) == (7, "no node leads")


def test_error_in_a_script_is_wrong_usage_with_its_place(kafkactl, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("run 1s\nkil 3\n")
    run = kafkactl("simulate", "--script", str(file), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "invalid-script")
    assert f"{file}, line 2, column 1:" in run.error["message"]
    file.write_bytes(b"run 1s\n# \xff\n")
    run = kafkactl("simulate", "--script", str(file), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "invalid-script")
    assert "line 2, column 3" in run.error["message"]


def test_node_that_is_not_simulated_is_an_error_in_the_script(kafkactl, tmp_path):
    # Not an expectation that was not met: nothing was simulated that says anything of the quorum.
    file = tmp_path / "a.txt"
    file.write_text("run 1s\nkill 2 9\n")
    run = kafkactl("simulate", "--script", str(file), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "invalid-script")
    assert run.error["message"] == f"{file}, line 2, column 8: there is no node 9: the nodes are 1, 2, 3"
    assert kafkactl("simulate", "--script", str(file), "--observers", "9", "-o", "json").code == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("start 1", "node 1 runs; it was not started"),
        ("pause 1\nstart 1", "node 1 is paused; it was not started"),
        ("resume 2", "node 2 is not paused"),
        ("kill 2\nresume 2", "node 2 is down"),
        ("kill 2\nstop 2", "node 2 was down before"),
        ("kill 2\nkill 2", "node 2 was down before"),
        ("pause 2\npause 2", "node 2 was paused before"),
        ("kill 2\npause 2", "node 2 is down"),
        ("kill 2\nsnapshot 2", "node 2 is down; it wrote no snapshot"),
        ("kill 1 2 3\nappend 7", "no node leads; 7 records were not appended"),
    ],
)
def test_statement_that_has_nothing_to_do_is_remarked(kafkactl, tmp_path, statement, found):
    file = tmp_path / "a.txt"
    file.write_text(f"wait leader within 30s\nrun 1s\n{statement}\n")
    run = kafkactl("simulate", "--script", str(file), "--runs", "2", "-o", "json")
    assert (run.code, run.json["verdict"]) == (0, "passed")
    (remark,) = run.json["findings"]
    assert (remark["id"], remark["severity"]) == ("statement-without-effect", "warning")
    assert found in remark["message"] and remark["message"].endswith(" (in 2 of 2 runs)")
    assert f"{statement.splitlines()[-1]}: {found}" in [row["text"] for row in run.json["timeline"]]


def test_many_statements_without_effect_are_one_finding(kafkactl, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("wait leader within 30s\n" + "start 1\n" * 7)
    (remark,) = kafkactl("simulate", "--script", str(file), "-o", "json").json["findings"]
    assert remark["message"].endswith("; and 2 more")
    assert [each["line"] for each in remark["evidence"]["statements"]] == [2, 3, 4, 5, 6, 7, 8]


def test_starts_of_a_quorum_that_settles_are_not_remarked(kafkactl, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("wait leader within 30s\nkill 2\nsettle 1m\nrun 1s\nappend 3\n")
    assert kafkactl("simulate", "--script", str(file), "-o", "json").json["findings"] == []


@pytest.mark.parametrize(
    ("signal", "code", "why"), [("SIGINT", 130, "was interrupted after"), ("SIGALRM", 6, "was out of time (--timeout)")]
)
def test_runs_that_are_over_are_reported_where_the_others_are_not_made(kafkactl, monkeypatch, signal, code, why):
    def end_after_three(progress, over):
        if over == 3:
            os.kill(os.getpid(), getattr(signals, signal))

    monkeypatch.setattr(simulate._Progress, "__call__", end_after_three)
    words = ("simulate", "--profile", "rolling-restart", "--duration", "1s", "--seed", "5", "-o", "json")
    run = kafkactl(*words, "--runs", "50")
    assert (run.code, run.json["verdict"], run.json["interrupted"]) == (code, "unknown", code == 130)
    assert (run.json["runs"], run.json["runs_passed"], run.json["runs_asked"]) == (3, 3, 50)
    (finding,) = run.json["findings"]
    assert finding["id"] == "runs-not-finished" and why in finding["message"]
    assert "--seed 8 --runs 47" in finding["next_step"]
    monkeypatch.undo()
    assert run.json["figures"] == kafkactl(*words, "--runs", "3").json["figures"]


def test_interruption_before_the_first_run_is_over_has_no_answer(kafkactl, monkeypatch):
    monkeypatch.setattr(campaign, "outcome_of", lambda *_, **__: os.kill(os.getpid(), signals.SIGINT))
    run = kafkactl("simulate", "--profile", "chaos", "--runs", "5", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (130, "", "interrupted")


def test_interruption_of_the_search_for_the_fewest_faults_keeps_the_failure(kafkactl, monkeypatch):
    monkeypatch.setattr(campaign, "shrunk_plan", lambda *_: os.kill(os.getpid(), signals.SIGINT))
    run = kafkactl("simulate", "--profile", "chaos", "--seed", "61", "-o", "json")
    assert (run.code, run.json["verdict"], run.json["runs"]) == (130, "failed", 1)
    assert [finding["id"] for finding in run.json["findings"]] == ["runs-not-finished", "invariant-broken"]
    assert run.json["timeline"] and run.json["shrunk_script"] is None


def test_script_with_a_byte_order_mark_is_accepted(kafkactl, tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfvoters 3\r\nrun 1s\r\n")
    assert kafkactl("simulate", "--script", str(file), "-o", "json").code == 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--profile", "chaos", "--script", "a.txt"),
        ("--profile", "choas"),
        ("--profile", "chaos", "--voters", "0"),
        ("--profile", "chaos", "--voters", "1,1"),
        ("--profile", "chaos", "--voters", "1,x"),
        ("--profile", "chaos", "--voters", "1,2", "--observers", "2"),
        ("--profile", "chaos", "--release", "2.8"),
        ("--profile", "chaos", "--release", "3.7", "--dynamic"),
        ("--profile", "chaos", "--seed", "-1"),
        ("--profile", "chaos", "--runs", "0"),
    ],
)
def test_conflicting_options_are_wrong_usage(kafkactl, words):
    assert kafkactl("simulate", *words).code == 2


def test_page_has_a_lane_for_each_node(kafkactl, tmp_path):
    page = tmp_path / "run.html"
    run = kafkactl("simulate", "--script", str(RESTART), "--html", str(page), "-o", "json")
    assert (run.code, run.json["html"]) == (0, str(page))
    text = page.read_text(encoding="utf-8")
    assert all(f">node {node}<" in text for node in (1, 2, 3))
    assert "network and requests" in text
    bands = re.findall(r'class="band t-(\w+)" .*?<title>([\d.]+) to ([\d.]+) s: (\w+), epoch', text)
    assert {(tone, role) for tone, _, _, role in bands} >= {("good", "leader"), ("plain", "follower")}
    assert all(float(first) < float(last) for _, first, last, _ in bands)
    assert "no cluster was asked" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_runs_are_counted_on_a_terminal_only(monkeypatch, kafkactl):
    words = ("simulate", "--profile", "rolling-restart", "--duration", "1s", "--runs", "3", "-o", "json")
    assert "of 3 runs" not in kafkactl(*words).stderr
    drawn = []
    monkeypatch.setattr(simulate, "write_passing", drawn.append)
    monkeypatch.setattr(simulate.sys, "stderr", Terminal(sys.stderr))
    progress = simulate._Progress(3)
    progress(1)
    assert drawn == ["1 of 3 runs"]
    progress(2)
    assert len(drawn) == 1, "not more often than is seen"
    assert simulate._Progress(1)._shows is False


class Terminal:
    """A stream that says it is one."""

    def __init__(self, stream):
        self._stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self._stream, name)


@pytest.mark.slow
def test_guide_runs(kafkactl, tmp_path, monkeypatch):
    # Every command line of docs/simulate.md, with the script that it shows.
    blocks = GUIDE.read_text(encoding="utf-8").split("```\n")[1::2]
    lines = blocks[0].splitlines()
    (tmp_path / "wedge.txt").write_text(blocks[1])
    monkeypatch.chdir(tmp_path)
    assert len(lines) >= 4
    for line in lines:
        words = line.replace("--runs 20", "--runs 1").split()[1:]
        assert kafkactl(*words).code == 0, line
