"""kafkactl: an operator's toolkit for Apache Kafka clusters on KRaft, or on the way to it.

    import kafkactl

    kafkactl.storage.verify_node("/etc/kafka/server.properties")
    kafkactl.log.load_image("/disk1/__cluster_metadata-0")

What is in docs/reference/api.md is the public API; every other module is private to kafkactl. Importing this package
loads nothing: names are found when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl._version import __version__
from kafkactl.core.lazy import lazy_names

__all__ = [
    "Finding",
    "KafkactlError",
    "Outcome",
    "Severity",
    "__version__",
    "bundle",
    "connect",
    "dryrun",
    "features",
    "log",
    "migrate",
    "nodes",
    "quorum",
    "roll",
    "simulate",
    "status",
    "storage",
    "tiered",
]

if TYPE_CHECKING:
    from kafkactl import bundle, dryrun, features, quorum, roll, status, storage, tiered
    from kafkactl.cluster import api as nodes
    from kafkactl.core.errors import KafkactlError
    from kafkactl.core.findings import Finding, Outcome, Severity
    from kafkactl.kafka.api.connection import connect
    from kafkactl.metadata import api as log
    from kafkactl.migration import api as migrate
    from kafkactl.simulator import api as simulate
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.core.errors": ("KafkactlError",),
            f"{__name__}.core.findings": ("Finding", "Outcome", "Severity"),
            f"{__name__}.kafka.api.connection": ("connect",),
        },
        {
            # Packages whose own `__getattr__` has the names of their `api` …
            **{
                name: f"{__name__}.{name}"
                for name in ("bundle", "dryrun", "features", "quorum", "roll", "status", "storage", "tiered")
            },
            # … and the `api` of packages whose command group has another name.
            "log": f"{__name__}.metadata.api",
            "migrate": f"{__name__}.migration.api",
            "nodes": f"{__name__}.cluster.api",
            "simulate": f"{__name__}.simulator.api",
        },
    )
