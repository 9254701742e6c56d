"""Verification of voters and elections."""

from __future__ import annotations

import pytest

from kafkactl.core.explanations import explanations
from tests.lab.storage.verify_damage import cut, holds, removed, replaced
from tests.storage.verify.nodes import CHECKPOINT, SEGMENT, blocker_ids

META, FIRST = "d1/meta.properties", f"d1/{CHECKPOINT}"
STATE = "d1/__cluster_metadata-0/quorum-state"


@pytest.mark.parametrize("edit", ["directory.id=qqqqqqqqqqqqqqqqqqqqqg\n", ""])
def test_changed_directory_id_of_the_only_voter_prevents_an_election(node, edit):
    made = node("4.3.1").format("--standalone")
    replaced(META, "^directory.id=.*\n", edit)(made.root)
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.waits) == (False, True)
    assert blocker_ids(answer) == ["voter-directory-id-changed"]


def test_voter_with_a_changed_directory_id_loses_its_vote(node):
    ids = ",".join(
        f"{number}@localhost:{9092 + number}:{'ABC'[number - 1]}EXY6aqzQY-32P5TStzaFg" for number in (1, 2, 3)
    )
    made = node("4.3.1").format("--initial-controllers", ids)
    assert made.verify().will_start is True
    replaced(META, "^directory.id=.*", "directory.id=qqqqqqqqqqqqqqqqqqqqqg")(made.root)
    answer = made.verify()
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["vote"])
    assert blocker_ids(answer) == ["voter-directory-id-changed"]


def test_node_outside_of_the_voter_set_is_an_observer(node):
    made = node("4.3.1").format("--initial-controllers", "2@localhost:9094:JEXY6aqzQY-32P5TStzaFg")
    answer = made.verify()
    assert (answer.will_start, answer.expected_failure.waits) == (False, True)
    assert blocker_ids(answer) == ["not-a-voter"]
    assert "The voter set on the disk is node 2;" in answer.findings[0].message
    made.file.write_text(made.file.read_text().replace("servers=localhost:9093", "servers=localhost:9094"))
    assert made.verify().will_start is True  # it asks the voter, and follows as an observer


def test_joining_controller_needs_known_voters(node):
    made = node("4.3.1").format("--no-initial-controllers")
    answer = made.verify()
    assert (answer.will_start, blocker_ids(answer)) == (False, ["no-voters-known"])
    text = made.file.read_text()
    made.file.write_text(text.replace("servers=localhost:9093", "servers=other:9193,more:9193"))
    assert made.verify().will_start is True
    made.file.write_text(text.replace("servers=localhost:9093", "servers=other:9093"))
    assert made.verify().will_start is None  # the port is ours, and the name may be


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "LOCALHOST"])
def test_loopback_address_of_the_node_itself_names_no_voter(node, host):
    # A joining controller that knows only itself never meets a leader, however its own address is written.
    made = node("4.3.1").format("--no-initial-controllers")
    made.file.write_text(made.file.read_text().replace("servers=localhost:9093", f"servers={host}:9093"))
    answer = made.verify()
    assert (answer.will_start, blocker_ids(answer)) == (False, ["no-voters-known"])


def test_start_with_a_cut_checkpoint_of_one_of_several_cannot_be_predicted(node):
    made = node("4.4.0").format("--standalone")
    cut(FIRST, 40)(made.root)
    made.file.write_text(made.file.read_text().replace("servers=localhost:9093", "servers=other:9193,localhost:9093"))
    assert made.verify().will_start is None


def test_lone_controller_starts_into_no_quorum(node):
    made = node("4.3.1").format("--standalone", roles="controller")
    removed(FIRST)(made.root)
    answer = made.verify()
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["vote"])
    assert blocker_ids(answer) == ["no-voters-known"]


@pytest.mark.parametrize("has_run", [True, False])
def test_used_node_without_voters_has_no_format_as_next_step(node, has_run):
    made = node("4.3.1").format("--standalone", roles="controller")
    if has_run:
        made.started_once()
        log = made.path(f"d1/{SEGMENT}")
        log.write_bytes(bytes(log.stat().st_size))
    removed(FIRST)(made.root)
    found = next(finding for finding in made.verify().findings if finding.id == "no-voters-known")
    assert ("Format nothing: the node has run" in found.advice) is has_run


