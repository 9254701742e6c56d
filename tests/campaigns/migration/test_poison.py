"""Poison of each kind on a real cluster: what is called lethal kills the controller, what is called silent is lost so.

One cluster runs all of it. A copy that fails leaves everything as it was, but `/controller`: so one poison after the
other is put in, and the controller started again. At last come those that Kafka passes over in silence, all at once,
and the records of that copy are the predicted ones, byte for byte.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kafkactl.migration.copy.forecast import CopyForecast, CopyOutcome, forecast_copy
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.protocol.catalog.releases import KafkaVersion
from tests.lab.migration import log as migration_log
from tests.lab.migration.cluster import FIRST_CONTROLLER, MigrationCluster
from tests.lab.migration.configs import ENCODER_SECRET
from tests.lab.migration.kazoo_session import kazoo_session
from tests.migration.copy.proof import assert_same_batches, assert_same_records

pytestmark = pytest.mark.timeout(1200)
RELEASES = ("3.9.2", "3.7.2")
WATCHED_S = 6.0  # in which a healthy copy of this tree is begun and ended


def _json(**fields: object) -> bytes:
    return json.dumps(fields).encode()


_ENTRY = {"principal": "User:a", "permissionType": "Allow", "operation": "Read", "host": "*"}
_TOKEN = {
    "version": 3, "owner": "User:a", "tokenRequester": "User:a", "renewers": [], "issueTimestamp": "1",
    "maxTimestamp": "9000000000000", "expiryTimestamp": "9000000000000", "tokenId": "t",
}  # fmt: skip
_BLOCK = _json(version=1, broker=1, block_start="x", block_end="y")
_ID = "3DQ5fs2iR1mUsgN7o0xA9g"
_STATE = "/brokers/topics/under_score.dots-and-dashes/partitions/0/state"
# The first must let a broker start: a broken quota, for one, ends brokers on ZooKeeper while they start, too.
LETHAL = [
    ("broken-producer-id-block-znode", "/latest_producer_id_block", _BLOCK),
    ("quota-not-a-number", "/config/clients/app", _json(version=1, config={"producer_byte_rate": "abc"})),
    ("quota-not-a-number", "/config/ips/192.0.2.7", _json(version=1, config={"connection_creation_rate": ""})),
    ("broken-scram-credential", "/config/users/alice", _json(version=1, config={"SCRAM-SHA-256": "salt=xx"})),
    ("broken-config-znode", "/config/users/50%-of", _json(version=1, config={})),
    ("broken-acl-znode", "/kafka-acl/Topic/poison", _json(version=2, acls=[_ENTRY])),
    ("broken-acl-znode", "/kafka-acl/Group/poison", _json(version=1, acls=[{**_ENTRY, "principal": "nobody"}])),
    ("broken-delegation-token-znode", "/delegation_token/tokens/poison", _json(**{**_TOKEN, "version": 9})),
    ("broken-partition-state-znode", _STATE, _json(version=1, leader=1, leader_epoch=0, controller_epoch=1)),
]  # fmt: skip
WAITED_FOR = [
    ("broken-topic-znode", "/brokers/topics/poison", _json(version=3, topic_id=_ID, partitions={"0": ["x"]})),
    ("broken-broker-znode", "/brokers/ids/x", _json(version=5, endpoints=[])),
    ("replica-on-absent-broker", "/brokers/topics/poison", _json(version=3, topic_id=_ID, partitions={"0": [9]})),
    ("empty-migration-znode", "/migration", b""),
]
SILENT = [
    ("config-znode-ignored", "/config/topics/spread", b'{"version":1,"config":{"retention.ms":"36'),
    ("config-znode-ignored", "/config/clients/cut", b"{"),
    ("acl-znode-ignored", "/kafka-acl/Topic/cut", b"[1,"),
    ("acl-of-unknown-resource-type", "/kafka-acl/Moon/x", _json(version=1, acls=[_ENTRY])),
    ("acl-with-unknown-word", "/kafka-acl/Topic/odd", _json(version=1, acls=[{**_ENTRY, "operation": "Fly"}])),
    ("delegation-token-ignored", "/delegation_token/tokens/cut", b"{"),
    ("partition-state-ignored", _STATE, b'{"version":1,"lea'),
    ("orphan-topic-config", "/config/topics/ghost", _json(version=1, config={"retention.ms": "1"})),
]


def put(client: KazooClient, *poison: tuple[str, str, bytes]) -> None:
    """Replace the data of these znodes."""
    for _, path, data in poison:
        client.ensure_path(path)
        client.set(path, data)


@contextmanager
def poisoned(client: KazooClient, poison: tuple[str, str, bytes]) -> Iterator[None]:
    """Keep one poison in place while the block lasts."""
    path = poison[1]
    before = client.get(path)[0] if client.exists(path) else None
    put(client, poison)
    yield
    if before is None:
        client.delete(path)
    else:
        client.set(path, before)


def forecast(cluster: MigrationCluster, release: str) -> tuple[KafkaTree, CopyForecast]:
    """Return what is predicted of the tree as it is now."""
    with cluster.open_zookeeper() as zookeeper:
        tree = parse_tree(zookeeper.read_tree())
    rules = copy_rules(KafkaVersion(*(int(part) for part in release.split("."))))
    return tree, forecast_copy(tree, rules, secrets=(ENCODER_SECRET,))


def exits(cluster: MigrationCluster) -> None:
    """Check that the controller exits, with the copy undone and nothing in `/migration`."""
    node = cluster.node(FIRST_CONTROLLER)
    assert node.wait_exit(60) != 0
    assert "Aborting the ZK migration" in node.log_text()
    assert cluster.migration()["kraft_metadata_offset"] == -1
    assert cluster.controller()["brokerid"] == FIRST_CONTROLLER


def waits(cluster: MigrationCluster) -> None:
    """Check that the controller leads and lives, and begins no copy."""
    node = cluster.node(FIRST_CONTROLLER)
    cluster.wait_for(lambda: "KRaftMigrationDriver" in node.log_text(), "a migration driver")
    time.sleep(WATCHED_S)
    assert node.alive and "Starting ZK migration" not in node.log_text()
    assert cluster.migration().get("kraft_metadata_offset", -1) == -1


@pytest.mark.parametrize("release", RELEASES)
def test_each_poison_does_what_is_said_of_it(release: str, tmp_path: Path) -> None:
    wrong = []
    with MigrationCluster(release, tmp_path) as cluster:
        cluster.reach("M0")
        cluster.fill()
        cluster.reach("M4")
        with kazoo_session(cluster.connect) as client:
            for number, poison in enumerate(LETHAL):
                with poisoned(client, poison):
                    _, found = forecast(cluster, release)
                    if found.outcome is not CopyOutcome.EXITS or poison[0] not in [said.id for said in found.findings]:
                        wrong.append(f"{poison[:2]} is foretold as {found.outcome}")
                    if number == 0:
                        cluster.restart(2, "migration")
                    else:
                        cluster.start(FIRST_CONTROLLER, wait=False)
                    try:
                        exits(cluster)
                    except Exception as error:
                        wrong.append(f"{poison[:2]}: {str(error)[:300]}")
                        break
            assert not wrong
            cluster.write(FIRST_CONTROLLER, "migration", password_encoder_secret="another-secret")
            cluster.start(FIRST_CONTROLLER, wait=False)
            exits(cluster)
            cluster.write(FIRST_CONTROLLER, "migration")
            for poison in WAITED_FOR:
                with poisoned(client, poison):
                    _, found = forecast(cluster, release)
                    assert found.outcome is CopyOutcome.NEVER_STARTS, poison
                    assert poison[0] in [said.id for said in found.findings]
                    cluster.start(FIRST_CONTROLLER)
                    waits(cluster)
                    cluster.kill(FIRST_CONTROLLER)
            put(client, *SILENT)
            tree, found = forecast(cluster, release)
            assert found.outcome is CopyOutcome.LOSES
            assert {id_ for id_, _, _ in SILENT} <= {said.id for said in found.findings}
            cluster.start(FIRST_CONTROLLER)
            cluster.wait_dual_write()
            real = migration_log.copied_batches(cluster.metadata_log())
            assert client.exists("/config/topics/ghost") is None  # the first sync deletes it
    assert_same_records(tree, release, real)
    assert_same_batches(tree, release, real)
