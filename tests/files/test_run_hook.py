"""Hooks that work, and hooks that fail, hang, flood, report success too early, or leave a process behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from kafkactl.change.hooks.run import HookEnd
from kafkactl.files.run_hook import STDERR_BYTES, STDOUT_BYTES, HookLimits, run_hook

PASSWORD = "passw0rd-of-a-hook"


def shell(script: str, *words: str, **more) -> object:
    return run_hook(("sh", "-c", script, "hook", *words), **more)


def test_hook_with_exit_code_0_is_done() -> None:
    run = shell("cat; echo to-stderr >&2", stdin=b"content\0of a file" * 10_000)
    assert run.end is HookEnd.DONE
    assert run.stdout == b"content\0of a file" * 10_000
    assert "to-stderr" in run.message


def test_words_are_not_read_by_a_shell() -> None:
    assert run_hook(("printf", "%s", "$(id); `id` *")).stdout == b"$(id); `id` *"


def test_unread_input_of_a_hook_is_ignored() -> None:
    assert shell("exit 0", stdin=b"x" * (4 << 20)).end is HookEnd.DONE


@pytest.mark.parametrize(("code", "end"), [(1, HookEnd.FAILED), (65, HookEnd.CHANGED_MEANWHILE), (255, HookEnd.FAILED)])
def test_failed_hook_is_reported_with_its_exit_code(code: int, end: HookEnd) -> None:
    run = shell(f"echo because >&2; exit {code}")
    assert (run.end, run.exit_code) == (end, code)
    assert run.message == f"sh: exit {code}: because"


def test_missing_hook_is_not_started() -> None:
    run = run_hook(("/nowhere/hook",))
    assert run.end is HookEnd.NOT_STARTED
    assert "No such file" in run.message


def test_hook_that_asks_to_be_tried_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = 'echo x >>"$1"; [ "$(wc -l <"$1")" -ge 3 ] || exit 75'
    run = shell(script, str(count), limits=HookLimits(pause_ms=1))
    assert (run.end, run.attempts) == (HookEnd.DONE, 3)


def test_hook_with_exit_code_75_is_repeated_until_the_limit() -> None:
    run = shell("exit 75", limits=HookLimits(try_again_ms=120, pause_ms=30))
    assert run.end is HookEnd.NOT_READY
    assert run.attempts > 1


def test_hook_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    began = time.monotonic()
    run = shell('echo $$ >"$1"; sleep 600 & echo $! >>"$1"; wait', str(pids), limits=HookLimits(timeout_ms=300))
    assert run.end is HookEnd.TIMED_OUT
    assert time.monotonic() - began < 60
    for pid in pids.read_text().split():
        until = time.monotonic() + 60  # a signal is not death yet
        while _lives(int(pid)) and time.monotonic() < until:
            time.sleep(0.02)
        assert not _lives(int(pid))


@pytest.mark.slow
def test_hook_that_hangs_and_will_not_go() -> None:
    run = shell("trap '' TERM; while :; do sleep 0.1; done", limits=HookLimits(timeout_ms=200))
    assert run.end is HookEnd.TIMED_OUT


def test_node_that_a_hook_started_outlives_it_and_does_not_delay_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    began = time.monotonic()
    run = shell('setsid sleep 600 & echo $! >"$1"; echo started', str(pid_file))
    assert time.monotonic() - began < 60
    assert (run.end, run.stdout) == (HookEnd.DONE, b"started\n")
    pid = int(pid_file.read_text())
    assert _lives(pid)
    os.kill(pid, 9)


def test_hook_that_floods_is_read_to_its_end_and_kept_in_bounds() -> None:
    script = (
        f"import sys; sys.stdout.write('o' * {STDOUT_BYTES + 9}); sys.stderr.write('e' * {STDERR_BYTES * 4} + 'END')"
    )
    run = run_hook((sys.executable, "-c", script))
    assert run.end is HookEnd.DONE
    assert len(run.stdout) == STDOUT_BYTES and run.truncated
    assert run.message.endswith("END") and len(run.message) < 1_000


def test_secret_that_a_hook_writes_is_not_reported() -> None:
    run = shell('echo "ssl.key.$1" >&2; exit 1', f"password={PASSWORD}")
    assert PASSWORD not in run.message
    assert PASSWORD not in repr(run.to_dict())


def test_interruption_ends_the_hook(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    class Interrupting:
        def now_ms(self) -> float:
            if pid_file.exists() and pid_file.read_text().strip() and not self.gone:
                self.gone = True
                raise KeyboardInterrupt
            return time.monotonic() * 1000

        gone = False

        def sleep_ms(self, duration_ms: float) -> None:
            time.sleep(duration_ms / 1000)

    with pytest.raises(KeyboardInterrupt):
        shell('echo $$ >"$1"; exec sleep 600', str(pid_file), clock=Interrupting())
    assert not _lives(int(pid_file.read_text()))


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
