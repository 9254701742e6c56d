"""Input of a migration's commands: an inventory, and an observation, live or saved."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.answers import plain_dict
from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.migration.api.answers import MigrateObserve
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.io import observe as observing
from kafkactl.migration.io.saved_observation import CapturedMigration, load_captured, observation_from
from kafkactl.migration.observed.silence import REFUSES_CLIENT, denying, refusals
from kafkactl.migration.state.names import State

if TYPE_CHECKING:
    from kafkactl.migration.observed.observation import Observation

OBSERVATION_MS = 96_000.0
"""Default time in ms for an observation of a whole cluster."""
_NOT_MET = frozenset({"zookeeper-not-observed", "node-not-observed", "node-of-another-role"})


def read_inventory(path: str | os.PathLike[str], *, on_exposure: ExposureCallback = ignore_exposure) -> Inventory:
    """Read the inventory of a migration (docs/migration-inventory.md).

    `on_exposure` gets what the inventory and the settings that it names expose. Raises InventoryError with all
    problems, and InputError for a file that cannot be read.
    """
    from kafkactl.kafka.api.exposure import inventory_exposure

    inventory = parse_inventory(read_input(Path(path), "inventory", InputKind.INVENTORY), file=os.fspath(path))
    on_exposure(inventory_exposure(inventory))
    return inventory


def capture(inventory: Inventory, *, timeout_ms: float = OBSERVATION_MS) -> CapturedMigration:
    """Capture what every node, ZooKeeper and the metadata logs show now, without reading the logs.

    Raises UnreachableError `cluster-not-reached`.
    """
    # What a broker on ZooKeeper hangs up on is an error in its log, and shows nothing that ApiVersions does not.
    captured = observing.observe(inventory, timeout_ms=timeout_ms, asks_zookeeper_brokers=False)
    if captured.znodes is None and not captured.logs and not any(node.alive for node in captured.raw.nodes):
        raise _nothing_reached(captured)
    return captured


def observe(inventory: Inventory, *, timeout_ms: float = OBSERVATION_MS) -> Observation:
    """Observe the live cluster; what was not observed is unknown, with a finding that gives the reason.

    Nothing is changed. Raises UnreachableError if nothing of the cluster answers.
    """
    return observation_from(capture(inventory, timeout_ms=timeout_ms))


def load_observation(folder: str | os.PathLike[str]) -> Observation:
    """Read the observation that `kafkactl migrate observe` saved in a folder. Raises InputError."""
    return observation_from(load_captured(os.fspath(folder)))


def _nothing_reached(captured: CapturedMigration) -> UnreachableError:
    """Return the error for an observation that reached neither ZooKeeper nor a node, with the first reason of each."""
    findings = [*captured.raw.findings, *captured.findings]
    reasons = [f"{finding.subject}: {finding.message}" for finding in findings if finding.id in _NOT_MET]
    return UnreachableError("nothing of the cluster was reached: " + "; ".join(reasons), id="cluster-not-reached")


class Lacking(Enum):
    """Evidence that an observation lacks so that there is no answer."""

    ZOOKEEPER = "zookeeper"
    EVERYTHING = "everything"
    RIGHTS = "rights"


NOT_LET_IN: Final = frozenset({REFUSES_CLIENT, "quorum-question-denied"})
"""Findings about kafkactl's own logins and rights: an answer that has them is not about the cluster alone."""


def lacking(observation: Observation, state: State) -> Lacking | None:
    """Return the evidence that an answer lacks; None if enough was observed.

    Until the migration is final, nothing can be said of it without ZooKeeper. A node that did not let kafkactl in, or a
    quorum whose leader kafkactl has no right to ask for, leaves an answer incomplete.
    """
    if state not in (State.M10, State.M11, State.BORN_IN_KRAFT) and observation.tree is None:
        return Lacking.ZOOKEEPER
    if refusals(observation) or (observation.quorum is None and denying(observation.controllers)):
        return Lacking.RIGHTS
    if observation.tree is not None or observation.logs or any(node.alive for node in observation.nodes):
        return None
    return Lacking.EVERYTHING


@frozen
class SavedObservation:
    """An observation and the folder that it was saved in; None if nothing at all was seen, and nothing saved."""

    observation: Observation
    folder: str | None
    include_secrets: bool

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings about what was not observed, and why."""
        return tuple(self.observation.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `migrate.observe`."""
        seen = self.observation
        found: MigrateObserve = {
            "folder": self.folder,
            "include_secrets": self.include_secrets,
            "time_ms": seen.time_ms,
            "zookeeper": {
                "connect": seen.connect,
                "chroot": seen.chroot,
                "znodes": None if seen.tree is None else len(seen.tree.znodes),
            },
            "nodes": [
                {
                    "id": node.id,
                    "role": node.role,
                    "alive": node.alive,
                    "kafka_version": node.kafka_version,
                    "mode": node.mode,
                    "config": node.config_text is not None,
                    "metrics": node.metrics is not None,
                }
                for node in seen.nodes
            ],
            "logs": [
                {"id": id, "first_offset": log.first_offset, "last_offset": log.last_offset, "epoch": log.epoch}
                for id, log in seen.logs.items()
            ],
            "findings": self.findings,
        }
        return plain_dict(found)


def save_observation(
    inventory: Inventory,
    folder: str | os.PathLike[str],
    *,
    include_secrets: bool = False,
    timeout_ms: float = OBSERVATION_MS,
) -> SavedObservation:
    """Observe the live cluster and save what was seen in a folder that does not exist or is empty.

    Passwords, keys and the settings of plugins are saved only with `include_secrets`. Raises RefusedError for a
    folder with something in it, FailedError if it cannot be written.
    """
    from kafkactl.migration.io import observation_writer

    observation_writer.check_free(Path(folder))  # before the cluster is asked for minutes
    captured = observing.observe(inventory, timeout_ms=timeout_ms)
    observation = observation_from(captured)
    is_something = captured.znodes is not None or any(node.alive for node in captured.raw.nodes) or captured.logs
    if is_something:
        observation_writer.save_observation(os.fspath(folder), captured, include_secrets=include_secrets)
    return SavedObservation(
        observation=observation,
        folder=os.fspath(folder) if is_something else None,
        include_secrets=include_secrets,
    )