def test_joining_node_with_static_voters_fails_in_the_election(node):
    made = node("4.4.0").format("--no-initial-controllers")
    answer = made.configure(static=True).verify()
    assert (answer.will_start, answer.expected_failure.phase.word) == (False, "election")
    assert blocker_ids(answer) == ["kraft-version-without-voters"]


def test_standalone_becomes_static(node):
    assert node("4.4.0").format("--standalone").configure(static=True).verify().will_start is True


@pytest.mark.parametrize("roles", ["controller", "broker,controller"])
def test_voters_of_a_static_quorum_are_put_back_and_nothing_is_formatted(node, roles):
    made = node("4.3.1").format(static=True, roles=roles).started_once()
    answer = made.configure(roles=roles).verify()
    found = next(finding for finding in answer.findings if finding.id == "no-voters-known")
    assert blocker_ids(answer) == ["no-voters-known"] and found.evidence["voters"] == [1]
    assert "controller.quorum.voters=1@" in found.next_step and "Do not format" in found.next_step
    assert answer.will_start is (roles == "controller")  # it waits, and says that it has started
    assert made.configure(roles=roles, static=True).verify().will_start is True


def test_static_voter_with_bootstrap_servers_elsewhere_loses_its_vote(node):
    made = node("4.3.1").format(static=True).started_once()
    made.configure()
    made.file.write_text(made.file.read_text().replace("servers=localhost:9093", "servers=other:9193"))
    answer = made.verify()
    assert (answer.will_start, [loss.what for loss in answer.would_lose]) == (True, ["vote"])
    assert blocker_ids(answer) == ["no-voters-known"]


def state(*, leader: int = -1, voted: int = -1, voters: str = '{"voterId":1}') -> str:
    return (
        f'{{"clusterId":"","leaderId":{leader},"leaderEpoch":5,"votedId":{voted},"appliedOffset":0,'
        f'"currentVoters":[{voters}],"data_version":0}}'
    )


VERSION_1 = '{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
VERSION_9 = '{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":9}'
STATES = [
    ("", "3.7.2", None),
    ("", "3.8.1", "Error while reading the Quorum status from the file"),
    ("[1]", "4.4.0", "Error while reading the Quorum status from the file"),
    (VERSION_9, "4.4.0", "is not within the min (0) and max"),
    (VERSION_9, "3.6.2", "unable to locate field"),
    (VERSION_9.replace("9}", "0}"), "4.4.0", "unable to locate field"),
    (VERSION_9, "3.7.2", "Unknown data version of"),
    (VERSION_1, "3.6.2", "unable to locate field"),
    (VERSION_1, "3.7.2", "Unknown data version of"),
    (state(leader=1).replace('version":0', 'version":9'), "3.6.2", None),
    (state(leader=1).replace('version":0', 'version":9'), "3.7.2", "Unknown data version of"),
    (state(leader=1).replace(":5", ':"five"'), "3.6.2", "QuorumStateData"),
    (VERSION_1, "3.8.1", None),
    (state(voted=1), "3.9.2", "Cannot transition to Candidate since the local broker.id"),
    (state(voted=1), "4.0.2", None),
    (state(voted=4), "3.9.2", None),
    (state(leader=9), "3.8.1", "Leader 9 must be in the voter set"),
    (state(leader=9), "3.9.2", None),
    (state(voters='{"voterId":2}'), "3.7.2", "is different from the voter set read from the state file"),
    (state(voters='{"voterId":2}'), "3.8.1", None),
]


@pytest.mark.parametrize(("content", "version", "words"), STATES)
def test_damaged_quorum_state_prevents_the_start(node, content, version, words):
    made = node(version).format(static=True).started_once()
    holds(STATE, content)(made.root)
    answer = made.verify()
    assert answer.will_start is (words is None)
    if words is not None:
        assert answer.expected_failure.phase.word == "quorum-state"
        assert words in answer.expected_failure.message
        assert set(blocker_ids(answer)) <= set(explanations())
