"""Target of `--target 1,2,3`: the requested voters, and the directory of each.

Rule: an id that votes and lives keeps its directory. An id whose voting directory is dead while another directory
of the same node fetches has lost its disk: the new one is meant (KIP-853, disk replacement). Two live directories
under one id are two nodes that claim to be one; no choice is made between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ZERO_UUID, ReplicaKey, Uuid
from kafkactl.quorum.order import VoterKeys

GRAMMAR = "ID or ID@DIRECTORY_ID, several with commas between"


@frozen
class TargetVoter:
    """A node that is to vote, and with which directory if the operator said so."""

    node_id: int
    directory_id: Uuid | None = None


@frozen
class ResolvedTarget:
    """The voter set that is meant. Who could not be found is in `keys` too, as if it came, and in `missing`."""

    keys: VoterKeys
    missing: VoterKeys
    findings: tuple[Finding, ...]


def parse_target(text: str) -> tuple[TargetVoter, ...]:
    """Read `--target`; ascending by id. An empty text is an empty target, which the planner refuses.

    Raises InputError `invalid-target` for a node id that is invalid or occurs twice, `invalid-uuid` for a bad
    directory id.
    """
    found: dict[int, TargetVoter] = {}
    for item in (part.strip() for part in text.split(",") if part.strip()):
        id_text, at, directory = item.partition("@")
        if not (id_text.isascii() and id_text.isdigit()) or int(id_text) >= 2**31 or (at and not directory):
            raise _invalid(f"{item!r} in the target names no node: expected {GRAMMAR}")
        node_id = int(id_text)
        if node_id in found:
            raise _invalid(f"node {node_id} occurs twice in the target")
        found[node_id] = TargetVoter(node_id=node_id, directory_id=Uuid.parse(directory) if at else None)
    return tuple(found[node_id] for node_id in sorted(found))


def resolve(state: QuorumState, wanted: Sequence[TargetVoter]) -> ResolvedTarget:
    """Return the replica keys that a target means in this quorum."""
    keys: set[ReplicaKey] = set()
    missing: set[ReplicaKey] = set()
    findings: list[Finding] = []
    for member in wanted:
        findings += _two_directories(state, member.node_id)
        replica = _meant(state, member)
        if replica is None:
            findings.append(_unknown(state, member))
            missing.add(ReplicaKey(node_id=member.node_id, directory_id=member.directory_id or ZERO_UUID))
        else:
            keys.add(replica.key)
    return ResolvedTarget(keys=frozenset(keys | missing), missing=frozenset(missing), findings=tuple(findings))


def _meant(state: QuorumState, wanted: TargetVoter) -> Replica | None:
    """Return the replica that is meant: the voter, unless it is dead and the node fetches with another directory."""
    voter = state.voter(wanted.node_id)
    fetching = [observer for observer in state.observers if observer.id == wanted.node_id and observer.alive]
    if wanted.directory_id is not None:
        named = [
            replica
            for replica in (voter, *fetching)
            if replica is not None and replica.directory_id == wanted.directory_id
        ]
        return named[0] if named else None
    if voter is not None and (voter.alive is not False or not fetching):
        return voter
    return fetching[0] if fetching else None


def _two_directories(state: QuorumState, node_id: int) -> Iterator[Finding]:
    alive = [replica for replica in state.directories_of(node_id) if replica.alive]
    if len(alive) > 1:
        directories = [str(replica.directory_id) for replica in alive]
        yield Finding(
            id="two-live-directories",
            severity=Severity.BLOCKER,
            subject=f"controller {node_id}",
            message=f"{len(alive)} directories fetch under the id {node_id}: {', '.join(directories)}",
            evidence={"directory_ids": directories},
        )


def _unknown(state: QuorumState, wanted: TargetVoter) -> Finding:
    others = [str(replica.directory_id) for replica in state.directories_of(wanted.node_id)]
    which = "" if wanted.directory_id is None else f" with directory {wanted.directory_id}"
    return Finding(
        id="target-not-fetching",
        severity=Severity.BLOCKER,
        subject=f"controller {wanted.node_id}",
        message=f"node {wanted.node_id}{which} is to vote, but is neither a voter nor an observer that fetches"
        + (f"; known directories: {', '.join(others)}" if others else ""),
        evidence={"directory_ids": others},
    )


def _invalid(message: str) -> InputError:
    return InputError(message, id="invalid-target", next_step="Write --target 1,2,3")
