"""Maker of the files of `tests/golden/` that come from released Kafka: formats, starts, copies of the disks.

`python -m tests.campaigns.goldens.formats [FOLDER]` writes into tests/golden/, or into FOLDER to look at what a new
release does. Ids and times differ from run to run, so the files change; their shape must not.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.harness import config, ports
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.ports import HOST
from tests.lab.harness.storage_tool import StorageToolServer

GOLDEN = Path(__file__).parents[2] / "golden"
CLUSTER_ID = "XgM8cvG1S-mQ3k4wGhkVpQ"
METADATA_LOG = "__cluster_metadata-0"
FIRST = f"{METADATA_LOG}/00000000000000000000-0000000000.checkpoint"
# The example of RFC 7677, as if it were a user; nothing secret.
SCRAM = (
    "--add-scram",
    'SCRAM-SHA-256=[name=user,password=pencil,salt="W22ZaJ0SNY7soEsUEjb6gQ==",iterations=4096]',
)
# More voters than Java's smallest hash table holds without growing, in an order that is not theirs.
NODE_IDS = (1, 92, 17, 33, 70, 81, 5, 6, 1000, 3001, 4099, 1023, 2000, 50000)
VOTERS = ",".join(f"{node_id}@host{node_id}:9093:{n:02d}AAAAAAAAAAAAAAAAAAAA" for n, node_id in enumerate(NODE_IDS))
SNAPSHOT_OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "1", "metadata.max.idle.interval.ms": "100"}


@dataclass(frozen=True, kw_only=True)
class Golden:
    """Formatted directory: what is asked of the tool, and which files are kept under which names."""

    release: str
    dynamic: bool = False
    arguments: Sequence[str] = ()
    keep: dict[str, str]
    node_id: int = 1
    run: bool = False
    settings: dict[str, str] = field(default_factory=dict)


GOLDENS = (
    Golden(release="3.3.2", keep={"bootstrap.checkpoint": "bootstrap-3.3.2.checkpoint.bin"}),
    Golden(release="3.6.2", arguments=SCRAM, keep={"bootstrap.checkpoint": "bootstrap-3.6.2-scram.checkpoint.bin"}),
    Golden(release="3.8.1", keep={"bootstrap.checkpoint": "bootstrap-3.8.1.checkpoint.bin"}),
    Golden(
        release="3.9.2",
        dynamic=True,
        arguments=("--standalone",),
        run=True,
        settings=SNAPSHOT_OFTEN,
        keep={
            "bootstrap.checkpoint": "bootstrap-3.9.2-standalone.checkpoint.bin",
            FIRST: "first-3.9.2-standalone.checkpoint.bin",
            f"{METADATA_LOG}/quorum-state": "quorum-state-3.9.2-v1.json",
            f"{METADATA_LOG}/*-*[1-9].checkpoint": "snapshot-3.9.2-standalone.checkpoint.bin",
        },
    ),
    Golden(
        release="4.3.1",
        dynamic=True,
        arguments=("--initial-controllers", VOTERS, *SCRAM),
        keep={
            "bootstrap.checkpoint": "bootstrap-4.3.1-scram.checkpoint.bin",
            FIRST: "first-4.3.1-14-voters.checkpoint.bin",
        },
    ),
    Golden(
        release="4.3.1",
        run=True,
        settings=SNAPSHOT_OFTEN,
        keep={
            f"{METADATA_LOG}/quorum-state": "quorum-state-4.3.1-v0.json",
            f"{METADATA_LOG}/00000000000000000000.log": "segment-4.3.1-static.log.bin",
        },
    ),
    Golden(
        release="4.4.0",
        dynamic=True,
        arguments=("--no-initial-controllers",),
        keep={FIRST: "first-4.4.0-no-initial-controllers.checkpoint.bin"},
    ),
    Golden(
        release="4.4.0",
        dynamic=True,
        arguments=("--initial-controllers", VOTERS, *SCRAM),
        keep={FIRST: "first-4.4.0-14-voters.checkpoint.bin"},
    ),
    Golden(
        release="4.4.0",
        dynamic=True,
        arguments=("--standalone", *SCRAM),
        run=True,
        settings=SNAPSHOT_OFTEN,
        keep={
            FIRST: "first-4.4.0-standalone.checkpoint.bin",
            f"{METADATA_LOG}/quorum-state": "quorum-state-4.4.0-v1.json",
            f"{METADATA_LOG}/00000000000000000000.log": "segment-4.4.0-standalone.log.bin",
            f"{METADATA_LOG}/*-*[1-9].checkpoint": "snapshot-4.4.0-standalone.checkpoint.bin",
        },
    ),
)


def make(golden: Golden, tool: StorageToolServer, work: Path, into: Path) -> None:
    """Format one directory with the release's own tool, run the node if that is asked for, keep the files."""
    broker_port, controller_port = ports.free_ports(2)
    quorum = (
        config.dynamic_quorum([controller_port])
        if golden.dynamic
        else config.static_quorum({golden.node_id: controller_port})
    )
    directory = work / "disk"
    properties = (
        config.combined(
            node_id=golden.node_id, log_dirs=[directory], broker_port=broker_port, controller_port=controller_port,
            quorum=quorum,
        )
        | golden.settings
    )  # fmt: skip
    file = work / "server.properties"
    write_config(file, properties)
    result = tool.run(golden.release, ["format", "-t", CLUSTER_ID, "-c", file, *golden.arguments])
    if result.exit_code:
        raise RuntimeError(result.stdout + result.stderr)
    kept = {name: (directory / name).read_bytes() for name in golden.keep if (directory / name).exists()}
    if golden.run:
        with KafkaNode(golden.release, file, work) as node:
            node.start().wait_ready()
            wait_for(directory, [name for name in golden.keep if name not in kept])
            node.stop()
    for name, target in golden.keep.items():
        content = kept.get(name) or max(directory.glob(name)).read_bytes()
        (into / target).write_bytes(content)
        print(f"{target}: Kafka {golden.release}, {len(content)} bytes ({HOST}:{controller_port})", flush=True)


def wait_for(directory: Path, patterns: Sequence[str], timeout_s: float = 60) -> None:
    """Wait until each pattern has a file; a running node makes snapshots in its own time."""
    deadline = time.monotonic() + timeout_s
    while not all(any(directory.glob(pattern)) for pattern in patterns):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{directory} still lacks one of {', '.join(patterns)}")
        time.sleep(0.2)


def main(arguments: Sequence[str]) -> None:
    """Make all of them."""
    into = Path(arguments[0]) if arguments else GOLDEN
    with StorageToolServer() as tool:
        for golden in GOLDENS:
            with tempfile.TemporaryDirectory(prefix="kafkactl-golden-") as work:
                make(golden, tool, Path(work), into)


if __name__ == "__main__":
    main(sys.argv[1:])
