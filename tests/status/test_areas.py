"""The table of areas: each cell from an observation to a verdict, its counts and its next command."""

from __future__ import annotations

from typing import Any

import pytest

from kafkactl.cluster.node import ClusterNode, NotAsked, Silence
from kafkactl.core.findings import LEADER_NOT_REACHED, warning
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import METADATA_VERSION, ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.protocol.schema.spec import Versions
from kafkactl.status.observation import ComparedSettings
from tests.status.worlds import (
    HEALTHY,
    HOST_NODE,
    NO_RIGHT,
    NOW_MS,
    SUPPORTED,
    WORST,
    area,
    broker,
    node,
    nodes,
    partitions,
    quorum,
    status,
    voter,
)

DEAD = voter(3, alive=False, evidence="last fetched 180000 ms before", last_fetch_timestamp_ms=NOW_MS - 180_000)
LAGGING = voter(3, lag=900, last_caught_up_timestamp_ms=NOW_MS - 20_000)


def _away(*, leader_answers: bool | None) -> Any:
    found = quorum(leader_id=-1, high_watermark=None)
    nodes = {
        3: ClusterNode(id=3, role=Role.CONTROLLER, answers=True, leader_id=1),
        1: ClusterNode(id=1, role=Role.CONTROLLER, answers=leader_answers),
    }
    findings = (warning(LEADER_NOT_REACHED, "controller 1", "the leader was not reached"),)
    state = changed(found.state, nodes=nodes, leader_out_of_reach=leader_answers is None)
    return changed(found, state=state, findings=findings)


QUORUMS = {
    "healthy": (quorum(), "ok", {"leader_id": 1, "voters": 3, "alive": 3, "survives": 1}),
    "no leader": (quorum(leader_id=-1), "problem", {"leader_id": -1, "survives": 1}),
    "leader not reached": (_away(leader_answers=None), "unknown", {"leader_id": None}),
    "followed leader is silent": (_away(leader_answers=False), "problem", {"leader_id": -1}),
    "a voter dead": (quorum(voter(1), voter(2), DEAD), "watch", {"alive": 2, "survives": 0}),
    "no majority": (quorum(voter(1), voter(2, alive=False), DEAD), "problem", {"alive": 1, "survives": -1}),
    "a voter of five dead": (
        quorum(voter(1), voter(2), DEAD, voter(4), voter(5)), "watch", {"alive": 4, "survives": 1},
    ),
    "two voters": (quorum(voter(1), voter(2)), "watch", {"voters": 2, "alive": 2, "survives": 0}),
    "one voter": (quorum(voter(1)), "ok", {"voters": 1, "alive": 1, "survives": 0}),
    "a voter lags": (quorum(voter(1), voter(2), LAGGING), "watch", {"alive": 3, "survives": 1}),
    "a voter not proven": (quorum(voter(1), voter(2), voter(3, alive=None)), "watch", {"alive": None}),
    "no voter proven": (quorum(voter(1), voter(2, alive=None), voter(3, alive=None)), "unknown", {"survives": None}),
    "not allowed": (NO_RIGHT, "unknown", {"leader_id": None, "voters": None, "alive": None, "survives": None}),
}  # fmt: skip


@pytest.mark.parametrize("case", QUORUMS)
def test_quorum_has_the_verdict_of_the_contract(case: str):
    observed, verdict, counts = QUORUMS[case]
    found = area("quorum", quorum=observed)
    assert found.verdict == verdict, found
    assert counts.items() <= dict(found.counts).items()
    assert list(found.counts) == ["leader_id", "voters", "alive", "survives"]
    assert found.command == "kafkactl quorum describe --bootstrap-server b1:9092"
    assert (found.headline is None) == (verdict == "ok")


def test_leader_that_was_not_reached_is_not_called_missing():
    silent, away = (area("quorum", quorum=_away(leader_answers=answers)) for answers in (False, None))
    assert away.headline == "the leader of the quorum was not reached: controller 1"
    assert silent.headline == (
        "controller 1, which others follow, does not answer here: it has ended, or leads out of reach"
    )
    assert all(found.text.startswith("leader not reached · ") for found in (silent, away))
    assert area("quorum", quorum=quorum(leader_id=-1)).headline == "no controller leads the quorum"


def test_dead_voter_is_named_with_the_time_of_its_last_fetch():
    found = area("quorum", quorum=quorum(voter(1), voter(2), DEAD))
    assert found.text == "1 leads · 1,2,3 vote · 3 down for 3 minutes · survives 0"
    assert found.headline == "1 of 3 controllers is down: the quorum survives no other failure"


