"""Fleets for tests: three controllers and three brokers on six hosts, of which a test changes what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkactl.core.findings import Finding
from kafkactl.core.values import Uuid
from kafkactl.storage.fleet.inventory import Inventory, InventoryNode
from kafkactl.storage.fleet.plan import ConfigFile, FleetRequest, plan_fleet
from kafkactl.storage.fleet.plan_file import FleetPlan
from tests.storage.nodes import CLUSTER_ID, FixedSource

NEW_ID = Uuid.parse("JEXY6aqzQY-32P5TStzaFg")
CONTROLLERS, BROKERS = (1, 2, 3), (4, 5, 6)


@dataclass
class FleetBuilder:
    """`inventory` and `nodes[id]` change the inventory, `configs[id]` single keys of a configuration (None: remove)."""

    controllers: tuple[int, ...] = CONTROLLERS
    brokers: tuple[int, ...] = BROKERS
    static: bool = False
    inventory: dict[str, Any] = field(default_factory=dict)
    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    configs: dict[int, dict[str, str | None]] = field(default_factory=dict)
    files: dict[int, bytes | None] = field(default_factory=dict)
    scram: tuple[str, ...] = ()
    folder: str = "/data"

    @property
    def ids(self) -> tuple[int, ...]:
        """Return all node ids."""
        return self.controllers + self.brokers

    def config(self, node_id: int) -> str:
        """Return the text of a node's server.properties."""
        changes = self.configs.get(node_id, {})
        lines = {**self._defaults(node_id), **changes}
        return "".join(f"{key}={value}\n" for key, value in lines.items() if value is not None)

    def _defaults(self, node_id: int) -> Mapping[str, str]:
        role = "controller" if node_id in self.controllers else "broker"
        listener = "CONTROLLER" if role == "controller" else "PLAINTEXT"
        quorum = ",".join(
            (f"{controller}@h{controller}.example:9093" if self.static else f"h{controller}.example:9093")
            for controller in self.controllers
        )
        port = 9093 if role == "controller" else 9092
        # Before 3.9 a controller may not advertise anything.
        advertised = "" if self.static and role == "controller" else f"{listener}://h{node_id}.example:{port}"
        key = "controller.quorum.voters" if self.static else "controller.quorum.bootstrap.servers"
        return {
            "process.roles": role,
            "node.id": str(node_id),
            "listeners": f"{listener}://:{port}",
            **({"advertised.listeners": advertised} if advertised else {}),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": f"{self.folder}/{node_id}/a,{self.folder}/{node_id}/b",
            key: quorum,
        }

    def request(self) -> FleetRequest:
        """Return the fleet as `plan_fleet` takes it."""
        entries = []
        for node_id in self.ids:
            facts = {"id": node_id, "host": f"h{node_id}", "config": f"/etc/{node_id}.properties"}
            entries.append(InventoryNode(**{**facts, **self.nodes.get(node_id, {})}))
        facts = {"file": "fleet.toml", "cluster_id": CLUSTER_ID, "kafka_version": "4.3.1", **self.inventory}
        configs = [
            ConfigFile(path=f"/etc/{id_}.properties", data=self.files.get(id_, self.config(id_).encode()))
            for id_ in self.ids
        ]
        return FleetRequest(
            inventory=Inventory(nodes=tuple(entries), **facts),
            configs=tuple(configs),
            new_cluster_id=NEW_ID,
            scram=self.scram,
        )

    def plan(self, source: FixedSource | None = None) -> FleetPlan:
        """Return the fleet's plan."""
        return plan_fleet(self.request(), source or FixedSource())


def found(plan: FleetPlan, id: str) -> list[Finding]:
    """Return the findings of that id."""
    return [finding for finding in plan.findings if finding.id == id]
