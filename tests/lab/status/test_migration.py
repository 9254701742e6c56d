"""`kafkactl status` in the phases of a migration from ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.pool import Pool
from tests.lab.migration.cluster import FIRST_CONTROLLER, MigrationCluster


@pytest.mark.campaign
def test_migration_is_named_until_it_is_finished(lab_pool: Pool, tmp_path: Path, kafkactl: Callable[..., Run]) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:

        def levels_by(option: str, addresses: str) -> dict[str, object]:
            def asked() -> dict[str, object] | None:
                run = kafkactl("status", option, addresses, "-o", "json")
                areas = {area["area"]: area for area in run.json["areas"]} if run.stdout else {}
                return areas["levels"] if areas and areas["quorum"]["verdict"] != "unknown" else None

            return cluster.wait_for(asked, "a status with a quorum")

        def is_refused() -> bool:
            run = kafkactl("status", "--bootstrap-server", cluster.bootstrap_server)
            return run.code == 4 and "zookeeper-mode" in run.stderr

        cluster.reach("M0")
        assert is_refused()
        cluster.reach("M6")
        assert is_refused()
        headline = levels_by("--bootstrap-controller", cluster.bootstrap_controller)["headline"]
        assert headline == "the migration from ZooKeeper is not finished: brokers 1, 2 in ZooKeeper mode"
        cluster.reach("M7")
        headline = levels_by("--bootstrap-server", cluster.bootstrap_server)["headline"]
        assert headline == "the migration from ZooKeeper is not finished: broker 2 in ZooKeeper mode"
        cluster.reach("M11")
        assert cluster.node(FIRST_CONTROLLER).alive
        finished = levels_by("--bootstrap-server", cluster.bootstrap_server)
        assert finished["verdict"] == "ok", finished
