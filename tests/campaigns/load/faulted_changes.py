"""Run of a change under load: a fault during the change, the recovery, and the same command again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.campaigns.load.changes import BLOWS, Course, Target
from tests.campaigns.load.traffic import Traffic
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError

HURT_S = 6.0
"""A node that was struck is back after so many seconds: the sessions of brokers end after 3."""
LATEST_BLOW_S = 2.0
TRIES = 3
_COMMAND_S = 180
_NO_EFFECT = frozenset({"refused", "nothing-to-do"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Record of a run: the change, who was struck and when, what the commands said, and what became of the messages.

    `during` says whether the command still ran when the blow came. `outcomes` has one entry a command: its outcome,
    or the id of its error, or `killed`. `untrue` says which claim of a command the nodes contradict. `counts` are
    those of `Traffic.mark`.
    """

    change: str
    blow: str
    moment_s: float
    during: bool
    outcomes: tuple[str, ...]
    reached: bool
    untrue: str
    counts: dict[str, int]

    @property
    def is_right(self) -> bool:
        """Return True if the target is reached, nothing acknowledged was lost or refused, and no claim was wrong."""
        return self.reached and not (self.untrue or self.counts["errors"] or self.counts["unread"])


def run_course(course: Course, cluster: KafkaCluster, traffic: Traffic, runs: range) -> Iterator[Run]:
    """Make these runs, one after the other; the number of a run decides its change, its blow and the moment."""
    for run in runs:
        change = course.changes[run % len(course.changes)]
        target = change(cluster, run // len(course.changes))
        moment = round(Random(f"{course.title} {run}").uniform(0.3, LATEST_BLOW_S), 1)
        # So that each change meets each blow.
        yield _one_run(cluster, traffic, target, BLOWS[run // len(course.changes) % len(BLOWS)], moment)


def _one_run(cluster: KafkaCluster, traffic: Traffic, target: Target, blow: tuple[str, str], moment: float) -> Run:
    before = target.read()
    how, who = blow
    process = _started(cluster, target)
    during = False
    if how:
        time.sleep(moment)
        during = process.poll() is None
        _strike(cluster, process, how, 0 if who == "kafkactl" else target.parts.get(who, target.parts["leader"]))
    outcomes = [_outcome(process)]
    cluster.start()
    untrue = _untrue(target, before, outcomes[0])
    while outcomes[-1] not in ("done", "nothing-to-do") and len(outcomes) < TRIES:
        outcomes.append(_outcome(_started(cluster, target)))
    return Run(
        change=target.name,
        blow=f"{how} {who}" if how else "none",
        moment_s=moment,
        during=during,
        outcomes=tuple(outcomes),
        reached=target.read() == target.wanted and outcomes[-1] in ("done", "nothing-to-do"),
        untrue=untrue,
        counts=traffic.mark(),
    )


def _started(cluster: KafkaCluster, target: Target) -> subprocess.Popen[str]:
    """Start our command in a process of its own, as an operator runs it."""
    journal = ["--journal", str(cluster.disks.workdir / "journal")] if target.words[0] == "quorum" else []
    where = (
        ["--bootstrap-controller", cluster.bootstrap_controller]
        if target.words[0] == "quorum"
        else ["--bootstrap-server", cluster.bootstrap_server]
    )
    command = [sys.executable, "-m", "kafkactl", *target.words, *where, *journal, "--timeout", "90s", "-o", "json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _outcome(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=_COMMAND_S)
    if process.returncode == -9:
        return "killed"
    text = out if out.startswith("{") else errors[errors.find("{") :]
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError:
        raise LabError(f"no answer, exit {process.returncode}: {out[-300:]} {errors[-600:]}") from None
    return str(answer.get("outcome", answer.get("id")))


def _untrue(target: Target, before: object, outcome: str) -> str:
    """Return what the first command claimed and the healthy cluster contradicts; empty if nothing."""
    after = target.read()
    if outcome in ("done", "nothing-to-do") and after != target.wanted:
        return f"{outcome}, but {after} instead of {target.wanted}"
    if outcome in _NO_EFFECT and after != before:
        return f"{outcome}, but {after} instead of {before}"
    return ""


def _strike(cluster: KafkaCluster, process: subprocess.Popen[str], how: str, node_id: int) -> None:
    """Strike a node, or our command if there is none; the node is back `HURT_S` later."""
    if not node_id:
        process.kill()
        return
    {"kill": cluster.kill, "pause": cluster.pause}[how](node_id)
    time.sleep(HURT_S)
    if how == "pause":
        cluster.resume(node_id)
    else:
        cluster.node(node_id).start()


def shape_of(course: Course) -> dict[str, Any]:
    """Return the shape of the course's cluster: three brokers, whose internal topics survive one of them."""
    settings: Sequence[tuple[str, str]] = (
        ("offsets.topic.replication.factor", "3"),
        ("transaction.state.log.replication.factor", "3"),
        ("group.min.session.timeout.ms", "1000"),
    )
    return {"brokers": 3, "settings": dict(settings), **course.shape}


def folder_of(course: Course, root: Path) -> Path:
    """Return where the course's cluster lives."""
    return root / course.title.replace(":", "").replace(" ", "-")
