"""The point where logs of one cluster part, and its meaning: a tail that was never committed, or two histories.

A tail is uncommitted only as far as nothing proves the opposite (`metadata/log/histories`). Two logs that part at
offset 0, and were both led by an active controller, are two foundings under one cluster id: each of them may be the
last copy of its metadata, and a node that follows the other founding cuts its log to nothing (measured on 3.9.2 and
4.3.1). Where neither is proved, both possibilities are reported.
"""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

from kafkactl.cluster.quorum.voter_sets import VoterIds
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.core.wording import first_few
from kafkactl.metadata.log.histories import (
    SnapshotEnd,
    committed_records,
    longest_reign_ms,
    overtakes,
    shares,
)
from kafkactl.metadata.log.lineage import BatchIndex, Divergence, divergence

# Findings by which the logs are, or may be, of two histories.
CONTRADICTIONS: Final = frozenset({"cluster-founded-twice", "committed-log-diverged", "tail-may-be-committed"})
# A leader without a majority resigns after 1.5 fetch timeouts (3.7 and later), 3 s by default.
_MOST_ALONE_MS: Final = 6_000
# Clocks of two leaders may differ by as much.
_MOST_SKEW_MS: Final = 60_000


class ComparedLog(Protocol):
    """A log that is compared with others."""

    @property
    def path(self) -> str:
        """Return the path as it is shown."""

    @property
    def kept(self) -> BatchIndex:
        """Return the batches of the valid part."""

    @property
    def snapshot_ends(self) -> Sequence[SnapshotEnd]:
        """End offset and epoch of each of its snapshots."""

    @property
    def node_id(self) -> int | None:
        """Return the id of the log's node; None if it is not known."""

    @property
    def directory_id(self) -> Uuid | None:
        """Return the id of the log's directory; None if it is not known."""


_Log = TypeVar("_Log", bound=ComparedLog)


class Verdict(StrEnum):
    """The meaning of a log's difference from the reference.

    uncommitted: a tail of an earlier leader. doubtful: perhaps committed. committed: one of the two lacks committed
    records. one-leader: both have a batch of one epoch at one offset. founded-twice: no record in common.
    """

    UNCOMMITTED = "uncommitted"
    DOUBTFUL = "doubtful"
    COMMITTED = "committed"
    ONE_LEADER = "one-leader"
    FOUNDED_TWICE = "founded-twice"


@frozen
class DivergentLog:
    """A log that is not of the reference's history; `parted` is None if no offset is in both.

    `reason` is the evidence for the verdict, as a sentence.
    """

    path: str
    parted: Divergence | None
    verdict: Verdict
    reason: str

    @property
    def is_harmless(self) -> bool:
        """Return True if the part in which the log differs was never committed."""
        return self.verdict is Verdict.UNCOMMITTED


def committed_offset(snapshots: Iterable[SnapshotEnd]) -> int:
    """Return the offset below which everything is committed, by snapshots alone."""
    return max((offset for offset, _ in snapshots), default=0)


def reference_of(nodes: Sequence[_Log]) -> _Log:
    """Return the log that the others are compared with: by Raft's rule its valid part wins an election."""
    return max(nodes, key=lambda node: (node.kept.last_epoch, node.kept.end_offset))


def divergences(nodes: Sequence[_Log], reference: _Log | None = None) -> list[tuple[_Log, Divergence]]:
    """Return the logs that differ from the reference (default: `reference_of`), and where they begin to differ."""
    against = reference_of(nodes) if reference is None else reference
    found = [(node, divergence(node.kept, against.kept)) for node in nodes if node is not against]
    return [(node, parted) for node, parted in found if parted is not None]


def partings(nodes: Sequence[_Log], reference: _Log) -> list[tuple[_Log, DivergentLog]]:
    """Return the logs that are not of the reference's history, each with the verdict."""
    found = [(node, parting(node, reference, nodes)) for node in nodes if node is not reference]
    return [(node, parted) for node, parted in found if parted is not None]


def parting(log: ComparedLog, against: ComparedLog, nodes: Sequence[ComparedLog]) -> DivergentLog | None:
    """Return the relation of a log to the reference; None if the logs are equal up to the shorter end."""
    parted = divergence(log.kept, against.kept)
    verdict, reason = _verdict(log, against, parted, nodes)
    return None if verdict is None else DivergentLog(path=log.path, parted=parted, verdict=verdict, reason=reason)


