"""States in which an operator meets a cluster, each with the answers that the contract of `kafkactl roll` asks for.

A column has a sign a node, in the order of ids: `+` true, `-` false, `?` unknown. Controllers are 1 to 3, brokers 11 to
13, unless the row names other ones. `done`, `back` and `may_stop` are those of `roll status`, `starts` is `will_start`
of `roll check`. The codes are the exit codes of check, status, and `rollback --dry-run` to the release before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from kafkactl.change.journal_lines import JournalText, new_entry
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.api import RollRequest, check, plan, plan_rollback, status
from kafkactl.roll.observation import RollObservation
from kafkactl.roll.planning import levels_of
from kafkactl.roll.start_gates import mark_of
from tests.roll.rolls import CLUSTER, JAVA, Roll, config

OLD, NEW = "3.9.2", "4.3.1"
RF3 = ([11, 12, 13], [12, 13, 11], [13, 11, 12])


class Answers(NamedTuple):
    """The cells of a row. `order` are the nodes that are still to be restarted, by batch."""

    phase: str | None
    done: str
    back: str
    may_stop: str
    starts: str
    order: str
    rollback: str
    codes: tuple[int, int, int]


class State(NamedTuple):
    """A cluster, the goal, what the request adds, and the answers."""

    name: str
    make: Callable[[], Any]
    to: str | None
    answers: Answers
    request: Mapping[str, Any] = MappingProxyType({})
    before: str = OLD


def sound(release: str = OLD, **shape: Any) -> Roll:
    """Return a cluster with a topic of three replicas that every broker may leave."""
    roll = Roll(release, **shape)
    brokers = sorted(id for id, node in roll.nodes.items() if Role.BROKER in node.roles)
    rows = RF3 if brokers == [11, 12, 13] else [brokers]
    return roll.topic("orders", *rows, min_insync_replicas="2" if len(brokers) > 2 else "1")


def upgraded(*ids: int, **shape: Any) -> Roll:
    """Return a cluster of the old release in which these nodes, or all, run the new one."""
    return sound(**shape).runs(NEW, *ids).was(OLD, *ids)


def downgraded(*ids: int) -> Roll:
    """Return a cluster whose level was never raised, in which these nodes, or all, are back on the old release."""
    return sound(NEW, level=21).runs(OLD, *ids).was(NEW, *ids)


def crashed(roll: Roll, *ids: int) -> Roll:
    """Return a cluster of which nodes failed: the brokers left every ISR, and a leader that failed has a successor."""
    roll.kill(*ids)
    roll.topics = [
        (name, [(row, tuple(id for id in isr if id not in ids) or isr) for row, isr in rows])
        for name, rows in roll.topics
    ]
    if roll.leader in ids:
        roll.leader = next((id for id in roll.voters if id not in roll.dead), roll.leader)
    return roll


def leaderless(roll: Roll, *ids: int) -> Roll:
    """Return a cluster without a majority: its brokers stay unfenced in the log."""
    roll.dead |= set(ids)
    for id in ids:
        roll.change(id, alive=False, release=None, features=None)
    voters = [{"id": id, "alive": id not in roll.dead} for id in roll.voters]
    roll.quorum = {"leader_id": -1, "leader_epoch": 5, "voters": voters, "observers": []}
    return roll


def gone(roll: Roll, *ids: int) -> Roll:
    """Return a cluster of which no controller answers, so that there is no quorum to describe."""
    leaderless(roll, *ids)
    roll.quorum = None
    return roll


def unnamed(roll: Roll) -> Roll:
    """Return a cluster without the hook `running`."""
    for id in roll.nodes:
        roll.change(id, release=None)
    return roll


def unanswered(roll: Roll, *ids: int) -> Roll:
    """Return a cluster of which nodes were not asked."""
    for id in ids:
        roll.change(id, alive=None, release=None, features=None)
    return roll


def unreadable(roll: Roll, id: int) -> Roll:
    """Return a cluster in which a node shows ranges that no known release has, and no hook names its release."""
    ranges = {"metadata.version": Versions(7, 29_999)}
    roll.change(id, release=None, features=ranges)
    roll.registered[id]["ranges"] = ranges
    return roll


def mid_step(roll: Roll, id: int, action: str, *, to: str = NEW) -> Roll:
    """Return a cluster whose journal has an open step of a node that is down."""
    case = roll.case()
    mark = mark_of(case, case.observation.node(id)).to_dict()
    before = {str(id): str(version) for id, version in case.versions.items()}
    text = JournalText(entries=())
    for kind, data in (
        ("journal", {"version": 1, "subject": "roll", "cluster_id": CLUSTER}),
        ("begin", {"goal": {"to": to, "way": "upgrade", "from": before}}),
        ("intent", {"number": 2, "action": action, "nodes": [id], "release": to, "marks": [mark]}),
    ):
        text = JournalText(entries=(*text.entries, new_entry(text, kind, data, at_ms=1_000 * len(text.entries))))
    crashed(roll, id)
    roll.journal = text.entries
    return roll


def behind(roll: Roll, id: int) -> Roll:
    """Return a cluster in which a broker is unfenced, and not yet in its ISRs."""
    roll.topics = [
        (name, [(row, tuple(each for each in isr if each != id)) for row, isr in rows]) for name, rows in roll.topics
    ]
    return roll


def without_log(roll: Roll) -> RollObservation:
    return changed(roll.observation(), log=None)


def whole_levels(release: str) -> dict[str, int]:
    """Return the levels of a release without metadata.version."""
    return {name: level for name, level in levels_of(find_release(release)).items() if name != "metadata.version"}


def with_levels(roll: Roll, release: str) -> Roll:
    roll.features = whole_levels(release)
    return roll


def moving(roll: Roll) -> Roll:
    roll.topic("moved", [11, 12]).adding[("moved", 0)] = [13]
    return roll


COMBINED: dict[str, Any] = {"controllers": (), "brokers": (), "combined": (1, 2, 3)}
GOOD = "++++++"
FINE = (0, 0, 0)
HARMED = (7, 7, 0)
STATES = (
    # An upgrade, step by step.
    State("upgrade before it", sound, NEW,
          Answers("before", "------", GOOD, GOOD, GOOD, "1 2 3 / 11 13 12", "none-needed", FINE)),
    State("a follower upgraded", lambda: upgraded(1), NEW,
          Answers("controllers", "+-----", GOOD, GOOD, GOOD, "2 3 / 11 13 12", "binaries", FINE)),
    State("all but the leader upgraded", lambda: upgraded(1, 2), NEW,
          Answers("controllers", "++----", GOOD, GOOD, GOOD, "3 / 11 13 12", "binaries", FINE)),
    State("controllers upgraded", lambda: upgraded(1, 2, 3), NEW,
          Answers("brokers", "+++---", GOOD, GOOD, GOOD, " / 11 13 12", "binaries", FINE)),
    State("a broker upgraded", lambda: upgraded(1, 2, 3, 11), NEW,
          Answers("brokers", "++++--", GOOD, GOOD, GOOD, " / 13 12", "binaries", FINE)),
    State("all binaries upgraded", upgraded, NEW,
          Answers("binaries", GOOD, GOOD, GOOD, GOOD, " / ", "binaries", FINE)),
    State("a level raised on the way", lambda: upgraded(level=25), NEW,
          Answers("levels", GOOD, GOOD, GOOD, GOOD, " / ", "no", (0, 0, 3))),
    State("all levels raised", lambda: with_levels(upgraded(level=30), NEW), NEW,
          Answers("done", GOOD, GOOD, GOOD, GOOD, " / ", "no", (0, 0, 3))),
    State("a broker upgraded first", lambda: upgraded(11), NEW,
          Answers("mixed", "---+--", GOOD, GOOD, GOOD, "1 2 3 / 13 12", "binaries", FINE)),
    State("three releases", lambda: upgraded(1).runs("4.0.2", 2), NEW,
          Answers("mixed", "+-----", GOOD, GOOD, GOOD, "2 3 / 11 13 12", "binaries", FINE)),
    State("two releases without a goal", lambda: upgraded(1, 2), None,
          Answers("controllers", "??????", GOOD, GOOD, GOOD, "1 2 3 / 11 13 12", "binaries", FINE)),
    State("one release without a goal", sound, None,
          Answers("done", "??????", GOOD, GOOD, GOOD, "1 2 3 / 11 13 12", "none-needed", FINE)),
    # A part of the nodes.
    State("only one broker", sound, NEW,
          Answers("before", "------", GOOD, GOOD, GOOD, " / 11", "none-needed", FINE), {"only": frozenset({11})}),
    State("all but the leader", sound, NEW,
          Answers("before", "------", GOOD, GOOD, GOOD, "1 2 / 11 13 12", "none-needed", FINE),
          {"skip": frozenset({3})}),
    # Nodes that are down or not back.
    State("a broker stopped for its upgrade", lambda: mid_step(upgraded(1, 2, 3), 12, "stop"), NEW,
          Answers("brokers", "+++---", "++++-+", "----+-", GOOD, " / 12 11 13", "binaries", HARMED)),
    State("a broker in its start", lambda: mid_step(upgraded(1, 2, 3), 12, "start"), NEW,
          Answers("brokers", "+++---", "++++-+", "----+-", GOOD, " / 12 11 13", "binaries", HARMED)),
    State("a broker registered and fenced", lambda: behind(upgraded(1, 2, 3, 12).fence(12), 12), NEW,
          Answers("brokers", "+++-+-", "++++-+", "----+-", GOOD, " / 11 13", "binaries", (7, 7, 3))),
    State("a broker unfenced and not in sync", lambda: behind(upgraded(1, 2, 3, 12), 12), NEW,
          Answers("brokers", "+++-+-", "++++-+", "+++-+-", GOOD, " / 11 13", "binaries", (7, 7, 3))),
    State("a broker that failed before its upgrade", lambda: crashed(upgraded(1, 2, 3), 12), NEW,
          Answers("brokers", "+++---", "++++-+", "----+-", GOOD, " / 12 11 13", "binaries", HARMED)),
    State("a broker that failed after its upgrade", lambda: crashed(upgraded(), 12), NEW,
          Answers("binaries", GOOD, "++++-+", "----+-", GOOD, " / 12", "binaries", HARMED)),
    State("a broker that is lost and left out", lambda: crashed(upgraded(1, 2, 3), 12), NEW,
          Answers("brokers", "+++---", "++++-+", "----+-", GOOD, " / 11 13", "binaries", HARMED),
          {"skip": frozenset({12})}),
    State("a voter that failed before its upgrade", lambda: crashed(upgraded(1, 2), 3), NEW,
          Answers("controllers", "++----", "++-+++", "--++++", GOOD, "3 / 11 13 12", "binaries", HARMED)),
    State("a voter that failed before its upgrade, brokers under way", lambda: crashed(upgraded(1, 2, 11), 3), NEW,
          Answers("controllers", "++-+--", "++-+++", "--++++", GOOD, "3 / 13 12", "binaries", (7, 7, 3))),
    State("a voter that failed after its upgrade", lambda: crashed(upgraded(1, 2, 3, 11), 3), NEW,
          Answers("brokers", "++++--", "++-+++", "--++++", GOOD, "3 / 13 12", "binaries", (7, 7, 3))),
    State("a majority of voters down", lambda: leaderless(upgraded(1, 2, 3), 1, 2), NEW,
          Answers("brokers", "+++---", "------", "------", "++----", "1 2 / 11 13 12", "binaries", HARMED)),
    State("all controllers down", lambda: gone(upgraded(1, 2, 3), 1, 2, 3), NEW,
          Answers("brokers", "+++---", "---???", "------", "------", "1 2 3 / 11 13 12", "binaries", HARMED)),
    State("the only controller down", lambda: gone(upgraded(1, controllers=(1,)), 1), NEW,
          Answers("brokers", "+---", "-???", "----", "+---", "1 / 11 13 12", "binaries", HARMED)),
    # The rollback.
    State("downgrade before it", lambda: sound(NEW, level=21), OLD,
          Answers("before", "------", GOOD, GOOD, GOOD, "1 2 3 / 11 13 12", "binaries", FINE)),
    State("a broker taken back", lambda: downgraded(11), OLD,
          Answers("brokers", "---+--", GOOD, GOOD, GOOD, "1 2 3 / 13 12", "binaries", FINE)),
    State("a broker taken back, another one failed", lambda: crashed(downgraded(11), 12), OLD,
          Answers("brokers", "---+--", "++++-+", "----+-", GOOD, "1 2 3 / 12 13", "binaries", HARMED)),
    State("brokers taken back", lambda: downgraded(11, 12, 13), OLD,
          Answers("controllers", "---+++", GOOD, GOOD, GOOD, "1 2 3 / ", "binaries", FINE)),
    State("a controller taken back first", lambda: downgraded(1), OLD,
          Answers("mixed", "+-----", GOOD, GOOD, GOOD, "2 3 / 11 13 12", "binaries", FINE)),
    State("all nodes taken back", downgraded, OLD,
          Answers("done", GOOD, GOOD, GOOD, GOOD, " / ", "none-needed", FINE)),
    State("downgrade below a raised level", lambda: sound(NEW), OLD,
          Answers("before", "------", GOOD, GOOD, "------", "1 2 3 / 11 13 12", "no", (7, 0, 3))),
    State("downgrade within a free band", lambda: sound("4.2.1"), "4.0.2",
          Answers("before", "------", GOOD, GOOD, "------", "1 2 3 / 11 13 12", "levels-first", (7, 0, 3)),
          before="4.0.2"),
    # Combined nodes, and small quorums.
    State("combined nodes before it", lambda: sound(**COMBINED), NEW,
          Answers("before", "---", "+++", "+++", "+++", "1 2 3 / ", "none-needed", FINE)),
    State("a combined node upgraded", lambda: upgraded(1, **COMBINED), NEW,
          Answers("controllers", "+--", "+++", "+++", "+++", "2 3 / ", "binaries", FINE)),
    State("a combined node that failed", lambda: crashed(upgraded(1, **COMBINED), 2), NEW,
          Answers("controllers", "+--", "+-+", "-+-", "+++", "2 3 / ", "binaries", HARMED)),
    State("combined nodes upgraded", lambda: upgraded(**COMBINED), NEW,
          Answers("binaries", "+++", "+++", "+++", "+++", " / ", "binaries", FINE)),
    State("one controller", lambda: sound(controllers=(1,)), NEW,
          Answers("before", "----", "++++", "++++", "++++", "1 / 11 13 12", "none-needed", FINE)),
    State("two controllers", lambda: sound(controllers=(1, 2)), NEW,
          Answers("before", "-----", "+++++", "--+++", "+++++", "1 2 / 11 13 12", "none-needed", FINE)),
    # What is unknown.
    State("no hook, to another line", lambda: unnamed(upgraded(1, 2, 3)), NEW,
          Answers("brokers", "+++---", GOOD, GOOD, GOOD, " / 11 13 12", "binaries", FINE)),
    State("no hook, to another patch", lambda: unnamed(sound("4.3.0")), NEW,
          Answers(None, "??????", GOOD, GOOD, GOOD, "1 2 3 / 11 13 12", "none-needed", FINE), before="4.3.0"),
    State("a release that nothing shows", lambda: unreadable(upgraded(1, 2, 3, 11), 12), NEW,
          Answers("brokers", "++++?-", GOOD, GOOD, GOOD, " / 13 12", "binaries", FINE)),
    State("a broker that was not asked", lambda: unanswered(upgraded(1, 2, 3), 12), NEW,
          Answers("brokers", "+++---", "++++?+", "+++???", GOOD, " / 11 13 12", "binaries", FINE)),
    State("a voter that was not asked", lambda: unanswered(upgraded(1, 2, 3), 2), NEW,
          Answers("brokers", "+++---", "+?++++", "???+++", GOOD, " / 11 13 12", "binaries", FINE)),
    State("no metadata log", lambda: without_log(upgraded(1, 2, 3)), NEW,
          Answers("brokers", "+++---", "+++???", "??????", "??????", " / 11 12 13", "no", FINE)),
    # What stops a new binary, or every stop.
    State("an old Java", lambda: sound().change(11, java=JAVA[11]), NEW,
          Answers("before", "------", GOOD, GOOD, "+++-++", "1 2 3 / 11 13 12", "none-needed", (7, 0, 0))),
    State("a file that the release refuses",
          lambda: sound().change(12, config=config(12, ["broker"], log_segment_bytes="100000")), NEW,
          Answers("before", "------", GOOD, GOOD, "++++-+", "1 2 3 / 11 13 12", "none-needed", (7, 0, 0))),
    State("a stored setting that the release refuses",
          lambda: sound().topic("small", [11, 12, 13], segment_bytes="100000"), NEW,
          Answers("before", "------", GOOD, GOOD, "+++---", "1 2 3 / 12 11 13", "none-needed", (7, 0, 0))),
    State("a reassignment", lambda: moving(sound()), NEW,
          Answers("before", "------", GOOD, "------", GOOD, "1 2 3 / 12 11 13", "none-needed", (7, 0, 3))),
    State("a partition with one replica", lambda: sound().topic("one", [11]), NEW,
          Answers("before", "------", GOOD, GOOD, GOOD, "1 2 3 / 11 13 12", "none-needed", FINE)),
)  # fmt: skip


def signs(values: Sequence[bool | None]) -> str:
    return "".join("?" if value is None else "+" if value else "-" for value in values)


def code(problems: bool) -> int:
    return 7 if problems else 0


def answers(state: State) -> Answers:
    made = state.make()
    seen = made if isinstance(made, RollObservation) else made.observation()
    request = RollRequest(to=state.to, **state.request)
    found, position = check(seen, request), status(seen, RollRequest(to=state.to))
    order = plan(seen, request).order
    back = plan_rollback(seen, RollRequest(to=state.before))
    return Answers(
        phase=None if position.phase is None else position.phase.value,
        done=signs([node.done for node in position.nodes]),
        back=signs([node.back for node in position.nodes]),
        may_stop=signs([node.may_stop for node in position.nodes]),
        starts=signs([node.will_start for node in found.nodes]),
        order=f"{' '.join(map(str, order.controllers))} / {' '.join(map(str, order.brokers))}",
        rollback=position.rollback.how.value,
        codes=(code(found.has_blockers), code(position.has_problems), back.outcome.exit_code),
    )


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_state_has_the_answers_of_the_contract(state: State) -> None:
    assert answers(state) == state.answers
