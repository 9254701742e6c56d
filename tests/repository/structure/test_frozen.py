"""`@frozen` against `dataclasses.dataclass(frozen=True, slots=True)`: the same class to its users."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pprint
from collections.abc import Mapping
from typing import ClassVar

import pytest

from kafkactl.core import frozen as frozen_module
from kafkactl.core.frozen import changed, frozen


@pytest.fixture(autouse=True, params=[0, frozen_module._VALUES_BEFORE_COMPILING])
def _either_init(request, monkeypatch):
    """Try the `__init__` that all classes share, and the one that a class has after it has had so many values."""
    monkeypatch.setattr(frozen_module, "_VALUES_BEFORE_COMPILING", request.param)
    for declared in (Ours, Version, Only):
        declared.__init__ = frozen_module._shared_init
        declared._shape_.made = 0


def _declare(decorator, **flags):
    @decorator(**flags)
    class Node:
        """Some node."""

        KIND: ClassVar[str] = "node"
        id: int
        host: str = "localhost"
        ports: Mapping[str, int] = dataclasses.field(default_factory=dict)
        password: str = dataclasses.field(default="", repr=False)
        deep: bytes | None = None

        @property
        def shown(self) -> str:
            return f"{self.id}@{self.host}"

    return Node


def _dataclass(**flags):
    return dataclasses.dataclass(frozen=True, slots=True, **flags)


Ours = _declare(frozen)
Theirs = _declare(_dataclass, kw_only=True)


@frozen(kw_only=False, order=True)
class Version:
    """Version by position, and ordered."""

    major: int
    minor: int = 0

    def __post_init__(self) -> None:
        if self.major < 0:
            raise ValueError("negative")


@frozen(order=True)
class Only:
    """Class with one field."""

    parts: tuple[int, ...]


@frozen
class Nothing:
    """Class without fields."""


def test_values_look_alike():
    given = {"id": 1, "password": "hunter2", "ports": {"a": 1}}
    assert repr(Ours(**given)) == repr(Theirs(**given))
    assert "hunter2" not in repr(Ours(**given))
    assert dataclasses.asdict(Ours(**given)) == dataclasses.asdict(Theirs(**given))
    assert Ours(id=3).shown == "3@localhost"
    assert Ours.KIND == "node"
    assert Ours.__doc__ == "Some node."
    assert repr(Nothing()) == "Nothing()"


def test_defaults_are_made_for_each_instance():
    assert Ours(id=1).ports is not Ours(id=1).ports
    assert Ours(id=1) == Ours(id=1, host="localhost", ports={}, password="", deep=None)


def test_fields_replace_and_signature_are_those_of_a_dataclass():
    ours, theirs = dataclasses.fields(Ours), dataclasses.fields(Theirs)
    assert [(field.name, field.type, field.repr, field.default) for field in ours] == [
        (field.name, field.type, field.repr, field.default) for field in theirs
    ]
    assert dataclasses.is_dataclass(Ours)
    assert dataclasses.replace(Ours(id=1, password="x"), id=2) == Ours(id=2, password="x")
    _ = [Ours(id=1) for _ in range(frozen_module._VALUES_BEFORE_COMPILING + 1)]
    assert list(inspect.signature(Ours).parameters) == list(inspect.signature(Theirs).parameters)
    assert pprint.pformat(Version(1, 2)) == "Version(major=1, minor=2)"


def test_equality_and_hash_are_of_all_fields_and_of_one_class():
    assert Version(1, 2) == Version(1, 2) != Version(1, 3)
    assert Ours(id=1, password="a") != Ours(id=1, password="b")
    assert Ours(id=1).__eq__(Theirs(id=1)) is NotImplemented
    assert {Version(1): "a", Only(parts=(1,)): "b"}[Version(1)] == "a"
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours(id=1))


def test_order_is_field_by_field_and_only_where_it_was_asked_for():
    assert sorted([Version(2), Version(1, 9), Version(1)]) == [Version(1), Version(1, 9), Version(2)]
    assert Only(parts=(1,)) < Only(parts=(2,)) >= Only(parts=(1, 5))
    with pytest.raises(TypeError):
        assert Ours(id=1) < Ours(id=2)
    with pytest.raises(TypeError):
        assert Version(1) < Only(parts=(2,))


def test_annotations_may_be_types():
    # As mypyc leaves them, whatever a module imports from the future.
    kinds = {"KIND": ClassVar[str], "FEW": ClassVar, "id": int, "names": list[str]}
    made = frozen(type("Node", (), {"__annotations__": kinds, "KIND": "node", "FEW": (1, 2)}))
    node = made(id=1, names=["a"])
    assert [field.name for field in dataclasses.fields(made)] == ["id", "names"]
    assert (node, node.KIND, node.FEW) == (made(id=1, names=["a"]), "node", (1, 2))


def test_nothing_can_be_changed():
    node = Ours(id=1)
    for change in (lambda: setattr(node, "id", 2), lambda: setattr(node, "new", 2), lambda: delattr(node, "id")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert not hasattr(node, "__dict__")


@pytest.mark.parametrize("number", [1, 2])
def test_values_are_checked_from_the_first_one_on(number):
    fresh = _declare(frozen)
    for _ in range(number):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'id'"):
            fresh()
        with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
            fresh(id=1, name="x")
        with pytest.raises(TypeError, match="positional"):
            fresh(1)
        with pytest.raises(ValueError, match="negative"):
            Version(-1)


def test_patterns_match_by_position_only_where_fields_are_given_so():
    match Version(4, 3):
        case Version(major, minor):
            assert (major, minor) == (4, 3)
    assert Ours.__match_args__ == ()


def test_values_can_be_copied_and_pickled():
    for value in (Version(4, 3), Only(parts=(1,)), Nothing()):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == copy.copy(value) == value


def _inherits():
    class Child(Ours):
        more: int

    return Child


def _changing():
    class Wrong:
        items: list[int] = []  # noqa: RUF012

    return Wrong


def _unequal():
    class Wrong:
        note: str = dataclasses.field(default="", compare=False)

    return Wrong


@pytest.mark.parametrize("declare", [_inherits, _changing, _unequal])
def test_unsupported_declaration_is_refused(declare):
    with pytest.raises(TypeError):
        frozen(declare())


def test_changed_gives_what_replace_gives():
    point = Kept(x=1, y=(2,))
    assert changed(point, y=(3,)) == dataclasses.replace(point, y=(3,)) == Kept(x=1, y=(3,))
    assert changed(point) == point
    with pytest.raises(TypeError):
        changed(point, z=1)


@frozen
class Kept:
    """Two fields."""

    x: int
    y: tuple[int, ...] = ()
