"""Questions in vain, one event at a time: with the same result as a node's calls, and without what they would not do.

Most events of a run are fetches of nodes without a leader, and their refusals. Where nothing is lost or late they are
passed over (`simulator/rounds.py`). Where each message has a fate of its own, they are events like all others; but a
node that is still need not be polled behind them. `raft/vain.py` says when that holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkactl.raft import vain
from kafkactl.raft.messages import Disconnected, FetchRequest, FetchResponse, VoteResponse
from kafkactl.raft.node import Node
from kafkactl.simulator.machine import Machine

if TYPE_CHECKING:
    from kafkactl.simulator.world import World

_ANSWERS: Final = (FetchResponse, VoteResponse, Disconnected)


def is_refusal(message: Any) -> bool:
    """Whether a message that arrived is one of those that nodes get again and again."""
    return type(message) in _ANSWERS and (type(message) is Disconnected or message.error_code != 0)


def hand_over(world: World, machine: Machine, message: Any, life: int) -> bool:
    """Do all that a message brings about; False where that may be more, and the process is to be given it."""
    kind = type(message)
    if kind is FetchRequest:
        response = vain.refusal(_node(machine), machine.local(world.now), message)
        if response is not None:
            world.post(machine, world.machines[message.source], response, life)
        return response is not None
    return (kind is FetchResponse or kind is Disconnected) and _ask_on(world, machine, message)


def _node(machine: Machine) -> Node:
    """The process: a world whose nodes are of another kind asks for nothing here."""
    process: Any = machine.process  # `typing.cast` would be a call
    node: Node = process
    return node


def _ask_on(world: World, machine: Machine, message: FetchResponse | Disconnected) -> bool:
    """Let a node that learnt nothing ask the next server; False where it learns something."""
    node, now = _node(machine), machine.local(world.now)
    if not vain.note_vain_answer(node, now, message):
        return False
    request = None
    if vain.asks_servers_only(node, now):
        request = vain.next_question(node, now, machine.choices.one())
    if request is None:
        world.perform(machine, node.wake(now))
    else:
        world.send(machine, request)
        world.watch(machine, node.wake_at)
    return True