def precedes_founding(log: ComparedLog, founded: ComparedLog) -> bool:
    """Return True for the log of a leader that no majority followed before the cluster was founded.

    Its elections from offset 0 on are of an earlier epoch and not later than the first record of the founding. A node
    that was formatted later, and elected by others that were, wrote its elections afterwards.
    """
    parted = parting(log, founded, [log, founded])
    if parted is None or not parted.is_harmless or parted.parted is None or parted.parted.offset != 0:
        return False
    return max(log.kept.times_ms) <= founded.kept.times_ms[0] + _MOST_SKEW_MS


def _verdict(
    log: ComparedLog, against: ComparedLog, parted: Divergence | None, nodes: Sequence[ComparedLog]
) -> tuple[Verdict | None, str]:
    if parted is not None and parted.offset == 0 and _is_led(log) and _is_led(against):
        return Verdict.FOUNDED_TWICE, "Both were led by an active controller, which a majority of voters followed."
    if parted is not None and parted.same_epoch:
        return Verdict.ONE_LEADER, "One leader wrote both, which cannot be."
    proof = _overtaken(log, against) or _overtaken(against, log)
    if proof:
        return Verdict.COMMITTED, proof
    if parted is not None and parted.offset < max(committed_offset(node.snapshot_ends) for node in nodes):
        return Verdict.COMMITTED, "That part is committed: a snapshot covers it."
    doubt = _late(log, against) if parted is None else _doubt(log, parted.offset, nodes)
    if doubt:
        return Verdict.DOUBTFUL, doubt
    return (None, "") if parted is None else (Verdict.UNCOMMITTED, "")


def _is_led(log: ComparedLog) -> bool:
    return next(committed_records(log.kept, log.snapshot_ends), None) is not None


def _overtaken(log: ComparedLog, other: ComparedLog) -> str:
    """Return the proof that a log has a committed record which a later leader, who wrote the other, did not have."""
    for record in committed_records(log.kept, log.snapshot_ends):
        if overtakes(record, other.kept, other.snapshot_ends):
            return (
                f"The record at offset {record.offset} (epoch {record.epoch}) of {log.path} was committed, and"
                f" {other.path} has a later epoch and not that record."
            )
    return ""


def _doubt(log: ComparedLog, offset: int, nodes: Sequence[ComparedLog]) -> str:
    """Return why the part of a log from an offset on may be committed, or nothing."""
    reign_ms = longest_reign_ms(log.kept, offset)
    if reign_ms > _MOST_ALONE_MS:
        return (
            f"One leader wrote it over {reign_ms / 1000:.1f} s, and a leader that no majority follows resigns after"
            " 3 s (Kafka 3.7 and later)."
        )
    same = [node for node in nodes if node is log or shares(node.kept, log.kept, offset)]
    if log.kept.voters and all(node.node_id is not None for node in nodes):
        return _doubt_by_voters(log.kept.voters, same, nodes)
    having, every = len({_node(node) for node in same}), len({_node(node) for node in nodes})
    return f"{having} of the {every} nodes shown have it." if having > 1 and 2 * having > every else ""


def _doubt_by_voters(voters: VoterIds, same: Sequence[ComparedLog], nodes: Sequence[ComparedLog]) -> str:
    """Return how many of the voters have it if they are, or with voters that are not shown may be, a majority.

    The copies of brokers and observers do not count: they fetch records that are not committed, too. That one voter
    alone of several has it is usual, and proves nothing against the other log, which a majority elected without it.
    """
    having, shown = _of_voters(voters, same), _of_voters(voters, nodes)
    hidden = len(voters) - len(shown)
    if 2 * (len(having) + hidden) <= len(voters) or len(having) < min(2, len(voters)):
        return ""
    if 2 * len(having) > len(voters):
        return f"{len(having)} of the {len(voters)} voters {'have' if len(having) > 1 else 'has'} it."
    return f"{len(having)} of the {len(voters)} voters have it, and the logs of {hidden} voters are not shown."


def _of_voters(voters: VoterIds, nodes: Sequence[ComparedLog]) -> set[int]:
    """Return the voters whose log is among these: the log of another directory of the node is not the voter's."""
    return {
        id
        for id, directory_id in voters.items()
        if any(node.node_id == id and _may_be(node.directory_id, directory_id) for node in nodes)
    }


def _may_be(directory_id: Uuid | None, other: Uuid | None) -> bool:
    return directory_id == other or None in (directory_id, other)


def _node(log: ComparedLog) -> object:
    return log.path if log.node_id is None else log.node_id


