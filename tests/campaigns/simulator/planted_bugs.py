"""Bugs of the protocol that are planted into the nodes, one at a time, to see whether the invariants find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from kafkactl.simulator.campaign import Asked, outcome_of, quorum_of
from kafkactl.simulator.raft import changes, elections, errors, following, leading, replica_log, serving, transitions
from kafkactl.simulator.raft.disk import FlushLog, QuorumState, TruncateLog, WriteQuorumState
from kafkactl.simulator.raft.effects import State
from kafkactl.simulator.raft.leader_state import Leader
from kafkactl.simulator.raft.voters import VoterSet
from kafkactl.simulator.run import Outcome


class Bug(NamedTuple):
    """Planted bug: its place, what it does (made from what was there), and the profile that finds it.

    `also` is a second place that is broken with it.
    """

    name: str
    owner: Any
    attribute: str
    broken: Callable[[Any], Any]
    profile: str = "chaos"
    release: str = "3.9"
    voters: int = 3
    also: tuple[Any, str, Callable[[Any], Any]] | None = None


def _votes_again(original: Any) -> Any:
    def can_grant(node: Any, candidate: Any, is_current: bool, pre_vote: bool) -> bool:
        if pre_vote or node.state is not State.UNATTACHED:
            return original(node, candidate, is_current, pre_vote)
        return is_current and node.leader_id < 0

    return can_grant


def _votes_for_shorter_logs(original: Any) -> Any:
    return lambda node, candidate, _is_current, pre_vote: original(node, candidate, True, pre_vote)


def _without(effect: type, original: Any) -> Any:
    """Return what the function put out, without the effects of one class."""

    def broken(node: Any, *args: Any) -> Any:
        before = len(node.out)
        result = original(node, *args)
        node.out[before:] = [put for put in node.out[before:] if not isinstance(put, effect)]
        return result

    return broken


def _starts_with(state: Callable[[QuorumState], QuorumState]) -> Callable[[Any], Any]:
    return lambda original: lambda node, now, stored: original(node, now, state(stored))


def _commits_at(place: Callable[[int], int]) -> Callable[[Any], Any]:
    def made(_original: Any) -> Any:
        def committed(leader: Any) -> int:
            ends = sorted((replica.end for replica in leader.replicas.values()), reverse=True)
            return ends[max(0, place(len(ends)))]

        return committed

    return made


def _counts_observers(_original: Any) -> Any:
    def committed(leader: Any) -> int:
        counted = [*leader.replicas.values(), *leader.observers.values()]
        return sorted((replica.end for replica in counted), reverse=True)[len(leader.replicas) // 2]

    return committed


def _commits_old_epochs(original: Any) -> Any:
    def update(node: Any, now: int, leader: Any) -> None:
        kept, leader.epoch_start = leader.epoch_start, -1
        original(node, now, leader)
        leader.epoch_start = kept

    return update


def _trusts_the_leaders_watermark(_original: Any) -> Any:
    def update(node: Any, leaders: int) -> None:
        node.high_watermark = max(leaders, node.high_watermark)

    return update


def _one_at_a_time_no_more(_original: Any) -> Any:
    return lambda _node, _now, _verb: None


def _replaces_in_one_step(original: Any) -> Any:
    def adding(voters: VoterSet, voter: Any) -> VoterSet | None:
        known = voters.by_id.get(voter.node_id)
        if known is None or known.directory_id == voter.directory_id:
            return original(voters, voter)
        return VoterSet((*(other for other in voters.voters if other is not known), voter))

    return adding


def _adds_whom_it_knows(original: Any) -> Any:
    def refused(node: Any, now: int, request: Any) -> Any:
        refusal = original(node, now, request)
        return None if refusal is not None and refusal[0] == errors.DUPLICATE_VOTER else refusal

    return refused


def _truncates_all(_original: Any) -> Any:
    return lambda log, _epoch, _end: log.start


def _forgotten_vote(stored: QuorumState) -> QuorumState:
    return QuorumState(stored.leader_epoch)


def _equal_timeouts(_original: Any) -> Any:
    def ask(node: Any, now: int) -> None:
        node.election_asked = now
        node.election_deadline = now + node.us.election_timeout

    return ask


BUGS = (
    Bug("votes for two candidates of an epoch", elections, "can_grant", _votes_again),
    Bug("votes for shorter logs", elections, "can_grant", _votes_for_shorter_logs),
    Bug("answers a vote that is not written", transitions, "add_vote",
        lambda was: _without(WriteQuorumState, was), voters=5),
    Bug("writes no epoch", transitions, "_write", lambda _was: lambda _node: None),
    Bug("forgets its vote when it starts", transitions, "start", _starts_with(_forgotten_vote)),
    Bug("forgets its epoch when it starts", transitions, "start", _starts_with(lambda _old: QuorumState())),
    Bug("fetches on before it synced", following, "append_as_follower", lambda was: _without(FlushLog, was)),
    Bug("leads without syncing", leading, "_write_waiting", lambda was: _without(FlushLog, was)),
    Bug("loses a truncation", following, "_truncate", lambda was: _without(TruncateLog, was)),
    Bug("does not truncate", following, "_truncate", lambda _was: lambda _node, _response: None),
    Bug("truncates everything", replica_log.ReplicaLog, "truncation_point", _truncates_all),
    Bug("commits what one voter less has", Leader, "committed", _commits_at(lambda count: count // 2 - 1)),
    Bug("commits what it has alone", Leader, "committed", _commits_at(lambda _count: 0)),
    Bug("counts observers to commit", Leader, "committed", _counts_observers),
    Bug("commits records of old epochs", serving, "update_high_watermark", _commits_old_epochs),
    Bug("keeps counting the voters of before", Leader, "_take_voters", lambda _was: lambda _leader, _voters: None,
        "voter-change"),
    Bug("wins with half of the votes", transitions, "is_vote_granted",
        lambda _was: lambda node: sum(vote is True for vote in node.votes.values()) >= max(1, len(node.votes) // 2)),
    Bug("trusts the watermark beyond its log", following, "update_high_watermark", _trusts_the_leaders_watermark),
    Bug("changes voters while a change is not committed", changes, "_refused_change", _one_at_a_time_no_more,
        "voter-change"),
    Bug("replaces a voter in one step", VoterSet, "adding", _replaces_in_one_step, "disk-loss",
        also=(changes, "_refused_add", _adds_whom_it_knows)),
    Bug("draws no election timeout", transitions, "ask_election_timeout", _equal_timeouts, "chaos", "4.4", voters=2),
)  # fmt: skip


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Plant a bug, and take it out again."""
    with ExitStack() as planting:
        for owner, attribute, broken in ((bug.owner, bug.attribute, bug.broken), *([bug.also] if bug.also else [])):
            original = getattr(owner, attribute)
            planting.callback(setattr, owner, attribute, original)
            setattr(owner, attribute, broken(original))
        yield


def search(bug: Bug, most: int) -> Outcome | None:
    """Return the first run, by seed, in which something is broken; None if there is none among `most`.

    The number of the run is the seed of its outcome plus one.
    """
    asked = Asked(profile=bug.profile, release=bug.release, voters=tuple(range(1, bug.voters + 1)))
    quorum, _ = quorum_of(asked)
    with planted(bug):
        for seed in range(most):
            outcome = outcome_of(asked, quorum, seed, traced=False)
            if outcome.violations or outcome.unmet:
                return outcome
    return None
