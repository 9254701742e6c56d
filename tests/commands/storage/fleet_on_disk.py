"""A fleet whose nodes all live on this machine, in a folder of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.storage.fleet.fleets import FleetBuilder


class FleetOnDisk:
    """Configurations and inventory under `folder`; the log directories are `folder/disks/ID/a` and `b`."""

    def __init__(self, folder: Path, builder: FleetBuilder, head: str = "") -> None:
        self.folder = folder
        self.builder = builder
        builder.folder = str(folder / "disks")
        self.inventory = folder / "fleet.toml"
        self.plan = folder / "plan.json"
        self.receipts = folder / "plan.json.receipts"
        for node_id in builder.ids:
            self.write_config(node_id)
        given = {"cluster_id": "new", "kafka_version": "4.3.1", **builder.inventory}
        lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        nodes = [self._node(id_) for id_ in builder.ids]
        self.inventory.write_text("\n".join([*lines, head, *nodes, ""]), encoding="utf-8")

    def _node(self, node_id: int) -> str:
        facts = {"id": node_id, "host": f"h{node_id}", "config": f"{node_id}.properties"}
        facts |= self.builder.nodes.get(node_id, {})
        return "\n".join(["[[nodes]]", *(f"{key} = {json.dumps(value)}" for key, value in facts.items())])

    def config(self, node_id: int) -> Path:
        """Return a node's server.properties."""
        return self.folder / f"{node_id}.properties"

    def write_config(self, node_id: int) -> None:
        """Write it as the builder has it now."""
        self.config(node_id).write_text(self.builder.config(node_id), encoding="utf-8")

    def disk(self, node_id: int, name: str = "a") -> Path:
        """Return one log directory; a is the metadata directory."""
        return self.folder / "disks" / str(node_id) / name

    def tree(self) -> dict[str, bytes]:
        """Return every file on every disk."""
        root = self.folder / "disks"
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}

    def planned(self) -> dict[str, Any]:
        """Return the plan file."""
        document: dict[str, Any] = json.loads(self.plan.read_text(encoding="utf-8"))
        return document