FENCED = broker(6, fenced=True)
STOPPING = broker(6, in_controlled_shutdown=True)


def _all_silent(silence: Silence) -> Any:
    return nodes(seen=tuple(node(id, answers=False, silence=silence) for id in (4, 5, 6)))


SIX_SILENT = (node(1, Role.CONTROLLER), node(4), node(5), node(6, answers=False))
BROKERS = {
    "healthy": ({}, "ok", {"registered": 3, "in_service": 3, "fenced": 0, "silent": 0, "unregistered": 0}),
    "one fenced": ({"nodes": nodes(broker(4), broker(5), FENCED)}, "watch", {"in_service": 2, "fenced": 1}),
    "one silent": ({"nodes": nodes(seen=SIX_SILENT)}, "watch", {"in_service": 2, "silent": 1, "fenced": 0}),
    "one in controlled shutdown": (
        {"nodes": nodes(broker(4), broker(5), STOPPING)}, "watch", {"in_service": 2, "fenced": 0, "silent": 0},
    ),
    "the only one in controlled shutdown": ({"nodes": nodes(STOPPING)}, "watch", {"registered": 1, "in_service": 0}),
    "all fenced": (
        {"nodes": nodes(*(broker(id, fenced=True) for id in (4, 5, 6)))}, "problem", {"in_service": 0, "fenced": 3},
    ),
    "all refuse connections": ({"nodes": _all_silent(Silence.REFUSED)}, "problem", {"in_service": 0, "silent": 3}),
    "all hang": ({"nodes": _all_silent(Silence.HANGS)}, "problem", {"in_service": 0, "silent": 3}),
    "none can be reached from here": (
        {"nodes": _all_silent(Silence.UNREACHED)}, "watch", {"in_service": 0, "silent": 3},
    ),
    "an id unregistered": (
        {"partitions": partitions(replicas_on=frozenset({4, 5, 6, 9}))}, "watch", {"in_service": 3, "unregistered": 1},
    ),
    "partitions not known": ({"partitions": NO_RIGHT}, "ok", {"unregistered": None}),
    "log not read, controllers named": ({"nodes": nodes(log_error=NO_RIGHT)}, "unknown", {"registered": None}),
    "log not read, brokers of 4.0": (
        {"nodes": changed(nodes(log_error=NO_RIGHT), fenced={4: False, 5: False, 6: True})},
        "watch", {"registered": 3, "in_service": 2, "fenced": 1},
    ),
    "log not read, brokers of 3.9": (
        {"nodes": changed(nodes(log_error=NO_RIGHT), fenced={4: None, 5: None, 6: None})},
        "unknown", {"registered": None, "in_service": 3, "fenced": None},
    ),
    "not asked": ({"nodes": NO_RIGHT}, "unknown", {"registered": None, "in_service": None}),
}  # fmt: skip


def test_broker_in_controlled_shutdown_is_named():
    found = area("brokers", nodes=nodes(broker(4), broker(5), STOPPING))
    assert (found.text, found.headline) == ("2 of 3 in service · 6 shutting down", "broker 6 is shutting down")
    assert [(finding.id, finding.subject) for finding in found.findings] == [("broker-shutting-down", "broker 6")]


@pytest.mark.parametrize("case", BROKERS)
def test_brokers_have_the_verdict_of_the_contract(case: str):
    parts, verdict, counts = BROKERS[case]
    found = area("brokers", **parts)
    assert found.verdict == verdict, found
    assert counts.items() <= dict(found.counts).items()
    assert list(found.counts) == ["registered", "in_service", "fenced", "silent", "unregistered"]
    words = "quorum describe" if isinstance(parts.get("nodes"), NotAsked) else "nodes list"
    assert found.command == f"kafkactl {words} --bootstrap-server b1:9092"


PARTITIONS = {
    "healthy": (partitions(), "ok"),
    "without leader": (partitions(without_leader=1, under_min_isr=1), "problem"),
    "under min ISR": (partitions(under_min_isr=2, out_of_sync=2), "problem"),
    "at min ISR": (partitions(at_min_isr=3), "watch"),
    "out of sync": (partitions(out_of_sync=3), "watch"),
    "reassigning": (partitions(reassigning=3), "ok"),
    "not preferred": (partitions(not_preferred=3), "ok"),
    "min ISR not known": (partitions(under_min_isr=None, at_min_isr=None), "unknown"),
    "min ISR not known, without leader": (
        partitions(without_leader=1, under_min_isr=None, at_min_isr=None), "problem",
    ),
    "not allowed": (NO_RIGHT, "unknown"),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTITIONS)
