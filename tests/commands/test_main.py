from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kafkactl as package
from kafkactl.commands.demo.broker import SILENCE, FakeBroker
from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.failure import redacted

ROOT = Path(__file__).resolve().parents[2]


def test_version_needs_no_click():
    script = (
        "import sys; sys.argv = ['kafkactl', '--version']; from kafkactl.__main__ import run; run();"
        "assert 'click' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout == f"kafkactl {package.__version__}\n"


def test_short_option_alone_is_the_version(kafkactl):
    assert kafkactl("-v").stdout == f"kafkactl {package.__version__}\n"
    assert kafkactl("-v", "storage").code == 2


def test_version_among_other_words_is_the_same(kafkactl):
    assert kafkactl("--version", "storage").stdout == f"kafkactl {package.__version__}\n"


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("storage",), ("storage", "-h"), ("explain", "-h")])
def test_help_stands_everywhere(kafkactl, words):
    run = kafkactl(*words)
    assert "Usage: kafkactl" in run.stdout + run.stderr
    if words and words[-1].startswith("-"):
        assert run.code == 0
        assert run.stderr == ""


@pytest.mark.parametrize(
    ("words", "id", "said"),
    [
        (("strage",), "unknown-command", "Did you mean 'storage'?"),
        (("storage", "fromat"), "unknown-command", "Did you mean 'format'"),
        (("sample", "--cluster-idd", "x"), "unknown-option", "'--cluster-id'"),
        (("completion", "zhs"), "invalid-option-value", "Did you mean 'zsh'?"),
        (("sample", "-o", "jason"), "invalid-option-value", "Did you mean 'json'"),
        (("sample", "--timeout", "30"), "invalid-option-value", "write 500ms, 30s, 2m or 1h"),
        (("sample", "--timeout", "0s"), "invalid-option-value", "is not a duration"),
        (("sample", "surplus"), "wrong-usage", "surplus"),
        (("sample", "-t"), "bad-option-usage", "requires an argument"),
        (("sample", "-t", "-g"), "bad-option-usage", "'-g' is an option. Write -t=-g"),
        (("completion",), "missing-option", "Missing argument"),
        (("explain",), "wrong-usage", "Give one ID"),
        (("explain", "cluster-id-mismach"), "unknown-id", "cluster-id-mismach"),
        (("schema", "storage.frmat"), "unknown-kind", "storage.frmat"),
    ],
)
def test_usage_errors_have_a_suggestion_and_exit_code_2(sample, kafkactl, words, id, said):
    run = kafkactl(*words)
    assert run.code == 2
    assert run.stdout == ""
    assert said in run.stderr
    as_json = kafkactl(*words, *(() if "-o" in words else ("-o", "json")))
    if words[0] not in ("strage", "storage") and "-o" not in words:
        assert as_json.error["id"] == id
        assert as_json.error["exit_code"] == 2


def test_error_under_json_is_one_object_on_stderr(sample):
    run = sample("-q", "--do", "refuse", "-o", "json")
    assert run.code == 3
    assert run.stdout == ""
    assert run.error == {
        "kind": "error",
        "schema_version": 1,
        "id": "a-note",
        "message": "somebody holds the lock",
        "cause": "a process",
        "next_step": "stop it: password=<redacted>",
        "exit_code": 3,
        "findings": [],
    }


def test_error_for_people_has_message_cause_and_next_step(sample):
    lines = sample("-q", "--do", "refuse").stderr.splitlines()
    assert lines == [
        "error: somebody holds the lock",
        "  cause a process",
        "  try   stop it: password=<redacted>",
        "  more  kafkactl explain a-note",
    ]


def test_bug_is_called_a_bug_and_v_shows_its_traceback(sample):
    quiet, verbose = sample("--do", "crash"), sample("--do", "crash", "-v")
    assert quiet.code == verbose.code == 1
    assert "This is a bug in kafkactl" in quiet.stderr
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in verbose.stderr
    assert "hunter2" not in quiet.stderr + verbose.stderr


def test_error_of_the_operating_system_is_not_a_bug(sample):
    run = sample("-q", "--do", "missing-file", "-o", "json")
    assert run.code == 1
    assert run.error["id"] == "operating-system-error"
    assert run.error["message"] == "/nonexistent/file: No such file or directory"


