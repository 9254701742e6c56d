"""The fleet of the demo: three controllers, three brokers, their configuration files and the inventory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KAFKA = "4.3.1"
CONTROLLERS = (1, 2, 3)
BROKERS = (4, 5, 6)


@dataclass(frozen=True)
class Fleet:
    """Where the demo's files are, relative to the folder that the commands run in."""

    folder: Path
    ports: Mapping[int, int]

    def name(self, node_id: int) -> str:
        """`controller-1` or `broker-4`."""
        return f"{'controller' if node_id in CONTROLLERS else 'broker'}-{node_id}"

    def config(self, node_id: int) -> Path:
        """The configuration file of a node."""
        return self.folder / f"{self.name(node_id)}.properties"

    def disk(self, node_id: int, name: str) -> Path:
        """The folder that represents one disk of a node."""
        return self.folder / "disks" / self.name(node_id) / name

    @property
    def controllers(self) -> str:
        """Addresses of all controllers."""
        return ",".join(f"127.0.0.1:{self.ports[node_id]}" for node_id in CONTROLLERS)

    @property
    def brokers(self) -> str:
        """Addresses of all brokers."""
        return ",".join(f"127.0.0.1:{self.ports[node_id]}" for node_id in BROKERS)


def write_fleet(folder: Path, ports: Sequence[int]) -> Fleet:
    """Begin with an empty folder; one configuration file a node, and `fleet.toml`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fleet = Fleet(folder, dict(zip((*CONTROLLERS, *BROKERS), ports, strict=True)))
    for node_id in (*CONTROLLERS, *BROKERS):
        fleet.config(node_id).write_text(_properties(fleet, node_id), encoding="utf-8")
    (folder / "fleet.toml").write_text(_inventory(fleet), encoding="utf-8")
    return fleet


def _properties(fleet: Fleet, node_id: int) -> str:
    return _controller(fleet, node_id) if node_id in CONTROLLERS else _broker(fleet, node_id)


def _controller(fleet: Fleet, node_id: int) -> str:
    listener = f"CONTROLLER://127.0.0.1:{fleet.ports[node_id]}"
    return f"""process.roles=controller
node.id={node_id}
controller.quorum.bootstrap.servers={fleet.controllers}
controller.listener.names=CONTROLLER
listeners={listener}
advertised.listeners={listener}
metadata.log.dir={fleet.disk(node_id, "metadata").absolute()}
log.dirs={fleet.disk(node_id, "data").absolute()}
"""


def _broker(fleet: Fleet, node_id: int) -> str:
    listener = f"PLAINTEXT://127.0.0.1:{fleet.ports[node_id]}"
    disks = ",".join(str(fleet.disk(node_id, name).absolute()) for name in ("disk-a", "disk-b"))
    return f"""process.roles=broker
node.id={node_id}
controller.quorum.bootstrap.servers={fleet.controllers}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
listeners={listener}
advertised.listeners={listener}
log.dirs={disks}
"""


def _inventory(fleet: Fleet) -> str:
    head = f'cluster_id = "new"\nkafka_version = "{KAFKA}"\nmode = "dynamic"\n'
    nodes = [_node(fleet, node_id) for node_id in (*CONTROLLERS, *BROKERS)]
    return head + "".join(nodes)


def _node(fleet: Fleet, node_id: int) -> str:
    host, config = f"{fleet.name(node_id)}.example", fleet.config(node_id).name
    return f'\n[[nodes]]\nid = {node_id}\nhost = "{host}"\nconfig = "{config}"\n'
