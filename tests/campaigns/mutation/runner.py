"""Runner of the tests on mutants: a process that forks a child a mutant, writes nothing and imports little.

`python -m tests.campaigns.mutation.runner` reads one order a line from stdin (JSON: `tests`, `own`, `most_seconds`,
and `module`, `path` and `source` of the mutant, or none of the three for the code as it is) and answers each with a
line: how the tests ended. The child imports kafkactl again, the mutated module from the order; other packages
(pytest, hypothesis) are imported once, by the parent.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

# None of these is imported by the parent: they import kafkactl, and a child would keep the code without the fault.
OURS = ("kafkactl", "tests", "bench", "scripts")
MOST_MEMORY_BYTES = 4 * 1024**3
# A test that caught a mutant often catches the next, so it is tried first; then the module's own file, quick files.
_caught_by: Counter[str] = Counter()
_seconds_of_file: dict[str, float] = {}


class _Finder(PathFinder):
    """Finder that gives the mutated module its source; all others are found as usual."""

    def __init__(self, module: str, path: str, source: str) -> None:
        self._module, self._path, self._source = module, path, source

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # type: ignore[override]
        if fullname != self._module:
            return None
        loader = _Loader(fullname, str(Path(self._path).resolve()))
        loader.source = self._source
        return importlib.util.spec_from_file_location(fullname, loader.path, loader=loader)


class _Loader(SourceFileLoader):
    source: str

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec")


class _Watch:
    """A plugin: what failed first, and how many tests there were."""

    def __init__(self, own: str) -> None:
        self.failed = ""
        self.tests = 0
        self.seconds: Counter[str] = Counter()
        self._own = own

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=self._rank)

    def _rank(self, item: pytest.Item) -> tuple[int, bool, float]:
        file = item.nodeid.partition("::")[0]
        return -_caught_by[item.nodeid], not file.endswith(f"/{self._own}"), _seconds_of_file.get(file, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests += report.when == "call"
        self.seconds[report.nodeid.partition("::")[0]] += report.duration
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (at import)"


def main() -> None:
    """Answer orders until stdin ends."""
    os.environ["KAFKACTL_HYPOTHESIS"] = "mutants"
    for line in sys.stdin:
        answer = _answer(json.loads(line))
        for name in answer.pop("imported", ()):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        assert "kafkactl" not in sys.modules, "a child would keep what is imported here"
        _seconds_of_file.update(answer.pop("seconds_of_file", {}))
        _caught_by[answer["failed"]] += 1
        print(json.dumps(answer), flush=True)


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    scratch = tempfile.mkdtemp(prefix="kafkactl-mutant-")
    child = os.fork()
    if not child:
        os.close(reading)
        _run_child(order, writing, scratch)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        text = answers.read()
    _, status, usage = os.wait4(child, 0)
    shutil.rmtree(scratch, ignore_errors=True)
    answer = json.loads(text) if text else {"failed": f"ended by {ending(status)}", "tests": 0, "code": 1}
    return answer | {"seconds": round(usage.ru_utime + usage.ru_stime, 2)}


def ending(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    return "a loop without an end" if number in (signal.SIGXCPU, signal.SIGALRM) else signal.Signals(number).name


def _run_child(order: dict[str, Any], writing: int, scratch: str) -> None:
    """Run the child until it exits, without any clean-up of the parent."""
    try:
        # Tests may start processes, which would keep the pipe open.
        os.set_inheritable(writing, False)
        resource.setrlimit(resource.RLIMIT_CPU, (order["most_seconds"], order["most_seconds"] + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        if "module" in order:
            sys.meta_path.insert(0, _Finder(order["module"], order["path"], order["source"]))
        watch = _Watch(order["own"])
        before = set(sys.modules)
        code = int(pytest.main(_words(order["tests"], scratch), plugins=[watch]))
        answer: dict[str, Any] = {"failed": watch.failed, "tests": watch.tests, "code": code}
        if "module" not in order:
            answer |= {"imported": sorted(_of_others(before)), "seconds_of_file": watch.seconds}
        os.write(writing, json.dumps(answer).encode())
    except BaseException as error:
        os.write(writing, json.dumps({"failed": f"{type(error).__name__}: {error}", "tests": 0, "code": None}).encode())
    finally:
        os._exit(0)


def _words(tests: list[str], scratch: str) -> list[str]:
    return [
        *tests, "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist",
        # pytest would rewrite the assertions of plugins, and says so if the parent has imported them.
        "-W", "ignore::pytest.PytestAssertRewriteWarning",
        f"--basetemp={scratch}/tests", "-m", "not lab and not campaign and not slow",
    ]  # fmt: skip


def _of_others(before: set[str]) -> Iterator[str]:
    """Yield modules that the tests imported and that are not ours."""
    for name in set(sys.modules) - before:
        if name.split(".")[0] not in OURS and name.isprintable():
            yield name


if __name__ == "__main__":
    main()
