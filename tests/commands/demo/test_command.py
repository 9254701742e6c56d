"""`kafkactl demo` as its user runs it: in a pipe, for a script, and on a terminal."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from tests.lab.harness.terminal_session import TerminalSession

HOSTILE_LINES = {"demo": ("--scene mount --out {text}", "--list", "--scene mount --kafka {text}")}

HOSTILE_PATHS = {
    "demo": [
        ("--out", "--scene mount --scene report --out {}", (1, 2, 3)),
        ("--kafka", "--scene mount --kafka {}"),
    ],
}

WAITING = "Enter runs it, Ctrl-C ends the demo"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return where temporary folders are made."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path / "temporary"


def on_a_terminal(place, *words, answers=None):
    command = [sys.executable, "-m", "kafkactl", "demo", *words]
    return TerminalSession(command, cwd=place.parent, columns=90, answers=answers)


def test_scenes_are_listed(kafkactl):
    listed = json.loads(kafkactl("demo", "--list", "-o", "json").stdout)["scenes"]
    assert [scene["name"] for scene in listed] == ["wedge", "fleet", "mount", "dryrun", "report"]
    assert kafkactl("demo", "--list", "--scene", "report").stdout.splitlines()[1].startswith("report  ")


@pytest.mark.slow
def test_script_gets_each_command_with_its_output(kafkactl, place):
    run = kafkactl("demo", "--scene", "mount", "-o", "json")
    answer = json.loads(run.stdout)
    steps = answer["scenes"][0]["steps"]
    assert (run.code, answer["cluster"], answer["folder"]) == (0, None, None)
    assert [step["exit_code"] for step in steps if step["command"]] == [0, 3, 0]
    assert any("metadata-disk-lost" in (step["stdout"] or "") for step in steps)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--scene", "mount", "--out", "page.html"), 2, "--out is for the scene report"),
        (("--out", "{taken}"), 3, "not-a-report-file"),
        (("--out", "{missing}"), 1, "report-not-written"),
        (("--kafka", "{missing}"), 2, "kafka-not-found"),
        (("--scene", "none"), 2, "none"),
    ],
)
def test_impossible_demo_is_refused_before_the_first_scene(kafkactl, place, words, code, said):
    names = {"taken": place.parent / "notes.txt", "missing": place.parent / "missing" / "page.html"}
    names["taken"].write_text("mine", encoding="utf-8")
    run = kafkactl("demo", *(word.format(**names) for word in words))
    assert (run.code, run.stdout) == (code, "") and said in run.stderr
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_on_a_terminal_it_waits_before_each_command_and_goes_with_its_folder(place):
    with on_a_terminal(place, "--scene", "wedge", answers={WAITING: "", "Enter ends the demo": ""}) as session:
        assert session.ended() == 0
        text = session.text
    assert text.count(WAITING) == 3
    assert text.index("quorum remove-controller -i 2") < text.index("quorum-would-wedge") < text.index("(exit code 3)")
    assert max(map(len, text.splitlines())) <= 90
    assert list(place.iterdir()) == []


@pytest.fixture
def hangups_end_processes():
    """Restore the default of SIGHUP: if the tests run under nohup, their children would ignore it as well."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_folder_of_the_demo_is_removed_after_any_signal(place, number, hangups_end_processes):
    with on_a_terminal(place, "--scene", "mount") as session:
        session.until(lambda text: WAITING in text)
        assert [path.name[:14] for path in place.iterdir()] == ["kafkactl-demo-"]
        session.process.send_signal(number)
        assert session.ended() == 130
        assert "The demo was ended." in session.text and "error" not in session.text
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_ends_the_command_that_runs_as_well(place):
    with on_a_terminal(place, "--scene", "wedge", "--no-wait") as session:
        session.until(lambda text: "quorum describe" in text)
        session.interrupt()
        assert session.ended() == 130
    assert list(place.iterdir()) == []
