"""Records of `__remote_log_metadata`, state that brokers derive from them, and defects (KIP-405). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.tiered.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.tiered.api")
