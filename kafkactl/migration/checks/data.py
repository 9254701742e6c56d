"""C-37, C-38, C-50 to C-60: what is in ZooKeeper can be copied, and nothing of an earlier attempt is in the way.

The reading of the tree (zktree/) reports most of these findings; here each gets its check and its stages. What the
driver does with `/migration` and `/controller` in each state was measured on 3.9.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import changed
from kafkactl.core.wording import some
from kafkactl.migration.checks.case import (
    CLAIMED,
    FORWARD,
    ON_ZOOKEEPER,
    UNFINISHED,
    CheckCase,
    Row,
    Said,
    Stage,
    Unknown,
)
from kafkactl.migration.checks.ids import check_of
from kafkactl.migration.observed.observation import QuorumSeen
from kafkactl.migration.zktree.checks import check_tree, highest_controller_epoch
from kafkactl.migration.zktree.settings import DEFAULT_NAME, desanitize
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.values import ZkController

_BLOCK: Final = 1000  # ids in a block of producer ids
_NO_OPS_PER_S: Final = 2
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_")

_TREE: Final = "C-50"
# Of what the tree alone says: these have a check of their own, or hold in some stages only.
_REPORTED_ELSEWHERE: Final = frozenset(
    {
        "reassignment-before-migration",
        "legacy-reassignment-lost",
        "topic-deletion-before-migration",
        "topic-without-id",
    }
)
_FORWARD_ONLY: Final = frozenset({"stale-migration-znode"})


def _tree(case: CheckCase) -> Said:
    """Yield the findings of the tree alone."""
    if case.tree is None:
        yield Unknown("the ZooKeeper tree was not observed: whether all of it can be copied is not known")
        return
    copied = case.tree.migration is not None and case.tree.migration.metadata_offset > 0
    is_holder_unseen = copied and case.tree.controller is None and not case.lacks("/controller")
    for finding in (*case.tree.findings, *check_tree(case.tree)):
        if finding.id in _REPORTED_ELSEWHERE or (finding.id in _FORWARD_ONLY and case.stage not in FORWARD):
            continue
        if finding.id == "stale-migration-znode" and is_holder_unseen:
            yield Unknown("/migration records a completed copy, and who holds /controller was not observed")
            continue
        if finding.id == "replica-on-absent-broker" and is_holder_unseen:
            continue  # after the copy brokers leave ZooKeeper one by one
        if finding.id == "controller-epoch-behind-states" and case.claimed:
            continue  # the forecast reports it, with the quorum's epoch
        if finding.id == "partition-state-contradiction" and case.stage is Stage.DUAL:
            continue  # a topic and its states are not written at one moment, and KRaft decides
        if finding.id == "config-of-absent-broker" and _is_registered(case, finding.subject):
            continue
        yield changed(finding, evidence={"check": check_of(finding.id, _TREE), **finding.evidence})


def _is_registered(case: CheckCase, path: str) -> bool:
    registered = {str(id) for id in case.registered or {}}
    return path.rpartition("/")[2] in registered


def _epochs(case: CheckCase) -> Said:
    """Check C-38, KAFKA-20488: report the /controller_epoch that a rollback would need, while there is time."""
    tree = case.tree
    if tree is None or tree.controller_epoch is None:
        yield Unknown("/controller_epoch was not observed")
        return
    leading = max(
        -1 if case.quorum is None else case.quorum.leader_epoch or -1, -1 if case.log is None else case.log.epoch
    )
    highest = max(highest_controller_epoch(tree), leading)
    # Taking /controller raises it once more.
    available = tree.controller_epoch + (0 if case.claimed else 1)
    if highest > available:
        yield warning(
            "rollback-needs-controller-epoch",
            "/controller_epoch",
            f"/controller_epoch is {tree.controller_epoch}, the quorum's epoch or a partition state {highest}: "
            "after a rollback"
            " a ZooKeeper controller could not change those partitions (KAFKA-20488)",
            f"In a rollback set /controller_epoch to {highest + 1} between stopping the controllers and deleting"
            " /controller; `kafkactl migrate rollback` does.",
            controller_epoch=tree.controller_epoch,
            highest=highest,
        )


def _migration_znode(case: CheckCase) -> Iterator[Finding]:
    """Check C-58: the driver makes /migration 2 s after its start, and needs it until the end."""
    if not case.lacks("/migration"):
        return
    if case.stage is Stage.QUORUM and case.quorum is not None:
        yield blocker(
            "migration-znode-missing",
            "/migration",
            "the quorum is up, and its driver has made no /migration here: it works on another ZooKeeper or chroot, or"
            " cannot write",
        )
    elif case.stage is Stage.DUAL and not case.controllers_down:
        yield blocker(
            "migration-znode-deleted",
            "/migration",
            "/migration was deleted during dual write: no change reaches ZooKeeper any more, no metric shows it, and"
            " after a restart of the controllers the driver stays inactive",
        )


def _stale_in_progress(case: CheckCase) -> Iterator[Finding]:
    """Check C-58: PRE_MIGRATION, /controller taken, an offset, and no copy: ZooKeeper is about to be emptied."""
    migration = None if case.tree is None else case.tree.migration
    if migration is None or migration.metadata_offset <= 0 or case.stage is not Stage.COPY:
        return
    if case.log is not None and case.log.copy_begin is not None:
        return
    mark = next(
        (end for end in (_high_watermark(case), None if case.log is None else case.log.last_offset) if end is not None),
        None,
    )
    seconds = None if mark is None else max(0, migration.metadata_offset - mark) // _NO_OPS_PER_S
    left = "" if seconds is None else f" in about {seconds} s"
    yield blocker(
        "stale-migration-in-progress",
        "/migration",
        f"a KRaft controller has taken /controller and believes the stale offset {migration.metadata_offset}: it skips"
        f" the copy and deletes all topics, configs, ACLs and tokens from ZooKeeper{left}",
        metadata_offset=migration.metadata_offset,
        high_watermark=mark,
        seconds_left=seconds,
    )


def _high_watermark(case: CheckCase) -> int | None:
    return None if case.quorum is None else case.quorum.high_watermark


def _copy(case: CheckCase) -> Said:
    """Check C-59: KRaft holds /controller and copies nothing, because the copy fails or a leftover blocks it."""
    if case.log is None:
        yield Unknown("the metadata log was not observed: the progress of the copy is unknown")
        return
    log = case.log
    if log.copy_begin is not None and not case.controllers_down:
        yield note(
            "copy-in-progress",
            "metadata log",
            f"the copy has begun at offset {log.copy_begin}; {len(log.copy_records)} records so far",
            "Look again until ZkMigrationState is 1.",
        )
    elif log.copy_begin is not None or log.aborted_copies:
        count = len(log.aborted_copies)
        often = "once" if count == 1 else f"{count} times"
        what = f"the copy was aborted {often}" if count else "no controller is left to complete the copy"
        yield blocker(
            "copy-failed",
            "metadata log",
            f"KRaft has taken /controller, and {what}: every controller exits at the same znode, and the cluster has"
            " no active controller until that znode is corrected",
            aborted=len(log.aborted_copies),
        )
    elif case.tree is not None and (case.tree.migration is None or case.tree.migration.metadata_offset <= 0):
        holder, quorum = case.tree.controller, case.quorum
        # No controller claims before a broker has registered.
        if holder is not None and quorum is not None and log.registrations and _is_own(holder, quorum):
            yield blocker(
                "claim-interrupted",
                "/controller",
                f"controller {holder.broker_id}, which leads, has taken it with epoch {holder.kraft_epoch} and copied"
                " nothing yet: if it lost ZooKeeper just then, that epoch can never take it again, and the cluster has"
                " no controller",
                controller=holder.broker_id,
                epoch=holder.kraft_epoch,
            )
            return
        yield blocker(
            "kraft-controller-left-over",
            "/controller",
            "a KRaft controller holds it and no copy has begun: it is a leftover of an earlier attempt, which a new"
            " quorum with lower epochs can never claim, and the cluster has no controller",
        )


def _is_own(holder: ZkController, quorum: QuorumSeen) -> bool:
    """Return True if the present leader took `/controller` in this epoch.

    Core `KafkaZkClient` refuses the same twice.
    """
    return (holder.broker_id, holder.kraft_epoch) == (quorum.leader_id, quorum.leader_epoch)


def _persistent_controller(case: CheckCase) -> Iterator[Finding]:
    """Check that the /controller znode of a ZooKeeper controller belongs to its session (C-59)."""
    holder = None if case.tree is None else case.tree.controller
    if holder is not None and not holder.is_kraft and holder.ephemeral is False:
        yield blocker(
            "persistent-controller-znode",
            "/controller",
            f"/controller names broker {holder.broker_id} and belongs to no session: it remains when that broker stops",
        )


def _names(case: CheckCase) -> Iterator[Finding]:
    """Check C-54: in dual write KRaft writes under the escaped name, next to a znode with another spelling."""
    tree = case.observation.tree
    odd = [] if tree is None else [path for path, name in _entity_names(tree) if _sanitized(name) not in (name, None)]
    if odd:
        yield warning(
            "entity-name-not-escaped",
            f"{len(odd)} znodes",
            f"the names are not escaped as Kafka does it ({some(odd)}): KRaft will write a second znode for each",
            paths=odd[:10],
        )


def _entity_names(tree: Tree) -> Iterator[tuple[str, str]]:
    parents = [
        "/config/users",
        "/config/clients",
        *(f"/config/users/{user}/clients" for user in tree.children("/config/users")),
    ]
    for parent in parents:
        for name in tree.children(parent):
            if name != DEFAULT_NAME:
                yield f"{parent}/{name}", name


def _sanitized(name: str) -> str | None:
    """Return the znode name that `Sanitizer.sanitize` gives the same entity."""
    plain = desanitize(name)
    if plain is None:
        return None
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in plain.encode("utf-8", "replace"))


def _producer_ids(case: CheckCase) -> Iterator[Finding]:
    """Check C-56: no producer id is assigned twice, since KRaft is never behind ZooKeeper's block."""
    block = None if case.tree is None else case.tree.producer_ids
    if block is None:
        return
    following = None if case.image is None else case.image.next_producer_id
    if case.stage is Stage.DUAL and following is not None and following < block.start:
        yield blocker(
            "producer-ids-behind-zookeeper",
            "producer ids",
            f"KRaft gives out {following} next, and ZooKeeper's block is {block.start} to {block.end}: ids would be"
            " given out twice (KAFKA-15552)",
        )
    if block.end - block.start + 1 != _BLOCK:
        yield warning(
            "producer-id-block-odd",
            "/latest_producer_id_block",
            f"the block is {block.start} to {block.end}; Kafka assigns {_BLOCK} at a time",
        )


