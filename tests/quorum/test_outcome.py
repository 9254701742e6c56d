"""Meaning of an answer, and the proof by a later reading: the texts are those of real servers (3.9.2 and 4.3.1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.quorum.order import Move, Turn
from kafkactl.quorum.outcome import ERROR_MEANINGS, Answer, Known, Meaning, error_meaning_of, judge
from kafkactl.quorum.step import Action, Step, steps_of
from tests.quorum.worlds import endpoint, key, world

KEY = "ReplicaKey(id=4, directoryId=Optional[AAAAAAAAAAAAAAAAAAAAZQ])"
TEXTS = [
    (0, "", Meaning.COMMITTED),
    (None, "", Meaning.OPEN),
    (6, "", Meaning.OPEN),
    (7, "The request timed out.", Meaning.OPEN),
    (7, "Request timed out waiting for leader to handle previous voter change request", Meaning.LATER),
    (
        7,
        "Request timed out waiting for voters to commit the latest voter change at Optional[160] with HWM 159",
        Meaning.LATER,
    ),
    (7, f"Aborted add voter operation for {KEY} since it is lagging behind", Meaning.LATER),
    (
        7,
        "Aborted add voter operation for since API_VERSIONS returned an error BROKER_NOT_AVAILABLE",
        Meaning.LATER,
    ),
    (8, "", Meaning.LATER),
    (31, "", Meaning.REFUSED),
    (35, "Cluster doesn't support removing voter because the kraft.version feature is 0", Meaning.REFUSED),
    (42, "Add voter request didn't include the endpoint (Endpoints(endpoints={})) for the default", Meaning.REFUSED),
    (95, "Invalid upgrade of kraft.version to KRAFT_VERSION_1 because not all of the voters", Meaning.REFUSED),
    (104, 'The given id "x" doesn\'t match the cluster id "y"', Meaning.REFUSED),
    (116, "", Meaning.REFUSED),
    (126, f"The voter id for {KEY} is already part of the set of voters [].", Meaning.MOOT),
    (127, f"Cannot remove voter {KEY} from the set of voters []", Meaning.MOOT),
    (-1, "The server experienced an unexpected error", Meaning.OPEN),
    (999, "", Meaning.OPEN),
]


@pytest.mark.parametrize(("code", "text", "meaning"), TEXTS)
def test_every_text_is_read(code, text, meaning):
    assert error_meaning_of(Answer(code=code, message=text)).meaning is meaning


def test_every_row_can_be_reached():
    rows = {id(error_meaning_of(Answer(code=row.code, message=f"so {row.phrase} it is"))) for row in ERROR_MEANINGS}
    assert len(rows) == len(ERROR_MEANINGS)


def _step(text, turn, start="1 2 3", dead=""):
    here = world(start, dead=dead)
    move = Move(turn=turn, key=key(int(text)))
    return steps_of(here.voters, [move], here.alive | {key(4)})[-1]


def _read(voters, *, high_watermark=1_000, end=1_001, epoch=5, dead=""):
    state = world(voters, dead=dead).observe(high_watermark=high_watermark, leader_epoch=epoch)
    return replace(state, voters=tuple(replace(voter, log_end_offset=end) for voter in state.voters))


TIMED_OUT = Answer(code=7, message="The request timed out.")
LOST = Answer(code=None)
REMOVE, ADD = _step("3", Turn.REMOVE), _step("4", Turn.ADD)
UNLED = world("1 2 3", dead="2 3").observe()

CASES = {
    "committed, and the set shows it": (REMOVE, Answer(code=0), [_read("1 2")], Known.DONE),
    "added, and the set shows it": (ADD, Answer(code=0), [_read("1 2 3 4")], Known.DONE),
    "timed out, seen, and committed in the same epoch": (
        REMOVE,
        TIMED_OUT,
        [_read("1 2"), _read("1 2", high_watermark=1_001, end=1_005)],
        Known.DONE,
    ),
    "timed out, seen, the high watermark stands": (
        REMOVE,
        TIMED_OUT,
        [_read("1 2"), _read("1 2", end=1_009)],
        Known.STILL_PENDING,
    ),
    "seen, then another epoch: nothing proven yet": (
        REMOVE,
        TIMED_OUT,
        [_read("1 2"), _read("1 2", high_watermark=1_100, end=1_101, epoch=6)],
        Known.STILL_PENDING,
    ),
    "seen, another epoch, committed there": (
        REMOVE,
        TIMED_OUT,
        [_read("1 2"), _read("1 2", end=1_101, epoch=6), _read("1 2", high_watermark=1_101, end=1_102, epoch=6)],
        Known.DONE,
    ),
    "timed out, not seen, log committed past it: gone": (
        REMOVE,
        TIMED_OUT,
        [_read("1 2 3"), _read("1 2 3", high_watermark=1_002, end=1_003)],
        Known.FAILED,
    ),
    "timed out, not seen, and a leader that may be cut off says what it said before": (
        REMOVE,
        TIMED_OUT,
        [_read("1 2 3", high_watermark=1_001), _read("1 2 3", high_watermark=1_001, end=1_003)],
        Known.STILL_PENDING,
    ),
    "timed out, not seen, nothing committed since": (REMOVE, TIMED_OUT, [_read("1 2 3")], Known.STILL_PENDING),
    "not the leader any longer, and the next one has it": (
        ADD,
        Answer(code=6),
        [_read("1 2 3 4", epoch=6), _read("1 2 3 4", high_watermark=1_001, end=1_002, epoch=6)],
        Known.DONE,
    ),
    "nobody leads": (REMOVE, TIMED_OUT, [UNLED], Known.UNKNOWN),
    "nothing could be read": (REMOVE, LOST, [], Known.UNKNOWN),
    "no answer, not seen, and not long ago": (
        REMOVE,
        LOST,
        [_read("1 2 3"), _read("1 2 3", high_watermark=1_001, end=1_002)],
        Known.STILL_PENDING,
    ),
    "refused, nothing could be read": (ADD, Answer(code=42), [], Known.FAILED),
    "refused": (ADD, Answer(code=104), [_read("1 2 3")], Known.FAILED),
    "lagging": (ADD, Answer(code=7, message="it is lagging behind"), [_read("1 2 3")], Known.FAILED),
    "duplicate, and it is the same one, committed": (
        ADD,
        Answer(code=126),
        [_read("1 2 3 4"), _read("1 2 3 4", high_watermark=1_001, end=1_002)],
        Known.DONE,
    ),
    "duplicate, with another directory": (ADD, Answer(code=126), [_read("1 2 3 4b")], Known.FAILED),
    "not found, and it is gone already": (
        REMOVE,
        Answer(code=127),
        [_read("1 2"), _read("1 2", high_watermark=1_001, end=1_002)],
        Known.DONE,
    ),
    "not found, and it votes with another directory": (REMOVE, Answer(code=127), [_read("1 2 3")], Known.FAILED),
    "a second attempt meets its own first one": (
        REMOVE,
        Answer(code=7, message="waiting for voters to commit the latest voter change"),
        [_read("1 2"), _read("1 2", end=1_003)],
        Known.STILL_PENDING,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_reading_decides(name):
    step, answer, reads, known = CASES[name]
    assert judge(step, answer, reads).known is known


def test_request_without_an_answer_is_given_up_after_a_while():
    reads = [_read("1 2 3"), _read("1 2 3", high_watermark=1_002, end=1_003)]
    assert judge(REMOVE, LOST, reads, watched_ms=10_000).known is Known.FAILED


def test_late_commit_is_reported_while_it_is_possible():
    verdict = judge(REMOVE, TIMED_OUT, [_read("1 2", dead=""), _read("1 2", end=1_009)])
    words = " ".join(verdict.may_happen)
    assert "the removal of 3 may still commit, without another request" in words
    assert "creation of a topic" in words
    assert [finding.id for finding in verdict.findings] == ["voter-change-undecided"]
    assert "the high watermark does not advance from 1000" in verdict.findings[0].message
    done = judge(REMOVE, Answer(code=0), [_read("1 2")])
    assert (done.may_happen, done.findings, done.retry) == ((), (), False)


def test_lost_majority_has_the_effect_of_a_lost_disk():
    step = _step("2", Turn.REMOVE, dead="3")
    assert step.tolerates_after == -1
    verdict = judge(step, TIMED_OUT, [UNLED])
    assert "voter {3}" in verdict.may_happen[0]
    assert "the quorum does not come back automatically" in verdict.may_happen[-1]


def test_failed_step_may_be_planned_again_where_asking_again_is_of_use():
    assert judge(ADD, Answer(code=7, message="lagging behind"), [_read("1 2 3")]).retry
    assert not judge(ADD, Answer(code=42), [_read("1 2 3")]).retry
    finding = judge(ADD, Answer(code=42, message="text of the server"), [_read("1 2 3")]).findings[0]
    assert finding.id == "voter-change-failed"
    assert finding.evidence == {"error_code": 42, "error_name": "INVALID_REQUEST", "message": "text of the server"}


def test_removed_voter_that_votes_again_is_reported():
    reads = [_read("1 2"), _read("1 2 3", end=1_005), _read("1 2 3", high_watermark=1_006, end=1_007)]
    verdict = judge(REMOVE, Answer(code=0), reads)
    assert verdict.known is Known.FAILED
    assert verdict.findings[0].id == "removed-voter-rejoined"


def test_conversion_is_read_from_the_mode_whatever_was_answered():
    # 4.3.1 answered 95 for a request with another feature in it, and had converted the quorum.
    static = world("1 2 3", static=True)
    step = Step(
        number=1,
        action=Action.UPGRADE,
        key=None,
        voters_before=static.voters,
        voters_after=static.voters,
        alive=static.alive,
    )
    converted = [_read("1 2 3"), _read("1 2 3", high_watermark=1_001, end=1_002)]
    assert judge(step, Answer(code=95), converted).known is Known.DONE
    assert judge(step, Answer(code=95), [static.observe()]).known is Known.FAILED
    assert endpoint(1).port == 9093
