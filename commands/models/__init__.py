"""The published shape of every answer, as pydantic models; `kafkactl schema KIND` prints their JSON Schema.

A model names its kind in its field `kind`, and nothing else has to know of it. Pydantic is imported only when a schema
is asked for: commands build plain values, and a test compares those with the models. Fields are added freely; a field
that goes or changes its meaning raises `schema_version`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, get_args

if TYPE_CHECKING:
    from kafkactl.commands.models.shared import Answer, Shape


@functools.cache
def kinds() -> Mapping[str, type[Shape]]:
    """Return every kind of answer with its model, sorted: the classes here whose field `kind` is a literal."""
    from kafkactl.commands.models.shared import Answer, Finding

    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    found: dict[str, type[Shape]] = {"finding": Finding}  # a line of its own under -o jsonl, and so without a kind
    for model in _below(Answer):
        found |= dict.fromkeys(get_args(model.model_fields["kind"].annotation), model)
    return dict(sorted(found.items()))


def _below(model: type[Answer]) -> Iterator[type[Answer]]:
    for subclass in model.__subclasses__():
        yield subclass
        yield from _below(subclass)
