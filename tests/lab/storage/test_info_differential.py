"""`storage info` against the real tool: the same lines and the same verdict for every kind of directory and release.

Two differences are meant, and named below: the tool's exit code 1 is 7 here, and its stack traces are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness import config, releases
from tests.lab.harness.node import write_config
from tests.lab.harness.storage_tool import StorageToolServer

CLUSTER = "XgM8cvG1S-mQ3k4wGhkVpQ"
V1 = f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n"
ID_A, ID_B = "directory.id=JEXY6aqzQY-32P5TStzaFg\n", "directory.id=MvDxzVmcRsaTz33bUuRU6A\n"
V0 = f"version=0\nbroker.id=1\ncluster.id={CLUSTER}\n"
OTHER_CLUSTER, OTHER_NODE = V1.replace("XgM8", "ZgM8"), V1.replace("node.id=1", "node.id=2")
MISSING, FILE = "missing", "file"

# What each directory holds: the text of meta.properties, None without one, MISSING, or FILE in its place.
CASES: dict[str, dict[str, str | None]] = {
    "one": {"d1": V1 + ID_A},
    "two": {"d1": V1 + ID_A, "d2": V1 + ID_B},
    "out of order": {"d2": V1 + ID_B, "d1": V1 + ID_A},
    "no directory id": {"d1": V1, "d2": V1},
    "missing": {"d1": MISSING},
    "file": {"d1": FILE},
    "blank": {"d1": None},
    "all sorts": {"d1": V1 + ID_A, "d2": None, "d3": MISSING, "d4": FILE},
    "two clusters": {"d1": V1 + ID_A, "d2": OTHER_CLUSTER + ID_B},
    "two nodes": {"d1": V1 + ID_A, "d2": OTHER_NODE + ID_B},
    "two clusters and nodes": {"d1": V1 + ID_A, "d2": OTHER_CLUSTER.replace("node.id=1", "node.id=2") + ID_B},
    "zookeeper then kraft": {"d1": V0, "d2": V1 + ID_B},
    "kraft then zookeeper": {"d1": V1 + ID_B, "d2": V0},
    "zookeeper": {"d1": V0},
    "version 2": {"d1": V1.replace("version=1", "version=2")},
    "version 2 and a good one": {"d1": V1.replace("version=1", "version=2"), "d2": V1},
    "no cluster id": {"d1": "version=1\nnode.id=1\n"},
    "no node id": {"d1": f"version=1\ncluster.id={CLUSTER}\n"},
    "blank after the node id": {"d1": V1.replace("node.id=1", "node.id=1 "), "d2": V1},
    "bad directory id": {"d1": V1 + "directory.id=zz\n"},
    "empty file": {"d1": ""},
    "other keys": {"d1": V1 + "zz=1\naa=\\u00e9x\n"},
    "same directory id": {"d1": V1 + ID_A, "d2": V1 + ID_A},
    "node id of another": {"d1": OTHER_NODE + ID_A},
    "properties of all kinds": {"d1": f"! comment\nversion : 1\n\ncluster.id\\\n  ={CLUSTER}\nnode.id 1\n"},
}
# Kafka adds its own words on why a value cannot be read; where a line begins like this, only that is compared.
CAUSES = ("Unable to read directory.id as a Uuid",)


def prepare(root: Path, name: str) -> Path:
    """Return the directories and the configuration of a case."""
    base = root / name.replace(" ", "-")
    base.mkdir(parents=True)
    for directory, content in CASES[name].items():
        path = base / directory
        if content == FILE:
            path.write_text("x")
        elif content != MISSING:
            path.mkdir()
            if content is not None:
                (path / "meta.properties").write_text(content, encoding="utf-8")
    wanted = config.combined(
        node_id=1,
        log_dirs=[base / directory for directory in CASES[name]],
        broker_port=19092,
        controller_port=19093,
        quorum=config.static_quorum({1: 19093}),
    )
    write_config(base / "server.properties", wanted)
    return base / "server.properties"


def lines(text: str) -> list[str]:
    """Return what was printed, without the stack traces of the tool and with causes cut to their beginning."""
    kept = []
    inside_trace = False
    for line in text.splitlines():
        inside_trace = line.startswith(("\tat ", "\t...", "Caused by: ", "java.lang.", "org.apache.")) or (
            inside_trace and line.startswith("\t")
        )
        if not inside_trace:
            cut = next((line[: line.index(cause) + len(cause)] for cause in CAUSES if cause in line), line)
            kept.append(cut.split(" Found '")[0].split(" (line ")[0])
    while kept and not kept[-1]:
        kept.pop()
    return kept


def compare(name: str, release: str, root: Path, tool: StorageToolServer, kafkactl: Callable[..., Run]) -> None:
    file = prepare(root / release, name)
    theirs = tool.run(release, ["info", "-c", file])
    ours = kafkactl("storage", "info", "-c", file, "--kafka-version", release)
    found = lines(theirs.stdout)
    assert ours.stderr == ""
    shown = lines(re.split(r"\n\n\S+ (?:info|warning|blocker) ", ours.stdout)[0])
    assert shown == found, theirs.stderr
    assert (ours.code, theirs.exit_code) in {(0, 0), (7, 1)}


SAMPLE = [("3.6.2", "all sorts"), ("3.3.2", "two"), ("3.9.2", "zookeeper"), ("4.3.1", "all sorts")]
SAMPLE += [("4.4.0", name) for name in CASES]


@pytest.mark.parametrize(("release", "name"), SAMPLE)
def test_info_says_what_kafka_says(release, name, tmp_path, storage_tool, kafkactl):
    compare(name, release, tmp_path, storage_tool, kafkactl)


@pytest.mark.campaign
@pytest.mark.parametrize("release", releases.VERSIONS)
def test_info_says_what_kafka_says_in_every_release(release, tmp_path, storage_tool, kafkactl):
    for name in CASES:
        compare(name, release, tmp_path, storage_tool, kafkactl)
