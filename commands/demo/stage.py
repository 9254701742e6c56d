"""Place of the demo: a temporary folder, a cluster, and commands that are really run in the folder.

Each command is a process of this interpreter that runs the same kafkactl. Its environment leads nowhere else: home,
contexts and temporary files are in the folder.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import kafkactl
from kafkactl.commands.demo.cluster import Cluster
from kafkactl.core.errors import FailedError
from kafkactl.core.frozen import frozen

PROGRAM: Final = "kafkactl"
_SHOWN: Final = 2000  # characters of what a command printed, in an error
_UNWANTED: Final = ("KAFKACTL_", "_KAFKACTL_", "XDG_")


@frozen
class Run:
    """A command that ran. What it printed is None if it went to the terminal directly."""

    line: str
    exit_code: int
    stdout: str | None
    stderr: str | None


class Audience(Protocol):
    """Audience of a demo. `captures`: what commands print is requested as text, else it goes to this process's
    streams."""

    captures: bool

    def open(self, folder: Path, *, keeps: bool) -> None:
        """Begin the demo; its files are in this folder."""
        ...

    def begin(self, name: str, title: str) -> None:
        """Begin a scene."""
        ...

    def say(self, text: str) -> None:
        """Show a paragraph."""
        ...

    def will_run(self, line: str) -> None:
        """Announce the command that runs when the method returns."""
        ...

    def ran(self, run: Run) -> None:
        """Show a finished command."""
        ...

    def close(self) -> None:
        """End the demo after the last scene. Its files are removed when the method returns, unless they are kept."""
        ...


class Stage:
    """The folder, the cluster, and the audience of one demo.

    `report` is where the report is written, None for a file in the folder; `color` a value of `--color`. `cluster`
    is called when a scene first asks for the cluster.
    """

    def __init__(
        self, folder: Path, cluster: Callable[[], Cluster], audience: Audience, *, report: str | None, color: str
    ) -> None:
        self.folder = folder
        self.report = report
        self._cluster = cluster
        self._audience = audience
        self._environment = environment(folder) | {"KAFKACTL_COLOR": color}

    @property
    def cluster(self) -> Cluster:
        """Return the cluster, started when it is first asked for."""
        return self._cluster()

    def say(self, text: str) -> None:
        """Show a paragraph to the audience."""
        self._audience.say(text)

    def run(self, *words: str, expect: int = 0) -> None:
        """Show a command line, run it, show what it prints.

        Raises FailedError `demo-command-differs` if it does not end with the exit code `expect`.
        """
        line = shlex.join((PROGRAM, *words))
        self._audience.will_run(line)
        run = run_command(words, self.folder, self._environment, captures=self._audience.captures)
        if run.exit_code != expect:
            raise FailedError(
                f"`{line}` ended with exit code {run.exit_code}, expected {expect}",
                id="demo-command-differs",
                cause=f"{run.stdout or ''}{run.stderr or ''}"[-_SHOWN:] or None,
            )
        self._audience.ran(run)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of commands whose home, contexts and temporary files are in `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_UNWANTED)}
    package = str(Path(kafkactl.__file__).parents[1])
    places = [package, *filter(None, [kept.get("PYTHONPATH")])]
    own = {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "KAFKACTL_CONFIG": str(folder / "contexts.toml"),
        "PYTHONPATH": os.pathsep.join(places),
    }
    return kept | own


def run_command(words: tuple[str, ...], folder: Path, environment: dict[str, str], *, captures: bool) -> Run:
    """Run kafkactl with these words in `folder`, to its end. Raises FailedError `demo-command-differs`."""
    # -P: a folder called kafkactl in the working directory is not the program.
    command = [sys.executable, "-P", "-m", PROGRAM, *words]
    pipe = subprocess.PIPE if captures else None
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
            encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        raise FailedError(
            f"`{sys.executable}` could not be started: {error.strerror}", id="demo-command-differs"
        ) from error
    return Run(line=shlex.join((PROGRAM, *words)), exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)
