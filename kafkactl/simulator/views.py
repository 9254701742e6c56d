"""Views of a world for an observer of all nodes at once."""

from __future__ import annotations

from kafkactl.simulator.raft.voters import NO_VOTERS, VoterSet
from kafkactl.simulator.world import World


def latest_voters(world: World) -> VoterSet:
    """Return the voter set of the leader, or of the running node with the longest log in the newest epoch."""
    best: tuple[bool, int, int] = (False, -1, -1)
    voters = NO_VOTERS
    for machine in world.machines.values():
        process = machine.process
        if process is not None:
            place = (machine.leads, process.log_end_epoch, process.log_end)
            if place > best:
                best, voters = place, process.voters
    return voters


def failover_us(world: World, since_us: int) -> int | None:
    """Return the time from a moment to the first election after it; None while there is none."""
    return next((at - since_us for at, _, _ in world.elections if at > since_us), None)


def epoch_of(world: World) -> int:
    """Return the newest epoch that a running node knows."""
    return max((machine.process.epoch for machine in world.machines.values() if machine.process is not None), default=0)
