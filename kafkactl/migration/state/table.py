"""Where a migration really is: the state that all nodes' evidence shows together, never what a journal remembers.

A table of rows, the first that holds decides: what is final or broken comes first, so that of two readings the more
careful one is reported. The headings in the table say why the rows below them are there; `make docs` draws both
(docs/migration-states.md). Sources: metadata `KRaftMigrationDriver`, `ActivationRecordsGenerator`, `ZkMigrationState`;
what each state looks like from outside was measured on 3.8.1 and 3.9.2. Not atomic: an observation is made in some
seconds, so a log without the end of the copy next to a ZooKeeper that knows it does not contradict it.
"""

from __future__ import annotations

from typing import Final

from kafkactl.findings import Finding, blocker
from kafkactl.frozen import frozen
from kafkactl.kafka_names import MIGRATION_ENABLE, ZkMigrationState
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state import conditions
from kafkactl.migration.state.evidence import (
    Evidence,
    evidence_of,
)
from kafkactl.migration.state.names import State
from kafkactl.migration.state.row import Band, Row
from kafkactl.migration.state.unknown import missing_evidence, several_clusters, what_is_left_over

__all__ = ["TABLE", "ObservedState", "State", "observed_state", "state_of_evidence"]


@frozen
class ObservedState:
    """What an observation shows: the state, why it is that one, what is wrong or not known, what is left over."""

    state: State
    why: str
    findings: tuple[Finding, ...] = ()
    leftovers: tuple[Finding, ...] = ()


def observed_state(observation: Observation) -> ObservedState:
    """The state that an observation shows. Never raises for what was observed."""
    return state_of_evidence(evidence_of(observation))


def state_of_evidence(evidence: Evidence) -> ObservedState:
    """The same from evidence that was gathered already."""
    row = next(row for row in TABLE if isinstance(row, Row) and row.holds(evidence))
    findings = [*several_clusters(evidence), *missing_evidence(evidence)]
    if row.state.is_broken:
        findings.insert(0, blocker(row.state.value, "migration", row.why, f"kafkactl explain {row.state}"))
    left = what_is_left_over(evidence) if row.state in (State.M0, State.INCOMPLETE_ROLLBACK) else ()
    return ObservedState(state=row.state, why=row.why, findings=tuple(findings), leftovers=left)


