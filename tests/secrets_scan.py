"""Search for the passwords of this suite in what kafkactl prints, logs and writes in all tests.

Every password that tests use carries one of `MARKS` (tests/repository/structure/test_secrets.py looks after that), so
that it can be found wherever it turns up: in clear, in base64 at any alignment, in hexadecimal, or quoted for an
address. Searched are the output of every command line that runs in this process or in one of its own, what tests
capture, and the files that kafkactl writes: plans, receipts, journals, reports, bundles, metrics, and what a crash
leaves. Where secrets are asked for (`--show-secrets`) they may be shown.
"""

from __future__ import annotations

import base64
import contextlib
import fnmatch
import functools
import os
import re
import subprocess
import zipfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

MARKS = ("hunter", "s3cret", "scr4m", "passw0rd", "alice-secret", "another-secret", "geheim")
ASKED_FOR = ("--show-secrets", "--include-secrets")
# What kafkactl writes, and what a process leaves that crashes.
WRITTEN = (
    "*.jsonl", "*plan*.json", "node-*.json", "*receipt*.json", "*.html", "*.zip", "*.prom", "*.csv", "*.svg", "*.md",
    "core", "core.[0-9]*", "hs_err_pid*",
)  # fmt: skip
_IS_WRITTEN = re.compile("|".join(map(fnmatch.translate, WRITTEN)))
_MOST_BYTES = 64 * 1024 * 1024
_leaks: list[str] = []


def leaks(text: str | bytes) -> list[str]:
    """Return the marks that stand in a text, in whatever form."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return [mark for mark in MARKS if any(form in data for form in _forms(mark))] if data else []


def check(text: str, where: str) -> None:
    """Fail if this text contains a password; the text itself is not repeated."""
    found = leaks(text)
    assert not found, f"{where} tells passwords: {found}"


def written_leaks(folder: Path) -> list[str]:
    """Return files of the kinds that kafkactl writes in which a password stands."""
    return sorted({f"{path}: {found}" for path in _written(folder) if (found := leaks(_unpacked(path)))})


def _unpacked(path: Path) -> bytes:
    """Return the bytes of a file, and of the members of a bundle."""
    data = path.read_bytes()
    flaws = contextlib.suppress(zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError)
    with flaws, zipfile.ZipFile(path) as archive:
        sound = [entry for entry in archive.infolist() if entry.file_size <= _MOST_BYTES]
        return b"\n".join([data, *map(archive.read, sound[:100])])
    return data


def _written(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in filter(_IS_WRITTEN.match, names):
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_BYTES:
                yield path


@functools.cache
def _forms(mark: str) -> tuple[bytes, ...]:
    """Return what to look for; a search for each takes less than half of the time of one expression for all."""
    data = mark.encode()
    forms = [data, data.hex().encode(), data.hex().upper().encode(), "".join(f"%{byte:02X}" for byte in data).encode()]
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data)
        # Only the characters that no neighbour has a part in.
        forms.append(encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
    return tuple(forms)


# tests/conftest.py imports the hooks and fixtures below.


@pytest.fixture(scope="session", autouse=True)
def processes_are_listened_to() -> Iterator[None]:
    """Add to `_leaks` what a process says that runs kafkactl, if there is a password in it."""
    original = subprocess.Popen.communicate

    def communicate(self: Any, *arguments: Any, **more: Any) -> Any:
        answer = original(self, *arguments, **more)
        words = self.args if isinstance(self.args, str | bytes) else " ".join(map(str, self.args))
        if "kafkactl" in str(words) and not any(word in str(words) for word in ASKED_FOR):
            for text in answer:
                if text and (found := leaks(text)):
                    _leaks.append(f"a process shows passwords: {found}")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "communicate", communicate)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_secret_is_written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Check at the end of the test run that no plan, receipt or journal has a secret."""
    yield
    found = written_leaks(tmp_path_factory.getbasetemp())
    assert not found, found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test during which a password was printed or logged, or shown by a process."""
    report = yield
    found = leaks("".join(text for _, text in report.sections))
    wrong = [f"passwords were printed or logged: {found}"] if found else []
    if call.when == "teardown":  # a fixture for every test would take longer than most tests
        wrong += _leaks
        del _leaks[:]
    if wrong and report.passed:
        report.outcome = "failed"
        report.longrepr = "; ".join(wrong)
    return report
