"""The table of states, and the state of a migration by it: the evidence of all nodes decides, never a journal.

The first row that holds decides: what is final or broken comes first, so that of two readings the more careful one is
reported. A row is in the file of its state; the headings here give the reason for its place, and `make docs` draws both
(docs/migration-states.md). Sources: metadata `KRaftMigrationDriver`, `ActivationRecordsGenerator`, `ZkMigrationState`;
the signs of each state were measured on 3.8.1 and 3.9.2. An observation takes some seconds and is not atomic, so a log
without the end of the copy does not contradict a ZooKeeper that has this end.
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.state.unknown import missing_evidence, several_clusters, what_is_left_over
from kafkactl.migration.steps import broken_states, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11
from kafkactl.migration.steps.definition import Band, Row, StateDefinition

__all__ = ["PROCEDURE", "TABLE", "ObservedState", "State", "definition_of", "observed_state", "state_of_evidence"]


@frozen
class ObservedState:
    """The state that an observation shows, the reason, what is wrong or unknown, and what is left of an earlier try."""

    state: State
    why: str
    findings: tuple[Finding, ...] = ()
    leftovers: tuple[Finding, ...] = ()


def observed_state(observation: Observation) -> ObservedState:
    """Return the state that an observation shows. Never raises for what was observed."""
    return state_of_evidence(evidence_of(observation))


def state_of_evidence(evidence: Evidence) -> ObservedState:
    """Return the state from evidence that was gathered already."""
    row = next(row for row in TABLE if isinstance(row, Row) and row.holds(evidence))
    findings = [*several_clusters(evidence), *missing_evidence(evidence)]
    if row.state.is_broken:
        findings.insert(0, blocker(row.state.value, "migration", row.why, f"kafkactl explain {row.state}"))
    left = what_is_left_over(evidence) if row.state in (State.M0, State.INCOMPLETE_ROLLBACK) else ()
    return ObservedState(state=row.state, why=row.why, findings=tuple(findings), leftovers=left)


def definition_of(state: str | None) -> StateDefinition | None:
    """Return the definition of a state; None if no step of the procedure leads to it."""
    return next((definition for definition in PROCEDURE if definition.state == state), None)


PROCEDURE: Final[tuple[StateDefinition, ...]] = (
    m0.M0,
    m1.M1,
    m2.M2,
    m3.M3,
    m4.M4,
    m4.M4L,
    m5.M5,
    m6.M6,
    m7.M7,
    m8.M8,
    m9.M9,
    m10.M10,
    m11.M11,
)
"""The states of the procedure in their order, which is that of the steps of a forward plan."""

TABLE: Final[tuple[Band | Row, ...]] = (
    Band(
        "Identity",
        "evidence of a node of another cluster proves nothing about this one, so no later row may use it",
    ),
    broken_states.UNIDENTIFIED_NODES,
    Band(
        "Finalized",
        "nothing undoes POST_MIGRATION, whatever else is seen; a broker left in ZooKeeper mode is the only difference"
        " between a broken end and M10 or M11, so that row is the first of the three",
    ),
    broken_states.FINALIZED_WITH_ZOOKEEPER_BROKER,
    m11.FINALIZED,
    m10.FINALIZING,
    Band(
        "Nothing observed",
        "every later row would read what was not observed as absent, and the last row would say M0",
    ),
    broken_states.NOT_ENOUGH_EVIDENCE,
    Band(
        "No log",
        "these rows judge by ZooKeeper alone; the rows that take a quorum without a log for one that waits (M3)"
        " would hold, too",
    ),
    broken_states.SPLIT_BRAIN_WITHOUT_LOG,
    broken_states.STALE_MIGRATION_WITHOUT_LOG,
    Band(
        "Never migrating",
        "a log that says NONE cannot migrate any more; only brokers registered in it, and no ZooKeeper, show that"
        " it never had to",
    ),
    broken_states.BORN_IN_KRAFT,
    broken_states.QUORUM_WITHOUT_MIGRATION_FLAG,
    Band(
        "Contradictions",
        "each of them also fulfils the row of a healthy state: a split brain and a quorum without brokers that of M6, a"
        " stale offset those of M3 to M5, a crashed copy that of M5",
    ),
    broken_states.SPLIT_BRAIN,
    broken_states.QUORUM_WITHOUT_BROKERS,
    broken_states.STALE_MIGRATION,
    broken_states.STALE_CONTROLLER,
    broken_states.COPY_CRASHED,
    Band(
        "Copying",
        "/controller of KRaft without a copy is M5 although the log still shows a quorum that waits",
    ),
    m5.CLAIMED,
    Band(
        "Controllers gone",
        "the log of controllers that are gone is history: it may still say MIGRATION, and would be read as M6",
    ),
    broken_states.BROKERS_BEFORE_QUORUM,
    broken_states.INCOMPLETE_ROLLBACK,
    broken_states.LOST_QUORUM,
    m0.ROLLED_BACK,
    Band(
        "Copied",
        "what is lost or not mirrored yet comes first; then M8, M7, M6, for each of them also fulfils the rows of"
        " those below it",
    ),
    broken_states.LOST_MIGRATION_ZNODE,
    m5.NOT_MIRRORED,
    m8.ALL_ON_KRAFT,
    m7.SOME_ON_KRAFT,
    m6.COPIED,
    Band(
        "Waiting for brokers",
        "from the narrowest condition to the widest: all brokers have entered, all but one, some, none",
    ),
    m5.ALL_ENTERED,
    m4.ALL_BUT_ONE_ENTERED,
    m4.SOME_ENTERED,
    m3.QUORUM_WAITS,
    Band(
        "Without a leader",
        "whatever runs or is formatted has proved nothing else by now; the last row holds always",
    ),
    m2.NOT_LED,
    m2.FORMATTED,
    m0.NOTHING_BEGUN,
)
