"""Settings that do no harm before a restart or before KRaft, on real nodes: what becomes of them, and the remedies.

A host name in an ip quota ends the start of a broker; dynamic listeners are void on KRaft.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from kafkactl.core.explanations import explanations
from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.migration.checks.restarts import ROWS
from kafkactl.migration.observed.observation import Observation
from tests.lab.migration.cluster import FIRST_CONTROLLER, MigrationCluster
from tests.lab.migration.driving.driven import Driven
from tests.lab.migration.kazoo_session import kazoo_session
from tests.lab.migration.plan_operator import Operator

NAME = "gateway.invalid"
QUOTA_OF_A_NAME = f"/kafka/config/ips/{NAME}"
NAME_REFUSED = f"Unable to resolve address {NAME}"
_QUOTA = json.dumps({"version": 1, "config": {"connection_creation_rate": "10"}}).encode()
_LISTENERS_REFUSED = "Advertised listeners cannot be altered when using a Raft-based metadata quorum"


def _found(seen: Observation, id: str) -> dict[str, Finding]:
    return {finding.subject: finding for finding in check(seen) if finding.id == id}


def test_ip_quota_of_a_name_and_dynamic_listeners_are_harmless_until_a_restart(tmp_path: Path) -> None:
    assert any(row.check == "C-63" for row in ROWS)
    assert "Unable to resolve address" in str(explanations()["ip-quota-of-host-name"])
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.chores("topic:kept:1:2")
        operator = Operator(cluster)
        moved = _set_dynamic_listeners(cluster, operator)
        _name_ends_a_restart(cluster)

        # Brokers enter, the name comes, then the quorum: the copy takes it, and a broker on KRaft starts with it.
        _restart(cluster, "migration", moved[1])
        with kazoo_session(cluster.zookeeper.connect) as zookeeper:
            zookeeper.create(QUOTA_OF_A_NAME, _QUOTA)
        cluster.format_controllers()
        cluster.start(FIRST_CONTROLLER)
        cluster.wait_dual_write()
        _restart(cluster, "kraft", moved[1])
        cluster.wait_for(lambda: NAME_REFUSED in cluster.node(1).log_text(), "refused the name", 120)
        assert "metadata publishing fault" in cluster.node(1).log_text()
        changed = "advertised-address-changed"
        seen = cluster.wait_for(lambda: _found(operator.look(), changed), "registered broker 2 elsewhere", 120)
        assert set(seen) == {"broker 2"}
        assert _LISTENERS_REFUSED in cluster.node(2).log_text()
        assert _LISTENERS_REFUSED not in cluster.node(1).log_text()


def _set_dynamic_listeners(cluster: MigrationCluster, operator: Operator) -> dict[int, str]:
    """Set listeners of both brokers dynamically, and carry out the remedy for broker 1; the listeners by broker."""
    moved = {
        broker: f"PLAINTEXT://localhost:{plain},SASL_PLAINTEXT://localhost:{sasl}"
        for broker, (plain, sasl) in cluster.plan.brokers.items()
    }
    for broker, listeners in moved.items():
        cluster.chores(f"config:broker:{broker}:advertised.listeners={listeners}")
        cluster.chores(f"config:broker:{broker}:background.threads=12")
    assert set(_found(operator.look(), "dynamic-listeners-not-in-kraft")) == {"broker 1", "broker 2"}
    # The remedy: the file, a restart, and then the dynamic value is deleted.
    cluster.write(1, "zk", advertised_listeners=moved[1])
    cluster.restart(1)
    cluster.chores("config:broker:1:advertised.listeners=")
    assert set(_found(operator.look(), "dynamic-listeners-not-in-kraft")) == {"broker 2"}
    return moved


def _name_ends_a_restart(cluster: MigrationCluster) -> None:
    with kazoo_session(cluster.zookeeper.connect) as zookeeper:
        zookeeper.create(QUOTA_OF_A_NAME, _QUOTA, makepath=True)
        cluster.stop(2)
        cluster.start(2, wait=False)
        cluster.wait_for(lambda: NAME_REFUSED in cluster.node(2).log_text(), "refused the name", 120)
        assert "Fatal error during KafkaServer startup" in cluster.node(2).log_text()
        zookeeper.delete(QUOTA_OF_A_NAME)  # the remedy
    cluster.kill(2)
    cluster.start(2)


def _restart(cluster: MigrationCluster, phase: str, listeners: str) -> None:
    """Restart both brokers in a phase; the file of broker 1 has its listeners."""
    for broker in cluster.broker_ids:
        own = {"advertised_listeners": listeners} if broker == 1 else {}
        cluster.write(broker, phase, **own)
        cluster.restart(broker)


def test_ended_controllers_are_started_and_a_broker_that_ends_is_reported(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2, controllers=3) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        # The first of three controllers was started, which makes /migration, and ended without a majority.
        cluster.format_controllers()
        cluster.start(FIRST_CONTROLLER, wait=False)
        cluster.wait_for(lambda: cluster.znode("/migration"), "/migration", 120)
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
            zookeeper.create(QUOTA_OF_A_NAME, b'{"version":1,"config":{}}', makepath=True)
        # The broker registers half a second before it ends, and its registration outlives it.
        began = time.monotonic()
        answer = driven.run("--until", "M6", "--accept", "ip-quota-of-host-name", code=5)
        ended = {finding["id"]: finding for finding in answer["findings"]}["started-node-ended"]
        assert time.monotonic() - began < 400
        assert NAME_REFUSED in ended["message"]
