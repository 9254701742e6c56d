"""Pass over a stretch of time in which a quorum only waits, with the same result as event for event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkactl.raft.calm import calm_quorum

if TYPE_CHECKING:
    from kafkactl.simulator.world import World

WORTH_US: Final = 2_000_000  # a shorter stretch is stepped through


def skip_calm(world: World, until: int) -> bool:
    """Bring the world as near to `until` as its quorum is calm; whether that was any nearer.

    The caller answers for an empty network. Nothing may be cut, lost or late, no disk slow, no clock wrong.
    """
    if until - world.now < WORTH_US or world.network.cuts or not world.network.is_steady or world.appended:
        return False
    leader = world.leader()
    if leader is None or leader.process is None:
        return False
    nodes: list[Any] = []
    for machine in world.machines.values():
        is_plain = not (
            machine.busy or machine.is_paused or machine.sync_us or machine.base_local - machine.base_global
        )
        if not is_plain or machine.drift:
            return False
        if machine.process is not None:
            nodes.append(machine.process)
    calm = calm_quorum(nodes)
    if calm is None:
        return False
    ways = world.network

    def way(node: int) -> tuple[int, int]:
        return ways.fates(node, leader.id)[0], ways.fates(leader.id, node)[0]

    landed = calm.skip(world.now, until, way)
    if landed <= world.now:
        return False
    world.go_to(landed)
    return True
