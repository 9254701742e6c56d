"""Names that a package gives when they are first asked for (PEP 562), so that importing it loads nothing.

The public API is in the `api` of each capability; `kafkactl` and packages such as `kafkactl.storage` give its names by
a text that is imported on demand. Import contracts do not see such an import, and need not: no code of the library asks
a package for these names, only its users do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, tuple[str, ...]], modules: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return a `__getattr__` for `package`.

    `names`: by module, what is taken from it, `public=name` under another name; `modules`: by name, a whole module.

    What was found once is kept in the package. The function raises AttributeError for any other name.
    """
    homes = {
        name.partition("=")[0]: (module, name.rpartition("=")[2]) for module, found in names.items() for name in found
    }

    def get(name: str) -> Any:
        from importlib import import_module

        if name in homes:
            module, own = homes[name]
            found = getattr(import_module(module), own)
        elif modules is not None and name in modules:
            found = import_module(modules[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    return get


def lazy_api(package: str, operations: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for `package` that returns the names in `__all__` of the module `operations`."""

    def get(name: str) -> Any:
        # The import system asks for names with underscores; no operation has such a name.
        if not name.startswith("_"):
            from importlib import import_module

            module = import_module(operations)
            if name in module.__all__:
                return getattr(module, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
