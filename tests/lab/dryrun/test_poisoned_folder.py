"""A current directory with a stranger's modules, and a stranger's Spark above it: no engine runs any of it.

Also that a local application of Spark accepts no other process, and that standard error is the answer's alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log

KAFKACTL = Path(sys.executable).parent / "kafkactl"
POISON = (
    "kafkactl", "pyspark", "py4j", "numpy", "pyarrow", "json", "pickle", "socket", "zipfile", "site", "sitecustomize",
    "usercustomize", "cloudpickle", "encodings", "tomli", "click", "importlib", "os", "runpy", "struct",
)  # fmt: skip
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make folder `bundle/here` with 33 logs and modules that leave a mark; above it a Spark that does."""
    tmp_path = tmp_path_factory.mktemp("poisoned")
    here = tmp_path / "bundle" / "here"
    here.mkdir(parents=True)
    mark = tmp_path / "PWNED"
    for name in POISON:
        (here / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r} + ' ')\n")
    (here / "pyspark.zip").write_bytes(b"PK")
    for spark in (here, here.parent):
        (spark / "bin").mkdir()
        (spark / "jars").mkdir()
        for name in ("spark-submit", "spark-class", "java", "find-spark-home"):
            (spark / "bin" / name).write_text(f"#!/bin/sh\necho {name} >>'{mark}'\nexit 1\n")
            (spark / "bin" / name).chmod(0o755)
    (here / "conf").mkdir()
    (here / "conf" / "spark-env.sh").write_text(f"echo spark-env >>'{mark}'\n")
    write_log(here / "n0", Shape(records=2_000, partitions=60, brokers=3))
    for number in range(1, 33):
        shutil.copytree(here / "n0", here / f"n{number}")
    return here


def run(bundle: Path, *words: str, listens: set[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Return how it ended; `listens` gets the addresses on which it and its children were seen to listen meanwhile."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    process = subprocess.Popen(
        [str(KAFKACTL), *words], cwd=bundle, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ends = time.monotonic() + 180
    with process:
        while True:
            try:
                out, errors = process.communicate(timeout=180 if listens is None else 0.05)
                return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
            except subprocess.TimeoutExpired:
                if time.monotonic() > ends:
                    process.kill()
                    raise
            if listens is not None:
                listens |= {address for pid in _descendants(process.pid) for address in _listening(pid)}


def unharmed(bundle: Path, done: subprocess.CompletedProcess[str]) -> None:
    mark = bundle.parent.parent / "PWNED"
    assert not mark.exists(), mark.read_text()
    assert done.returncode == 0, done.stderr


def test_poisoned_folder_is_harmless_in_process(bundle: Path) -> None:
    unharmed(bundle, run(bundle, "dryrun", "replay", "n0", "--engine", "local", "-o", "json"))
    unharmed(bundle, run(bundle, "log", "verify", "n0"))
    unharmed(bundle, run(bundle, "dryrun", "replay", "n0", "-o", "json"))  # auto, one log


@pytest.fixture(scope="module")
def on_spark(bundle: Path) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """Return an application for one log: how it ended, and on which addresses it was seen to listen."""
    listens: set[str] = set()
    return run(bundle, "dryrun", "replay", "n0", "--engine", "spark", "-o", "json", listens=listens), listens


@pytest.mark.lab
@pytest.mark.timeout(400)
def test_poisoned_folder_is_harmless_on_spark(
    bundle: Path, on_spark: tuple[subprocess.CompletedProcess[str], set[str]]
) -> None:
    local = run(bundle, "dryrun", "replay", "n0", "--engine", "local", "-o", "json")
    asked, _ = on_spark
    unharmed(bundle, asked)
    assert asked.stderr == ""  # nothing of Spark's with the answer
    answer, ours = json.loads(asked.stdout), json.loads(local.stdout)
    assert answer.pop("engine") == "spark" and ours.pop("engine") == "local"
    assert {**answer, "duration_ms": 0} == {**ours, "duration_ms": 0}
    many = run(bundle, "dryrun", "replay", *(f"n{number}" for number in range(33)), "--engine", "spark", "-o", "json")
    unharmed(bundle, many)
    assert '"engine": "spark"' in many.stdout


@pytest.mark.lab
@pytest.mark.timeout(400)
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are looked up in /proc")
def test_local_application_listens_on_loopback_alone(
    on_spark: tuple[subprocess.CompletedProcess[str], set[str]],
) -> None:
    asked, listens = on_spark
    assert asked.returncode == 0
    assert listens and listens <= LOOPBACK, listens


def _descendants(pid: int) -> set[int]:
    found, parents = {pid}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _listening(pid: int) -> set[str]:
    """Return the addresses, as in /proc/net/tcp, on which a process listens."""
    sockets = set()
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
    except OSError:
        return set()
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                found.add(words[1].partition(":")[0])
    return found
