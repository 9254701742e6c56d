"""Writer of the page of the public API from the docstrings and signatures of each `api`: part of `make docs`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any

import kafkactl

GENERATED = "<!-- Made by scripts/make_api.py from the docstrings; `make docs` writes it again. -->\n"
# Groups, and the module that has the names of each.
HOMES = {
    "status": "kafkactl.status.api",
    "storage": "kafkactl.storage.api",
    "log": "kafkactl.metadata.api",
    "dryrun": "kafkactl.dryrun.api",
    "features": "kafkactl.features.api",
    "quorum": "kafkactl.quorum.api",
    "nodes": "kafkactl.cluster.api",
    "migrate": "kafkactl.migration.api",
    "roll": "kafkactl.roll.api",
    "tiered": "kafkactl.tiered.api",
    "bundle": "kafkactl.bundle.api",
    "simulate": "kafkactl.simulator.api",
}
GROUPS = tuple(HOMES)
_INTRODUCTION = """\
What is named on this page is the public API: it is what the commands call, and its results are what they print
(`to_dict()` gives the JSON of `-o json`, described under [kinds of answers](kinds.md)). Every other module, function
and attribute is private to kafkactl and changes without notice.

Functions raise `kafkactl.KafkactlError` (with `id`, `message`, `next_step` and `exit_code`) where there is no answer;
what a check found is in the `findings` of its result. Nothing is printed, and nothing is asked. Importing `kafkactl`
loads nothing: names are found when they are first asked for.
"""
_WIDTH = 100
_TOP = ("connect", "KafkactlError", "Finding", "Severity", "Outcome")


def page() -> str:
    """Return the text of docs/reference/api.md."""
    parts = [GENERATED, "# Python API\n", _INTRODUCTION, *_named("kafkactl", kafkactl, _TOP)]
    for group in GROUPS:
        operations = import_module(HOMES[group])
        if names := _sorted(operations, getattr(kafkactl, group)):
            parts += [f"## kafkactl.{group}\n", f"{_docs(operations)}\n"]
            parts += _named(f"kafkactl.{group}", operations, names)
    return "\n".join(parts)


def _sorted(module: ModuleType, given: ModuleType) -> list[str]:
    """Sort functions first, as they are what a reader looks for; then the values that they take and give.

    Only what `kafkactl` gives under this name: a module may have more for the commands.
    """
    names = [name for name in getattr(module, "__all__", ()) if getattr(given, name, None) is getattr(module, name)]
    return sorted(names, key=lambda name: (inspect.isclass(getattr(module, name)), name))


def _named(prefix: str, module: ModuleType, names: tuple[str, ...] | list[str]) -> Iterator[str]:
    for name in names:
        found = getattr(module, name)
        yield f"### {prefix}.{name}\n"
        if inspect.isclass(found):
            yield from _class(found)
        else:
            yield f"    {name}{_signature(found)}\n"
            yield f"{_docs(found)}\n"


def _class(cls: type[Any]) -> Iterator[str]:
    yield f"{_docs(cls)}\n"
    rows = [f"- `{name}: {kind}`" for name, kind in _fields(cls).items()]
    if issubclass(cls, Enum):
        rows += [f"- `{member.name}` (`{member.value}`)" for member in cls]
    for name, member in vars(cls).items():
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property):
            rows.append(f"- `{name}`: {_docs(member)}")
        elif inspect.isfunction(member):
            rows.append(f"- `{name}{_signature(member)}`: {_docs(member)}")
    if rows:
        yield "\n".join(row.replace("\n", "\n  ") for row in rows) + "\n"


def _fields(cls: type[Any]) -> dict[str, str]:
    if not hasattr(cls, "__dataclass_fields__"):
        return {}
    return {name: field.type for name, field in cls.__dataclass_fields__.items() if not name.startswith("_")}


def _signature(function: Any) -> str:
    """Return the parameters with their types as they are written, one a line if they do not fit on one."""
    signature = inspect.signature(function)
    parts: list[str] = []
    before = None
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if before is parameter.POSITIONAL_ONLY and parameter.kind is not before:
            parts.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and before not in (parameter.kind, parameter.VAR_POSITIONAL):
            parts.append("*")
        before = parameter.kind
        parts.append(_parameter(parameter))
    result = signature.return_annotation
    line = f"({', '.join(parts)}) -> {result}"
    if len(line) <= _WIDTH:
        return line
    return f"(\n        {f',{chr(10)}        '.join(parts)},\n    ) -> {result}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}: {parameter.annotation}"
    if parameter.default is inspect.Parameter.empty:
        return text
    default = parameter.default
    shown = default.__name__ if inspect.isfunction(default) else repr(default)
    return f"{text} = {shown}"


def _docs(found: Any) -> str:
    return inspect.getdoc(found) or ""
