"""C-31 to C-39: is the cluster well enough to be restarted broker by broker?

Before the copy ZooKeeper's tree decides, from the copy on the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kafkactl.core.findings import Finding, Severity, blocker, note, warning
from kafkactl.core.wording import counted, some
from kafkactl.migration.checks.case import (
    ALWAYS,
    FORWARD,
    ON_ZOOKEEPER,
    RUNNING,
    UNFINISHED,
    CheckCase,
    Row,
    Said,
    Stage,
    Unknown,
)
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.observed.settings import is_kraft_file, is_on
from kafkactl.migration.observed.silence import leader_unknown, silent_brokers
from kafkactl.migration.state.evidence import Quorum, metric
from kafkactl.protocol.text.java_text import parse_int

_BACKLOG: Final = 100
_AFTER_THE_END: Final = (
    "Start a majority of the controllers. The migration is finalized, so ZooKeeper cannot be used again; if a"
    " majority of the controllers' disks is lost, see `kafkactl quorum recover --help`."
)


class _Part(NamedTuple):
    """A partition as either side keeps it."""

    name: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    moving: bool


def _parts(case: CheckCase) -> list[_Part] | None:
    """Return all partitions of the side that decides; None if it was not observed.

    A partition without a state has no row.
    """
    if case.stage in (Stage.DUAL, Stage.FINAL) or case.tree is None:
        if case.image is None or case.stage in ON_ZOOKEEPER:
            return None
        return [
            _Part(
                f"{topic.name}-{number}",
                partition.replicas,
                partition.isr,
                partition.leader,
                bool(partition.adding_replicas or partition.removing_replicas),
            )
            for topic in case.image.topics.values()
            for number, partition in topic.partitions.items()
        ]
    gone = set(case.tree.pending_deletions)
    return [
        _Part(
            f"{name}-{number}",
            partition.replicas,
            partition.state.isr,
            partition.state.leader,
            bool(partition.adding_replicas or partition.removing_replicas),
        )
        for name, topic in case.tree.topics.items()
        if name not in gone
        for number, partition in topic.partitions.items()
        if partition.state is not None
    ]


def _one_controller(case: CheckCase) -> Said:
    """Check C-31: exactly one controller, on the expected side."""
    if case.tree is None:
        yield Unknown("/controller was not observed")
    elif case.lacks("/controller"):
        yield blocker(
            "no-controller",
            "/controller",
            "/controller does not exist: the cluster has no controller, or an election is in progress",
        )
    active = [node.name for node in case.observation.nodes if metric(node, "ActiveControllerCount")]
    if len(active) > 1 and case.stage in (Stage.BEFORE, Stage.DUAL):
        text = f"{len(active)} nodes report that they are the active controller"
        yield blocker("several-controllers", ", ".join(active), text)


def _split_brain(case: CheckCase) -> Iterator[Finding]:
    """Check C-31: a broker takes /controller within 10 ms of its deletion, whichever node leads (measured)."""
    holder = None if case.tree is None else case.tree.controller
    if case.stage is not Stage.DUAL or holder is None or holder.is_kraft or case.controllers_down:
        return
    yield blocker(
        "split-brain",
        "/controller",
        f"broker {holder.broker_id} holds /controller although the copy is done and KRaft controllers run: both"
        " change the cluster, and brokers get different metadata from each",
        holder=holder.broker_id,
    )


def _quorum_leads(case: CheckCase) -> Said:
    """Check C-31 for the quorum: its leader is the node that holds /controller."""
    unknown = leader_unknown(case.observation)
    has_majority = case.evidence.controllers not in (Quorum.MINORITY, Quorum.DOWN)
    if case.quorum is None and has_majority and (unknown or not case.controllers):
        yield Unknown(f"the leader of the quorum was not observed ({unknown or 'no controller'})")
        return
    if case.quorum is None:
        some = "none of those that answer leads" if has_majority else "a majority of the controllers does not answer"
        state = "none of the controllers answers" if case.controllers_down else some
        step = _AFTER_THE_END if case.stage is Stage.FINAL else ""
        yield blocker("quorum-without-leader", "controllers", f"the quorum has no leader: {state}", step)
        return
    holder = None if case.tree is None else case.tree.controller
    if (
        case.stage is Stage.DUAL
        and holder is not None
        and holder.is_kraft
        and holder.broker_id != case.quorum.leader_id
    ):
        yield warning(
            "controller-znode-of-former-leader",
            "/controller",
            f"/controller names {holder.broker_id}, and {case.quorum.leader_id} leads the quorum: a new leader has"
            " not taken it yet, or cannot",
        )


def _controllers_alive(case: CheckCase) -> Iterator[Finding]:
    """Check C-31 for the quorum: the number of controllers that it can lose."""
    down = [controller.name for controller in case.controllers if controller.alive is False]
    if down and len(down) < len(case.controllers):
        yield warning(
            "controller-down",
            ", ".join(down),
            f"{', '.join(down)} does not respond; the quorum tolerates fewer failures",
        )
    voters = len(case.quorum.voters) if case.quorum is not None else len(case.controllers)
    if 0 < voters < 3:
        yield note(
            "few-controllers",
            "quorum",
            f"the quorum has {counted(voters, 'voter')}: the loss of one stops every change to the cluster",
            "Use three controllers for anything but a test.",
            voters=voters,
        )


def _brokers_alive(case: CheckCase) -> Said:
    """Check C-32: every expected broker is alive."""
    down = [broker for broker in case.brokers if broker.alive is False]
    for node in down:
        yield blocker("broker-down", node.name, f"{node.name} does not respond")
    if case.tree is None or not case.tree.knows_brokers:
        yield Unknown("/brokers/ids was not observed")
        return
    present = set(case.tree.brokers) | _hidden_brokers(case.tree.hidden)
    known = {broker.id for broker in case.brokers}
    if case.stage in ON_ZOOKEEPER:
        for node in case.brokers:
            if node.id not in present and node not in down and node.mode is not Mode.KRAFT and not is_kraft_file(node):
                yield blocker(
                    "broker-not-in-zookeeper",
                    node.name,
                    f"{node.name} has no znode below /brokers/ids: it is not part of the cluster",
                )
    for id in sorted(present - known) if known else ():
        yield blocker(
            "broker-not-in-inventory",
            f"broker {id}",
            f"broker {id} is registered in ZooKeeper and missing in the inventory: it would be left out of the "
            "migration",
        )


def _hidden_brokers(paths: Iterable[str]) -> set[int]:
    names = (path.removeprefix("/brokers/ids/") for path in paths if path.startswith("/brokers/ids/"))
    return {id for id in map(parse_int, names) if id is not None}


def _partitions(case: CheckCase) -> Said:
    """Check C-33: each partition has a leader and all replicas in sync."""
    parts = _parts(case)
    if parts is None:
        yield Unknown("the states of the partitions were not observed")
        return
    silent = silent_brokers(case.observation)  # still in the ISR for some seconds
    parts = (
        [partition._replace(isr=tuple(id for id in partition.isr if id not in silent)) for partition in parts]
        if silent
        else parts
    )
    offline = [partition.name for partition in parts if partition.leader < 0]
    short = [
        partition
        for partition in parts
        if partition.leader >= 0 and set(partition.replicas) - set(partition.isr) and not partition.moving
    ]
    if offline:
        yield blocker(
            "offline-partitions",
            f"{len(offline)} partitions",
            f"{len(offline)} partitions have no leader: {some(offline)}",
            count=len(offline),
        )
    if short:
        yield _short_of_replicas(case, short)
    single = [partition.name for partition in parts if len(partition.replicas) == 1]
    if single and case.stage is not Stage.FINAL:
        yield note(
            "partitions-with-one-replica",
            f"{len(single)} partitions",
            f"partitions with one replica are unavailable while its broker restarts: {some(single)}",
            "Tell their users, or give them a second replica first.",
            count=len(single),
        )


def _short_of_replicas(case: CheckCase, short: list[_Part]) -> Finding:
    """Return a finding to wait for a replica that catches up, or to bring back a broker that is away."""
    away = {id for partition in short for id in set(partition.replicas) - set(partition.isr)} - _living(case)
    why = f"; {_why_away(case, away)}" if away else "; their brokers are alive, so they are catching up"
    return Finding(
        id="under-replicated-partitions",
        severity=Severity.BLOCKER if away else Severity.WARNING,
        subject=f"{len(short)} partitions",
        message=f"not all of their replicas are in sync: {some(partition.name for partition in short)}{why}",
        evidence={"count": len(short), "away": sorted(away)},
    )


def _why_away(case: CheckCase, away: set[int]) -> str:
    """Return why replicas do not catch up: their brokers do not answer, or KRaft does not count on them."""
    silent = away & silent_brokers(case.observation)
    apart = sorted(away - silent) if _kraft_decides(case) else []
    gone = sorted(away - set(apart))
    words = [f"broker {some(map(str, gone))} is away"] if gone else []
    if apart:
        words.append(f"KRaft does not count on broker {some(map(str, apart))} (fenced, or not registered)")
    return " and ".join(words)


def _kraft_decides(case: CheckCase) -> bool:
    return case.log is not None and case.stage in (Stage.DUAL, Stage.FINAL)


def _living(case: CheckCase) -> set[int]:
    """Return the brokers that answer, or that were not asked, and that the side that decides counts on."""
    silent = silent_brokers(case.observation)
    if case.log is not None and _kraft_decides(case):
        present = {id for id, registration in case.log.registrations.items() if not registration.fenced}
        fallen = {broker.id for broker in case.evidence.brokers if broker.fell_back}
        return present - silent - fallen
    present = set() if case.tree is None else set(case.tree.brokers) | _hidden_brokers(case.tree.hidden)
    return present - silent


def _moves(case: CheckCase) -> Iterator[Finding]:
    """Check C-34: no partition is being moved, above all before the copy.

    A reassignment in progress is migrated, and may complete only when its brokers run on KRaft: so it is not a blocker
    after the copy, and can be accepted before it.
    """
    parts = _parts(case) or []
    moving = [partition.name for partition in parts if partition.moving]
    severity = Severity.BLOCKER if case.last_gate else Severity.WARNING
    if moving:
        yield Finding(
            id="reassignment-before-migration",
            severity=severity,
            subject=f"{len(moving)} partitions",
            message=f"{len(moving)} partitions are being reassigned: {some(moving)}",
            evidence={"count": len(moving)},
        )
    if case.tree is not None and case.stage in FORWARD and case.tree.reassignments:
        yield Finding(
            id="legacy-reassignment-lost",
            severity=severity,
            subject="/admin/reassign_partitions",
            message=f"{len(case.tree.reassignments)} partitions wait in it, and KRaft takes no notice of them",
            evidence={"count": len(case.tree.reassignments)},
        )


def _deletions(case: CheckCase) -> Iterator[Finding]:
    """Check C-35: topics that wait for their deletion are not copied."""
    tree = case.tree
    if tree is None or not tree.pending_deletions:
        return
    off = [broker.name for broker in case.brokers if is_on(broker, "delete.topic.enable", True) is False]
    more = f"; delete.topic.enable is false on {', '.join(off)}" if off else ""
    yield Finding(
        id="topic-deletion-before-migration",
        severity=Severity.BLOCKER if case.last_gate else Severity.WARNING,
        subject="/admin/delete_topics",
        message=f"{some(tree.pending_deletions)} wait for their deletion and are not migrated{more}",
        evidence={"count": len(tree.pending_deletions)},
    )


def _absent_replicas(case: CheckCase) -> Iterator[Finding]:
    """Check C-36: every id in a replica list is a broker that can register; from the copy on, a registered broker."""
    image, log = case.image, case.log
    if case.stage is Stage.DUAL and image is not None and log is not None:
        missing: dict[int, list[str]] = {}
        for topic in image.topics.values():
            for number, partition in topic.partitions.items():
                for id in partition.replicas:
                    if id not in log.registrations:
                        missing.setdefault(id, []).append(f"{topic.name}-{number}")
        for id, names in sorted(missing.items()):
            yield blocker(
                "replica-on-absent-broker",
                f"broker {id}",
                f"broker {id} is not registered and has replicas of {some(names)}",
                partitions=len(names),
            )


def _elections(case: CheckCase) -> Iterator[Finding]:
    """Check C-39: elections that wait in ZooKeeper."""
    tree = case.tree
    if tree is None:
        return
    if tree.preferred_elections:
        yield warning(
            "preferred-election-pending",
            "/admin/preferred_replica_election",
            f"{len(tree.preferred_elections)} elections wait in it; they are not carried over",
        )
    for path, count in tree.notifications.items():
        if count > _BACKLOG:
            yield note(
                "notification-backlog",
                path,
                f"{count} notifications wait to be read or cleaned up",
                "Look again in a quarter of an hour; brokers clean up config changes after that time.",
                count=count,
            )


ROWS: Final = (
    Row("C-31", "active-controller-unknown", "one controller", UNFINISHED, _one_controller),
    Row("C-31", "split-brain-unknown", "no split brain", UNFINISHED, _split_brain),
    Row("C-31", "quorum-leader-unknown", "a leader of the quorum", RUNNING | {Stage.FINAL}, _quorum_leads),
    Row("C-31", "controller-liveness-unknown", "controllers alive", RUNNING | {Stage.FINAL}, _controllers_alive),
    Row("C-32", "broker-liveness-unknown", "brokers alive", UNFINISHED, _brokers_alive),
    Row("C-33", "partition-replication-unknown", "partitions in sync", ALWAYS, _partitions),
    Row("C-34", "reassignments-unknown", "no reassignment", UNFINISHED, _moves),
    Row("C-35", "topic-deletions-unknown", "no pending deletion", ON_ZOOKEEPER, _deletions),
    Row("C-36", "replica-brokers-unknown", "replicas on brokers that are there", UNFINISHED, _absent_replicas),
    Row("C-39", "pending-znodes-unknown", "nothing waits in ZooKeeper", ON_ZOOKEEPER, _elections),
)
