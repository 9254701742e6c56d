"""Runner of tests on mutants of functions: tests are collected once, and each mutant has a child with the changed code.

`python -m tests.campaigns.mutation.forked MODULES -- TESTS` collects, runs every test once to learn which functions
it calls, says how that ended (a line of JSON), and then answers each order (`path`, `source`, `was`: the module with
and without the fault) with a line. Only the tests that call a changed function run, the quick ones first. What stands
outside of functions is bound when a module is imported: such an order is answered with `code` None, and so is a fault
in a function that no test calls in this process. tests.campaigns.mutation.runner tries those.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TextIO

import pytest

from tests.campaigns.mutation.runner import MOST_MEMORY_BYTES, ending

Answer = dict[str, Any]
# A mutant may take so much longer than its tests do without it, before it is taken for an endless loop.
TIMES_SLOWER, LEAST_SECONDS = 20, 20
# What these many seconds of tests (of CPU, the quickest that call the function) do not catch has survived. Only few
# mutants need them all; with 4, tests of whole commands were left out that would have failed.
MOST_SECONDS_OF_TESTS = 20
# Tests that wait for each other use no CPU: they are ended by the clock, which is generous for a busy machine.
WAITING_SECONDS = 1200


class Server:
    """A plugin: takes the place of pytest's loop over the tests."""

    def __init__(self, modules: list[str], orders: TextIO, answers: TextIO) -> None:
        self._modules = modules
        self._orders, self._answers = orders, answers
        self._called: list[set[int]] = []
        self._seconds: list[float] = []
        self._failed: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn what calls what, then answer orders."""
        for name in self._modules:
            importlib.import_module(name)
        before = set(sys.modules)
        first = in_child(lambda: self._learn(session) | {"imported": sorted(set(sys.modules) - before)}, 1800, 1800)
        self._called = [set(called) for called in first.pop("called", ())]
        self._seconds = first.pop("each", [])
        for name in first.pop("imported", ()):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        self._say(first)
        for line in self._orders:
            self._say(self._answer(session, json.loads(line)))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what failed."""
        if report.failed:
            self._failed.append(report.nodeid)

    def _say(self, answer: Answer) -> None:
        print(json.dumps(answer), file=self._answers, flush=True)

    def _learn(self, session: pytest.Session) -> Answer:
        called, seconds = [], []
        for item, following in _pairs(session.items):
            before = _cpu_seconds()
            calls: set[int] = set()
            _trace(calls)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            _trace(None)
            called.append(sorted(calls))
            seconds.append(_cpu_seconds() - before)
        failed = self._failed[0] if self._failed else ""
        return {"failed": failed, "tests": len(called), "code": int(bool(failed)), "called": called, "each": seconds}

    def _answer(self, session: pytest.Session, order: Answer) -> Answer:
        changes = changed_functions(order["path"], order["was"], order["source"])
        originals = {id(function.__code__) for function, _ in changes or ()}
        if not originals:
            return {"code": None, "failed": "", "tests": 0, "seconds": 0.0}
        chosen = [at for at, called in enumerate(self._called) if called & originals]
        if not chosen:
            return {"code": None, "failed": "", "tests": 0, "seconds": 0.0}
        chosen = self._quickest(chosen)
        items = [session.items[at] for at in chosen]
        most = LEAST_SECONDS + TIMES_SLOWER * sum(self._seconds[at] for at in chosen)
        return in_child(lambda: self._run(items, changes or []), int(most), WAITING_SECONDS)

    def _quickest(self, chosen: list[int]) -> list[int]:
        total, found = 0.0, []
        for at in sorted(chosen, key=lambda at: (self._seconds[at] > 0.05, self._seconds[at] > 0.5, at)):
            total += self._seconds[at]
            if found and total > MOST_SECONDS_OF_TESTS:
                break
            found.append(at)
        return found

    def _run(self, items: list[pytest.Item], changes: list[tuple[FunctionType, CodeType]]) -> Answer:
        for function, code in changes:
            function.__code__ = code
        tests = 0
        for item, following in _pairs(items):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            tests += 1
            if self._failed:
                break
        failed = self._failed[0] if self._failed else ""
        return {"failed": failed, "tests": tests, "code": int(bool(failed))}


