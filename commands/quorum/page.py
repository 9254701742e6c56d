"""A quorum on a page: ours, and that of kafka-metadata-quorum.sh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kafkactl.commands.quorum.kafka_text import replication_lines, status_lines
from kafkactl.commands.rendering.page import Cell, Page, Word
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.cluster.quorum.state import QuorumState, Replica
    from kafkactl.quorum.api.observation import AskedNode, QuorumDescription, ReadDisk


def quorum_page(page: Page, answer: QuorumDescription) -> None:
    """Show the quorum."""
    page.heading(*_headline(answer))
    page.fields(_facts(answer.state))
    page.table(("node", "role", "alive", "log end", "lag", "fetched", "caught up"), _replicas(answer.state))
    elsewhere = _elsewhere(answer)
    columns = ("node", "directory id", "endpoints", *(("answers at",) if elsewhere else ()))
    page.table(columns, _places(answer.state, elsewhere))
    if answer.state.leader_id == NO_LEADER:
        page.table(("asked", "node", "answers", "follows", "epoch"), _nodes(answer.nodes))
    page.table(("disk", "node", "log end", "last epoch", "followed", "epoch"), _disks(answer.disks))
    page.findings(answer.findings)


def kafka_page(page: Page, answer: QuorumDescription, *, replication: bool, human_readable: bool) -> None:
    """Show the lines of `describe --status` or `--replication`, then the findings."""
    now_ms = answer.time_ms if human_readable else None
    for line in replication_lines(answer.state, now_ms=now_ms) if replication else status_lines(answer.state):
        page.tabbed(line)
    page.findings(finding for finding in answer.findings if finding.severity != "info")


def _headline(answer: QuorumDescription) -> tuple[str, str]:
    state, ids = answer.state, {finding.id for finding in answer.findings}
    tolerates, leader = state.tolerates, state.leader_id
    if leader == NO_LEADER and not answer.nodes:
        return "State of the quorum, from disks only", "warn"
    if leader == NO_LEADER:
        return (
            "No leader of the quorum was reached" if "leader-not-reached" in ids else "The quorum has no leader",
            "bad",
        )
    if any(finding.severity == "blocker" for finding in answer.findings):
        return f"Controller {leader} leads, but the quorum does not work", "bad"
    if tolerates is None:
        is_open = "majority-not-proven" in ids
        return f"Controller {leader} leads" + ("; no majority is proven to follow" if is_open else ""), (
            "warn" if is_open else "strong"
        )
    words = "no failure" if tolerates == 0 else counted(tolerates, "failure")
    text = f"Controller {leader} leads; the quorum survives {words}"
    return text, "warn" if tolerates < _best(len(state.voters)) else "good"


def _best(voters: int) -> int:
    return (voters - 1) // 2


def _facts(state: QuorumState) -> list[tuple[str, Cell]]:
    level = state.kraft_version
    mode = state.mode and f"{state.mode} (kraft.version {level})"
    voters = state.voters
    alive = sum(voter.alive is True for voter in voters)
    unknown = sum(voter.alive is None for voter in voters)
    count = f"{len(voters)}, majority {state.majority}, alive {alive}" if voters else "not known"
    return [
        ("cluster", state.cluster_id or "unknown"),
        ("mode", mode or "not known"),
        ("epoch", state.leader_epoch),
        ("high watermark", state.high_watermark),
        ("voters", count + (f", not known {unknown}" if unknown else "")),
        ("source", state.sources.get("voters") if voters else None),
    ]


def _replicas(state: QuorumState) -> Iterator[Sequence[Cell]]:
    now_ms = _leaders_clock(state)
    for replica, role in _roles(state):
        yield (
            replica.id,
            role,
            _alive(replica.alive),
            replica.log_end_offset,
            replica.lag,
            _age(replica.last_fetch_timestamp_ms, now_ms),
            _age(replica.last_caught_up_timestamp_ms, now_ms),
        )


def _roles(state: QuorumState) -> Iterator[tuple[Replica, Cell]]:
    """Yield voters, then observers; a leader that is being removed may be among the latter."""
    for group, role in ((state.voters, "voter"), (state.observers, "observer")):
        for replica in group:
            leads = replica.id == state.leader_id
            name = {"voter": "leader", "observer": "leader, leaving"}[role] if leads else role
            yield replica, Word(name, "strong") if leads else name


def _elsewhere(answer: QuorumDescription) -> dict[str, list[str]]:
    """Return the voters that answer at other addresses than the voter set has, and these addresses."""
    found: dict[str, list[str]] = {}
    for finding in answer.findings:
        found |= finding.evidence.get("addresses", {}) if finding.id == "voters-at-other-addresses" else {}
    return found


def _places(state: QuorumState, elsewhere: Mapping[str, Sequence[str]]) -> Iterator[Sequence[Cell]]:
    for replica, _ in _roles(state):
        endpoints = ", ".join(map(str, replica.endpoints))
        if endpoints or replica.directory_id:
            directory = None if replica.directory_id is None else str(replica.directory_id)
            row: tuple[Cell, ...] = (replica.id, directory, endpoints or None)
            at = ", ".join(elsewhere.get(str(replica.id), ()))
            yield (*row, Word(at, "bad") if at else None) if elsewhere else row


def _nodes(nodes: Iterable[AskedNode]) -> Iterator[Sequence[Cell]]:
    for node in nodes:
        follows = {None: None, NO_LEADER: "no node"}.get(node.leader_id, node.leader_id)
        yield node.address, node.id, _alive(node.answers), follows, node.leader_epoch


def _disks(disks: Iterable[ReadDisk]) -> Iterator[Sequence[Cell]]:
    for disk in disks:
        follows = {None: None, NO_LEADER: "no node"}.get(disk.leader_id, disk.leader_id)
        yield (
            disk.path, disk.node_id, disk.log_end_offset, disk.last_epoch, follows, disk.leader_epoch,
        )  # fmt: skip


def _alive(alive: bool | None) -> Word:
    return {True: Word("yes", "good"), False: Word("no", "bad"), None: Word("?", "dim")}[alive]


def _leaders_clock(state: QuorumState) -> int | None:
    """Return the leader's time in the same answer: ages are never measured with another machine's clock."""
    own = [replica for replica in state.replicas if replica.id == state.leader_id]
    times = [replica.last_fetch_timestamp_ms for replica in own or state.replicas]
    return max((time for time in times if time is not None), default=None)


def _age(timestamp_ms: int | None, now_ms: int | None) -> str | None:
    if timestamp_ms is None or now_ms is None:
        return None
    age_ms = max(0, now_ms - timestamp_ms)
    for limit_ms, unit_ms, unit in ((1_000, 1, "ms"), (120_000, 1_000, "s"), (7_200_000, 60_000, "min")):
        if age_ms < limit_ms:
            return f"{age_ms // unit_ms} {unit} ago"
    return f"{age_ms // 3_600_000} h ago"
