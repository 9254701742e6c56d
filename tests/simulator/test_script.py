"""The language of scripts: what is read, and where an error is said to be."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.simulator.chance import Chance
from kafkactl.simulator.profiles import PROFILES, Case, as_script, plan_of
from kafkactl.simulator.script import Condition, parse_script
from kafkactl.simulator.words import parse_duration, shown_duration


def test_quorum_comes_first_and_then_what_happens():
    script = parse_script("voters 1 2 5\nrelease 3.9\n\nkill 5   # the last one\nrun 2.5s\nexpect no leader\n", "a.txt")
    assert script.setup.voters == (1, 2, 5)
    assert script.setup.release == "3.9"
    assert [(step.verb, step.args, step.line) for step in script.steps] == [
        ("kill", (5,), 4),
        ("run", (2_500_000,), 5),
        ("expect", (Condition("leader", True),), 6),
    ]
    assert script.steps[0].text == "kill 5"


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("cut 1 2", (1, 2, True)),
        ("cut 1 <-> 2", (1, 2, True)),
        ("cut 1 -> 2", (1, 2, False)),
        ("cut leader", ("leader", None, True)),
        ("heal", (None, None, True)),
        ("network delay 1ms to 20ms", ("delay", 1_000, 20_000)),
        ("network loss 2.5%", ("loss", 25)),
        ("clock 2 slow 10%", (2, -100)),
        ("append", (1,)),
        ("recover 2", (2, 1_000_000)),
        ("recover 2 raise 0", (2, 0)),
        ("append 2000000", (2_000_000,)),
        ("wait leader within 10s", (Condition("leader"), 10_000_000)),
        ("wait voters 1 2 within 1m", (Condition("voters", value=(1, 2)), 60_000_000)),
        ("expect epoch >= 4", (Condition("epoch", False, ">=", 4),)),
        ("expect failover < 100ms", (Condition("failover", False, "<", 100_000),)),
        ("expect not role 2 leader", (Condition("role", True, value=(2, "leader")),)),
        ("expect no answer", (Condition("answer", True),)),
        ("expect broken leader-completeness", (Condition("broken", value="leader-completeness"),)),
    ],
)
def test_statement_is_read(text, step):
    assert parse_script(text, "a").steps[0].args == step


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("kil 3", "line 1, column 1", "Did you mean 'kill'?"),
        ("run 10s\nkill", "line 2, column 5", "the line ends where a node is expected"),
        ("kill dead", "line 1, column 6", "'dead' is not a node"),
        ("name dead 3\nkill daed", "line 2, column 6", "Did you mean 'dead'?"),
        ("run 10", "line 1, column 5", "'10' is not a time"),
        ("recover 1 raise few", "line 1, column 17", "by how much offset and epoch are raised"),
        ("recover 1 2", "line 1, column 11", "'2' is not expected here"),
        ("run 0.5us", "line 1, column 5", "'0.5us' is not a time"),
        ("run 25m 3s", "line 1, column 9", "'3s' is not expected here"),
        ("run 1s\nvoters 3", "line 2, column 1", "expected before the first action"),
        ("voters 1 2 2\nrun 1s", "line 1, column 12", "node 2 is listed twice"),
        ("voters 3\nvoters 5\nrun 1s", "line 2, column 1", "'voters' is given a second time"),
        ("observers 4\nvoters 4\nrun 1s", "line 2, column 8", "node 4 is an observer already"),
        (
            "config controller.quorum.fetch.timeout.ms 1\nconfig controller.quorum.fetch.timeout.ms 2\nrun 1s",
            "line 2, column 8",
            "'controller.quorum.fetch.timeout.ms' is given a second time",
        ),
        ("voters 99\nrun 1s", "line 1, column 8", "99 nodes: expected 1 to 15"),
        ("voters", "line 1, column 7", "a number of nodes, or ids"),
        ("release 2.8\nrun 1s", "line 1, column 9", "'2.8' is not a release"),
        ("network loss 101%", "line 1, column 14", "expected a percentage"),
        ("network delay 5ms to 1ms", "line 1, column 22", "shorter than the shortest"),
        ("clock 1 fast 60%", "line 1, column 14", "at most 50%"),
        ("expect lader", "line 1, column 8", "Did you mean 'leader'?"),
        ("wait leader 10s", "line 1, column 13", "'10s' is not a node"),
        ("wait epoch 3 in 10s", "line 1, column 14", "expected one of within"),
        ("expect answer TIMEOUT", "line 1, column 15", "'TIMEOUT' is not an answer"),
        ("name leader 1", "line 1, column 6", "cannot name a node"),
        ("config fetch.timeout.ms 1\nrun 1s", "line 1, column 8", "is not a setting of the quorum"),
        ("", "line 1, column 1", "the script has no action"),
        ("kill 99999999999", "line 1, column 6", "is not a node"),
        ("kill ٣", "line 1, column 6", "is not a node"),
        ("kill " + "9" * 5000, "line 1, column 6", f"'{'9' * 40}…' is not a node"),
    ],
)
def test_error_has_line_and_column(text, place, said):
    with pytest.raises(InputError) as raised:
        parse_script(text, "wedge.txt")
    assert raised.value.id == "invalid-script"
    assert raised.value.exit_code == 2
    assert raised.value.message.startswith(f"wedge.txt, {place}: ")
    assert said in raised.value.message


@pytest.mark.parametrize("time_us", [1, 999, 1_000, 1_500, 2_500_000, 60_000_000, 1_234_567])
def test_times_are_shown_as_they_are_read(time_us):
    assert parse_duration(shown_duration(time_us)) == time_us


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(5))
def test_plan_is_a_script_that_says_the_same(profile, seed):
    case = Case(voters=(1, 2, 3), observers=(4,), duration_us=30_000_000, chance=Chance(seed, "faults"))
    plan = plan_of(profile, case)
    script = parse_script(as_script(["voters 3", "observers 4"], plan), "plan")
    at, read = 0, []
    for step in script.steps:
        if step.verb == "run":
            at += step.args[0]
        else:
            read.append((at, step.verb, step.args))
    assert read == [(timed.at_us, timed.step.verb, timed.step.args) for timed in plan]


def test_plan_depends_on_its_seed_alone():
    def plan(seed: int) -> object:
        return plan_of("chaos", Case(voters=(1, 2, 3), observers=(), duration_us=10**7, chance=Chance(seed, "faults")))

    assert plan(3) == plan(3) != plan(4)


def test_static_quorum_changes_no_voters():
    case = Case(voters=(1, 2, 3), observers=(4,), duration_us=10**8, chance=Chance(1, "faults"), is_static=True)
    assert not {timed.step.verb for timed in plan_of("voter-change", case)} & {"add", "remove"}


@pytest.mark.parametrize("text", ["hunter2secret\n", "sasl.jaas.config=Plain password=hunter2secret;\n"])
def test_of_a_file_given_by_mistake_no_word_is_shown(text: str):
    with pytest.raises(InputError) as raised:
        parse_script(text, "client.properties")
    assert "hunter2secret" not in str(raised.value.to_dict())
    assert "client.properties, line 1, column 1" in raised.value.message


def test_misspelt_statement_is_shown_with_what_was_meant():
    with pytest.raises(InputError, match=r"'expct' is not a statement\. Did you mean 'expect'"):
        parse_script("expct leader\n", "a.txt")
