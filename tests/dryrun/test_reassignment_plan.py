"""Plans as the released classes of 3.7.2, 3.9.2 and 4.3.1 take and refuse them (`parseExecuteAssignmentArgs`)."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.dryrun.reassignment_plan import Move, parse_plan

ONE = '{"topic":"a","partition":0,"replicas":[1,2]%s}'


def plan(partition: str = ONE % "", head: str = '"version":1,') -> str:
    return f'{{{head}"partitions":[{partition}]}}'


TAKEN = {
    "version 1": plan(),
    "blanks before the plan": " \t\r\n" + plan(),
    "no version": plan(head=""),
    "a log directory for each replica": plan(ONE % ',"log_dirs":["/d1","any"]'),
    "fields of others": plan(ONE % ',"extra":1', head='"extra":[1],"version":1,'),
    "text behind the plan": plan() + " trailing",
    "a second plan behind the first": plan() + "\n" + plan(ONE.replace("[1,2]", "[9]") % ""),
}
REFUSED = {
    "version 2": plan(head='"version":2,'),
    "version as text": plan(head='"version":"1",'),
    "version with a fraction": plan(head='"version":1.0,'),
    "version as a switch": plan(head='"version":true,'),
    "version null": plan(head='"version":null,'),
    "the last of two versions": plan(head='"version":1,"version":2,'),
    "too few log directories": plan(ONE % ',"log_dirs":["any"]'),
    "no log directories": plan(ONE % ',"log_dirs":[]'),
    "log directories null": plan(ONE % ',"log_dirs":null'),
    "log directories as numbers": plan(ONE % ',"log_dirs":[1,2]'),
    "log directories as text": plan(ONE % ',"log_dirs":"any"'),
    "a replica twice": plan('{"topic":"a","partition":0,"replicas":[1,1]}'),
    "no replicas": plan('{"topic":"a","partition":0,"replicas":[]}'),
    "replicas as texts": plan('{"topic":"a","partition":0,"replicas":["1"]}'),
    "a replica with a fraction": plan('{"topic":"a","partition":0,"replicas":[1.5]}'),
    "a replica beyond 32 bits": plan('{"topic":"a","partition":0,"replicas":[3000000000]}'),
    "a partition as text": plan('{"topic":"a","partition":"0","replicas":[1]}'),
    "a partition with a fraction": plan('{"topic":"a","partition":0.0,"replicas":[1]}'),
    "a topic as number": plan('{"topic":5,"partition":0,"replicas":[1]}'),
    "the same partition twice": plan(f"{ONE % ''},{ONE % ''}"),
    "no partitions": '{"version":1,"partitions":[]}',
    "nothing": "",
    "the output of --generate": f"Current partition replica assignment\n{plan()}\n\nProposed partition",
    "a byte order mark": "\ufeff" + plan(),
    "a comma too much": plan(ONE % "" + ","),
    "a no-break space before the plan": "\u00a0" + plan(),
    "a form feed before the plan": "\f" + plan(),
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_plan_that_the_tool_takes_is_read(text: str) -> None:
    assert parse_plan(text, file="plan.json") == (Move("a", 0, (1, 2)),)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_plan_that_the_tool_refuses_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match=r"plan\.json"):
        parse_plan(text, file="plan.json")


def test_output_of_generate_is_named() -> None:
    with pytest.raises(InputError, match="whole output of --generate"):
        parse_plan(REFUSED["the output of --generate"], file="plan.json")
