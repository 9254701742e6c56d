"""Blockers of a target or a step: loss of the majority, a narrow majority, sizes, and effects of a removal.

Invariant: no step may lead to a set of which no majority is alive. Kafka accepts it, the leader appends it, it is in
force at once, never commits, and the leader resigns; no request can undo it (KIP-853 has no guard; measured on
3.9.2 to 4.4.0). This one is refused always, with the sum shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kafkactl.cluster.quorum.leadership import life_words
from kafkactl.cluster.quorum.majority import arithmetic, shown
from kafkactl.cluster.quorum.state import QuorumState, ids_of
from kafkactl.cluster.registration_renewal import CONTROLLERS_UNREGISTER_FROM
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.protocol.catalog.consequences import level_name
from kafkactl.protocol.catalog.releases import Release
from kafkactl.quorum.guard import Circumstances, release_of_node
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.step import Action, Step

MOST_VOTERS = 7


def check_target(state: QuorumState, target: VoterKeys, steps: Sequence[Step]) -> Iterator[Finding]:
    """Report problems of a voter set as a goal: its size, and members that are not alive.

    A small target is reported also if only an intermediate set is larger: a new plan is made at that set.
    """
    size, most = len(target), max([len(state.voters), *(len(step.voters_after) for step in steps)])
    if size and size % 2 == 0:
        yield blocker(
            "even-voter-count",
            "target",
            f"{size} voters survive no more failures than {size - 1}",
            "Name an odd number of voters.",
            voters=ids_of(target),
        )
    if size > MOST_VOTERS:
        yield blocker(
            "too-many-voters",
            "target",
            f"{size} voters: every commit waits for {size // 2 + 1} of them",
            voters=ids_of(target),
        )
    if 0 < size <= 2 and most > size:
        yield blocker(
            "too-few-voters",
            "target",
            f"{size} of {most} voters would be left, and the first failure would stop the quorum",
            "Keep 3 voters.",
            voters=ids_of(target),
        )
    for key in sorted(target & state.voter_keys - state.alive_keys):
        yield warning(
            "target-voter-not-alive",
            f"controller {key.node_id}",
            f"voter {key.node_id} is to stay and is not known to be alive: "
            f"{life_words(voter for voter in state.voters if voter.key == key)}",
        )


def check_steps(state: QuorumState, steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield the wedge, and steps that leave no failure to spare where there was one, now or earlier on the way."""
    most = state.tolerates or 0
    for step in steps:
        if step.action not in (Action.ADD, Action.REMOVE):
            continue
        if step.tolerates_after < 0:
            yield _wedge(state, step)
            return  # what follows a wedge is not reached
        if step.tolerates_after == 0 and most >= 1:
            yield blocker(
                "zero-tolerance",
                f"step {step.number}",
                f"after step {step.number} ({words_of(step)}) the quorum survives no failure, before that {most}: "
                f"{step.arithmetic_after}",
                "Add a voter first.",
                voters_after=ids_of(step.voters_after),
            )
        most = max(most, step.tolerates_after)


def check_two_voters(state: QuorumState, steps: Sequence[Step]) -> Iterator[Finding]:
    """Yield the way through two voters: each failure there stops the quorum, whatever its leader may do in 3 s."""
    for step in steps:
        changes = step.voters_after != step.voters_before
        if changes and len(step.voters_after) == 2 and len(state.voters) != 2 and step.tolerates_after >= 0:
            yield warning(
                "passes-two-voters",
                f"step {step.number}",
                f"after step {step.number} ({words_of(step)}) there are two voters, "
                f"{shown(ids_of(step.voters_after))}: the loss of either stops the quorum; a leader that loses the "
                "other resigns within 3 s",
                voters_after=ids_of(step.voters_after),
            )


def check_removals(state: QuorumState, steps: Sequence[Step], circumstances: Circumstances) -> Iterator[Finding]:
    """Report effects of a removed voter: it can join again automatically, or block an upgrade by its registration."""
    added = {step.id for step in steps if step.action is Action.ADD}
    removed = [step.key for step in steps if step.action is Action.REMOVE and step.key and step.id not in added]
    running = sorted(key.node_id for key in removed if key in state.alive_keys)
    yield from _auto_join(state, running, circumstances.auto_join)
    for key in removed:
        yield from _registration(state, key.node_id)