def test_interrupted_is_130(sample):
    run = sample("-q", "--do", "interrupt", "-o", "json")
    assert run.code == 130
    assert run.error["id"] == "interrupted"
    assert run.error["message"] == "`kafkactl sample` was interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_that_asks_a_command_to_end_is_130(number):
    # Only commands that keep files ended so; the others by the signal, a change of voters without an answer.
    is_asked = threading.Event()
    with FakeBroker(lambda _: is_asked.set() or SILENCE) as paused:
        words = ["quorum", "describe", "--bootstrap-server", str(paused.address), "--timeout", "5m", "-o", "json"]
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
        try:
            process = subprocess.Popen([sys.executable, "-m", "kafkactl", *words], stderr=subprocess.PIPE, cwd=ROOT)
        finally:
            signal.signal(signal.SIGHUP, before)
        with process:
            assert is_asked.wait(60)
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
    assert (process.returncode, json.loads(said)["id"]) == (130, "interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        ("framework.click_import.import_click", "kafkactl was interrupted before its command began: nothing was done"),
        ("main._help_width", "`kafkactl` was interrupted"),
    ],
    ids=["click", "main"],
)
def test_interrupted_while_modules_are_loaded_is_130(number, loaded, message):
    # Most of a short command's time is that, and SIGTERM ended it by the signal.
    module, _, name = loaded.rpartition(".")
    script = (
        f"import os, signal, sys, kafkactl.commands.{module} as module; signal.signal({number:d}, signal.SIG_DFL);"
        f"signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"module.{name} = lambda: os.kill(os.getpid(), {number:d});"
        "sys.argv = ['kafkactl', 'explain']; from kafkactl.__main__ import run; run()"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (run.returncode, run.stdout, run.stderr.splitlines()[0]) == (130, "", f"error: {message}")
    assert "Traceback" not in run.stderr


def test_hangup_that_is_ignored_stays_ignored_while_modules_are_loaded():
    script = (
        "import os, signal, sys; from kafkactl.commands.framework import click_import;"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); real = click_import.import_click;"
        "click_import.import_click = lambda: (os.kill(os.getpid(), signal.SIGHUP), real());"
        "sys.argv = ['kafkactl', 'explain', 'interrupted']; from kafkactl.__main__ import run; run()"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (run.returncode, run.stdout[:11]) == (0, "interrupted")


def test_time_limit_bounds_the_whole_command(sample):
    run = sample("-q", "--do", "sleep", "--timeout", "100ms", "-o", "json")
    assert run.code == exit_codes.UNKNOWN
    assert run.error["id"] == "timed-out"
    assert "100 ms" in run.error["message"]


def test_environment_sets_options(sample, monkeypatch):
    monkeypatch.setenv("KAFKACTL_OUTPUT", "json")
    monkeypatch.setenv("KAFKACTL_SAMPLE_CLUSTER_ID", "from-environment")
    assert sample().json["cluster_id"] == "from-environment"
    monkeypatch.setenv("KAFKACTL_SAMPLE_OUTPUT", "table")
    assert "cluster id" in sample("-o", "table").stdout


def test_error_before_parsing_knows_the_format_from_the_environment(kafkactl, monkeypatch):
    monkeypatch.setenv("KAFKACTL_OUTPUT", "json")
    assert kafkactl("strage").error["id"] == "unknown-command"


@pytest.mark.parametrize("words", [("-o", "json"), ("-ojson",), ("--output", "json"), ("--output=json",), ("-o=json",)])
def test_error_of_parsing_is_json_however_it_was_asked_for(sample, words):
    assert sample(*words, "--nonsense").error["id"] == "unknown-option"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SCRAM-SHA-256=[name=a,password=hunter2]", "SCRAM-SHA-256=[name=a,password=<redacted>]"),
        ("[name=a,saltedpassword=hunter2=,iterations=1]", "[name=a,saltedpassword=<redacted>,iterations=1]"),
        ("ssl.keystore.password=hunter2 y", "ssl.keystore.password=<redacted> y"),
    ],
)
def test_text_like_a_password_is_redacted(text, shown):
    assert redacted(text) == shown


def test_password_in_a_surplus_argument_is_not_reported(sample):
    run = sample("SCRAM-SHA-256=[name=a,password=hunter2]")
    assert run.code == 2
    assert "hunter2" not in run.stderr


def test_every_code_has_a_meaning():
    assert sorted(exit_codes.MEANINGS) == [0, 1, 2, 3, 4, 5, 6, 7, 130]
