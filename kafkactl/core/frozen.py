"""Frozen values that cost nothing to declare: `@frozen`, a dataclass with slots.

`@dataclass(frozen=True, slots=True)` writes and compiles six methods for every class while its module is imported:
0.4 ms a class, and a command declares sixty of which it uses half. Here all classes share their methods, `__init__`
among them until a class has some values: one of its own, as dataclasses would have made it, takes 0.08 ms to compile.
To everything else such a class is a dataclass: `fields`, `replace`, `asdict`, `match`, the same repr, equality, hash.

Not offered: inheritance between such classes, `InitVar`, `KW_ONLY`, and of `field` anything but `default`,
`default_factory` and `repr`.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin, overload

_VALUES_BEFORE_COMPILING = 12
Class = TypeVar("Class", bound=type[Any])
Value = TypeVar("Value")


@overload
def frozen(cls: Class, /) -> Class: ...
@overload
def frozen(*, kw_only: bool = True, order: bool = False) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: Any = None, /, *, kw_only: bool = True, order: bool = False) -> Any:
    """Make a class a frozen dataclass with slots whose fields are given by name.

    `kw_only=False` allows them by position, too; with `order` values compare field by field. Raises TypeError if
    the class asks for what is not offered.
    """

    def declare(declared: Any) -> Any:
        return _declared(declared, kw_only, order)

    return declare if cls is None else declare(cls)


def field_names(value: Any) -> Iterable[str]:
    """Return the names of the fields of a frozen value, in their order."""
    names: Iterable[str] = value._shape_.kinds
    return names


def changed(value: Value, /, **changes: Any) -> Value:
    """Return the value with some fields changed, as `dataclasses.replace` gives it, at the price of making one.

    `replace` asks for the fields of a dataclass, and the first such question of a class costs a millisecond.
    Raises TypeError for a name that is not a field.
    """
    kept = {name: getattr(value, name) for name in field_names(value) if name not in changes}
    return type(value)(**kept, **changes)


class _Shape:
    """Fields that a class declares; `key` gives the values of all fields as a tuple."""

    __slots__ = ("defaults", "key", "kinds", "kw_only", "made", "twin")

    def __init__(self, kinds: Mapping[str, Any], defaults: Mapping[str, Any], kw_only: bool) -> None:
        self.kinds = kinds
        self.defaults = defaults
        self.kw_only = kw_only
        names = tuple(kinds)
        # Of one name the getter would give the bare value.
        self.key = operator.attrgetter(*(names * 2 if len(names) == 1 else names)) if names else lambda _: ()
        self.made = 0
        self.twin: Any = None


def _declared(cls: Any, kw_only: bool, order: bool) -> Any:
    own = dict(vars(cls))
    kinds = {name: kind for name, kind in own.get("__annotations__", {}).items() if not _is_of_class(kind)}
    defaults = {name: own.pop(name) for name in kinds if name in own}
    _refuse(cls, defaults)
    for name in ("__dict__", "__weakref__"):
        own.pop(name, None)
    methods = {**_METHODS, **_ORDER} if order else _METHODS
    shape = {"__slots__": tuple(kinds), "__match_args__": () if kw_only else tuple(kinds)}
    made = type(cls)(
        cls.__name__, cls.__bases__, {**methods, **own, **shape, "_shape_": _Shape(kinds, defaults, kw_only)}
    )
    made.__qualname__ = cls.__qualname__
    return made


def _is_of_class(kind: Any) -> bool:
    """Return True if an annotation, as text or as the type that it names, says ClassVar: then it is not a field."""
    return kind.startswith("ClassVar") if isinstance(kind, str) else (get_origin(kind) or kind) is ClassVar


def _refuse(cls: Any, defaults: Mapping[str, Any]) -> None:
    if hasattr(cls, "_shape_"):
        raise TypeError(f"{cls.__name__} cannot inherit from a frozen class")
    for name, default in defaults.items():
        if isinstance(default, dataclasses.Field):
            if not (default.init and default.compare and default.hash is None):
                raise TypeError(f"{cls.__name__}.{name}: a frozen class knows default, default_factory and repr")
        elif type(default).__hash__ is None:
            raise TypeError(f"{cls.__name__}.{name}: a default that can change; give a default_factory")


def _shared_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Fill the first values of a class by the names of its fields. What is odd goes to the class's own `__init__`."""
    cls = type(self)
    shape = cls._shape_
    shape.made += 1
    values = None if args or shape.made > _VALUES_BEFORE_COMPILING else _values(shape, kwargs)
    if values is None:
        cls.__init__ = _compiled_init(cls)
        cls.__init__(self, *args, **kwargs)
        return
    for name, value in values.items():
        object.__setattr__(self, name, value)
    if hasattr(cls, "__post_init__"):
        self.__post_init__()


