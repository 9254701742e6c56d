"""Sources from which a bundle is gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.bundle.parts import NamedParts
from kafkactl.core.frozen import frozen

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client
    from kafkactl.migration.inventory import Inventory
    from kafkactl.tiered.api.load import Request


@frozen
class Sources:
    """Sources that the operator named. `configs` are server.properties of nodes on this host, `logs` further metadata
    logs, `client` a live cluster, which is called `client_name`; of a migration either its `inventory` or a folder with
    an `observation`; `tiered` what `kafkactl tiered` reads."""

    configs: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    client: Client | None = None
    client_name: str = "cluster"
    inventory: Inventory | None = None
    observation: str | None = None
    tiered: Request | None = None
    kafka_version: str | None = None

    @property
    def wanted(self) -> NamedParts:
        """Return the input for the plan of the parts."""
        return NamedParts(
            configs=self.configs,
            logs=self.logs,
            has_cluster=self.client is not None,
            has_migration=self.inventory is not None or self.observation is not None,
            has_tiered=self.tiered is not None,
        )
