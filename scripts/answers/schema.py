"""JSON Schema of a class whose `to_dict` is `by_fields` or `json_of`, or of a typed dictionary.

Types are the annotations of fields and properties. Descriptions are the texts below the fields, the docstrings of
properties without their "Return", and the first paragraph of the docstring of each class.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding

SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
# Methods that are written by hand, for speed.
BY_HAND: Mapping[type, tuple[str, ...]] = {
    Finding: ("id", "severity", "subject", "message", "evidence", "next_step=advice"),
}


class Entry(NamedTuple):
    """A field of an answer: its type, what it means, and the attribute of a class that it is."""

    name: str
    kind: Any
    description: str
    required: bool
    origin: tuple[type, str]


class SchemaMaker:
    """The schema of one answer; `defs` are the schemas of the classes in it, by name."""

    def __init__(self) -> None:
        self.defs: dict[str, dict[str, Any]] = {}
        self._classes: dict[str, type] = {}

    def of_class(self, cls: type, variant: type | None = None) -> dict[str, Any]:
        """Return the schema of the JSON that `to_dict` of a class returns, or of a typed dictionary."""
        # As in a dictionary: of entries with one name the last, in the place of the first.
        found = list({entry.name: entry for entry in entries(cls, variant)}.values())
        return {
            "description": summary((variant or cls).__doc__),
            "type": "object",
            "properties": {entry.name: self._described(entry) for entry in found},
            "required": [entry.name for entry in found if entry.required],
        }

    def _described(self, entry: Entry) -> dict[str, Any]:
        description = {"description": entry.description} if entry.description else {}
        try:
            return {**description, **self.of_type(entry.kind)}
        except TypeError as error:
            cls, attribute = entry.origin
            raise TypeError(f"{cls.__module__}.{cls.__qualname__}.{attribute}: {error}") from None

    def of_type(self, kind: Any) -> dict[str, Any]:  # noqa: PLR0911 # one return a form of type
        """Return the schema of a value of this type. Raise TypeError for a type without JSON."""
        origin, parts = get_origin(kind), get_args(kind)
        if kind is Any:
            return {}
        if kind in SIMPLE or kind is None:
            return {"type": SIMPLE[NoneType if kind is None else kind]}
        if isinstance(kind, NewType):
            return self.of_type(kind.__supertype__)
        if origin is Annotated:  # JSON of a class that is made before the answer is printed
            return self.of_type(_class_of_json(kind))
        if origin is Literal:
            return _choice([part.value if isinstance(part, Enum) else part for part in parts])
        if origin in (Union, UnionType):
            return {"anyOf": [self.of_type(part) for part in parts]}
        if origin is not None and issubclass(origin, Mapping):
            values = self.of_type(parts[1])
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        if origin is not None and issubclass(origin, Collection):
            items = {part: None for part in parts if part is not Ellipsis}
            return {"type": "array", "items": self.of_type(functools.reduce(lambda a, b: a | b, items))}
        if origin is None and isinstance(kind, type):
            return self._of_plain_class(kind)
        raise TypeError(f"{kind} has no JSON")

    def _of_plain_class(self, cls: type) -> dict[str, Any]:
        if issubclass(cls, Enum):
            return _choice([member.value for member in cls])
        if hasattr(cls, "to_json"):
            return self.of_type(get_type_hints(cls.to_json)["return"])
        if issubclass(cls, Mapping) and not is_typeddict(cls):
            return {"type": "object"}
        if variants := list(_variants(cls)):
            return {"anyOf": [self._reference(f"{cls.__name__}{part.__name__}", cls, part) for part in variants]}
        return self._reference(cls.__name__.removeprefix("_").removesuffix("Dict"), cls)

    def _reference(self, name: str, cls: type, variant: type | None = None) -> dict[str, Any]:
        if self._classes.setdefault(name, cls) is not cls:
            raise TypeError(f"two classes have the name {name}: {cls.__module__}, {self._classes[name].__module__}")
        if name not in self.defs:
            self.defs[name] = {}
            self.defs[name] = self.of_class(cls, variant)
        return {"$ref": f"#/$defs/{name}"}


def _choice(values: Collection[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    what = {"const": next(iter(values))} if len(values) == 1 else {"enum": list(values)}
    return {**what, "type": SIMPLE[kinds.pop()]} if len(kinds) == 1 else what


def _class_of_json(kind: Any) -> type:
    module, _, name = kind.__metadata__[0].partition(":")
    found: type = getattr(importlib.import_module(module), name)
    return found


def entries(cls: type, variant: type | None = None) -> Iterator[Entry]:
    """Return the fields of the JSON of a class, in their order. Raise TypeError for a method written by hand.

    Of a value that may be of several classes, and whose entries are among those of the class, `variant` is the one.
    """
    if is_typeddict(cls):
        for name, kind in get_type_hints(cls, localns=_late_imports(cls.__module__), include_extras=True).items():
            owner, description = _documented(cls, name)
            is_optional = get_origin(kind) is NotRequired
            plain = get_args(kind)[0] if get_origin(kind) is NotRequired else kind
            yield Entry(name, plain, description, not is_optional, (owner, name))
        return
    for name, first, rest in _paths(cls):
        entry = _followed(cls, name, [first, *rest], variant)
        if name:
            yield entry
        else:
            yield from entries(variant if variant in _alternatives(entry.kind) else entry.kind)


def _paths(cls: type) -> list[tuple[str, str, list[str]]]:
    method = getattr(cls, "to_dict", None)
    if method is by_fields:
        return [(name, name, []) for name in cls._shape_.kinds]  # type: ignore[attr-defined]
    if cls in BY_HAND:
        return [(name, path or name, []) for name, _, path in (text.partition("=") for text in BY_HAND[cls])]
    found: list[tuple[str, str, list[str]]] | None = getattr(method, "paths", None)
    if found is None:
        raise TypeError(f"{cls.__module__}.{cls.__qualname__} has a to_dict that is written by hand, or none")
    return found


def _variants(cls: type) -> tuple[type, ...]:
    """Return the classes of a value whose entries are among those of the class, if there are several."""
    if is_typeddict(cls):
        return ()
    for name, first, _ in _paths(cls):
        if not name and len(parts := _alternatives(attribute(cls, first)[0])) > 1:
            return parts
    return ()


def _followed(cls: type, name: str, path: list[str], variant: type | None) -> Entry:
    """Return the entry that a path of attributes leads to: null wherever an attribute on the way is None."""
    kind: Any = cls
    is_optional = False
    for step in path:
        parts = _alternatives(kind)
        (holder,) = [variant] if variant in parts else [part for part in parts if part is not NoneType]
        is_optional = is_optional or NoneType in parts
        if issubclass(holder, Enum) and step == "value":  # any text: words may be added
            kind, path = str, path[:-1]
            break
        kind, description, owner = attribute(holder, step)
    if is_optional and NoneType not in _alternatives(kind):
        kind = kind | None
    return Entry(name, kind, description, True, (owner, path[-1]))


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def attribute(cls: type, name: str) -> tuple[Any, str, type]:
    """Return type and description of a field or property, and the class that declares it."""
    for owner in cls.__mro__:
        member = vars(owner).get(name)
        getter = getattr(member, "fget", None) or getattr(member, "func", None)
        if getter is not None:
            text = summary(inspect.getdoc(getter))
            found = text.removeprefix("Return ")
            text = text if found == text else found[:1].upper() + found[1:]
            return _evaluated(getter.__annotations__["return"], owner.__module__), text, owner
        kinds = {**vars(owner).get("__annotations__", {}), **getattr(vars(owner).get("_shape_"), "kinds", {})}
        if name in kinds:
            return _evaluated(kinds[name], owner.__module__), _documented(owner, name)[1], owner
    raise TypeError(f"{cls.__module__}.{cls.__qualname__} has no annotation of {name}")


def _evaluated(annotation: Any, module: str) -> Any:
    if isinstance(annotation, ForwardRef):  # of a named tuple
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    text = annotation.removeprefix("ClassVar[").removesuffix("]") if annotation.startswith("ClassVar[") else annotation
    return eval(text, {**vars(sys.modules[module]), **_late_imports(module)})


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


@functools.cache
def _late_imports(module: str) -> dict[str, Any]:
    """Return the names that a module imports for its type checker alone."""
    found: dict[str, Any] = {}
    for statement in _tree(module).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(statement.body, []), module, "exec"), found)
    return found


def _documented(cls: type, name: str) -> tuple[type, str]:
    """Return the class that declares a field, and the text below the field."""
    if is_typeddict(cls) and name not in _texts(cls):
        declared = _declaration(cls)
        for base in declared.bases if declared is not None else ():  # a typed dictionary does not know its bases
            return _documented(vars(sys.modules[cls.__module__])[ast.unparse(base)], name)
    return cls, next(iter(_texts(cls).get(name, ())), "")


def _declaration(cls: type) -> ast.ClassDef | None:
    """Return the statement of a class; None of a typed dictionary that is made by a call."""
    body: list[ast.stmt] = _tree(cls.__module__).body
    *outer, last = cls.__qualname__.split(".")
    for name in outer:
        (found,) = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        body = found.body
    return next((node for node in body if isinstance(node, ast.ClassDef) and node.name == last), None)


@functools.cache
def _texts(cls: type) -> Mapping[str, list[str]]:
    """Return the text below each field that a class declares: none, or one."""
    declared = _declaration(cls)
    body = [] if declared is None else declared.body
    found: dict[str, list[str]] = {}
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[statement.target.id] = [summary(text)]
                case _:
                    found[statement.target.id] = []
    return found


def summary(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line, in the words of JSON."""
    line = " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())
    return re.sub(r"\bNone\b", "null", re.sub(r"(^|[.:] )None\b", r"\1Null", line))
