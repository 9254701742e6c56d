"""The next step of an error or finding that has none of its own: the remedy of its id in the catalogue.

Cause, consequence and remedy of an id are written once, in schemas/explain/*.toml. Code gives a `next_step` only where
it knows more than that text: a path, an id, or a command with the values of the case.
"""

from __future__ import annotations

import functools

from kafkactl.core.package_data import DataMissingError, data_file, data_names


@functools.cache
def remedy_of(id: str) -> str:
    """Return the remedy of this id in schemas/explain, or the command that explains the id if there is none.

    The catalogue is read when something is shown that needs it, and only the table of the id is parsed. A damaged
    installation must not hide the error or finding whose remedy is asked for.
    """
    try:
        text = _catalogue()
    except DataMissingError:
        text = ""
    start = text.find(f"\n[{id}]\n") + 1
    if not start:
        return f"Run `kafkactl explain {id}`."
    end = text.find("\n[", start)
    import tomli

    found: str = tomli.loads(text[start : end if end > 0 else None])[id]["remedy"]
    return found


@functools.cache
def _catalogue() -> str:
    return "\n".join(["", *(data_file(name).decode("utf-8") for name in data_names("explain", ".toml"))])
