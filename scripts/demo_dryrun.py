"""The part of the demo that asks what would happen: the log of the running cluster, replayed; a broker, lost."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from time import monotonic

from scripts.demo_fleet import BROKERS, CONTROLLERS, Fleet
from scripts.narration import PROGRAM, ROOT, DemoError, kafkactl, quote, say, title

_LOG = "__cluster_metadata-0"


def copy_log(fleet: Fleet) -> None:
    """Copy the metadata log of a running controller, and the file that names its cluster."""
    disk = fleet.disk(CONTROLLERS[0], "metadata")
    shutil.copytree(disk / _LOG, _copy(fleet) / _LOG)
    shutil.copy(disk / "meta.properties", _copy(fleet))


def ask_the_log(fleet: Fleet) -> None:
    """Replay the copy, and lose a broker without losing one."""
    broker = BROKERS[0]
    title(f"4  What would happen without {fleet.name(broker)}?")
    say(
        "While the cluster ran, the metadata log of controller-1 was copied. It is replayed as Kafka replays it; no "
        "cluster is asked, and none has to run."
    )
    source = str((_copy(fleet) / _LOG).relative_to(ROOT))
    kafkactl("dryrun", "replay", source)
    _on_spark(source)
    say("Now the loss of a broker, played by the rules of the controller: who leads then, and what is written.")
    page = fleet.folder / f"without-{fleet.name(broker)}.html"
    config = str(fleet.config(CONTROLLERS[0]).relative_to(ROOT))
    words = ["--brokers", str(broker), "--config", config, "--html", str(page.relative_to(ROOT))]
    kafkactl("dryrun", "broker-loss", source, *words)
    if not page.is_file():
        raise DemoError(f"there is no report at {page}")
    say(f"The same as one page with pictures, for a browser: {page}")


def _on_spark(source: str) -> None:
    """The same replay on Spark, on this machine; both engines have to come to the same state."""
    say("The same on Spark, on two threads of this machine. Both engines come to one state:")
    states = {
        engine: _state(["dryrun", "replay", source, "--engine", engine, *master, "-o", "json"])
        for engine, master in (("local", []), ("spark", ["--master", "local[2]"]))
    }
    if len(set(states.values())) != 1:
        raise DemoError(f"the engines disagree on the state: {states}")


def _state(words: list[str]) -> str:
    """Run a replay, print the state that it comes to."""
    started = monotonic()
    run = subprocess.run([str(PROGRAM), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise DemoError(f"`kafkactl {shlex.join(words)}` ended with {run.returncode}: {run.stderr}")
    state = str(json.loads(run.stdout)["effects"]["image_sha256"])
    quote(f"kafkactl {shlex.join(words)}", [f"image_sha256 {state}, after {monotonic() - started:.1f} s"])
    return state


def _copy(fleet: Fleet) -> Path:
    return fleet.folder / "log-of-controller-1"
