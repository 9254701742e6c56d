"""What the world around the nodes keeps apart."""

from __future__ import annotations

import pytest

from kafkactl.simulator.campaign import Asked, quorum_of
from kafkactl.simulator.world import World


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_a_request_of_an_ended_process_is_not_taken_for_one_of_the_next(release):
    """The leader still holds the fetch of the process that ended while the next one waits for its own."""
    world = World(quorum_of(Asked(release=release))[0], 1, traced=False)
    assert world.run_until(30_000_000, lambda: world.leader() is not None)
    world.run_until(world.now + 3_000_000)
    leader = world.leader()
    follower = next(machine for machine in world.machines.values() if machine is not leader)
    lives = {}
    for _ in range(3):
        world.end(follower)
        world.begin(follower)
        world.run_until(world.now + 40_000)
        asked = {request: life for request, life in leader.open.items() if request[0] == follower.id}
        assert lives | asked == asked | lives
        lives |= asked
    assert len(set(lives.values())) == 3
