"""Results of a node in addition to messages and writes: draws of random numbers, and notes of events.

Every returned object has a class attribute `effect`, so that the surroundings can dispatch by one comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final

SEND: Final = 0  # a message of simulator/raft/messages.py: to be sent
WRITE: Final = 1  # a write of simulator/raft/disk.py: to be done before anything that follows in the list
DRAW: Final = 2  # a Draw: to be answered by Node.drawn, with the time of the call that returned it
NOTE: Final = 3  # a Transition: for a timeline; nothing is to be done
FAULT: Final = 4  # a Fault: the process ended itself


class Purpose(IntEnum):
    """Purpose of a random number."""

    ELECTION = 0  # `QuorumState.randomElectionTimeoutMs`: added to the election timeout
    BACKOFF = 1  # `RaftUtil.binaryExponentialElectionBackoffMs`: how many times its base, up to 3.9
    BOOTSTRAP = 2  # `RequestManager.findReadyBootstrapServer`: the first server that is tried
    JITTER = 3  # the second number of BACKOFF in 3.9.2: milliseconds above the configured maximum


@dataclass(slots=True)
class Draw:
    """The node needs `Random.nextInt(bound)`: a whole number from 0 to `bound - 1`, each as likely.

    The surroundings answer with `Node.drawn(now, purpose, number)` before they hand over anything else.
    """

    purpose: Purpose
    bound: int
    effect: ClassVar[int] = DRAW


@dataclass(slots=True)
class Transition:
    """The node is now in this state. `leader_id` is -1 if it knows none; `voted_id` is -1 if it did not vote."""

    state: str
    epoch: int
    leader_id: int
    voted_id: int
    effect: ClassVar[int] = NOTE


@dataclass(slots=True)
class Fault:
    """Kafka's raft thread would end with this exception, and the process with it; the node takes no more calls."""

    reason: str
    effect: ClassVar[int] = FAULT


class State(IntEnum):
    """The states of `QuorumState`.

    Voted is Unattached with `Node.voted_id`, as in Kafka since 3.9; `Node.shown_state` distinguishes them. Observer is
    not a state: whether a node is one depends on the voters in its log (`Node.is_voter`).
    """

    UNATTACHED = 0
    PROSPECTIVE = 1
    CANDIDATE = 2
    LEADER = 3
    RESIGNED = 4
    FOLLOWER = 5
    STOPPED = 6  # a graceful shutdown is complete, or a Fault was returned

    @property
    def shown(self) -> str:
        """Return the name in Kafka's logs.

        >>> State.PROSPECTIVE.shown
        'Prospective'
        """
        return _SHOWN[self]


_SHOWN: Final = tuple(state.name.capitalize() for state in State)
