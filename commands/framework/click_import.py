"""Imports click without the modules of the standard library that it names and a command hardly ever uses.

click and dataclasses import `inspect`, which reads Python's source and takes `ast`, `dis` and `tokenize` along; `uuid`,
which click offers as a type, imports `platform` to tell AIX from the rest; and click asks `gettext`, which imports
`locale`, for translations that it does not have. All that costs as much as click itself. While they are imported they
get modules in their place that load the real one when anything of it is asked for, but for what a command does ask:
`inspect.cleandoc` for each help text, `platform.system`, and texts as they are. Everybody else gets the real modules.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class Deferred(ModuleType):
    """A module that is imported when a name is asked of it that was not given at the beginning."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(name)
        vars(self).update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks whether it is a package
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)
        return found


def import_click() -> None:
    """Import click, dataclasses and uuid; modules that are there already stay."""
    deferred = {
        "inspect": Deferred("inspect", cleandoc=clean_text),
        "platform": Deferred("platform", system=_system_name),
        "gettext": Deferred("gettext", gettext=_untranslated, ngettext=_counted),
    }
    deferred = {name: module for name, module in deferred.items() if name not in sys.modules}
    sys.modules.update(deferred)
    try:
        for name in ("dataclasses", "uuid", "click"):
            import_module(name)
    finally:
        for name, module in deferred.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def clean_text(text: str) -> str:
    """Return a docstring without the indentation of its code and empty lines around it (PEP 257): as
    `inspect.cleandoc`.

    >>> clean_text("One.\\n\\n    Two.\\n      Three.\\n    ")
    'One.\\n\\nTwo.\\n  Three.'
    """
    first, *others = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    lines = [first.lstrip(), *(line[margin:] if margin else line for line in others)]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return "\n".join(lines)


def _untranslated(text: str) -> str:
    return text


def _counted(singular: str, plural: str, number: int) -> str:
    return singular if number == 1 else plural


def _system_name() -> str:
    return os.uname().sysname
