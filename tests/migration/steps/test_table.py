"""States and broken situations, derived from all the evidence of an observation."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.explanations import explanations
from kafkactl.core.frozen import changed
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.definition import Band, Row
from kafkactl.migration.steps.table import TABLE, State, observed_state
from tests.migration.state.states_seen import COPY_END, HEALTHY, KR, MIG, ZK, Seen, without

_M0, _M3, _M4, _M5, _M6, _M7, _M8 = (HEALTHY[name] for name in ("M0", "M3", "M4", "M5", "M6", "M7", "M8"))
_DOWN = {3001: False}
_ALL_KRAFT = {1: KR, 2: KR, 3: KR}

# What else a real cluster shows in each state, and the broken situations.
SITUATIONS: dict[str, tuple[Seen, str]] = {
    **{f"healthy {name}": (seen, name) for name, seen in HEALTHY.items()},
    "no controller is in the inventory yet": (_M0, "M0"),
    "controllers are there and not formatted": (_M0.but(controllers=_DOWN, formatted=False), "M0"),
    "controllers are starting": (_M3.but(log=None, metric=-1, migration=None, leader=False), "M3"),
    "one broker of two has entered": (_M4.but(modes={1: MIG, 2: ZK}, registered={1: True, 3: True}), "M4L"),
    "a replica is on a dead broker": (
        _M4.but(modes={1: MIG, 2: MIG, 3: None}, registered={1: True, 2: True}), "M4L",
    ),
    "restarted is not registered": (_M4.but(modes={1: MIG, 2: MIG, 3: ZK}), "M4"),
    "a broker entered and left again (2.1)": (_M4.but(modes={1: ZK, 2: ZK, 3: ZK}), "M4"),
    "all have entered and a controller without the flag holds it ([120])": (
        HEALTHY["M4L"].but(modes={1: MIG, 2: MIG, 3: MIG}, registered={1: True, 2: True, 3: True},
                           controllers={3001: True, 3002: True, 3003: True}, flags={3003: False}), "M5",
    ),
    "controllers stopped before any broker entered": (_M3.but(controllers=_DOWN), "M3"),
    "copied and not yet mirrored": (_M6.but(end=240, migration=COPY_END), "M5"),
    "between the end of the copy and /migration": (_M6.but(end=240, migration=-1, migration_version=1), "M5"),
    "the znodes were read before the claim, the log after the copy": (
        _M6.but(end=250, holder="zk", migration=-1, migration_version=0), "M5",
    ),
    "the znodes were read in the copy, the log some seconds after it": (
        _M6.but(end=290, migration=-1, migration_version=1), "M5",
    ),
    "mirrored, and the driver is stuck": (_M6.but(end=900, migration_age_ms=300_000), "M6"),
    "the log was read before the copy ended": (_M5.but(migration=COPY_END), "M5"),
    "mirrored, and the copy is in a snapshot": (_M6.but(copy=(None, None)), "M6"),
    "a plain broker joined in dual write ([94])": (_M6.but(modes={1: MIG, 2: MIG, 3: MIG, 4: ZK}), "M6"),
    "the last broker is changing": (
        _M7.but(modes={1: KR, 2: KR, 3: None}, registered={1: False, 2: False, 3: True}), "M7",
    ),
    "one controller of three is down": (_M8.but(controllers={3001: True, 3002: True, 3003: False}), "M8"),
    "a controller lost the flag and does not lead": (
        _M8.but(controllers={3001: True, 3002: True, 3003: True}, flags={3002: False}), "M8",
    ),
    "finalized in the middle of the controllers' roll ([130])": (
        HEALTHY["M10"].but(controllers={1: True, 2: True, 3: True}, flags={1: False, 2: False}), "M10",
    ),
    "copied, and only the log tells": (HEALTHY["M6"].but(has_tree=False), "M6"),
    "finalized, and only the log tells": (HEALTHY["M11"].but(has_tree=False), "M11"),
    "on Kafka 4, whose log has no record of it": (
        HEALTHY["M11"].but(log=None, metric=-1, version="4.0.2"), "M11",
    ),
    "rolled back from M3": (_M0.but(controllers=_DOWN, log=2), "M0"),
    "rolled back from M6": (
        _M0.but(controllers=_DOWN, log=1, registered={1: True, 2: True, 3: True}, copy=(81, COPY_END), end=300), "M0",
    ),
    "stale, before the claim": (_M3.but(migration=133, holder="zk"), "stale-migration"),
    "stale, claimed ([50])": (_M4.but(migration=133, holder="kraft", end=48), "stale-migration"),
    "stale, and ZooKeeper is empty": (_M4.but(migration=160, holder="kraft", end=162, topics=False), "stale-migration"),
    "stale, and the controllers were stopped": (
        _M4.but(migration=133, holder="kraft", controllers=_DOWN), "stale-migration",
    ),
    "re-formatted in dual write ([101])": (
        _M3.but(holder="kraft", modes={1: MIG, 2: MIG, 3: MIG}), "stale-controller",
    ),
    "/controller of a later epoch than the quorum's": (
        _M4.but(holder="kraft", holder_kraft_epoch=9), "stale-controller",
    ),
    "burnt ([65])": (_M3.but(log=0, flags={3001: False}, migration=None), "quorum-without-migration-flag"),
    "burnt, and stopped": (_M3.but(log=0, controllers=_DOWN, migration=None), "quorum-without-migration-flag"),
    "killed in the copy ([68])": (_M5.but(controllers=_DOWN), "copy-crashed"),
    "a poison znode ended two controllers": (_M5.but(copy=(None, None), aborts=2, end=88), "copy-crashed"),
    "one election during the copy": (_M5.but(aborts=1), "M5"),
    "the quorum is lost": (_M6.but(controllers=_DOWN), "lost-quorum"),
    "two of three controllers are lost": (
        _M8.but(controllers={3001: True, 3002: False, 3003: False}), "lost-quorum",
    ),
    "/controller deleted with a controller alive ([100])": (_M6.but(holder="zk"), "split-brain"),
    "/migration deleted in dual write ([98])": (_M6.but(migration=None), "lost-migration-znode"),
    "/migration made anew after that": (_M6.but(migration=-1, migration_version=0, end=900), "lost-migration-znode"),
    "/migration emptied": (_M6.but(migration="empty"), "lost-migration-znode"),
    "rollback: /controller deleted, /migration left": (
        _M6.but(controllers=_DOWN, holder="zk"), "incomplete-rollback",
    ),
    "rollback: nobody is elected yet": (_M6.but(controllers=_DOWN, holder=None), "incomplete-rollback"),
    "rollback: brokers still to be rolled": (
        _M6.but(controllers=_DOWN, holder="zk", migration=None, modes={1: ZK, 2: MIG, 3: MIG}), "incomplete-rollback",
    ),
    "rollback: a file was put back and its broker is down": (
        _M6.but(controllers=_DOWN, holder="zk", migration=None, modes={1: ZK, 2: ZK, 3: None}, files={3: MIG}),
        "incomplete-rollback",
    ),
    "rollback: all is done but /migration": (
        _M6.but(controllers=_DOWN, holder="zk", modes={1: ZK, 2: ZK, 3: ZK}), "incomplete-rollback",
    ),
    "rollback: disks wiped, /migration at -1": (
        _M0.but(controllers=_DOWN, formatted=False, migration=-1), "incomplete-rollback",
    ),
    "an old quorum was started after a rollback": (
        _M6.but(modes={1: ZK, 2: ZK, 3: ZK}, end=900), "quorum-without-brokers",
    ),
    "the same, and one broker is down": (
        _M6.but(modes={1: ZK, 2: ZK, 3: None}, files={3: ZK}, end=900), "quorum-without-brokers",
    ),
    "all but one broker of the dual write left migration mode": (_M6.but(modes={1: ZK, 2: ZK, 3: MIG}), "M6"),
    "brokers on KRaft were all restarted on ZooKeeper": (
        _M8.but(modes={1: ZK, 2: ZK, 3: ZK}), "quorum-without-brokers",
    ),
    "a broker on KRaft was restarted on ZooKeeper (KAFKA-16101)": (_M8.but(modes={1: ZK, 2: KR, 3: KR}), "M7"),
    "brokers entered before there was a quorum": (
        _M0.but(controllers=_DOWN, formatted=False, modes={1: MIG, 2: MIG, 3: MIG}), "brokers-before-quorum",
    ),
    "one broker entered before there was a quorum": (
        _M0.but(controllers=_DOWN, formatted=False, modes={1: MIG, 2: ZK, 3: ZK}), "brokers-before-quorum",
    ),
    "brokers have KRaft files and there is no quorum": (
        _M0.but(controllers=_DOWN, formatted=False, modes={1: KR, 2: MIG, 3: MIG}), "incomplete-rollback",
    ),
    "finalized with a broker on ZooKeeper ([72])": (
        HEALTHY["M11"].but(modes={1: KR, 2: MIG, 3: KR}, registered={1: False, 2: True, 3: False}),
        "finalized-with-zookeeper-broker",
    ),
    "born in KRaft": (
        Seen(modes=_ALL_KRAFT, controllers={3001: True}, flags={3001: False}, log=0, has_tree=False,
             registered={1: False, 2: False, 3: False}), "born-in-kraft",
    ),
    "the quorum is another cluster's": (
        Seen(controllers={3001: True}, flags={3001: False}, log=0, foreign={3001: "AnotherClusterAnotherC"}),
        "unidentified-nodes",
    ),
    "nothing was seen": (Seen(has_tree=False), "not-enough-evidence"),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_state_is_what_all_the_evidence_shows(name: str) -> None:
    seen, state = SITUATIONS[name]
    situation = observed_state(seen.observation())
    assert situation.state == state, situation.why
    assert situation.why


@pytest.mark.slow
def test_order_of_the_rows_decides() -> None:
    # Most situations fulfil later rows, too, for other states; each is under a heading that says why.
    assert isinstance(TABLE[0], Band)
    assert all(entry.reason for entry in TABLE if isinstance(entry, Band))
    rows = [entry for entry in TABLE if isinstance(entry, Row)]
    ambiguous = 0
    for seen, state in SITUATIONS.values():
        holding = [row.state for row in rows if row.holds(evidence_of(seen.observation()))]
        assert holding[0] == state
        ambiguous += any(other != state for other in holding[1:-1])
    assert ambiguous > len(SITUATIONS) / 2


def test_every_broken_situation_has_a_case_and_an_explanation() -> None:
    broken = {state for state in State if state.is_broken}
    assert broken == {State(state) for _, state in SITUATIONS.values() if State(state).is_broken}
    assert {state.value for state in broken} <= set(explanations())


@pytest.mark.parametrize("name", [name for name, (_, state) in SITUATIONS.items() if State(state).is_broken])
def test_broken_situation_is_a_blocker_of_its_own_name(name: str) -> None:
    seen, state = SITUATIONS[name]
    first = observed_state(seen.observation()).findings[0]
    assert (first.id, first.severity) == (state, "blocker")


def test_after_a_rollback_the_leftovers_are_reported() -> None:
    seen, _ = SITUATIONS["rolled back from M6"]
    situation = observed_state(seen.observation())
    assert {(finding.id, finding.subject) for finding in situation.leftovers} == {
        ("controller-disk-left-over", "controller 3001"),
        *(("broker-metadata-left-over", f"broker {id}") for id in (1, 2, 3)),
    }


def test_healthy_cluster_on_zookeeper_has_no_findings() -> None:
    situation = observed_state(_M0.observation())
    assert (situation.findings, situation.leftovers) == ((), ())


@pytest.mark.parametrize("name", ["M3", "M4", "M4L", "M6", "M7", "M8"])
@pytest.mark.parametrize("gone", ["config", "meta_properties", "metrics", "quorum", "mode", "kafka_version", "alive"])
def test_no_single_answer_decides(name: str, gone: str) -> None:
    assert observed_state(without(HEALTHY[name].observation(), **{gone: None})).state == name


@pytest.mark.parametrize("name", ["M0", "M3", "M4", "M6", "M7", "M8", "M11"])
def test_state_without_a_log_follows_from_znodes_and_answers(name: str) -> None:
    situation = observed_state(changed(HEALTHY[name].observation(), logs={}))
    assert situation.state == name
    assert name == "M0" or [finding.subject for finding in situation.findings] == ["metadata log"]


@pytest.mark.parametrize(
    "name",
    [
        "ZkMigrationState",
        "kafka.controller:type=KafkaController,name=ZkMigrationState",
        "kafka.controller:type=KafkaController,name=ZkMigrationState:Value",
        "kafka_controller_KafkaController_ZkMigrationState_Value",
    ],
)
def test_metric_is_known_by_any_form_of_its_name(name: str) -> None:
    seen = changed(_M3.observation(), logs={})
    nodes = tuple(changed(controller, metrics={"Other": 9.0, name: 2.0}) for controller in seen.controllers)
    assert observed_state(changed(seen, nodes=(*seen.brokers, *nodes))).state == "M3"
    assert evidence_of(changed(seen, nodes=nodes)).kraft_state == 2


def test_without_a_tree_the_active_controller_is_unknown() -> None:
    situation = observed_state(_M3.but(has_tree=False).observation())
    assert (situation.state, [finding.subject for finding in situation.findings]) == ("M3", ["zookeeper"])


@given(data=st.data())
def test_no_partial_observation_raises(data: st.DataObject) -> None:
    seen, _ = SITUATIONS[data.draw(st.sampled_from(sorted(SITUATIONS)))]
    assert observed_state(partial(seen.observation(), data)).state in set(State)


def partial(observation: Observation, data: st.DataObject) -> Observation:
    """Return some nodes, some fields of each, perhaps no tree, perhaps no log."""
    fields = ("alive", "mode", "config", "config_text", "meta_properties", "api_versions", "quorum", "metrics")
    nodes = []
    for node in observation.nodes:
        if data.draw(st.booleans(), label=node.name):
            gone = data.draw(st.sets(st.sampled_from(fields)))
            nodes.append(changed(node, **dict.fromkeys(gone)))
    return changed(
        observation,
        nodes=tuple(nodes),
        tree=observation.tree if data.draw(st.booleans(), label="tree") else None,
        logs=observation.logs if data.draw(st.booleans(), label="logs") else {},
    )


def test_states_have_an_order() -> None:
    places = [state.place for state in State if not state.is_broken]
    assert all(a is not None and b is not None and a < b for a, b in pairwise(places))
