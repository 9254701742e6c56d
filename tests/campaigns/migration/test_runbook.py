"""docs/migration.md by an operator at a terminal, and boards next to it on which the migration is watched.

Nothing is given by options that does not stand in the runbook: questions are answered, and what `run` stops at is
accepted by the names that it says. Gates have their ten seconds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lab.harness.terminal_session import TerminalSession
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.driven import ACCEPTED, Canary, Driven
from tests.lab.migration.driving.proof import write_section
from tests.lab.migration.driving.runbook import Line, Runbook

pytestmark = pytest.mark.timeout(3600)

_PROGRAM = (sys.executable, "-m", "kafkactl")
_QUESTION = re.escape("[y/N]:")
_STATE = re.compile(r"(?m)^(M\d+L?|[a-z-]+): ")
_REFUSED = 3
_INTERRUPTED = 130


class Operator:
    """Types lines of the runbook, and remembers what was accepted by name."""

    def __init__(self, runbook: Runbook, driven: Driven) -> None:
        self.runbook, self.driven = runbook, driven
        self.accepted: list[str] = []
        self.questions = 0
        self.stops = 0

    def section(self, begins: str) -> str:
        """Return all lines of a section, one after the other; what the last one showed."""
        shown = ""
        for line in self.runbook.section(begins):
            shown = self.line(line)
        return shown

    def line(self, line: Line) -> str:
        """Run one line, to its good end."""
        code, shown = self._types(line)
        while code == _REFUSED and line.verb in ("run", "finalize"):
            self.stops += 1
            named = [
                finding
                for finding in dict.fromkeys(re.findall(r"--accept (\S+)", shown))
                if finding not in self.accepted
            ]
            assert named, shown
            self.accepted += named
            code, shown = self._types(line)
        assert code == (_INTERRUPTED if "--watch" in line.text else 0), f"{line.text} ended with {code}:\n{shown}"
        assert "Traceback" not in shown
        self.runbook.ran(line)
        return shown

    def _types(self, line: Line) -> tuple[int, str]:
        words = line.words(self.driven.names)
        if line.verb in ("run", "finalize"):
            words += [word for finding in self.accepted for word in ("--accept", finding)]
        with TerminalSession(
            [*_PROGRAM, *words], cwd=self.driven.cluster.workdir, answers={_QUESTION: "y"}, columns=240
        ) as session:
            if "--watch" in line.text:
                session.until(_STATE.search)
                session.interrupt()
            code = session.ended(900)
            self.questions += session.text.count("[y/N]:")
            return code, session.text


@contextmanager
def boards(driven: Driven, sizes: Sequence[tuple[int, int]]) -> Iterator[list[TerminalSession]]:
    """Run `status --watch` on terminals of so many columns and lines, ended by Ctrl-C."""
    command = [*_PROGRAM, "migrate", "status", "--inventory", "migration.toml", "--watch", "--interval", "1s"]
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(TerminalSession(command, cwd=driven.cluster.workdir, columns=columns, lines=lines))
            for columns, lines in sizes
        ]
        yield sessions
        for session in sessions:
            session.interrupt()
        for session in sessions:
            assert session.ended() == _INTERRUPTED


def shows(session: TerminalSession, state: str) -> None:
    """Wait until that state is on the board."""
    session.until(lambda _: states_of(session)[-1:] == [state])


def states_of(session: TerminalSession) -> list[str]:
    """Return the states that were on a board, one after the other."""
    found: list[str] = []
    for frame in session.frames:
        head = _STATE.match(frame.lstrip())
        if head and found[-1:] != [head[1]]:
            found.append(head[1])
    return found


def test_every_line_of_the_runbook_is_typed_and_the_board_follows(tmp_path: Path) -> None:
    # From the first observation to the end, with a rollback from M8 in between, watched on two screens.
    runbook = Runbook()
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster, Driven(cluster) as driven:
        operator = Operator(runbook, driven)
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2", "topic:more:3:2")
        began = time.monotonic()
        with Canary(cluster, "canary") as canary, boards(driven, [(80, 24), (140, 50)]) as (narrow, wide):
            operator.section("Live clusters")
            operator.section("1.")
            for section, state in (("2.", "M3"), ("3.", "M4L"), ("4.", "M6"), ("5.", "M8"), ("Rollback", "M0")):
                shown = operator.section(section)
                if section in ("2.", "5.", "Rollback"):  # the others end with a look
                    assert re.search(rf"(?m)^done: {state}", shown), shown
                shows(wide, state)
            operator.line(runbook.section("5.")[0])  # forward for the second time, in one go
            assert re.search(r"(?m)^done: M11", operator.section("6."))
            operator.section("7.")
            shows(narrow, "M11")
            shows(wide, "M11")
        took = time.monotonic() - began
        assert canary.result["lost"] == 0
        assert set(operator.accepted) <= set(ACCEPTED)
        for board in (narrow, wide):
            (tmp_path / f"board-{board.columns}.txt").write_text("\f\n".join(board.frames), encoding="utf-8")
            seen = states_of(board)
            assert in_order(("M0", "M3", "M4L", "M6", "M7", "M8", "M7", "M0", "M3", "M8", "M11"), seen), seen
            assert "Traceback" not in board.text
            assert all(len(row) <= board.columns for frame in board.frames for row in frame.splitlines())
    assert runbook.left == []
    write_section(
        "3.9.2: the commands of the runbook, in order",
        [
            f"{len(runbook.lines)} lines in {took:.0f} s, gates ten seconds apart: forward to M8, back to M0, "
            "forward again to the end",
            f"{operator.questions} questions were answered; {operator.stops} runs stopped at what nobody can observe, "
            f"accepted were {', '.join(sorted(operator.accepted))}",
            f"a board of 80 columns showed {len(narrow.frames)} pages, one of 140 {len(wide.frames)}: "
            f"{' '.join(states_of(wide))}",
        ],
        canary.result,
    )


def in_order(wanted: Sequence[str], seen: Sequence[str]) -> bool:
    """Return True if these come one after the other, with others in between."""
    left = iter(seen)
    return all(line in left for line in wanted)


_QUICK_S = 25.0
_PROBLEMS = 7


def test_status_is_quick_and_clear_about_who_does_not_answer(tmp_path: Path) -> None:
    # In dual write: a broker that hangs, a ZooKeeper that hangs, one that is gone, and all well again.
    notes = []
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster, Driven(cluster) as driven:
        cluster.reach("M6")

        def status(code: int | None) -> dict[str, Any]:
            began = time.monotonic()
            ended = subprocess.run(driven.command("status"), capture_output=True, text=True, check=False)
            took_s = time.monotonic() - began
            assert code in (None, ended.returncode), ended.stdout + ended.stderr
            assert "Traceback" not in ended.stderr and took_s < _QUICK_S
            return {**json.loads(ended.stdout), "took_s": took_s}

        def held_up(answer: dict[str, Any], id: str, subject: str) -> bool:
            return (id, subject) in {
                (finding["id"], finding["subject"]) for finding in answer["findings"] + answer["gates"]
            }

        assert status(0)["state"] == "M6"
        cluster.node(1).pause()
        try:
            hangs = status(_PROBLEMS)
        finally:
            cluster.node(1).resume()
        assert hangs["state"] == "M6"
        assert held_up(hangs, "node-not-observed", "broker 1") and held_up(hangs, "broker-down", "broker 1")
        # The observation took ten seconds, in which the log grew: that is not a lag.
        assert hangs["observed"]["dual_write"]["follows"]
        assert "migration-driver-stuck" not in {gate["id"] for gate in hangs["gates"]}
        notes.append(f"a broker that hangs: {hangs['state']}, exit code {_PROBLEMS}, in {hangs['took_s']:.0f} s")
        cluster.wait_for(lambda: status(None)["observed"]["brokers"][0]["alive"], "seen the broker again")

        zookeeper = f"ZooKeeper {cluster.connect}"
        cluster.zookeeper.pause()
        try:
            silent = status(0)
        finally:
            cluster.zookeeper.resume()
        assert held_up(silent, "zookeeper-not-observed", zookeeper)
        notes.append(f"a ZooKeeper that hangs: {silent['state']}, exit code 0, in {silent['took_s']:.0f} s")

        cluster.zookeeper.kill()
        gone = status(0)
        assert held_up(gone, "zookeeper-not-observed", zookeeper)
        notes.append(f"no ZooKeeper: {gone['state']}, exit code 0, in {gone['took_s']:.0f} s")
        for answer in (silent, gone):
            assert answer["state"] == "M6"
            assert any(gate["severity"] == "warning" for gate in answer["gates"])

        cluster.zookeeper.start().wait_ready()
        cluster.wait_for(lambda: status(None)["observed"]["dual_write"]["follows"], "followed the log again")
    write_section("3.9.2: status when a node does not answer", notes, None)
