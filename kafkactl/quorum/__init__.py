"""The voter set of a KRaft quorum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.quorum.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.quorum.api")
