"""`kafkactl migrate plan`: what will be done from here to the end, and what the copy will write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    code_without_evidence,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit

if TYPE_CHECKING:
    from kafkactl.migration.copy.forecast import CopyForecast
    from kafkactl.migration.plan.step import Way

KIND = "migrate.plan"
_OF_RELEASE = "migration-release-unknown"  # the other findings of the copy are those of `migrate check`


@leaf_command(
    "plan",
    examples=(
        "kafkactl migrate plan --inventory migration.toml",
        "kafkactl migrate plan --observation observation -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
        exit_codes.UNKNOWN,
    ),
    timeout="5m",
)  # fmt: skip
@observation_options
def command(*, source: ObservationArguments) -> None:
    """Show every step from here to the end, what it waits for, and what the copy will write.

    Nothing is touched. What is done already is shown as done. Before the last broker enters there is a
    barrier, because the copy begins by itself then; before the first controller of the end there is
    another, because there is no way back behind it. What speaks against going on is in `migrate check`.
    """
    from kafkactl.commands.migrate.page import plan_page
    from kafkactl.findings import each_once
    from kafkactl.migration.plan.afterwards import afterwards
    from kafkactl.migration.plan.expected_copy import expected_copy
    from kafkactl.migration.plan.forward import forward_of
    from kafkactl.migration.state.evidence import evidence_of
    from kafkactl.migration.state.names import State
    from kafkactl.migration.state.table import situation_of

    inventory = open_inventory(source)
    observation = open_observation(source)
    evidence = evidence_of(observation)
    plan = forward_of(evidence, situation_of(evidence), inventory)
    then = afterwards(observation) if plan.state is State.M11 else ()
    copy = expected_copy(evidence, plan.state)
    release = () if copy is None else tuple(one for one in copy.findings if one.id == _OF_RELEASE)
    payload = {
        "outcome": plan.outcome.value,
        "state": plan.state.value,
        "state_words": plan.state.words,
        "time_ms": observation.time_ms,
        "steps": [one.to_dict() for one in plan.steps],
        "restarts": _restarts(plan),
        "prediction": _prediction(copy),
        "consequences": plan.consequences,
        "findings": each_once((*plan.beside((*observation.findings, *release)), *plan.findings, *then)),
    }
    lacking = code_without_evidence(source, observation, plan.state)
    code = plan.outcome.exit_code
    emit(KIND, payload, render=plan_page, exit_code=code if code or lacking is None else lacking)


def _restarts(plan: Way) -> dict[str, int]:
    from kafkactl.migration.observed.observation import NodeRole
    from kafkactl.migration.plan.step import Move

    roles = [one.role for one in plan.pending if one.action is Move.RESTART_NODE]
    return {"brokers": roles.count(NodeRole.BROKER), "controllers": roles.count(NodeRole.CONTROLLER)}


def _prediction(found: CopyForecast | None) -> dict[str, Any] | None:
    """The copy of the tree as it is now; None once it is done."""
    if found is None:
        return None
    return {
        "outcome": found.outcome.value,
        "records": found.records,
        "by_type": dict(found.by_type),
        "batches": found.batches,
        "bytes": found.bytes,
        "seconds": found.seconds,
        "exact": found.is_exact,
    }
