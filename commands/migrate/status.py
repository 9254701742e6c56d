"""`kafkactl migrate status`: where the migration really is, beside what the journal remembers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    code_without_evidence,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit

if TYPE_CHECKING:
    from kafkactl.adapters.migration.journal_view import JournalView
    from kafkactl.findings import Finding
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation
    from kafkactl.migration.state.table import Situation

KIND = "migrate.status"
_ALARM = "finalization-begun"  # a controller without the flag, while ZooKeeper is written still
_NO_LEADER = "quorum-without-leader"
_FINALIZING, _BACK = "finalize", "rollback"
_DONE = "done"


@leaf_command(
    "status",
    examples=(
        "kafkactl migrate status --inventory migration.toml",
        "kafkactl migrate status --inventory migration.toml --watch",
        "kafkactl migrate status --observation observation -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN,
        exit_codes.PROBLEMS_FOUND, exit_codes.INTERRUPTED,
    ),
    timeout="2m",
)  # fmt: skip
@observation_options
@click.option("--journal", metavar="FILE", help="The driver's journal. [default: that of the inventory]")
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C or --timeout.")
@click.option(
    "--interval", "interval_ms", type=Duration(), default="10s", show_default=True, metavar="TIME",
    help="With --watch: the time between two looks.",
)  # fmt: skip
def command(*, source: ObservationArguments, journal: str | None, watch: bool, interval_ms: int) -> None:
    """Say where the migration is: the state that all nodes' evidence shows, never what is remembered.

    States are M0 to M11 and M4L; what no procedure leads to has a name of its own, such as
    stale-migration, and the exit code is then 7. The gates say what stands between this state and the
    next, four witnesses for each broker among them; the journal stands beside, where there is one.
    It works from every machine that reaches the nodes, and on a saved observation.
    """
    from kafkactl.commands.migrate.page import board_page, status_page

    if watch and source.observation is not None:
        raise click.UsageError("--watch looks at a live cluster: give --inventory without --observation.")
    look = _Look(source, journal)
    if watch:
        from kafkactl.commands.rendering.watch import watch as watch_on

        watch_on(KIND, look.answer, render=board_page, interval_ms=interval_ms)
    payload, code = look.answer()
    emit(KIND, payload, render=status_page, exit_code=code)


class _Look:
    """One look after the other: the second and later ones know the one before (gates are observed twice)."""

    def __init__(self, source: ObservationArguments, journal: str | None) -> None:
        self._source = source
        self._journal = journal
        self._inventory: Inventory | None = open_inventory(source)
        self._earlier = _Earlier()

    def answer(self) -> tuple[dict[str, Any], int]:
        """The payload of one look, and the exit code that it means."""
        from kafkactl.findings import each_once
        from kafkactl.migration.checks.registry import check
        from kafkactl.migration.plan.afterwards import afterwards
        from kafkactl.migration.plan.forward import next_step
        from kafkactl.migration.plan.gate import gates_seen
        from kafkactl.migration.plan.rollback import rollback_of
        from kafkactl.migration.state.evidence import evidence_of
        from kafkactl.migration.state.names import State
        from kafkactl.migration.state.table import situation_of
        from kafkactl.migration.state.view import observed_view

        observation = open_observation(self._source)
        evidence = evidence_of(observation)
        situation = situation_of(evidence)
        checked = check(observation, evidence=evidence)
        gates = gates_seen(
            situation.state, evidence, checked=checked, earlier=self._earlier.before(observation, situation.state)
        )
        alarms = [one for one in checked if one.id == _ALARM]
        journal = _journal(self._journal, self._inventory)
        remembered = None if journal is None else _remembered(journal)
        edits = self._edits(journal, observation)
        going_back = remembered is not None and remembered["goal"] == _BACK and remembered["outcome"] != _DONE
        back = rollback_of(evidence, situation, self._inventory).pending if going_back else ()
        step = next(iter(back), None) or next_step(evidence, situation, self._inventory)
        state = situation.state
        then = afterwards(observation) if state is State.M11 else ()
        payload = {
            "state": state.value,
            "state_words": state.words,
            "why": situation.why,
            "time_ms": observation.time_ms,
            "observed": {"state": state.value, **observed_view(evidence)},
            "journal": remembered,
            "agrees": _agrees(remembered, state.value),
            "driver_lock": None if observation.lock is None else observation.lock.to_dict(),
            "gates": (*gates, *alarms, *edits),
            "next_action": None if step is None else step.to_dict(),
            "findings": each_once((*observation.findings, *situation.findings, *situation.leftovers, *then)),
        }
        is_alarm = bool(alarms) and (remembered is None or remembered["goal"] != _FINALIZING)
        code = _exit_code(situation, (*gates, *edits), is_alarm=is_alarm)
        lacking = code_without_evidence(self._source, observation, state)
        return payload, code if code or lacking is None else lacking

    def _edits(self, journal: JournalView | None, observation: Observation) -> tuple[Finding, ...]:
        """Files that were edited since the driver read or wrote them. A saved file without its comments and secrets
        differs from the one on the node, so only a live look compares them.
        """
        from kafkactl.migration.driver.files import hand_edit_findings

        if journal is None or self._inventory is None or self._source.observation is not None:
            return ()
        return hand_edit_findings(self._inventory, journal, observation)


class _Earlier:
    """Which look the next one is compared with: one in the same state, old enough for a gate to be seen twice.

    Two are kept, for looks may be a second apart, and each can be a large tree.
    """

    def __init__(self) -> None:
        self._older: Observation | None = None
        self._newer: Observation | None = None
        self._state: object = None

    def before(self, observation: Observation, state: object) -> Observation | None:
        """The look to compare this one with; None for the very first."""
        from kafkactl.migration.plan.gate import APART_MS

        first, changed = self._newer, state != self._state
        self._state = state
        if first is None or changed:
            self._older, self._newer = None, observation
            return first
        if observation.time_ms - first.time_ms >= APART_MS:
            self._older, self._newer = first, observation
            return first
        return self._older or first


def _exit_code(situation: Situation, gates: Any, *, is_alarm: bool) -> int:
    """7 for what is broken, and for what stops a migration that is under way; before it `check` tells that. Also for a
    controller without the flag: once it leads there is no way back.
    """
    from kafkactl.findings import blockers
    from kafkactl.migration.state.names import State

    found = blockers(gates)
    # In M2 controllers are not started yet, or run without a majority, which is no way to leave them.
    early = situation.state in (State.M0, State.M1) or (
        situation.state is State.M2 and not any(one.id == _NO_LEADER for one in found)
    )
    wrong = situation.state.is_broken or is_alarm or (found and not early)
    return exit_codes.PROBLEMS_FOUND if wrong else exit_codes.DONE


# --- the journal ----------------------------------------------------------------------------------------------------


def _journal(given: str | None, inventory: Inventory | None) -> JournalView | None:
    """The journal; None where none was given and the inventory's does not exist."""
    from kafkactl.adapters.migration.journal_view import look_into_journal

    return None if given is None and inventory is None else look_into_journal(given, inventory)


def _remembered(found: JournalView) -> dict[str, Any]:
    """What the journal says."""
    memory = found.memory
    pending = memory.pending
    return {
        "file": found.file,
        "state": memory.state,
        "goal": memory.goal,
        "pending": None if pending is None else f"{pending.action} {pending.target}",
        "outcome": memory.outcome,
    }


def _agrees(journal: Mapping[str, Any] | None, state: str) -> bool | None:
    """Whether both tell the same. What is planned, armed or about to follow by itself is no disagreement."""
    if journal is None or journal["state"] is None:
        return None
    unseen = {"M1": "M0", "M9": "M8"}  # decisions that no cluster shows
    return bool(unseen.get(journal["state"], journal["state"]) == state)
