"""Operators of a lab migration: at a terminal without hooks, or with those of a template.

::

    with operator("manual", cluster) as operator:
        answer = operator.kafkactl("run", "--until", "M3", "--yes")

`manual` does what `migrate run` prints: the commands are carried out as they are printed, and so late as an operator
needs to paste them. `local` and `command` have hooks, which start and stop the nodes of the test.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.lab.harness.pool import shared_pool
from tests.lab.harness.services.hooks import PACE
from tests.lab.migration.driving.driven import Driven
from tests.lab.migration.driving.first import FirstCluster

PROGRAM = (sys.executable, "-m", "kafkactl")
TEMPLATES = ("local", "command", "manual")


_SWAP = """\
set -eu
have=absent
if [ -e "$1" ]; then have=$(sha256sum <"$1" | cut -d" " -f1); fi
if [ "$have" = "$3" ]; then exit 0; fi
if [ "$have" != "$2" ]; then exit 65; fi
cat >"$1.new"
mv -f "$1.new" "$1"
"""


class Operator:
    """Types lines of `kafkactl migrate`. `lines` is what stderr showed, `did` the commands that were pasted."""

    def __init__(self, cluster: FirstCluster, inventory: Path) -> None:
        self.cluster = cluster
        self.inventory = inventory
        self.lines: list[str] = []
        self.did: list[str] = []
        self.took: list[tuple[str, float]] = []
        self._owner = threading.get_ident()

    def command(self, verb: str, *words: str, inventory: Path | None = None) -> list[str]:
        """Return a whole command line."""
        pace = PACE if verb in Driven.paced else ()
        return [*PROGRAM, "migrate", verb, "--inventory", str(inventory or self.inventory), *pace, *words]

    def kafkactl(self, verb: str, *words: str, code: int | None = 0, output: str = "json") -> Any:
        """Run a verb of `migrate`; its answer or the document of its error, or its text for the output `table`."""
        began = time.monotonic()
        process = subprocess.Popen(
            [*self.command(verb, *words), "-o", output],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        shown = " ".join((verb, *words))
        self.lines.append(f"$ kafkactl migrate {shown}")
        errors: list[str] = []
        with process:
            assert process.stderr is not None and process.stdout is not None
            reader = threading.Thread(target=self._follow, args=(process.stderr, errors), daemon=True)
            reader.start()
            out = process.stdout.read()
            ended = process.wait(timeout=900)
            reader.join(10)
        self.took.append((shown, time.monotonic() - began))
        self.lines.append(f"  exit {ended} after {self.took[-1][1]:.1f} s")
        assert code is None or ended == code, (ended, out, self.lines[-30:])
        return json.loads(out or "\n".join(errors)) if output == "json" else out

    def _follow(self, stream: Any, errors: list[str]) -> None:
        """Keep the lines; those of a document of an error go to `errors`, and what is to be pasted is pasted."""
        shared_pool().act_for(self._owner)  # the nodes are those of the test, which has room for them
        for line in stream:
            self.lines.append(line.rstrip("\n"))
            if errors or line.startswith("{"):
                errors.append(line)
            elif line.startswith("    "):
                self.pastes(line.strip())

    def pastes(self, text: str) -> None:
        """Carry out a command that was printed. With hooks there is none."""
        raise AssertionError(f"a line to be pasted, with hooks: {text}")


class ByHand(Operator):
    """Without hooks: does what is printed."""

    def __init__(self, cluster: FirstCluster) -> None:
        super().__init__(cluster, cluster.inventory("manual"))

    def pastes(self, text: str) -> None:
        """See Operator."""
        self.did.append(text)
        words = shlex.split(text, comments=True)
        match words[0]:
            case "cp":
                shutil.copyfile(words[1], words[2])
            case "mv":
                shutil.move(words[1], words[2])
            case "kafka-storage.sh":
                # As that release does it: a first snapshot of 4.x keeps a quorum from migrating.
                release = ["--kafka-version", self.cluster.release]
                subprocess.run([*PROGRAM, "storage", *words[1:], *release], check=True, capture_output=True)
            case "kafka-server-stop.sh":
                found = re.search(r"of (?:broker|controller) (\d+)", text)
                assert found is not None, text
                self.cluster.stop(int(found[1]))
            case "kafka-server-start.sh":
                ids = (*self.cluster.broker_ids, *self.cluster.controller_ids)
                named = Path(words[-1])
                self.cluster.start(next(id for id in ids if self.cluster.config_file(id) == named), wait=False)
            case _:
                raise AssertionError(text)


def _command_hooks(cluster: FirstCluster, driven: Driven) -> dict[str, Sequence[str]]:
    """Return every verb by a command of one's own; a node is started by `restart`, because there is no `start`."""
    swap = cluster.workdir / "swap.sh"
    swap.write_text(_SWAP)
    return {
        "get_config": ["cat", "--", "{config_path}"],
        "put_config": ["sh", str(swap), "{config_path}", "{sha_before}", "{sha_after}"],
        "format": [
            *PROGRAM, "storage", "ensure", "--config", "{config_path}", "--cluster-id", "{cluster_id}",
            "--release-version", "{release}", "--kafka-version", cluster.release, "{format_flags*}",
        ],
        "wipe": ["mv", "-T", "--", "{metadata_dir}", "{metadata_dir}.before-{journal_seq}"],
        "fs_probe": ["find", "{log_dirs*}", "-maxdepth", "1"],
        **{verb: driven.hook(verb) for verb in ("restart", "stop", "is_running")},
    }  # fmt: skip


@contextmanager
def operator(template: str, cluster: FirstCluster) -> Iterator[Operator]:
    """Yield who drives, by the name of a template."""
    if template == "manual":
        yield ByHand(cluster)
        return
    with Driven(cluster) as driven:
        if template == "local":
            hooks = {verb: driven.hook(verb) for verb in ("stop", "start", "is_running")}
        else:
            hooks = dict(_command_hooks(cluster, driven))
        yield Operator(cluster, cluster.inventory(template, hooks))
