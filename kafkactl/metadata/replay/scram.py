"""SCRAM credentials after a node read many records into one delta.

The controller applies records one by one, and a removal takes one user away. A node that starts collects what it reads
and applies it in the order of a hash table; a removal that empties a mechanism on the way takes the mechanism's map out
of the image, and every user who comes after it goes nowhere (`ScramDelta.apply`). Measured from 3.7.2 to 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kafkactl.protocol.text.java_text import hash_map_order, string_hash

Credential = TypeVar("Credential")


def apply_in_one_go(held: Mapping[str, Credential], changes: Mapping[str, Credential | None]) -> dict[str, Credential]:
    """Return the users of one mechanism after a delta. `changes` are by user in the order of their first record, None
    for a removal."""
    left, detached = dict(held), False
    names = list(changes)
    for at in hash_map_order([string_hash(name) for name in names]):
        changed = changes[names[at]]
        if changed is not None:
            left[names[at]] = changed
            continue
        left.pop(names[at], None)
        detached = detached or not left
    return {} if detached else left
