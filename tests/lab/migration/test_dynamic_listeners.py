"""Dynamic listeners of brokers on a real cluster: the check, its remedy, and what KRaft makes of what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Observation
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.plan_operator import Operator

pytestmark = [pytest.mark.timeout(900)]

_REFUSED = "Advertised listeners cannot be altered when using a Raft-based metadata quorum"


def _found(seen: Observation, id: str) -> dict[str, Finding]:
    return {finding.subject: finding for finding in check(seen) if finding.id == id}


def test_dynamic_listeners_are_named_before_kraft_voids_them(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.chores("topic:kept:1:2")
        operator = Operator(cluster)
        moved = {
            broker: f"PLAINTEXT://localhost:{plain},SASL_PLAINTEXT://localhost:{sasl}"
            for broker, (plain, sasl) in cluster.plan.brokers.items()
        }
        for broker, listeners in moved.items():
            cluster.chores(f"config:broker:{broker}:advertised.listeners={listeners}")
            cluster.chores(f"config:broker:{broker}:background.threads=12")
        assert set(_found(operator.look(), "dynamic-listeners-not-in-kraft")) == {"broker 1", "broker 2"}

        # The remedy, for broker 1: the file, a restart, and then the dynamic value is deleted.
        cluster.write(1, "zk", advertised_listeners=moved[1])
        cluster.restart(1)
        cluster.chores("config:broker:1:advertised.listeners=")
        assert set(_found(operator.look(), "dynamic-listeners-not-in-kraft")) == {"broker 2"}

        cluster.reach("M3")
        for phase in ("migration", "kraft"):
            for broker in cluster.broker_ids:
                own = {"advertised_listeners": moved[1]} if broker == 1 else {}
                cluster.write(broker, phase, **own)
                cluster.restart(broker)
            if phase == "migration":
                cluster.wait_dual_write()
        seen = cluster.wait_for(lambda: _changed(operator.look()), "registered broker 2 elsewhere", 60)
        assert set(seen) == {"broker 2"}
        assert _REFUSED in cluster.node(2).log_text()
        assert _REFUSED not in cluster.node(1).log_text()


def _changed(seen: Observation) -> dict[str, Finding]:
    return _found(seen, "advertised-address-changed")
