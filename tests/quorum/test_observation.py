"""Answers of several controllers, disks and the log become one state; what none of them shows stays unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.observation import DiskSeen, answer_error, quorum_answer, quorum_state
from kafkactl.cluster.quorum.state import Mode, Progress, is_committed, progress
from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.values import ZERO_UUID, Endpoint, Role
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.schema.definitions import response
from tests.quorum.worlds import CLUSTER_ID, NOW_MS, directory, endpoint, versions

DESCRIBE_QUORUM = 55


def _replica(node_id, *, end=1_000, age_ms=100, letter="a", never=False):
    return {
        "ReplicaId": node_id,
        "ReplicaDirectoryId": directory(letter) if letter else ZERO_UUID,
        "LogEndOffset": -1 if never else end,
        "LastFetchTimestamp": -1 if never else NOW_MS - age_ms,
        "LastCaughtUpTimestamp": -1 if never else NOW_MS - age_ms,
    }


def _body(voters, observers=(), *, leader=1, epoch=5, high_watermark=990, error=0, top=0):
    partition = {
        "PartitionIndex": 0,
        "ErrorCode": error,
        "ErrorMessage": "partition" if error else None,
        "LeaderId": leader,
        "LeaderEpoch": epoch,
        "HighWatermark": high_watermark,
        "CurrentVoters": [dict(voter) for voter in voters],
        "Observers": list(observers),
    }
    nodes = [
        {
            "NodeId": voter["ReplicaId"],
            "Listeners": [{"Name": "CONTROLLER", "Host": f"c{voter['ReplicaId']}", "Port": 9093}],
        }
        for voter in voters
    ]
    topics = [] if top else [{"TopicName": "__cluster_metadata", "Partitions": [partition]}]
    return {"ErrorCode": top, "ErrorMessage": "top" if top else None, "Topics": topics, "Nodes": nodes}


def _at(version, body):
    """Return the answer without what this version does not carry."""
    if version < 2:
        for replica in body["Topics"][0]["Partitions"][0]["CurrentVoters"]:
            replica["ReplicaDirectoryId"] = ZERO_UUID
        body["Nodes"] = []
    return body


def _answer(*args, version=2, asked="controller 1", **changes):
    """Encode and decode an answer, so that each version has only its own fields."""
    spec = response(DESCRIBE_QUORUM)
    body = _at(version, _body(*args, **changes))
    body, _ = decode_message(spec, version, encode_message(spec, version, body))
    return quorum_answer(body, version=version, asked=asked)


def _state(*answers, **changes):
    return quorum_state(cluster_id=CLUSTER_ID, answers=answers, **changes)


def _asked(node_id, *, answers=True, level=1):
    answered = versions(finalized={"kraft.version": level} if level else {})
    answered = answered if answers else None
    return ClusterNode(id=node_id, role=Role.CONTROLLER, answers=answers, versions=answered, named_itself=answers)


HEALTHY = [_replica(1, age_ms=0), _replica(2, end=995, age_ms=300), _replica(3, age_ms=60_000, end=700)]


def test_leaders_answer_becomes_the_state():
    state = _state(_answer(HEALTHY, [_replica(4, age_ms=50)]), nodes=[_asked(1), _asked(2), _asked(4)])
    assert (state.leader_id, state.leader_epoch, state.high_watermark) == (1, 5, 990)
    assert (state.mode, state.kraft_version) == (Mode.DYNAMIC, 1)
    assert [voter.alive for voter in state.voters] == [True, True, False]
    assert [voter.lag for voter in state.voters] == [0, 5, 300]
    assert [observer.alive for observer in state.observers] == [True]
    assert (state.majority, state.tolerates, state.is_healthy) == (2, 0, True)
    assert state.sources["voters"] == "controller 1"


def test_payload_is_the_one_of_the_face():
    answered = _state(_answer(HEALTHY), nodes=[_asked(1), _asked(2)]).to_dict()
    assert list(answered)[:10] == [
        *("cluster_id", "mode", "kraft_version", "leader_id", "leader_epoch", "high_watermark"),
        *("voters", "observers", "majority", "tolerates"),
    ]
    assert answered["voters"][1] == {
        "id": 2,
        "directory_id": str(directory("a")),
        "endpoints": [{"listener": "CONTROLLER", "host": "c2", "port": 9093}],
        "log_end_offset": 995,
        "lag": 5,
        "last_fetch_timestamp_ms": NOW_MS - 300,
        "last_caught_up_timestamp_ms": NOW_MS - 300,
        "alive": True,
        "evidence": "answers, and fetched 300 ms before",
    }


def test_recent_fetch_is_not_a_sign_of_life_of_a_node_that_does_not_answer():
    # Neither if nothing answers at its endpoint, nor if the process that answers does not report that id.
    voters = [_replica(1, age_ms=0), _replica(2), _replica(3), _replica(4)]
    nodes = [_asked(1), _asked(2, answers=False), replace(_asked(3), named_itself=False)]
    state = _state(_answer(voters), nodes=[*nodes, replace(_asked(4), cluster_id="another")])
    assert [voter.alive for voter in state.voters] == [True, None, None, None]


def test_minus_one_is_unknown():
    voters = [_replica(1, age_ms=0), _replica(2, never=True), _replica(3, never=True)]
    state = _state(_answer(voters, high_watermark=-1), nodes=[_asked(1), _asked(2), _asked(3, answers=False)])
    assert state.high_watermark is None
    second, third = state.voters[1:]
    assert (second.log_end_offset, second.lag, second.last_fetch_timestamp_ms) == (None, None, None)
    assert (second.alive, third.alive) == (None, False)
    assert not state.is_healthy


@pytest.mark.parametrize("version", [0, 1])
def test_older_versions_have_no_directories_and_the_oldest_no_times(version):
    state = _state(_answer(HEALTHY, version=version), nodes=[_asked(1, level=0), _asked(3, answers=False)])
    assert state.mode is Mode.STATIC
    assert {voter.directory_id for voter in state.voters} == {None}
    assert [voter.alive for voter in state.voters] == [True, None, False]
    state = _state(_answer(HEALTHY, version=version), nodes=[_asked(1, level=0), _asked(2, level=0)])
    assert [voter.alive for voter in state.voters] == [True, True, None if version == 0 else False]


def test_higher_epoch_is_believed():
    old = _answer(HEALTHY, leader=3, epoch=4, asked="controller 3")
    state = _state(old, _answer(HEALTHY), nodes=[_asked(1)])
    assert (state.leader_id, state.leader_epoch) == (1, 5)
    assert [finding.id for finding in state.findings] == ["superseded-leader"]


def test_leader_that_is_removed_is_not_a_voter_and_the_latest_time_counts():
    state = _state(_answer([_replica(2, age_ms=10), _replica(3, age_ms=9_000)], leader=1), nodes=[_asked(1), _asked(2)])
    assert state.leader is None and state.leader_key is None
    assert [voter.alive for voter in state.voters] == [True, False]


def test_level_1_without_directories_is_static_all_the_same():
    # KAFKA-18979: 3.9 writes kraft.version 1 and stays static.
    voters = [_replica(number, age_ms=0, letter="") for number in (1, 2, 3)]
    state = _state(_answer(voters), nodes=[_asked(1)])
    assert state.mode is Mode.STATIC
    assert [finding.id for finding in state.findings] == ["kraft-version-only-claimed"]


def test_errors_are_read_from_both_places():
    assert answer_error(_body([], error=6)) == (6, "partition")
    assert answer_error(_body([], top=31)) == (31, "top")
    assert answer_error(_body([])) == (0, "")


def _disk(node_id, *, end, voters=None, epoch=3, **changes):
    return DiskSeen(
        path=f"disk{node_id}",
        node_id=node_id,
        directory_id=directory("a"),
        log_end_offset=end,
        last_epoch=epoch,
        leader_epoch=epoch,
        voters=voters,
        **changes,
    )


def _logged(*ids):
    return tuple(Voter(node_id=id_, directory_id=directory("a"), endpoints=(endpoint(id_),)) for id_ in ids)


def test_without_a_leader_the_newest_disk_knows_the_voters_and_the_nodes_who_lives():
    disks = [
        _disk(1, end=500, voters=_logged(1, 2, 3), kraft_version=1),
        _disk(2, end=900, voters=_logged(1, 2), epoch=4, kraft_version=1),
    ]
    state = _state(
        disks=disks,
        nodes=[
            ClusterNode(id=1, role=Role.CONTROLLER, answers=True),
            ClusterNode(id=2, role=Role.CONTROLLER, answers=False),
        ],
    )
    assert (state.leader_id, state.leader_epoch, state.high_watermark) == (-1, 4, None)
    assert [(voter.id, voter.alive, voter.log_end_offset) for voter in state.voters] == [
        (1, True, 500),
        (2, False, 900),
    ]
    assert (state.mode, state.tolerates) == (Mode.DYNAMIC, -1)
    assert state.sources == {
        "leader": "no node leads",
        "voters": "the log in disk2",
        "kraft_version": "the log in disk2",
    }
    assert state.voters[0].endpoints == (Endpoint(listener="CONTROLLER", host="c1", port=9093),)


def test_without_a_leader_a_static_quorum_is_in_quorum_state():
    state = _state(disks=[_disk(1, end=5, static_voters=(1, 2, 3), kraft_version=0)])
    assert [voter.id for voter in state.voters] == [1, 2, 3]
    assert (state.mode, state.tolerates, state.sources["voters"]) == (Mode.STATIC, None, "quorum-state in disk1")


def test_log_that_was_read_from_a_node_knows_them_too():
    log = Registrations(brokers={}, controllers={}, levels={}, kraft_version=1, voters=_logged(1, 2, 3))
    state = _state(registrations=log)
    assert (len(state.voters), state.kraft_version) == (3, 1)


def test_nothing_known_is_nothing_claimed():
    state = _state()
    assert (state.mode, state.kraft_version, state.tolerates, state.voters) == (None, None, None, ())
    assert state.to_dict()["leader_id"] == -1


def _moment(end, high_watermark, *, epoch=5, ids=(1, 2)):
    voters = [_replica(id_, end=end, age_ms=0) for id_ in ids]
    return _state(_answer(voters, high_watermark=high_watermark, epoch=epoch), nodes=[_asked(1)])


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (_moment(1_009, 999), Progress.STUCK),
        (_moment(1_009, 1_000), Progress.MOVING),
        (_moment(1_000, 999), Progress.MOVING),
        (_moment(1_009, 999, epoch=6), Progress.NEW_EPOCH),
        (_moment(1_009, -1), Progress.UNKNOWN),
        (_state(), Progress.NO_LEADER),
    ],
)
def test_high_watermark_that_stands_while_the_log_grows_is_the_signature(later, expected):
    assert progress(_moment(1_000, 999), later) is expected


def test_set_is_committed_once_everything_up_to_its_first_sight_is():
    first = _moment(1_000, 990)
    assert not is_committed(first, _moment(1_010, 999))
    assert is_committed(first, _moment(1_010, 1_000))
    assert not is_committed(first, _moment(1_010, 1_005, epoch=6))
    assert not is_committed(first, _moment(1_010, 1_005, ids=(1, 2, 3)))
    assert not is_committed(first, _state())


def test_level_of_a_node_without_a_name_counts_where_no_other_is_known():
    heard = {"b1:9092": versions(finalized={"kraft.version": 1})}
    state = _state(_answer(HEALTHY), heard=heard)
    assert (state.kraft_version, state.sources["kraft_version"]) == (1, "b1:9092")
    named = _state(_answer(HEALTHY), heard=heard, nodes=[_asked(1, level=0)])
    assert (named.kraft_version, named.sources["kraft_version"]) == (0, "node 1")
    empty = {"b1:9092": versions(finalized={"kraft.version": 1}, finalized_epoch=-1)}
    assert _state(_answer(HEALTHY), heard=empty).kraft_version is None


def test_leader_older_than_3_9_leads_a_static_quorum():
    state = _state(_answer(HEALTHY, version=1))
    assert (state.mode, state.kraft_version) == (Mode.STATIC, 0)


def test_directory_ids_are_left_out_of_a_static_quorum():
    state = _state(_answer(HEALTHY, [_replica(9)]), nodes=[_asked(1, level=0)])
    assert {replica.directory_id for replica in state.replicas} == {None}
    assert state.mode is Mode.STATIC


CONFIGURED = {id: (Endpoint(listener="", host=f"c{id}", port=9093),) for id in (1, 2)}


def test_configured_voters_are_used_in_a_static_quorum_without_a_leader():
    state = _state(nodes=[_asked(1, level=0), _asked(2, answers=False)], configured=CONFIGURED)
    assert [(voter.id, voter.alive, voter.endpoints) for voter in state.voters] == [
        (1, True, CONFIGURED[1]), (2, False, CONFIGURED[2]),
    ]  # fmt: skip
    assert state.sources["voters"] == "controller.quorum.voters"


def test_configured_voters_are_not_used_in_a_dynamic_quorum_or_with_a_leader():
    assert _state(nodes=[_asked(1, level=1)], configured=CONFIGURED).voters == ()
    led = _state(_answer(HEALTHY), nodes=[_asked(1, level=0)], configured=CONFIGURED)
    assert [voter.id for voter in led.voters] == [1, 2, 3]


def test_without_a_leader_the_highest_known_epoch_is_reported():
    nodes = [
        ClusterNode(id=1, role=Role.CONTROLLER, answers=True, leader_id=2, leader_epoch=9),
        ClusterNode(id=2, role=Role.CONTROLLER, answers=False),
    ]
    assert _state(nodes=nodes).leader_epoch == 9
