"""Python source under construction: indented lines, fresh variable names, constants that the code refers to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SourceLines:
    """Lines of a function, written in order. `constants` become the globals that the function sees."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0
        self.constants: dict[str, object] = {}

    def add(self, *lines: str) -> None:
        """Add lines at the present depth."""
        self._lines += ["    " * self._depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that opens a block, for the lines added inside."""
        self.add(head)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, prefix: str = "v") -> str:
        """Return a variable that no other line uses."""
        self._names += 1
        return f"{prefix}{self._names}"

    def constant(self, value: object, prefix: str = "K") -> str:
        """Return a name for a value that cannot be written as a literal."""
        name = self.name(prefix)
        self.constants[name] = value
        return name

    def text(self) -> str:
        """Return the source."""
        return "\n".join(self._lines) + "\n"
