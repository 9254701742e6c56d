"""Ordered plan from the present voters to the requested voters, of which only the first step is ever applied.

Invariant: a plan is made from what is seen now and knows nothing of earlier plans. Applying it means to take its first
step, to observe the quorum again and to plan again, so to resume after a crash at any instant is the same as beginning.
`findings` has every problem there is; with a blocker among them no step may be taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kafkactl.cluster.quorum.leadership import check_leader
from kafkactl.cluster.quorum.state import FETCH_TIMEOUT_MS, Mode, Progress, QuorumState, key_text, progress
from kafkactl.core.findings import Finding, Severity, blocker, blockers, warning
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.values import Endpoint, ReplicaKey
from kafkactl.protocol.catalog.update_rules import update_rules
from kafkactl.protocol.schema.spec import Versions
from kafkactl.quorum.guard import (
    Circumstances,
    check_cluster,
    check_former_leaders,
    check_quorum,
    release_of_node,
    weigh,
)
from kafkactl.quorum.guard_candidate import check_candidate, check_endpoints
from kafkactl.quorum.guard_steps import check_removals, check_steps, check_target, check_two_voters, last_voter
from kafkactl.quorum.order import Move, Turn, VoterKeys, safest_order
from kafkactl.quorum.step import Action, QuorumChange, Step, numbered, steps_of
from kafkactl.quorum.target import TargetVoter, resolve

# A follower reports its directory id to each new leader after one to three fetch timeouts; two periods of the longest.
SETTLED_EPOCH_MS = 2 * 3 * FETCH_TIMEOUT_MS
_CALM = Circumstances()
# Blockers of a plan that chooses its own steps, warnings for a step that the operator chose.
_CHOSEN = frozenset({"zero-tolerance", "voter-lags", "unstable-leader"})


def plan_reassignment(
    state: QuorumState, wanted: Sequence[TargetVoter], circumstances: Circumstances = _CALM
) -> QuorumChange:
    """Return the way to a voter set of these nodes. Without steps and blockers it is there already.

    A static quorum gets its conversion as the first step, so that the whole way can be seen; it is refused all the
    same, since a conversion is a change of its own (`plan_conversion`).
    """
    if not state.has_leader:
        return _leaderless(state)
    if not wanted:
        empty = blocker("empty-target", "target", "the target names no voter", "Write --target 1,2,3")
        return QuorumChange(steps=(), findings=weigh([*check_quorum(state, circumstances), empty], ()))
    resolved = resolve(state, wanted)
    steps = _steps(state, resolved.keys)
    if not steps and not resolved.findings and _stands(state, circumstances):
        return QuorumChange(
            steps=(), findings=weigh([*state.findings, *check_former_leaders(state), *check_endpoints(state)], ())
        )
    findings = [
        *check_quorum(state, circumstances),
        *resolved.findings,
        *check_target(state, resolved.keys, steps),
        *check_steps(state, steps),
        *check_two_voters(state, steps),
        *check_removals(state, steps, circumstances),
        *_candidates(state, steps, resolved.missing),
        *check_endpoints(state),
    ]
    return QuorumChange(steps=steps, findings=weigh(findings, circumstances.overrides))


def plan_addition(
    state: QuorumState, key: ReplicaKey, endpoints: Sequence[Endpoint], circumstances: Circumstances = _CALM
) -> QuorumChange:
    """Plan the addition of a voter with its endpoints in the voter set. Nothing is to do if it is a voter.

    A single change is the operator's own choice: a problem that a longer plan would avoid (`_CHOSEN`) is only a
    warning.
    """
    if not state.has_leader:
        return _leaderless(state)
    if key in state.voter_keys:
        return QuorumChange(steps=(), findings=weigh(check_endpoints(state), ()))
    steps = _one(state, Move(turn=Turn.ADD, key=key))
    findings = [
        *_rescuable(check_quorum(state, circumstances), steps),
        *_other_directory(state, key),
        *_not_fetching(state, key),
        *check_steps(state, steps),
        *check_two_voters(state, steps),
        *check_candidate(state, key, endpoints),
        *check_endpoints(state),
    ]
    return QuorumChange(steps=steps, findings=weigh(_chosen(findings), circumstances.overrides))


def plan_removal(state: QuorumState, key: ReplicaKey, circumstances: Circumstances = _CALM) -> QuorumChange:
    """Plan the removal of a voter. Nothing is to do if no voter has the id; another directory of a voter is refused.

    A single change is the operator's own choice: a problem that a longer plan would avoid (`_CHOSEN`) is only a
    warning.
    """
    if not state.has_leader:
        return _leaderless(state)
    if key not in state.voter_keys:
        if state.voter(key.node_id) is None:
            return QuorumChange(steps=(), findings=(_no_voter(key),))
        findings = [*check_quorum(state, circumstances), *_wrong_directory(state, key)]
        return QuorumChange(steps=(), findings=weigh(findings, circumstances.overrides))
    steps = _one(state, Move(turn=Turn.REMOVE, key=key))
    findings = [
        *_rescuable(check_quorum(state, circumstances), steps),
        *last_voter(state, steps[-1].voters_after),
        *(check_steps(state, steps) if steps[-1].voters_after else ()),
        *check_two_voters(state, steps),
        *check_removals(state, steps, circumstances),
        *check_endpoints(state),
    ]
    return QuorumChange(steps=steps, findings=weigh(_chosen(findings), circumstances.overrides))


def plan_conversion(state: QuorumState, circumstances: Circumstances = _CALM) -> QuorumChange:
    """Plan the conversion of a static quorum: kraft.version 0 to 1, alone in its request, irreversible
    (KAFKA-16538)."""
    if not state.has_leader:
        return _leaderless(state)
    if state.mode is Mode.DYNAMIC:
        return QuorumChange(steps=(), findings=weigh(state.findings, ()))
    findings = [
        *(finding for finding in check_quorum(state, circumstances) if finding.id != "quorum-is-static"),
        *_conversion_release(state),
        *_conversion_nodes(state),
        *_conversion_voters(state, circumstances),
        warning(
            "conversion-is-permanent",
            "quorum",
            "a dynamic quorum never becomes static again; controller.quorum.voters is ignored from then on",
        ),
    ]
    return QuorumChange(steps=(_upgrade(state),), findings=weigh(findings, circumstances.overrides))


def concurrent_change(state: QuorumState, planned_sets: Sequence[VoterKeys]) -> Finding | None:
    """Return a blocker if another operator or process changed the voters.

    The set is then not between the first set of `planned_sets`, the present state of the run, and the last one, its
    target. Voters that joined or left towards the target are accepted, whatever the cause (auto-join).
    """
    here, target = (planned_sets[0], planned_sets[-1]) if planned_sets else (frozenset(), frozenset())
    if not planned_sets or here & target <= state.voter_keys <= here | target:
        return None
    return blocker(
        "concurrent-voter-change",
        "quorum",
        f"the voters are {', '.join(map(key_text, sorted(state.voter_keys)))}: no set that this change passes through",
        voters=[key_text(key) for key in sorted(state.voter_keys)],
    )


def _leaderless(state: QuorumState) -> QuorumChange:
    """Return the refusal of a quorum without a leader: no request can be made, and only a leader names the voters.

    Whatever else could be checked would be a conclusion from voters that are not known.
    """
    findings = [*state.findings, *check_leader(state), *check_cluster(state)]
    return QuorumChange(steps=(), findings=weigh(findings, ()))


def _stands(state: QuorumState, circumstances: Circumstances) -> bool:
    """Return True if the voter set that is seen is one to rely on: a leader commits, and a majority is alive."""
    earlier = circumstances.earlier
    return state.is_healthy and (earlier is None or progress(earlier, state) is not Progress.STUCK)


def _steps(state: QuorumState, target: VoterKeys) -> tuple[Step, ...]:
    leader = state.leader_key
    # An added voter is taken as alive from then on: the wait before it, and the checks of a candidate, ensure that.
    moves = safest_order(state.voter_keys, target, state.alive_keys | target - state.voter_keys, leader=leader)
    steps = steps_of(state.voter_keys, moves, state.alive_keys | target - state.voter_keys, leader=leader)
    return numbered((_upgrade(state), *steps)) if steps and state.mode is Mode.STATIC else steps


def _one(state: QuorumState, move: Move) -> tuple[Step, ...]:
    alive = state.alive_keys | ({move.key} if move.turn is Turn.ADD else frozenset())
    return steps_of(state.voter_keys, [move], alive, leader=state.leader_key)


def _upgrade(state: QuorumState) -> Step:
    voters = state.voter_keys
    return Step(
        number=1, action=Action.UPGRADE, key=None, voters_before=voters, voters_after=voters, alive=state.alive_keys
    )


def _candidates(state: QuorumState, steps: Sequence[Step], missing: VoterKeys) -> Iterator[Finding]:
    for step in steps:
        if step.action is Action.ADD and step.key is not None and step.key not in missing:
            yield from check_candidate(state, step.key)


def _chosen(findings: Sequence[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield replace(finding, severity=Severity.WARNING) if finding.id in _CHOSEN else finding


def _rescuable(findings: Iterator[Finding], steps: Sequence[Step]) -> Iterator[Finding]:
    """Permit the one request that makes a set with a live majority out of one without, while the leader is there."""
    for finding in findings:
        if finding.id == "majority-lost" and steps[-1].tolerates_after >= 0:
            yield Finding(
                id="leader-without-majority",
                severity=Severity.WARNING,
                subject=finding.subject,
                message=f"{finding.message}. {steps[-1].arithmetic_after} after this request: it rescues the quorum "
                "if it gets there in time, and does nothing if not",
                evidence=finding.evidence,
                next_step="Whether it was in time is seen by looking, not by the answer.",
            )
        else:
            yield finding


def _other_directory(state: QuorumState, key: ReplicaKey) -> Iterator[Finding]:
    voter = state.voter(key.node_id)
    if voter is not None:
        yield blocker(
            "id-votes-with-another-directory",
            f"controller {key.node_id}",
            f"{key_text(voter.key)} votes; an id cannot vote twice (Kafka answers DUPLICATE_VOTER)",
            f"kafkactl quorum remove-controller -i {key.node_id} -d {voter.directory_id} first, if that disk is gone.",
        )


def _not_fetching(state: QuorumState, key: ReplicaKey) -> Iterator[Finding]:
    if state.has_leader and key not in state.alive_keys:
        yield blocker(
            "candidate-not-fetching", f"controller {key.node_id}", f"{key_text(key)} does not fetch from the leader"
        )


def _wrong_directory(state: QuorumState, key: ReplicaKey) -> Iterator[Finding]:
    voter = state.voter(key.node_id)
    if voter is not None:
        yield blocker(
            "voter-has-another-directory",
            f"controller {key.node_id}",
            f"controller {key.node_id} votes with directory {voter.directory_id}, not {key.directory_id}",
            directory_id=str(voter.directory_id),
        )


def _no_voter(key: ReplicaKey) -> Finding:
    return Finding(
        id="removed-already",
        severity=Severity.INFO,
        subject=f"controller {key.node_id}",
        message=f"{key_text(key)} is not a voter",
    )


def _conversion_release(state: QuorumState) -> Iterator[Finding]:
    release = release_of_node(state.nodes.get(state.leader_id))
    if release is not None and update_rules(release).kraft_version != "converts":
        yield blocker(
            "conversion-not-supported",
            f"controller {state.leader_id}",
            f"controller {state.leader_id} leads and runs Kafka {release.name}, which does not convert a quorum: 3.9 "
            "writes the level and stays static, 4.0 answers that it was upgraded and ignores it",
            release=release.name,
        )


def _conversion_nodes(state: QuorumState) -> Iterator[Finding]:
    silent = [node.id for node in state.nodes.values() if node.versions is None]
    if silent:
        yield warning(
            "node-did-not-answer",
            f"nodes {', '.join(map(str, silent))}",
            f"nodes {', '.join(map(str, silent))} did not report whether they support kraft.version 1; older "
            "ones cannot return afterwards",
            nodes=silent,
        )
    for node in state.nodes.values():
        if node.versions is None:
            continue
        supported = node.versions.supported.get(KRAFT_VERSION)
        if supported is None or 1 not in supported:
            yield blocker(
                "node-without-kraft-version-1", f"node {node.id}", f"node {node.id} does not support kraft.version 1"
            )
    yield from _conversion_registered(state)


def _conversion_registered(state: QuorumState) -> Iterator[Finding]:
    """Report nodes that are registered and do not answer: registrations count, those of dead nodes, too."""
    if state.registrations is None:
        return
    known: list[tuple[int, Mapping[str, Versions]]] = [
        *((controller.id, controller.features) for controller in state.registrations.controllers.values()),
        *((broker.id, broker.features) for broker in state.registrations.brokers.values()),
    ]
    for node_id, features in sorted(known, key=lambda pair: pair[0]):
        node, supported = state.nodes.get(node_id), features.get(KRAFT_VERSION)
        if (node is None or node.versions is None) and features and (supported is None or 1 not in supported):
            yield blocker(
                "node-without-kraft-version-1",
                f"node {node_id}",
                f"node {node_id} is registered, does not answer, and did not support kraft.version 1",
                "Upgrade that node, or unregister it if it is gone: kafkactl nodes unregister.",
            )


def _conversion_voters(state: QuorumState, circumstances: Circumstances) -> Iterator[Finding]:
    for voter in state.voters:
        if voter.alive is not True:
            yield blocker(
                "voter-not-alive",
                f"controller {voter.id}",
                f"voter {voter.id} is not known to be alive: it {voter.evidence or 'was not seen to advance'}; the "
                "leader must have heard from every voter",
                "Bring it back: Kafka refuses the conversion while one is missing.",
            )
    age_ms = circumstances.epoch_age_ms
    if state.has_leader and (age_ms is None or age_ms < SETTLED_EPOCH_MS) and not blockers(state.findings):
        yield warning(
            "epoch-is-young",
            f"controller {state.leader_id}",
            "the voters may not all have reported their directory ids to this leader yet; they do so within "
            f"{SETTLED_EPOCH_MS} ms of its election",
            "If Kafka answers that not all of the voters support it, wait and ask again.",
        )