def changed_functions(path: str, was: str, source: str) -> list[tuple[FunctionType, CodeType]] | None:
    """Return the living functions whose code is another in `source`, with that code; None if more than functions
    differ."""
    file = str(Path(path).resolve())
    pairs: list[tuple[CodeType, CodeType]] = []
    if not _compare(compile(was, file, "exec"), compile(source, file, "exec"), pairs):
        return None
    new_codes = [(old, new) for old, new in pairs if old != new]
    gc.unfreeze()
    found = []
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename == file:
            for old, new in new_codes:
                if each.__code__ == old:
                    found.append((each, new))
    return None if any(len(old.co_freevars) != len(new.co_freevars) for old, new in new_codes) else found


def _compare(old: CodeType, new: CodeType, pairs: list[tuple[CodeType, CodeType]]) -> bool:
    """Return True if a module or a class is the same but for its functions, which are added to `pairs`."""
    if old.co_code != new.co_code or old.co_names != new.co_names or len(old.co_consts) != len(new.co_consts):
        return False
    for left, right in zip(old.co_consts, new.co_consts, strict=True):
        if isinstance(left, CodeType) and isinstance(right, CodeType):
            if left.co_flags & 0x2:  # CO_NEWLOCALS: a function; a class body has none
                pairs.append((left, right))
            elif not _compare(left, right, pairs):
                return False
        elif type(left) is not type(right) or left != right:
            return False
    return True


def in_child(work: Callable[[], Answer], cpu_seconds: int, seconds: int) -> Answer:
    """Return what `work` answers in a forked process, or how that ended; `seconds` added: of CPU."""
    reading, writing = os.pipe()
    scratch = tempfile.mkdtemp(prefix="kafkactl-mutant-")
    child = os.fork()
    if not child:
        os.close(reading)
        _work(work, writing, scratch, cpu_seconds)
    os.close(writing)
    text, late = _read_all(reading, seconds)
    if late:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    shutil.rmtree(scratch, ignore_errors=True)
    how = f"no end in {seconds} s" if late else ending(status)
    answer: Answer = json.loads(text) if text and not late else {"failed": f"ended by {how}", "tests": 0, "code": 1}
    return answer | {"seconds": round(usage.ru_utime + usage.ru_stime, 2)}


def _work(work: Callable[[], Answer], writing: int, scratch: str, cpu_seconds: int) -> None:
    """Work until the process exits, without any clean-up of the parent."""
    try:
        os.set_inheritable(writing, False)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        os.environ["PYTEST_DEBUG_TEMPROOT"] = scratch
        answer = work()
    except BaseException as error:
        answer = {"failed": f"{type(error).__name__}: {error}", "tests": 0, "code": 1}
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        json.dump(answer, pipe)
    os._exit(0)


def _read_all(reading: int, seconds: int) -> tuple[str, bool]:
    """Return all that comes, and whether it did not end in time."""
    timer = select.poll()
    timer.register(reading, select.POLLIN | select.POLLHUP)
    with os.fdopen(reading, "rb") as pipe:
        # The child says all at its end, so the wait is for the first byte.
        if not timer.poll(seconds * 1000):
            return "", True
        return pipe.read().decode(), False


def _trace(calls: set[int] | None) -> None:
    if calls is None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        return
    add = calls.add

    def trace(frame: Any, event: str, argument: Any) -> None:
        add(id(frame.f_code))

    sys.settrace(trace)
    threading.settrace(trace)


def _pairs(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, [*items[1:], None], strict=True)


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Serve until stdin ends."""
    os.environ["KAFKACTL_HYPOTHESIS"] = "mutants"
    orders, answers = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "r"), (1, "w")))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    words = ["-q", "--no-header", "--tb=no", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:rerunfailures"]
    words += ["-m", "not lab and not campaign and not slow"]
    at = sys.argv.index("--")
    server = Server(sys.argv[1:at], orders, answers)
    code = pytest.main([*sys.argv[at + 1 :], *words], plugins=[server])
    if code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.TESTS_FAILED):
        print(
            json.dumps({"failed": f"pytest ended with {code}", "tests": 0, "code": int(code)}), file=answers, flush=True
        )


if __name__ == "__main__":
    main()
