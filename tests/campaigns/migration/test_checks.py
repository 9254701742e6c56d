"""Wrong ways on real clusters: each danger is named from what was observed, and a healthy cluster is not alarmed.

What is wrong is made wrong, observed, looked at, and put right again, so that few clusters are needed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkactl.core.findings import Finding, Severity
from kafkactl.migration.checks.case import Stage, case_of
from kafkactl.migration.checks.registry import UNKNOWN_ID, check
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.saved_observation import observation_from
from tests.campaigns.migration.test_observe import inventory_of
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.kazoo_session import kazoo_session
from tests.lab.migration.plan_operator import delete

pytestmark = pytest.mark.timeout(1_200)

_FLAG = "zookeeper_metadata_migration_enable"


def seen(cluster: MigrationCluster) -> tuple[Finding, ...]:
    return check(observation_from(observe(inventory_of(cluster), timeout_ms=60_000)))


def stage(cluster: MigrationCluster) -> Stage:
    return case_of(observation_from(observe(inventory_of(cluster), timeout_ms=60_000))).stage


def blocking(cluster: MigrationCluster) -> dict[str, str]:
    """Return ids of what blocks, with the subject of one of each."""
    return {finding.id: finding.subject for finding in seen(cluster) if finding.severity is Severity.BLOCKER}


def settled(cluster: MigrationCluster) -> dict[str, str]:
    """Return the same when what only takes its time is over."""
    deadline = time.monotonic() + 30
    while (found := blocking(cluster)) and time.monotonic() < deadline:
        time.sleep(1)
    return found


def until(cluster: MigrationCluster, id: str) -> str:
    """Wait until it blocks; its subject."""
    return cluster.wait_for(lambda: blocking(cluster).get(id), f"shown {id}", 60)


@contextmanager
def file_of(cluster: MigrationCluster, node_id: int, phase: str, **changed: str | None) -> Iterator[None]:
    """Replace a file on disk for the block; the node is not restarted."""
    before = cluster.config_file(node_id).read_bytes()
    cluster.write(node_id, phase, **changed)
    yield
    cluster.config_file(node_id).write_bytes(before)


@contextmanager
def znode_of(cluster: MigrationCluster, path: str, data: bytes) -> Iterator[None]:
    """Replace the data of a znode for the block."""
    with cluster.open_zookeeper() as zookeeper:
        before = zookeeper.read(path)
        assert before is not None
        zookeeper.set(path, data, version=before.version)
    yield
    with cluster.open_zookeeper() as zookeeper:
        now = zookeeper.read(path)
        assert now is not None
        zookeeper.set(path, before.data or b"", version=now.version)


def create(cluster: MigrationCluster, path: str, data: bytes) -> None:
    with kazoo_session(cluster.connect) as client:
        client.create(path, data)


def test_every_mistake_is_found_in_a_migration(tmp_path: Path):
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        cluster.fill()
        assert settled(cluster) == {}
        _before_the_quorum(cluster)

        cluster.reach("M3")
        assert settled(cluster) == {}
        _while_the_quorum_waits(cluster)

        cluster.reach("M4")
        assert settled(cluster) == {}
        _left_migration_mode(cluster)

        cluster.reach("M6")
        assert settled(cluster) == {}
        _in_dual_write(cluster)

        cluster.reach("M7")
        assert settled(cluster) == {}
        cluster.write(3001, "final")
        assert "accidental-finalization" in blocking(cluster)
        cluster.restart(3001)
        assert until(cluster, "finalized-with-zookeeper-broker") == "broker 2"
        cluster.to_kraft(2)
        assert settled(cluster) == {}
        assert stage(cluster) is Stage.FINAL


def _before_the_quorum(cluster: MigrationCluster) -> None:
    with znode_of(cluster, "/config/topics/spread", b'{"version":1,"config":{"max.me'):
        assert blocking(cluster)["config-znode-ignored"] == "/config/topics/spread"
    with file_of(cluster, 1, "zk", inter_broker_protocol_version="3.6", log_dirs="/a,/b"):
        assert {"jbod-before-3-7-iv2", "inter-broker-protocol-differs"} <= set(blocking(cluster))
    with file_of(cluster, 1, "kraft"):
        assert "kraft-file-before-copy" in blocking(cluster)
    with file_of(cluster, 3001, "migration", password_encoder_secret=None):
        assert "encoder-secret-missing" in blocking(cluster)
    with file_of(cluster, 3001, "migration", password_encoder_secret="not-a-real-one"):
        assert "encoder-secret-wrong" in blocking(cluster)
    with file_of(cluster, 3001, "migration", super_users="User:admin"):
        assert "super-users-missing-on-controller" in blocking(cluster)
    with file_of(cluster, 3001, "migration", zookeeper_connect=cluster.connect.removesuffix(cluster.chroot)):
        assert "chroot-mismatch" in blocking(cluster)
    with file_of(cluster, 3001, "migration", **{_FLAG: None}):
        assert "controller-without-flag" in blocking(cluster)
    cluster.stop(2)
    cluster.wait_for(lambda: cluster.znode("/brokers/ids/2") is None, "forgot the broker")
    assert {"replica-on-absent-broker", "broker-not-in-zookeeper"} & set(blocking(cluster))
    cluster.start(2)
    assert settled(cluster) == {}


def _while_the_quorum_waits(cluster: MigrationCluster) -> None:
    """Check KAFKA-20488: each restart is an epoch, and /controller_epoch stays."""
    for _ in range(6):
        cluster.restart(3001)
    assert settled(cluster) == {}
    assert "rollback-needs-controller-epoch" in {finding.id for finding in seen(cluster)}
    cluster.stop(3001)
    with file_of(cluster, 3001, "migration", **{_FLAG: "false"}):
        cluster.start(3001)
        assert "controller-without-flag" in blocking(cluster)
        cluster.stop(3001)
    cluster.start(3001)
    assert settled(cluster) == {}


def _left_migration_mode(cluster: MigrationCluster) -> None:
    """Leave migration mode: the registration stays, and nothing of Kafka notices (measured page, 2.1)."""
    cluster.restart(1, "zk")
    assert until(cluster, "registered-broker-without-flag") == "broker 1"
    cluster.restart(1, "migration")
    assert settled(cluster) == {}


def _in_dual_write(cluster: MigrationCluster) -> None:
    with file_of(cluster, 3001, "migration", **{_FLAG: "false"}):
        assert "accidental-finalization" in blocking(cluster)
    delete(cluster, "/controller")
    assert until(cluster, "split-brain") == "/controller"
    cluster.restart(3001)
    cluster.wait_for(lambda: cluster.controller().get("brokerid") == 3001, "claimed again")
    assert settled(cluster) == {}

    kept = cluster.znode("/migration")
    assert kept is not None
    delete(cluster, "/migration")
    assert until(cluster, "migration-znode-deleted") == "/migration"
    create(cluster, "/migration", kept.data or b"")
    cluster.restart(3001)
    assert settled(cluster) == {}

    cluster.restart(2, "zk")
    assert until(cluster, "registered-broker-without-flag") == "broker 2"
    cluster.restart(2, "migration")
    assert settled(cluster) == {}

    cluster.zookeeper.kill()
    found = seen(cluster)
    assert "C-30" in {finding.evidence["check"] for finding in found}
    cluster.zookeeper.start().wait_ready()
    cluster.wait_for(lambda: cluster.znode("/brokers/ids/1") and cluster.znode("/brokers/ids/2"), "come back")
    assert settled(cluster) == {}


def test_wrong_cluster_level_and_secret_are_found(tmp_path: Path):
    settings = {"password.encoder.secret": "not-a-real-one", "inter.broker.listener.name": "INTERNAL",
                "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"}  # fmt: skip
    with MigrationCluster(
        "3.9.2", tmp_path, brokers=2, ibp="3.9", metadata_version="3.8", controller_settings=settings
    ) as cluster:
        cluster.reach("M0")
        cluster.fill()
        cluster.format_controllers(cluster_id="bm90LXRoaXMtY2x1c3Rlcg")
        cluster.start(3001)
        cluster.wait_for(lambda: cluster.znode("/migration"), "/migration")
        assert set(blocking(cluster)) == {
            "cluster-id-mismatch", "inter-broker-protocol-not-metadata-version", "encoder-secret-wrong",
            "inter-broker-listener-mismatch",
        }  # fmt: skip


def test_first_start_of_controllers_without_the_flag_is_found(tmp_path: Path):
    with MigrationCluster("3.9.2", tmp_path, brokers=1) as cluster:
        cluster.reach("M0")
        cluster.format_controllers()
        cluster.write(3001, "migration", **{_FLAG: None})
        cluster.start(3001)
        assert until(cluster, "quorum-started-without-flag") == "quorum"


def test_leftover_migration_znode_of_a_rollback_is_found_by_the_next_attempt(tmp_path: Path):
    # Measured page, 2.4: the second attempt empties ZooKeeper; it is reported before, and while there is time.
    with MigrationCluster("3.9.2", tmp_path, brokers=1) as cluster:
        cluster.reach("M0")
        cluster.reach("M6")
        cluster.wait_for(lambda: cluster.migration()["kraft_metadata_offset"] > 100, "written 100 records")
        cluster.stop(3001)
        delete(cluster, "/controller")
        cluster.wait_for(lambda: cluster.controller().get("brokerid") == 1, "elected the broker")
        cluster.stop(1)  # by force, perhaps: it may still look for the KRaft controller (measured page, 2.3)
        cluster.wait_for(lambda: cluster.znode("/brokers/ids/1") is None, "forgot the broker")
        cluster.write(1, "zk")
        cluster.start(1)
        cluster.wait_for(lambda: cluster.controller().get("brokerid") == 1, "elected the broker again")
        assert "stale-migration-znode" in blocking(cluster)

        for path in sorted(cluster.plan.log_dir(3001).rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        cluster.format_controllers()
        cluster.start(3001)
        assert until(cluster, "stale-migration-znode") == "/migration"
        cluster.restart(1, "migration")
        assert until(cluster, "stale-migration-in-progress") == "/migration"
        cluster.kill(3001)
        assert json.loads((cluster.znode("/controller") or pytest.fail("no /controller")).data or b"{}")


def test_unknown_is_all_that_a_healthy_cluster_leaves_open(tmp_path: Path):
    # Three controllers and 3.8.1: whatever is asked is a matter of not having looked.
    with MigrationCluster("3.8.1", tmp_path, brokers=1, controllers=3) as cluster:
        for state in ("M0", "M3", "M6", "M8", "M11"):
            cluster.reach(state)
            assert settled(cluster) == {}, state
            asked = {finding.id for finding in seen(cluster) if finding.severity is Severity.WARNING} - {UNKNOWN_ID}
            assert asked <= {"release-with-migration-bugs", "zookeeper-behind", "flag-after-finalization"}, state


def test_changes_lost_by_dual_write_are_reported(tmp_path: Path):
    # D2, D4, D5 and the SCRAM users of a replay: reported before a restart makes them true, and true afterwards.
    with MigrationCluster("3.9.2", tmp_path, brokers=1) as cluster:
        cluster.reach("M6")
        cluster.chores("quota:producer_byte_rate=77:client-id=brief")
        assert settled(cluster) == {}
        cluster.chores("quota:producer_byte_rate=:client-id=brief")
        assert until(cluster, "quota-removal-not-mirrored") == "client-id brief"
        cluster.restart(3001)
        assert settled(cluster) == {}

        cluster.chores("config:client_metrics:sub:interval.ms=1000")
        assert until(cluster, "client-metrics-in-dual-write") == "client-metrics sub"
        cluster.restart(3001)
        assert until(cluster, "migration-driver-stuck") == "/migration"
        cluster.chores("config:client_metrics:sub:interval.ms=")
        cluster.restart(3001)
        assert settled(cluster) == {}

        cluster.chores("topic:again:2:1")
        assert settled(cluster) == {}
        _scram_users(cluster)
        cluster.zookeeper.kill()
        cluster.chores("delete-topic:again", "topic:again:3:1")
        cluster.kill(3001)
        cluster.zookeeper.start().wait_ready()
        cluster.wait_for(lambda: cluster.znode("/brokers/ids/1"), "come back")
        cluster.start(3001)
        assert until(cluster, "recreated-topic-not-mirrored") == "again"


def _scram_users(cluster: MigrationCluster) -> None:
    """Check that Kafka forgets the users that the check names, and no other (measured page, 5.1)."""
    cluster.chores("scram:alice", "scram:bob", "delete-scram:alice")
    cluster.wait_for(lambda: _credentials(cluster) == {"bob"}, "mirrored the users")
    assert "scram-removed-in-dual-write" in {finding.id for finding in seen(cluster)}
    assert settled(cluster) == {}
    cluster.restart(3001)
    cluster.wait_dual_write()
    assert settled(cluster) == {}
    assert _credentials(cluster) == {"bob"}

    cluster.chores("scram:bob@x.com", "delete-scram:bob", "scram:zoe", "delete-scram:zoe")
    cluster.wait_for(lambda: _credentials(cluster) == {"bob%40x.com"}, "mirrored the users")
    reported = {
        name
        for finding in seen(cluster)
        if finding.id == "scram-users-lost-on-restart"
        for name in finding.evidence["users"]
    }
    cluster.restart(3001)
    cluster.wait_dual_write()
    time.sleep(3)
    assert _credentials(cluster) == ({"bob%40x.com"} if not reported else set())
    assert reported == {"bob@x.com"}


def _credentials(cluster: MigrationCluster) -> set[str]:
    """Return names of znodes that hold a credential."""
    with cluster.open_zookeeper() as zookeeper:
        tree = zookeeper.read_tree()
    users = {name: tree.znodes[f"/config/users/{name}"].data or b"" for name in tree.children("/config/users")}
    return {name for name, data in users.items() if b"SCRAM-SHA-256" in data}
