"""Rolling restarts and upgrades (of a live KRaft cluster): checks, plan, driver and position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.roll.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.roll.api")
