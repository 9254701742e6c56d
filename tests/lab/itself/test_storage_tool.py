"""The served tools give what the tools give in a JVM of their own, and give it fast."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.harness import config, releases
from tests.lab.harness.errors import ProcessFailed
from tests.lab.harness.node import write_config
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import STORAGE_TOOL, StorageToolServer, ToolResult, run_separately

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
STANDALONE = ["--standalone"]

CASES: dict[str, list[str]] = {
    "success": ["format", "-t", CLUSTER_ID, "-c", "STATIC"],
    "already formatted": ["format", "-t", CLUSTER_ID, "-c", "FORMATTED"],
    "ignore formatted": ["format", "-t", CLUSTER_ID, "-c", "FORMATTED", "--ignore-formatted"],
    "other cluster id": ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", "FORMATTED", "-g"],
    "release": ["format", "-t", CLUSTER_ID, "-c", "STATIC", "-r", "3.3-IV1"],
    "bad release": ["format", "-t", CLUSTER_ID, "-c", "STATIC", "-r", "nonsense"],
    "scram": ["format", "-t", CLUSTER_ID, "-c", "STATIC", "-S", "SCRAM-SHA-256=[name=alice]"],
    "feature": ["format", "-t", CLUSTER_ID, "-c", "STATIC", "-f", "foo.version=1"],
    "standalone": ["format", "-t", CLUSTER_ID, "-c", "DYNAMIC", "--standalone"],
    "no config file": ["format", "-t", CLUSTER_ID, "-c", "/nowhere/server.properties"],
    "bad config": ["format", "-t", CLUSTER_ID, "-c", "BROKEN"],
    "info": ["info", "-c", "STATIC"],
    "info formatted": ["info", "-c", "FORMATTED"],
    "argparse": ["format", "-c", "STATIC"],
    "dash id": ["format", "-t", "-xyz", "-c", "STATIC"],
    "not ascii": ["format", "-t", "žluťoučký", "-c", "STATIC"],
    "empty argument": ["format", "-t", "", "-c", "STATIC"],
    "unknown command": ["forget"],
    "no command": [],
    "help": ["-h"],
    "help of format": ["format", "--help"],
    "version mapping": ["version-mapping"],
    "feature dependencies": ["feature-dependencies", "-f", "eligible.leader.replicas.version=1"],
}

SAMPLE = [
    ("3.3.2", "success"),
    ("3.6.2", "bad release"),
    ("3.8.1", "argparse"),
    ("3.9.2", "no config file"),
    ("3.9.2", "other cluster id"),
    ("4.0.2", "help of format"),
    ("4.3.1", "info"),
    ("4.4.0", "standalone"),
]


class Disk:
    """Configurations of one case, and a way to put everything back to the start."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {name: root / f"{name}.properties" for name in ("STATIC", "DYNAMIC", "FORMATTED", "BROKEN")}

    def reset(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()
        dirs, old = [self.root / "a", self.root / "b"], self.root / "old"
        old.mkdir()
        (old / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id={CLUSTER_ID}\n")
        static, dynamic = config.static_quorum({1: 19093}), config.dynamic_quorum([19093])
        for name, log_dirs, quorum in [
            ("STATIC", dirs, static),
            ("DYNAMIC", dirs, dynamic),
            ("FORMATTED", [old], static),
        ]:
            wanted = config.combined(
                node_id=1, log_dirs=log_dirs, broker_port=19092, controller_port=19093, quorum=quorum
            )
            write_config(self.files[name], wanted)
        write_config(self.files["BROKEN"], {"process.roles": "controller", "log.dirs": "/tmp/x"})

    def arguments(self, case: str) -> list[str]:
        return [str(self.files.get(word, word)) for word in CASES[case]]

    def written(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "disk")


def assert_same(served: StorageToolServer, disk: Disk, release: str, case: str) -> ToolResult:
    disk.reset()
    ours, our_files = served.run(release, disk.arguments(case)), disk.written()
    disk.reset()
    real, real_files = run_separately(release, STORAGE_TOOL, disk.arguments(case)), disk.written()
    assert ours == real
    assert our_files == real_files
    return real


@pytest.mark.parametrize(("release", "case"), SAMPLE)
def test_served_tool_equals_a_jvm_of_its_own(
    storage_tool: StorageToolServer, disk: Disk, release: str, case: str
) -> None:
    assert_same(storage_tool, disk, release, case)


@pytest.mark.campaign
@pytest.mark.parametrize("release", releases.VERSIONS)
def test_served_tool_equals_a_jvm_of_its_own_in_every_case(
    storage_tool: StorageToolServer, disk: Disk, release: str
) -> None:
    seen = [assert_same(storage_tool, disk, release, case) for case in CASES]
    assert {result.exit_code for result in seen} == {0, 1}
    assert any("Exception in thread" in result.stderr for result in seen)


def test_run_is_fast_once_its_release_is_warm(storage_tool: StorageToolServer, disk: Disk) -> None:
    disk.reset()
    arguments = ["info", "-c", str(disk.files["FORMATTED"])]
    storage_tool.run(releases.NEWEST, arguments)

    def seconds(run: Callable[[], ToolResult]) -> float:
        begun = time.perf_counter()
        assert run().exit_code == 0
        return time.perf_counter() - begun

    # A JVM of its own takes twenty times as long, on a busy machine as on an idle one.
    served = min(seconds(lambda: storage_tool.run(releases.NEWEST, arguments)) for _ in range(10))
    assert served < seconds(lambda: run_separately(releases.NEWEST, STORAGE_TOOL, arguments)) / 3


def test_random_uuid_prints_another_id_each_time(storage_tool: StorageToolServer) -> None:
    printed = {storage_tool.run("4.3.1", ["random-uuid"]).stdout for _ in range(20)}
    assert len(printed) == 20
    assert {len(line) for line in printed} == {len(CLUSTER_ID + "\n")}


def test_dump_prints_a_checkpoint_that_the_tool_wrote(storage_tool: StorageToolServer, disk: Disk) -> None:
    disk.reset()
    storage_tool.run("4.4.0", disk.arguments("standalone"))
    (checkpoint,) = disk.root.rglob("*.checkpoint")
    dumped = storage_tool.dump("4.4.0", ["--cluster-metadata-decoder", "--files", str(checkpoint)])
    assert dumped.exit_code == 0, dumped
    assert '"name":"metadata.version","featureLevel":33' in dumped.stdout


@pytest.fixture
def own_server(lab_pool: Pool) -> Iterator[StorageToolServer]:
    with StorageToolServer(pool=lab_pool) as server:
        yield server


def test_run_that_does_not_end_is_given_up_and_the_next_one_works(own_server: StorageToolServer) -> None:
    arguments = ["--bootstrap-server", "127.0.0.1:1", "describe", "--status"]
    with pytest.raises(ProcessFailed, match="did not end"):
        own_server.run_tool("4.3.1", "org.apache.kafka.tools.MetadataQuorumCommand", arguments, timeout_s=2)
    assert own_server.run("4.3.1", ["random-uuid"]).exit_code == 0


def test_class_that_is_not_there_is_an_error_of_that_run(storage_tool: StorageToolServer) -> None:
    result = storage_tool.run_tool("4.3.1", "org.example.Nothing", [])
    assert (result.exit_code, "ClassNotFoundException" in result.stderr) == (1, True)
