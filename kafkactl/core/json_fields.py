"""A JSON object whose fields are read by type: what is wrong is an error with the path of the field.

Fields of other names are ignored, missing ones are null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kafkactl.core.errors import InputError
from kafkactl.core.values import Uuid

Value = TypeVar("Value")


class JsonFields:
    """A JSON object: its fields by type.

    `file` and `path` are its place. Methods raise InputError `invalid-observation`, whose next step is
    `next_step`.
    """

    def __init__(self, value: object, *, file: str, next_step: str, path: str = "") -> None:
        self._file, self._path, self._next_step = file, path, next_step
        if not isinstance(value, dict):
            raise self._error(path.rstrip(".") or "the document", "expected an object")
        self._fields: Mapping[str, Any] = value

    def _error(self, path: str, what: str) -> InputError:
        return InputError(f"{self._file}: {path}: {what}", id="invalid-observation", next_step=self._next_step)

    def invalid(self, name: str, what: str) -> InputError:
        """Return an error about a field."""
        return self._error(f"{self._path}{name}", what)

    def _typed(self, name: str, kind: type[Value], what: str) -> Value | None:
        value = self._fields.get(name)
        if value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
            return value
        raise self.invalid(name, f"expected {what}")

    def text(self, name: str) -> str | None:
        """Return a text or null."""
        return self._typed(name, str, "a text")

    def flag(self, name: str) -> bool | None:
        """Return True, False, or None for null."""
        return self._typed(name, bool, "true or false")

    def number(self, name: str) -> int | None:
        """Return an integer or null."""
        return self._typed(name, int, "an integer")

    def needed(self, name: str) -> int:
        """Return an integer."""
        value = self.number(name)
        if value is None:
            raise self.invalid(name, "missing")
        return value

    def uuid(self, name: str) -> bytes | None:
        """Return the 16 bytes of an id, or null."""
        text = self.text(name)
        try:
            return None if text is None else Uuid.parse(text).raw
        except InputError as error:
            raise self.invalid(name, error.message) from error

    def texts(self, name: str) -> dict[str, str] | None:
        """Return an object of texts; settings that are null are left out."""
        found = self._typed(name, dict, "an object")
        return None if found is None else {str(key): str(value) for key, value in found.items() if value is not None}

    def numbers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of integers, or null."""
        found = self._typed(name, list, "a list")
        if found is not None and not all(isinstance(number, int) for number in found):
            raise self.invalid(name, "expected a list of integers")
        return None if found is None else tuple(found)

    def offset(self, name: str) -> tuple[int, int | None] | None:
        """Return the `offset` of an object and its `leader_epoch`, or null."""
        found = self.part(name, lambda fields: (fields.number("offset"), fields.number("leader_epoch")))
        return None if found is None or found[0] is None else (found[0], found[1])

    def words(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, or null."""
        found = self._typed(name, list, "a list")
        if found is not None and not all(isinstance(word, str) for word in found):
            raise self.invalid(name, "expected a list of texts")
        return None if found is None else tuple(found)

    def raw(self, name: str) -> Mapping[str, Any] | None:
        """Return an object as it is, or null."""
        return self._typed(name, dict, "an object")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all fields, in their order."""
        return tuple(self._fields)

    def required(self, name: str, make: Callable[[JsonFields], Value]) -> Value:
        """Return an object."""
        return make(self._inner(self._fields.get(name), f"{self._path}{name}."))

    def part(self, name: str, make: Callable[[JsonFields], Value]) -> Value | None:
        """Return an object, or null."""
        value = self._fields.get(name)
        return None if value is None else make(self._inner(value, f"{self._path}{name}."))

    def listed(self, name: str, make: Callable[[JsonFields], Value]) -> list[Value] | None:
        """Return a list of objects, or null."""
        found = self._typed(name, list, "a list")
        if found is None:
            return None
        return [make(self._inner(entry, f"{self._path}{name}[{at}].")) for at, entry in enumerate(found)]

    def _inner(self, value: object, path: str) -> JsonFields:
        return JsonFields(value, file=self._file, path=path, next_step=self._next_step)
