"""What is observed before a node is formatted: its directories, and the quorum where its metadata disk is replaced."""

from __future__ import annotations

from typing import Final

from kafkactl.adapters.disks.directories import observe_node
from kafkactl.frozen import changed
from kafkactl.operations.callbacks import ExposureCallback, ignore_exposure
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.lost_disk import needs_quorum
from kafkactl.storage.model import GuardOverrides, ObservedNode

NO_LIMIT: Final = float("inf")
_SHARE_OF_TIME = 1 / 15  # an observation asks a silent node several times, and the format has to end in its time


def observe_for_format(
    config: NodeConfig,
    overrides: GuardOverrides,
    *,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
) -> ObservedNode:
    """The node as a format finds it. The other controllers are asked only where `verified_quorum` is needed.

    `on_exposure` gets what the connection to them exposes, before it is opened. `timeout_ms` is the time that the
    whole format may take.
    """
    observed = observe_node(config)
    if not needs_quorum(config, observed, overrides):
        return observed
    from kafkactl.adapters.kafka.lost_disk_quorum import PATIENCE_MS, controller_client_config, see_quorum
    from kafkactl.errors import InputError
    from kafkactl.operations.exposure import client_exposure
    from kafkactl.storage.model import QuorumSeen

    try:
        way_in = controller_client_config(config)
    except InputError as error:
        return changed(observed, quorum=QuorumSeen(reason=error.message))
    on_exposure(client_exposure(way_in))
    patience_ms = min(PATIENCE_MS, _SHARE_OF_TIME * timeout_ms)
    return changed(observed, quorum=see_quorum(config, way_in, patience_ms=patience_ms))
