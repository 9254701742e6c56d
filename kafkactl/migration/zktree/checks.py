"""Checks of one reading of the ZooKeeper tree, for a migration and for its rollback.

C-31, C-34 to C-36, C-38, C-58 and the epoch gate. Each check is a function from the tree to findings; none knows the
phase, so each speaks only if the tree alone decides. Sources: metadata `KRaftMigrationDriver`
(broker checks), `ZkMigrationLeadershipState`, core `PartitionStateMachine` (KAFKA-20488); measured on 3.9.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.wording import some
from kafkactl.migration.zktree.values import KafkaTree, ZkPartition

_BROKERS: Final = "/brokers/ids/"


def check_tree(tree: KafkaTree) -> tuple[Finding, ...]:
    """Return all findings of the tree beyond what cannot be read."""
    return tuple(finding for check in _CHECKS for finding in check(tree))


def highest_controller_epoch(tree: KafkaTree) -> int:
    """Return the highest epoch that any partition state or `/controller` carries, -1 for none.

    `/controller_epoch` has to be at least so high before a ZooKeeper controller is elected again (KAFKA-20488).
    """
    epochs = [partition.state.controller_epoch for _, _, partition in _partitions(tree) if partition.state is not None]
    if tree.controller is not None and tree.controller.kraft_epoch is not None:
        epochs.append(tree.controller.kraft_epoch)
    return max(epochs, default=-1)


def _partitions(tree: KafkaTree) -> Iterator[tuple[str, int, ZkPartition]]:
    for name, topic in tree.topics.items():
        for number, partition in topic.partitions.items():
            yield name, number, partition


def _is_claimed(tree: KafkaTree) -> bool:
    return tree.controller is not None and tree.controller.is_kraft


def _live(tree: KafkaTree) -> set[str]:
    """Return the ids of the brokers that have a znode, as texts; a znode that could not be read counts."""
    hidden = {path.removeprefix(_BROKERS) for path in tree.hidden if path.startswith(_BROKERS)}
    return {str(broker) for broker in tree.brokers} | hidden


def _controller(tree: KafkaTree) -> Iterator[Finding]:
    holder = tree.controller
    if holder is not None and tree.knows_brokers and not holder.is_kraft and str(holder.broker_id) not in _live(tree):
        text = f"broker {holder.broker_id} holds it and is not among the live brokers"
        yield _finding("controller-not-a-live-broker", Severity.BLOCKER, "/controller", text, broker=holder.broker_id)


def _stale_migration(tree: KafkaTree) -> Iterator[Finding]:
    """Yield a finding for an offset ("copied") although no KRaft controller has claimed `/controller` since."""
    migration = tree.migration
    if migration is None or migration.metadata_offset <= 0 or _is_claimed(tree):
        return
    text = (
        f"/migration records a copy up to offset {migration.metadata_offset}, and no KRaft controller holds"
        " /controller: a new quorum would skip the copy and empty ZooKeeper"
    )
    yield _finding(
        "stale-migration-znode", Severity.BLOCKER, "/migration", text, metadata_offset=migration.metadata_offset
    )


def _absent_brokers(tree: KafkaTree) -> Iterator[Finding]:
    """Report absent brokers before the copy only: after it brokers leave ZooKeeper one by one, as intended."""
    copied = _is_claimed(tree) and tree.migration is not None and tree.migration.metadata_offset > 0
    if copied or not tree.knows_brokers:
        return
    live = _live(tree)
    gone = set(tree.pending_deletions)
    missing: dict[int, list[str]] = {}
    for name, number, partition in _partitions(tree):
        for broker in () if name in gone else partition.replicas:
            if str(broker) not in live:
                missing.setdefault(broker, []).append(f"{name}-{number}")
    for broker, partitions in sorted(missing.items()):
        text = (
            f"not in ZooKeeper, and has replicas of {some(partitions)}: a migration waits for this broker indefinitely"
        )
        yield _finding(
            "replica-on-absent-broker", Severity.BLOCKER, f"broker {broker}", text, partitions=len(partitions)
        )


def _newer_states(tree: KafkaTree) -> Iterator[Finding]:
    epoch, highest = tree.controller_epoch, highest_controller_epoch(tree)
    if epoch is None or highest <= epoch:
        return
    text = (
        f"/controller_epoch is {epoch}, partition states have up to {highest}: a ZooKeeper controller could not change"
        " those partitions (KAFKA-20488)"
    )
    # While KRaft holds /controller nothing goes wrong yet: the epoch counts at the moment of a rollback.
    severity = Severity.WARNING if _is_claimed(tree) else Severity.BLOCKER
    yield _finding("controller-epoch-behind-states", severity, "/controller_epoch", text, epoch=epoch, highest=highest)


def _states(tree: KafkaTree) -> Iterator[Finding]:
    odd = []
    for name, number, partition in _partitions(tree):
        state = partition.state
        if state is not None and not (set(state.isr) <= set(partition.replicas) and state.leader in (-1, *state.isr)):
            odd.append(f"{name}-{number}")
    if odd:
        text = f"the leader is not in the ISR, or the ISR not in the replicas, of {some(odd)}"
        yield _finding("partition-state-contradiction", Severity.BLOCKER, "partitions", text, partitions=len(odd))


def _work(tree: KafkaTree) -> Iterator[Finding]:
    moving = [
        f"{name}-{number}"
        for name, number, partition in _partitions(tree)
        if partition.adding_replicas or partition.removing_replicas
    ]
    if moving:
        text = f"{some(moving)} are being reassigned; the copy carries that over, but it is better done before"
        yield _finding("reassignment-before-migration", Severity.WARNING, "partitions", text, partitions=len(moving))
    if tree.reassignments:
        text = f"{len(tree.reassignments)} partitions wait in it, and KRaft takes no notice of them"
        yield _finding("legacy-reassignment-lost", Severity.WARNING, "/admin/reassign_partitions", text)
    if tree.pending_deletions:
        text = f"{some(tree.pending_deletions)} wait for their deletion and are not migrated"
        yield _finding(
            "topic-deletion-before-migration",
            Severity.WARNING,
            "/admin/delete_topics",
            text,
            topics=len(tree.pending_deletions),
        )


_CHECKS: Final[tuple[Callable[[KafkaTree], Iterable[Finding]], ...]] = (
    _controller,
    _stale_migration,
    _absent_brokers,
    _newer_states,
    _states,
    _work,
)


def _finding(id_: str, severity: Severity, subject: str, message: str, **evidence: Any) -> Finding:
    return Finding(
        id=id_,
        severity=severity,
        subject=subject,
        message=message,
        evidence=evidence,
        next_step=f"kafkactl explain {id_}",
    )
