"""Reasons for which the driver of a migration stops: the observation, the expectation, and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.wording import some
from kafkactl.migration.driver.journal import BACK, JournalState
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.observed.silence import leader_unknown
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level
from kafkactl.migration.steps.step import Step
from kafkactl.migration.steps.table import definition_of
from kafkactl.migration.zktree.parse import parse_tree

_CAUGHT_UP: Final = 100  # records behind the high watermark, of which no-ops alone make two a second


def level_of(state: str | None) -> Level | None:
    """Return the level of a state; None for a broken state, and during the copy."""
    definition = definition_of(state)
    return None if definition is None else definition.level


def moved_against(goal: str, before: str | None, now: str) -> bool:
    """Return True if a migration goes the other way than its run: back under `run`, forward under `rollback`."""
    old, new = level_of(before), level_of(now)
    if old is None or new is None or (goal != BACK and now == State.M2):  # M3 that lost its majority is M2 again
        return False  # broken on the way: reported by the plan
    return new > old if goal == BACK else new < old


def moved_by_another(goal: str, before: str, now: str) -> RefusedError:
    """Return the error of a state that no step of this run leads to."""
    return RefusedError(
        f"the state changed from {before} to {now} (confirmed twice). This {goal} did not cause that; another"
        " operator or"
        " tool is changing the migration",
        id="concurrent-migration-change",
    )


def disagreement(recorded: JournalState, observed: str, seen: Observation) -> Finding | None:
    """Report that journal and cluster differ, and no step that was begun explains the difference."""
    remembered = recorded.state
    if remembered is None or not recorded.is_under_way or remembered == observed:
        return None
    if level_of(remembered) is level_of(observed) is Level.PREPARED:
        return None  # what is planned and formatted is not started, so nothing shows it yet
    places = [_place(remembered), _place(observed)]
    if None in places:
        return None  # a broken situation is reported by the plan
    before, now = (int(place) for place in places if place is not None)
    if (
        recorded.pending is not None
        or recorded.failed is not None
        or (now > before and _ends_automatically(remembered))
    ):
        return None
    rows = list(_rows(recorded, remembered, observed, seen))
    table = "; ".join(f"{row['what']}: journal {row['journal']}, observed {row['observed']}" for row in rows)
    return blocker(
        "journal-and-cluster-disagree",
        "journal",
        f"the journal and the observation differ: {table}",
        table=rows,
    )


def _ends_automatically(state: str) -> bool:
    definition = definition_of(state)
    return definition is not None and definition.ends_automatically


def _place(state: str) -> int | None:
    try:
        return State(state).place
    except ValueError:
        return None


def _rows(recorded: JournalState, remembered: str, observed: str, seen: Observation) -> Iterator[dict[str, Any]]:
    yield {"what": "state", "journal": remembered, "observed": observed}
    pending = recorded.pending
    if pending is not None:
        yield {"what": "under way", "journal": f"{pending.action} {pending.target}", "observed": None}
    for node in seen.nodes:
        last = [step for step in recorded.done if step[1] == node.name]
        mode = None if node.mode is None else node.mode.value
        yield {"what": node.name, "journal": last[-1][0] if last else None, "observed": mode}


def isr_incomplete(seen: Observation, broker: int) -> tuple[str, ...]:
    """Return the partitions in which a broker is a replica and not in sync, by the side that is active now."""
    late = list(_late(seen, broker))
    return (f"broker {broker} is not in sync in {some(late)}",) if late else ()


def not_caught_up(seen: Observation, controller: int) -> tuple[str, ...]:
    """Return the reason why a restarted controller does not count in its quorum yet, by the leader's answer."""
    quorum = seen.quorum
    if quorum is None or quorum.high_watermark is None:
        unknown = leader_unknown(seen)
        return ("no controller leads" if unknown is None else f"the leader of the quorum is unknown: {unknown}",)
    end = next((voter.log_end_offset for voter in quorum.voters if voter.id == controller), None)
    if end is None or end < 0 or quorum.high_watermark - end > _CAUGHT_UP:
        return (f"controller {controller} has {end} of {quorum.high_watermark} records",)
    return ()


def _late(seen: Observation, broker: int) -> Iterator[str]:
    log = seen.log
    copied = (ZkMigrationState.MIGRATION, ZkMigrationState.POST_MIGRATION)
    in_kraft = (
        any(controller.alive for controller in seen.controllers) and log is not None and log.migration_state in copied
    )
    if in_kraft and log is not None:
        for topic in log.image.topics.values():
            for number, partition in topic.partitions.items():
                if broker in partition.replicas and broker not in partition.isr:
                    yield f"{topic.name}-{number}"
    elif seen.tree is not None:
        for name, found in parse_tree(seen.tree).topics.items():
            for number, part in found.partitions.items():
                if broker in part.replicas and part.state is not None and broker not in part.state.isr:
                    yield f"{name}-{number}"


def gate_stays_closed(step: Step, closed: Iterable[str], *, asked: bool) -> Finding:
    """Return the finding of a step that was taken, and whose result was not observed in time."""
    seen = "; ".join(closed) or "unknown"
    how = "was requested from the operator" if asked else "was reported as done by its hook"
    return blocker(
        "step-not-confirmed",
        step.target,
        f"{step.action} {step.target} {how}, and was not observed in time: {step.gate} ({seen})",
        action=step.action.value,
        gate=step.gate,
        seen=list(closed),
    )
