"""What to do about an error or finding that was made without a next step of its own: its remedy in the catalogue.

Cause, consequence and remedy of an id are written once, in schemas/explain/*.toml. Code gives a `next_step` only where
it knows more than that text: a path, an id, or a command with the values of the case.
"""

from __future__ import annotations

import functools


@functools.cache
def remedy_of(id: str) -> str:
    """The remedy of this id in schemas/explain; where there is none, the command that explains the id.

    The catalogue is read when something is shown that needs it: neither help nor an answer without findings loads it.
    """
    from kafkactl.protocol.schema.explanations import remedy

    return remedy(id) or f"Run `kafkactl explain {id}`."
