"""Feature levels of a live cluster: plan, blockers and consequences of a change, and its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.features.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.features.api")
