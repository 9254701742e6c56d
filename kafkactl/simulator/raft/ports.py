"""Interface of a replica for the world around it: calls, attributes, and their meaning."""

from __future__ import annotations

from typing import Protocol

from kafkactl.simulator.raft.disk import Write
from kafkactl.simulator.raft.effects import Draw, Fault, Purpose, State, Transition
from kafkactl.simulator.raft.messages import RaftMessage
from kafkactl.simulator.raft.voters import VoterSet

Effect = RaftMessage | Write | Draw | Transition | Fault


class Replica(Protocol):
    """A process: a voter or an observer. `kafkactl.simulator.raft.node.Node` is it.

    Made by `Node(node_id, directory_id, disk, profile=…, timeouts=…, cluster_id=…, endpoints=…, static_voters=…,
    bootstrap_servers=…, can_become_voter=…, auto_join=…, first_correlation_id=…)`: `disk` is a `disk.Disk` and is
    only read, while the node is made; `static_voters` is a VoterSet with directory ids of zero, or None for a dynamic
    quorum, whose voters are in the disk's snapshot 0-0 or log; `bootstrap_servers` are Endpoints, needed without static
    voters; no two processes of a node may use the same correlation ids.

    Every call takes the present time in microseconds and returns effects, to be carried out in their order. A crash
    may happen between any two of them. The raft thread is one thread: while a synced write is done, nothing else is
    handed over, and messages wait.
    """

    wake_at: int  # call `wake` at this time, unless another call comes first; NEVER if the node waits for nothing
    state: State
    epoch: int
    leader_id: int  # -1 unknown
    voted_id: int  # -1 none; a candidate votes for itself
    high_watermark: int  # -1 unknown
    log_start: int
    log_end: int
    log_end_epoch: int  # the epoch of the last record, or of the snapshot that an empty log begins at
    voters: VoterSet  # the last in the log, committed or not
    voters_offset: int  # of the record that made it; -1 bootstrap snapshot or configuration

    def start(self, now: int) -> list[Effect]:
        """Choose the first state from the disk (`QuorumState.initialize`)."""
        ...

    def wake(self, now: int) -> list[Effect]:
        """Act on the time `wake_at`; harmless if it is not reached."""
        ...

    def receive(self, now: int, message: RaftMessage) -> list[Effect]:
        """Handle a request or a response that arrived. A response that is not awaited any more is dropped."""
        ...

    def drawn(self, now: int, purpose: Purpose, number: int) -> list[Effect]:
        """Return the effects of the answer to a Draw, given with the same `now` as its call, before any other call."""
        ...

    def append(self, now: int, content: object, records: int = 1, size: int = 100) -> tuple[int, list[Effect]]:
        """Append data as the controller does; written after the linger. Returns the offset of the last record.

        -1 if the node is not the leader. The records are committed when `high_watermark` passes that offset with
        the leader unchanged.
        """
        ...

    def resign(self, now: int) -> list[Effect]:
        """Give up the epoch of a leader (`RaftClient.resign`), as a controller does after a fault; else do nothing."""
        ...

    def shutdown(self, now: int, timeout_us: int) -> list[Effect]:
        """Shut down gracefully: a leader resigns first. `state` is then STOPPED, at the latest after the timeout."""
        ...

    def upgrade_kraft_version(self, now: int) -> tuple[str, list[Effect]]:
        """Make a static quorum a dynamic one (kraft.version 0 to 1, since 4.1). Returns the refusal, or "" and effects.

        Refused while any voter has not shown its entry to this leader, which takes it a fetch timeout.
        """
        ...

    def take_snapshot(self, now: int, end_offset: int, size: int) -> list[Effect]:
        """Write a snapshot of everything below `end_offset`, and forget the log below it.

        Raises ValueError if `end_offset` is above the high watermark or not an end of a batch of the log.
        """
        ...
