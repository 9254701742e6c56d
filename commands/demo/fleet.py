"""Configuration files and inventory of three controllers and three brokers, as `kafkactl storage plan` reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkactl.commands.demo.cluster import CONTROLLERS
from kafkactl.commands.demo.topics import BROKERS

NODES: Final = (*CONTROLLERS, *BROKERS)
INVENTORY: Final = "fleet.toml"
PLAN: Final = "plan.json"
# Six nodes that start at once on a busy machine take longer than the minute after which a broker gives up.
_SLOW_START: Final = "initial.broker.registration.timeout.ms=300000\n"


def config_name(node: int) -> str:
    """Return the name of a node's configuration file."""
    return f"node-{node}.properties"


def write_fleet(folder: Path, release: str, host: Callable[[int], str], port: Callable[[int], int]) -> None:
    """Write the files of a fleet that was never formatted. The disk of node 1 is the directory `node-1`."""
    inventory = [f'cluster_id = "new"\nkafka_version = "{release}"\nmode = "dynamic"\n']
    controllers = ",".join(f"{host(node)}:{port(node)}" for node in CONTROLLERS)
    for node in NODES:
        is_controller = node in CONTROLLERS
        listener = f"{'CONTROLLER' if is_controller else 'PLAINTEXT'}://{host(node)}:{port(node)}"
        text = f"""process.roles={"controller" if is_controller else "broker"}
node.id={node}
controller.quorum.bootstrap.servers={controllers}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
listeners={listener}
advertised.listeners={listener}
log.dirs={folder / f"node-{node}"}
{"" if is_controller else _SLOW_START}"""
        (folder / config_name(node)).write_text(text, encoding="utf-8")
        inventory.append(f'[[nodes]]\nid = {node}\nhost = "{host(node)}"\nconfig = "{config_name(node)}"\n')
    (folder / INVENTORY).write_text("\n".join(inventory), encoding="utf-8")
