"""The epoch gate of a rollback (KAFKA-20488).

KRaft stamps the partition states that it writes with its own epoch, and a ZooKeeper controller refuses to change a
state of an epoch above its own (core `PartitionStateMachine`, `ReplicaStateMachine`). So `/controller_epoch` has to be
above all of them before a ZooKeeper controller is elected. The damage is latent: right after a rollback all partitions
have leaders; they lose them permanently with the next broker that stops (measured on 3.9.2).
"""

from __future__ import annotations

from kafkactl.core.frozen import frozen
from kafkactl.migration.state.evidence import Evidence, Holder, Quorum
from kafkactl.migration.zktree.checks import highest_controller_epoch


@frozen
class EpochGate:
    """`/controller_epoch` as it is, and the highest epoch that it has to beat; None if it is unknown.

    `needed`: it has to be raised, to `value`. `after_election`: a ZooKeeper controller is active with the low epoch
    already, and has to be elected again.
    """

    epoch: int | None
    highest: int | None
    needed: bool
    after_election: bool

    @property
    def value(self) -> int:
        """Return the epoch to write."""
        return (self.highest or 0) + 1

    @property
    def is_beaten(self) -> bool:
        """Return True if a partition state is above the epoch, so that no ZooKeeper controller could change it."""
        return self.needed and (self.highest or 0) > (self.epoch or 0)

    @property
    def is_known(self) -> bool:
        """Return True if both sides were observed."""
        return self.epoch is not None and self.highest is not None


def epoch_gate(e: Evidence) -> EpochGate:
    """Return the gate by the tree, with the epochs that KRaft may still stamp while it is active."""
    if e.tree is None or _unseen_states(e):
        return EpochGate(
            epoch=None if e.tree is None else e.tree.controller_epoch, highest=None, needed=False, after_election=False
        )
    epoch = e.tree.controller_epoch
    elected = e.holder is Holder.ZOOKEEPER
    highest = highest_controller_epoch(e.tree)
    if e.holder is Holder.KRAFT and e.controllers is not Quorum.DOWN:
        highest = max(highest, e.log_epoch or 0)
    # An active ZooKeeper controller stamps its states with /controller_epoch itself: then only a higher one is wrong.
    needed = epoch is not None and (highest > epoch or (highest == epoch and not elected and highest >= 0))
    return EpochGate(epoch=epoch, highest=highest, needed=needed, after_election=needed and elected)


def _unseen_states(e: Evidence) -> bool:
    """Return True if the state of some partition exists and was not shown."""
    return e.tree is not None and any(path.endswith("/state") for path in e.tree.hidden)
