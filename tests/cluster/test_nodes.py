from __future__ import annotations

import pytest

from kafkactl.change.reply import Reply
from kafkactl.cluster.describe import FeatureSeen, describe_features, kafka_lines
from kafkactl.cluster.nodes import NodeRow, list_nodes
from kafkactl.cluster.unregister_plan import plan_unregister, read_answer, resolve_unregister
from kafkactl.core.answers import plain_values, read_fields
from kafkactl.core.values import Role
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.schema.definitions import request
from kafkactl.protocol.schema.spec import Versions
from tests.features.clusters import cluster, directory_id, ranges

MIXED = """
levels metadata.version=33
controllers 1* 2 kafka=4.4
controllers 9 kafka=4.4 listed=4.3 gone
brokers 1 kafka=4.4
brokers 4 kafka=4.3
brokers 5 kafka=4.4 gone
"""


def test_each_node_id_has_one_row() -> None:
    rows = {row.id: row.to_dict() for row in list_nodes(cluster(MIXED))}
    assert list(rows) == [1, 2, 4, 5, 9]
    assert rows[1]["roles"] == ["controller", "broker"]
    assert [(row["id"], row["answers"], row["stale"]) for row in rows.values()] == [
        (1, True, False), (2, True, False), (4, True, False), (5, False, True), (9, False, True),
    ]  # fmt: skip
    assert (rows[2]["fenced"], rows[2]["epoch"], rows[2]["voter"]) == (None, None, True)
    assert (rows[5]["fenced"], rows[5]["epoch"], rows[5]["in_controlled_shutdown"]) == (True, 1005, False)
    assert rows[9]["features"]["metadata.version"] == {"min": 7, "max": 30}
    assert rows[9]["kafka_version"] == "4.3"
    assert rows[1]["directory_ids"] == [str(directory_id(101)), str(directory_id(1))]
    assert rows[4]["endpoints"] == [{"listener": "PLAINTEXT", "host": "broker-4", "port": 9092}]


def test_saved_rows_are_read_again() -> None:
    state = cluster("levels metadata.version=25\ncontrollers 1*\nbrokers 4 kafka=4.0\nbrokers 5 gone")
    rows, features = list_nodes(state), describe_features(state)
    assert tuple(read_fields(NodeRow, row.to_dict()) for row in rows) == rows
    assert tuple(read_fields(FeatureSeen, feature.to_dict()) for feature in features) == features


def test_unobserved_facts_are_null() -> None:
    (row,) = list_nodes(cluster("unread\nlevels metadata.version=33\nbrokers 4 unasked"))
    shown = row.to_dict()
    assert [shown[name] for name in ("registered", "answers", "fenced", "epoch")] == [None] * 4


def test_features_as_they_are_described() -> None:
    state = cluster("levels metadata.version=25\ncontrollers 1*\nbrokers 4 kafka=4.0\nbrokers 5 gone")
    shown = {feature["name"]: feature for feature in plain_values(describe_features(state))}
    assert shown["metadata.version"] == {
        "name": "metadata.version",
        "finalized": 25,
        "finalized_name": "4.0-IV3",
        "supported_min": 7,
        "supported_max": 25,
        "nodes": [
            {"id": 1, "role": "controller", "min": 7, "max": 30},
            {"id": 4, "role": "broker", "min": 7, "max": 25},
            {"id": 5, "role": "broker", "min": None, "max": None},
        ],
    }
    streams = shown["streams.version"]
    assert (streams["finalized"], streams["supported_max"], streams["nodes"][1]["max"]) == (0, 0, 0)


def test_lines_equal_those_of_kafkas_describe() -> None:
    state = cluster("levels metadata.version=25\ncontrollers 1*")
    asked = {"metadata.version": Versions(7, 99), "group.version": Versions(0, 1)}
    assert kafka_lines(describe_features(state), None, asked, padded=False) == [
        "Feature: group.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\tFinalizedVersionLevel: 0\tEpoch: -",
        "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: UNKNOWN 99\t"
        "FinalizedVersionLevel: 4.0-IV3\tEpoch: -",
    ]
    assert kafka_lines(describe_features(state), 9, asked, padded=True)[1] == (
        "Feature: metadata.version                          SupportedMinVersion: 3.3-IV3          "
        "SupportedMaxVersion: UNKNOWN 99       FinalizedVersionLevel: 4.0-IV3          Epoch: 9"
    )
    assert ranges("4.0")["metadata.version"] == Versions(7, 25)


def test_request_of_an_unregistration_is_encoded() -> None:
    state = cluster(MIXED)
    for node_id, api_key, field in ((5, 64, "BrokerId"), (9, 94, "ControllerId")):
        plan = plan_unregister(state, node_id)
        assert (plan.api_key, plan.request) == (api_key, {field: node_id})
        spec = request(api_key)
        sent, _ = decode_message(spec, 0, encode_message(spec, 0, plan.request))
        assert sent[field] == node_id


def test_role_that_is_named_decides() -> None:
    state = cluster(MIXED)
    assert [finding.id for finding in plan_unregister(state, 1).findings] == ["node-role-needed"]
    assert [finding.id for finding in plan_unregister(state, 1, Role.BROKER).findings] == ["broker-alive"]


@pytest.mark.parametrize(
    ("code", "reply"),
    [(0, Reply.ACCEPTED), (102, Reply.ACCEPTED), (136, Reply.ACCEPTED), (31, Reply.REFUSED), (35, Reply.REFUSED),
     (42, Reply.REFUSED), (7, Reply.UNCLEAR), (41, Reply.UNCLEAR)],
)  # fmt: skip
def test_answer_to_an_unregistration_is_classified(code: int, reply: Reply) -> None:
    assert read_answer({"ErrorCode": code, "ErrorMessage": "x"})[0] is reply
    assert read_answer(None)[0] is Reply.UNCLEAR


def test_outcome_of_an_unregistration_is_read_from_the_log() -> None:
    before, after = cluster(MIXED), cluster(MIXED.replace("brokers 5 kafka=4.4 gone", ""))
    plan = plan_unregister(before, 5)
    assert resolve_unregister(plan, Reply.UNCLEAR, after)[0].value == "done"
    assert resolve_unregister(plan, Reply.UNCLEAR, before)[0].value == "unknown"
    assert resolve_unregister(plan, Reply.UNCLEAR, before, settled=True)[0].value == "failed"
    assert resolve_unregister(plan, Reply.REFUSED, before, message="no")[1][0].id == "unregister-refused"
    assert resolve_unregister(plan, Reply.ACCEPTED, before)[1][0].id == "node-still-registered"
    assert resolve_unregister(plan, Reply.ACCEPTED, None)[1][0].id == "unregister-outcome-unknown"


def test_plan_to_unregister_names_cluster_node_and_role() -> None:
    state = cluster(MIXED)
    plan = plan_unregister(state, 5)
    assert (plan.outcome.value, plan.cluster_id, plan.node_id) == ("planned", state.cluster_id, 5)
    assert (plan.role, plan.findings) == ("broker", ())
