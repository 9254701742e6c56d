"""Findings of verify on nodes that ran before and have no record in their metadata log: interrupted, or lost."""

from __future__ import annotations

import pytest

from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.record_batch import encode_batch
from tests.lab.storage.verify_damage import folder, holds
from tests.storage.verify.nodes import SEGMENT, blocker_ids

FOLDER = "d1/__cluster_metadata-0"
STATE, EPOCHS = f"{FOLDER}/quorum-state", f"{FOLDER}/leader-epoch-checkpoint"


def state(*, leader=-1, epoch=1, voted=-1):
    return (
        f'{{"leaderId":{leader},"leaderEpoch":{epoch},"votedId":{voted},'
        '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )


def leader_change(offset, epoch):
    record = encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": 1})
    return encode_batch([record], base_offset=offset, timestamp_ms=1, partition_leader_epoch=epoch, is_control=True)


@pytest.fixture
def begun(node):
    """Return a node whose first start left a segment with these bytes and a quorum-state."""

    def make(content, quorum_state, *flags, version="4.3.1", **settings):
        made = node(version).format(*(flags or ("--standalone",)), **settings)
        holds(f"d1/{SEGMENT}", content)(made.root)
        if quorum_state is not None:
            holds(STATE, quorum_state)(made.root)
        holds("d1/recovery-point-offset-checkpoint", "0\n0\n")(made.root)
        return made

    return make


def ids(answer):
    return {finding.id for finding in answer.findings}


THREE = ",".join(f"{number}@localhost:{9092 + number}:{directory}" for number, directory in enumerate("ABC", 1))
THREE = THREE.replace(":A", ":AEXY6aqzQY-32P5TStzaFg").replace(":B", ":BEXY6aqzQY-32P5TStzaFg")
THREE = THREE.replace(":C", ":CEXY6aqzQY-32P5TStzaFg")


@pytest.mark.parametrize(
    ("content", "quorum_state"),
    [
        (leader_change(0, 1), state(leader=1)),
        (leader_change(0, 1) + leader_change(1, 2), state(leader=1, epoch=2)),
        (b"", state(epoch=7, voted=1)),
        (b"", state(epoch=0)),
        (b"", None),
    ],
)
@pytest.mark.parametrize("flags", [("--standalone",), ("--initial-controllers", THREE)])
def test_interrupted_first_start_is_not_reported_as_a_lost_log(begun, content, quorum_state, flags):
    answer = begun(content, quorum_state, *flags).verify()
    assert (answer.will_start, blocker_ids(answer), answer.would_lose) == (True, [], ())
    assert "first-start-unfinished" in ids(answer) and "metadata-log-missing" not in ids(answer)


@pytest.mark.parametrize(
    ("content", "quorum_state", "damage"),
    [
        (b"", state(leader=1), None),  # it led, and a leader writes first that it does
        (leader_change(0, 5), state(leader=1, epoch=2), None),
        (leader_change(0, 1), state(leader=1), holds(EPOCHS, "0\n2\n1 0\n3 900\n")),
        (leader_change(0, 1), state(leader=1), holds(f"{FOLDER}/00000000000000000900.snapshot", "")),
        (leader_change(0, 1), state(leader=1), folder("d1/orders-0")),
        (leader_change(7, 1), state(leader=1), None),
    ],
)
def test_log_is_reported_as_lost_after_more_than_a_first_start(begun, content, quorum_state, damage):
    made = begun(content, quorum_state)
    if damage is not None:
        damage(made.root)
    answer = made.verify()
    assert "metadata-log-missing" in blocker_ids(answer)
    assert "metadata-log" in {loss.what for loss in answer.would_lose}


def test_both_possibilities_are_named_for_a_voter_that_followed_and_has_an_empty_log(begun):
    answer = begun(b"", state(leader=2), "--initial-controllers", THREE).verify()
    found = next(finding for finding in answer.findings if finding.id == "metadata-log-missing")
    assert found.severity == "warning" and "either its first start ended before the first fetch" in found.message


def test_broker_without_its_copy_of_the_log_has_no_vote_to_lose(begun):
    made = begun(b"", state(leader=9), "--no-initial-controllers", roles="broker")
    found = next(finding for finding in made.verify().findings if finding.id == "metadata-log-missing")
    assert found.severity == "warning" and "a broker has no vote" in found.next_step
