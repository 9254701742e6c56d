"""Tiered storage (KIP-405): records of `__remote_log_metadata`, the state that brokers derive, and defects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.tiered.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.tiered.api")
