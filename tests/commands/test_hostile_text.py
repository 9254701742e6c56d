"""Foreign text on a terminal: whatever topics, configurations, racks, users and files are called, it steers nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from kafkactl.core.safe_text import escaped, escaped_yaml, is_unsafe, json_text, visible, visible_lines
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.metadata.records import broker, partition, record, uuid
from tests.sampling import one_in

SEGMENT = "00000000000000000000.log"
CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
HIDDEN = [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x61C, 0xFEFF, 0xE0001]
FORGED = "\n\u2714 done: nothing else to do"
EVIL = f"a\x1b]0;PWN\x07\x1b[2J\x9b31m\x7f\u202e\u2066\u200b\ufeff\u2028{FORGED}\r"
# What a page itself writes to a terminal: colours, and the end of a line.
OWN = re.compile(r"\x1b\[[0-9;]*m|\r?\n")


@pytest.mark.slow
def test_every_unsafe_character_is_written_out():
    # Each alone: in one line for people, and in JSON, which reads back as what it was.
    of_unicode = (chr(code) for code in range(sys.maxunicode + 1))
    for letter in [letter for letter in of_unicode if unicodedata.category(letter) in CATEGORIES] + [*map(chr, HIDDEN)]:
        assert is_unsafe(letter)
        assert visible(f"x{letter}y").isprintable()
        shown = json_text({f"k{letter}": [f"x{letter}y"]}, compact=True)
        assert shown.isprintable()
        assert json.loads(shown) == {f"k{letter}": [f"x{letter}y"]}


def test_letters_of_all_scripts_stay():
    text = "größe 日本語 العربية हिन्दी 🐘 a\u00a0b"
    assert visible(text) == text
    assert json_text(text) == f'"{text}"'
    assert escaped(f'"{text}"') == f'"{text}"'
    assert not is_unsafe(text)


def test_only_line_ends_of_ours_break_a_line():
    assert visible("a\nb\tc\x1b") == r"a\nb\tc\x1b"
    assert visible_lines("a\nb\x1b\r") == "a\nb\\x1b\\x0d"
    assert visible("n\udcff\ud800\u202e\U000e0001") == r"n\xff\ud800\u202e\U000e0001"
    assert escaped_yaml("a\u202e\U000e0001\n") == "a\\u202e\\U000e0001\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a metadata log in which everything that has a name is hostile, in a folder that is, too."""
    folder = tmp_path / f"disk{EVIL.replace('/', '')}" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    endpoint = {"Name": EVIL, "Host": EVIL, "Port": 9092, "SecurityProtocol": 0}
    feature = {"Name": EVIL, "MinSupportedVersion": 0, "MaxSupportedVersion": 1}
    entity = [{"EntityType": "user", "EntityName": EVIL}]
    made = (
        record("FeatureLevel", Name="metadata.version", FeatureLevel=25),
        record("FeatureLevel", Name=EVIL, FeatureLevel=1),
        record("Topic", Name=EVIL, TopicId=uuid(7)),
        record("Config", ResourceType=2, ResourceName=EVIL, Name="retention.ms", Value=EVIL),
        record("Config", ResourceType=4, ResourceName=EVIL, Name=EVIL, Value=EVIL),
        broker(1, 5, EndPoints=[endpoint], Features=[feature], Rack=EVIL, Fenced=False, LogDirs=[]),
        record("ClientQuota", Entity=entity, Key=EVIL, Value=1.0, Remove=False),
        record("AccessControlEntry", Id=uuid(8), ResourceName=EVIL, Principal=f"User:{EVIL}", Host=EVIL),
        partition(),
    )
    values = [encode_record(message(record.type), record.version, record.data) for record in made]
    (folder / SEGMENT).write_bytes(encode_batch([(None, value) for value in values], base_offset=0, timestamp_ms=1))
    escape = "".join(f"\\u{ord(letter):04x}" for letter in EVIL)
    (folder.parent / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id={escape}\n")
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    escape = "".join(f"\\u{ord(letter):04x}" for letter in EVIL)
    file = tmp_path / "server.properties"
    file.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@{escape}:9093\nlog.dirs=/tmp/{escape}\n"
        f"{escape}={escape}\nlisteners={escape}\n"
    )
    return file


