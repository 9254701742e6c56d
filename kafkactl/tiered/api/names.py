"""The states of records by the number that the records have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkactl.tiered.states import PartitionDeleteState, SegmentState

SEGMENT_STATES: Final[Mapping[int, str]] = {int(state): state.name for state in SegmentState}
PARTITION_DELETE_STATES: Final[Mapping[int, str]] = {int(state): state.name for state in PartitionDeleteState}
