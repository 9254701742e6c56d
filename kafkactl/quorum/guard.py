"""Blockers of any change of voters: every reason at once, each with the flag that overrides it.

Rule: a refusal without an override protects the quorum itself; one with a flag protects from what may be meant.
`OVERRIDES` is the whole list of what may be overridden. An overridden blocker stays in the answer as a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.leadership import check_leader, life_words, majority_sum
from kafkactl.cluster.quorum.state import (
    CHECK_QUORUM_MS,
    Mode,
    Progress,
    QuorumState,
    ids_of,
    progress,
)
from kafkactl.core.findings import Finding, Severity, blocker, each_once, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION, MIGRATING_STATES
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.update_rules import release_of

ADD_RAFT_VOTER = 80
_CALM_EPOCHS = 2
# A leader that is cut off takes requests until it resigns, three seconds by default: more records than that are rare.
_MOST_UNCOMMITTED = 10_000

_FORMER = "former-leader-not-restarted"

# Finding id -> the flag that lets the change go on nevertheless. What is not here is never overridden.
OVERRIDES: Final = {
    "zero-tolerance": "--accept-zero-tolerance",
    "even-voter-count": "--allow-size",
    "too-many-voters": "--allow-size",
    "too-few-voters": "--allow-size",
    "unstable-leader": "--allow-unstable",
    "voter-lags": "--allow-unstable",
    "removed-node-still-runs": "--node-will-be-stopped",
}


@frozen
class Circumstances:
    """Conditions of a plan, in addition to the state.

    `overrides` are the flags given (the values of OVERRIDES). `earlier` is a look at the same quorum some time before:
    two looks show whether commits go on. `recent_elections` counts new leader epochs within the last minute.
    `epoch_age_ms`: how long the leader leads, as far as it was watched. `max_lag` in records. `auto_join` are the
    controllers known to have controller.quorum.auto.join.enable set, None if it is unknown.
    """

    overrides: frozenset[str] = frozenset()
    earlier: QuorumState | None = None
    recent_elections: int = 0
    epoch_age_ms: int | None = None
    max_lag: int = 1_000
    auto_join: Collection[int] | None = None


def weigh(findings: Iterable[Finding], overrides: Collection[str]) -> tuple[Finding, ...]:
    """Return the findings, each once, with the blockers that a given flag overrides turned into warnings.

    A blocker that could be overridden names its flag in the next step.
    """
    return tuple(_weighed(finding, overrides) for finding in each_once(findings))


def _weighed(finding: Finding, overrides: Collection[str]) -> Finding:
    flag = OVERRIDES.get(finding.id)
    if flag is None or finding.severity is not Severity.BLOCKER:
        return finding
    if flag in overrides:
        return replace(finding, severity=Severity.WARNING, evidence={**finding.evidence, "overridden_by": flag})
    step = finding.advice
    return finding if flag in step else replace(finding, next_step=f"{step} {flag} overrides this.")


def check_quorum(state: QuorumState, circumstances: Circumstances) -> Iterator[Finding]:
    """Report every state of the quorum that forbids any change of voters."""
    yield from state.findings
    yield from check_leader(state)
    yield from check_majority(state)
    yield from _kraft_version(state)
    yield from _requests(state)
    yield from check_commits(circumstances.earlier, state)
    yield from _unrest(state, circumstances)
    yield from check_former_leaders(state)
    yield from _migration(state)
    yield from check_cluster(state)


def release_of_node(node: ClusterNode | None) -> Release | None:
    """Return the release a node runs, as its range of metadata.version shows; None if it did not answer."""
    versions = None if node is None else node.versions
    return None if versions is None else release_of(versions.supported.get(METADATA_VERSION))


def check_majority(state: QuorumState) -> Iterator[Finding]:
    """Check that a majority follows the leader."""
    tolerates = state.tolerates
    if not state.has_leader or (tolerates is not None and tolerates >= 0):
        return
    if tolerates is None:
        yield blocker(
            "majority-not-proven",
            "quorum",
            f"no majority is proven to follow controller {state.leader_id}: {majority_sum(state)}; "
            f"{life_words(state.voters)}",
            "Run the command again; if the finding remains, check why those voters do not fetch from the leader.",
            voters=ids_of(state.voter_keys),
            alive=ids_of(state.voter_keys & state.alive_keys),
        )
        return
    yield blocker(
        "majority-lost",
        "quorum",
        f"no live majority: {majority_sum(state)}; {life_words(state.voters)}; controller "
        f"{state.leader_id} is still active and resigns {CHECK_QUORUM_MS} ms after the loss",
        "Bring back a voter. Within those seconds the removal of a dead voter, sent alone, may still rescue the "
        "quorum; a plan cannot count on it.",
        window_ms=CHECK_QUORUM_MS,
    )


def _kraft_version(state: QuorumState) -> Iterator[Finding]:
    if state.mode is Mode.DYNAMIC:
        return
    if state.mode is None:
        yield blocker(
            "kraft-version-unknown",
            "quorum",
            "no node reports its kraft.version, so it is unknown whether the voters can be changed",
        )
        return
    yield blocker(
        "quorum-is-static",
        "quorum",
        "the quorum is static (kraft.version 0): its voters are those of every node's controller.quorum.voters",
        kraft_version=state.kraft_version,
    )


def _requests(state: QuorumState) -> Iterator[Finding]:
    leader = state.nodes.get(state.leader_id)
    if leader is not None and leader.versions is not None and not leader.versions.knows(ADD_RAFT_VOTER):
        yield blocker(
            "voter-changes-not-supported",
            f"controller {state.leader_id}",
            f"controller {state.leader_id} leads and does not take AddRaftVoter (Kafka 3.8 or older)",
        )
    for node in state.nodes.values():
        release = release_of_node(node)
        if node.role is Role.CONTROLLER and release is not None and release.keeps_wrong_endpoints:
            yield warning(
                "controller-on-3-9",
                f"controller {node.id}",
                f"controller {node.id} runs Kafka 3.9: a wrong endpoint in the voter set is never repaired there, "
                "and 3.9.0 cannot update one at all (KAFKA-18001); the patch level cannot be seen from outside",
                "Prefer 4.1 or later before voters are changed; after each step the endpoints are compared.",
            )


def check_commits(earlier: QuorumState | None, state: QuorumState) -> Iterator[Finding]:
    """Check that commits advanced since an earlier observation, at least half a second ago; None: there was none."""
    if earlier is not None and progress(earlier, state) is Progress.STUCK:
        yield blocker(
            "change-not-committed",
            "quorum",
            f"the high watermark does not advance from {state.high_watermark} while the log grows: the last records, "
            f"perhaps a change of voters, are not acknowledged by a majority; {majority_sum(state)}",
            high_watermark=state.high_watermark,
        )


def _unrest(state: QuorumState, circumstances: Circumstances) -> Iterator[Finding]:
    if circumstances.recent_elections > _CALM_EPOCHS:
        yield blocker(
            "unstable-leader",
            "quorum",
            f"the leader changed {circumstances.recent_elections} times within the last minute",
            "Find out why before voters are changed.",
            recent_elections=circumstances.recent_elections,
        )
    for voter in state.voters:
        if voter.alive and voter.lag is not None and voter.lag > circumstances.max_lag:
            yield blocker(
                "voter-lags",
                f"controller {voter.id}",
                f"voter {voter.id} fetches but is {voter.lag} records behind; {circumstances.max_lag} are allowed",
                "Wait until it has caught up: until then it does not help to commit.",
                lag=voter.lag,
            )


def check_former_leaders(state: QuorumState) -> Iterator[Finding]:
    """Report nodes that may not read a change of voters, because records of theirs were truncated where it is written.

    After a truncation Kafka reads voters only from the offset on at which that node's log had ended (docs/decisions/
    0025-simulator.md; two histories on 3.9.2, 4.3.1 and 4.4.0, tests/lab/quorum/test_unread_voters.py).
    """
    if state.registrations is None or state.high_watermark is None:
        return
    changed = state.registrations.voters_at
    for replica in state.replicas:
        ended = state.registrations.led_until.get(replica.id)
        if ended is None:
            continue
        led = f"controller {replica.id} led the quorum until offset {ended} and was not restarted since"
        follows = f"Restart controller {replica.id}, wait until it follows, and"
        if changed is not None and 0 < changed - ended <= _MOST_UNCOMMITTED:
            yield warning(
                _FORMER,
                f"controller {replica.id}",
                f"{led}; voters were changed at offset {changed}: if it had been cut off, it does not know that change",
                f"{follows} change no voters before.",
                led_until=ended,
                voters_changed_at=changed,
            )
        elif replica.key in state.voter_keys and state.high_watermark - ended <= _MOST_UNCOMMITTED:
            yield warning(
                _FORMER,
                f"controller {replica.id}",
                f"{led}, {state.high_watermark - ended} committed records ago: if it had been cut off, it may not "
                "read this change of voters",
                f"{follows} run the command again.",
                led_until=ended,
                high_watermark=state.high_watermark,
            )


def _migration(state: QuorumState) -> Iterator[Finding]:
    registrations = state.registrations
    if registrations is not None and registrations.zk_migration_state in MIGRATING_STATES:
        yield blocker(
            "voters-frozen-by-migration",
            "quorum",
            "a migration from ZooKeeper is in progress",
            zk_migration_state=registrations.zk_migration_state,
        )


def check_cluster(state: QuorumState) -> Iterator[Finding]:
    """Check that every queried node belongs to this cluster."""
    for node in state.nodes.values():
        if node.cluster_id is not None and node.cluster_id != state.cluster_id:
            yield blocker(
                "node-of-another-cluster",
                f"node {node.id}",
                f"node {node.id} belongs to cluster {node.cluster_id}, not to {state.cluster_id}",
                "Check the addresses that were given.",
                cluster_id=node.cluster_id,
            )