COMMANDS = (
    ("log", "dump", "LOG"),
    ("log", "image", "LOG"),
    ("log", "image", "LOG", "--full"),
    ("log", "history", "LOG"),
    ("log", "history", "LOG", "--topic", EVIL),
    ("log", "verify", "LOG"),
    ("log", "lint", "LOG"),
    ("log", "diff", "LOG@2", "LOG"),
    ("log", "browse", "LOG", "/image/topics/byName"),
    ("log", "browse", "LOG", "/image/configs"),
    ("log", "browse", "LOG", f"/{EVIL}"),
    ("dryrun", "replay", "LOG"),
    ("dryrun", "broker-loss", "LOG", "--brokers", "1"),
    ("dryrun", "features", "LOG", "--release-version", "4.0"),
    ("quorum", "describe", "--log-dir", "LOG"),
    ("storage", "dump", "META"),
    ("storage", "info", "-c", "CONFIG"),
    ("storage", "verify", "-c", "CONFIG"),
    ("storage", "format", "-t", EVIL, "-c", "CONFIG", "--dry-run"),
    ("nodes", "list", "--bootstrap-server", "127.0.0.1:1", "--command-config", "CLIENT", "--timeout", "20s"),
    ("features", "describe", "--bootstrap-server", EVIL),
    ("migrate", "status", "--inventory", "INVENTORY"),
    ("config", "view", "--context", EVIL),
    ("explain", EVIL),
)


def arguments(words: Sequence[str], log: Path, config: Path) -> list[str]:
    client = config.with_name("client.properties")
    client.write_text("".join(f"\\u{ord(letter):04x}" for letter in EVIL) + "=x\n")
    inventory = config.with_name("inventory.toml")
    inventory.write_text("".join(f"{json.dumps(EVIL + str(at))} = 1\n" for at in range(2)))
    known = {
        "LOG": str(log), "LOG@2": f"{log}@2", "META": str(log.parent / "meta.properties"), "CONFIG": str(config),
        "CLIENT": str(client), "INVENTORY": str(inventory),
    }  # fmt: skip
    return [known.get(word, word) for word in words]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:2]).partition(EVIL)[0])
@pytest.mark.parametrize("form", one_in(2, ["table", "json", "yaml", "jsonl"]))
def test_no_format_lets_foreign_text_steer(kafkactl, log: Path, config: Path, words: Sequence[str], form: str):
    run = kafkactl(*arguments(words, log, config), "-o", form)
    clean(run.stdout)
    clean(run.stderr)
    assert (run.stdout + run.stderr).strip()
    if run.stdout and form == "yaml":
        list(yaml.safe_load_all(run.stdout))
    elif run.stdout and form != "table":
        for text in [run.stdout] if form == "json" else run.stdout.splitlines():
            json.loads(text)


def test_names_come_back_whole_out_of_every_format(kafkactl, log: Path):
    for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        records = read(kafkactl("log", "dump", log, "-o", form).stdout)["records"]
        assert {record["data"]["name"] for record in records if record["type"] == "TopicRecord"} == {EVIL}
    found = [json.loads(line) for line in kafkactl("log", "dump", log, "-o", "jsonl").stdout.splitlines()]
    assert EVIL in {record["data"].get("name") for record in found}


def clean(text: str) -> None:
    """Check that nothing but colours and line ends of ours is left, and no line is one that foreign text began."""
    rest = OWN.sub("", text)
    assert not is_unsafe(rest), ascii([sign for sign in rest if is_unsafe(sign)])
    assert not any(line.startswith("\u2714 done: nothing") for line in OWN.sub("\n", text).splitlines())


ON_A_TERMINAL = (
    ("log", "dump", "LOG"),
    ("log", "image", "LOG"),
    ("log", "history", "LOG"),
    ("log", "verify", "LOG"),
    ("log", "diff", "LOG@2", "LOG"),
    ("dryrun", "broker-loss", "LOG", "--brokers", "1"),
    ("storage", "dump", "META"),
    ("storage", "info", "-c", "CONFIG"),
    ("nodes", "list", "--bootstrap-server", "127.0.0.1:1", "--command-config", "CLIENT", "--timeout", "20s"),
    ("migrate", "status", "--inventory", "INVENTORY"),
)


