from __future__ import annotations

import base64
import hashlib
import json

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.findings import Outcome, warning
from kafkactl.core.frozen import changed
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.storage.fleet.plan_file import (
    FleetPlan,
    PlannedNode,
    node_format_plan,
    parse_plan,
    render_plan,
    shown_plan,
)
from kafkactl.storage.model import Action, PlannedDirectory, PlannedFile, VoterMode

SECRET = b"stored-key-and-server-key"
ID = Uuid(bytes(range(16)))


def a_node(node_id: int) -> PlannedNode:
    directory_id = Uuid(bytes([node_id]) * 16)
    return PlannedNode(
        id=node_id,
        host=f"h{node_id}",
        roles=("controller",),
        kafka_version="4.3.1",
        config="/etc/kafka/server.properties",
        config_values={"log.dirs": "/d"},
        voter_mode=VoterMode.INITIAL_CONTROLLERS,
        mounts=("/d",),
        directories=(
            PlannedDirectory(
                path="/d",
                role="metadata",
                directory_id=directory_id,
                action=Action.FORMAT,
                files=(
                    PlannedFile(name="bootstrap.checkpoint", content=SECRET, mode=None),
                    PlannedFile(name="meta.properties", content=str(directory_id).encode(), mode=0o400),
                ),
            ),
        ),
    )


def a_plan(nodes: int = 3) -> FleetPlan:
    return FleetPlan(
        outcome=Outcome.PLANNED,
        cluster_id="XgM8cvG1S-mQ3k4wGhkVpQ",
        kafka_version="4.3.1",
        release_version="4.3",
        requested_features=("share.version=1",),
        metadata_version_level=30,
        metadata_version_name="4.3-IV0",
        kraft_version=1,
        features={"share.version": 1},
        mode="dynamic",
        voters=(Voter(node_id=1, directory_id=ID, endpoints=(Endpoint(listener="C", host="h1", port=9093),)),),
        static_voters=(),
        created_ms=1_700_000_000_000,
        nodes=tuple(a_node(number) for number in range(1, nodes + 1)),
        findings=(warning("even-voter-count", "fleet", "m", "Name an odd number of voters."),),
    )


def edited(change) -> bytes:
    document = json.loads(render_plan(a_plan()))
    change(document)
    return json.dumps(document).encode()


def resealed(change) -> bytes:
    """Return an edit with a correct new checksum."""
    document = json.loads(edited(change))
    del document["plan_sha256"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["plan_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(document).encode()


def test_plan_comes_back_as_it_was():
    plan, checksum = parse_plan(render_plan(a_plan()), file="plan.json")
    assert plan == a_plan()
    assert checksum == shown_plan(plan)["plan_sha256"]


def test_plan_with_a_finding_is_written_and_read_unchanged():
    plan = changed(a_plan(), findings=(warning("even-voter-count", "fleet", "m"),))
    read, _ = parse_plan(render_plan(plan), file="plan.json")
    assert render_plan(read) == render_plan(plan)


def test_equal_plans_are_equal_bytes():
    assert render_plan(a_plan()) == render_plan(a_plan())


def test_content_that_nodes_share_is_stored_once():
    document = json.loads(render_plan(a_plan(nodes=5)))
    assert len(document["contents"]) == 6  # one bootstrap.checkpoint for all, one meta.properties each


def test_shown_plan_has_no_file_contents():
    shown = json.dumps(shown_plan(a_plan()))
    assert base64.b64encode(SECRET).decode() not in shown
    assert "contents" not in shown_plan(a_plan())
    assert SECRET.decode() not in repr(a_plan())


def test_node_is_planned_in_the_words_of_a_format():
    plan = a_plan()
    planned = node_format_plan(plan, plan.nodes[1])
    assert (planned.node_id, planned.cluster_id, planned.kraft_version) == (2, plan.cluster_id, 1)
    assert planned.directories == plan.nodes[1].directories


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(cluster_id="another"),
        lambda plan: plan["nodes"][0]["directories"][0].update(directory_id="AAAAAAAAAAAAAAAAAAAAAA"),
        lambda plan: plan["nodes"].pop(),
        lambda plan: plan.update(extra=1),
        lambda plan: plan.pop("plan_sha256"),
        lambda plan: plan["contents"].clear(),
    ],
)
def test_plan_edited_by_hand_is_refused(change):
    with pytest.raises(RefusedError) as caught:
        parse_plan(edited(change), file="plan.json")
    assert caught.value.id == "plan-file-edited"
    assert caught.value.exit_code == 3


def test_reformatting_the_json_is_not_an_edit():
    assert parse_plan(edited(lambda plan: None), file="plan.json")[0] == a_plan()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON: the text ends at line 1, column 1: expected a value"),
        (b"\xff", "not UTF-8"),
        (b"[]", "expected a JSON object"),
        (b'{"kind": "storage.format"}', 'expected "kind": "storage.plan"'),
        (b'{"kind": "storage.plan", "schema_version": 2}', "schema_version is 2"),
        (b'{"kind": "storage.plan", "kind": "storage.plan"}', "stands twice"),
        (render_plan(a_plan())[:200], "plan.json is not a plan"),
        (b'{"a":' * 100_000, "is not a plan"),
        (resealed(lambda plan: plan.pop("nodes")), "KeyError"),
        (resealed(lambda plan: plan.update(nodes=7)), "nodes is int, expected is list"),
        (resealed(lambda plan: plan["contents"].clear()), "KeyError"),
        (resealed(lambda plan: plan["nodes"][0]["files"][0].update(name="../../etc/passwd")), "is not a file that"),
        (resealed(lambda plan: plan["contents"].update({next(iter(plan["contents"])): "AAAA"})), "another checksum"),
        (resealed(lambda plan: plan["nodes"][0]["directories"][0].update(directory_id="?")), "not a uuid"),
    ],
)
def test_other_file_is_refused_as_a_plan(data, why):
    with pytest.raises(InputError) as caught:
        parse_plan(data, file="plan.json")
    assert caught.value.id == "not-a-plan-file"
    assert why in caught.value.message