TABLE: Final[tuple[Band | Row, ...]] = (
    Band(
        "Identity",
        "evidence of a node of another cluster proves nothing about this one, so no later row may use it",
    ),
    Row(
        State.UNIDENTIFIED_NODES,
        lambda e: bool(e.identities.strangers),
        "nodes answer that are of another cluster, are other nodes than the inventory says, or do not identify"
        " themselves: nothing is concluded from them, so the state is unknown",
    ),
    Band(
        "Finalized",
        "nothing undoes POST_MIGRATION, whatever else is seen; a broker left in ZooKeeper mode is the only difference"
        " between a broken end and M10 or M11, so that row is the first of the three",
    ),
    Row(
        State.FINALIZED_WITH_ZOOKEEPER_BROKER,
        lambda e: conditions.post(e) and conditions.runs_on_zookeeper(e),
        "the log says POST_MIGRATION and a broker still runs in ZooKeeper mode: it learns nothing of new topics,"
        " and writes with acks=all to partitions that have it in the ISR time out",
    ),
    Row(
        State.M11,
        lambda e: conditions.post(e) and conditions.all_controllers_final(e),
        "the log says POST_MIGRATION, and no controller has the flag",
    ),
    Row(State.M10, conditions.post, "the log says POST_MIGRATION, and not every controller runs without the flag yet"),
    Band(
        "Nothing observed",
        "every later row would read what was not observed as absent, and the last row would say M0",
    ),
    Row(
        State.NOT_ENOUGH_EVIDENCE,
        conditions.nothing_seen,
        "neither ZooKeeper's znodes nor the state of any controller were observed",
    ),
    Band(
        "No log",
        "these rows judge by ZooKeeper alone; the rows that take a quorum without a log for one that waits (M3)"
        " would hold, too",
    ),
    Row(
        State.SPLIT_BRAIN,
        lambda e: conditions.old_offset(e) and conditions.is_written(e),
        "a ZooKeeper broker holds /controller, and KRaft controllers run that still write /migration: changes made"
        " through brokers go to ZooKeeper only",
    ),
    Row(
        State.STALE_MIGRATION,
        conditions.old_offset,
        "KRaft controllers run, a ZooKeeper broker holds /controller, and /migration has the offset of a copy that no"
        " log shows: of an earlier quorum, it makes this one skip the copy and empty ZooKeeper",
    ),
    Band(
        "Never migrating",
        "a log that says NONE cannot migrate any more; only brokers registered in it, and no ZooKeeper, show that"
        " it never had to",
    ),
    Row(
        State.BORN_IN_KRAFT,
        conditions.kraft_only,
        "brokers are registered in a log that says NONE: this cluster was never migrated",
    ),
    Row(
        State.QUORUM_WITHOUT_MIGRATION_FLAG,
        lambda e: e.kraft_state == ZkMigrationState.NONE,
        f"the log says NONE: the controllers were first started without {MIGRATION_ENABLE}=true;"
        " with the flag they now end at once",
    ),
    Band(
        "Contradictions",
        "each of them also fulfils the row of a healthy state: a split brain and a quorum without brokers that of M6, a"
        " stale offset those of M3 to M5, a crashed copy that of M5",
    ),
    Row(
        State.SPLIT_BRAIN,
        conditions.split,
        "a ZooKeeper broker holds /controller while the KRaft quorum says MIGRATION: changes made through brokers go to"
        " ZooKeeper only, and the next KRaft leader undoes them",
    ),
    Row(
        State.QUORUM_WITHOUT_BROKERS,
        conditions.is_quorum_without_brokers,
        "KRaft holds /controller and writes ZooKeeper, and every broker runs in ZooKeeper mode without the migration"
        " flag: an old quorum was started after a rollback, or the brokers were rolled back before it; it deletes what"
        " was made in ZooKeeper since, so stop the controllers first",
    ),
    Row(
        State.STALE_MIGRATION,
        conditions.stale,
        "the quorum says PRE_MIGRATION and has copied nothing, and /migration has the offset of an earlier copy: once"
        " all brokers have entered, the copy is skipped and ZooKeeper is emptied",
    ),
    Row(
        State.STALE_CONTROLLER,
        conditions.of_another_cluster,
        "/controller is held by a KRaft controller of another quorum: this one has no broker registered or is behind"
        " its epoch, so the cluster has no controller",
    ),
    Row(
        State.COPY_CRASHED,
        conditions.crashed,
        "KRaft has taken /controller, /migration says that nothing is copied, and the controllers are gone or have"
        " given up the copy again and again: the cluster has no controller",
    ),
    Band(
        "Copying",
        "/controller of KRaft without a copy is M5 although the log still shows a quorum that waits",
    ),
    Row(State.M5, conditions.claimed_uncopied, "KRaft has taken /controller, and the copy is not done yet"),
    Band(
        "Controllers gone",
        "the log of controllers that are gone is history: it may still say MIGRATION, and would be read as M6",
    ),
    Row(
        State.BROKERS_BEFORE_QUORUM,
        conditions.entered_early,
        "brokers run in migration mode, and no controller was ever formatted or started: the copy begins some seconds"
        " after the start of the controllers, so check everything before it as before the last broker enters",
    ),
    Row(
        State.INCOMPLETE_ROLLBACK,
        conditions.rolling_back,
        "no controller is seen to run and KRaft does not hold /controller, but /migration or brokers with the"
        " migration's configuration are left",
    ),
    Row(
        State.LOST_QUORUM,
        conditions.lost_quorum,
        "KRaft holds /controller, which is never removed automatically, and no majority of controllers runs",
    ),
    Row(
        State.M0,
        lambda e: (
            e.kraft_state in (ZkMigrationState.PRE_MIGRATION, ZkMigrationState.MIGRATION) and conditions.rolled_back(e)
        ),
        "a ZooKeeper controller is active and no sign of a migration is in ZooKeeper or on a broker; the log is"
        " that of controllers that are gone",
    ),
    Band(
        "Copied",
        "what is lost or not mirrored yet comes first; then M8, M7, M6, for each of them also fulfils the rows of"
        " those below it",
    ),
    Row(
        State.LOST_MIGRATION_ZNODE,
        conditions.lost_memory,
        "the log says MIGRATION and /migration does not say that the copy was done: nothing is written to ZooKeeper any"
        " more, and the lag metric shows 0",
    ),
    Row(
        State.M5,
        lambda e: conditions.copied(e) and not e.on_kraft and e.tree is not None and not e.has_dual_written,
        "the copy is committed, and /migration does not follow the log yet",
    ),
    Row(
        State.M8,
        lambda e: conditions.copied(e) and not conditions.some_left(e),
        "the copy is done, and no broker is registered as migrating",
    ),
    Row(
        State.M7,
        lambda e: conditions.copied(e) and conditions.some_on_kraft(e),
        "the copy is done, and some brokers are on KRaft, others not",
    ),
    Row(State.M6, conditions.copied, "the copy is done, and all brokers are in ZooKeeper mode"),
    Band(
        "Waiting for brokers",
        "from the narrowest condition to the widest: all brokers have entered, all but one, some, none",
    ),
    Row(
        State.M5,
        lambda e: conditions.entering(e) and bool(e.entered) and not e.missing,
        "every broker has entered: the copy begins automatically",
    ),
    Row(
        State.M4L,
        lambda e: conditions.entering(e) and bool(e.entered) and len(e.missing) == 1,
        "every broker but one has entered: the copy begins automatically with the last one",
    ),
    Row(
        State.M4,
        lambda e: conditions.entering(e) and bool(e.entered),
        "the quorum waits, and some brokers have entered",
    ),
    Row(State.M3, conditions.waits, "a majority of the controllers is led, and no broker has entered"),
    Band(
        "Without a leader",
        "whatever runs or is formatted has proved nothing else by now; the last row holds always",
    ),
    Row(
        State.M2, conditions.not_led, "controllers run, and no leader of a majority of them was seen to commit anything"
    ),
    Row(State.M2, conditions.formatted, "controllers are formatted and none of them runs"),
    Row(State.M0, lambda _: True, "nothing of a migration is there"),
)
