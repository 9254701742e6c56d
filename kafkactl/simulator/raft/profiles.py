"""Differences between releases, as a table, and the timeouts of `controller.quorum.*`.

Read from `raft/src/main/java/org/apache/kafka/raft` of 3.7, 3.9 and 4.2: KafkaRaftClient, QuorumState, the states.
3.9 is its last patch release, 3.9.2, and 4.x is 4.3.1 and 4.4.0; both are compared with the released classes, call by
call (tests/lab/judge). 3.9.0 is there for the figures that were taken of it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from kafkactl.core.frozen import changed, frozen

US_PER_MS: Final = 1_000
BATCH_MAX_BYTES: Final = 8 * 1024 * 1024
FETCH_MAX_BYTES: Final = 8 * 1024 * 1024


class BeginPacing(Enum):
    """Targets and times of a leader's BeginQuorumEpoch requests."""

    UNACKNOWLEDGED = "until it acknowledged"  # repeated when a request failed or timed out, never after
    EVERY_VOTER = "every voter, each half fetch timeout"
    SILENT_VOTERS = "each half fetch timeout, those that have not fetched for as long"


class ResignedExit(Enum):
    """State that a resigned leader enters after its election timeout."""

    CANDIDATE = "Candidate"
    CANDIDATE_IF_VOTER = "Candidate if it is a voter, else Unattached in the next epoch"
    UNATTACHED = "Unattached in the next epoch"


@frozen
class ElectionBackoff:
    """Pause of a candidate that lost, up to 3.9: `base_ms` times a random number below 2, 4, 8, ….

    The number begins at `lowest` and doubles at most `most_shifts` times; the pause is at most the configured maximum,
    plus a random part of `jitter_ms` (`RaftUtil.binaryExponentialElectionBackoffMs`).
    """

    base_ms: int
    lowest: int
    most_shifts: int
    jitter_ms: int


BACKOFF_3_7: Final = ElectionBackoff(base_ms=100, lowest=0, most_shifts=20, jitter_ms=0)
BACKOFF_3_9_2: Final = ElectionBackoff(base_ms=50, lowest=1, most_shifts=10, jitter_ms=50)


@frozen
class Profile:
    """The behaviour of one line of releases.

    `update_periods`: fetch timeouts between two checks whether the own entry of the voter set is right; 0 never.
    `probes_leader_in_log`: followers know `Fetch` version 18, which carries their high watermark, so that a leader
    answers at once when it has moved. `overlap_throws`: a change that fails Kafka's overlap check ends the process.
    """

    name: str
    pre_vote: bool
    directory_ids: bool  # requests name the addressed voter by id and directory (KIP-853)
    strict_senders: bool  # a request of a node outside the own voter set is INCONSISTENT_VOTER_SET
    begin_pacing: BeginPacing
    election_backoff: ElectionBackoff | None
    resigned_exit: ResignedExit
    unlisted_successor_waits: bool  # not among the preferred candidates of an EndQuorumEpoch: waits longest, else 0
    update_periods: int
    static_voters_update: bool
    update_proves_life: bool  # an UpdateRaftVoter counts for check-quorum as a fetch does
    keeps_vote_with_leader: bool  # quorum-state may hold a leader and a vote
    voters_fetch_anywhere: bool  # a voter without an answering leader asks bootstrap servers
    fetch_high_watermark: bool
    fetch_max_bytes: int  # of one answer, records or a piece of a snapshot; a setting since 4.2, here its default
    overlap_throws: bool
    reads_update_leader: bool  # the response to UpdateRaftVoter is read as meant (inverted in 3.9)
    auto_join: bool  # controller.quorum.auto.join.enable exists


PROFILE_3_7: Final = Profile(
    name="3.7",
    pre_vote=False,
    directory_ids=False,
    strict_senders=True,
    begin_pacing=BeginPacing.UNACKNOWLEDGED,
    election_backoff=BACKOFF_3_7,
    resigned_exit=ResignedExit.CANDIDATE,
    unlisted_successor_waits=False,
    update_periods=0,
    static_voters_update=False,
    update_proves_life=False,
    keeps_vote_with_leader=False,
    voters_fetch_anywhere=False,
    fetch_high_watermark=False,
    fetch_max_bytes=FETCH_MAX_BYTES,
    overlap_throws=False,
    reads_update_leader=False,
    auto_join=False,
)
PROFILE_3_9: Final = Profile(
    name="3.9",
    pre_vote=False,
    directory_ids=True,
    strict_senders=False,
    begin_pacing=BeginPacing.EVERY_VOTER,
    election_backoff=BACKOFF_3_9_2,
    resigned_exit=ResignedExit.CANDIDATE_IF_VOTER,
    unlisted_successor_waits=True,
    update_periods=3,
    static_voters_update=False,
    update_proves_life=False,
    keeps_vote_with_leader=False,
    voters_fetch_anywhere=True,
    fetch_high_watermark=False,
    fetch_max_bytes=FETCH_MAX_BYTES,
    overlap_throws=False,
    reads_update_leader=False,
    auto_join=False,
)
PROFILE_3_9_0: Final = changed(
    PROFILE_3_9, name="3.9.0", election_backoff=BACKOFF_3_7, voters_fetch_anywhere=False, overlap_throws=True
)
PROFILE_4: Final = Profile(
    name="4.x",
    pre_vote=True,
    directory_ids=True,
    strict_senders=False,
    begin_pacing=BeginPacing.SILENT_VOTERS,
    election_backoff=None,
    resigned_exit=ResignedExit.UNATTACHED,
    unlisted_successor_waits=True,
    update_periods=1,
    static_voters_update=True,
    update_proves_life=True,
    keeps_vote_with_leader=True,
    voters_fetch_anywhere=True,
    fetch_high_watermark=True,
    fetch_max_bytes=1024 * 1024,
    overlap_throws=False,
    reads_update_leader=True,
    auto_join=True,
)
PROFILES: Final = {profile.name: profile for profile in (PROFILE_3_7, PROFILE_3_9_0, PROFILE_3_9, PROFILE_4)}


@frozen
class Timeouts:
    """`controller.quorum.*` in milliseconds, at Kafka's defaults (QuorumConfig, KafkaRaftClient).

    Raises ValueError for an election, fetch or request timeout of 0 or less: Kafka takes 0, and never pauses then.
    """

    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000
    append_linger_ms: int = 25
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500

    def __post_init__(self) -> None:
        if min(self.election_timeout_ms, self.fetch_timeout_ms, self.request_timeout_ms) < 1:
            raise ValueError(f"the election, fetch and request timeouts are at least 1 ms, not {self}")


DEFAULT_TIMEOUTS: Final = Timeouts()
OBSERVER_SESSION_US: Final = 300_000 * US_PER_MS
CAUGHT_UP_WITHIN_US: Final = 3_600_000 * US_PER_MS
