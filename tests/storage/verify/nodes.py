"""Nodes on disk for the tests of verify: formatted by us, as if started once, and read again.

What a real node makes of such disks is shown by tests/lab/storage/test_verify_starts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.metadata.io.metadata_log import scan_metadata_log
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record
from kafkactl.storage.config.node_config import NodeConfig, read_node_config
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.verify.model import Verification
from kafkactl.storage.verify.node import verify_node
from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, NOW_MS, properties

SEGMENT = "__cluster_metadata-0/00000000000000000000.log"
CHECKPOINT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
DIRECTORY_IDS = {"d1": Uuid(b"\x40" + bytes(15)), "d2": Uuid(b"\x41" + bytes(15)), "m": Uuid(b"\x42" + bytes(15))}


class VerifyNode:
    """Node under a folder: its directories d1, d2, …, and its configuration."""

    def __init__(self, root: Path, kafkactl: Callable[..., Run], version: str) -> None:
        self.root = root
        self.version = version
        self._kafkactl = kafkactl
        self.file = root / "server.properties"

    def format(self, *flags: str, log_dirs: Iterable[str] = ("d1",), **settings: Any) -> VerifyNode:
        """Format the node with kafkactl."""
        self.configure(log_dirs=log_dirs, **settings)
        run = self._kafkactl(
            "storage", "format", "-t", CLUSTER_ID, "-c", self.file, "--kafka-version", self.version, *flags
        )
        assert run.code == 0, run.stderr or run.stdout
        return self

    def configure(
        self, *, log_dirs: Iterable[str] = ("d1",), metadata_log_dir: str | None = None, **settings: Any
    ) -> VerifyNode:
        """Write another configuration."""
        paths = [f"{self.root}/{name}" for name in log_dirs]
        apart = None if metadata_log_dir is None else f"{self.root}/{metadata_log_dir}"
        self.file.write_text(properties(log_dirs=paths, metadata_log_dir=apart, **settings))
        return self

    def config(self, version: str | None = None) -> NodeConfig:
        """Return the configuration, read as a release reads it."""
        return read_node_config(
            self.file.read_bytes(), file=str(self.file), release=find_release(version or self.version)
        )

    def verify(self, version: str | None = None) -> Verification:
        """Return the prediction."""
        config = self.config(version)
        log = scan_metadata_log(config.metadata_log_dir)
        return verify_node(config, observe_node(config), find_release(version or self.version), log)

    def started_once(self, directory: str = "d1", *, batches: int = 4) -> VerifyNode:
        """Write what a first start leaves: the metadata log with its levels, quorum-state, a broker's checkpoints."""
        log = scan_metadata_log(str(self.root / directory))
        first = log.first_checkpoint
        kraft = first is not None and first.contents is not None and first.contents.kraft_version
        levels = {"metadata.version": find_release(self.version).production_level}
        write_log(self.root / directory, levels, batches=batches)
        version = 1 if kraft else 0
        more = '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",' if version else '"clusterId":"","appliedOffset":0,'
        voters = "" if version else '"currentVoters":[{"voterId":1}],'
        (self.root / directory / "__cluster_metadata-0" / "quorum-state").write_text(
            f'{{"leaderId":1,"leaderEpoch":1,"votedId":-1,{more}{voters}"data_version":{version}}}'
        )
        for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
            (self.root / directory / name).write_text("0\n0\n")
        return self

    def path(self, name: str) -> Path:
        """Return a file of the node."""
        return self.root / name


def write_log(log_dir: Path, levels: dict[str, int], *, batches: int = 4, epoch: int = 1) -> None:
    """Write a metadata log of one segment: leader change, feature levels, then one NoOpRecord a batch."""
    folder = log_dir / "__cluster_metadata-0"
    folder.mkdir(exist_ok=True)
    leader = encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": 1})
    parts = [_batch([leader], 0, epoch, control=True)]
    parts.append(_batch([(None, feature_record(name, level)) for name, level in levels.items()], 1, epoch))
    offset = 1 + len(levels)
    for _ in range(batches - 2):
        parts.append(_batch([(None, encode_record(metadata_record(20), 0, {}))], offset, epoch))
        offset += 1
    (log_dir / SEGMENT).write_bytes(b"".join(parts))


def feature_record(name: str, level: int) -> bytes:
    """Return a framed FeatureLevelRecord."""
    return encode_record(metadata_record(12), 0, {"Name": name, "FeatureLevel": level})


def voters_batch(voters: Iterable[tuple[int, Uuid]], offset: int, epoch: int = 1) -> bytes:
    """Return a control batch that sets kraft.version 1 and a voter set."""
    data = {
        "Voters": [
            {
                "VoterId": node_id,
                "VoterDirectoryId": directory_id,
                "Endpoints": [{"Name": "CONTROLLER", "Host": "localhost", "Port": 9093 + node_id - 1}],
                "KRaftVersionFeature": {"MinSupportedVersion": 0, "MaxSupportedVersion": 1},
            }
            for node_id, directory_id in voters
        ]
    }
    records = [
        encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": 1}),
        encode_control_record(ControlType.KRAFT_VOTERS, data),
    ]
    return _batch(records, offset, epoch, control=True)


def _batch(
    records: list[tuple[bytes | None, bytes | None]], offset: int, epoch: int, *, control: bool = False
) -> bytes:
    return encode_batch(
        records, base_offset=offset, timestamp_ms=NOW_MS, partition_leader_epoch=epoch, is_control=control
    )


def blocker_ids(answer: Verification) -> list[str]:
    """Return the ids of the findings that stop or lose something."""
    return [finding.id for finding in answer.findings if finding.severity.value == "blocker"]


def two(make: Callable[[str], VerifyNode], version: str) -> VerifyNode:
    """Return a formatted node with two directories and a static quorum."""
    return make(version).format(log_dirs=("d1", "d2"), static=True)
