"""The guide docs/bundle.md: all `kafkactl` lines of its code blocks, run on a node of this host.

Lines that ask a live cluster are given one that does not answer.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from kafkactl.migration.io.observation_writer import save_observation
from tests.commands import test_secrets_hidden as planted
from tests.conftest import Run
from tests.repository.tree import ROOT
from tests.tiered.logs import LogOf, Topic, metadata_log

PAGE = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"(?sm)^```\n(.*?)^```", PAGE)
    for line in block.splitlines()
    if line.startswith("kafkactl ")
]
TOPIC = Topic("orders", 1)
UNREACHED = {"quorum.describe", "features.describe", "nodes.list", "migrate.observe"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folders and files that the page names, below the folder of the test."""
    LogOf(0).add(TOPIC.copied(3, "a", 0, 9)).save(tmp_path / "data/kafka")
    topics = [(REMOTE_LOG_METADATA, Uuid(b"\x55" * 16)), (TOPIC.name, TOPIC.id)]
    metadata_log(tmp_path / "data/kafka/__cluster_metadata-0", topics)
    for place in ("mnt/copy-of-node-2", "disk"):
        planted.written_log(tmp_path / place)
    etc = tmp_path / "etc/kafka"
    etc.mkdir(parents=True)
    (etc / "server.properties").write_text(
        f"process.roles=controller\nnode.id=1\nlisteners=C://h:1\ncontroller.listener.names=C\nlog.dirs={tmp_path}/disk\n"
        "controller.quorum.voters=1@h:1\n"
    )
    (tmp_path / "admin.properties").write_text("security.protocol=PLAINTEXT\n")
    (tmp_path / "migration.toml").write_text(
        '[zookeeper]\nconnect = "127.0.0.1:1/kafka"\n[hooks]\ntemplate = "manual"\n'
        + "".join(
            f'[[nodes]]\nid = {id}\nrole = "{role}"\naddress = "127.0.0.1:{id}"\nconfig = "/etc/{id}"\n'
            for id, role in ((1, "broker"), (3001, "controller"))
        )
    )
    save_observation(str(tmp_path / "observation"), planted.captured(tmp_path / "captured"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_guide_has_lines_for_every_source() -> None:
    assert len(MAKING) >= 8 and len(READING) >= 7


def words_of(line: str, world: Path) -> list[str]:
    return [re.sub(r"^/(etc|mnt|data)/", rf"{world}/\1/", word) for word in shlex.split(line)[1:]]


MAKING = [line for line in LINES if "--out" in line]
READING = [line for line in LINES if "--bundle" in line]


@pytest.mark.parametrize("line", READING)
def test_line_that_reads_works(kafkactl: Callable[..., Run], world: Path, line: str) -> None:
    # With the bundle that a line of the page makes; another test covers the bundle of a live cluster.
    words = words_of(line, world)
    file = words[words.index("--bundle") + 1]
    (make,) = [other for other in MAKING if f"--out {file}" in other]
    if "--bootstrap-controller" in make:
        assert kafkactl(*words).code == 2, "no such file"
        return
    kafkactl(*words_of(make, world))
    run = kafkactl(*words)
    assert run.code in (0, 7), run.stderr
    assert run.stdout or "No record" in run.stderr


@pytest.mark.parametrize("line", MAKING)
def test_line_that_makes_one_works(kafkactl: Callable[..., Run], world: Path, line: str) -> None:
    words = words_of(line, world)
    is_live = "--bootstrap-controller" in words or "--inventory" in words
    if "--bootstrap-controller" in words:
        words[words.index("--bootstrap-controller") + 1] = "127.0.0.1:1"
    run = kafkactl(*words, "--timeout", "1m", "-o", "json")
    file = world / words[words.index("--out") + 1]
    if not is_live:
        assert (run.code, file.is_file()) == (0, True), run.stdout + run.stderr
        return
    failed = {part["name"].partition("-")[0] for part in run.json["parts"] if part["error"]}
    assert failed <= UNREACHED | {"log", "log.verify"}
    assert (run.code, file.is_file()) == ((5, True) if "-c" in words else (6, False))
