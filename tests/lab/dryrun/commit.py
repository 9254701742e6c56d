"""Committed records that several voters' logs prove, against those that remain when the quorum resumes.

The leader is cut off from its followers, takes a change that can never commit, and all controllers are killed. Then
the followers continue without it.
"""

from __future__ import annotations

import contextlib

from kafkactl.core.errors import KafkactlError
from kafkactl.dryrun.api.clusters import open_clusters
from kafkactl.dryrun.api.logs import choose, read_chosen
from kafkactl.dryrun.engine.local import records_in
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.metadata.image.model import BROKER_CONFIG
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.batch_scan import Damage
from tests.lab.dryrun.stage import Stage
from tests.lab.harness.cluster import KafkaCluster

KEY, KEPT, LOST = "log.retention.ms", "111111", "222222"


def cut_off(stage: Stage) -> list[tuple[str, bool]]:
    """Name and outcome of each thing that was foreseen from the three folders."""
    cluster = stage.cluster
    leader = cluster.leader()
    others = [controller_id for controller_id in cluster.controller_ids if controller_id != leader]
    assert _set(cluster, leader, KEPT) == 0
    cluster.wait_for(lambda: _set_everywhere(cluster, KEPT), "the first value in every log")
    known = cluster.quorum()["HighWatermark"]
    cluster.pause(*others)
    with contextlib.suppress(KafkactlError):
        _set(cluster, leader, LOST)  # no answer: no follower fetches it
    assert _has(cluster, leader, LOST), "the leader has not taken the change"
    cluster.kill(leader, *others)
    whole = _world(cluster, *cluster.controller_ids)
    bound, written = whole.loaded.committed_offset, _records(cluster, leader)
    assert bound is not None
    alone, pair = (_world(cluster, *nodes).loaded.committed_offset for nodes in ((leader,), others))
    reported = [
        ("the change without followers is behind the bound", _offset_of(cluster, leader, LOST) > bound),
        ("the bound is not below what the leader knew", bound >= known - 1),
        ("one folder of three proves nothing but its snapshot", alone is None or alone <= bound),
        ("two folders prove no more than three", pair is not None and pair <= bound),
    ]
    cluster.start(*others)
    new = cluster.leader()
    left = _records(cluster, new)
    reported.append(("all up to the bound is left", written[: bound + 1] == left[: bound + 1]))
    reported.append(("the change without followers is gone", not _has(cluster, new, LOST) and _has(cluster, new, KEPT)))
    cluster.start(leader)
    cluster.wait_for(lambda: not _has(cluster, leader, LOST), "the old leader has cut its log")
    reported.append(("the old leader cuts its log", _records(cluster, leader)[: bound + 1] == left[: bound + 1]))
    return reported


def _set(cluster: KafkaCluster, leader: int, value: str) -> int:
    config = {"Name": KEY, "ConfigOperation": 0, "Value": value}
    resource = {"ResourceType": BROKER_CONFIG, "ResourceName": "", "Configs": [config]}
    body = {"Resources": [resource], "ValidateOnly": False}
    with cluster.client(timeout_ms=5_000, request_timeout_ms=3_000) as client:
        answer = client.ask_node(cluster.controller_address(leader), "IncrementalAlterConfigs", body, changes=True).body
    code: int = answer["Responses"][0]["ErrorCode"]
    return code


def _set_everywhere(cluster: KafkaCluster, value: str) -> bool:
    return all(_has(cluster, controller_id, value) for controller_id in cluster.controller_ids)


def _world(cluster: KafkaCluster, *nodes: int) -> ScenarioContext:
    logs = {str(cluster.disks.metadata_log(node)): str(cluster.disks.metadata_log(node)) for node in nodes}
    (found,) = open_clusters(logs)
    return read_chosen(choose(found))


def _records(cluster: KafkaCluster, node_id: int) -> list[tuple[int, object]]:
    """Return epoch and content of each record, in the order of offsets from 0 on."""
    found: list[tuple[int, object]] = []
    for segment in open_source(str(cluster.disks.metadata_log(node_id))).segments:
        for record in records_in(segment):
            if isinstance(record, Damage):
                break
            assert record[0].offset == len(found)
            found.append((record[0].epoch, record[0].record))
    return found


def _offset_of(cluster: KafkaCluster, node_id: int, value: str) -> int:
    """Return where that value of the setting was written; -1 if it was not."""
    for offset, (_, record) in enumerate(_records(cluster, node_id)):
        data = getattr(record, "data", {})
        if isinstance(data, dict) and (data.get("Name"), data.get("Value")) == (KEY, value):
            return offset
    return -1


def _has(cluster: KafkaCluster, node_id: int, value: str) -> bool:
    return _offset_of(cluster, node_id, value) >= 0
