"""The status of a cluster: one verdict of each area, and one of the whole, from one observation.

`areas` is the table: an area is a function from an `Observation` to an `AreaStatus`. A part that could not be asked is
`NotAsked` in the observation, and the verdict of its area is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_api

if TYPE_CHECKING:
    from kafkactl.status.api import *  # noqa: F403
else:
    __getattr__ = lazy_api(__name__, "kafkactl.status.api")
