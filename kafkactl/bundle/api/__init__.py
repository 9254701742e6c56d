"""A support bundle: everything that helps to judge a cluster from afar, without its secrets, in one archive.

sources = kafkactl.bundle.Sources(configs=("/etc/kafka/server.properties",))
result = kafkactl.bundle.create_bundle("support.zip", sources)
with kafkactl.bundle.open_bundle("support.zip") as bundle:
    bundle.manifest.cluster_id
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "BundleResult",
    "Manifest",
    "OpenBundle",
    "Sources",
    "create_bundle",
    "open_bundle",
]

if TYPE_CHECKING:
    from kafkactl.bundle.api.create import BundleResult, create_bundle
    from kafkactl.bundle.api.sources import Sources
    from kafkactl.bundle.io.reading import OpenBundle, open_bundle
    from kafkactl.bundle.manifest import Manifest
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kafkactl.bundle.io.reading": ("OpenBundle", "open_bundle"),
            "kafkactl.bundle.manifest": ("Manifest",),
            f"{__name__}.create": ("BundleResult", "create_bundle"),
            f"{__name__}.sources": ("Sources",),
        },
    )
