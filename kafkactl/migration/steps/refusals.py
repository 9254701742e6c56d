"""Refusals of a rollback that is impossible or not known to be safe, and warnings before a rollback.

Each rule is a function of the evidence and the state. A refusal that an operator may accept is
accepted by its id; those about the point of no return and about disks that ZooKeeper mode cannot read are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, blocker, note, warning
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.wording import some
from kafkactl.migration.compare.comparison import compare_observation, copied_escaped
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder, Quorum, has_flag, is_finalized_by_flag
from kafkactl.migration.state.names import State
from kafkactl.migration.state.unknown import different_clusters, several_clusters
from kafkactl.migration.steps.epoch import epoch_gate
from kafkactl.migration.steps.table import ObservedState

ACCEPTABLE: Final = frozenset(
    {
        "zookeeper-behind-kraft",
        "zookeeper-differs-from-kraft",
        "zookeeper-misses-metadata",
        "zookeeper-emptied",
        "epoch-gate-unknown",
        "tree-and-log-of-different-clusters",
    }
)
_MIRRORED: Final = (State.M6, State.M7, State.M8, State.LOST_QUORUM, State.LOST_MIGRATION_ZNODE)
_NO_WAY: Final = (State.BORN_IN_KRAFT, State.NOT_ENOUGH_EVIDENCE)
_KEPT_BY_BOTH: Final = frozenset(
    {
        "topic",
        "partition",
        "topic-config",
        "broker-config",
        "client-quota",
        "scram-credential",
        "acl",
        "delegation-token",
        "producer-ids",
    }
)


def objections(e: Evidence, observed: ObservedState, accepted: frozenset[str]) -> tuple[Finding, ...]:
    """Return the objections to a rollback, blockers first; accepted ones are warnings."""
    final = [*_mixed_up(e), *_finalized(e), *_no_way(observed)]
    found = final or [_accepted(finding, accepted) for rule in _RULES for finding in rule(e, observed)]
    return tuple(sorted(found, key=lambda finding: list(Severity).index(finding.severity)))


def _accepted(finding: Finding, accepted: frozenset[str]) -> Finding:
    taken = finding.severity is Severity.BLOCKER and finding.id in ACCEPTABLE and finding.id in accepted
    return changed(finding, severity=Severity.WARNING) if taken else finding


def _mixed_up(e: Evidence) -> list[Finding]:
    return [finding for finding in several_clusters(e) if finding.id not in ACCEPTABLE]


def _finalized(e: Evidence) -> Iterator[Finding]:
    if e.kraft_state == ZkMigrationState.POST_MIGRATION or is_finalized_by_flag(e):
        yield blocker(
            "migration-finalized",
            "migration",
            "the migration is finalized: KRaft alone has the metadata, and ZooKeeper's is out of date",
        )


def _no_way(observed: ObservedState) -> Iterator[Finding]:
    if observed.state in _NO_WAY:
        yield from (finding for finding in observed.findings if finding.id == observed.state.value)


def _no_tree(e: Evidence, _: ObservedState) -> Iterator[Finding]:
    if e.tree is None:
        yield blocker(
            "rollback-without-zookeeper",
            "zookeeper",
            "no znodes were observed: who holds /controller and which epochs the partitions carry is not known",
        )


def _unreadable(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    if e.tree is not None and e.holder is Holder.UNKNOWN and observed.state is not State.M0:
        yield blocker(
            "znode-unreadable",
            "/controller",
            "/controller exists and cannot be read: whether it is KRaft's, and prevents the election of a "
            "ZooKeeper broker, is"
            " not known",
        )


def _perhaps_final(e: Evidence, _: ObservedState) -> Iterator[Finding]:
    """Refuse if the point of no return may be passed: then ZooKeeper is out of date, and does not show it."""
    if e.kraft_state is not None or e.holder is not Holder.KRAFT or e.controllers in (Quorum.DOWN, Quorum.MINORITY):
        return
    flagged = any(has_flag(controller) for controller in e.observation.controllers)
    on_zookeeper = [
        broker.in_zookeeper if broker.runs_as is None else broker.runs_as is not Mode.KRAFT for broker in e.brokers
    ]
    if flagged or (on_zookeeper and all(on_zookeeper)):
        return
    yield blocker(
        "finalization-not-excluded",
        "migration",
        "brokers run on KRaft, or are not in ZooKeeper, and neither a log nor a controller was observed that says"
        " whether the migration is finalized; if it is, ZooKeeper is out of date and a rollback loses everything since",
    )


def _strangers(e: Evidence, _: ObservedState) -> Iterator[Finding]:
    yield from different_clusters(e)


def _in_motion(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    """Refuse an observation during whose seconds the copy ended: its znodes were read before its log."""
    if observed.state is State.M5 and e.kraft_state == ZkMigrationState.MIGRATION and e.holder is Holder.ZOOKEEPER:
        yield blocker(
            "copy-ended-during-observation",
            "observation",
            "the copy ended while it was made: its znodes are from before, its log from after",
        )


def _disks(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    """Refuse disks of KRaft: a broker on ZooKeeper reads meta.properties of version 0 only (core `KafkaServer`)."""
    if observed.state is State.M0:
        return
    for broker in e.brokers:
        meta = None if broker.node is None else broker.node.meta_properties
        version = None if meta is None else meta.get("version", "").strip()
        if version not in (None, "", "0"):
            yield blocker(
                "broker-disk-of-kraft",
                broker.name,
                f"the meta.properties of {broker.name} has version {version}: the broker was formatted for KRaft, and"
                " does not start in ZooKeeper mode",
                version=version,
            )
        elif version in (None, "") and broker.on_kraft:
            yield warning(
                "broker-disk-unknown",
                broker.name,
                f"{broker.name} runs on KRaft and its meta.properties was not observed; with version 1 it does not"
                " start in ZooKeeper mode",
            )


def _kraft_brokers_alone(e: Evidence, _: ObservedState) -> Iterator[Finding]:
    on_kraft = [broker for broker in e.brokers if broker.runs_as is Mode.KRAFT]
    if on_kraft and e.holder is Holder.KRAFT and e.controllers in (Quorum.DOWN, Quorum.MINORITY):
        names = ", ".join(broker.name for broker in on_kraft)
        yield blocker(
            "kraft-brokers-without-quorum",
            "controllers",
            f"{names}: on KRaft, and can only enter migration mode again while a majority of controllers runs",
            brokers=[broker.id for broker in on_kraft],
        )


def _behind(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    if e.holder is not Holder.KRAFT or observed.state in (State.STALE_MIGRATION, State.QUORUM_WITHOUT_BROKERS):
        return  # what such a quorum decided is not to be kept
    text = "what KRaft decided since then is not in ZooKeeper, and a rollback loses it"
    step = "Restart the leading controller, which writes all of it again, and compare; or accept the loss by name."
    if observed.state is State.LOST_MIGRATION_ZNODE:
        yield blocker(
            "zookeeper-behind-kraft", "/migration", f"/migration does not show how far ZooKeeper is: {text}", step
        )
    elif e.copy_marker is CopyMarker.COPIED and e.dual_write.follows is False:
        seen = e.dual_write
        yield blocker(
            "zookeeper-behind-kraft",
            "/migration",
            f"/migration is at offset {seen.offset} and the log at {seen.last}: {text}",
            step,
            offset=seen.offset,
            log_offset=seen.last,
            lag=seen.lag,
        )
    elif e.copy_marker is CopyMarker.COPIED and e.dual_write.follows is None:
        yield warning(
            "zookeeper-lag-unknown",
            "/migration",
            "no log was observed, so whether ZooKeeper has all that KRaft decided is not known",
        )


def _emptied(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    if observed.state is not State.STALE_MIGRATION or e.tree is None or e.holder is not Holder.KRAFT:
        return
    offset, last = e.dual_write.offset, e.dual_write.last
    is_in_time = offset is not None and last is not None and last < offset
    if not e.tree.topics and not is_in_time:
        yield blocker(
            "zookeeper-emptied",
            "zookeeper",
            "a new quorum holds /controller with the /migration of an earlier one, and no topic is left in ZooKeeper",
        )
    elif is_in_time and offset is not None and last is not None:
        left = offset - last
        yield warning(
            "zookeeper-about-to-be-emptied",
            "zookeeper",
            f"the new log is {left} records short of the old offset: about {left // 2} s are left, and no-ops use them"
            " up",
            seconds_left=left // 2,
        )
    else:
        yield warning(
            "zookeeper-about-to-be-emptied",
            "zookeeper",
            "nothing holds the new quorum back from making ZooKeeper as empty as it is itself",
            seconds_left=0,
        )


def _epoch(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    gate = epoch_gate(e)
    if e.tree is None or observed.state in (State.M0, State.M2):
        return
    if not gate.is_known:
        yield blocker(
            "epoch-gate-unknown",
            "/controller_epoch",
            "/controller_epoch or the state of a partition was not observed: whether a ZooKeeper controller "
            "could change all"
            " partitions is unknown (KAFKA-20488)",
        )
    elif gate.needed:
        yield note(
            "epoch-gate-closed",
            "/controller_epoch",
            f"/controller_epoch is {gate.epoch}, partitions have or may get {gate.highest}: it is raised (KAFKA-20488)",
            epoch=gate.epoch,
            highest=gate.highest,
        )


def _unseen_controllers(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    if e.controllers is Quorum.UNKNOWN and observed.state is not State.M0:
        yield warning(
            "controllers-not-observed",
            "controllers",
            "whether a controller runs was not observed; with one alive, deleting /controller makes two controllers",
        )


def _partitions(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    if e.tree is None or observed.state is State.M0:
        return
    behind = [
        f"{name}-{number}"
        for name, topic in e.tree.topics.items()
        for number, partition in topic.partitions.items()
        if partition.state is not None
        and (len(partition.state.isr) < len(partition.replicas) or partition.state.leader < 0)
    ]
    if behind:
        fallen = [broker.name for broker in e.brokers if broker.fell_back]
        yield warning(
            "under-replicated-before-rollback",
            "partitions",
            f"{some(behind)}: not all replicas are in the ISR, so a restart may take them offline",
            f"Carry out the steps of {some(fallen)} first, and wait until all its replicas are in the ISR."
            if fallen
            else "",
            partitions=len(behind),
        )


def _differences(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    """Report metadata that ZooKeeper lacks: a rollback loses it (measured: a topic re-created during an outage)."""
    if e.holder is not Holder.KRAFT or observed.state not in _MIRRORED or e.tree is None or e.log is None:
        return
    seen = [
        difference
        for difference in compare_observation(e.observation).unexplained
        if difference.entity in _KEPT_BY_BOTH
    ]
    misspelt = {
        (difference.entity, difference.key) for difference in copied_escaped(seen)
    }  # by their right names they are in ZooKeeper
    missing = [
        difference
        for difference in seen
        if difference.zookeeper is None and (difference.entity, difference.key) not in misspelt
    ]
    if missing:
        names = some(f"{difference.entity} {difference.key}" for difference in missing)
        yield blocker(
            "zookeeper-misses-metadata",
            "zookeeper",
            f"{names}: KRaft has them and ZooKeeper has not, so a rollback loses them",
            count=len(missing),
        )
    if len(seen) > len(missing):
        other = [
            difference
            for difference in seen
            if difference.zookeeper is not None or (difference.entity, difference.key) in misspelt
        ]
        names = some(f"{difference.entity} {difference.key}" for difference in other)
        # With an old ISR a replica that lacks acked messages may lead. After the controllers are gone nothing mends it.
        may_be_mended = observed.state in (State.M6, State.M7, State.M8)
        tell = blocker if may_be_mended and any(difference.entity == "partition" for difference in other) else warning
        yield tell(
            "zookeeper-differs-from-kraft",
            "zookeeper",
            f"{names}: ZooKeeper and KRaft do not say the same; a rollback keeps what ZooKeeper says",
            "See `kafkactl migrate compare`. Restart the leading controller, which writes all of it again.",
            count=len(other),
        )


def _early_kraft(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    """Warn of a KRaft file before the copy: its broker takes every partition for a stray one (measured on 3.9.2)."""
    if (
        observed.state not in (State.M3, State.M4, State.M4L, State.M5, State.QUORUM_WITHOUT_MIGRATION_FLAG)
        or e.kraft_state == ZkMigrationState.MIGRATION
    ):
        return
    for broker in e.brokers:
        if broker.runs_as is Mode.KRAFT:
            yield warning(
                "kraft-file-before-copy",
                broker.name,
                f"{broker.name} has its KRaft file before the copy is done: at startup it renames its partitions "
                "to *-stray",
            )


def _lost_decisions(e: Evidence, observed: ObservedState) -> Iterator[Finding]:
    if observed.state is State.SPLIT_BRAIN and e.kraft_state == ZkMigrationState.MIGRATION:
        yield warning(
            "split-brain-loses-changes",
            "migration",
            "two controllers have decided since /controller was deleted; the rollback keeps what is in ZooKeeper",
        )


_RULES: Final[tuple[Callable[[Evidence, ObservedState], Iterable[Finding]], ...]] = (
    _no_tree,
    _unreadable,
    _perhaps_final,
    _strangers,
    _in_motion,
    _disks,
    _kraft_brokers_alone,
    _behind,
    _emptied,
    _epoch,
    _unseen_controllers,
    _partitions,
    _differences,
    _early_kraft,
    _lost_decisions,
)
