"""`kafkactl quorum reassign` killed by SIGKILL in the middle and run again: it reaches the target, nothing twice.

A process of its own against the fake quorum: what it had in memory is gone, its journal is not. (One of these before
real nodes is in tests/lab/quorum/test_killed.py, which `make test` runs.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.faulty_quorum import FaultyQuorum
from tests.fakes.proxy import Fault, FaultPlan
from tests.kafka.fault_cases import KEYS
from tests.kafka.fault_proof import KILLED, record

ROOT = Path(__file__).parents[2]
ENDS_WITHIN_S = 180
ADD = KEYS["AddRaftVoter"]
_EVERY = 12


@dataclass(frozen=True)
class Moment:
    """A request by its number, from 1, among those of a kind or of all; `after` it was taken, or before it arrives."""

    number: int
    key: int | None = None
    after: bool = False

    def is_now(self, passed: list[int]) -> bool:
        """Return True if the last of these requests is the one."""
        counted = passed if self.key is None else [key for key in passed if key == self.key]
        return len(counted) == self.number and self.key in (None, passed[-1])


class KillingPlan(FaultPlan):
    """A network without faults, on which the client is killed at one request."""

    def __init__(self, moment: Moment | None = None) -> None:
        super().__init__()
        self.moment = moment
        self.process: subprocess.Popen[bytes] | None = None

    def fault_of(self, request: bytes) -> Fault | None:
        super().fault_of(request)
        if self.moment is None or self.process is None or not self.moment.is_now(self.passed):
            return None
        if self.moment.after:
            threading.Timer(0.3, self.process.kill).start()
            return Fault.SILENCE
        self.process.kill()
        return Fault.CUT_BEFORE


def reassign(quorum: FaultyQuorum, target: str, folder: Path) -> subprocess.Popen[bytes]:
    """Return the command as a process; its journal and all that it keeps are in `folder`."""
    servers = ",".join(map(str, quorum.addresses))
    words = ["quorum", "reassign", "--target", target, "--allow-size", "--yes", "--bootstrap-controller", servers]
    kept = {"XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    with (folder / "out").open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "kafkactl", *words], stdout=out, stderr=out, env=os.environ | kept, cwd=ROOT
        )


def undisturbed(target: str, folder: Path) -> list[int]:
    """Return the api keys of the requests of a run that is not killed."""
    folder.mkdir(parents=True)
    with FaultyQuorum(network=KillingPlan()) as quorum:
        assert reassign(quorum, target, folder).wait(ENDS_WITHIN_S) == 0, (folder / "out").read_text()
        return quorum.network.passed


def killed(moment: Moment, target: str, folder: Path) -> str:
    """Return what was wrong with a run that was killed then and run again; empty if nothing was."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = KillingPlan(moment)
    with FaultyQuorum(network=plan) as quorum:
        plan.process = reassign(quorum, target, folder)
        first = plan.process.wait(ENDS_WITHIN_S)
        plan.moment = None
        second = reassign(quorum, target, folder).wait(ENDS_WITHIN_S)
        wanted = [("add", id) for id in map(int, target.split(",")) if id != 1]
        if (first, second, quorum.effects) == (-signal.SIGKILL, 0, wanted):
            return ""
        return f"{moment}: {first}, then {second}, {quorum.effects}: {(folder / 'out').read_text()[-600:]}"


@pytest.mark.campaign
@pytest.mark.timeout(7200)
def test_run_is_resumed_wherever_it_was_killed(tmp_path: Path) -> None:
    passed = undisturbed("1,2,3", tmp_path / "whole")
    moments = [Moment(number, ADD, after) for number in range(1, passed.count(ADD) + 1) for after in (False, True)]
    # How many looks there are depends on time, so these numbers hit whatever is there then.
    moments += [Moment(number) for number in range(1, len(passed) - 2 * _EVERY, _EVERY)]
    with ThreadPoolExecutor(4) as pool:
        folders = [tmp_path / str(number) for number in range(len(moments))]
        wrong = list(pool.map(lambda moment, folder: killed(moment, "1,2,3", folder), moments, folders))
    failures = [text for text in wrong if text]
    reached = len(moments) - len(failures)
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}: `quorum reassign` from one voter to three, a process of its own against the "
        f"played quorum, killed by SIGKILL at {len(moments)} moments: before and after each request that changes the "
        f"voters, and all along the way. Run again, it reached the target in {reached}, each change made once.",
        *(f"\n- wrong: {failure}" for failure in failures),
    ]
    record(KILLED, "\n".join(lines))
    assert failures == []