@pytest.mark.slow
@pytest.mark.parametrize("words", ON_A_TERMINAL, ids=lambda words: " ".join(words[:2]))
def test_terminal_gets_no_command_of_others(log: Path, config: Path, words: Sequence[str]):
    clean(on_a_terminal(arguments(words, log, config)))


def test_browse_shows_names_and_steers_nothing(log: Path):
    # ls, cd, cat, tree, find and pwd, and the prompt that holds the place; the terminal's echo is what was typed.
    typed = ["ls image/topics/byName", "tree", "find done", "cat image/provenance", "cd image/topics", "pwd", "exit"]
    text = on_a_terminal(["log", "browse", str(log)], typed=typed)
    clean(text)
    assert r"\x1b]0;PWN" in text
    assert "/image/topics" in text


def on_a_terminal(words: Sequence[str], *, typed: Sequence[str] = ()) -> str:
    """Return what stdout and stderr write to a terminal of 80 columns."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "kafkactl", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=Path(__file__).resolve().parents[2],
        env=kept | {"TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in typed).encode())
    text = b""
    with contextlib.suppress(OSError):  # Linux: EIO when the last writer has closed a terminal
        while chunk := os.read(ours, 65536):
            text += chunk
    os.close(ours)
    child.wait(timeout=60)
    return text.decode()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen_in(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Return a terminal in the place of stderr; not from a fixture, for pytest sets the streams again after these."""
    found = Screen()
    monkeypatch.setattr("sys.stderr", found)
    return found


def test_text_of_hooks_and_servers_is_one_line_of_progress(monkeypatch: pytest.MonkeyPatch):
    screen = screen_in(monkeypatch)
    from kafkactl.commands.features.change import tell
    from kafkactl.commands.rendering.progress_lines import ProgressLines
    from kafkactl.migration.driver.ports import Event

    ProgressLines(is_terminal=True)(Event(kind="done", text=f"hook: {EVIL}"))
    ProgressLines(is_terminal=True)(Event(kind="wait", text=EVIL, seen=EVIL))
    tell(f"the controller answers: {EVIL}")
    text = screen.getvalue()
    clean(text)
    assert len(text.splitlines()) == 3


def test_passing_line_of_a_quorum_change_is_cleaned(monkeypatch: pytest.MonkeyPatch):
    screen = screen_in(monkeypatch)
    from kafkactl.commands.rendering import output

    output.write_passing(EVIL)
    output.wipe_passing()
    wipe = "\r\x1b[K"
    assert screen.getvalue().startswith(f"{wipe}{visible(EVIL)[:60]}")
    assert screen.getvalue().endswith(wipe)
    clean(screen.getvalue().replace("\r\x1b[K", ""))


def test_questions_are_cleaned(monkeypatch: pytest.MonkeyPatch):
    from kafkactl.commands.rendering import output

    heard: list[str] = []
    monkeypatch.setattr("click.confirm", lambda text, **_more: bool(heard.append(text)))
    monkeypatch.setattr("click.prompt", lambda text, **_more: heard.append(text) or "x")
    monkeypatch.setattr("builtins.input", lambda text: heard.append(text) or "x")
    output.agreed(EVIL)
    output.answer_to((EVIL, "Type the id"))
    output.asked(f"/{EVIL}> ")
    assert heard == [visible(EVIL), f"{visible(EVIL)}\nType the id", f"/{visible(EVIL)}> "]


def test_traceback_is_cleaned(monkeypatch: pytest.MonkeyPatch):
    screen = screen_in(monkeypatch)
    from kafkactl.commands.framework.failure import report
    from kafkactl.commands.framework.settings import Settings

    report(RuntimeError(EVIL), Settings(verbose=True))
    text = screen.getvalue()
    assert "RuntimeError" in text
    clean(text)
