"""Preparation of a driver: from an inventory to a context with an open journal and the facts that it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kafkactl.core.errors import UnreachableError
from kafkactl.core.wording import file_name_of
from kafkactl.files.entropy import random_uuid
from kafkactl.kafka.client_config import load_client_config
from kafkactl.migration.driver.files import RenderedFiles
from kafkactl.migration.driver.moves import RunContext
from kafkactl.migration.driver.ports import MigrationWaitPolicy, ProgressCallback
from kafkactl.migration.driver.routes import identity_of
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.io.journal import MigrationJournal, open_migration_journal
from kafkactl.migration.io.live import LiveWorld, path_next_to
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.operator_files import FilesOfOperator
from kafkactl.migration.io.saved_observation import observation_from
from kafkactl.migration.io.zookeeper.link import read_only
from kafkactl.migration.io.zookeeper.settings import (
    ZooKeeperSettings,
    load_zookeeper_settings,
    parse_connect,
    zookeeper_settings,
)
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.render.hand_edits import NO_EDITS, EditAnswers
from kafkactl.migration.zktree.parse import parse_tree

_IBP: Final = "inter.broker.protocol.version"
_VOTERS: Final = "controller.quorum.voters"
_QUORUM: Final = "quorum"
_LOCK: Final = "lock"
_READ_ONLY: Final = "zookeeper-read-only"
OBSERVE_MS: Final = 45_000.0


def live_world(inventory: Inventory, say: Callable[[str], None]) -> LiveWorld:
    """Return the port to the real cluster. Raises InputError for settings that cannot be read."""
    client = load_client_config(_path_of(inventory, inventory.command_config))
    controllers = load_client_config(
        _path_of(inventory, inventory.controller_command_config or inventory.command_config)
    )
    return LiveWorld(
        inventory,
        settings=_settings(inventory),
        client=client,
        controller_client=controllers,
        observe=lambda: _observe(inventory),
        tell=say,
    )


def open_context(
    inventory: Inventory,
    world: LiveWorld,
    seen: Observation,
    *,
    policy: MigrationWaitPolicy,
    tell: ProgressCallback,
    edits: EditAnswers = NO_EDITS,
    rendered: str | None = None,
) -> RunContext:
    """Return the run's context, with its journal open and locked and the cluster's lock held.

    Close `context.lock`, `context.journal`. `edits` and `rendered` are as in `RenderedFiles`.

    Raises UnreachableError `cluster-id-not-observed`, RefusedError `concurrent-migration-run`, and what
    `open_migration_journal` raises.
    """
    cluster_id = cluster_id_of(inventory, seen)
    journal = open_migration_journal(
        journal_file(inventory, cluster_id), cluster_id=cluster_id, identity=identity_of(inventory)
    )
    try:
        flags = _format_flags(inventory, seen, journal)
        lock = world.lock(journal.path)
        journal.append(_LOCK, {"held_by": lock.words})
    except BaseException:
        journal.close()
        raise
    return RunContext(
        world=world,
        inventory=inventory,
        journal=journal,
        files=RenderedFiles(inventory, world, journal, FilesOfOperator(), edits=edits, rendered=rendered),
        policy=policy,
        tell=tell,
        cluster_id=cluster_id,
        release=_release(seen),
        format_flags=flags,
        lock=lock,
    )


def cluster_id_of(inventory: Inventory, seen: Observation) -> str:
    """Return the cluster id of ZooKeeper, else of the inventory. Raises UnreachableError `cluster-id-not-observed`."""
    found = None if seen.tree is None else parse_tree(seen.tree).cluster_id
    if found or inventory.cluster_id:
        return found or inventory.cluster_id or ""
    raise UnreachableError(
        f"/cluster/id of ZooKeeper {inventory.zookeeper.connect} was not read, so which cluster this is is not known",
        id="cluster-id-not-observed",
    )


def journal_file(inventory: Inventory, cluster_id: str) -> str:
    """Return the path of a cluster's journal in the inventory's folder for journals."""
    return str(path_next_to(inventory, inventory.journal) / f"migration-{file_name_of(cluster_id)}.jsonl")


def _path_of(inventory: Inventory, name: str | None) -> str | None:
    return None if name is None else str(path_next_to(inventory, name))


def _settings(inventory: Inventory) -> ZooKeeperSettings:
    if inventory.zookeeper.config is None:
        return zookeeper_settings({})
    return load_zookeeper_settings(Path(path_next_to(inventory, inventory.zookeeper.config)))


def _observe(inventory: Inventory) -> Observation:
    """Observe the cluster. Raises UnreachableError without ZooKeeper, because every plan is based on its znodes.

    Those of a server without its quorum may be old, and nothing that a step needs can be written there.
    """
    captured = observe(inventory, timeout_ms=OBSERVE_MS, asks_zookeeper_brokers=False)
    if captured.znodes is None:
        reason = next(
            (finding.message for finding in captured.raw.findings if finding.id == "zookeeper-not-observed"), ""
        )
        raise UnreachableError(
            f"ZooKeeper {inventory.zookeeper.connect}: {reason}",
            id="zookeeper-unreachable",
            next_step="Bring ZooKeeper back, then run this again: it looks first.",
        )
    if any(finding.id == _READ_ONLY for finding in captured.raw.findings):
        raise read_only(parse_connect(inventory.zookeeper.connect))
    return observation_from(captured)


def _release(seen: Observation) -> str:
    """Return the release that controllers are formatted for: the brokers' inter.broker.protocol.version."""
    said = {broker.config[_IBP].strip() for broker in seen.brokers if broker.config and broker.config.get(_IBP)}
    return said.pop() if len(said) == 1 else ""


def _format_flags(inventory: Inventory, seen: Observation, journal: MigrationJournal) -> dict[int, tuple[str, ...]]:
    """Return the format flags by node: None for static voters, else the same initial controllers for all nodes."""
    configs = [controller.config for controller in seen.controllers if controller.config is not None]
    controllers = inventory.controllers
    if any(config.get(_VOTERS) for config in configs) or not configs:
        return {}
    if len(controllers) == 1:
        return {controllers[0].id: ("--standalone",)}
    known = [entry for entry in journal.entries if entry.entry == _QUORUM]
    if known:
        text = str(known[-1].data["initial_controllers"])
    else:
        text = ",".join(f"{controller.id}@{controller.address}:{random_uuid()}" for controller in controllers)
        journal.append(_QUORUM, {"initial_controllers": text})
    return {controller.id: ("--initial-controllers", text) for controller in controllers}


def facts_for_the_answer(context: RunContext) -> dict[str, Any]:
    """Return the fields of the answer in addition to the steps."""
    return {"cluster_id": context.cluster_id, "journal": context.journal.path}
