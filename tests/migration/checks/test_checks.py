"""Checks of a migration: a finding for each danger, none for a healthy cluster, unknown for what was not observed."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkactl.core.findings import Severity, blocker
from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import Image
from kafkactl.migration.checks.case import Stage, case_of
from kafkactl.migration.checks.registry import ROWS, UNKNOWN_ID, check, check_numbers, open_questions
from kafkactl.migration.observed.observation import Mode, Observation, ServerSeen
from kafkactl.migration.state.evidence import evidence_of, metric
from kafkactl.migration.steps.m6 import ENSEMBLE_FIRST, mirror_follows
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import Hidden
from tests.hypothesis_profiles import examples
from tests.migration.checks.cases import CASES, Case
from tests.migration.observations import OPEN_AT_M0, STATES, TIME_MS, holder, migration, uuid, world
from tests.migration.zk_trees import config
from tests.repository.tree import ROOT
from tests.sampling import one_in

# zk-migration.md 4: the numbers that there are.
ALL_NUMBERS = [f"C-{number:02}" for number in (*range(1, 9), *range(10, 23), *range(30, 43), *range(50, 61))]
ALWAYS_UNKNOWN = {"C-05", "C-30", "C-40", "C-41", "C-42", "X-5.2"}  # C-05: before the first start of a controller


def _ids(findings):
    return {(finding.evidence["check"], finding.id, finding.severity.value) for finding in findings}


@pytest.mark.parametrize("state", STATES)
def test_healthy_cluster_is_not_alarmed(state):
    findings = check(world(state).observation())
    assert [finding for finding in findings if finding.severity is Severity.BLOCKER] == []
    assert {finding.evidence["check"] for finding in findings if finding.severity is Severity.WARNING} <= ALWAYS_UNKNOWN
    assert {finding.id for finding in open_questions(findings)} <= {UNKNOWN_ID}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.id}-{case.state}")
def test_each_danger_is_named(case: Case):
    found = check(case.change(world(case.state)).observation())
    assert (case.check, case.id, case.severity) in _ids(found)


@pytest.mark.parametrize(
    "case",
    one_in(4, [case for case in CASES if case.severity != "info" and case.id != UNKNOWN_ID]),
    ids=lambda case: case.id,
)
def test_danger_is_not_reported_without_its_cause(case: Case):
    assert case.id not in {finding.id for finding in check(world(case.state).observation())}


def test_every_number_has_a_check_and_a_case():
    checked = set(check_numbers()) - {"X-SEEN", "X-STATE"}
    assert [number for number in ALL_NUMBERS if number not in checked] == []
    tried = {case.check for case in CASES}
    assert [number for number in (*ALL_NUMBERS, *sorted(checked)) if number not in tried] == []


def test_docs_have_every_number():
    page = (ROOT / "docs" / "migration-checks.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"^\| ([CX]-\S+) \|", page, re.MULTILINE))) == sorted(check_numbers())


def test_every_stage_is_asked_and_every_row_has_a_place():
    assert {stage for row in ROWS for stage in row.stages} == set(Stage)
    assert all(row.stages for row in ROWS)


@pytest.mark.parametrize(
    ("state", "stage"),
    [("M0", "before"), ("M2", "before"), ("M3", "quorum"), ("M4L", "quorum"), ("M5", "copy"), ("M6", "dual"),
     ("M8", "dual"), ("M11", "final")],
)  # fmt: skip
def test_stage_is_found(state, stage):
    assert case_of(world(state).observation()).stage == stage


def test_after_a_rollback_the_disks_are_leftovers_and_nothing_else():
    rolled = world("M0").but(controllers={3001: False}, state=1, files=world("M3").files | world("M0").files)
    rolled.logged(copy_begin=81, copy_end=236)
    found = check(rolled.observation())
    assert [finding.id for finding in found if finding.severity is Severity.BLOCKER] == [
        "controller-disk-of-earlier-attempt"
    ]


def test_broken_situation_is_named_once():
    split = check(world("M6").znode("/controller", holder(1)).observation())
    assert [finding.subject for finding in split if finding.id == "split-brain"] == ["/controller"]
    lost = check(world("M6").but(controllers={3001: False}).observation())
    assert ("X-STATE", "lost-quorum", "blocker") in _ids(lost)


def test_ensemble_that_answers_is_not_asked_again():
    servers = tuple(
        ServerSeen(address=f"zk{at}", mode=mode, version=None) for at, mode in enumerate(("leader", "follower"))
    )
    found = check(world("M0").but(servers=servers).observation())
    assert "C-30" not in {finding.evidence["check"] for finding in found}


@pytest.mark.parametrize("is_down", [True, False])
def test_voters_of_a_broker_that_is_down_are_compared_by_address(is_down: bool):
    # A broker that responds has found the quorum under its own names.
    cluster = world("M6")
    modes = cluster.modes | ({2: None} if is_down else {})
    seen = cluster.file(2, "controller.quorum.voters", "3001@c9:9093").but(modes=modes).observation()
    found = [finding for finding in check(seen) if finding.id == "quorum-voters-differ"]
    assert [finding.subject for finding in found] == (["broker 2"] if is_down else [])
    assert all("3001@c9:9093" in finding.message for finding in found)


def test_restart_of_a_controller_is_not_advised_while_zookeeper_has_no_quorum():
    # 3.9.2: the dual write caught up without a restart when two of three servers came back.
    stuck = world("M6").znode("/migration", migration(240)).but(migration_age_ms=30_000)
    modes = ("read-only", None, None)
    servers = tuple(ServerSeen(address=f"zk{at}", mode=mode, version=None) for at, mode in enumerate(modes))
    seen = stuck.but(servers=servers).observation()
    steps = {finding.id: finding.next_step for finding in (*check(seen), *mirror_follows(evidence_of(seen)))}
    assert steps["migration-driver-stuck"] == steps["dual-write-not-seen"] == ENSEMBLE_FIRST


def test_topic_younger_than_the_mirror_is_not_reported_as_missing():
    made = ("TopicRecord", {"Name": "late", "TopicId": uuid(7)})
    fresh = world("M6").replayed(made, offset=280).znode("/migration", migration(279))
    assert "topic-not-mirrored" not in {finding.id for finding in check(fresh.observation())}


def test_nothing_observed_is_unknown_and_never_wrong():
    found = check(Observation(time_ms=TIME_MS))
    assert {finding.id for finding in found} == {UNKNOWN_ID}
    assert all(finding.severity is Severity.WARNING and finding.evidence["unknown"] for finding in found)


def test_hidden_values_are_unknown():
    observation = world("M3").observation()
    znodes = [changed(znode, data=None, hidden=Hidden.REDACTED) for znode in observation.tree.znodes.values()]
    found = check(changed(observation, tree=tree_of(znodes)))
    assert [finding for finding in found if finding.severity is Severity.BLOCKER] == []
    assert {"C-16", "C-17"} <= {finding.evidence["check"] for finding in found if finding.id == UNKNOWN_ID}


@pytest.mark.parametrize("version", ["7.8.0-ccs", "unknown", None])
def test_version_that_is_not_kafkas_own_is_unknown(version):
    found = check(world("M0").but(versions={1: version, 2: version}).observation())
    assert "C-03" in {finding.evidence["check"] for finding in found if finding.id == UNKNOWN_ID}
    assert [finding for finding in found if finding.severity is Severity.BLOCKER] == []


@pytest.mark.parametrize("name", ["ZkWriteBehindLag", "kafka.controller:type=KafkaController,name=ZkWriteBehindLag",
                                  "kafka.controller:type=KafkaController,name=ZkWriteBehindLag:Value"])  # fmt: skip
def test_metrics_have_many_names(name):
    assert metric(world("M6").but(metrics={3001: {name: 7.0}}).observation().controllers[0], "ZkWriteBehindLag") == 7.0


def test_warnings_are_accepted_by_id_and_blockers_are_not():
    seen = world("M0").but(versions={2: "3.9.1"}).no_znode("/brokers/ids/2")
    accepted = frozenset(
        {*OPEN_AT_M0, "nodes-of-several-releases", "broker-liveness-unknown", "broker-not-in-zookeeper"}
    )
    found = check(seen.observation(), accepted=accepted)
    assert open_questions(found) == []
    assert {finding.id for finding in found if finding.evidence.get("accepted")} == {
        UNKNOWN_ID,
        "nodes-of-several-releases",
    }
    assert "broker-not-in-zookeeper" in {finding.id for finding in found if finding.severity is Severity.BLOCKER}


def test_broker_that_was_not_asked_is_judged_by_how_it_runs_and_by_its_file():
    left = world("M4").but(modes={1: Mode.ZK, 2: Mode.ZK}).observation()
    for gone in ({"api_versions": None}, {"api_versions": None, "config": None}, {"api_versions": None, "mode": None}):
        seen = changed(left, nodes=tuple(changed(node, **gone) if node.id == 1 else node for node in left.nodes))
        if "mode" in gone:
            seen = changed(seen, nodes=tuple(_plain(node) if node.id == 1 else node for node in seen.nodes))
        assert "registered-broker-without-flag" in {finding.id for finding in check(seen)}


def _plain(node):
    return changed(node, config={key: value for key, value in node.config.items() if "migration" not in key})


def test_acceptable_blocker_is_accepted_by_its_id():
    seen = world("M4L").znode("/admin/delete_topics/orders", None).observation()
    assert [finding.id for finding in check(seen) if finding.severity is Severity.BLOCKER] == [
        "topic-deletion-before-migration"
    ]
    found = check(seen, accepted=frozenset({"topic-deletion-before-migration"}))
    assert [finding for finding in found if finding.severity is Severity.BLOCKER] == []


@pytest.mark.slow
@settings(max_examples=examples(120), deadline=None)
@given(data=st.data())
def test_sparse_observation_of_a_healthy_cluster_has_no_blocker(data):
    observation = world(data.draw(st.sampled_from(STATES))).observation()
    gone = data.draw(st.sets(st.sampled_from(_NODE_FIELDS)))
    whose = data.draw(st.sampled_from(["broker", "controller", "1", "3001", "all"]))
    nodes = tuple(
        changed(node, **dict.fromkeys(gone)) if whose in ("all", node.role.value, str(node.id)) else node
        for node in observation.nodes
    )
    # A part of a tree: whole subtrees are missing, because an observer was not allowed to read them.
    lost = tuple(data.draw(st.sets(st.sampled_from(_SUBTREES))))
    tree = tree_of(znode for znode in observation.tree.znodes.values() if not (lost and znode.path.startswith(lost)))
    seen = changed(
        observation,
        nodes=nodes,
        tree=data.draw(st.sampled_from([tree, tree, None])),
        logs=data.draw(st.sampled_from([observation.logs, {}])),
    )
    assert [
        finding for finding in check(seen) if finding.severity is Severity.BLOCKER and finding.id not in _FOUND_IN_PARTS
    ] == []


_SUBTREES = ("/brokers", "/brokers/topics", "/config", "/kafka-acl", "/delegation_token", "/controller", "/latest")
_FOUND_IN_PARTS = {"no-kafka-tree"}
_NODE_FIELDS = ("alive", "kafka_version", "mode", "config", "config_text", "meta_properties", "api_versions", "quorum")
_FACTS = {field.name for field in dataclasses.fields(world("M6").observation().log)} - {"image", "end_offset", "epoch"}


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_no_check_raises_whatever_is_missing(data):
    case = data.draw(st.sampled_from(CASES))
    observation = case.change(world(case.state)).observation()
    nodes = []
    for node in observation.nodes:
        gone = data.draw(st.sets(st.sampled_from(_NODE_FIELDS)))
        if data.draw(st.booleans()):
            nodes.append(changed(node, **dict.fromkeys(gone)))
    tree = observation.tree
    if tree is not None:
        lost = data.draw(st.sets(st.sampled_from(sorted(tree.znodes)), max_size=12))
        hidden = data.draw(st.sets(st.sampled_from(sorted(tree.znodes)), max_size=12))
        tree = data.draw(st.sampled_from([None, tree_of(
            changed(znode, data=None, hidden=Hidden.NO_PERMISSION) if path in hidden else znode
            for path, znode in tree.znodes.items() if path not in lost
        )]))  # fmt: skip
    empty = {name: type(value)() for name, value in _optional(observation).items() if data.draw(st.booleans())}
    logs = {id: changed(log, **empty) for id, log in observation.logs.items() if data.draw(st.booleans())}
    for finding in check(changed(observation, nodes=tuple(nodes), tree=tree, logs=logs)):
        assert finding.evidence["check"]
        assert finding.advice
        assert finding.subject


def _optional(observation: Observation) -> dict[str, object]:
    log = observation.log
    if log is None:
        return {}
    return {name: getattr(log, name) for name in sorted(_FACTS) if isinstance(getattr(log, name), (tuple, dict))}


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), junk=st.binary(max_size=40))
def test_no_check_raises_whatever_is_in_a_znode(data, junk):
    observation = world(data.draw(st.sampled_from(STATES))).observation()
    path = data.draw(st.sampled_from(sorted(observation.tree.znodes)))
    znodes = [changed(znode, data=junk) if znode.path == path else znode for znode in observation.tree.znodes.values()]
    check(changed(observation, tree=tree_of(znodes)))


def test_nothing_follows_from_what_a_damaged_log_does_not_have():
    torn = (blocker("undecodable-record", "metadata log", "record 90 cannot be read", "Copy it again."),)
    seen = world("M6").but(image=Image()).logged(findings=torn).observation()
    found = {finding.id: finding for finding in check(seen) if finding.evidence["check"].startswith("X-3")}
    assert set(found) == {"check-unknown"}
    assert "some of its records cannot be read" in found["check-unknown"].message


def test_no_secret_is_reported():
    seen = world("M3").file(3001, "password.encoder.secret", "hunter2").file(1, "super.users", "User:x")
    seen.znode(
        "/config/brokers/1", b'{"version":1,"config":{"listener.name.sasl.ssl.key.password":"encryptedPassword:zz"}}'
    )
    assert "hunter2" not in str([finding.to_dict() for finding in check(seen.observation())])


def _decided(rule):
    return [(said.id, said.subject) for said in check(rule.observation()) if said.evidence["check"] == "C-61"]


def test_before_the_start_the_rendered_file_is_judged():
    shared = {"default.replication.factor": "3", "min.insync.replicas": "2"}
    cluster = world("M2")
    for id, key in ((id, key) for id in (1, 2) for key in shared):
        cluster.file(id, key, shared[key])
    assert _decided(cluster) == []
    assert _decided(cluster.file(3001, "min.insync.replicas", "1")) == [
        ("controller-setting-differs", "min.insync.replicas")
    ]


def test_value_of_the_whole_cluster_takes_precedence_over_files():
    cluster = world("M3")
    for id in (1, 2):
        cluster.file(id, "min.insync.replicas", "2")
    assert _decided(cluster) == [("controller-setting-differs", "min.insync.replicas")]
    cluster.znode("/config/brokers/<default>", config(**{"min.insync.replicas": "2"}))
    assert _decided(cluster) == []
    cluster.znode("/config/brokers/<default>", config(**{"min.insync.replicas": "1"}))
    assert _decided(cluster) == [("setting-overridden", "min.insync.replicas")]


def test_files_that_were_not_seen_are_unknown():
    found = check(world("M11").but(files={1: {}, 2: {}, 3: {}}).observation())
    assert [
        finding.evidence["question"] for finding in found if "decide" in finding.subject and finding.id == UNKNOWN_ID
    ] == ["controller-settings-unknown"]
