"""The running quorum against the format of a blank metadata directory of a controller.

For the disk alone a controller that lost its volume is one that never ran. A quorum that runs at the addresses of the
configuration knows better: it has the cluster id and an epoch, and it has registered every controller that was in it
once. Such a controller, formatted as a first voter, comes back with its identity and without what it acknowledged; and
a second founding of one cluster id makes two histories. A voter that the quorum has never met yet is one whose fellows
were started first: that is the first start of a fleet, and no reason to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.quorum.voters import DynamicVoter
from kafkactl.core.findings import Finding, Severity, warning
from kafkactl.core.frozen import frozen
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.lost_disk import LostDisk, check_confirmed
from kafkactl.storage.model import FormatRequest, ObservedNode, QuorumSeen, VoterMode

_CONFIRM = "--replace-lost-metadata-disk --verified-quorum"
_JOIN = (
    "Bring its disk back. If it is gone: format with --no-initial-controllers, start the controller, and let the quorum"
    " replace the old voter: `kafkactl quorum reassign` with the ids of all voters. Or, where a majority without it"
    f" follows the leader, confirm this disk with {_CONFIRM}."
)
_STATIC = (
    "Bring its disk back. If it is gone: make sure that a majority of the other voters follows the leader (`kafkactl"
    f" quorum describe` shows them alive), and confirm it with {_CONFIRM}."
)
_FOUNDING = (
    "A cluster is founded once: format this controller with --no-initial-controllers, and add it with `kafkactl quorum"
    " reassign`. For another cluster use another cluster id and other addresses."
)


@frozen
class BlankController:
    """A controller whose metadata directory is blank and is to be formatted; `voters` are the first ones, if named."""

    config: NodeConfig
    cluster_id: str
    request: FormatRequest
    voters: Sequence[DynamicVoter] | None

    @property
    def founds_alone(self) -> bool:
        """Return True if the format makes a quorum of this controller alone."""
        return self.request.voter_mode is VoterMode.STANDALONE

    @property
    def is_confirmed(self) -> bool:
        """Return True if the operator said that the disk is a new one, and that the quorum does without it."""
        overrides = self.request.overrides
        return overrides.replace_lost_metadata_disk and overrides.verified_quorum


def joins(config: NodeConfig, request: FormatRequest) -> bool:
    """Return True if the node only joins a quorum: with static voters that option changes nothing."""
    return request.voter_mode is VoterMode.NO_INITIAL_CONTROLLERS and not config.static_voters


def needs_answer(config: NodeConfig, observed: ObservedNode, request: FormatRequest) -> bool:
    """Return True if the running quorum is asked before this format: the controller's metadata directory is blank."""
    if "controller" not in config.roles or joins(config, request):
        return False
    return not any(directory.meta_properties is not None for directory in observed.directories)


def check_running_quorum(node: BlankController, seen: QuorumSeen) -> Iterator[Finding]:
    """Yield the objections to the format in the answers of the addresses. Without an answer there is none."""
    state = seen.state
    if joins(node.config, node.request):
        return
    if state is None:
        yield from check_confirmed(_as_lost(node, seen), seen) if node.is_confirmed else _not_asked(node, seen)
        return
    if state.cluster_id not in (None, node.cluster_id):
        yield _other_cluster(node, state.cluster_id or "")
        return
    epoch = _epoch(seen)
    if not epoch or not (state.has_leader or seen.has_loaded):
        return
    reason = _reason(node, seen, epoch)
    if reason is None:
        return
    may_go_on = node.is_confirmed and not node.founds_alone
    yield Finding(
        id="quorum-already-runs",
        severity=Severity.WARNING if may_go_on else Severity.BLOCKER,
        subject=f"controller {node.config.node_id}",
        message=f"a quorum of {_cluster_words(node, state.cluster_id)} runs at the addresses that the configuration"
        f" names (epoch {epoch}, {_leader_words(state.leader_id)}), and {reason}",
        next_step=_step(node),
        evidence={
            "cluster_id": state.cluster_id,
            "leader_id": state.leader_id,
            "leader_epoch": epoch,
            "voters": sorted({voter.id for voter in state.voters}),
            "registered": None if seen.registered is None else sorted(seen.registered),
        },
    )
    if may_go_on:
        yield from check_confirmed(_as_lost(node, seen), seen)


