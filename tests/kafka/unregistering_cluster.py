"""A scripted cluster that unregisters nodes: well, with its answer lost, or not at all."""

from __future__ import annotations

from kafkactl.commands.demo.broker import CLOSE, Action, Asked, Reply
from tests.kafka.feature_cluster import FakeCluster, FakeNode, Role

DEAD_BROKER, DEAD_CONTROLLER = 14, 9
NEWEST = {"metadata.version": (7, 33), "kraft.version": (0, 1)}


class UnregisteringCluster(FakeCluster):
    """Brokers 11 and 12 run, broker 14 and controller 9 are registered and gone. `how` is the fate of a request."""

    def __init__(self, how: str = "done", *, level: int = 33) -> None:
        super().__init__()
        self.how = how
        self.levels["metadata.version"] = level
        self.gone |= {DEAD_BROKER: Role.BROKER, DEAD_CONTROLLER: Role.CONTROLLER}
        self.registered = dict.fromkeys((*self.nodes, *self.gone), NEWEST)
        for node in self.nodes.values():
            node.supported = NEWEST
            node.ranges[94] = (0, 0)
        self.sent: list[tuple[str, int]] = []
        self.reads_after = 0

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "Fetch" and self.sent:
            self.reads_after += 1
            if self.how == "comes-back" and self.reads_after == 2:
                self.registered[self.sent[0][1]] = NEWEST
        if asked.name in ("UnregisterBroker", "UnregisterController"):
            node_id = asked.body["BrokerId" if asked.name == "UnregisterBroker" else "ControllerId"]
            self.sent.append((asked.name, node_id))
            return self._unregister(node_id)
        return super().answer(asked, node)

    def _unregister(self, node_id: int) -> Action:
        if self.how in ("done", "comes-back", "reply-lost"):
            self.registered.pop(node_id)
        if self.how in ("reply-lost", "request-lost"):
            return CLOSE
        if self.how == "unreadable":
            self.denied |= {"Fetch"}
        return Reply(body={"ErrorCode": {"refused": 31, "timed-out": 7, "gone": 102}.get(self.how, 0)})
