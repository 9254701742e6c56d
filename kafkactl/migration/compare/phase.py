"""Phase of a migration for a comparison, and the differences that the phase alone explains.

Rule: a phase explains a difference only by what was seen. Before the copy KRaft has nothing yet; after the end of
the migration ZooKeeper is not written any more; after a rollback KRaft is not. In between the two must agree, but for
what is younger than the mirror: there ZooKeeper must show what the log said at the mirror's offset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.compare.case import Difference
from kafkactl.migration.compare.cluster import BROKER, CLUSTER_ID, FEATURE
from kafkactl.migration.compare.configs import OTHER_CONFIGS

MIRROR_LAG, LOG_BEHIND = "younger-than-the-mirror", "younger-than-the-log"
LAG_ALLOWED_MS: Final = 10_000  # a healthy mirror is behind by parts of a second; with more it does not advance
# What the mirror does not write: its offset says nothing about them.
_NOT_MIRRORED: Final = frozenset({BROKER, CLUSTER_ID, FEATURE, OTHER_CONFIGS})


class Phase(StrEnum):
    """Phase of a migration: which side is the authority, and whether the other one follows."""

    UNKNOWN = "unknown"  # the log does not say
    BEFORE_COPY = "before-copy"
    DUAL_WRITE = "dual-write"
    STALE_MIRROR = "mirror-without-copy"  # /migration of an earlier attempt: KRaft's emptiness is mirrored
    FINALIZED = "finalized"
    ROLLED_BACK = "rolled-back"


@frozen
class PhaseFacts:
    """Facts of an observation that decide about the phase.

    `state` is the last ZkMigrationState of the log. `kraft_holds` says whether `/controller` is a KRaft controller's,
    None if there is none or it is not known. `migration_offset` is that of `/migration`. `controllers_gone`: every
    controller was looked for and none answered. `log_end_ms` is the time of the log's last record.
    """

    state: int | None = None
    kraft_holds: bool | None = None
    migration_offset: int | None = None
    controllers_gone: bool = False
    last_offset: int | None = None
    log_end_ms: int | None = None


def phase_of(facts: PhaseFacts) -> Phase:
    """Return the phase that the log and the znodes agree on."""
    if facts.state == ZkMigrationState.POST_MIGRATION:
        return Phase.FINALIZED
    if facts.state == ZkMigrationState.MIGRATION:
        returned = facts.controllers_gone and facts.kraft_holds is False
        return Phase.ROLLED_BACK if returned else Phase.DUAL_WRITE
    if facts.state == ZkMigrationState.PRE_MIGRATION:
        stale = bool(facts.kraft_holds) and (facts.migration_offset or -1) > 0
        return Phase.STALE_MIRROR if stale else Phase.BEFORE_COPY
    # A quorum that was started without the flag copies nothing; one of Kafka 3.4 says nothing before it has.
    waits = facts.state == ZkMigrationState.NONE or (facts.state is None and facts.migration_offset == -1)
    return Phase.BEFORE_COPY if waits and facts.kraft_holds is False else Phase.UNKNOWN


_TEXTS: Final[Mapping[Phase, str]] = {
    Phase.BEFORE_COPY: "ZooKeeper has not been copied yet",
    Phase.FINALIZED: "the migration is finalized: ZooKeeper is neither written nor read any more",
    Phase.ROLLED_BACK: "a ZooKeeper controller is active and no KRaft controller runs: the log is left over",
}
# What a phase does not explain: it is a matter of its own whatever the authority.
_NOT_EXPLAINED: Final[Mapping[Phase, frozenset[str]]] = {
    Phase.BEFORE_COPY: frozenset({CLUSTER_ID, FEATURE, OTHER_CONFIGS}),
    Phase.FINALIZED: frozenset({CLUSTER_ID, FEATURE, BROKER}),
    Phase.ROLLED_BACK: frozenset({CLUSTER_ID}),
}


@frozen
class Evidence:
    """Evidence that explains a difference in dual write.

    `at_mirror` are the differences (entity, key) from the state that the log had at the mirror's offset, None if it
    is not known; `behind_ms` says how much later the log ends. `written_ms` says when a znode was last written.
    """

    at_mirror: frozenset[tuple[str, str]] | None = None
    behind_ms: int = 0
    written_ms: Mapping[str, int] = field(default_factory=dict, repr=False)


def explained(differences: Collection[Difference], facts: PhaseFacts, evidence: Evidence) -> tuple[Difference, ...]:
    """Return the differences with the explanation of the phase."""
    phase = phase_of(facts)
    return tuple(
        difference if difference.explained else _explained(difference, phase, facts, evidence)
        for difference in differences
    )


def _explained(difference: Difference, phase: Phase, facts: PhaseFacts, evidence: Evidence) -> Difference:
    if phase in _NOT_EXPLAINED:
        # Before the copy: a broker that is registered for the migration and not in ZooKeeper.
        is_gone = phase is Phase.BEFORE_COPY and difference.entity == BROKER and difference.zookeeper is None
        spared = difference.entity in _NOT_EXPLAINED[phase] or is_gone
        return difference if spared else changed(difference, rule=phase.value, explained=_TEXTS[phase])
    if phase is not Phase.DUAL_WRITE or difference.entity in _NOT_MIRRORED or facts.controllers_gone:
        return difference  # a mirror without a driver does not advance
    if evidence.at_mirror is None:
        return _newer_than_the_log(difference, facts, evidence.written_ms)
    if (difference.entity, difference.key) in evidence.at_mirror or evidence.behind_ms > LAG_ALLOWED_MS:
        return difference
    text = (
        f"ZooKeeper holds what the log said at offset {facts.migration_offset}, which the mirror has come to;"
        f" the log is {evidence.behind_ms} ms ahead"
    )
    return changed(difference, rule=MIRROR_LAG, explained=text)


def _newer_than_the_log(difference: Difference, facts: PhaseFacts, written_ms: Mapping[str, int]) -> Difference:
    offset, last = facts.migration_offset, facts.last_offset
    written = None if difference.znode is None else written_ms.get(difference.znode)
    if offset is None or last is None or offset <= last or written is None or facts.log_end_ms is None:
        return difference
    if written <= facts.log_end_ms:
        return difference
    text = (
        f"the znode was written {written - facts.log_end_ms} ms behind the last record of this log, which ends at"
        f" offset {last}; the mirror has come to {offset}"
    )
    return changed(difference, rule=LOG_BEHIND, explained=text)
