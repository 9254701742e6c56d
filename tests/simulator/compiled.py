"""A copy of the simulator that mypyc compiles, for campaigns: `python -m tests.simulator.campaign --compiled`.

It is a tool of development: nothing that is installed knows it. The modules are compiled as they are, outside the tree,
in a folder that is named after a hash of all that they import. Processes of their own run it, each with that folder in
front of everything on its path; this one has the modules of the tree, by which a run that broke is judged.

A copy is trusted when it made the same histories as the modules of the tree, random numbers included.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kafkactl.simulator.campaign import plan_for, quorum_of
from kafkactl.simulator.run import run_in
from kafkactl.simulator.world import World
from tests.simulator.ledger import Cell, quorum_for

ROOT = Path(__file__).parents[2]
COPIES = ROOT / "build" / "simulator"  # git does not look there
RAFT = (
    "calm", "changes", "connections", "elections", "following", "leader_state", "leading", "node", "replica_log",
    "sending", "serving", "transitions", "vain", "voters",
)  # fmt: skip
SIMULATOR = (
    "chance", "invariants", "knocks", "machine", "network", "plain_rounds", "refusals", "rounds", "skip", "world",
)  # fmt: skip
COMPILED = [*(f"kafkactl/raft/{name}.py" for name in RAFT), *(f"kafkactl/simulator/{name}.py" for name in SIMULATOR)]
_IMPORTED = """
import sys, kafkactl.simulator.campaign
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "kafkactl"]
print(*sorted(module.__file__ for module in ours), sep="\\n")
"""
_SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup
options = [f"--config-file={sys.argv[1]}", "--follow-imports=silent"]
modules = mypycify([*options, *sys.argv[2:]], opt_level="3", debug_level="0")
setup(name="simulator", packages=[], ext_modules=modules, script_args=["build_ext", "--inplace"])
"""


class CompiledError(Exception):
    """There is no compiled copy, or it is not to be trusted."""


def sources() -> list[Path]:
    """The modules that the simulator imports, below the root of the tree."""
    found = subprocess.run([sys.executable, "-c", _IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line).relative_to(ROOT) for line in found.stdout.splitlines()]


def copy_of(files: Iterable[Path]) -> Path:
    """The folder of the copy of these modules, whether it is there or not."""
    digest = hashlib.sha256(f"{sys.version} {COMPILED} {_SETUP}".encode())
    for file in files:
        digest.update(f"{file}\0".encode() + (ROOT / file).read_bytes())
    return COPIES / digest.hexdigest()[:16]


def compiled() -> Path:
    """The folder of the copy of the modules as they are now; compiled where there is none, which takes minutes.

    Raises CompiledError where that is not possible.
    """
    files = sources()
    copy = copy_of(files)
    if not copy.exists():
        _check_tools()
        COPIES.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=COPIES) as folder:
            built = Path(folder) / "copy"
            for file in files:
                (built / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / file, built / file)
            (built / "kafkactl" / "schemas").symlink_to(ROOT / "schemas")
            _compile(built)
            built.replace(copy)
    return copy


def _check_tools() -> None:
    for module, package in (("mypyc", "mypy"), ("setuptools", "setuptools")):
        if importlib.util.find_spec(module) is None:
            raise CompiledError(f"the simulator cannot be compiled: Python has no {module}; pip install {package}")
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        raise CompiledError(
            f"the simulator cannot be compiled: there is no C compiler {compiler}; install one, or set CC"
        )


def _compile(folder: Path) -> None:
    command = [sys.executable, "-c", _SETUP, str(ROOT / "setup.cfg"), *COMPILED]
    run = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )  # fmt: skip
    if run.returncode:
        raise CompiledError(
            f"the simulator cannot be compiled, mypyc ended with {run.returncode}:\n{run.stdout[-3000:]}"
        )


# --- processes that run a copy ----------------------------------------------------------------------------------


class Worker:
    """A process that runs a copy. What it is asked must be functions of modules of the tests, and plain arguments."""

    def __init__(self, copy: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.simulator.compiled"],
            env=os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def ask(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """What the function gives there. Raises CompiledError where the process ended."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((function, argument), process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, BrokenPipeError) as error:
            raise CompiledError(f"a process of the compiled simulator ended with {process.wait()}") from error


def where(files: Iterable[str]) -> list[str]:
    """From where this process has these modules."""
    return [str(sys.modules[file.removesuffix(".py").replace("/", ".")].__file__) for file in files]


def history(run: tuple[Cell, int]) -> str:
    """A hash of all that can be seen of a run and its end: two runs with the same are the same, event for event."""
    cell, seed = run
    quorum = quorum_for(quorum_of(cell.asked)[0], seed)
    world = World(quorum, seed, traced=True)
    outcome = run_in(world, plan_for(cell.asked, quorum, seed), seed)
    machines = [
        (machine.id, machine.life, machine.disk, machine.wake_at, machine.open, _process(machine.process))
        for machine in world.machines.values()
    ]
    entries = sorted(world.queue, key=lambda entry: entry[:2])
    waiting = [
        (at, sequence, kind, to.id, None if callable(thing) else thing, life)
        for at, sequence, kind, to, thing, life in entries
    ]
    drawn = [stream and stream.fraction() for stream in (world.timers, world.network.chance, world.disks)]
    seen = (outcome, world.answers, world.elections, machines, waiting, world.now, world.under_way, drawn)
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def _process(node: Any) -> Any:
    if node is None:
        return None
    connections = [
        (peer, each.state, each.last_send, each.last_fail) for peer, each in node.connections.by_peer.items()
    ]
    facts = (
        node.shown_state,
        node.epoch,
        node.leader_id,
        node.voted_id,
        node.high_watermark,
        node.voters,
        node.wake_at,
    )
    return facts, node.next_correlation_id, node.election_deadline, node.fetch_deadline, connections


def check(worker: Worker, copy: Path, runs: Sequence[tuple[Cell, int]]) -> None:
    """Compare runs of the copy with runs of the modules of the tree. Raises CompiledError where any differs."""
    for file in worker.ask(where, COMPILED):
        if not (file.startswith(f"{copy}{os.sep}") and file.endswith(".so")):
            raise CompiledError(
                f"a process of the compiled simulator runs {file}, which is not in {copy} or not compiled"
            )
    for cell, seed in runs:
        if worker.ask(history, (cell, seed)) != history((cell, seed)):
            what = f"{cell.profile} of {cell.release}, {cell.voters} voters, {cell.length.shown}, seed {seed}"
            raise CompiledError(f"the copy in {copy} has another history than the modules of the tree: {what}")


def main() -> None:
    """Answer what comes in until there is no more."""
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while asked.peek(1):
        function, argument = pickle.load(asked)
        pickle.dump(function(argument), answers)
        answers.flush()


if __name__ == "__main__":
    main()
