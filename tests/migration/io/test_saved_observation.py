"""An observation in a folder: what is there is read, what is damaged costs itself alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.migration.io.saved_observation import load_observation
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.zktree.znode import encode_znodes
from kafkactl.protocol.codec import encode_message
from kafkactl.protocol.schema.definitions import message
from tests.migration.migration_logs import LogWriter, bootstrap
from tests.migration.zk_trees import small, znodes

API_KEYS = [{"ApiKey": 3, "MinVersion": 0, "MaxVersion": 4}]
QUORUM_KEY = {"ApiKey": 55, "MinVersion": 0, "MaxVersion": 2}


def answer(name: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
    data = encode_message(message(f"{name}Response"), version, body)
    return {"version": version, "body": base64.b64encode(data).decode()}


def api_versions(*, ready: bool = False, kraft: bool = False) -> dict[str, Any]:
    features = [{"Name": "metadata.version", "MinVersion": 1, "MaxVersion": 21}]
    body = {"ApiKeys": [*API_KEYS, QUORUM_KEY] if kraft else API_KEYS, "SupportedFeatures": features}
    return answer("ApiVersions", 4, {**body, "ZkMigrationReady": ready, "FinalizedFeaturesEpoch": 0})


def quorum(error: int = 0, **partition: Any) -> dict[str, Any]:
    fields = {"PartitionIndex": 0, "ErrorCode": error, "CurrentVoters": [], "Observers": [], **partition}
    return answer("DescribeQuorum", 2, {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [fields]}]})


def node(id: int = 1, role: str = "broker", **fields: Any) -> dict[str, Any]:
    return {"id": id, "role": role, "alive": True, **fields}


def observation(*nodes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    zookeeper = {"connect": "zk1:2181/kafka", "chroot": "/kafka"}
    head = {"kind": "migrate.observation", "schema_version": 1, "time_ms": 5, "zookeeper": zookeeper}
    return {**head, "nodes": list(nodes), **fields}


def saved(folder: Path, table: object, *, tree: bool = True) -> str:
    (folder / "observation.json").write_text(json.dumps(table))
    if tree:
        (folder / "zk.jsonl.gz").write_bytes(encode_znodes(znodes(small(), "/kafka")))
    return str(folder)


def ids(found) -> list[str]:
    return [finding.id for finding in found.findings]


def test_whole_observation_is_saved_and_loaded(tmp_path: Path):
    leads = quorum(LeaderId=3001, LeaderEpoch=4, HighWatermark=6, Observers=[{"ReplicaId": 1, "LogEndOffset": 6}])
    config = "broker.id=1\nzookeeper.connect=zk1:2181/kafka\n"
    folder = saved(
        tmp_path,
        observation(
            node(1, api_versions=api_versions(ready=True), describe_quorum={"error": "closed"}, config=config),
            node(2, api_versions=api_versions(), describe_quorum={"error": "closed"}),
            node(3, api_versions=api_versions(kraft=True), describe_quorum=leads, metrics={"ZkMigrationState": 1}),
            node(3001, "controller", api_versions=api_versions(ready=True, kraft=True), describe_quorum=leads),
            node(3002, "controller", describe_quorum=quorum(6)),
        ),
    )
    log = LogWriter(epoch=4)
    bootstrap(log)
    log.write(tmp_path / "metadata" / "3001")
    found = load_observation(folder)
    assert ids(found) == []
    assert [broker.id for broker in found.brokers] == [1, 2, 3]
    assert [seen.mode for seen in found.nodes] == [Mode.MIGRATING, Mode.ZK, Mode.KRAFT, Mode.KRAFT, None]
    first = found.node(1)
    assert first is not None
    assert (first.config or {})["broker.id"] == "1"
    assert first.quorum is not None
    assert first.quorum.closed
    assert first.kafka_version == "3.9"
    assert found.quorum is not None
    assert (found.quorum.leader_id, found.quorum.leader_epoch) == (3001, 4)
    follower = found.node(3002)
    assert follower is not None
    assert follower.quorum is not None
    assert (follower.quorum.leader_id, follower.quorum.partition_error) == (None, 6)
    assert found.tree is not None
    assert found.tree.get("/controller_epoch") is not None
    assert found.chroot == "/kafka"
    assert found.log is found.logs[3001]
    assert found.log.high_watermark == 6


@pytest.mark.parametrize(
    ("highest", "release"),
    [
        ({0: 9, 1: 13, 4: 7, 24: 3}, "3.4"),
        ({0: 9, 1: 15, 4: 7, 24: 4}, "3.6"),
        ({0: 11, 1: 17, 4: 7, 24: 5}, "3.9"),
        ({0: 9, 1: 13, 4: 6, 24: 3}, None),  # 3.3, and 3.2
        ({0: 99, 1: 99, 4: 99, 24: 99}, None),
        ({}, None),
    ],
)
def test_release_of_a_broker_on_zookeeper_is_recognized_by_its_apis(
    tmp_path: Path, highest: dict[int, int], release: str | None
):
    keys = [{"ApiKey": key, "MinVersion": 0, "MaxVersion": version} for key, version in highest.items()]
    found = load_observation(
        saved(tmp_path, observation(node(api_versions=answer("ApiVersions", 3, {"ApiKeys": keys}))))
    )
    assert found.nodes[0].kafka_version == release
    assert found.nodes[0].mode is (None if release == "3.4" else Mode.ZK)  # 3.4 does not tell its mode


def test_missing_parts_of_an_observation_are_unknown(tmp_path: Path):
    found = load_observation(saved(tmp_path, {"nodes": [{"id": 1, "role": "broker"}]}, tree=False))
    (only,) = found.nodes
    assert (only.alive, only.mode, only.config, only.quorum, only.metrics) == (None,) * 5
    assert (found.tree, found.log, found.quorum, found.connect) == (None,) * 4
    assert ids(found) == []


def test_every_field_may_be_null(tmp_path: Path):
    names = ("alive", "kafka_version", "mode", "config", "meta_properties", "api_versions", "describe_quorum")
    table = observation(node(**dict.fromkeys(names), metrics=None), zookeeper=None, time_ms=None)
    found = load_observation(saved(tmp_path, table))
    assert ids(found) == []
    assert found.tree is not None
    assert found.tree.chroot == "/kafka"


def test_tree_is_loaded_alone(tmp_path: Path):
    (tmp_path / "zk.jsonl.gz").write_bytes(encode_znodes(znodes(small())))
    found = load_observation(str(tmp_path))
    assert ids(found) == ["observation-without-nodes"]
    assert found.tree is not None


@pytest.mark.parametrize(
    ("content", "id"),
    [
        (b"{", "invalid-observation"),
        (b"[]", "invalid-observation"),
        (b"\xff\xfe", "invalid-observation"),
        (b"[" * 100_000, "invalid-observation"),
        (b'{"kind": "log.image"}', "invalid-observation"),
        (b'{"kind": "migrate.observation", "schema_version": 2}', "unsupported-observation-version"),
        (b'{"kind": "migrate.observation", "schema_version": "1"}', "unsupported-observation-version"),
        (b'{"kind": "migrate.observation", "schema_version": true}', "unsupported-observation-version"),
    ],
)
def test_other_content_is_refused_as_an_observation(tmp_path: Path, content: bytes, id: str):
    (tmp_path / "observation.json").write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_observation(str(tmp_path))
    assert caught.value.id == id
    assert caught.value.advice


@pytest.mark.parametrize("name", ["", "missing", "file", "bad\0name"])
def test_folder_without_an_observation_is_refused(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError) as caught:
        load_observation(str(tmp_path / name))
    assert caught.value.id == "no-observation"


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"alive": "yes"}, "nodes[0].alive"),
        ({"mode": "zookeeper"}, "nodes[0].mode"),
        ({"config": 5}, "nodes[0].config"),
        ({"meta_properties": {"version": None}}, "nodes[0].meta_properties"),
        ({"api_versions": {"version": 4, "body": "???"}}, "nodes[0].api_versions"),
        ({"api_versions": {"body": ""}}, "nodes[0].api_versions"),
        ({"describe_quorum": "closed"}, "nodes[0].describe_quorum"),
        ({"describe_quorum": {"error": 7}}, "nodes[0].describe_quorum.error"),
        ({"metrics": {"ZkMigrationState": "one"}}, "nodes[0].metrics.ZkMigrationState"),
        ({"metrics": [1]}, "nodes[0].metrics"),
    ],
)
def test_field_of_the_wrong_type_is_unknown(tmp_path: Path, fields: dict[str, Any], where: str):
    found = load_observation(saved(tmp_path, observation(node(**fields))))
    (finding,) = [finding for finding in found.findings if finding.evidence["field"] == where]
    assert finding.id == "observation-field-unreadable"
    assert len(found.nodes) == 1


@pytest.mark.parametrize("wrong", [7, {}, {"id": -1, "role": "broker"}, {"id": 1, "role": "zookeeper"}, {"id": True}])
def test_node_without_id_or_role_is_left_out(tmp_path: Path, wrong: object):
    found = load_observation(saved(tmp_path, observation(node(2), wrong)))  # type: ignore[arg-type]
    assert [seen.id for seen in found.nodes] == [2]
    assert "observation-field-unreadable" in ids(found)


def test_duplicate_node_is_reported(tmp_path: Path):
    found = load_observation(saved(tmp_path, observation(node(1, mode="zk"), node(1, mode="kraft"))))
    assert [seen.mode for seen in found.nodes] == [Mode.ZK]
    assert ids(found) == ["observation-field-unreadable"]


@pytest.mark.parametrize("name", ["ApiVersions", "DescribeQuorum"])
@pytest.mark.parametrize("body", [b"", b"\0" * 7, b"\xff" * 100])
def test_undecodable_answer_is_reported(tmp_path: Path, name: str, body: bytes):
    field = {"ApiVersions": "api_versions", "DescribeQuorum": "describe_quorum"}[name]
    table = {"version": 2, "body": base64.b64encode(body).decode()}
    found = load_observation(saved(tmp_path, observation(node(**{field: table}))))
    assert ids(found) == ["node-answer-unreadable"]
    assert getattr(found.nodes[0], field.replace("describe_", "")) is None


def test_invalid_configuration_is_reported_with_its_text(tmp_path: Path):
    found = load_observation(saved(tmp_path, observation(node(config="a=\\u12"))))
    assert ids(found) == ["node-config-unreadable"]
    assert found.nodes[0].config_text == "a=\\u12"


@pytest.mark.parametrize(
    "given",
    [
        {"version": "1", "node.id": "7"},
        {"version": 1, "node.id": 7},
        "#\nversion=1\nnode.id=7\n",
        [{"version": "1", "node.id": "7"}, {"version": "1"}],
        {"/data/1": {"version": "1", "node.id": "7"}},
    ],
)
def test_meta_properties_are_read_in_any_form(tmp_path: Path, given: object):
    found = load_observation(saved(tmp_path, observation(node(meta_properties=given))))
    assert found.nodes[0].meta_properties == {"version": "1", "node.id": "7"}


def test_damaged_tree_and_log_are_reported(tmp_path: Path):
    folder = saved(tmp_path, observation(node()))
    tree = (tmp_path / "zk.jsonl.gz").read_bytes()
    (tmp_path / "zk.jsonl.gz").write_bytes(tree[: len(tree) // 2])
    log = LogWriter()
    bootstrap(log)
    end = len(log.data)
    log.leader(3002, epoch=2)
    log.data = log.data[: end - 9] + b"\0" * 9 + log.data[end:]
    log.write(tmp_path / "metadata" / "3001")
    (tmp_path / "metadata" / "3002").mkdir()
    (tmp_path / "metadata" / "readme").write_text("")
    found = load_observation(folder)
    expected = {"observed-log-unreadable", "saved-tree-damaged", "undecodable-record"}
    assert set(ids(found)) - {"znode-line-unreadable"} == expected
    assert list(found.logs) == [3001]
    assert found.logs[3001].epoch == 2


@pytest.mark.parametrize("cut", [lambda tree: tree[: len(tree) // 2], lambda tree: tree[:-4]])
def test_rollback_with_a_cut_tree_is_refused(tmp_path: Path, cut: Callable[[bytes], bytes]):
    folder = saved(tmp_path, observation(node()))
    assert load_observation(folder).tree is not None
    tree = (tmp_path / "zk.jsonl.gz").read_bytes()
    (tmp_path / "zk.jsonl.gz").write_bytes(cut(tree))
    found = load_observation(folder)
    assert found.tree is None
    assert "saved-tree-damaged" in ids(found)
    (tmp_path / "zk.jsonl.gz").write_bytes(tree + b"{not json}\n")
    assert load_observation(folder).tree is None
    assert plan_rollback(load_observation(folder)).outcome is Outcome.REFUSED


def test_log_without_its_beginning_is_unreadable(tmp_path: Path):
    folder = saved(tmp_path, observation())
    log = LogWriter(first_offset=500)
    log.leader(3001)
    log.write(tmp_path / "metadata" / "3001")
    found = load_observation(folder)
    assert ids(found) == ["observed-log-unreadable"]
    assert found.log is None


def test_several_trees_without_a_chroot_are_unreadable(tmp_path: Path):
    folder = saved(tmp_path, observation(zookeeper={}))
    both = [*znodes(small(), "/kafka"), *znodes(small(), "/other")]
    (tmp_path / "zk.jsonl.gz").write_bytes(encode_znodes(both))
    found = load_observation(folder)
    assert ids(found) == ["zookeeper-tree-unreadable"]
    assert found.tree is None


def test_longest_log_counts(tmp_path: Path):
    folder = saved(tmp_path, observation())
    for id, epoch in ((3001, 1), (3002, 7), (3003, 2)):
        log = LogWriter(epoch=epoch)
        bootstrap(log)
        log.write(tmp_path / "metadata" / str(id))
    found = load_observation(folder)
    assert found.log is found.logs[3002]
    assert found.node(3001, Role.CONTROLLER) is None
