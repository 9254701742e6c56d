"""Texts of `kafkactl explain`: cause, consequence and remedy of every error and finding id.

The texts are data, one table an id, in schemas/explain/*.toml; the files follow the packages, the ids are one space.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import tomli

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.data_files import list_data, read_data
from kafkactl.core.errors import InputError, SchemaError
from kafkactl.core.frozen import frozen

_SHORTER = "Give the sentence of the line alone, without its time and class. "


@frozen
class Explanation:
    """An id of errors and findings, its consequence and what to do."""

    id: str
    cause: str
    consequence: str
    remedy: str

    to_dict = by_fields


@frozen
class Explained:
    """The answer `explain`."""

    explanation: Explanation

    to_dict = json_of("**explanation", kind="explain")


@frozen
class ExplainedIds:
    """The answer `explain.list`."""

    explanations: tuple[Explanation, ...]

    to_dict = json_of("explanations", kind="explain.list")


@functools.cache
def explanations() -> Mapping[str, Explanation]:
    """Return all explanations by id, in alphabetical order. Raise SchemaError for an invalid table or a
    duplicate id."""
    found: dict[str, Explanation] = {}
    for name in list_data("explain", ".toml"):
        for id, table in tomli.loads(read_data(name).decode("utf-8")).items():
            if id in found:
                raise SchemaError(f"{name} explains {id}, which another file explains already", id="invalid-definition")
            found[id] = _explanation(id, table, name)
    return dict(sorted(found.items()))


def explain_id(id: str) -> Explanation:
    """Return the explanation of this id. Raise InputError `unknown-id` that names the nearest ids."""
    known = explanations()
    if id in known:
        return known[id]
    import difflib

    near = difflib.get_close_matches(id, known, n=3, cutoff=0.75)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    is_line = " " in id.strip()
    raise InputError(
        f"no error or finding quotes {id[:120]!r}" if is_line else f"there is no error or finding with the id {id!r}",
        id="unknown-id",
        next_step=f"{hint}{_SHORTER if is_line else ''}`kafkactl explain --list` shows all ids.",
    )


def _explanation(id: str, table: object, name: str) -> Explanation:
    expected = {"cause", "consequence", "remedy"}
    if (
        not isinstance(table, dict)
        or set(table) != expected
        or not all(isinstance(v, str) and v for v in table.values())
    ):
        raise SchemaError(f"{name}: [{id}] needs exactly the texts {sorted(expected)}", id="invalid-definition")
    return Explanation(id=id, **table)
