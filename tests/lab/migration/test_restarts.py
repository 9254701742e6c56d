"""Settings that do no harm before a node is restarted, on real nodes: a name in an ip quota, and its remedy."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from kafkactl.migration.checks.restarts import ROWS
from kafkactl.protocol.schema.explanations import explanations
from tests.lab.migration.cluster import FIRST_CONTROLLER, MigrationCluster
from tests.lab.migration.driving.driven import Driven
from tests.lab.migration.kazoo_session import kazoo_session

NAME = "gateway.invalid"
PATH = f"/kafka/config/ips/{NAME}"
REFUSED = f"Unable to resolve address {NAME}"


@pytest.mark.timeout(600)
def test_name_of_an_ip_quota_ends_a_restart_until_its_znode_is_deleted(tmp_path: Path) -> None:
    assert any(row.check == "C-63" for row in ROWS)
    assert "Unable to resolve address" in str(explanations()["ip-quota-of-host-name"])
    quota = json.dumps({"version": 1, "config": {"connection_creation_rate": "10"}}).encode()
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        with kazoo_session(cluster.zookeeper.connect) as zookeeper:
            zookeeper.create(PATH, quota, makepath=True)
            cluster.stop(2)
            cluster.start(2, wait=False)
            cluster.wait_for(lambda: REFUSED in cluster.node(2).log_text(), "refused the name", 60)
            assert "Fatal error during KafkaServer startup" in cluster.node(2).log_text()

            zookeeper.delete(PATH)  # the remedy
            cluster.kill(2)
            cluster.start(2)

            # Brokers enter, the name comes, then the quorum: the copy takes it, and a broker on KRaft starts with it.
            for broker in cluster.broker_ids:
                cluster.restart(broker, "migration")
            zookeeper.create(PATH, quota)
            cluster.format_controllers()
            cluster.start(FIRST_CONTROLLER)
            cluster.wait_dual_write()
            cluster.restart(1, "kraft")
            deadline = time.monotonic() + 30
            while REFUSED not in cluster.node(1).log_text() and time.monotonic() < deadline:
                time.sleep(0.5)
            assert "metadata publishing fault" in cluster.node(1).log_text()


@pytest.mark.timeout(900)
def test_ended_controllers_are_started_and_a_broker_that_ends_is_reported(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2, controllers=3) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        # The first of three controllers was started, which makes /migration, and ended without a majority.
        cluster.format_controllers()
        cluster.start(FIRST_CONTROLLER, wait=False)
        cluster.wait_for(lambda: cluster.znode("/migration"), "/migration", 60)
        cluster.kill(FIRST_CONTROLLER)
        status = driven.kafkactl("status", code=7)
        found = {finding["id"] for finding in (*status["gates"], *status["findings"])}
        assert status["state"] == "M2"
        assert "started-controllers-ended" in found
        assert "incomplete-rollback" not in found
        answer = driven.run("--until", "M3")  # the remedy
        assert answer["state"] == "M3"

        # A broker that ends after its start: the error is in the answer, not ten minutes later.
        every = 'cat "$1"/node-"$2"-*.log'
        logs = json.dumps(["sh", "-c", every, "logs", str(cluster.logs), "{node_id}"])
        text = driven.inventory.read_text(encoding="utf-8")
        driven.inventory.write_text(
            text.replace("timeout_s = 120", f"timeout_s = 120\nlogs = {logs}"), encoding="utf-8"
        )
        with kazoo_session(cluster.zookeeper.connect) as zookeeper:
            zookeeper.create(PATH, b'{"version":1,"config":{}}', makepath=True)
        # A broker registers half a second before it ends, so gates one second apart would not observe its end.
        began = time.monotonic()
        answer = driven.run("--until", "M4", "--gate-interval", "5s", "--accept", "ip-quota-of-host-name", code=5)
        ended = {finding["id"]: finding for finding in answer["findings"]}["started-node-ended"]
        assert time.monotonic() - began < 150
        assert REFUSED in ended["message"]
