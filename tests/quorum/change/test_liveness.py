"""Changes of a quorum while a node is killed, paused, cut off or in an election, before and during the command.

The invariant: no request is sent that leaves a voter set of which no majority is alive; and a healthy quorum, also one
whose voters cannot be reached from here, is not refused. Time is simulated (tests/fakes/living_quorum.py).
"""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.files.journal import open_journal
from kafkactl.quorum.catch_up import CatchUpLimits
from kafkactl.quorum.change.goals import addition, conversion, reassignment, removal
from kafkactl.quorum.change.ports import QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out, plan_only
from tests.fakes.living_quorum import Event, LivingQuorum
from tests.quorum.worlds import CLUSTER_ID, endpoint, key

BEFORE_MS = (0.0, 100.0, 500.0, 1_000.0, 2_000.0, 3_000.0, 5_000.0)
DURING_MS = (*range(20, 1_000, 70), 1_000, 2_000, 3_000, 5_000)
# Some of the moments in `make check`, all of them in `make test`.
BEFORE = [
    pytest.param(BEFORE_MS[::3], id="some"),
    pytest.param([at for at in BEFORE_MS if at not in BEFORE_MS[::3]], id="others", marks=pytest.mark.slow),
]
DURING = [
    pytest.param(DURING_MS[::4], id="some"),
    pytest.param([at for at in DURING_MS if at not in DURING_MS[::4]], id="others", marks=pytest.mark.slow),
]
ANSWER_MS = 10.0  # between the last answer and the request: what happens there is not observable
GATE = CatchUpLimits(samples=2, span_ms=500)
FLAGS = ("--allow-size", "--accept-zero-tolerance")

GOALS = {
    "remove-controller": lambda: removal(key(2)),
    "add-controller": lambda: addition(key(4), [endpoint(4)]),
    "reassign": lambda: reassignment("1,3,4", overrides=FLAGS),
    "convert": conversion,
}
NODES = {"remove-controller": (1, 2, 3), "add-controller": (1, 2, 3, 4), "reassign": (1, 2, 3, 4), "convert": (1, 2, 3)}


def _quorum(name, *events, **shape):
    observers = (4,) if name in ("add-controller", "reassign") else ()
    return LivingQuorum(observers=observers, events=events, static=name == "convert", **shape)


@pytest.fixture
def change(tmp_path):
    """Carry a goal out, or only plan it, so long after the clock's 0."""

    def run(quorum, name, *, after_ms=0.0, dry_run=False):
        quorum.sleep_ms(after_ms)
        policy = QuorumWaitPolicy(gate=GATE, settle_ms=6_000, stays_away_ms=500, catch_up_ms=3_000, step_ms=3_000)
        if dry_run:
            return plan_only(quorum, GOALS[name](), policy=policy, clock=quorum)
        path = str(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl")
        with open_journal(path, subject="quorum", cluster_id=CLUSTER_ID) as journal:
            return carry_out(quorum, GOALS[name](), journal, policy=policy, clock=quorum)

    return run


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("shape", [{}, {"no_ops": False}, {"phase_ms": 400.0}])
def test_healthy_quorum_is_changed(change, name, shape):
    quorum = _quorum(name, **shape)
    assert change(quorum, name, dry_run=True).outcome is Outcome.PLANNED
    assert quorum.sent == []
    result = change(quorum, name)
    assert (result.outcome, quorum.wedged) == (Outcome.DONE, []), result.findings


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("node_id", (2, 3))
def test_voter_that_only_cannot_be_reached_from_here_does_not_block(change, name, node_id):
    result = change(quorum := _quorum(name, Event(0, "cut", node_id)), name)
    assert result.outcome is Outcome.DONE, result.findings
    assert quorum.wedged == []


@pytest.mark.parametrize("name", ["remove-controller", "reassign"])
def test_quorum_behind_brokers_is_changed(change, name):
    # The only evidence is the leader's answer, forwarded by a broker.
    quorum = _quorum(name, out_of_reach=True)
    result = change(quorum, name, dry_run=True)
    ids = {finding.id for finding in result.findings if finding.severity == "blocker"}
    assert ids <= {"candidate-not-identified"}, result.findings


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kill", "pause", "isolate"])
@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("moments", BEFORE)
def test_nothing_is_sent_that_a_dead_voter_would_have_to_commit(change, name, what, moments):
    for node_id in NODES[name]:
        for before_ms in moments:
            for dry_run in (True, False):
                quorum = _quorum(name, Event(0, what, node_id))
                result = change(quorum, name, after_ms=before_ms, dry_run=dry_run)
                summary = (name, what, node_id, before_ms, dry_run, result.outcome, result.findings)
                assert quorum.wedged == [], summary
                if node_id == 3 and name != "reassign":
                    expected = Outcome.REFUSED if name in ("remove-controller", "convert") else result.outcome
                    assert result.outcome is expected, summary


@pytest.mark.parametrize("node_id", [1, 3])
@pytest.mark.parametrize("before_ms", BEFORE_MS)
def test_dry_run_refuses_as_the_change_does(change, node_id, before_ms):
    found = []
    for dry_run in (True, False):
        quorum = _quorum("remove-controller", Event(0, "kill", node_id))
        result = change(quorum, "remove-controller", after_ms=before_ms, dry_run=dry_run)
        found.append((result.outcome, quorum.sent))
    assert found == [(Outcome.REFUSED, [])] * 2


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kill", "pause"])
@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("moments", DURING)
def test_voter_that_fails_while_the_command_observes_is_noticed(change, name, what, moments):
    for node_id in NODES[name]:
        for during_ms in moments:
            quorum = _quorum(name, Event(during_ms, what, node_id))
            result = change(quorum, name)
            late = [wedge for wedge in quorum.wedged if wedge[1] > ANSWER_MS]
            assert late == [], (name, what, node_id, during_ms, quorum.wedged, result.findings)


@pytest.mark.parametrize("during_ms", DURING_MS)
def test_of_a_voter_that_cannot_be_reached_an_interval_of_no_ops_remains(change, during_ms):
    quorum = _quorum("remove-controller", Event(during_ms, "kill", 3), out_of_reach=True)
    change(quorum, "remove-controller")
    assert [wedge for wedge in quorum.wedged if wedge[1] > 600] == []


@pytest.mark.parametrize("name", GOALS)
def test_middle_of_an_election_is_waited_for(change, name):
    for before_ms in BEFORE_MS:
        quorum = _quorum(name, Event(0, "elect", 3))
        result = change(quorum, name, after_ms=before_ms)
        assert (result.outcome, quorum.wedged) == (Outcome.DONE, []), (name, before_ms, result.findings)


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("moments", DURING)
def test_election_during_the_command_never_leads_to_a_wedge(change, name, moments):
    for during_ms in moments:
        quorum = _quorum(name, Event(during_ms, "elect", 3), Event(during_ms + 350, "kill", 1))
        result = change(quorum, name)
        late = [wedge for wedge in quorum.wedged if wedge[1] > ANSWER_MS]
        assert late == [], (name, during_ms, result.findings)


@pytest.mark.parametrize("what", ["kill", "pause"])
@pytest.mark.parametrize("before_ms", BEFORE_MS)
def test_dead_one_itself_may_go(change, what, before_ms):
    quorum = _quorum("remove-controller", Event(0, what, 2))
    result = change(quorum, "remove-controller", after_ms=before_ms)
    assert (result.outcome, quorum.sent, quorum.wedged) == (Outcome.DONE, ["remove 2"], []), result.findings