def test_partitions_have_the_verdict_of_the_contract(case: str):
    observed, verdict = PARTITIONS[case]
    found = area("partitions", partitions=observed)
    assert found.verdict == verdict, found
    assert list(found.counts) == [
        "partitions", "without_leader", "under_min_isr", "at_min_isr", "out_of_sync", "reassigning", "not_preferred",
    ]  # fmt: skip
    if isinstance(observed, NotAsked):
        assert set(found.counts.values()) == {None}
    else:
        assert dict(found.counts) == {name: getattr(observed.health, name) for name in found.counts}


OLDER = {METADATA_VERSION: Versions(7, 25)}
GONE = node(6, answers=False, silence=Silence.REFUSED)
STALE = nodes(broker(4), broker(5), FENCED, seen=(node(1, Role.CONTROLLER), node(4), node(5), GONE))
LEVELS = {
    "healthy": (nodes(), "ok", {"metadata_version": "4.3-IV0", "metadata_version_possible": "4.3-IV0"}),
    "a node behind": (
        nodes(seen=(node(4), node(5), node(6, finalized={METADATA_VERSION: 29}))), "watch", {"stale_registrations": 0},
    ),
    "releases differ": (
        nodes(seen=(node(4), node(5), node(6, supported=OLDER))), "watch", {"metadata_version_possible": "4.0-IV3"},
    ),
    "stale registration": (STALE, "watch", {"stale_registrations": 1}),
    "log not read": (nodes(log_error=NO_RIGHT), "ok", {"stale_registrations": None}),
    "no controller known": (
        nodes(seen=(node(4), node(5), node(6))), "unknown", {"metadata_version": "4.3-IV0"},
    ),
    "brokers not known": (
        changed(nodes(), state=changed(nodes().state, brokers_known=False, log_error=NO_RIGHT)), "unknown", {},
    ),
    "not asked": (NO_RIGHT, "unknown", {"metadata_version": None}),
}  # fmt: skip


@pytest.mark.parametrize("case", LEVELS)
def test_levels_have_the_verdict_of_the_contract(case: str):
    observed, verdict, counts = LEVELS[case]
    found = area("levels", nodes=observed)
    assert found.verdict == verdict, found
    assert counts.items() <= dict(found.counts).items()
    words = "quorum describe" if isinstance(observed, NotAsked) else "features describe"
    assert found.command == f"kafkactl {words} --bootstrap-server b1:9092"


def test_kind_of_nodes_without_levels_is_named():
    observed = nodes(log_error=NO_RIGHT)
    state = changed(observed.state, brokers_known=False)
    found = area("levels", nodes=changed(observed, state=state))
    assert found.text.startswith(f"the levels of brokers are not known ({NO_RIGHT.reason}): the other nodes agree")
    assert [(finding.id, finding.advice) for finding in found.findings] == [("status-not-known", NO_RIGHT.step)]


CLOSED = NotAsked(reason="c1:9093 does not let kafkactl in", step="Compare it with the others.")


def test_node_that_refuses_the_login_does_not_agree():
    refusing = node(1, Role.CONTROLLER, answers=None, not_asked=CLOSED)
    found = area("levels", nodes=nodes(seen=(refusing, node(2, Role.CONTROLLER), node(4), node(5), node(6))))
    assert found.verdict == "watch", found
    assert found.text.startswith("the asked nodes agree · not asked: controller 1 · ")
    assert found.headline == f"controller 1 could not be asked: {CLOSED.reason}"
    assert [(finding.id, finding.advice) for finding in found.findings] == [("node-not-asked", CLOSED.step)]


def test_possible_level_is_reported_if_all_nodes_support_more():
    newer = {METADATA_VERSION: Versions(7, 33)}
    brokers = [broker(id, features=newer) for id in (4, 5, 6)]
    seen = (*(node(item.id, supported=newer) for item in brokers), node(1, Role.CONTROLLER, supported=newer))
    found = area("levels", nodes=nodes(*brokers, seen=seen))
    assert (found.verdict, found.counts["metadata_version_possible"]) == ("ok", "4.4-IV2")
    assert "4.4-IV2 is possible" in found.text


