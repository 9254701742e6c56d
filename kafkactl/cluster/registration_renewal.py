"""Renewal of the registration of a controller that no longer exists, by the kind of quorum.

Measured on 3.9.2 and 4.3.1. A controller registers only if it is an observer of a dynamic quorum, or a voter of a
static one by its own configuration: with controller.quorum.bootstrap.servers alone it follows a static quorum and never
registers.
"""

from __future__ import annotations

from typing import Final

CONTROLLERS_UNREGISTER_FROM: Final = 33
"""The metadata.version from which a controller can be unregistered (KIP-1312)."""


def renewal_step(node_id: int, *, is_static: bool | None) -> str:
    """Return the next step that renews the registration of a removed controller; `is_static` is None if unknown."""
    if is_static is None:
        return f"In a dynamic quorum: {_dynamic(node_id)} In a static one: {_static(node_id)}"
    return _static(node_id) if is_static else _dynamic(node_id)


def _dynamic(node_id: int) -> str:
    return (
        f"Start a controller of the new Kafka with node id {node_id} and an empty disk, formatted with"
        " --no-initial-controllers, as an observer (never as a voter): it registers again with its own range. Change"
        " the level, then stop it."
    )


def _static(node_id: int) -> str:
    return (
        f"While one controller leads steadily, start a controller of the new Kafka with node id {node_id} and an empty"
        f" disk, with {node_id}@HOST:PORT added to controller.quorum.voters in its own file only: the others take it as"
        " an observer, and it registers within seconds. Change the level, then stop it at once, because it believes to"
        " be a voter. Never write the id into the file of another node."
    )
