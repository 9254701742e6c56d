"""The status of a live cluster: one verdict of each area, and one of the whole.

with kafkactl.connect(bootstrap_server="broker-1:9092") as client:
    found = kafkactl.status.cluster_status(client)
found.verdict
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "AreaStatus",
    "ClusterStatus",
    "FoundNodes",
    "StatusVerdict",
    "StatusWatch",
    "cluster_status",
]

if TYPE_CHECKING:
    from kafkactl.status.answer import AreaStatus, ClusterStatus, FoundNodes, StatusVerdict
    from kafkactl.status.api.watch import StatusWatch, cluster_status
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.status.answer": (
                "AreaStatus", "ClusterStatus", "FoundNodes", "StatusVerdict",
            ),
            f"{__name__}.watch": ("StatusWatch", "cluster_status"),
        },
    )  # fmt: skip
