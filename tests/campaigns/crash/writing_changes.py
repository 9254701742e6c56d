"""Changes of a cluster with a journal, as the crash campaign runs them: the cluster is a value that lives outside."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from kafkactl.change.journal_lines import read_journal
from kafkactl.cluster.quorum.state import ids_of
from kafkactl.core.errors import KafkactlError
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.files.journal import open_journal
from kafkactl.migration.driver.journal import SUBJECT
from kafkactl.quorum.change.ports import Goal, QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.plan import plan_reassignment
from kafkactl.quorum.target import parse_target
from tests.campaigns.crash.campaign import Command, Mark, is_temporary
from tests.campaigns.crash.states import Flat
from tests.fakes import run_context
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import at_phase
from tests.migration import zk_trees
from tests.migration.driver.test_rollback import go_back
from tests.migration.driver.test_run import forward
from tests.quorum.scripted_port import LOST, Reaction, SteppedQuorum
from tests.quorum.worlds import CLUSTER_ID, world

_JOURNAL = "state/journal.jsonl"
_QUICK = QuorumWaitPolicy(gate=replace(QuorumWaitPolicy().gate, span_ms=500, samples=2), stays_away_ms=500)


def _journal(subject: str, cluster_id: str) -> Callable[[Flat, Flat, Flat], str | None]:
    """Return a check of the journal: it can be read, torn at its end at most, what it says is kept is kept, and nothing
    else is made."""

    def rule(flat: Flat, _old: Flat, new: Flat) -> str | None:
        content = flat.get(_JOURNAL) or b""
        try:
            text = read_journal(content, file=_JOURNAL, subject=subject, cluster_id=cluster_id)
        except KafkactlError as error:
            return f"the journal cannot be read: {error.message}"
        kept = _JOURNAL + ".kept/"
        for entry in text.entries:
            name = entry.data.get("sha256")
            if isinstance(name, str) and entry.entry == "original" and flat.get(kept + name) is None:
                return f"{name} is not kept, and the journal says so"
        known = {"state", _JOURNAL, _JOURNAL + ".kept"}
        strange = [path for path in flat if path not in known and not path.startswith(kept) and not is_temporary(path)]
        return f"{strange} are left" if strange else None

    return rule


def _ended(subject: str, cluster_id: str) -> Callable[[Flat, Flat, Flat], str | None]:
    """Return a check that the journal is there. Its last entry may be torn if the disk was full: the outcome is
    known without it."""
    allowed = _journal(subject, cluster_id)

    def rule(flat: Flat, old: Flat, new: Flat) -> str | None:
        if not flat.get(_JOURNAL):
            return "the journal is gone"
        return allowed(flat, old, new)

    return rule


def _reassign(variant: str, target: str, start: Callable[[], SteppedQuorum]) -> Command:
    wanted = parse_target(target)

    def run(root: Path, quorum: SteppedQuorum, mark: Mark) -> str:
        goal = Goal(
            description={"verb": "reassign", "target": target},
            plan=lambda state, around: plan_reassignment(state, wanted, around),
            circumstances=Circumstances(),
            is_journey=True,
        )
        quorum.at_action = lambda _number, _name: mark()
        path = str(root / _JOURNAL)
        now_ms = lambda: 1_800_000_000_000 + int(quorum.clock.now_ms())  # noqa: E731
        with open_journal(path, subject="quorum", cluster_id=CLUSTER_ID, now_ms=now_ms) as journal:
            outcome = carry_out(quorum, goal, journal, policy=_QUICK, clock=quorum.clock).outcome.value
        quorum.at_action = lambda _number, _name: None
        return outcome

    def goal(quorum: SteppedQuorum) -> str | None:
        found = ids_of(quorum.world.voters)
        return None if found == [voter.node_id for voter in wanted] else f"the voters are {found}"

    return Command(
        "quorum reassign", variant, lambda _root: None, run, world=start, goal=goal, sample=40,
        allowed=_journal("quorum", CLUSTER_ID), is_done=_ended("quorum", CLUSTER_ID),
    )  # fmt: skip


def _reassignments() -> Iterator[Command]:
    yield _reassign("three voters replaced", "4,5,6", lambda: SteppedQuorum(world=world("1 2 3", observers="4 5 6")))
    yield _reassign(
        "answer lost", "1,2,3",
        lambda: SteppedQuorum(world=world("1", observers="2 3"), reactions=[Reaction(answer=LOST)]),
    )  # fmt: skip


def _migrate(
    variant: str, start: Callable[[], FakeCluster], go: Callable[[FakeWorld, Path], Any], sample: int
) -> Command:
    first: list[FakeCluster] = []

    def begin() -> FakeCluster:
        if not first:
            first.append(start())
        return copy.deepcopy(first[0])

    def run(root: Path, cluster: FakeCluster, mark: Mark) -> str:
        migrating = FakeWorld(cluster)
        migrating.on_act = mark
        (root / "state").mkdir(exist_ok=True)
        with mock.patch.object(run_context, "Unsynced", OsFilesystem):
            return str(go(migrating, root / "state").outcome.value)

    def goal(cluster: FakeCluster) -> str | None:
        return None if cluster.harm == [] else f"harm: {cluster.harm}"

    return Command(
        "migrate", variant, lambda root: (root / "state").mkdir(), run, world=begin, goal=goal, sample=sample, every=7,
        allowed=_journal(SUBJECT, zk_trees.CLUSTER_ID), is_done=_ended(SUBJECT, zk_trees.CLUSTER_ID),
    )  # fmt: skip


def _migrations() -> Iterator[Command]:
    yield _migrate("forward", lambda: at_phase("M0"), forward, sample=0)
    yield _migrate("rollback from M6", lambda: at_phase("M6"), go_back, sample=150)


CHANGE_COMMANDS: tuple[Command, ...] = (*_reassignments(), *_migrations())
