"""Bytes of a formatted node: plan of a format, verification of a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.storage.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.storage.api")
