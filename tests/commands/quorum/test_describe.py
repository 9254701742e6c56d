"""`kafkactl quorum describe` as a command: its answer in every form, its exit codes, its lines."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.observation import quorum_answer, quorum_state
from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.commands.demo.broker import FakeBroker, Raw
from kafkactl.commands.quorum.kafka_text import replication_lines, status_lines
from kafkactl.commands.quorum.page import kafka_page, quorum_page
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.rendering.plain_text import render
from kafkactl.commands.rendering.terminal import show
from kafkactl.core.answer_kinds import has_published_shape
from kafkactl.core.answers import plain_values
from kafkactl.core.values import Role
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.schema.definitions import response
from kafkactl.quorum.api import QuorumDescription
from kafkactl.quorum.health import check_health
from tests.kafka.quorum_nodes import CLUSTER_ID, Quorum, directory, running
from tests.protocol.random_messages import random_message

HOSTILE_LINES = {"quorum describe": ("--log-dir {log}", "{controllers}", "--bundle {bundle}")}

HOSTILE_PATHS = {
    "quorum describe": [
        ("--log-dir", "--log-dir {@00000000000000000000.log}", (2, 7), ("device", "fifo")),
    ],
}


@pytest.fixture
def describe(kafkactl):
    """Run `quorum describe` against the controllers of a quorum, or its brokers."""

    def run(quorum, *words, brokers=False):
        nodes = quorum.brokers if brokers else quorum.controllers
        addresses = ",".join(str(node.address) for node in nodes.values())
        option = "--bootstrap-server" if brokers else "--bootstrap-controller"
        return kafkactl("quorum", option, addresses, "describe", *words)

    return run


def test_healthy_quorum_is_described(describe):
    with running(Quorum(observers=(11,))) as quorum:
        run = describe(quorum, "-o", "json")
        port = quorum.endpoints[1].port
    assert (run.code, run.stderr) == (0, "")
    document = run.json
    assert (document["kind"], document["cluster_id"], document["mode"], document["kraft_version"]) == (
        "quorum.describe", CLUSTER_ID, "dynamic", 1,
    )  # fmt: skip
    assert (document["leader_id"], document["leader_epoch"], document["high_watermark"]) == (2, 7, 995)
    assert (document["majority"], document["tolerates"], document["findings"], document["disks"]) == (2, 1, [], [])
    assert document["voters"][0] == {
        "id": 1,
        "directory_id": str(directory(1)),
        "endpoints": [{"listener": "CONTROLLER", "host": "127.0.0.1", "port": port}],
        "log_end_offset": 1_000,
        "lag": 0,
        "last_fetch_timestamp_ms": 1_700_000_000_000 - 100,
        "last_caught_up_timestamp_ms": 1_700_000_000_000 - 100,
        "alive": True,
        "evidence": "answers, and fetched 100 ms before",
    }
    assert [observer["id"] for observer in document["observers"]] == [11]


def test_quorum_is_shown_as_text(describe):
    with running(Quorum(ages_ms={3: 60_000}), down=()) as quorum:
        run = describe(quorum)
    assert run.code == 0
    assert run.stdout.startswith("Controller 2 leads; the quorum survives no failure\n")
    assert "voters          3, majority 2, alive 2\n" in run.stdout
    assert "3     voter   no     1000     0    60 s ago    60 s ago" in run.stdout
    assert "! warning  voter-is-dead  controller 3" in run.stdout


def test_answer_is_equal_in_every_form(describe):
    with running(Quorum()) as quorum:
        lines = describe(quorum, "-o", "jsonl")
        yaml = describe(quorum, "-o", "yaml")
    assert json.loads(lines.stdout)["leader_id"] == 2
    assert lines.stdout.count("\n") == 1
    assert yaml.stdout.startswith("---\nkind: quorum.describe\n")


def test_lines_equal_those_of_kafkas_tool(describe):
    with running(Quorum(observers=(11,), ages_ms={1: 450})) as quorum:
        status = describe(quorum, "--status")
        ports = {id: at.port for id, at in quorum.endpoints.items()}
        table = describe(quorum, "--replication")
        human = describe(quorum, "--replication", "--human-readable")
    voters = ", ".join(
        f'{{"id": {id}, "directoryId": "{directory(id)}", "endpoints": ["CONTROLLER://127.0.0.1:{port}"]}}'
        for id, port in ports.items()
    )
    assert status.stdout == (
        f"ClusterId:              {CLUSTER_ID}\n"
        "LeaderId:               2\n"
        "LeaderEpoch:            7\n"
        "HighWatermark:          995\n"
        "MaxFollowerLag:         0\n"
        "MaxFollowerLagTimeMs:   450\n"
        f"CurrentVoters:          [{voters}]\n"
        f'CurrentObservers:       [{{"id": 11, "directoryId": "{directory(11)}"}}]\n'
    )
    rows = [line.split("\t") for line in table.stdout.splitlines()]
    assert [row[0].strip() for row in rows] == ["NodeId", "2", "1", "3", "11"]
    assert [row[6].strip() for row in rows] == ["Status", "Leader", "Follower", "Follower", "Observer"]
    assert {len(line.expandtabs(1)) for line in table.stdout.splitlines()} == {len(table.stdout.splitlines()[0])}
    assert " ms ago" in human.stdout


def test_unknown_numbers_are_minus_one_in_kafkas_format():
    state = _state(leader_id=-1, voters=(Replica(id=1),))
    assert [line.split(":", 1)[1].strip() for line in status_lines(state)] == [
        "", "-1", "-1", "-1", "-1", "-1", '[{"id": 1}]', "[]",
    ]  # fmt: skip
    row = [cell.strip() for cell in replication_lines(state)[1].split("\t")]
    assert row == ["1", "A" * 22, "-1", "-1", "-1", "-1", "Follower", ""]


def test_leader_that_is_being_removed_is_shown_as_the_leader():
    state = _state(leader_id=1, voters=(Replica(id=2),), observers=(Replica(id=1),))
    assert [line.split("\t")[6].strip() for line in replication_lines(state)] == ["Status", "Leader", "Follower"]


def _state(**seen: Any) -> QuorumState:
    unknown = dict.fromkeys(("cluster_id", "mode", "kraft_version", "leader_epoch", "high_watermark"))
    return QuorumState(**unknown, **seen)


def test_without_a_leader_it_answers_and_ends_with_7(describe):
    with running(Quorum(leader_id=9), down=()) as quorum:
        run = describe(quorum, "-o", "json")
        page = describe(quorum)
    assert (run.code, page.code, run.json["leader_id"]) == (7, 7, -1)
    assert [(node["id"], node["answers"], node["leader_id"]) for node in run.json["nodes"]] == [
        (1, True, 9), (2, True, 9), (3, True, 9),
    ]  # fmt: skip
    assert page.stdout.startswith("No leader of the quorum was reached\n")


def test_quorum_that_lost_its_majority_ends_with_7(describe):
    with running(Quorum(ages_ms={1: 60_000, 3: 60_000})) as quorum:
        run = describe(quorum, "-o", "json")
    assert (run.code, run.json["tolerates"]) == (7, -1)
    assert "majority-lost" in {finding["id"] for finding in run.json["findings"]}


def test_port_without_kafka_has_exit_code_4(kafkactl):
    with FakeBroker(greeting=Raw(b"SSH-2.0-OpenSSH_9.6\r\n")) as other:
        run = kafkactl("quorum", "describe", "--bootstrap-controller", other.address, "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "not-kafka")


def test_brokers_port_is_4(kafkactl):
    with running(Quorum(), brokers=(21,)) as quorum:
        run = kafkactl("quorum", "describe", "--bootstrap-controller", quorum.brokers[21].address, "-o", "json")
    assert (run.code, run.error["id"]) == (4, "wrong-endpoint-type")


@pytest.mark.parametrize(
    "words",
    [
        ("--status", "--replication"),
        ("--human-readable",),
        ("--status", "--human-readable"),
        ("--interval", "0s"),
        ("--watch", "--interval", "-1"),
    ],
)
def test_contradicting_options_are_refused(kafkactl, words):
    assert kafkactl("quorum", "describe", "--bootstrap-controller", "localhost:1", *words).code == 2


def test_no_address_is_a_usage_error(kafkactl, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    run = kafkactl("quorum", "describe", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "bootstrap-missing")


def test_quorum_is_described_from_disks_alone(kafkactl, tmp_path):
    run = kafkactl("quorum", "describe", "--log-dir", tmp_path, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "log-dir-unreadable")
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    (log / "quorum-state").write_text('{"leaderId":2,"leaderEpoch":4,"votedId":-1,"appliedOffset":0,"currentVoters":'
                                      '[{"voterId":1},{"voterId":2}],"clusterId":"","data_version":0}')  # fmt: skip
    run = kafkactl("quorum", "describe", "--log-dir", tmp_path, "-o", "json")
    assert (run.code, run.json["leader_id"], run.json["leader_epoch"]) == (7, -1, 4)
    assert [(voter["id"], voter["alive"]) for voter in run.json["voters"]] == [(1, None), (2, None)]
    assert {finding["id"] for finding in run.json["findings"]} == {"only-disks-read", "disk-not-read"}
    page = kafkactl("quorum", "describe", "--log-dir", tmp_path).stdout
    assert page.startswith("State of the quorum, from disks only")


@pytest.mark.parametrize("columns", ["80", "120"])
def test_page_fits_a_terminal(describe, monkeypatch, columns):
    import io

    monkeypatch.setenv("COLUMNS", columns)
    with running(Quorum(leader_id=2, observers=(11, 12), ages_ms={3: 60_000}), down=(3,)) as quorum:
        quorum.controllers.pop(3)
        answer = describe(quorum, "-o", "json").json
    page, screen = Page(), io.StringIO()
    quorum_page(page, QuorumDescription.from_dict(answer))
    show(page, screen, color=False)
    assert max(map(len, screen.getvalue().splitlines())) <= int(columns)
    assert str(directory(1)) in screen.getvalue()


@given(seed=st.integers(0, 2**32), version=st.integers(0, 2))
def test_any_answer_of_a_leader_becomes_an_answer_of_ours(seed, version):
    # Duplicate ids, times before the epoch, endpoints without names, no voters: shown unchanged, and never a crash.
    spec = response(55)
    body = random_message(random.Random(seed), spec, version)
    body["ErrorCode"] = 0
    partition = random_partition(random.Random(seed), spec, version)
    body["Topics"] = [{"TopicName": "__cluster_metadata", "Partitions": [partition]}]
    decoded, _ = decode_message(spec, version, encode_message(spec, version, body))
    answer = quorum_answer(decoded, version=version, asked="controller 1")
    versions = NodeVersions(
        version=4, requests={}, supported={}, finalized={"kraft.version": 1}, finalized_epoch=3,
        zookeeper_migration_ready=False,
    )  # fmt: skip
    nodes = (ClusterNode(id=answer.leader_id, role=Role.CONTROLLER, answers=True, versions=versions),)
    state = quorum_state(cluster_id=CLUSTER_ID, answers=[answer], nodes=nodes)
    seen = QuorumDescription(state=state, nodes=(), disks=(), findings=tuple(check_health(state)), time_ms=0)
    payload = plain_values(seen)
    assert has_published_shape("quorum.describe", {"kind": "quorum.describe", "schema_version": 1, **payload})
    page = Page()
    quorum_page(page, seen)
    kafka_page(page, seen, replication=True, human_readable=True)
    kafka_page(page, seen, replication=False, human_readable=False)
    assert render(page, color=False)
    assert len(state.voters) == len(partition["CurrentVoters"])
    assert plain_values(QuorumDescription.from_dict(payload)) == payload


def random_partition(rng, spec, version):
    """Return a partition of the answer without error, by the definition of its fields."""
    while True:
        topics = random_message(rng, spec, version)["Topics"]
        partitions = [partition for topic in topics for partition in topic["Partitions"]]
        if partitions:
            return partitions[0] | {"ErrorCode": 0}
