"""A live cluster observed for a roll by its inventory, and an observation saved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafkactl.core.answers import by_fields
from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.roll.inventory import RollInventory, parse_roll_inventory

if TYPE_CHECKING:
    from kafkactl.roll.io.saved_observation import CapturedRoll
    from kafkactl.roll.observation import RollObservation

OBSERVATION_MS = 96_000.0
"""Time in ms for an observation of a whole cluster if the caller names none."""


def read_inventory(
    path: str | os.PathLike[str],
    *,
    command_config: str | os.PathLike[str] | None = None,
    controller_command_config: str | os.PathLike[str] | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
) -> RollInventory:
    """Read the inventory of a roll (docs/rolling-upgrade.md).

    Files of client properties that are given replace those of the inventory. `on_exposure` gets what the inventory and
    the client properties expose. Raises InventoryError with all problems, InputError for a file that cannot be read.
    """
    from kafkactl.kafka.api.exposure import roll_inventory_exposure

    content = read_input(Path(path), "inventory", InputKind.INVENTORY)
    given = {"command_config": command_config, "controller_command_config": controller_command_config}
    logins = {name: str(Path(file).absolute()) for name, file in given.items() if file is not None}
    inventory = changed(parse_roll_inventory(content, file=os.fspath(path)), **logins)
    logins_used = (inventory.command_config, inventory.controller_command_config)
    on_exposure(roll_inventory_exposure(inventory.file, *logins_used, journal=inventory.journal))
    return inventory


def capture(inventory: RollInventory, *, timeout_ms: float = OBSERVATION_MS) -> CapturedRoll:
    """Capture what nodes, quorum, hooks and logs show now, without reading the logs.

    Raises UnreachableError `cluster-not-reached` if nothing of the cluster answers.
    """
    from kafkactl.roll.io.observe import RollObserver

    captured = RollObserver(inventory, timeout_ms=timeout_ms).observe()
    seen = captured.observation
    if seen.quorum is None and seen.nodes_list is None and not captured.logs and not any(n.alive for n in seen.nodes):
        raise not_observed("nothing of the cluster was reached", seen.findings, id="cluster-not-reached")
    return captured


def not_observed(what: str, reasons: Sequence[Finding], *, id: str) -> UnreachableError:
    """Return the error of a cluster that was not observed; if nodes answer, the next step is that of the refusal."""
    from kafkactl.roll.io.observe import SILENT

    messages = "; ".join(dict.fromkeys(finding.message for finding in reasons))
    answers = (finding for finding in reasons if finding.evidence.get("reason") not in SILENT)
    step = next((finding.advice for finding in answers if finding.advice), None)
    return UnreachableError(f"{what}: {messages}" if messages else what, id=id, next_step=step)


def observe(inventory: RollInventory, *, timeout_ms: float = OBSERVATION_MS) -> RollObservation:
    """Observe the live cluster; what was not observed is unknown, with a finding that gives the reason.

    Nothing is changed. Raises UnreachableError `cluster-not-reached`.
    """
    from kafkactl.roll.io.saved_observation import with_log

    return with_log(capture(inventory, timeout_ms=timeout_ms))


@frozen
class ObservedRollNode:
    """A node of a saved observation. None is unknown."""

    id: int
    roles: tuple[Role, ...]
    alive: bool | None
    release: str | None
    """Release of the running process."""
    installed: str | None
    """Release of the next start."""
    config: bool
    """True if the configuration file was read."""

    to_dict = by_fields


@frozen
class SavedRollLog:
    """Metadata log of a controller in a saved observation."""

    id: int
    files: int
    """Number of segments and checkpoints."""

    to_dict = by_fields


@frozen
class SavedRoll:
    """An observation of a roll and the folder that it was saved in."""

    folder: str
    include_secrets: bool
    time_ms: int | None
    cluster_id: str | None
    nodes: tuple[ObservedRollNode, ...]
    logs: tuple[SavedRollLog, ...]
    journal: bool
    """True if the observation contains the journal of a roll."""
    findings: tuple[Finding, ...]
    """Facts that could not be observed, with the reasons."""

    to_dict = by_fields


def save_observation(
    inventory: RollInventory,
    folder: str | os.PathLike[str],
    *,
    include_secrets: bool = False,
    timeout_ms: float = OBSERVATION_MS,
) -> SavedRoll:
    """Observe the live cluster and save the observation in a folder that does not exist or is empty.

    Passwords, keys and the settings of plugins are saved only with `include_secrets`. Raises RefusedError for a
    folder with content, FailedError if it cannot be written, UnreachableError `cluster-not-reached`.
    """
    from kafkactl.roll.io import saved_observation

    saved_observation.check_free(Path(folder))  # before the cluster is asked for minutes
    captured = capture(inventory, timeout_ms=timeout_ms)
    saved_observation.save_observation(folder, captured, include_secrets=include_secrets)
    seen = captured.observation
    return SavedRoll(
        folder=os.fspath(folder),
        include_secrets=include_secrets,
        time_ms=seen.time_ms,
        cluster_id=seen.cluster_id,
        nodes=tuple(
            ObservedRollNode(
                id=node.id,
                roles=node.roles,
                alive=node.alive,
                release=node.release,
                installed=node.installed,
                config=node.config is not None,
            )
            for node in seen.nodes
        ),
        logs=tuple(
            SavedRollLog(id=id, files=len(source.segments) + len(source.checkpoints))
            for id, source in sorted(captured.logs.items())
        ),
        journal=seen.journal is not None,
        findings=seen.findings,
    )
