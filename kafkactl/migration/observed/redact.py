"""`observation.json` without its secrets: passwords in the configurations of nodes."""

from __future__ import annotations

from kafkactl.core.frozen import changed
from kafkactl.migration.observed.raw_observation import RawNode, RawObservation
from kafkactl.protocol.text.redact_config import redact_config


def redact_observation(raw: RawObservation) -> RawObservation:
    """Return the observation without passwords."""
    return changed(raw, nodes=tuple(_node(node) for node in raw.nodes))


def _node(node: RawNode) -> RawNode:
    return node if node.config is None else changed(node, config=redact_config(node.config))
