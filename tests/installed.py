"""Places of installed packages, found without importing them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def place_of(package: str) -> Path:
    """Return the folder of a package; pyspark alone takes a third of a second to import."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None, f"{package} is not installed"
    return Path(spec.origin).parent