def _late(log: ComparedLog, other: ComparedLog) -> str:
    """Return why a log that ends before the other begins may be of another history, or nothing."""
    short, far = sorted((log, other), key=lambda each: each.kept.end_offset)
    if not short.kept.times_ms or not far.kept.times_ms or short.kept.end_offset > far.kept.base_offsets[0]:
        return ""
    late_ms = max(short.kept.times_ms) - far.kept.times_ms[0]
    if late_ms <= _MOST_SKEW_MS:
        return ""
    return (
        f"{short.path} ends at offset {short.kept.end_offset}, and was written {late_ms // 1000} s after {far.path} had"
        f" reached offset {far.kept.base_offsets[0]}."
    )


def divergence_findings(nodes: Sequence[ComparedLog], reference: ComparedLog | None = None) -> Iterator[Finding]:
    """Yield the findings of `partings`; the logs of another founding together."""
    against = reference_of(nodes) if reference is None else reference
    found = partings(nodes, against)
    founded = [node for node, parted in found if parted.verdict is Verdict.FOUNDED_TWICE]
    if founded:
        yield founded_twice(founded, [node for node in nodes if node not in founded and _begins_as(node, against)])
    for node, parted in found:
        if parted.verdict is not Verdict.FOUNDED_TWICE:
            yield _finding(node, against, parted)


def _begins_as(node: ComparedLog, other: ComparedLog) -> bool:
    return node is other or divergence(node.kept, other.kept) is None


def founded_twice(logs: Sequence[ComparedLog], others: Sequence[ComparedLog]) -> Finding:
    """Return the blocker about disks of two foundings of one cluster id."""
    sides = [sorted(side, key=lambda log: -log.kept.end_offset) for side in (logs, others)]
    described = " and ".join(_side(side) for side in sides)
    paths = [shlex.quote(side[0].path) for side in sides]
    return blocker(
        "cluster-founded-twice",
        f"log {first_few([log.path for log in sides[0]])}",
        f"The cluster was founded twice under one cluster id: {described} have no record in common, from offset 0 on."
        " Both were led by an active controller, which a majority of voters followed. A node that follows the other"
        " founding cuts its own log to nothing.",
        f"Start none of them. `kafkactl log diff {paths[0]} {paths[1]}` shows what only one founding has; show the"
        " disks of the right one alone to `kafkactl quorum recover`.",
        foundings=[[log.path for log in side] for side in sides],
    )


def _side(logs: Sequence[ComparedLog]) -> str:
    best = logs[0].kept
    when = datetime.datetime.fromtimestamp(max(best.times_ms) / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return (
        f"{first_few([log.path for log in logs])} (to offset {best.end_offset - 1}, epoch {best.last_epoch}, last"
        f" written {when})"
    )


def _finding(node: ComparedLog, against: ComparedLog, parting: DivergentLog) -> Finding:
    parted = parting.parted
    evidence: dict[str, Any] = {
        "offset": None if parted is None else parted.offset,
        "epoch": None if parted is None else parted.epoch,
        "other": against.path,
        "other_epoch": None if parted is None else parted.other_epoch,
        "offsets_behind": node.kept.end_offset - (0 if parted is None else parted.offset),
    }
    text = f"{node.path} and {against.path} have no offset in common."
    if parted is not None:
        text = (
            f"From offset {parted.offset} on (epoch {_epoch(parted.epoch)}) it is not the log of {against.path}"
            f" (epoch {_epoch(parted.other_epoch)})."
        )
    subject, compared = f"log {node.path}", f"`kafkactl log diff {shlex.quote(node.path)} {shlex.quote(against.path)}`"
    if parting.verdict in (Verdict.COMMITTED, Verdict.ONE_LEADER):
        step = (
            f"Start no node with either log, and copy both aside. {compared} shows what only one has; {RECOVER_ALONE}"
        )
        return blocker("committed-log-diverged", subject, f"{text} {parting.reason}", step, **evidence)
    if parting.verdict is Verdict.DOUBTFUL:
        step = (
            f"Do not start the node before {compared} shows that nothing which only this log has is missed. If"
            f" something is missed, stop the other nodes, and copy their logs aside; {RECOVER_ALONE}"
        )
        return blocker("tail-may-be-committed", subject, f"{text} {parting.reason} {_EITHER}", step, **evidence)
    text += " It was not committed there, and the node cuts it when it follows the present leader."
    return warning("uncommitted-tail", subject, text, **evidence)


_EITHER: Final = (
    "Either an earlier leader wrote it alone, and no majority ever had it; or it was committed, and disks of a majority"
    " were wiped, exchanged or restored from older copies since."
)
RECOVER_ALONE: Final = (
    "show the disks of the right history alone to `kafkactl quorum recover`, with --lost for the other voters."
)


def _epoch(epoch: int | None) -> str:
    return "of no batch" if epoch is None else str(epoch)
