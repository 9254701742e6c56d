"""`quorum describe --watch` while a real quorum is wedged and brought back: what an operator sees, look by look."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Role, Uuid
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf


def remove_voter(cluster: KafkaCluster, node_id: int) -> None:
    """Ask Kafka itself, which has no guard against what follows; the answer is not waited for."""
    body = {
        "ClusterId": cluster.cluster_id,
        "VoterId": node_id,
        "VoterDirectoryId": Uuid.parse(cluster.directory_id(node_id)),
    }
    with cluster.client(Role.CONTROLLER, timeout_ms=10_000) as client:
        try:
            client.ask_active_controller("RemoveRaftVoter", body, changes=True)
        except KafkactlError:
            return  # the leader resigned before it answered


@pytest.mark.campaign  # Kafka gives 3 seconds in which two looks must be taken: a matter of a quiet machine
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_watch_reports_a_wedge_and_its_end(release: str, new_cluster: ClusterOf) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0).start()
    dead, healthy = [controller_id for controller_id in cluster.controller_ids if controller_id != cluster.leader()]
    words = ["quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller]
    command = [sys.executable, "-m", "kafkactl", *words, "--watch", "--interval", "700ms"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy()) as watching:
        try:
            seen = _until(watching, lambda look: look["tolerates"] == 1)
            cluster.kill(dead)
            removal = threading.Thread(target=remove_voter, args=(cluster, healthy), daemon=True)
            removal.start()
            seen += _until(watching, lambda look: look["leader_id"] == -1)
            removal.join(15)
            assert "change-not-committed" in {finding["id"] for look in seen for finding in look["findings"]}
            shrunk = [look for look in seen if len(look["voters"]) == 2]
            assert shrunk and shrunk[-1]["tolerates"] <= 0
            cluster.node(dead).start()
            healed = _until(watching, lambda look: look["leader_id"] != -1 and look["tolerates"] == 0)[-1]
            assert {voter["id"] for voter in healed["voters"]} == set(cluster.controller_ids) - {healthy}
        finally:
            watching.send_signal(signal.SIGINT)
        assert watching.wait(20) == 130


def _until(watching: subprocess.Popen[str], holds: Any, looks: int = 60) -> list[dict[str, Any]]:
    """Return the looks up to the first for which that holds."""
    assert watching.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in watching.stdout:
        seen.append(json.loads(line))
        if holds(seen[-1]):
            return seen
        assert len(seen) < looks, [(state["leader_id"], state["tolerates"], state["high_watermark"]) for state in seen]
    raise AssertionError(f"the watch ended after {len(seen)} looks")
