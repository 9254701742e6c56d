"""Where the data of schemas/ lies; the only place that opens it.

In a wheel the data folder stands inside the package; in a checkout and in an editable install it is the folder
`schemas/` at the root, reached through the link `kafkactl/schemas` or, where links do not survive (some archives),
as the package's sibling.
"""

from __future__ import annotations

import functools
import os

import kafkactl
from kafkactl.core.errors import SchemaError


def read_data(name: str) -> bytes:
    """The bytes of one data file; `name` is relative to schemas/ (`metadata/FenceBrokerRecord.json`).

    Raises SchemaError `data-file-missing`: the installation is damaged, or we ask for what we do not ship.
    """
    root = _root()
    if root is None:
        return _zipped(name)
    path = os.path.join(root, *name.split("/"))  # noqa: PTH118 - pathlib costs start-up time
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError as error:
        raise SchemaError(
            f"the data file schemas/{name} of kafkactl cannot be read: {error.strerror}",
            id="data-file-missing",
            next_step="Install kafkactl again.",
        ) from error


def list_data(folder: str, suffix: str) -> tuple[str, ...]:
    """The names (relative to schemas/, sorted) of the files in one folder that end with `suffix`."""
    root = _root()
    if root is None:
        raise SchemaError("a zip of kafkactl lists no data", id="data-file-missing", next_step="Install kafkactl.")
    try:
        found = os.listdir(os.path.join(root, folder))  # noqa: PTH118, PTH208
    except OSError as error:
        raise SchemaError(
            f"the data folder schemas/{folder} of kafkactl cannot be read: {error.strerror}",
            id="data-file-missing",
            next_step="Install kafkactl again.",
        ) from error
    return tuple(f"{folder}/{name}" for name in sorted(found) if name.endswith(suffix))


def _zipped(name: str) -> bytes:
    """A data file of a kafkactl that was imported from a zip, as Spark's workers do."""
    loader = getattr(kafkactl, "__loader__", None)
    try:
        found: bytes = loader.get_data(os.path.join(kafkactl.__path__[0], "schemas", *name.split("/")))  # type: ignore[union-attr] # noqa: PTH118
    except (AttributeError, OSError) as error:
        raise SchemaError(
            f"kafkactl's data file schemas/{name} is neither in {kafkactl.__path__[0]} nor next to it",
            id="data-file-missing",
            next_step="Install kafkactl again.",
        ) from error
    return found


@functools.cache
def _root() -> str | None:
    """The folder with the data; None where kafkactl was imported from a zip, or its data is gone."""
    package = kafkactl.__path__[0]
    for candidate in (os.path.join(package, "schemas"), os.path.join(os.path.dirname(package), "schemas")):  # noqa: PTH118, PTH120
        if os.path.isdir(candidate):  # noqa: PTH112
            return candidate
    return None
