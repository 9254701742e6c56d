"""New addresses of all controllers of a dynamic quorum: no leader, why, and the two ways out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config
from tests.lab.harness.ports import HOST, free_port
from tests.lab.harness.probe import answers_api_versions
from tests.lab.migration.driving.runbook import Runbook
from tests.lab.quorum.disks.ports import forwarded
from tests.lab.quorum.disks.test_two_foundings import has_value, ids, set_value

Cli = Callable[..., Run]
NO_LEADER_S = 8.0
PAGE = Path(__file__).parents[4] / "docs" / "quorum-recovery.md"


def move(cluster: KafkaCluster) -> dict[int, int]:
    """Give every stopped controller another port; the old port of each to the new one."""
    moved = {}
    for id in cluster.controller_ids:
        new = free_port()
        moved[cluster.disks.controller_ports[id]] = new
        cluster.disks.controller_ports[id] = new
    servers = ",".join(f"{HOST}:{port}" for port in moved.values())
    for id in cluster.controller_ids:
        changes = {
            "listeners": f"CONTROLLER://{HOST}:{cluster.disks.controller_ports[id]}",
            "controller.quorum.bootstrap.servers": servers,
        }
        write_config(cluster.config_file(id), read_config(cluster.config_file(id)) | changes)
        cluster.node(id).config |= changes
    return moved


def voters_ports(cluster: KafkaCluster) -> dict[int, int]:
    """Return the ports in the voter set that the leader has."""
    from tests.lab.harness.cluster import QUORUM

    with cluster.client(timeout_ms=4_000, request_timeout_ms=2_000) as client:
        nodes = client.ask_active_controller("DescribeQuorum", QUORUM).body["Nodes"]
    return {node["NodeId"]: node["Listeners"][0]["Port"] for node in nodes}


def test_quorum_is_recovered_with_new_addresses(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster]) -> None:
    cluster = new_cluster("4.3.1", controllers=3, brokers=0)
    cluster.start()
    assert set_value(cluster) == 0
    logs = [cluster.disks.metadata_log(id) for id in cluster.controller_ids]
    cluster.wait_for(lambda: all(has_value(kafkactl, log) for log in logs), "the setting in every log")
    cluster.kill(*cluster.controller_ids)
    moved = move(cluster)
    for id in cluster.controller_ids:
        cluster.node(id).start()
        cluster.wait_for(lambda id=id: answers_api_versions(*cluster.node(id).address), f"{id} answers", 120)  # type: ignore[misc]
    time.sleep(NO_LEADER_S)
    assert cluster.leader_now() == -1
    shown = [word for id in cluster.controller_ids for word in ("--log-dir", cluster.disks.log_dir(id))]
    addresses = ",".join(str(cluster.controller_address(id)) for id in cluster.controller_ids)

    def described() -> Run:
        return kafkactl("quorum", "describe", "--bootstrap-controller", addresses, *shown, "-o", "json")

    # A node that starts on a busy machine may answer later than the others.
    cluster.wait_for(lambda: "voters-at-other-addresses" in ids(described()), "voters at other addresses", 120)
    last = described()
    assert last.code == 7
    assert "Bring back voters" not in last.stdout
    cluster.kill(*cluster.controller_ids)

    # One voter has its new address, from the best of three disks.
    target = cluster.disks.workdir / "recovered"
    words = ("quorum", "recover", *shown, "--out", target, "--node-id", 1, "-o", "json")
    assert "quorum-has-majority" in ids(kafkactl(*words, "--plan"))
    new = [word for id in cluster.controller_ids
           for word in ("--new-address", f"{id}={cluster.controller_address(id)}")]  # fmt: skip
    (line,) = Runbook(PAGE).section("4.")
    at = {id: cluster.controller_address(id) for id in cluster.controller_ids}
    names = {f"/mnt/c{id}": str(cluster.disks.log_dir(id)) for id in at} | {"/disk/recovered": str(target)}
    names |= {f"{id}=n{id}:9093": f"{id}={address}" for id, address in at.items()}
    run = kafkactl(*line.words(names))
    assert (run.code, target.exists()) == (0, False), run.stdout
    written = kafkactl(*words, *new, "--confirm", cluster.cluster_id)
    assert (written.json["outcome"], written.json["losses"]["count"]) == ("done", 0), written.stdout
    assert "loss-not-knowable" not in ids(written)
    kept = {id: read_config(cluster.config_file(id)) for id in cluster.controller_ids}
    own = {"log.dirs": str(target), "controller.quorum.bootstrap.servers": str(cluster.controller_address(1))}
    write_config(cluster.config_file(1), kept[1] | own)
    cluster.node(1).start().wait_ready()
    cluster.wait_for(lambda: cluster.leader_now() == 1, "the recovered controller leads", 120)
    assert has_value(kafkactl, "--from-cluster", "--bootstrap-controller", cluster.controller_address(1))
    cluster.kill(1)

    # The old disks are used, and the old ports for one start.
    write_config(cluster.config_file(1), kept[1])
    with forwarded(moved):
        for id in cluster.controller_ids:
            cluster.node(id).start()
        cluster.wait_for(lambda: cluster.leader_now() in cluster.controller_ids, "a leader through the old ports", 120)
        cluster.wait_for(lambda: voters_ports(cluster) == cluster.disks.controller_ports, "new addresses", 120)
        cluster.kill(*cluster.controller_ids)
    cluster.start()
    assert cluster.leader() in cluster.controller_ids
    assert has_value(kafkactl, "--from-cluster", "--bootstrap-controller", addresses)
