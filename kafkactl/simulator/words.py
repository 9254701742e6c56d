"""The words of one line of a script, taken one after the other; every error has its line and column."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias

from kafkactl.core.errors import InputError
from kafkactl.core.wording import did_you_mean

Ref: TypeAlias = int | str  # a node: its id, or the name of a role

MAX_ID: Final = 2**31 - 1
_SHOWN: Final = 40  # letters of a word that errors show
MAX_TIME_US: Final = 24 * 3600 * 1_000_000
_UNITS: Final = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}
_DURATION: Final = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?(us|ms|s|m)")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}")
_RELATIONS: Final = ("<=", ">=", "<", ">", "=")


class NamedNode(NamedTuple):
    """A node that a statement names by its id, and where."""

    id: int
    line: int
    column: int


class Words:
    """A line's words. `names` are the names of nodes that lines before it gave, `named` those that it names by ids."""

    def __init__(self, text: str, line: int, *, names: Collection[str], file: str) -> None:
        code = text.split("#", 1)[0]
        self.found: Sequence[re.Match[str]] = tuple(re.finditer(r"\S+", code))
        self.line = line
        self.file = file
        self.names = names
        self.named: list[NamedNode] = []
        self.place = 0
        self._end = len(code.rstrip()) + 1

    @property
    def column(self) -> int:
        """Return the column of the next word, or of the end; the first column is 1."""
        return self.found[self.place].start() + 1 if self.place < len(self.found) else self._end

    def peek(self) -> str | None:
        """Return the next word; None at the end of the line."""
        return self.found[self.place].group() if self.place < len(self.found) else None

    def take(self, expected: str) -> str:
        """Return the next word.

        Raises InputError `invalid-script` at the end of the line; `expected` says what is missing.
        """
        word = self.peek()
        if word is None:
            self.fail(f"the line ends where {expected} is expected")
        self.place += 1
        return word

    def accept(self, word: str) -> bool:
        """Return True if the next word is this one, which is then taken."""
        if self.peek() != word:
            return False
        self.place += 1
        return True

    def end(self) -> None:
        """Check that no word follows. Raise InputError `invalid-script`."""
        if self.peek() is not None:
            self.fail(f"{self.peek()!r} is not expected here; the statement is complete before it")

    def one_of(self, known: Sequence[str], what: str) -> str:
        """Read one of the known words. Raise InputError `invalid-script`.

        A line's first word is shown only if it resembles a known one: a file given by mistake may hold secrets.
        """
        at = self.place
        word = self.take(what)
        if word not in known:
            self.place = at
            meant = did_you_mean(word, known)
            listed = f": expected one of {', '.join(known)}" if len(known) <= 12 else ""
            shown = repr(word) if at or meant else "the first word"
            self.fail(f"{shown} is not {what}{listed}.{meant}")
        return word

    def node(self) -> Ref:
        """Return a node: an id, `leader`, `follower`, or a name given by `name`. Raises InputError `invalid-script`."""
        at, column = self.place, self.column
        word = self.take("a node")
        if word.isascii() and word.isdigit() and len(word) < 20 and int(word) <= MAX_ID:
            self.named.append(NamedNode(int(word), self.line, column))
            return int(word)
        if word in self.names:
            return word
        self.place = at
        self.fail(
            f"{word!r} is not a node: expected an id, or one of {', '.join(sorted(self.names))}."
            f"{did_you_mean(word, self.names)}"
        )

    def nodes(self) -> tuple[Ref, ...]:
        """Read one or more nodes, to the end of the line."""
        found = [self.node()]
        while self.peek() is not None:
            found.append(self.node())
        return tuple(found)

    def number(self, what: str, most: int) -> int:
        """Return a number from 0 to `most`. Raises InputError `invalid-script`."""
        at = self.place
        word = self.take(what)
        if not (word.isascii() and word.isdigit() and len(word) < 20 and int(word) <= most):
            self.place = at
            self.fail(f"{word!r} is not {what}: expected a number from 0 to {most}")
        return int(word)

    def percent(self, what: str) -> int:
        """Read `10%` or `0.5%`, in parts per thousand. Raise InputError `invalid-script`."""
        at = self.place
        word = self.take(what)
        parts = re.fullmatch(r"([0-9]{1,3})(?:\.([0-9]))?%", word)
        value = int(parts[1]) * 10 + int(parts[2] or 0) if parts else -1
        if not 0 <= value <= 1000:
            self.place = at
            self.fail(f"{word!r} is not {what}: expected a percentage from 0% to 100%, such as 2.5%")
        return value

    def duration(self, what: str = "a time") -> int:
        """Return a time such as `500ms`, `2.5s` or `1m`, in microseconds. Raises InputError `invalid-script`."""
        at = self.place
        word = self.take(what)
        parsed = parse_duration(word)
        if parsed is None:
            self.place = at
            self.fail(f"{word!r} is not {what}: expected a number with us, ms, s or m, at most 24 hours, such as 2.5s")
        return parsed

    def relation(self) -> str:
        """Read `<`, `<=`, `=`, `>=` or `>`; return `=` if there is none."""
        word = self.peek()
        if word in _RELATIONS:
            self.place += 1
            return str(word)
        return "="

    def new_name(self) -> str:
        """Read a name for a node that is not a keyword. Raise InputError `invalid-script`."""
        at = self.place
        word = self.take("a name")
        if not _NAME.fullmatch(word) or word in ("leader", "follower"):
            self.place = at
            self.fail(f"{word!r} cannot name a node: expected small letters, digits and dashes, not leader or follower")
        return word

    def fail(self, reason: str, *, next_step: str = "") -> NoReturn:
        """Raise InputError `invalid-script` for the next word."""
        raise invalid_script(self.file, self.line, self.column, self._shortened(reason), next_step)

    def _shortened(self, reason: str) -> str:
        """Shorten the word in a reason to its beginning."""
        word = self.peek() or ""
        return reason.replace(word, f"{word[:_SHOWN]}…") if len(word) > _SHOWN else reason


def invalid_script(file: str, line: int, column: int, reason: str, next_step: str = "") -> InputError:
    """Return the error `invalid-script` at a place of a script."""
    return InputError(
        f"{file}, line {line}, column {column}: {reason}",
        id="invalid-script",
        next_step=next_step or "Correct the line; docs/simulate.md lists all statements.",
    )


def parse_duration(word: str) -> int | None:
    """Read `2.5s` in microseconds; return None for other text, over 24 hours, or finer than a microsecond.

    >>> parse_duration("2.5s")
    2500000
    """
    parts = _DURATION.fullmatch(word)
    if parts is None:
        return None
    unit = _UNITS[parts[3]]
    fraction = parts[2] or ""
    scale = 10 ** len(fraction)
    value, rest = divmod(int(parts[1] + fraction) * unit, scale)
    return None if rest or value > MAX_TIME_US else value


def shown_duration(time_us: int) -> str:
    """Return a time as scripts write it, in the largest unit that keeps all digits.

    >>> shown_duration(2_500_000), shown_duration(1_234), shown_duration(60_000_000)
    ('2.5s', '1.234ms', '60s')
    """
    for unit, size in (("s", 1_000_000), ("ms", 1_000)):
        if time_us >= size:
            whole, rest = divmod(time_us, size)
            digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0")
            return f"{whole}.{digits}{unit}" if digits else f"{whole}{unit}"
    return f"{time_us}us"
