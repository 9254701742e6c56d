"""Checks of a feature change against the quorum: is there a controller to ask, and may kraft.version be raised?

kraft.version=1 turns a static quorum into a dynamic one permanently. This change was observed after an answer that said
"failed for all features" (4.3.1, with another feature in the request), and was answered as done although nothing
happened (4.0.2). So it travels alone, on request only, and not if the release does not mean it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkactl.cluster.levels import level_differences
from kafkactl.cluster.quorum.state import Replica
from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.features.plan.case import Case
from kafkactl.features.plan.change import FeatureChange

_NOT_MEANT = {
    "pretends": "writes the level and leaves the quorum static (KAFKA-18979); directory ids stay unknown and adding a "
    "voter fails",
    "ignores": "answers that it was upgraded, and ignores it: the quorum stays static",
}


def check_view(case: Case) -> Iterator[Finding]:
    """Check that the observation is sufficient for a decision."""
    state = case.state
    if state.active_controller is None:
        why = "" if state.leader_error is None else f" ({state.leader_error.reason})"
        yield blocker(
            "no-active-controller",
            "cluster",
            f"no active controller answered{why}: levels can neither be read for certain nor changed",
            "See `kafkactl quorum describe`.",
        )
    elif state.controller_range is not None and state.controller_release is None:
        yield warning(
            "release-not-recognised",
            f"controller {state.active_controller}",
            "the active controller's range of metadata.version is that of no release known here; the rules of Kafka "
            f"{case.release.name} are assumed",
            "Use a newer kafkactl, or ask for the server's opinion with --dry-run.",
        )
    if state.registrations is None:
        yield warning(
            "registrations-not-read",
            "cluster",
            "the metadata log could not be read"
            + (f" ({state.log_error.reason})" if state.log_error else "")
            + ": registrations of nodes that are gone stay unseen, and may block",
            state.log_error.step if state.log_error else "",
        )
    yield from level_differences(case.state)


def check_majority(case: Case) -> Iterator[Finding]:
    """Check that a majority of the voters follows the leader: only then is a record committed."""
    state = case.state
    if state.active_controller is None:
        return  # `check_view` reports it
    if state.voters is None:
        yield blocker(
            "voters-unknown",
            "quorum",
            "the voters could not be read, so it is unknown whether a majority of them would commit the change",
            "" if state.leader_error is None else state.leader_error.step,
        )
    elif state.tolerates is None or state.tolerates < 0:
        following = [voter.id for voter in state.voters if voter.alive or voter.id == state.active_controller]
        others = [voter for voter in state.voters if voter.id not in following]
        yield blocker(
            "majority-not-proven",
            "quorum",
            f"of the voters {_ids(voter.id for voter in state.voters)} only {_ids(following)} were observed to "
            "follow the "
            f"leader, which is not a majority: {'; '.join(_why(voter) for voter in others)}",
            "Bring the voters back, and wait until `kafkactl quorum describe` shows them alive. Without a majority the "
            "change is not committed, and may be when the voters return.",
            voters=[voter.id for voter in state.voters],
            following=following,
        )


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(str(id_) for id_ in sorted(ids)) or "none"


def _why(voter: Replica) -> str:
    return f"controller {voter.id} {voter.evidence or 'was not seen to fetch'}"


def check_kraft_version(case: Case) -> Iterator[Finding]:
    """Report findings that concern kraft.version only."""
    if case.request.left_out and case.state.level(KRAFT_VERSION) == 0:
        yield note(
            "kraft-version-left-out",
            f"feature {KRAFT_VERSION}",
            f"kraft.version belongs to release {case.request.release_version} and is left as it is: raising it turns "
            "the quorum into a dynamic one permanently",
            "Ask for it by name when it is wanted: kafkactl quorum convert.",
        )
    yield from _contradiction(case)
    change = case.change(KRAFT_VERSION)
    if change is None:
        return
    if change.after < change.before:
        yield blocker(
            "kraft-version-one-way",
            f"feature {KRAFT_VERSION}",
            "a dynamic quorum never becomes static again: kraft.version cannot be lowered",
            "Leave it out.",
        )
        return
    yield from _upgrade(case, change)


def _upgrade(case: Case, change: FeatureChange) -> Iterator[Finding]:
    if len(case.moving) > 1 and case.request.release_version is None:
        others = ", ".join(other.name for other in case.moving if other is not change)
        yield blocker(
            "kraft-version-not-alone",
            f"feature {KRAFT_VERSION}",
            f"kraft.version is asked for together with {others}: where one of them fails, the answer says that nothing "
            "was changed, and the quorum may be permanently dynamic",
        )
    if case.rules.kraft_version in _NOT_MEANT:
        yield blocker(
            "kraft-version-not-convertible",
            f"feature {KRAFT_VERSION}",
            f"Kafka {case.release.name} {_NOT_MEANT[case.rules.kraft_version]}",
            server_answers="success",
            release=case.release.name,
        )
    else:
        yield from _voters(case)


def _voters(case: Case) -> Iterator[Finding]:
    """Check that every voter has reported its features to this leader (KAFKA-16538), and follows the leader."""
    for voter in case.state.voters or ():
        if voter.id != case.state.active_controller and not voter.alive:
            yield blocker(
                "voter-not-ready",
                f"controller {voter.id}",
                f"controller {voter.id} is a voter and was not seen to follow the leader"
                f"{'' if voter.evidence is None else f' (it {voter.evidence})'}: the leader may not know that it "
                "supports kraft.version 1, and a voter that is away cannot learn of the new voter set",
                evidence=voter.evidence,
            )
    yield note(
        "voters-report-after-elections",
        f"feature {KRAFT_VERSION}",
        "every voter reports to a new leader what it supports, some seconds after the election; whether all "
        "have, the leader alone knows (DescribeQuorum shows no directory ids before the conversion)",
        "If the controller answers that not all of the voters support it, wait some seconds and try again.",
    )


def _contradiction(case: Case) -> Iterator[Finding]:
    """Report a finalized kraft.version 1 on a static quorum, a leftover of 3.9 (KAFKA-18979)."""
    known = case.state.registrations
    if case.state.level(KRAFT_VERSION) and known is not None and known.voters is None:
        yield warning(
            "kraft-version-claimed",
            f"feature {KRAFT_VERSION}",
            "kraft.version is finalized at 1, and the metadata log holds no voter set: the quorum is static",
            "Do not count on adding or removing voters; from Kafka 4.1 on the quorum can be converted.",
        )