OPTIONAL = {
    "settings agree": ("settings", {"settings": ComparedSettings(differences=0, is_complete=True)}, "ok"),
    "settings differ": ("settings", {"settings": ComparedSettings(differences=2, is_complete=True)}, "watch"),
    "settings not read": ("settings", {"settings": ComparedSettings(differences=0, is_complete=False)}, "unknown"),
    "settings not asked": ("settings", {"settings": NO_RIGHT}, "unknown"),
    "node runs": ("this-host", {"host": (HOST_NODE,)}, "ok"),
    "node stopped": ("this-host", {"host": (changed(HOST_NODE, runs=False),)}, "watch"),
    "node broken": ("this-host", {"host": (changed(HOST_NODE, will_start=False),)}, "problem"),
    "node of another cluster": ("this-host", {"host": (changed(HOST_NODE, cluster_id="other"),)}, "problem"),
    "disks not readable": ("this-host", {"host": (changed(HOST_NODE, runs=None, will_start=None),)}, "unknown"),
    "loss costs partitions": ("next-failure", {"next_failure": WORST}, "watch"),
    "loss is harmless": ("next-failure", {"next_failure": changed(WORST, is_harmless=True, loss_count=0)}, "ok"),
    "not predicted": ("next-failure", {"next_failure": NO_RIGHT}, "unknown"),
}


@pytest.mark.parametrize("case", OPTIONAL)
def test_other_areas_have_the_verdict_of_the_contract(case: str):
    name, parts, verdict = OPTIONAL[case]
    found = area(name, **parts)
    assert found.verdict == verdict, found
    assert (found.headline is None) == (verdict == "ok")


def test_command_about_this_host_names_the_file_and_no_address():
    found = area("this-host", host=(HOST_NODE, changed(HOST_NODE, file="/etc/b.properties", runs=False)))
    assert found.command == "kafkactl storage verify -c /etc/b.properties"
    assert found.counts == {"nodes": 2, "running": 1}


def test_areas_that_were_not_asked_for_are_left_out():
    assert [area.area for area in status().areas] == ["quorum", "brokers", "partitions", "levels"]
    everything = status(settings=NO_RIGHT, host=(HOST_NODE,), next_failure=WORST)
    assert [area.area for area in everything.areas] == [
        "quorum", "brokers", "partitions", "levels", "settings", "this-host", "next-failure",
    ]  # fmt: skip


WHOLE = {
    "healthy": ({}, "ok"),
    "an area to watch": ({"partitions": partitions(at_min_isr=1)}, "watch"),
    "a decisive area unknown": ({"partitions": NO_RIGHT, "next_failure": WORST}, "unknown"),
    "another area unknown": ({"settings": NO_RIGHT}, "watch"),
    "a problem beside the unknown": ({"quorum": quorum(leader_id=-1), "partitions": NO_RIGHT}, "problem"),
    "a problem of this host": ({"host": (changed(HOST_NODE, will_start=False),)}, "problem"),
    "quorum unknown": ({"quorum": NO_RIGHT}, "unknown"),
    "nodes unknown": ({"nodes": NO_RIGHT}, "unknown"),
}


@pytest.mark.parametrize("case", WHOLE)
def test_cluster_has_the_verdict_of_the_contract(case: str):
    parts, verdict = WHOLE[case]
    found = status(**parts)
    assert found.verdict == verdict
    assert found.headline


def test_unknown_part_never_makes_the_whole_ok():
    for name in ("quorum", "nodes", "partitions", "settings", "host", "next_failure"):
        assert status(**{name: NO_RIGHT}).verdict != "ok", name


def test_releases_have_their_patch_level_where_this_host_shows_it():
    assert status().kafka_versions == ("4.3",)
    assert status(releases=("4.3.1",)).kafka_versions == ("4.3.1",)
    assert changed(HEALTHY, nodes=NO_RIGHT).cluster_id == HEALTHY.cluster_id
    assert SUPPORTED[METADATA_VERSION].highest == 30


def test_settings_that_were_not_read_are_not_reported_as_equal():
    found = area("settings", settings=ComparedSettings(differences=0, is_complete=False))
    assert (found.text, found.counts) == ("no difference between nodes in what could be read", {"differences": None})


def test_migration_from_zookeeper_is_watched_for_and_its_brokers_have_no_levels_of_their_own() -> None:
    old, new = broker(4, is_migrating_zk_broker=True), broker(5)
    migrating = nodes(old, new, seen=(node(1, Role.CONTROLLER), node(4, finalized={}), node(5)))
    known = changed(migrating.state.registrations, zk_migration_state=ZkMigrationState.MIGRATION)
    levels = area("levels", nodes=changed(migrating, state=changed(migrating.state, registrations=known)))
    assert levels.verdict == "watch"
    assert levels.headline == "the migration from ZooKeeper is not finished: broker 4 in ZooKeeper mode"
    assert [finding.id for finding in levels.findings] == ["zk-migration-not-finished"]


