"""Four sources of evidence for each broker, and what their disagreement means.

They are the znode in /brokers/ids, the registration in the metadata log, tag 3 in the broker's own ApiVersions answer,
and its place among the observers of the quorum. A registration never expires before the copy, and a broker "started"
is not a broker registered; so none of them is enough alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.metadata.image.model import LOST, MIGRATING, UNASSIGNED
from kafkactl.migration.checks.case import ALWAYS, UNFINISHED, CheckCase, Row, Said, Stage, Unknown
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.observed.settings import flag, is_kraft_file
from kafkactl.migration.observed.silence import refusing
from kafkactl.migration.state.brokers import file_mode
from kafkactl.migration.state.conditions import is_quorum_without_brokers
from kafkactl.migration.zktree.values import KafkaTree

_BEFORE: Final = (
    "Start it in migration mode before the last broker enters. To leave it out, end this attempt with `kafkactl migrate"
    " rollback`, and begin again without it: nothing is copied yet."
)
_AFTER: Final = (
    "Start it with its file of migration mode while the controllers run, and wait until all its replicas are in the"
    " ISR, before any other broker is stopped."
)
_NO_DIRECTORY: Final = {str(uuid) for uuid in (LOST, MIGRATING, UNASSIGNED)}


@frozen
class Witnesses:
    """Evidence about a broker; None for a source that was not observed.

    `migrating` is None if the broker is not registered.
    """

    id: int
    node: NodeSeen | None
    znode: bool | None
    registered: bool | None
    migrating: bool | None
    fenced: bool
    tag: bool | None
    observer: bool | None
    refuses_client: bool = False

    @property
    def evidence(self) -> dict[str, Any]:
        """Return the evidence as findings show it."""
        return {
            "znode": self.znode,
            "registered": self.registered,
            "migrating": self.migrating,
            "tag": self.tag,
            "observer": self.observer,
        }

    @property
    def runs_without_flag(self) -> bool:
        """Return if the running broker, or its file if it was not asked, has no migration mode.

        The file of a broker that did not let kafkactl in does not show how the broker runs.
        """
        if self.tag is not None:
            return not self.tag
        if self.node is None or self.refuses_client:
            return False
        if self.node.mode is not None:
            return self.node.mode is Mode.ZK
        return flag(self.node) is False and not is_kraft_file(self.node)


def witnesses_of(case: CheckCase) -> tuple[Witnesses, ...]:
    """Return the evidence about every broker that any source names, by id."""
    tree, log, quorum = case.tree, case.log, case.quorum
    registrations = {} if log is None else log.registrations
    ids = {broker.id for broker in case.brokers} | set(() if tree is None else tree.brokers) | set(registrations)
    return tuple(_of(case, id) for id in sorted(ids)) if ids or quorum else ()


def _of(case: CheckCase, id: int) -> Witnesses:
    node = next((broker for broker in case.brokers if broker.id == id), None)
    held = None if case.log is None else case.log.registrations.get(id)
    observers = None if case.quorum is None else {observer.id for observer in case.quorum.observers}
    return Witnesses(
        id=id,
        node=node,
        znode=_has_znode(case, id),
        registered=None if case.log is None else held is not None,
        migrating=None if held is None else held.migrating,
        fenced=held is not None and held.fenced,
        tag=None if node is None or node.api_versions is None else node.api_versions.zk_migration_ready,
        observer=None if observers is None else id in observers,
        refuses_client=f"broker {id}" in refusing(case.observation),
    )


def _has_znode(case: CheckCase, id: int) -> bool | None:
    tree = case.tree
    if tree is None or not tree.knows_brokers:
        return None
    return id in tree.brokers or f"/brokers/ids/{id}" in tree.hidden


def _before_copy(case: CheckCase) -> Said:
    """Check M3 to M4L: every broker that entered the migration is still in it."""
    if case.log is None:
        yield Unknown("the metadata log was not observed: the registered brokers are unknown")
        return
    for witnesses in witnesses_of(case):
        yield from _registered_before_copy(witnesses) if witnesses.registered else _unregistered_before_copy(witnesses)
    silent = [
        f"broker {witnesses.id}" for witnesses in witnesses_of(case) if witnesses.tag is None and witnesses.registered
    ]
    if silent:
        yield Unknown(
            f"ApiVersions of {', '.join(silent)} was not observed: whether it still has the flag is not known"
        )


def _registered_before_copy(witnesses: Witnesses) -> Iterator[Finding]:
    if witnesses.runs_without_flag:
        yield _without_flag(
            witnesses, "the copy would start without waiting for it, and it would be fenced at once", _BEFORE
        )
    elif witnesses.znode is False:
        yield blocker(
            "registered-broker-absent",
            f"broker {witnesses.id}",
            f"broker {witnesses.id} is registered for the migration, which never expires, without a znode: the copy "
            "would start without"
            " it",
            _BEFORE,
            **witnesses.evidence,
        )
    elif witnesses.observer is False:
        yield _disagree(witnesses, f"broker {witnesses.id} is registered, and does not follow the metadata log")


def _unregistered_before_copy(witnesses: Witnesses) -> Iterator[Finding]:
    if witnesses.tag:
        yield blocker(
            "entered-broker-not-registered",
            f"broker {witnesses.id}",
            f"broker {witnesses.id} runs in migration mode but is not registered with the quorum",
            **witnesses.evidence,
        )
    elif witnesses.observer:
        yield _disagree(
            witnesses,
            f"broker {witnesses.id} follows the metadata log, and neither is registered nor runs with the flag",
        )


def _without_flag(witnesses: Witnesses, then: str, step: str) -> Finding:
    return blocker(
        "registered-broker-without-flag",
        f"broker {witnesses.id}",
        f"broker {witnesses.id} is registered for the migration and was restarted without the flag since. {then}",
        step,
        **witnesses.evidence,
    )


def _disagree(witnesses: Witnesses, text: str, step: str = "") -> Finding:
    return warning(
        "broker-state-inconsistent",
        f"broker {witnesses.id}",
        text,
        step,
        **witnesses.evidence,
    )


def _after_copy(case: CheckCase) -> Said:
    """Check M6 to M9: each broker is on one side, and registered in KRaft."""
    if case.log is None:
        yield Unknown("the metadata log was not observed: the registered brokers are unknown")
        return
    if is_quorum_without_brokers(case.evidence):
        return  # the state says it, and no broker is to be started before the controllers are stopped
    for witnesses in witnesses_of(case):
        found = _first_contradiction(witnesses, case.tree)
        if found is not None:
            yield found


def _first_contradiction(witnesses: Witnesses, tree: KafkaTree | None) -> Finding | None:
    if not witnesses.registered:
        return _unknown_to_kraft(witnesses)
    mode = None if witnesses.node is None else witnesses.node.mode
    moving = mode is Mode.KRAFT or (witnesses.node is not None and is_kraft_file(witnesses.node))
    if (fallen := _fallen(witnesses, mode, is_moving=moving)) is not None:
        return fallen
    if witnesses.migrating and witnesses.znode is False:
        return blocker(
            "registered-broker-absent",
            f"broker {witnesses.id}",
            f"broker {witnesses.id} is registered as a ZooKeeper broker without a znode there: it is down, or "
            "changes its mode",
            "Start it, and look again when it is registered.",
            **witnesses.evidence,
        )
    if witnesses.fenced:
        return blocker(
            "broker-fenced",
            f"broker {witnesses.id}",
            "the KRaft controller has fenced it: it sends no heartbeats, or has just been started",
            **witnesses.evidence,
        )
    if not witnesses.migrating and witnesses.znode:
        znode = None if tree is None else tree.brokers.get(witnesses.id)
        at = "" if znode is None or not znode.endpoints else f" ({', '.join(znode.endpoints)})"
        return _disagree(
            witnesses,
            f"broker {witnesses.id} is registered as a KRaft broker, and its znode{at} still exists",
            "The znode of its last run vanishes within zookeeper.session.timeout.ms. If the znode stays, a second"
            f" process runs under this id in ZooKeeper mode: stop the one at the addresses of the znode{at}.",
        )
    return (
        _disagree(witnesses, f"broker {witnesses.id} is registered, and does not follow the metadata log")
        if witnesses.observer is False
        else None
    )


def _fallen(witnesses: Witnesses, mode: Mode | None, *, is_moving: bool) -> Finding | None:
    """Return the finding about a broker that runs without the flag while KRaft decides."""
    if witnesses.migrating and witnesses.runs_without_flag and not is_moving:
        return _without_flag(witnesses, "It receives no metadata from the KRaft controller", _AFTER)
    if not witnesses.migrating and mode is Mode.ZK:
        return blocker(
            "kraft-broker-on-zookeeper",
            f"broker {witnesses.id}",
            f"broker {witnesses.id} is registered as a KRaft broker, and runs in ZooKeeper mode without the flag: KRaft"
            " has fenced it or will, and its replicas do not catch up",
            _AFTER,
            **witnesses.evidence,
        )
    return None


def _unknown_to_kraft(witnesses: Witnesses) -> Finding | None:
    if witnesses.znode:
        return blocker(
            "broker-unknown-to-kraft",
            f"broker {witnesses.id}",
            f"broker {witnesses.id} is in ZooKeeper but unknown to KRaft: it receives no metadata, and its clients see"
            " nothing",
            **witnesses.evidence,
        )
    if witnesses.node is not None and witnesses.node.alive is not False:
        return blocker(
            "broker-registered-nowhere",
            f"broker {witnesses.id}",
            f"broker {witnesses.id} is neither in ZooKeeper nor registered with KRaft",
            **witnesses.evidence,
        )
    return None


def _finalized(case: CheckCase) -> Iterator[Finding]:
    """Check M10, M11: nothing guards the end, and a broker on ZooKeeper gets no more updates (measured)."""
    for witnesses in witnesses_of(case):
        node = witnesses.node
        answers = node is not None and (node.mode in (Mode.ZK, Mode.MIGRATING) or bool(witnesses.tag))
        if witnesses.migrating or witnesses.znode or answers:
            yield blocker(
                "finalized-with-zookeeper-broker",
                f"broker {witnesses.id}",
                "the migration is finalized, and it still runs on ZooKeeper: it learns nothing new, and writes with"
                " acks=all to partitions that have it in the ISR time out",
                **witnesses.evidence,
            )


def _burnt(_: CheckCase) -> Iterator[Finding]:
    """Check X-4: ZkMigrationState NONE is written once and never changes."""
    yield blocker(
        "quorum-started-without-flag",
        "quorum",
        "the first controller was started without the flag, so the quorum is recorded as never on ZooKeeper: with"
        " the flag a controller exits at startup",
    )


def _flag_again(case: CheckCase) -> Iterator[Finding]:
    """Check X-4: after POST_MIGRATION the flag has no effect except log messages."""
    left = [
        controller.name
        for controller in case.controllers
        if flag(controller) or (controller.api_versions is not None and controller.api_versions.zk_migration_ready)
    ]
    if left:
        yield warning(
            "flag-after-finalization",
            ", ".join(left),
            "the migration is finalized, and they have the flag: it does nothing but fill the log",
        )


def _directories(case: CheckCase) -> Iterator[Finding]:
    """Check for cloned disks: two brokers with one directory id are not both registered (from 3.7-IV2 on).

    A disk with a directory that another broker registered alone is not a clone: `disk-of-another-node` reports it.
    """
    disks: dict[str, set[str]] = {}
    for node in case.observation.nodes:
        for id in node.directory_ids:
            disks.setdefault(id, set()).add(node.name)
    registered: dict[str, set[str]] = {}
    for broker, held in ({} if case.log is None else case.log.registrations).items():
        for directory in held.directories:
            if str(directory) not in _NO_DIRECTORY:
                registered.setdefault(str(directory), set()).add(f"broker {broker}")
    owners = {id: max(disks.get(id, set()), registered.get(id, set()), key=len) for id in {*disks, *registered}}
    for id, names in sorted(owners.items()):
        if len(names) > 1:
            yield blocker(
                "duplicate-directory-id",
                ", ".join(sorted(names)),
                f"the disks of {' and '.join(sorted(names))} have the same directory id {id}: one was cloned from the"
                " other, and one of the nodes is not registered",
                "Remove directory.id from meta.properties of one of them while it is stopped; it makes a new one.",
                directory_id=id,
            )


def _formatted_again(case: CheckCase) -> Iterator[Finding]:
    """Report meta.properties of version 1: a broker starts with it on KRaft and in migration mode only (measured)."""
    for node in case.brokers:
        if (node.meta_properties or {}).get("version") == "1":
            is_kept_down = node.alive is False and file_mode(node.config) is Mode.ZK
            yield (blocker if is_kept_down else warning)(
                "broker-formatted-for-kraft",
                node.name,
                f"meta.properties of {node.name} has version 1, with which no broker starts in ZooKeeper mode without"
                " the migration flag: the disk was formatted for KRaft",
                f"While {node.name} is stopped, write version=0 and broker.id={node.id} in place of version=1 and"
                f" node.id={node.id} into meta.properties of each of its log directories; its data stays.",
            )


ROWS: Final = (
    Row("X-2.1", "entered-brokers-unknown", "four witnesses, before the copy", frozenset({Stage.QUORUM}), _before_copy),
    Row("X-2.1", "broker-modes-unknown", "four witnesses, after the copy", frozenset({Stage.DUAL}), _after_copy),
    Row("X-4", "finalized-brokers-unknown", "finalized with all brokers", frozenset({Stage.FINAL}), _finalized),
    Row("X-4", "quorum-purpose-unknown", "a quorum for a migration", frozenset({Stage.BURNT}), _burnt),
    Row("X-4", "late-flag-unknown", "no flag after the end", frozenset({Stage.FINAL}), _flag_again),
    Row("X-7.2", "directory-ids-unknown", "directory ids", ALWAYS, _directories),
    Row("X-2", "broker-rollback-unknown", "the rollback of each broker", UNFINISHED, _formatted_again),
)