def words_of(step: Step) -> str:
    """Return a step in words: `remove 3`, `add 4`."""
    return step.action.value if step.id is None else f"{step.action.value} {step.id}"


def _wedge(state: QuorumState, step: Step) -> Finding:
    dead = sorted(step.voters_after - step.alive)
    why = life_words(voter for voter in state.voters if voter.key in dead)
    return blocker(
        "quorum-would-wedge",
        f"step {step.number}",
        f"{words_of(step)} would stop the quorum permanently: after it {step.arithmetic_after}"
        f"{', since ' + why if why else ''}. Kafka would accept it, "
        "never commit it, and lose its leader within 3 s",
        f"Bring back {shown(key.node_id for key in dead)}, or remove dead voters first." if dead else "Keep a voter.",
        voters_before=ids_of(step.voters_before),
        voters_after=ids_of(step.voters_after),
        majority=len(step.voters_after) // 2 + 1,
        alive=ids_of(step.voters_after & step.alive),
    )


def _auto_join(state: QuorumState, running: Sequence[int], known: Collection[int] | None) -> Iterator[Finding]:
    """Report removed nodes that may add themselves again; `known` has the ids if a node does not report auto-join."""
    reported = {node_id: state.nodes[node_id].auto_join for node_id in running if node_id in state.nodes}
    for node_id in running:
        if reported.get(node_id) or (reported.get(node_id) is None and node_id in (known or ())):
            yield blocker(
                "removed-node-still-runs",
                f"controller {node_id}",
                f"controller {node_id} runs with controller.quorum.auto.join.enable: once removed it adds itself again",
            )
    unknown = [node_id for node_id in running if reported.get(node_id) is None and known is None]
    able = [node_id for node_id in unknown if _may_join(release_of_node(state.nodes.get(node_id)))]
    if able:
        yield warning(
            "auto-join-possible",
            f"controllers {', '.join(map(str, able))}",
            "whether controller.quorum.auto.join.enable is set there could not be read; if it is, a removed "
            "controller that still runs adds itself again within seconds",
            controllers=able,
        )


def _registration(state: QuorumState, node_id: int) -> Iterator[Finding]:
    registrations = state.registrations
    if registrations is None or node_id not in registrations.controllers:
        return
    level = registrations.levels.get(METADATA_VERSION, 0)
    if level < CONTROLLERS_UNREGISTER_FROM:
        yield warning(
            "registration-stays",
            f"controller {node_id}",
            f"controller {node_id} stays registered after its removal and cannot be unregistered below "
            f"metadata.version {level_name(METADATA_VERSION, CONTROLLERS_UNREGISTER_FROM)} (now "
            f"{level_name(METADATA_VERSION, level)}): once it is gone, its range blocks feature upgrades",
            _before_removal(state, level),
            metadata_version=level,
        )


def _before_removal(state: QuorumState, level: int) -> str:
    """Return the advice to raise the level first if the leader's Kafka has a higher one, else the remedy."""
    leader = state.nodes.get(state.leader_id)
    versions = None if leader is None else leader.versions
    supported = None if versions is None else versions.supported.get(METADATA_VERSION)
    if supported is None or supported.highest <= level:
        return ""
    highest = level_name(METADATA_VERSION, supported.highest)
    return (
        f"Raise metadata.version first, if that is wanted (Kafka here supports up to {highest}), or keep the node: it"
        " can be started once with a newer Kafka before a later upgrade, as an observer."
    )


def last_voter(state: QuorumState, after: VoterKeys) -> Iterator[Finding]:
    """Report the removal of the only voter, for which Kafka answers VOTER_NOT_FOUND."""
    if not after:
        yield blocker(
            "last-voter",
            f"controller {state.voters[0].id}",
            f"controller {state.voters[0].id} is the only voter; without it: {arithmetic([], [])}",
        )


def _may_join(release: Release | None) -> bool:
    return release is not None and release.auto_join
