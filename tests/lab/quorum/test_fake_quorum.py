"""The fake quorum of the fault campaign answers as a real one does: the same codes, words and states."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafkactl.cluster.io.fetched_registrations import fetch_registrations
from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.commands.demo.quorum import FakeQuorum, directory_of
from kafkactl.core.values import Role, Uuid
from kafkactl.kafka.client import Client, Limits
from kafkactl.net.transport import Address
from tests.lab.harness.cluster_fixtures import ClusterOf

UNKNOWN_DIRECTORY = Uuid(b"\x77" * 16)
OTHER_CLUSTER = "b3RoZXItY2x1c3Rlci0xMQ"


def update(feature: str, level: int, kind: int = 1, *, validate: bool = False) -> tuple[str, dict[str, Any]]:
    update = {"Feature": feature, "MaxVersionLevel": level, "UpgradeType": kind}
    return "UpdateFeatures", {"timeoutMs": 5_000, "FeatureUpdates": [update], "ValidateOnly": validate}


def add(node_id: int, key: str = "own", cluster: str = "own") -> tuple[str, dict[str, Any]]:
    return "AddRaftVoter", {"VoterId": node_id, "VoterDirectoryId": key, "ClusterId": cluster, "TimeoutMs": 5_000}


def remove(node_id: int, key: str = "own", cluster: str = "own") -> tuple[str, dict[str, Any]]:
    return "RemoveRaftVoter", {"VoterId": node_id, "VoterDirectoryId": key, "ClusterId": cluster}


SCRIPT = (
    update("metadata.version", 22, validate=True),
    update("metadata.version", 22),
    update("metadata.version", 40),
    update("metadata.version", 20),
    update("metadata.version", 25, 2),
    update("foo.version", 1),
    update("metadata.version", 20, 2),
    add(1),
    add(2, cluster="other"),
    add(9, "nobody"),
    remove(9, "nobody"),
    remove(1),
    remove(1, "nobody"),
    add(2),
    add(2),
    add(3),
    remove(3, cluster="other"),
    remove(3),
    remove(1),
)


class Asked:
    """A quorum, real or not, and what it answered; ids that differ by nature are called by what they stand for."""

    def __init__(self, cluster_id: str, addresses: Mapping[int, Address], keys: Mapping[int, str]) -> None:
        self.cluster_id, self.addresses = cluster_id, addresses
        self.keys = {node: Uuid.parse(key) for node, key in keys.items()}
        self.client = Client(list(addresses.values()), Role.CONTROLLER, limits=Limits(timeout_ms=20_000))

    def ask(self, name: str, body: Mapping[str, Any]) -> tuple[str, int, str]:
        filled = dict(body)
        if "VoterId" in body:
            node_id = body["VoterId"]
            key = self.keys.get(node_id) if body["VoterDirectoryId"] == "own" else UNKNOWN_DIRECTORY
            filled |= {"VoterDirectoryId": key, "ClusterId": self._cluster(body["ClusterId"])}
            at = self.addresses.get(node_id, self.addresses[1])
            if name == "AddRaftVoter":
                filled["Listeners"] = [{"Name": "CONTROLLER", "Host": at.host, "Port": at.port}]
        answer = self.client.ask_active_controller(name, filled, changes=True).body
        return name, answer["ErrorCode"], self._plain(answer["ErrorMessage"] or "")

    def state(self) -> dict[str, Any]:
        """Return what can be seen from outside, by the ways that commands use."""
        log = fetch_registrations(self.client)
        with QuorumObserver(self.client) as observer:
            state = observer.observe(registrations=log)
        return {
            "voters": sorted(
                (voter.id, self.keys[voter.id] == voter.directory_id, voter.alive) for voter in state.voters
            ),
            "observers": sorted(
                (observer.id, self.keys[observer.id] == observer.directory_id, observer.alive)
                for observer in state.observers
            ),
            "mode": state.mode,
            "nodes": {node.id: (node.answers, node.role, node.auto_join) for node in state.nodes.values()},
            "endpoints": all(len(voter.endpoints) == 1 for voter in state.voters),
            "probes": sorted((probe.node_id, probe.answers) for probe in state.probes),
            "commits": state.high_watermark is not None and state.leader_id in {voter.id for voter in state.voters},
            "levels": dict(log.levels),
            "registered": sorted(log.controllers),
            "voters in the log": sorted(voter.node_id for voter in log.voters or ()),
            "findings": sorted(finding.id for finding in state.findings),
        }

    def _cluster(self, word: str) -> str:
        return self.cluster_id if word == "own" else OTHER_CLUSTER

    def _plain(self, text: str) -> str:
        for key in [*map(str, self.keys.values()), str(UNKNOWN_DIRECTORY)]:
            text = text.replace(key, "KEY")
        text = text.replace(self.cluster_id, "CLUSTER").replace("NONE", "")
        return re.sub(r"set of voters \[.*\]", "set of voters [...]", text).strip()


def test_it_answers_as_a_real_quorum_of_4_3_does(new_cluster: ClusterOf) -> None:
    real = new_cluster("4.3.1", controllers=3, voters=(1,), brokers=0, metadata_version="3.9")
    real.start()
    with FakeQuorum(controllers=3, voters=(1,), metadata_version=21) as fake:
        asked = Asked(
            real.cluster_id,
            {id: real.controller_address(id) for id in real.controller_ids},
            {id: real.directory_id(id) for id in real.controller_ids},
        )
        other = Asked(
            fake.cluster_id,
            {id: fake.address(id) for id in fake.nodes},
            {id: str(directory_of(id)) for id in fake.nodes},
        )
        with asked.client, other.client:
            assert other.state() == asked.state()
            for name, body in SCRIPT:
                expected = asked.ask(name, body)
                assert (body, other.ask(name, body)) == (body, expected)
                if expected[1] == 0:
                    real.wait_for(lambda: real.leader_now() in real.voters(), "a leader that votes")
            real.wait_for(lambda: len(real.quorum()["Observers"]) == 2, "told its observers to the new leader")
            assert other.state() == asked.state()
