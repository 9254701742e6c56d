"""Input of a rollback from the journal of an earlier run: nodes that it stopped, and files that it installed."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.rollback_case import JournalFacts
from kafkactl.migration.steps.step import File, Move, Way
from tests.migration.state.states_seen import HEALTHY, MIG, ZK, Seen

_M0 = HEALTHY["M0"]
_LEFT_BEHIND = _M0.but(files={1: MIG, 3: MIG})


def inventory() -> Inventory:
    """Return brokers 1 to 3 and controller 3001."""
    rows = [(id, "broker") for id in (1, 2, 3)] + [(3001, "controller")]
    nodes = (
        f'[[nodes]]\nid = {id}\nrole = "{role}"\naddress = "node-{id}:9092"\nconfig = "/etc/{id}.properties"\n'
        for id, role in rows
    )
    return parse_inventory('[zookeeper]\nconnect = "zk:2181"\n' + "".join(nodes), file="migration.toml")


def planned(seen: Seen, remembered: JournalFacts | None = None) -> Way:
    if remembered is None:
        return plan_rollback(seen.observation(), inventory())
    return plan_rollback(seen.observation(), inventory(), remembered=remembered)


def restarted(plan: Way) -> list[int | None]:
    return [step.node for step in plan.steps if step.action is Move.RESTART_NODE]


def test_files_that_an_earlier_run_left_behind_go_back() -> None:
    plan = planned(_LEFT_BEHIND, JournalFacts(goes_back=True))
    shown = [step.to_dict() for step in plan.steps if step.action is Move.RESTORE_CONFIG]
    assert [(step["target"], step["node_id"], step["file"]) for step in shown] == [
        ("broker 1", 1, "original"),
        ("broker 3", 3, "original"),
    ]


@pytest.mark.parametrize("remembered", [None, JournalFacts()], ids=["no journal", "a journal without a rollback"])
def test_files_are_another_operators_where_no_rollback_was_begun(remembered: JournalFacts | None) -> None:
    # They are reported, and left as they are: the forward way may have just begun.
    plan = planned(_LEFT_BEHIND, remembered)
    assert (plan.outcome, plan.steps) == (Outcome.NOTHING_TO_DO, ())
    left = [finding.subject for finding in plan.findings if finding.id == "broker-file-left-over"]
    assert left == ["broker 1", "broker 3"]


@pytest.mark.parametrize(
    ("modes", "begun", "started"),
    [
        ({1: ZK, 2: None, 3: None}, {"broker 2"}, [2]),
        ({1: ZK, 2: None, 3: None}, set(), []),
        ({1: ZK, 2: ZK, 3: ZK}, {"broker 2"}, []),
        ({1: ZK, 3: ZK}, {"broker 2"}, []),
    ],
    ids=["stopped by the earlier run", "stopped by another operator", "it runs again", "it was not observed"],
)
def test_only_what_the_earlier_run_stopped_is_started(
    modes: dict[int, Mode | None], begun: set[str], started: list[int]
) -> None:
    plan = planned(_M0.but(modes=modes), JournalFacts(goes_back=True, begun=frozenset(begun)))
    assert restarted(plan) == started
    assert {step.file for step in plan.steps if step.node in started} <= {File.ORIGINAL}
