"""The pages "the life of a command": a command enters the modules of its page in the order of the page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.log_shape import reference_shape
from bench.make_metadata_log import write_log
from kafkactl.commands.demo.quorum import FakeQuorum
from tests.repository.tree import ROOT

FOLDER = ROOT / "docs" / "contributing"
NAMED = re.compile(r"`((?:commands|kafkactl)/[\w/]+)\.py`")
EARLIER = "kafkactl.commands.rendering.output"  # it also shows the progress, before the answer
CONFIG = """process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.quorum.bootstrap.servers=127.0.0.1:9093
log.dirs={folder}/disk1,{folder}/disk2
"""
ID = "MkU3OEVBNTcwNTJENDM2Qg"


def modules_of(page: str) -> list[str]:
    """Return the modules in the table of a page."""
    table = "\n".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `"))
    names = [path.replace("/", ".") for path in NAMED.findall(table)]
    return [name if name.startswith("kafkactl.") else f"kafkactl.{name}" for name in names]


def check_life(name: str, folder: Path, *words: str) -> None:
    """Run a command, and compare the modules that it enters with those of its page."""
    listed = modules_of((FOLDER / f"life-of-{name}.md").read_text(encoding="utf-8"))
    assert len(set(listed)) == len(listed) > 15
    out = folder / "entered.txt"
    run = [sys.executable, "-m", "tests.repository.docs.entered_modules", str(out), ",".join(listed), *words]
    ended = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    entered = out.read_text(encoding="utf-8").split()
    assert set(entered) == set(listed), ended.stderr[-2000:]
    assert [each for each in entered if each != EARLIER] == [each for each in listed if each != EARLIER]


@pytest.mark.slow
def test_format_enters_the_modules_of_its_page(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    words = ["storage", "format", "-t", ID, "-c", str(tmp_path / "server.properties"), "-s", "--kafka-version", "4.3.1"]
    check_life("storage-format", tmp_path, *words)


@pytest.mark.slow
def test_broker_loss_enters_the_modules_of_its_page(tmp_path: Path) -> None:
    write_log(tmp_path, reference_shape(3_000, 500))
    log = str(tmp_path / "__cluster_metadata-0")
    check_life("dryrun-broker-loss", tmp_path, "dryrun", "broker-loss", log, "--brokers", "3,4")


@pytest.mark.slow
def test_reassign_enters_the_modules_of_its_page(tmp_path: Path) -> None:
    with FakeQuorum(controllers=4, voters=(1, 2, 3)) as quorum:
        leader = quorum.address(1)
        check_life(
            "quorum-reassign", tmp_path, "quorum", "reassign", "--target", "1,2,4", "--yes",
            "--bootstrap-controller", f"{leader.host}:{leader.port}", "--journal", str(tmp_path / "journal.jsonl"),
        )  # fmt: skip