def _values(shape: _Shape, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the value of each field; None if one has none, or a name is none of a field."""
    values, used = {}, 0
    for name in shape.kinds:
        if name in given:
            value, used = given[name], used + 1
        else:
            value = shape.defaults.get(name, dataclasses.MISSING)
            if isinstance(value, dataclasses.Field):
                make, value = value.default_factory, value.default
                value = value if make is dataclasses.MISSING else make()
            if value is dataclasses.MISSING:
                return None
        values[name] = value
    return values if used == len(given) else None


def _repr(self: Any) -> str:
    shape = self._shape_
    shown = (name for name in shape.kinds if getattr(shape.defaults.get(name), "repr", True))
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    key = self._shape_.key
    return key(self) == key(other)


def _hash(self: Any) -> int:
    return hash(self._shape_.key(self))


def _setattr(_self: Any, name: str, _value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self._shape_.kinds]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self._shape_.kinds, state, strict=True):
        object.__setattr__(self, name, value)


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        key = self._shape_.key
        return compare(key(self), key(other))

    return method


class _OfTwin:
    """An attribute by which dataclasses know their own, taken from an ordinary dataclass of the same fields."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        shape = owner._shape_
        if shape.twin is None:
            # Without a docstring dataclasses would import `inspect` to write one.
            named = {"__module__": owner.__module__, "__doc__": owner.__name__}
            body = {"__annotations__": shape.kinds, **named, **shape.defaults}
            shape.twin = dataclasses.dataclass(frozen=True, kw_only=shape.kw_only)(type(owner.__name__, (), body))
        return getattr(shape.twin, self.name)


_METHODS: Mapping[str, Any] = {
    "__init__": _shared_init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
    "__dataclass_fields__": _OfTwin("__dataclass_fields__"),
    "__dataclass_params__": _OfTwin("__dataclass_params__"),
}
_ORDER = {f"__{name}__": _comparison(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")}


def _compiled_init(cls: Any) -> Callable[..., None]:
    """Return an `__init__` with the class's own parameters, which fills the slots past `__setattr__`."""
    known: dict[str, Any] = {}
    names = tuple(cls._shape_.kinds)
    parameters, lines = ["self", "*"] if cls._shape_.kw_only and names else ["self"], [" pass"]
    for name in names:
        known[f"set_{name}"] = vars(cls)[name].__set__
        parameter, value = _parameter(name, cls._shape_.defaults.get(name, dataclasses.MISSING), known)
        parameters.append(parameter)
        lines.append(f" set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(name: str, default: Any, known: dict[str, Any]) -> tuple[str, str]:
    """Return a field as a parameter, and what is stored."""
    if isinstance(default, dataclasses.Field):
        if default.default_factory is not dataclasses.MISSING:
            known["MISSING"] = dataclasses.MISSING
            known[f"new_{name}"] = default.default_factory
            return f"{name}=MISSING", f"new_{name}() if {name} is MISSING else {name}"
        default = default.default
    if default is dataclasses.MISSING:
        return name, name
    known[f"default_{name}"] = default
    return f"{name}=default_{name}", name