def _tokens(case: CheckCase) -> Iterator[Finding]:
    """Check C-57: expired tokens are copied, too."""
    tokens = {} if case.tree is None else case.tree.delegation_tokens
    now_ms = case.observation.time_ms
    expired = [id for id, token in tokens.items() if token.expiration_timestamp_ms < now_ms]
    if expired:
        yield note(
            "delegation-tokens-expired",
            f"{len(expired)} of {len(tokens)} tokens",
            f"{len(expired)} of {len(tokens)} tokens have expired and are copied anyway",
            "Nothing needs to be done; a broker removes them.",
        )


ROWS: Final = (
    Row(_TREE, "znode-contents-unknown", "znodes can be read", UNFINISHED, _tree),
    Row("C-38", "rollback-epochs-unknown", "epochs for a rollback", frozenset({Stage.QUORUM}) | CLAIMED, _epochs),
    Row("C-54", "client-names-unknown", "names of clients", ON_ZOOKEEPER, _names),
    Row("C-56", "producer-ids-unknown", "producer ids", UNFINISHED, _producer_ids),
    Row("C-57", "delegation-tokens-unknown", "delegation tokens", ON_ZOOKEEPER, _tokens),
    Row("C-58", "migration-znode-unknown", "/migration is there", UNFINISHED, _migration_znode),
    Row("C-58", "migration-offset-unknown", "/migration is not stale", frozenset({Stage.COPY}), _stale_in_progress),
    Row("C-59", "copy-progress-unknown", "the copy goes on", frozenset({Stage.COPY}), _copy),
    Row("C-59", "controller-znode-unknown", "/controller is ephemeral", UNFINISHED, _persistent_controller),
)
