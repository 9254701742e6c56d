"""The nodes of a lab cluster before they start: configurations, and disks that our own library formats."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkactl.core.findings import Outcome
from kafkactl.files.config_providers import resolve
from kafkactl.files.entropy import SystemSource, random_uuid
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import FormatRequest, VoterMode
from tests.lab.harness import config, releases
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import KafkaNode, read_config, write_config
from tests.lab.harness.ports import HOST, free_port

FIRST_BROKER = 11
SETTINGS: config.Config = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "auto.leader.rebalance.enable": "false",
}
"""As on the clusters of the measurements: a dead broker is noticed soon, and partitions move only where they must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Figures of a log. `records` is reached and then gone past by at most one operation."""

    release: str
    controllers: int = 3
    brokers: int = 2
    dynamic: bool = True
    combined: bool = False
    voters: tuple[int, ...] | None = None
    metadata_version: str | None = None
    features: tuple[tuple[str, int], ...] = ()
    releases: tuple[tuple[int, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    racks: tuple[tuple[int, str], ...] = ()

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Return 1, 2, 3 …; they are brokers too where the shape is combined."""
        return tuple(range(1, self.controllers + 1))

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Return 11, 12 …, and the combined nodes."""
        apart = tuple(range(FIRST_BROKER, FIRST_BROKER + self.brokers))
        return (*self.controller_ids, *apart) if self.combined else apart

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """Return the voters that the cluster starts with; all controllers unless the shape says otherwise."""
        return self.controller_ids if self.voters is None else self.voters

    def release_of(self, node_id: int) -> str:
        """Return the release that a node runs at first."""
        return dict(self.releases).get(node_id, self.release)

    @property
    def level(self) -> str:
        """Return what is given as `--release-version`: the newest that every node knows, unless the shape says
        otherwise."""
        oldest = min(releases.release(version).number for version in (self.release, *dict(self.releases).values()))
        return self.metadata_version or f"{oldest[0]}.{oldest[1]}"


class Disks:
    """Folders, ports, identities and configurations of a cluster; nothing runs here."""

    def __init__(self, shape: Shape, workdir: Path) -> None:
        self.shape = shape
        self.workdir = workdir
        self.cluster_id = str(random_uuid())
        self.controller_ports: dict[int, int] = {controller_id: free_port() for controller_id in shape.controller_ids}
        self.broker_ports: dict[int, int] = {broker_id: free_port() for broker_id in shape.broker_ids}
        self.directory_ids: dict[int, str] = {}
        self._initial = {voter_id: str(random_uuid()) for voter_id in shape.voter_ids}
        self._generation: dict[int, int] = {}

    def config_file(self, node_id: int) -> Path:
        """Return the node's server.properties."""
        return self.workdir / f"node-{node_id}.properties"

    def log_dir(self, node_id: int) -> Path:
        """Return the node's only log directory; a replaced disk has another name, the lost one stays to be looked
        at."""
        return self.workdir / "disks" / f"{node_id}-{self._generation.get(node_id, 0)}"

    def metadata_log(self, node_id: int) -> Path:
        """Return the node's copy of the metadata log."""
        return self.log_dir(node_id) / "__cluster_metadata-0"

    def node(self, node_id: int, release: str) -> KafkaNode:
        """Return the node as its configuration file stands; each start logs into a file of its own."""
        return KafkaNode(release, self.config_file(node_id), self.workdir / "logs", name=f"node-{node_id}")

    def prepare(self, node_id: int, release: str, *, initial: bool) -> None:
        """Write the configuration and format the disk; `initial` is one of those that the cluster starts with."""
        (self.workdir / "logs").mkdir(parents=True, exist_ok=True)
        write_config(self.config_file(node_id), self._config(node_id, initial=initial))
        self._format(node_id, release, initial=initial)

    def replace(self, node_id: int, release: str) -> None:
        """Replace a node's lost disk with an empty one, formatted to join: it has another directory id."""
        kept = read_config(self.config_file(node_id))
        self._generation[node_id] = self._generation.get(node_id, 0) + 1
        write_config(self.config_file(node_id), kept | {"log.dirs": str(self.log_dir(node_id))})
        self._format(node_id, release, initial=False)

    def keep_copy(self, node_id: int) -> Path:
        """Make a copy of a stopped node's disk, to come back to."""
        copy = self.workdir / "copies" / f"{node_id}-{len(list(self.workdir.glob('copies/*')))}"
        shutil.copytree(self.log_dir(node_id), copy)
        return copy

    def _config(self, node_id: int, *, initial: bool) -> config.Config:
        static = not self.shape.dynamic and initial
        quorum = (
            config.static_quorum({voter_id: self.controller_ports[voter_id] for voter_id in self.shape.voter_ids})
            if static
            else config.dynamic_quorum(list(self.controller_ports.values()))
        )
        dirs = [self.log_dir(node_id)]
        if node_id not in self.controller_ports:
            made = config.broker(node_id=node_id, log_dirs=dirs, port=self.broker_ports[node_id], quorum=quorum)
        elif node_id in self.broker_ports:
            made = config.combined(
                node_id=node_id, log_dirs=dirs, quorum=quorum,
                broker_port=self.broker_ports[node_id], controller_port=self.controller_ports[node_id],
            )  # fmt: skip
        else:
            made = config.controller(node_id=node_id, log_dirs=dirs, port=self.controller_ports[node_id], quorum=quorum)
        return made | SETTINGS | dict(self.shape.settings) | self.own_settings(node_id)

    def own_settings(self, node_id: int) -> config.Config:
        """Return the settings that a kind of cluster adds for a node: here its rack."""
        rack = dict(self.shape.racks).get(node_id)
        return {} if rack is None else {"broker.rack": rack}

    def _format(self, node_id: int, release: str, *, initial: bool) -> None:
        mode, voters = self._voters(node_id, initial=initial)
        request = FormatRequest(
            cluster_id=self.cluster_id,
            release_version=self.shape.level,
            features=tuple(f"{name}={level}" for name, level in self.shape.features),
            voter_mode=mode,
            initial_controllers=voters,
        )
        known, file = find_release(release), self.config_file(node_id)
        node = read_node_config(file.read_bytes(), file=str(file), release=known, resolve=resolve)
        plan = plan_format(request, node, observe_node(node), known, SystemSource())
        applied = apply_plan(plan, OsFilesystem())
        if applied.outcome is not Outcome.DONE:
            raise LabError(f"node {node_id} (Kafka {release}) is not formatted: {applied.findings}")
        (directory,) = plan.directories
        self.directory_ids[node_id] = str(directory.directory_id or "")

    def _voters(self, node_id: int, *, initial: bool) -> tuple[VoterMode, str]:
        if not self.shape.dynamic and initial:
            return VoterMode.UNSPECIFIED, ""
        if not (initial and node_id in self._initial):
            return VoterMode.NO_INITIAL_CONTROLLERS, ""
        listed = (
            f"{controller}@{HOST}:{self.controller_ports[controller]}:{key}"
            for controller, key in self._initial.items()
        )
        return VoterMode.INITIAL_CONTROLLERS, ",".join(listed)


def shape_of(release: str, given: Mapping[str, object]) -> Shape:
    """Return the shape that keyword arguments name; mappings and lists may stand where a shape keeps tuples."""
    plain = {name: _as_tuple(value) for name, value in given.items()}
    if plain.get("combined") and "brokers" not in plain:
        plain["brokers"] = 0
    return Shape(release=release, **plain)  # type: ignore[arg-type]


def _as_tuple(value: object) -> object:
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
