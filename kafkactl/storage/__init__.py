"""What a formatted node looks like, as bytes: plan a format, verify a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.storage.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.storage.api")
