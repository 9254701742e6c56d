"""Checks of a roll: each row of the table by one change to a healthy cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.findings import Severity
from kafkactl.core.frozen import changed
from kafkactl.protocol.control_records import ControlType
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.case import RollRequest, make_case
from kafkactl.roll.checks.run import ROWS, check_roll, open_warnings
from kafkactl.roll.position import roll_status
from tests.migration.migration_logs import record
from tests.roll.rolls import JAVA, Roll, config


def found(roll: Roll, to: str | None = None, **request):
    return {finding.id: finding for finding in check_roll(roll.case(to, **request)).findings}


def ids(roll: Roll, to: str | None = None, severity: Severity = Severity.BLOCKER, **request):
    findings = check_roll(roll.case(to, **request)).findings
    return {finding.id for finding in findings if finding.severity is severity}


def healthy(release: str = "4.3.1") -> Roll:
    return Roll(release).topic("orders", [11, 12, 13], [12, 13, 11], [13, 11, 12], min_insync_replicas="2")


def test_healthy_cluster_has_no_findings():
    assert found(healthy()) == {}
    assert ids(Roll("4.3.1"), "4.4.0") == set()


def test_level_is_below_and_above_the_range_of_a_release():
    below = found(Roll("3.9.2", level=5), "4.0.2")["level-below-supported"]
    assert below.evidence == {"feature": "metadata.version", "finalized": 5, "min": 7, "max": 25}
    above = found(Roll("4.3.1"), "3.9.2")["level-above-supported"]
    assert above.evidence == {"feature": "metadata.version", "finalized": 30, "min": 1, "max": 21}
    assert "cannot be lowered" in above.next_step


def test_level_that_can_be_lowered_has_the_command():
    finding = found(Roll("4.2.1"), "4.0.2")["level-above-supported"]
    assert "kafkactl features downgrade --feature metadata.version=25" in finding.next_step


def test_finding_of_a_level_is_shown_with_each_node():
    check = check_roll(Roll("4.3.1").case("3.9.2"))
    assert all([finding.id for finding in node.findings] == ["level-above-supported"] for node in check.nodes)
    assert [level.to_dict() for level in check.levels] == [
        {"name": "metadata.version", "finalized": 30, "target_min": 1, "target_max": 21, "fits": False}
    ]


@pytest.mark.parametrize(
    ("change", "id", "evidence"),
    [
        (
            {"config": config(11, ["broker"], log_segment_bytes="100000")},
            "setting-refused",
            {"node": 11, "key": "log.segment.bytes", "value": "100000"},
        ),
        ({"java": JAVA[11]}, "java-too-old", {"needs": 17, "found": 11}),
        (
            {"config": config(11, ["broker"], metric_reporters="org.apache.kafka.common.metrics.JmxReporter")},
            None,
            {},
        ),
        (
            {"config": config(11, ["broker"], authorizer_class_name="kafka.security.authorizer.AclAuthorizer")},
            "missing-class",
            {"node": 11},
        ),
        (
            {"config": config(11, ["broker"]) + "client.id=a\\u12\n"},
            "setting-refused",
            {"node": 11, "key": None, "error": "Malformed \\uxxxx encoding."},
        ),
        ({"config": "log.dirs=/a\nbroker.id=11\nzookeeper.connect=z:2181\n"}, "unsupported-path", {"node": 11}),
    ],
)
def test_node_that_a_release_does_not_take_is_a_blocker(change, id, evidence):
    check = check_roll(Roll("3.9.2").change(11, **change).case("4.0.2"))
    blocking = {finding.id: finding for finding in check.findings if finding.severity is Severity.BLOCKER}
    if id is None:
        assert blocking == {}
        return
    assert blocking[id].evidence.items() >= evidence.items()
    assert id in [finding.id for node in check.nodes if node.id == 11 for finding in node.findings]
    assert all(
        not node.findings or node.id == 11 or "default-changed" in {f.id for f in node.findings} for node in check.nodes
    )


@pytest.mark.parametrize(("state", "blocks"), [(0, False), (1, True), (2, True), (3, False)])
def test_migration_that_is_not_finished_blocks_a_release_without_zookeeper(state, blocks):
    roll = Roll("3.9.2")
    roll.extra.append(record("ZkMigrationStateRecord", ZkMigrationState=state))
    assert ("unsupported-path" in ids(roll, "4.0.2")) is blocks
    assert "unsupported-path" not in ids(roll, "3.8.1")


def test_stored_topic_setting_is_a_blocker_with_its_entity():
    roll = Roll("3.9.2").topic("small", [11], segment_bytes="100000")
    finding = found(roll, "4.3.1")["stored-setting-refused"]
    assert (finding.evidence["entity"], finding.evidence["key"]) == ("topic:small", "segment.bytes")
    assert "stored-setting-refused" not in found(roll, "4.0.2")
    assert "stored-setting-refused" not in found(roll, "4.3.1", only=frozenset({1, 2, 3}))


def test_dynamic_setting_of_a_broker_that_is_refused_is_only_ignored():
    roll = Roll("3.9.2")
    roll.configs.append((4, "11", "log.segment.bytes", "100000"))
    assert found(roll, "4.0.2")["setting-ignored"].severity is Severity.WARNING
    assert ids(roll, "4.0.2") == set()


def test_key_that_a_release_does_not_have_any_more_is_a_warning():
    roll = Roll("3.9.2").change(11, config=config(11, ["broker"], password_encoder_iterations="5000"))
    assert found(roll, "4.0.2")["setting-ignored"].evidence["key"] == "password.encoder.iterations"
    assert "setting-ignored" not in found(roll)


def test_topic_setting_that_a_release_does_not_have_any_more_is_a_warning():
    roll = Roll("3.9.2").topic("a", [11], message_format_version="3.0").topic("b", [11], message_format_version="3.0")
    finding = found(roll, "4.0.2")["setting-ignored"]
    assert (finding.severity, finding.evidence["topics"]) == (Severity.WARNING, ["a", "b"])
    assert "Unknown topic config name: message.format.version" in finding.message
    assert found(roll, "4.2.1")["setting-ignored"].evidence["effect"] is None
    assert "setting-ignored" not in found(roll)
    assert "setting-ignored" not in found(roll, "4.0.2", only=frozenset({1, 2, 3}))
    difference = Roll("3.9.2").topic("a", [11], message_timestamp_difference_max_ms="5")
    assert "before.max.ms" in found(difference, "4.2.1")["setting-ignored"].evidence["effect"]


def test_default_that_changes_is_a_warning_with_its_effect():
    finding = found(Roll("3.9.2"), "4.0.2")["default-changed"]
    assert finding.severity is Severity.WARNING
    assert finding.evidence["effect"]
    assert "default-changed" not in found(Roll("4.0.2"))


def test_dynamic_quorum_is_not_readable_before_3_9():
    roll = Roll("3.9.2", level=19)
    roll.control.append((ControlType.KRAFT_VERSION, {"Version": 0, "KRaftVersion": 1}))
    assert "log-not-readable" in ids(roll, "3.7.2")
    assert "log-not-readable" not in ids(roll, "3.9.2")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda roll: roll.topic("t", ((11, 12), (11,))), {"isr-not-whole", "node-not-back"}),
        (lambda roll: roll.kill(12), {"broker-down"}),
        (lambda roll: roll.fence(12), {"broker-down", "node-not-back"}),
        (lambda roll: roll.topic("t", [11, 12]) and roll.adding.update({("t", 0): [13]}), {"reassignment-running"}),
        (lambda roll: setattr(roll, "log_epoch", 6), {"election-unsettled"}),
        (lambda roll: roll.dead.update({1}), {"quorum-without-spare"}),
        (lambda roll: roll.unknown_voters.update({1, 2}), {"quorum-without-spare"}),
    ],
)
def test_cluster_that_is_not_whole_is_a_blocker(make, expected):
    roll = healthy()
    make(roll)
    assert ids(roll) & expected == expected


def test_missing_replica_is_a_warning_if_its_broker_is_left_out_and_the_rest_is_enough():
    roll = healthy().topic("wide", ((11, 12, 13), (11, 13)), min_insync_replicas="1")
    roll.kill(12)
    kinds = {id: finding.severity for id, finding in found(roll, skip=frozenset({12})).items()}
    assert kinds["isr-not-whole"] is Severity.WARNING
    assert kinds["broker-down"] is Severity.WARNING
    roll.topic("narrow", ((11, 12), (11,)), min_insync_replicas="1")
    assert "isr-not-whole" in ids(roll, skip=frozenset({12}))


def test_small_quorum_is_a_warning():
    for controllers in ((1,), (1, 2)):
        finding = found(Roll("4.3.1", controllers=controllers))["quorum-without-spare"]
        assert finding.severity is Severity.WARNING


def test_partition_that_cannot_do_without_a_replica_is_a_warning():
    roll = healthy().topic("one", [11]).topic("strict", [12, 13], min_insync_replicas="2").topic("pair", [12, 13])
    finding = found(roll)["partition-stops-while-down"]
    assert (finding.evidence["partitions"], finding.evidence["total"]) == (["one-0", "strict-0"], 2)


def test_registrations_of_nodes_that_are_gone_are_warnings():
    roll = healthy()
    broker, controller = dict(roll.registered[11]), dict(roll.registered[1])
    roll.registered |= {19: {**broker, "fenced": True}, 9: controller}
    roll.nodes[19] = roll.nodes[11]
    log = roll.log_bytes
    del roll.nodes[19]
    roll.log_bytes = lambda: _with(roll, log)  # type: ignore[method-assign]
    assert ids(roll, severity=Severity.WARNING) >= {"stale-broker-registration", "stale-controller-registration"}
    assert ids(roll) == set()


def _with(roll, log):
    roll.nodes[19] = roll.nodes[11]
    try:
        return log()
    finally:
        del roll.nodes[19]


def test_registration_through_older_controllers_lacks_features():
    roll = Roll("3.7.2").runs("4.3.1")
    roll.registered[11]["ranges"] = {"metadata.version": Versions(7, 30)}
    finding = found(roll, "4.3.1")["features-not-registered"]
    assert "group.version" in finding.evidence["features"]
    assert finding.severity is Severity.WARNING


def test_broker_of_a_newer_release_than_a_controller_is_for_information():
    assert found(Roll("3.9.2").runs("4.3.1", 11), "4.3.1")["brokers-ahead-of-controllers"].severity is Severity.INFO


def test_release_without_hook_and_ranges_is_unknown():
    roll = healthy().change(1, release=None, features=None)
    roll.registered[1]["ranges"] = {"metadata.version": Versions(7, 29999)}
    assert "release-unknown" in ids(roll, severity=Severity.WARNING)
    named = healthy().change(1, release=None)
    assert found(named) == {}
    assert check_roll(named.case()).nodes[0].release == "4.3"


def test_clients_are_mentioned_on_the_way_to_4_0():
    assert "client-too-old" in found(Roll("3.9.2"), "4.0.2")
    assert "client-too-old" not in found(Roll("4.0.2"), "4.3.1")


def test_accepted_warning_is_not_open():
    check = check_roll(healthy().topic("one", [11]).case())
    assert [finding.id for finding in open_warnings(check, frozenset())] == ["partition-stops-while-down"]
    assert open_warnings(check, frozenset({"partition-stops-while-down"})) == ()


def test_missing_log_quorum_and_facts_of_a_node_are_warnings():
    roll = healthy().change(11, java=None, release=None, features=None)
    roll.quorum = None
    case = roll.case("4.4.0")
    seen = changed(case.observation, log=None)
    check = check_roll(make_case(seen, case.request))
    assert [finding.id for finding in check.findings].count("cluster-evidence-missing") == 2
    assert {finding.subject for finding in check.findings if finding.id == "start-unknown"} >= {
        "broker 11",
        "controller 1",
    }
    assert not check.has_blockers


def test_disk_of_another_node_or_cluster_is_a_blocker_of_its_node():
    for text in ("node.id=12\n", "node.id=11\ncluster.id=AnotherCluster\n"):
        check = check_roll(healthy().change(11, meta_properties=text).case("4.4.0"))
        assert [finding.subject for finding in check.findings if finding.id == "start-refused"] == ["broker 11"]
        assert check.has_blockers
        assert next(node for node in check.nodes if node.id == 11).will_start is False


def test_table_names_every_finding_once():
    names = [id for row in ROWS for id in row.ids]
    assert len(set(names)) == len(names)
    assert len(names) >= 22


def test_every_finding_of_the_table_has_a_case():
    text = Path(__file__).read_text(encoding="utf-8")
    missing = [id for row in ROWS for id in row.ids if f'"{id}"' not in text]
    assert missing == [], "add a case: one change to the healthy cluster that leads to the finding"


def test_nodes_of_the_cluster_that_the_inventory_lacks_are_named():
    roll = Roll("4.3.1", level=30)
    seen = roll.observation()
    old = changed(seen, nodes=tuple(node for node in seen.nodes if node.id not in (3, 13)))
    case = make_case(old, RollRequest(to="4.4.0"))
    found = [finding for finding in check_roll(case).findings if finding.id == "node-left-out"]
    assert [finding.subject for finding in found] == ["controller 3", "broker 13"]
    status = roll_status(case)
    assert "node-left-out" in [finding.id for finding in status.findings]
    assert status.next_action.startswith("Add node 3 to the inventory. Controller 3 is part of the cluster")


PLUGIN = "com.example.tiered.Storage"


def tiered_file(id: int, **more: str) -> str:
    """Return the file of a broker with tiered storage by a plugin."""
    own = {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": PLUGIN,
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "2",
    }
    lines = {**own, **{key.replace("__", "."): value for key, value in more.items()}}
    return config(id, ["broker"]) + "".join(f"{key}={value}\n" for key, value in lines.items() if value)


def tiered_roll(release: str, **more: str) -> Roll:
    """Return a cluster with tiered storage, whose metadata topic has two partitions; settings of broker 12 differ."""
    roll = Roll(release).topic("__remote_log_metadata", [11, 12, 13], [12, 13, 11], retention_ms="-1")
    for id in (11, 12, 13):
        roll.change(id, config=tiered_file(id, **(more if id == 12 else {})))
    return roll.topic("orders", [11, 12, 13], remote_storage_enable="true")


def test_plugin_of_tiered_storage_has_to_be_installed_with_a_new_release() -> None:
    check = found(tiered_roll("3.9.2"), "4.3.1")["classes-not-checked"]
    assert (check.severity, check.evidence["nodes"], check.evidence["classes"]) == (
        Severity.INFO, [11, 12, 13], [PLUGIN],
    )  # fmt: skip
    assert "classes-not-checked" not in found(tiered_roll("4.3.1"))  # the present binary has run with it
    with_path = tiered_roll("3.9.2", remote__log__storage__manager__class__path="/opt/plugin/*")
    assert found(with_path, "4.3.1")["classes-not-checked"].evidence["nodes"] == [11, 13]


@pytest.mark.parametrize(
    ("release", "count", "severity"),
    [("4.3.1", "3", Severity.BLOCKER), ("3.9.2", "3", Severity.WARNING), ("4.3.1", "2", None), ("4.3.1", " 2 ", None)],
)
def test_number_of_metadata_partitions_is_that_of_the_topic(release: str, count: str, severity: Severity) -> None:
    key = "rlmm__config__remote__log__metadata__topic__num__partitions"
    check = found(tiered_roll(release, **{key: count})).get("metadata-partition-count-differs")
    assert (check and check.severity) == severity
    if check is not None:
        assert check.evidence == {"nodes": [12], "partitions": 2, "configured_partitions": 3}


@pytest.mark.parametrize(("release", "starts"), [("4.3.1", False), ("3.9.2", True)])
def test_broker_with_another_number_of_metadata_partitions_stops_since_4_2(release: str, starts: bool) -> None:
    key = "rlmm__config__remote__log__metadata__topic__num__partitions"
    node = next(node for node in check_roll(tiered_roll(release, **{key: "3"}).case()).nodes if node.id == 12)
    assert node.will_start is starts
    assert starts or (node.expected_failure and "topic-based RLMM" in node.expected_failure.message)


def test_number_of_metadata_partitions_has_a_default_and_a_prefix() -> None:
    key = "rlmm__config__remote__log__metadata__topic__num__partitions"
    assert (
        found(tiered_roll("4.3.1", **{key: ""}))["metadata-partition-count-differs"].evidence["configured_partitions"]
        == 50
    )
    own = {"remote__log__metadata__manager__impl__prefix": "own."}
    prefixed = tiered_roll("4.3.1", own__remote__log__metadata__topic__num__partitions="2", **{key: "7"}, **own)
    assert "metadata-partition-count-differs" not in found(prefixed)
    other = tiered_roll("4.3.1", remote__log__metadata__manager__class__name="com.example.Manager", **{key: "7"})
    assert "metadata-partition-count-differs" not in found(other)


def test_broker_without_tiered_storage_is_reported_while_topics_are_tiered() -> None:
    check = found(tiered_roll("4.3.1", remote__log__storage__system__enable="false"))
    assert check["tiered-topics-without-tiered-storage"].evidence == {"nodes": [12], "topics": ["orders"]}
    assert "tiered-topics-without-tiered-storage" not in found(tiered_roll("4.3.1"))
