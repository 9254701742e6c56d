from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kafkactl.core.answers import plain_values
from tests.commands.sample import CLUSTER_ID


def test_json_is_one_object_with_kind_first_and_booleans_present(sample):
    run = sample("-o", "json")
    assert run.code == 0
    assert list(run.json)[:2] == ["kind", "schema_version"]
    assert run.json["ignore_formatted"] is False
    assert run.json["nothing"] is None
    assert run.json["features"] == []
    assert run.json["outcome"] == "done"
    assert run.json["findings"][1] == {
        "id": "cluster-id-mismatch",
        "severity": "blocker",
        "subject": "directory /disk1",
        "message": "It belongs to cluster A.",
        "evidence": {"found": "A", "expected": None, "same": False},
        "next_step": "Look at the disk.",
    }


def test_yaml_is_the_same_object(sample):
    assert yaml.safe_load(sample("-o", "yaml").stdout) == sample("-o", "json").json


def test_jsonl_prints_a_listing_one_object_a_line(sample):
    lines = [json.loads(line) for line in sample("-o", "jsonl").stdout.splitlines()]
    assert [line["id"] for line in lines] == [1, 2]
    assert all(line["kind"] == "sample" and line["schema_version"] == 1 for line in lines)


def test_findings_next_to_a_listing_are_not_lost(sample):
    notes = [json.loads(line) for line in sample("-o", "jsonl", "-q").stderr.splitlines()]
    assert [finding["id"] for finding in notes] == ["a-note", "cluster-id-mismatch"]
    assert all(line["kind"] == "finding" and line["schema_version"] == 1 for line in notes)


def test_talk_goes_to_stderr_and_obeys_quiet_and_verbose(sample):
    assert sample().stderr == "talking\n"
    assert sample("-q").stderr == ""
    assert sample("-v").stderr == "talking\ntalking more\n"
    assert "talking" not in sample("-o", "json", "-v").stdout


def test_piped_table_is_never_cut_and_has_no_colour(sample):
    text = sample().stdout
    assert "x" * 120 in text
    assert "\x1b" not in text
    assert "…" not in text


def test_findings_are_shown_with_symbol_and_next_step_most_severe_first(sample):
    text = sample().stdout
    assert "✖ blocker  cluster-id-mismatch  directory /disk1" in text
    assert "→ Look at the disk." in text
    assert text.index("blocker") < text.index("· info")


def test_symbols_are_ascii_where_the_locale_is(sample, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    text = sample().stdout
    assert "x blocker" in text
    assert "-> Look at the disk." in text
    assert text.isascii()


@pytest.mark.parametrize(
    ("arguments", "environment", "colored"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ((), {"KAFKACTL_COLOR": "always"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_follows_option_environment_and_terminal(sample, monkeypatch, arguments, environment, colored):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in sample(*arguments).stdout) is colored


def test_values_that_are_not_plain_values_are_a_bug():
    with pytest.raises(TypeError, match="object has no place"):
        plain_values({"a": [object()]})


def test_file_name_that_is_not_text_survives_as_an_escape(sample):
    run = sample("-t", os.fsdecode(b"\xff"), "-o", "json")
    assert run.code == 0
    assert run.json["cluster_id"] == "\udcff"


def test_reader_that_goes_away_changes_nothing():
    script = f"{sys.executable} -m kafkactl explain --list -o json | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=_root(), check=True)
    assert run.stdout == "0\n"
    assert run.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to be out of space on")
def test_answer_that_cannot_be_written_is_a_failure():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "kafkactl", "explain", "--list"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=_root(), check=False)
    assert run.returncode == 1
    assert "No space left on device" in run.stderr
    assert "output-not-written" in run.stderr


@pytest.mark.parametrize("closed, code", [(">&-", 1), ("2>&-", 0), ("<&-", 0), (">&- 2>&-", 1)])
def test_streams_that_were_closed(closed, code):
    script = f"{sys.executable} -m kafkactl explain cluster-id-mismatch {closed} 3>&-"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=_root(), check=False)
    assert run.returncode == code
    assert ("output-not-written" in run.stderr) == (closed == ">&-")
    assert "bug" not in run.stderr


@pytest.mark.parametrize("width", [60, 80, 120])
def test_on_a_terminal_long_cells_wrap_and_nothing_is_lost(width):
    text = _on_a_terminal(
        ["-c", "from tests.commands.sample import command; command(prog_name='sample')"], width, {"NO_COLOR": "1"}
    )
    lines = text.replace("\r", "").splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    assert text.count("x") >= 120
    assert CLUSTER_ID in text
    assert "…" not in text


@pytest.mark.slow
def test_terminal_has_colour_and_no_color_takes_it_away():
    show = ["-m", "kafkactl", "explain", "unknown-id"]
    assert "\x1b[1m" in _on_a_terminal(show, 80, {})
    assert "\x1b[" not in _on_a_terminal([*show, "--color", "never"], 80, {})


@pytest.mark.slow
def test_history_is_a_table_on_a_terminal_and_lines_of_json_elsewhere():
    log = _root() / "tests/golden/segment-4.4.0-standalone.log.bin"
    show = ["-m", "kafkactl", "log", "history", str(log), "--feature", "metadata.version"]
    assert _on_a_terminal(show, 100, {}).split()[:3] == ["OFFSET", "EPOCH", "TIME"]
    assert _on_a_terminal([*show, "-o", "jsonl"], 100, {}).startswith("{")


@pytest.mark.slow
def test_prediction_fits_a_terminal_and_its_assumptions_are_shown_on_request(tmp_path):
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes((_root() / "tests/golden/segment-4.4.0-standalone.log.bin").read_bytes())
    show = ["-m", "kafkactl", "dryrun", "controllers", str(log), "--lose", "1"]
    lines = _on_a_terminal(show, 80, {"NO_COLOR": "1"}).split("\r\n")
    assert len(lines) <= 24 and lines[-2].startswith("verdict ")
    assert sum("assumed: " in line for line in lines) == 1
    assert _on_a_terminal([*show, "-v"], 80, {}).count("assumed: ") > 1


def _on_a_terminal(arguments: list[str], width: int, environment: dict[str, str]) -> str:
    import fcntl
    import pty
    import struct
    import termios

    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=_root(),
        env=kept | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | environment,
    )
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:
        pass  # Linux says EIO when the last writer has closed a terminal
    finally:
        os.close(ours)
        child.wait(timeout=60)
    return text.decode()


def _root() -> Path:
    return Path(__file__).resolve().parents[3]
