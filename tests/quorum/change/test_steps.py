"""Steps that ended: a new voter's endpoint, which a leader may repair, and the journal's entry for a step."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Endpoint
from kafkactl.files.journal import open_journal
from kafkactl.quorum.change.ports import ChangeResult, Goal, QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.plan import plan_addition, plan_removal
from tests.quorum.scripted_port import TIMED_OUT, Reaction, SteppedQuorum
from tests.quorum.worlds import CLUSTER_ID, endpoint, key, world

ADD_4 = Goal(
    description={"verb": "add", "voter": "4"},
    plan=lambda state, around: plan_addition(state, key(4), (endpoint(4),), around),
    endpoints={key(4): (endpoint(4),)},
)
REMOVE_3 = Goal(
    description={"verb": "remove", "voter": "3"}, plan=lambda state, around: plan_removal(state, key(3), around)
)
NEVER_MS = 1e9


@dataclass
class Misplaced(SteppedQuorum):
    """The voter set has another port of voter 4 for `wrong_ms` after it was added."""

    wrong_ms: float = 0.0
    seen_since_ms: float | None = None

    def _state(self) -> QuorumState:
        state = super()._state()
        if key(4) not in state.voter_keys:
            return state
        now_ms = self.clock.now_ms()
        self.seen_since_ms = now_ms if self.seen_since_ms is None else self.seen_since_ms
        if now_ms - self.seen_since_ms >= self.wrong_ms:
            return state
        there = Endpoint(listener=endpoint(4).listener, host=endpoint(4).host, port=1)
        return replace(state, voters=tuple(replace(v, endpoints=(there,)) if v.id == 4 else v for v in state.voters))


def run(quorum: SteppedQuorum, goal: Goal, path) -> ChangeResult:
    with open_journal(str(path / "journal.jsonl"), subject="quorum", cluster_id=CLUSTER_ID) as journal:
        return carry_out(quorum, goal, journal, policy=QuorumWaitPolicy(), clock=quorum.clock)


def added(path, wrong_ms: float) -> tuple[ChangeResult, float]:
    """Return the result, and how long it took from the first sight of the new voter on."""
    quorum = Misplaced(world=world("1 2 3", observers="4"), wrong_ms=wrong_ms)
    result = run(quorum, ADD_4, path)
    assert quorum.sent == ["add 4"]
    assert quorum.seen_since_ms is not None
    return result, quorum.clock.now_ms() - quorum.seen_since_ms


def test_endpoint_that_the_leader_repairs_is_waited_for_and_no_longer(tmp_path):
    for name in ("right", "repaired"):
        (tmp_path / name).mkdir()
    _, usual_ms = added(tmp_path / "right", 0.0)
    result, took_ms = added(tmp_path / "repaired", usual_ms + 1_000)
    assert (result.outcome, result.findings) == (Outcome.DONE, ())
    assert took_ms < usual_ms + 3_000


def test_endpoint_that_stays_wrong_is_reported(tmp_path):
    result, _ = added(tmp_path, NEVER_MS)
    assert result.outcome is not Outcome.DONE
    (found,) = [finding for finding in result.findings if finding.id == "voter-endpoint-not-registered"]
    assert (found.subject, found.evidence["voter_set"].rpartition(":")[2]) == ("controller 4", "1")


@pytest.mark.parametrize(
    ("reactions", "known"),
    [
        ([Reaction()], ["done"]),
        ([Reaction(answer=Answer(code=31), taken=False)], ["failed"]),
        ([Reaction(answer=TIMED_OUT, commits_after_ms=10_000_000)], []),
    ],
    ids=["done", "refused", "pending"],
)
def test_journal_has_the_end_of_a_step_only_if_it_is_certain(tmp_path, reactions, known):
    run(SteppedQuorum(world=world("1 2 3 4"), reactions=reactions), REMOVE_3, tmp_path)
    entries = map(json.loads, (tmp_path / "journal.jsonl").read_text(encoding="utf-8").splitlines())
    assert [entry["data"]["known"] for entry in entries if "known" in entry["data"]] == known
