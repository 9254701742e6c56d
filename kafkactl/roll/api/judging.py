"""A roll judged by one observation: its check, its plan, and its position."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkactl.change.plan_document import render_document
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.plan_files import check_plan_target, write_plan
from kafkactl.roll.case import RollCase, RollRequest, make_case
from kafkactl.roll.checks.run import RollCheck, check_roll
from kafkactl.roll.inventory import RollInventory
from kafkactl.roll.journal import read_record
from kafkactl.roll.observation import RollObservation
from kafkactl.roll.planning import RollPlan, plan_document, plan_roll
from kafkactl.roll.position import RollStatus, roll_status

_SUFFIX: Final = ".properties"


def check(observation: RollObservation, request: RollRequest | None = None) -> RollCheck:
    """Return everything that stops or harms a roll, all of it at once, node by node.

    Raises InputError `unknown-kafka-version`, `unknown-node`.
    """
    return check_roll(make_case(observation, request or RollRequest()))


def plan(
    observation: RollObservation,
    request: RollRequest | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> RollPlan:
    """Return every step of a roll in order, with its effects, its gates and the rollback that is possible then.

    `out` is a plan file, which is written only if nothing blocks the roll. Raises InputError as `check`, RefusedError
    `plan-file-exists`, FailedError `plan-file-not-written`.
    """
    if out is not None:
        check_plan_target(Path(out), overwrite=overwrite)
    found = plan_roll(make_case(observation, request or RollRequest()))
    if out is None or found.has_blockers:
        return found
    write_plan(Path(out), render_document(plan_document(found)), overwrite=overwrite)
    return changed(found, out=os.fspath(out))


def status(observation: RollObservation, request: RollRequest | None = None) -> RollStatus:
    """Return the position of a cluster in a roll. Without a release the goal is that of the journal, if there is one.

    Raises InputError as `check`, and `journal-not-understood`.
    """
    return roll_status(status_case(observation, request or RollRequest()))


def status_case(observation: RollObservation, request: RollRequest) -> RollCase:
    """Return the case of a status: its goal is the requested release, else that of the journal."""
    record = read_record(observation.journal)
    if request.to is None and record is not None and record.to is not None and record.is_under_way:
        request = changed(request, to=record.to)
    return make_case(observation, request)


def read_rendered(folder: str | os.PathLike[str], observation: RollObservation | RollInventory) -> Mapping[int, str]:
    """Read the new configuration files of nodes: `ID.properties` for each node that gets one.

    Raises InputError `rendered-file-of-no-node` for a file of another name, and `input-file-unreadable`.
    """
    place = Path(folder)
    known = {f"{node.id}{_SUFFIX}": node.id for node in observation.nodes}
    found: dict[int, str] = {}
    try:
        names = sorted(entry.name for entry in place.iterdir())
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}", id="input-file-unreadable") from error
    for name in names:
        if name not in known:
            raise InputError(
                f"{place / name} is not named after a node; expected are {', '.join(sorted(known)) or 'none'}",
                id="rendered-file-of-no-node",
            )
        found[known[name]] = read_input(place / name, "configuration", InputKind.NODE_CONFIG).decode("utf-8", "replace")
    return found
