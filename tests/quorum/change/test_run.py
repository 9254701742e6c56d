"""A change carried out on a simulated quorum: every outcome of a request, and killed at every action."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kafkactl.cluster.quorum.state import ids_of
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Outcome
from kafkactl.files.journal import open_journal
from kafkactl.quorum.change.ports import Goal, QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out, plan_only
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.plan import plan_addition, plan_conversion, plan_reassignment, plan_removal
from kafkactl.quorum.target import parse_target
from tests.fakes.interruption import Killed, killed_at_every_act
from tests.quorum.scripted_port import LOST, OK, TIMED_OUT, Reaction, SteppedQuorum
from tests.quorum.worlds import CLUSTER_ID, endpoint, key, parse_key, world


def _reassign(text, *flags, **changes):
    target = parse_target(text)
    circumstances = Circumstances(overrides=frozenset(flags))
    return Goal(
        description={"verb": "reassign", "target": text},
        plan=lambda state, around: plan_reassignment(state, target, around),
        circumstances=circumstances,
        is_journey=True,
        **changes,
    )


def _remove(text):
    gone = parse_key(text)
    return Goal(
        description={"verb": "remove", "voter": text}, plan=lambda state, around: plan_removal(state, gone, around)
    )


def _add(text):
    new = parse_key(text)
    at = (endpoint(new.node_id),)
    return Goal(
        description={"verb": "add", "voter": text},
        plan=lambda state, around: plan_addition(state, new, at, around),
        endpoints={new: at},
    )


JOURNALS = Path(__file__).parents[2] / "change/journals"  # written by the version before the engine
CONVERT = Goal(description={"verb": "convert"}, plan=plan_conversion)


@pytest.fixture
def run(tmp_path):
    """Carry out a goal on a simulated quorum, with the journal of this test."""

    def _run(quorum, goal, **policy):
        with open_journal(str(tmp_path / "journal.jsonl"), subject="quorum", cluster_id=CLUSTER_ID) as journal:
            return carry_out(quorum, goal, journal, policy=QuorumWaitPolicy(**policy), clock=quorum.clock)

    return _run


def _taken(result):
    return [(step.action.value, step.id, step.state.value) for step in result.steps if step.action.value != "wait"]


def _ids(result):
    return {finding.id for finding in result.findings}


@pytest.mark.parametrize(
    ("voters", "observers", "dead", "target", "sent"),
    [
        ("1 2 3", "4 5", "", "1,2,3,4,5", ["add 4", "add 5"]),
        ("1", "2 3", "", "1,2,3", ["add 2", "add 3"]),
        ("1 2 3 4 5", "", "", "1,2,3", ["remove 4", "remove 5"]),
        ("1 2 3", "4 5 6", "", "4,5,6", ["add 4", "remove 2", "add 5", "remove 3", "add 6", "remove 1"]),
        ("1 2 3", "4", "3", "1,2,4", ["remove 3", "add 4"]),
        ("1 2 3", "3b", "3", "1,2,3", ["remove 3", "add 3"]),
        ("1 2 3 4 5", "", "4 5", "1,2,3", ["remove 4", "remove 5"]),
    ],
)
def test_reassignment_reaches_the_target(run, voters, observers, dead, target, sent):
    quorum = SteppedQuorum(world=world(voters, observers=observers, dead=dead))
    result = run(quorum, _reassign(target))
    assert result.outcome is Outcome.DONE, result.findings
    assert quorum.sent == sent
    assert ids_of(quorum.world.voters) == [member.node_id for member in parse_target(target)]
    assert {step.state.value for step in result.steps} == {"done"}
    assert run(quorum, _reassign(target)).outcome is Outcome.NOTHING_TO_DO
    assert quorum.sent == sent


def test_plan_alone_sends_and_writes_nothing(tmp_path):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5"))
    result = plan_only(quorum, _reassign("1,2,3,4,5"), clock=quorum.clock)
    assert (result.outcome, quorum.sent, list(tmp_path.iterdir())) == (Outcome.PLANNED, [], [])
    assert [step.action.value for step in result.steps] == ["wait", "add", "wait", "add"]


@pytest.mark.parametrize(
    ("reaction", "outcome", "sent"),
    [
        (Reaction(answer=LOST), Outcome.DONE, ["remove 3"]),
        (Reaction(answer=LOST, commits_after_ms=8_000), Outcome.DONE, ["remove 3"]),
        (Reaction(answer=TIMED_OUT, commits_after_ms=30_000), Outcome.DONE, ["remove 3"]),
        (Reaction(answer=Answer(code=6)), Outcome.DONE, ["remove 3"]),
        (Reaction(answer=LOST, taken=False), Outcome.DONE, ["remove 3", "remove 3"]),
        (Reaction(answer=TIMED_OUT, taken=False), Outcome.DONE, ["remove 3", "remove 3"]),
        (Reaction(answer=Answer(code=8), taken=False), Outcome.DONE, ["remove 3", "remove 3"]),
        (Reaction(sent=False), Outcome.DONE, ["remove 3"]),
        (Reaction(answer=Answer(code=31), taken=False), Outcome.FAILED, ["remove 3"]),
        (Reaction(answer=TIMED_OUT, commits_after_ms=10_000_000), Outcome.UNKNOWN, ["remove 3"]),
    ],
)
def test_outcome_of_a_removal_is_read_not_guessed(run, reaction, outcome, sent):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[reaction])
    result = run(quorum, _remove("3"))
    assert (result.outcome, quorum.sent) == (outcome, sent), result.findings
    state = {Outcome.DONE: "done", Outcome.FAILED: "failed", Outcome.UNKNOWN: "unknown"}[outcome]
    assert _taken(result) == [("remove", 3, state)]
    assert bool(result.may_happen) is (outcome is Outcome.UNKNOWN)


def test_lost_answer_is_not_decided_before_the_request_must_have_been_read(run):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[Reaction(answer=LOST, taken=False)], unread_ms=65_000)
    assert run(quorum, _remove("3"), step_ms=1_000).outcome is Outcome.DONE
    assert quorum.clock.now_ms() > 65_000


def test_request_that_arrived_twice_counts_once(run):
    # The second copy of the request has to wait for the first, and finds the change done.
    waits = Answer(code=7, message="waiting for leader to handle previous voter change request")
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[Reaction(answer=waits, taken=False)])
    quorum.at_action = lambda _, name: name == "observe" and quorum.sent and quorum.leave(key(3))
    result = run(quorum, _remove("3"))
    assert (result.outcome, _taken(result)) == (Outcome.DONE, [("remove", 3, "done")]), result.findings
    assert quorum.sent == ["remove 3"]


def test_addition_fails_after_a_limited_number_of_attempts(run):
    lagging = Answer(code=7, message="Aborted add voter operation since it is lagging behind")
    quorum = SteppedQuorum(world=world("1 2 3", observers="4"), reactions=[Reaction(answer=lagging, taken=False)] * 9)
    result = run(quorum, _add("4"))
    assert (result.outcome, quorum.sent) == (Outcome.FAILED, ["add 4"] * 3)
    assert "voter-change-failed" in _ids(result)


@pytest.mark.slow
def test_unknown_outcome_is_settled_by_the_next_run(run):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[Reaction(answer=TIMED_OUT, commits_after_ms=100_000)])
    assert run(quorum, _remove("3")).outcome is Outcome.UNKNOWN
    assert run(quorum, _remove("3"), step_ms=5_000).outcome is Outcome.UNKNOWN, "nothing else is sent meanwhile"
    assert run(quorum, _reassign("1,2,4", "--allow-size")).outcome is Outcome.DONE
    assert quorum.sent == ["remove 3"]


def test_wedge_is_never_sent(run):
    quorum = SteppedQuorum(world=world("1 2 3", dead="3"))
    result = run(quorum, _remove("2"))
    assert (result.outcome, quorum.sent) == (Outcome.REFUSED, [])
    assert "quorum-would-wedge" in _ids(result)


def test_node_that_does_not_catch_up_is_not_added(run):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5", lag={4: 5_000}))
    result = run(quorum, _reassign("1,2,3,4,5"), catch_up_ms=20_000)
    assert (result.outcome, quorum.sent) == (Outcome.REFUSED, [])
    assert "candidate-not-caught-up" in _ids(result)


def test_unregistered_candidate_has_no_endpoint_and_is_refused(run):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5"), registered=False)
    result = run(quorum, _reassign("1,2,3,4,5"))
    assert (result.outcome, quorum.sent) == (Outcome.REFUSED, [])
    assert "candidate-endpoint-unknown" in _ids(result)


def test_change_by_another_operator_is_noticed(run):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5 6"))

    def meanwhile(_, name):
        if name == "answered" and len(quorum.sent) == 1:
            quorum.world = replace(quorum.world, voters=quorum.world.voters | {key(6)})

    quorum.at_action = meanwhile
    result = run(quorum, _reassign("1,2,3,4,5"))
    assert (result.outcome, quorum.sent) == (Outcome.PARTIAL, ["add 4"])
    assert "concurrent-voter-change" in _ids(result)
    quorum.at_action = lambda *_: None
    for _ in range(2):
        assert run(quorum, _reassign("1,2,3,4,5")).outcome is Outcome.REFUSED, "the next runs remember where it stood"
    assert run(quorum, _reassign("1,2,3,4,5", replan=True)).outcome is Outcome.DONE
    assert ids_of(quorum.world.voters) == [1, 2, 3, 4, 5]


def test_foreign_change_towards_the_target_is_accepted(run):
    # A controller with auto-join makes itself a voter while another one is being added.
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5 6"))

    def meanwhile(_, name):
        if name == "answered" and len(quorum.sent) == 1:
            quorum.world = replace(quorum.world, voters=quorum.world.voters | {key(5)})

    quorum.at_action = meanwhile
    assert run(quorum, _reassign("1,2,3,4,5")).outcome is Outcome.DONE
    assert quorum.sent == ["add 4"]


def test_election_in_the_middle_is_waited_for(run):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5"))
    alive = quorum.world.alive

    def meanwhile(number, name):
        if len(quorum.sent) == 1 and name == "observe":
            silent = quorum.clock.now_ms() < silent_until
            quorum.world = replace(quorum.world, alive=alive - quorum.world.voters if silent else alive)
        elif name == "answered":
            quorum.epoch += 1

    silent_until = 25_000
    quorum.at_action = meanwhile
    result = run(quorum, _reassign("1,2,3,4,5"))
    assert (result.outcome, quorum.sent) == (Outcome.DONE, ["add 4", "add 5"]), result.findings


def test_another_target_starts_again(run):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4 5 6"))
    quorum.at_action = _killing(lambda name: name == "answered")
    with pytest.raises(Killed):
        run(quorum, _reassign("1,2,3,4,5"))
    quorum.at_action = lambda *_: None
    assert run(quorum, _reassign("1,2,3")).outcome is Outcome.DONE
    assert ids_of(quorum.world.voters) == [1, 2, 3]


def test_voter_that_joins_again_is_reported(run):
    quorum = SteppedQuorum(world=world("1 2 3 4"))

    def again(_, name):
        if name == "look" and quorum.sent and quorum.clock.now_ms() > 3_000:
            quorum.world = replace(quorum.world, voters=quorum.world.voters | {key(3)})

    quorum.at_action = again
    result = run(quorum, _remove("3"))
    assert result.outcome is Outcome.PARTIAL
    assert "removed-voter-rejoined" in _ids(result)
    quorum.at_action = lambda *_: None
    assert run(quorum, _remove("3")).outcome is Outcome.DONE, "the node was stopped meanwhile, and it is asked again"


def test_cluster_behind_its_journal_is_refused(run):
    quorum = SteppedQuorum(world=world("1 2 3 4"))
    quorum.clock.sleep_ms(100_000)
    assert run(quorum, _remove("3")).outcome is Outcome.DONE
    quorum.clock.at_ms = 0
    result = run(quorum, _remove("4"))
    assert (result.outcome, _ids(result)) == (Outcome.REFUSED, {"cluster-behind-journal"})


def test_conversion_waits_until_all_voters_support_the_level(run):
    not_yet = Answer(code=95, message="because not all of the voters support it")
    quorum = SteppedQuorum(world=world("1 2 3", static=True), rehearsals=[not_yet, not_yet, OK])
    result = run(quorum, CONVERT)
    assert (result.outcome, quorum.sent) == (Outcome.DONE, ["upgrade"]), result.findings
    assert "configuration-names-static-voters" in _ids(result)
    assert run(quorum, CONVERT).outcome is Outcome.NOTHING_TO_DO


def test_leader_without_reports_of_every_voter_is_reported_as_a_wait(tmp_path):
    not_yet = Answer(code=95, message="because not all of the voters support it")
    quorum, events = SteppedQuorum(world=world("1 2 3", static=True), rehearsals=[not_yet, OK]), []
    with open_journal(str(tmp_path / "journal.jsonl"), subject="quorum", cluster_id=CLUSTER_ID) as journal:
        carry_out(quorum, CONVERT, journal, policy=QuorumWaitPolicy(), clock=quorum.clock, tell=events.append)
    assert "the leader has not heard from every voter yet" in [event.text for event in events if event.kind == "wait"]


def test_last_known_leader_is_reported_if_no_observation_follows_a_request(run):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[Reaction(answer=LOST)])
    observe = quorum._state
    quorum._state = lambda: replace(observe(), leader_id=-1) if quorum.sent else observe()
    result = run(quorum, _remove("4"))
    assert result.outcome is Outcome.UNKNOWN
    assert result.after is not None and result.after.has_leader


def test_conversion_that_the_leader_would_refuse_is_not_sent(run):
    quorum = SteppedQuorum(world=world("1 2 3", static=True), rehearsals=[Answer(code=95, message="no")])
    result = run(quorum, CONVERT)
    assert (result.outcome, quorum.sent) == (Outcome.REFUSED, [])
    assert "conversion-refused-by-leader" in _ids(result)


def _killing(condition):
    def at(_, name):
        if condition(name):
            raise Killed

    return at


JOURNEYS = [
    ("1 2 3", "4 5 6", "", "4,5,6"),
    ("1 2 3", "3b", "3", "1,2,3"),
    ("1", "2 3", "", "1,2,3"),
    ("1 2 3 4 5", "", "4 5", "1,2,3"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "every", [pytest.param(7, id="thinned"), pytest.param(1, id="all", marks=pytest.mark.campaign)]
)
@pytest.mark.parametrize("journey", JOURNEYS)
@pytest.mark.parametrize("reaction", [Reaction(), Reaction(answer=LOST), Reaction(answer=TIMED_OUT, taken=False)])
def test_killed_at_every_action_the_next_run_reaches_the_target(tmp_path, journey, reaction, every):
    # No request is ever sent twice but if it certainly left nothing: the world refuses a second one.
    voters, observers, dead, target = journey
    quick = QuorumWaitPolicy(gate=replace(QuorumWaitPolicy().gate, span_ms=500, samples=2), stays_away_ms=500)

    def start():
        return SteppedQuorum(world=world(voters, observers=observers, dead=dead), reactions=[reaction])

    def go(quorum, folder, fuse):
        quorum.at_action = fuse
        with open_journal(str(folder / "journal"), subject="quorum", cluster_id=CLUSTER_ID) as journal:
            return carry_out(quorum, _reassign(target), journal, policy=quick, clock=quorum.clock).outcome

    def check(quorum):
        assert ids_of(quorum.world.voters) == [member.node_id for member in parse_target(target)]

    assert killed_at_every_act(tmp_path, start, go, check, every=every) > 20


@pytest.mark.parametrize(
    ("sample", "quorum", "sent"),
    [
        ("done", SteppedQuorum(world=world("1 2 3 4 5")), []),
        ("killed-before-request", SteppedQuorum(world=world("1 2 3 4", observers="5")), ["add 5"]),
        ("killed-after-request", SteppedQuorum(world=world("1 2 3 4", observers="5 6")), ["add 5"]),
        ("unknown", SteppedQuorum(world=world("1 2 4")), []),
        ("not-sent-and-retried", SteppedQuorum(world=world("1 2 4")), []),
    ],
)
def test_journal_of_the_version_before_is_resumed(run, tmp_path, sample, quorum, sent):
    # What its last request did is found out first, and another change of the voters is noticed.
    shutil.copy(JOURNALS / f"quorum-{sample}.jsonl", tmp_path / "journal.jsonl")
    quorum.clock.sleep_ms(200_000)
    goal = _remove("3") if sample in ("unknown", "not-sent-and-retried") else _reassign("1,2,3,4,5")
    assert run(quorum, goal).outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO)
    assert quorum.sent == sent


def test_journal_of_the_version_before_remembers_who_may_vote(run, tmp_path):
    shutil.copy(JOURNALS / "quorum-killed-before-request.jsonl", tmp_path / "journal.jsonl")
    quorum = SteppedQuorum(world=world("1 2 3 4 6", observers="5"))
    quorum.clock.sleep_ms(200_000)
    result = run(quorum, _reassign("1,2,3,4,5"))
    assert (result.outcome, quorum.sent) == (Outcome.REFUSED, [])
    assert "concurrent-voter-change" in _ids(result)


def test_interruption_after_a_request_is_reported(run):
    quorum = SteppedQuorum(world=world("1 2 3 4"), reactions=[Reaction(answer=LOST, commits_after_ms=9_000)])

    def stop(_, name):
        if name == "look" and quorum.sent:
            raise KeyboardInterrupt

    quorum.at_action = stop
    result = run(quorum, _remove("3"))
    assert (result.outcome, result.interrupted, _taken(result)) == (
        Outcome.UNKNOWN,
        True,
        [("remove", 3, "unknown")],
    )
    quorum.at_action = lambda *_: None
    assert run(quorum, _remove("3")).outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO)
    assert quorum.sent == ["remove 3"]


def test_interrupted_before_anything_was_sent_it_is_as_if_nothing_was(run):
    quorum = SteppedQuorum(world=world("1 2 3", observers="4"))

    def stop(_, name):
        if name == "look" and quorum.clock.now_ms() > 2_000:
            raise KeyboardInterrupt

    quorum.at_action = stop
    with pytest.raises(KeyboardInterrupt):
        run(quorum, _add("4"))
    assert quorum.sent == []


def test_nothing_can_be_observed(run):
    quorum = SteppedQuorum(world=world("1 2 3"))

    def gone(_, name):
        raise UnreachableError("refused", id="connection-refused")

    quorum.at_action = gone
    with pytest.raises(UnreachableError):
        run(quorum, _remove("3"))


@pytest.mark.parametrize(("goal", "outcome"), [("1,2,3", Outcome.DONE), ("1,2,3,4,5", Outcome.REFUSED)])
def test_voter_sets_of_another_goal_do_not_hinder_a_change(run, goal, outcome):
    # An interrupted change remembers the sets that it passes through, for the same goal only.
    quorum = SteppedQuorum(
        world=world("1 2 3", observers="4 5"),
        reactions=[Reaction(), Reaction(answer=Answer(code=31), taken=False)],
    )
    assert run(quorum, _reassign("1,2,3,4,5")).outcome is Outcome.PARTIAL
    quorum.world = world("1 2 3 6", observers="4 5")  # another operator was at work
    result = run(quorum, _reassign(goal))
    assert result.outcome is outcome, result.findings
    assert ("concurrent-voter-change" in _ids(result)) is (outcome is Outcome.REFUSED)
