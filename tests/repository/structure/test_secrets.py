"""The search for passwords finds them, and every password of the tests can be found by it."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests import secrets_scan
from tests.repository.tree import ROOT, python_files, shown
from tests.secrets_scan import MARKS, check, leaks, written_leaks

PASSWORD = re.compile(
    r"""(?i)(?:password|passphrase|client.?secret)["']?\s*[=:]\s*\\?["']?([^"'\s,;\])\\}]+)""",
)
# What stands where a password may stand and is none: names of variables and types, words that tests expect to see.
NO_PASSWORDS = re.compile(r"\{.*|<redacted>|[A-Z_]+|str\b.*|bytes\b.*|None|True|…|\.\.\.|given\[|secret")
# Values of tests that only read a text and never run a command, and those of Kafka's own tools at work.
EXCEPT = {
    "tests/lab/storage/config_variants.py", "tests/lab/storage/format_cases.py", "tests/campaigns/goldens/formats.py",
    "tests/campaigns/goldens/images.py", "tests/lab/storage/test_inputs.py", "tests/lab/features/test_release_rules.py",
}  # fmt: skip
# Folders whose tests read and write texts and run no command.
ONLY_TEXTS = (
    "campaigns/fuzz/targets", "metadata/dump", "migration/checks", "migration/compare", "migration/copy",
    "migration/observed", "migration/render", "migration/zktree", "migration/zk_trees.py", "protocol/text",
    "repository", "storage/format",
)  # fmt: skip


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("before", ["", "a", "ab", "\0al1ce\0"])
def test_password_is_found_in_every_form(mark: str, before: str) -> None:
    data = f"{before}{mark}!".encode()
    for text in (
        data.decode(),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        data.hex(),
        f"url?x={quote(data.decode())}",
    ):
        assert mark in leaks(f"something {text} else"), text
    assert leaks("an innocent line: kafkactl storage format") == []


def test_command_that_prints_a_secret_fails_its_test() -> None:
    with pytest.raises(AssertionError) as caught:
        check('{"password": "hunter2"}', "kafkactl sample")
    assert "kafkactl sample" in str(caught.value)


def test_process_that_prints_a_secret_is_caught() -> None:
    words = [sys.executable, "-c", "print('kafkactl says hunt' + 'er2')"]
    subprocess.run(words, capture_output=True, check=True)
    assert secrets_scan._leaks == ["a process shows passwords: ['hunter']"]
    del secrets_scan._leaks[:]


def test_journal_that_has_one_is_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "journal.jsonl").write_text('{"request": "aHVudGVyMg=="}')
    (tmp_path / "client.properties").write_text("password=hunter2")  # an input
    assert written_leaks(tmp_path) == [f"{tmp_path}/deep/journal.jsonl: ['hunter']"]
    (tmp_path / "deep" / "journal.jsonl").unlink()  # the search at the end of the session would find it, too


@pytest.mark.parametrize("name", ["core", "core.4711", "hs_err_pid7.log", "kafkactl.prom", "leftovers.csv"])
def test_written_files_and_crash_dumps_are_searched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x7fELF\0" + bytes(5000) + b"hunter2\0")
    assert written_leaks(tmp_path) == [f"{tmp_path}/{name}: ['hunter']"]
    (tmp_path / name).unlink()


def test_output_of_tests_and_their_processes_is_searched(tmp_path: Path) -> None:
    # A session of its own, whose only tests print one and start a process that does.
    test = tmp_path / "test_prints.py"
    test.write_text(
        "import subprocess\n"
        "def test_prints():\n    print('hunter' + '2')\n"
        "def test_starts():\n"
        "    subprocess.run(['echo', 'kafkactl', 'hunter' + '2'], capture_output=True)\n"
        "def test_is_innocent():\n    pass\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tests.secrets_scan", "-p", "no:cacheprovider", str(test)]
    run = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 1
    assert "passwords were printed or logged" in run.stdout
    assert "a process shows passwords" in run.stdout
    # The last test is not blamed; if there is a CI, pytest writes the reason behind the name of the test.
    assert re.search(r"test_prints.py::test_starts( - .*)?\n1 failed, 2 passed, 2 errors", run.stdout)
    del secrets_scan._leaks[:]  # that session shows what its test printed


def test_every_password_of_the_tests_carries_a_mark() -> None:
    unmarked = [
        f"{shown(path)}: {value}"
        for path in python_files("tests")
        if shown(path) not in EXCEPT and not shown(path).startswith(tuple(f"tests/{part}" for part in ONLY_TEXTS))
        for value in PASSWORD.findall(path.read_text(encoding="utf-8"))
        if not leaks(value) and not NO_PASSWORDS.fullmatch(value)
    ]
    assert not unmarked
