"""The nodes that a live cluster knows: list, compare and unregister them.

`client` is what `kafkactl.connect` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "NodeList",
    "SettingsVerification",
    "UnregisterResult",
    "list_nodes",
    "plan_unregister",
    "unregister_node",
    "verify_settings",
]

if TYPE_CHECKING:
    from kafkactl.cluster.api.list import NodeList, list_nodes
    from kafkactl.cluster.api.registration import UnregisterResult, plan_unregister, unregister_node
    from kafkactl.cluster.api.settings import SettingsVerification, verify_settings
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.list": ("NodeList", "list_nodes"),
            f"{__name__}.registration": ("UnregisterResult", "plan_unregister", "unregister_node"),
            f"{__name__}.settings": ("SettingsVerification", "verify_settings"),
        },
    )
