"""M6: the copy is done, KRaft decides and mirrors to ZooKeeper, and every broker is in ZooKeeper mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.migration.state.conditions import copied
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Milestone, Row, StateDefinition

ENSEMBLE_FIRST: Final = "Bring the quorum of ZooKeeper back first: then the dual write catches up without a restart."
COPIED: Final = Row(State.M6, copied, "the copy is done, and all brokers are in ZooKeeper mode")


def mirror_follows(e: Evidence) -> Iterator[Finding]:
    """Report a ZooKeeper that does not follow the log. The lag metric does not show this: a stuck driver reports 0."""
    mirror = e.dual_write
    if mirror.follows is None:
        text = "/migration and the end of a log were not both observed"
        yield warning("dual-write-not-seen", "/migration", text, "Observe the log of a controller.")
    elif not mirror.follows:
        text = f"/migration is at offset {mirror.offset}, {mirror.lag} records behind the log"
        step = ENSEMBLE_FIRST if e.observation.is_zookeeper_read_only else ""
        yield warning("dual-write-not-seen", "/migration", text, step, metadata_offset=mirror.offset, lag=mirror.lag)


_BEFORE_FIRST_KRAFT_FILE: Final = Milestone(
    name="kraft", precedes=lambda step: step.phase is State.M7, asks_gate=True, compares=True, lists_strays=True
)

M6: Final = StateDefinition(
    state=State.M6,
    level=Level.COPIED,
    milestone=_BEFORE_FIRST_KRAFT_FILE,
    gate=(mirror_follows,),
    needs_quorum=True,
    is_mirrored=True,
)
