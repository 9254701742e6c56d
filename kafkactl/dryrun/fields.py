"""The input of a scenario, from a mapping: what each field may hold follows from the type that it is declared with.

People write such mappings by hand (`--after events.toml`), programs as keywords (`predict`). A field that the scenario
does not know would be ignored, and a text where numbers belong would be read letter by letter; both are refused before
anything is simulated.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Mapping
from enum import Enum, StrEnum, auto
from typing import Annotated, Any, Final, TypeVar

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen

INVALID_INPUT: Final = "invalid-scenario-input"
Value = TypeVar("Value")


class Form(StrEnum):
    """Form of a field on a command line."""

    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    CHOICE = auto()
    IDS = auto()  # node ids with commas between them
    ORDER = auto()  # the same, or the word auto


@frozen
class Kind:
    """Kind of a field: its description, its test, the value that `Input` keeps, its form on a command line."""

    words: str
    holds: Callable[[Any], bool]
    read: Callable[[Any], Any] = lambda value: value
    form: Form = Form.TEXT
    choices: tuple[str, ...] = ()


@frozen
class Field:
    """A field of an `Input`. `default` None also means "not given"; a required field has no default."""

    kind: Kind
    is_required: bool
    default: Any = None


@functools.cache
def fields_of(kind: type[Any]) -> Mapping[str, Field]:
    """Return the fields of an `Input` class, in their order."""
    types = typing.get_type_hints(kind, include_extras=True)
    found = {}
    for field in dataclasses.fields(kind):
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        is_required = default is dataclasses.MISSING
        found[field.name] = Field(
            kind=_kind_of(types[field.name]), is_required=is_required, default=None if is_required else default
        )
    return found


def input_from(kind: type[Value], scenario: str, asked: Mapping[str, Any]) -> Value:
    """Return the input of a scenario from the `input` in its answer; a null field is treated as absent.

    `ONE_OF` of the class, if present, lists groups of fields of which one is needed. Raises InputError
    `invalid-scenario-input` for an unknown or missing field, or one with another value.
    """
    declared: Any = kind
    fields = fields_of(declared)
    for name, value in asked.items():
        if name not in fields:
            raise _invalid(scenario, fields, f"it has no field {name!r}")
        if value is not None and not fields[name].kind.holds(value):
            raise _invalid(scenario, fields, f"{name!r} is to be {fields[name].kind.words}")
    required = [(name,) for name, field in fields.items() if field.is_required]
    for needed in (*required, *getattr(kind, "ONE_OF", ())):
        if all(asked.get(name) is None for name in needed):
            raise _invalid(scenario, fields, f"it needs {' or '.join(map(repr, needed))}")
    given = {name: value for name, value in asked.items() if value is not None}
    return kind(**{name: fields[name].kind.read(value) for name, value in given.items()})


def _invalid(scenario: str, fields: Mapping[str, Field], what: str) -> InputError:
    return InputError(
        f"the input of scenario {scenario} is not understood: {what}",
        id=INVALID_INPUT,
        next_step=f"Its fields are those of `input` in the answer of `kafkactl dryrun {scenario}`: "
        f"{', '.join(fields)}.",
    )


def list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test for a list of such items."""
    return lambda value: isinstance(value, list | tuple) and all(map(holds, value))


def table_of(key: Callable[[Any], bool], holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test for a table of such keys and values."""
    return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(holds, value.values()))


def is_number(value: Any) -> bool:
    """Return True for a number that counts something."""
    return type(value) is int and value >= 0


def is_text(value: Any) -> bool:
    """Return True for a text."""
    return isinstance(value, str)


def one_of(*known: Any, read: Callable[[Any], Any] = str) -> Kind:
    """Return the kind of a field with one of a few words."""
    words = tuple(str(word) for word in known)
    return Kind(
        words=" or ".join(map(repr, words)),
        holds=lambda value: isinstance(value, str) and value in words,
        read=read,
        form=Form.CHOICE,
        choices=words,
    )


is_ids: Final = list_of(lambda value: type(value) is int)
NodeIds = Annotated[tuple[int, ...], Kind(words="a list of node ids", holds=is_ids, read=tuple, form=Form.IDS)]
Texts = Annotated[tuple[str, ...], Kind(words="a list of texts", holds=list_of(is_text), read=tuple)]
TextTable = Annotated[Mapping[str, str], Kind(words="a table of texts", holds=table_of(is_text, is_text), read=dict)]
LevelTable = Annotated[
    Mapping[str, int], Kind(words="a table of levels", holds=table_of(is_text, is_number), read=dict)
]
_PLAIN: Final[Mapping[type, Kind]] = {
    bool: Kind(words="true or false", holds=lambda value: isinstance(value, bool), form=Form.FLAG),
    int: Kind(words="a number", holds=is_number, form=Form.NUMBER),
    str: Kind(words="a text", holds=is_text),
}


def _kind_of(declared: Any) -> Kind:
    """Return the kind of a field by its annotation: `Annotated[..., Kind]`, a plain type, or an enum; `| None` is
    ignored."""
    if typing.get_origin(declared) is not Annotated:
        declared = next((part for part in typing.get_args(declared) if part is not type(None)), declared)
    for extra in getattr(declared, "__metadata__", ()):
        if isinstance(extra, Kind):
            return extra
    if isinstance(declared, type) and issubclass(declared, Enum):
        return one_of(*declared, read=declared)
    if declared not in _PLAIN:
        raise TypeError(f"no kind of field is known for {declared!r}: declare it as Annotated[..., Kind(...)]")
    return _PLAIN[declared]
