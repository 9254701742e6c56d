"""What is looked at before a node is formatted: its directories, and the quorum where its metadata disk is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkactl.storage.config.node_config import NodeConfig
    from kafkactl.storage.model import GuardOverrides, ObservedNode

_SHARE_OF_TIME = 1 / 15  # a look asks a silent node several times, and the format is to end within --timeout


def observe_for_format(config: NodeConfig, overrides: GuardOverrides) -> ObservedNode:
    """The node as a format finds it. The other controllers are asked only where `--verified-quorum` is needed.

    What the connection to them exposes is reported, and refused where --strict-security is given (RefusedError).
    """
    from kafkactl.adapters.disks.directories import observe_node
    from kafkactl.frozen import changed
    from kafkactl.storage.format.lost_disk import needs_quorum

    observed = observe_node(config)
    if not needs_quorum(config, observed, overrides):
        return observed
    from kafkactl.adapters.kafka.lost_disk_quorum import PATIENCE_MS, controller_client_config, see_quorum
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.errors import InputError
    from kafkactl.operations.exposure import client_exposure
    from kafkactl.storage.model import QuorumSeen

    try:
        way_in = controller_client_config(config)
    except InputError as error:
        return changed(observed, quorum=QuorumSeen(reason=error.message))
    tell_exposure(client_exposure(way_in))
    patience_ms = min(PATIENCE_MS, _SHARE_OF_TIME * current_settings().timeout_ms)
    return changed(observed, quorum=see_quorum(config, way_in, patience_ms=patience_ms))
