"""The lost metadata disk of a formatted node, and whether the quorum can do without it.

A controller that comes back with an empty metadata log has forgotten what it voted for and what it acknowledged. With
it a quorum can elect a leader that lacks committed records, unless a majority of the voters without this one holds
them. The operator has to say that this was seen (`--verified-quorum`). If the other controllers can be asked they
are asked as well: what is seen can only speak against the operator's word, never stand in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafkactl.cluster.quorum.leadership import check_leader, life_words
from kafkactl.cluster.quorum.majority import arithmetic, majority
from kafkactl.cluster.quorum.state import QuorumState, ids_of
from kafkactl.core.findings import Finding, Severity, blocker, blockers, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.model import GuardOverrides, ObservedDirectory, ObservedNode, QuorumSeen

_LOST_CONTROLLER = (
    "Bring the disk back. If it is gone: make sure that a majority of all voters, this one not counted, follows the"
    " leader (`kafkactl quorum describe` shows them alive: it watches whose fetches advance; a lag of 0 alone is also"
    " that of a voter that was just killed), then confirm it with {flags}. In a dynamic quorum, remove the voter with"
    " its old directory id first and add it again afterwards."
)
_LOST_BROKER = "Bring the disk back, or say that it is replaced with {flags}."
_WAIT = "Start the other controllers, wait until `kafkactl quorum describe` shows a majority alive, and run this again."
_LEADER_NOT_REACHED = "leader-not-reached"
# Of two voters both have acknowledged whatever is committed: the other one holds all of it, and cannot lead alone.
_PAIR = 2


@frozen
class LostDisk:
    """The node whose metadata disk is blank while others are formatted, what the operator said and what was seen."""

    node_id: int
    cluster_id: str
    is_controller: bool
    overrides: GuardOverrides
    quorum: QuorumSeen | None = None

    @property
    def is_confirmed(self) -> bool:
        """Return True if the operator said all that has to be said."""
        said = self.overrides.replace_lost_metadata_disk
        return said and (self.overrides.verified_quorum or not self.is_controller)


def needs_quorum(config: NodeConfig, observed: ObservedNode, overrides: GuardOverrides) -> bool:
    """Return True if the format rests on the operator's word about the quorum: the others are watched for a while."""
    if not (overrides.replace_lost_metadata_disk and overrides.verified_quorum) or "controller" not in config.roles:
        return False
    return observed.directory(config.metadata_log_dir).meta_properties is None


def check_lost_disk(
    lost: LostDisk,
    directory: ObservedDirectory,
    formatted: Sequence[ObservedDirectory],
    evidence: Mapping[str, Any],
) -> Iterator[Finding]:
    """Report the blank metadata `directory` of a node whose other directories are `formatted`."""
    flags = "--replace-lost-metadata-disk" + (" --verified-quorum" if lost.is_controller else "")
    others = ", ".join(sibling.path for sibling in formatted)
    yield Finding(
        id="metadata-disk-lost",
        severity=Severity.WARNING if lost.is_confirmed else Severity.BLOCKER,
        subject=f"directory {directory.path}",
        message=f"the metadata directory {directory.path} is blank while other directories of this node are formatted"
        f" ({others}): its disk may be lost or not mounted",
        next_step=(_LOST_CONTROLLER if lost.is_controller else _LOST_BROKER).format(flags=flags),
        evidence={
            **evidence,
            "replace_lost_metadata_disk": lost.overrides.replace_lost_metadata_disk,
            "verified_quorum": lost.overrides.verified_quorum,
        },
    )
    if lost.is_controller and lost.is_confirmed and lost.quorum is not None:
        yield from check_confirmed(lost, lost.quorum)


def check_confirmed(lost: LostDisk, seen: QuorumSeen) -> Iterable[Finding]:
    """Return the objections to the operator's statement that the quorum works without this controller."""
    if len(seen.voter_ids) == _PAIR:
        return [_word_alone(lost, "two voters have no leader while one of them is down")]
    if seen.state is None:
        return _not_asked(lost, seen)
    state = seen.state
    if not state.has_leader:
        unreached = [finding.message for finding in state.findings if finding.id == _LEADER_NOT_REACHED]
        return [_word_alone(lost, unreached[0])] if unreached else check_leader(state)
    return _check_followers(lost, state)


def _not_asked(lost: LostDisk, seen: QuorumSeen) -> Iterator[Finding]:
    """Report that no controller answered, or that no controller runs at the endpoints of too many voters."""
    voters = seen.voter_ids
    without = voters - seen.refused - {lost.node_id}
    if voters and len(without) < majority(len(voters)):
        yield blocker(
            "majority-not-proven",
            "quorum",
            f"without controller {lost.node_id} no majority can follow a leader: {_why_none(lost, seen)}",
            _WAIT,
            voters=sorted(voters),
            refused=sorted(seen.refused),
        )
        return
    yield _word_alone(lost, seen.reason)


def _why_none(lost: LostDisk, seen: QuorumSeen) -> str:
    if not seen.refused:
        return f"controller.quorum.voters names controller {lost.node_id} alone"
    gone = ", ".join(f"controller {node_id}" for node_id in sorted(seen.refused))
    size = len(seen.voter_ids)
    return f"{size} voters, majority {majority(size)}, and the connection is refused at the endpoint of {gone}"


def _word_alone(lost: LostDisk, reason: str) -> Finding:
    return warning(
        "quorum-not-observed",
        "quorum",
        f"the quorum could not be observed from here ({reason}): that a majority of the voters without controller"
        f" {lost.node_id} follows the leader is known by --verified-quorum alone",
        "Make sure of it from a host that reaches the controllers: `kafkactl quorum describe --bootstrap-controller"
        " HOST:PORT`.",
        reason=reason,
    )


def _check_followers(lost: LostDisk, state: QuorumState) -> Iterator[Finding]:
    if state.cluster_id not in (None, lost.cluster_id):
        yield blocker(
            "cluster-id-mismatch",
            "quorum",
            f"the controllers that the configuration names are of cluster {state.cluster_id}, expected"
            f" {lost.cluster_id}",
            "Correct the controllers' addresses in the configuration, or the cluster id.",
            expected=lost.cluster_id,
            found=state.cluster_id,
        )
        return
    unsteady = [blocker for blocker in blockers(state.findings) if blocker.id == "quorum-not-steady"]
    yield from unsteady
    for replica in state.replicas:
        if replica.id != lost.node_id or not replica.alive:
            continue
        yield blocker(
            "controller-runs-elsewhere",
            f"controller {lost.node_id}",
            f"controller {lost.node_id} is alive on another disk (directory {replica.directory_id}): it"
            f" {replica.evidence}",
            directory_id=str(replica.directory_id),
        )
    others = tuple(voter if voter.id != lost.node_id else changed(voter, alive=None) for voter in state.voters)
    alive = [other for other in others if other.alive]
    if unsteady or len(alive) >= majority(len(state.voters)):
        return
    words = arithmetic(ids_of(state.voter_keys), ids_of([replica.key for replica in alive]))
    missing = life_words(other for other in others if other.id != lost.node_id)
    yield blocker(
        "majority-not-proven",
        "quorum",
        f"without controller {lost.node_id} no majority is proven to follow controller {state.leader_id}:"
        f" {words}{f'; {missing}' if missing else ''}",
        _WAIT,
        voters=ids_of(state.voter_keys),
        alive=ids_of([replica.key for replica in alive]),
    )