def _before_copy(*brokers: Any, seen: tuple[ClusterNode, ...] = ()) -> Any:
    found = nodes(*brokers, seen=(node(1, Role.CONTROLLER), *seen))
    entered = {item.id: item for item in brokers}
    known = changed(found.state.registrations, brokers=entered, zk_migration_state=ZkMigrationState.PRE_MIGRATION)
    return changed(found, state=changed(found.state, registrations=known))


def test_brokers_and_partitions_are_unknown_until_a_migration_has_copied_them() -> None:
    found = status(nodes=_before_copy(), partitions=partitions(partitions=0), next_failure=WORST)
    areas = {area.area: area for area in found.areas}
    assert (found.verdict, areas["brokers"].verdict, areas["partitions"].verdict) == ("unknown",) * 3
    assert set(areas["partitions"].counts.values()) == {None}
    assert (areas["brokers"].counts["registered"], areas["brokers"].counts["in_service"]) == (0, None)
    assert [finding.id for finding in areas["brokers"].findings] == ["status-not-known"]
    assert "ZooKeeper" in found.headline
    assert areas["brokers"].command == "kafkactl migrate status --inventory FILE"
    assert "next-failure" not in areas


def test_silence_of_the_only_broker_that_entered_a_migration_does_not_mean_that_none_is_in_service() -> None:
    entered = broker(4, is_migrating_zk_broker=True)
    silent = node(4, answers=False, silence=Silence.REFUSED)
    found = area("brokers", nodes=_before_copy(entered, seen=(silent,)))
    assert (found.verdict, found.counts["silent"], found.counts["in_service"]) == ("watch", 1, None)
    found = area("brokers", nodes=_before_copy(entered, seen=(node(4),)))
    assert (found.verdict, found.text) == ("unknown", "1 of 1 in service · only those that entered the migration")


def test_broker_that_a_finalized_migration_left_in_zookeeper_mode_is_a_problem() -> None:
    found = nodes(broker(4, is_migrating_zk_broker=True), broker(5))
    known = changed(found.state.registrations, zk_migration_state=ZkMigrationState.POST_MIGRATION)
    answer = status(nodes=changed(found, state=changed(found.state, registrations=known)))
    areas = {area.area: area for area in answer.areas}
    assert answer.headline == "broker 4 is in ZooKeeper mode although the migration is finalized"
    assert (areas["brokers"].verdict, areas["brokers"].counts["in_service"]) == ("problem", 1)
    assert areas["brokers"].findings[0].id == "finalized-with-zookeeper-broker"
    assert not areas["levels"].findings


def test_finished_migration_is_not_mentioned() -> None:
    healthy = nodes()
    known = changed(healthy.state.registrations, zk_migration_state=ZkMigrationState.POST_MIGRATION)
    levels = area("levels", nodes=changed(healthy, state=changed(healthy.state, registrations=known)))
    assert levels.verdict == "ok"


@pytest.mark.parametrize("id", ["controller-not-asked", "question-denied"])
def test_quorum_that_the_leader_describes_is_ok_although_controllers_refuse_this_login(id: str) -> None:
    refused = changed(quorum(), findings=(warning(id, "controller 2", "controller 2 could not be asked"),))
    found = area("quorum", quorum=refused)
    assert (found.verdict, [finding.id for finding in found.findings]) == ("ok", [id])


def test_warning_of_the_quorum_that_is_not_about_rights_is_watched_for() -> None:
    silent = changed(quorum(), findings=(warning("bootstrap-node-silent", "c9:9093", "c9:9093 could not be asked"),))
    assert area("quorum", quorum=silent).verdict == "watch"


def test_levels_are_unknown_if_no_controller_lets_this_login_in() -> None:
    brokers = tuple(node(id) for id in (4, 5, 6))
    refused = changed(node(1, Role.CONTROLLER, answers=None), not_asked=NO_RIGHT)
    levels = area("levels", nodes=nodes(seen=(refused, *brokers)))
    assert levels.verdict == "unknown"
    assert "the levels of controllers are not known (not authorised: DescribeQuorum)" in levels.text


def test_levels_of_a_combined_node_are_those_of_its_broker() -> None:
    refused = changed(node(4, Role.CONTROLLER, answers=None), not_asked=NO_RIGHT)
    levels = area("levels", nodes=nodes(seen=(refused, *(node(id) for id in (4, 5, 6)))))
    assert levels.verdict == "ok"