def _not_asked(node: BlankController, seen: QuorumSeen) -> Iterator[Finding]:
    if seen.is_reached:
        yield warning(
            "running-quorum-not-asked",
            f"controller {node.config.node_id}",
            "a process answers at the addresses that the configuration names, and could not be asked for its quorum"
            f" ({seen.reason}): whether this controller was in it before is not known",
            reason=seen.reason,
        )


def _as_lost(node: BlankController, seen: QuorumSeen) -> LostDisk:
    return LostDisk(
        node_id=node.config.node_id,
        cluster_id=node.cluster_id,
        is_controller=True,
        overrides=node.request.overrides,
        quorum=seen,
    )


def _other_cluster(node: BlankController, found: str) -> Finding:
    return warning(
        "controllers-of-another-cluster",
        f"controller {node.config.node_id}",
        f"the addresses that the configuration names are answered by controllers of cluster {found}, and this format is"
        f" for {node.cluster_id}",
        expected=node.cluster_id,
        found=found,
    )


def _epoch(seen: QuorumSeen) -> int:
    """Return the highest epoch that was answered, 0 if none was."""
    assert seen.state is not None
    epochs = [node.leader_epoch for node in seen.state.nodes.values()]
    return max(epoch or 0 for epoch in (seen.state.leader_epoch, *epochs))


def _reason(node: BlankController, seen: QuorumSeen, epoch: int) -> str | None:
    """Return the reason why the format would harm that quorum; None for the first start of an expected voter."""
    state, own = seen.state, node.config.node_id
    assert state is not None
    if node.founds_alone:
        return "--standalone would found the cluster a second time"
    wanted = next((voter for voter in node.voters or () if voter.node_id == own), None)
    entries = [voter for voter in state.voters if voter.id == own]
    if not entries and state.has_leader:
        return f"controller {own} is not one of its voters"
    known = {entry.directory_id for entry in entries}
    if wanted is not None and entries and None not in known and wanted.directory_id not in known:
        return f"it knows voter {own} by another directory id than {wanted.directory_id}"
    has_run = _has_run(own, seen, epoch)
    if has_run is False:
        return None
    if has_run is None:
        return f"whether controller {own} was in it before is not known: it may have acknowledged records"
    return f"controller {own} was in it before: what it acknowledged and voted for is not on this disk"


def _has_run(node_id: int, seen: QuorumSeen, epoch: int) -> bool | None:
    """Return True if the quorum has met this controller, None if the answers do not show it.

    A controller registers when it first follows a leader (metadata.version 3.7 on), and stays registered. A leader
    knows who fetched from it; the first one of a cluster knows everyone who ever did.
    """
    state = seen.state
    assert state is not None
    replicas = [replica for replica in state.replicas if replica.id == node_id]
    if any((replica.log_end_offset or 0) > 0 or (replica.last_fetch_timestamp_ms or 0) > 0 for replica in replicas):
        return True
    if seen.registered:
        return node_id in seen.registered
    return False if state.has_leader and epoch == 1 else None


def _step(node: BlankController) -> str:
    if node.founds_alone:
        return _FOUNDING
    return _STATIC if node.config.static_voters else _JOIN


def _cluster_words(node: BlankController, cluster_id: str | None) -> str:
    if cluster_id is None:
        return "a cluster that does not show its id"
    return f"this cluster ({node.cluster_id})"


def _leader_words(leader_id: int) -> str:
    return f"leader {leader_id}" if leader_id >= 0 else "without a leader now"
