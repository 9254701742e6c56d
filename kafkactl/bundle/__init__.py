"""Support bundles: parts, rules for the members, and the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.bundle.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.bundle.api")
