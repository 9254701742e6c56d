"""Inputs of a fleet's plan, read from files: the inventory, configurations, credentials."""

from __future__ import annotations

import os
from pathlib import Path

from kafkactl.core.errors import InputError
from kafkactl.core.values import Uuid
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.storage.fleet.inventory import InventoryNode, parse_inventory
from kafkactl.storage.fleet.plan import ConfigFile, FleetRequest
from kafkactl.storage.format.scram import read_scram_lines


def read_fleet(path: Path, *, new_cluster_id: Uuid) -> FleetRequest:
    """Read an inventory and every file that it names; relative paths in it are relative to its folder.

    A configuration that cannot be read is reported in the plan, with all other problems. Raises InputError for the
    inventory itself and for its file of credentials.
    """
    inventory = parse_inventory(read_input(path, "the inventory", InputKind.INVENTORY), file=str(path))
    folder = path.absolute().parent
    scram: tuple[str, ...] = ()
    if inventory.scram_file is not None:
        secrets = folder / inventory.scram_file
        scram = read_scram_lines(read_input(secrets, "the file of credentials", InputKind.SCRAM), file=str(secrets))
    return FleetRequest(
        inventory=inventory,
        configs=tuple(_read_config(folder, node) for node in inventory.nodes),
        new_cluster_id=new_cluster_id,
        scram=scram,
    )


def _read_config(folder: Path, node: InventoryNode) -> ConfigFile:
    """Return the configuration named by its path on its host (`config`), read from this machine (`root` + `config`)."""
    on_host = os.path.normpath(folder / node.config)
    seen_at = Path(on_host)
    if node.root is not None:
        seen_at = folder / node.root / node.config.lstrip("/")
    try:
        return ConfigFile(path=on_host, data=read_input(seen_at, "the configuration", InputKind.NODE_CONFIG))
    except InputError as error:
        return ConfigFile(path=str(seen_at), data=None, error=error.message, next_step=error.next_step)
