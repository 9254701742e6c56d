"""Tables of an inventory: keys with readers, unknown keys reported with what was probably meant, all problems at once.

What this guards: a word that is misspelt must not be silently without effect, so every unknown key is a problem.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.text.toml_lines import TomlTable, in_line, read_toml


class InventoryError(InputError):
    """The inventory cannot be used; `problems` are all of them, one sentence each."""

    def __init__(self, message: str, *, id: str, problems: tuple[str, ...] = (), next_step: str | None = None) -> None:
        """Store the message, which includes the problems, and the fields of InputError."""
        super().__init__(message, id=id, next_step=next_step)
        self.problems = problems


# A reader takes the TOML value and gives ours, or raises ValueError with what was expected.
Reader = Callable[[object], Any]


@frozen(kw_only=False)
class Key:
    """A key of a table: how its value is read, whether it must be there."""

    read: Reader
    required: bool = False


def a_text(value: object) -> str:
    """Return a text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a non-empty text in quotes")
    return value


def a_version(value: object) -> str:
    """Return a version, which is a text."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError('a version in quotes, such as "4.3.1" (TOML reads 4.10 without quotes as 4.1)')
    return value


def a_node_id(value: object) -> int:
    """Return a node id."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 2**31 - 1:
        raise ValueError("a whole number from 0 to 2147483647, without quotes")
    return value


def a_boolean(value: object) -> bool:
    """Return the value; refuse one that is neither true nor false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def some_texts(value: object) -> tuple[str, ...]:
    """Return a list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError('a list of texts, such as ["a", "b"]')
    return tuple(value)


def one_of(*words: str) -> Reader:
    """Return a reader that accepts one of these words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"one of: {', '.join(words)}")
        return value

    return read


def parse_toml(data: bytes, file: str) -> TomlTable:
    """Return the document. Raises InventoryError `inventory-not-toml`."""
    try:
        return read_toml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InventoryError(
            f"{file}, byte {error.start}: not UTF-8", id="inventory-not-toml", next_step="Save it as UTF-8."
        ) from None
    except ValueError as error:  # TOMLDecodeError, and a number of too many digits
        raise InventoryError(
            f"{file}: {error}", id="inventory-not-toml", next_step="Correct the line; the inventory is TOML."
        ) from None
    except RecursionError:
        raise InventoryError(f"{file}: nested too deeply", id="inventory-not-toml") from None


def invalid(file: str, problems: Iterable[str], next_step: str) -> InventoryError:
    """Return the error with all problems of an inventory."""
    every = tuple(problems)
    return InventoryError(
        f"{file}: " + "; ".join(every),
        id="invalid-inventory",
        problems=every,
        next_step=next_step,
    )


def read_table(
    table: Mapping[str, object],
    keys: Mapping[str, Key],
    where: str,
    problems: list[str],
    *,
    also: tuple[str, ...] = (),
    other_words: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the values of a table; what is wrong with it is added to `problems`, each beginning with `where`.

    A problem names the key and its line, and not its value: after a lost quotation mark that may be a password.
    `also` are keys that are known and not wanted here; `other_words` what people write for ours.
    """
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            meant = did_you_mean(name, (*keys, *also), other_words)
            problems.append(f"{where}unknown key {name!r}{in_line(table, name)}{meant}")
            continue
        try:
            values[name] = key.read(value)
        except ValueError as error:
            problems.append(f"{where}{name}{in_line(table, name)}: expected {error}, found {kind_of(value)}")
    problems.extend(f"{where}{name} is missing" for name, key in keys.items() if key.required and name not in table)
    return values


def did_you_mean(name: str, known: Iterable[str], other_words: Mapping[str, str] | None = None) -> str:
    """Return ` (did you mean 'nodes'?)`, or the words that are known."""
    words = list(known)
    simple = name.lower().replace("-", "_")
    guess = (other_words or {}).get(simple)
    if guess not in words:
        close = difflib.get_close_matches(simple, words, n=1)
        guess = close[0] if close else None
    return f" (did you mean {guess!r}?)" if guess else f" (known: {', '.join(words)})"


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number with a point"),
    (dict, "a table"),
    (list, "a list"),
)


def kind_of(value: object) -> str:
    """Return the kind of a TOML value, for an error message that must not show the value."""
    if isinstance(value, str):
        return "another text" if value.strip() else "an empty text"
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "a date or a time")
