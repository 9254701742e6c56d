"""The data of schemas/, which belongs to the package and is as fixed as its code. No other module opens it.

In a wheel the data folder is inside the package; in a checkout and in an editable install it is the folder
`schemas/` at the root, reached through the link `kafkactl/schemas` or, where links do not survive (some archives),
as the package's sibling. Spark's workers import kafkactl from a zip.
"""

from __future__ import annotations

import functools
import os

import kafkactl


class DataMissingError(Exception):
    """A data file or folder that is not in the installation; its text is a message for the operator."""


def data_file(name: str) -> bytes:
    """Return one data file; `name` is relative to schemas/ (`metadata/FenceBrokerRecord.json`).

    Raises DataMissingError.
    """
    root = _root()
    if root is None:
        return _zipped(name)
    path = os.path.join(root, *name.split("/"))  # noqa: PTH118 - pathlib costs start-up time
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError as error:
        raise DataMissingError(f"the data file schemas/{name} of kafkactl cannot be read: {error.strerror}") from error


def data_names(folder: str, suffix: str) -> tuple[str, ...]:
    """Return the names (relative to schemas/, sorted) of the files in one folder that end with `suffix`.

    Raises DataMissingError.
    """
    root = _root()
    try:
        found = _zipped_names(folder) if root is None else os.listdir(os.path.join(root, folder))  # noqa: PTH118, PTH208
    except OSError as error:
        raise DataMissingError(
            f"the data folder schemas/{folder} of kafkactl cannot be read: {error.strerror}"
        ) from error
    return tuple(f"{folder}/{name}" for name in sorted(found) if name.endswith(suffix))


def _zipped(name: str) -> bytes:
    loader = getattr(kafkactl, "__loader__", None)
    try:
        found: bytes = loader.get_data(os.path.join(kafkactl.__path__[0], "schemas", *name.split("/")))  # type: ignore[union-attr] # noqa: PTH118
    except (AttributeError, OSError) as error:
        raise DataMissingError(
            f"kafkactl's data file schemas/{name} is neither in {kafkactl.__path__[0]} nor next to it"
        ) from error
    return found


def _zipped_names(folder: str) -> list[str]:
    import zipfile

    archive = getattr(getattr(kafkactl, "__loader__", None), "archive", None)
    if archive is None:
        raise FileNotFoundError(2, "no such folder")
    begin = f"kafkactl/schemas/{folder}/"
    with zipfile.ZipFile(archive) as opened:
        return [name.removeprefix(begin) for name in opened.namelist() if name.startswith(begin)]


@functools.cache
def _root() -> str | None:
    """Return the data folder, None if kafkactl was imported from a zip, or its data is missing."""
    package = kafkactl.__path__[0]
    for candidate in (os.path.join(package, "schemas"), os.path.join(os.path.dirname(package), "schemas")):  # noqa: PTH118, PTH120
        if os.path.isdir(candidate):  # noqa: PTH112
            return candidate
    return None
