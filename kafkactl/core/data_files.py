"""Data files of kafkactl by name, with an error that an operator can act on if one is missing."""

from __future__ import annotations

from kafkactl.core.errors import SchemaError
from kafkactl.core.package_data import DataMissingError, data_file, data_names


def read_data(name: str) -> bytes:
    """Return one data file; `name` is relative to schemas/ (`metadata/FenceBrokerRecord.json`).

    Raises SchemaError `data-file-missing`: the installation is damaged, or kafkactl does not ship the file.
    """
    try:
        return data_file(name)
    except DataMissingError as error:
        raise _missing(error) from error


def list_data(folder: str, suffix: str) -> tuple[str, ...]:
    """Return the names (relative to schemas/, sorted) of the files in one folder that end with `suffix`.

    Raises SchemaError `data-file-missing`.
    """
    try:
        return data_names(folder, suffix)
    except DataMissingError as error:
        raise _missing(error) from error


def _missing(error: DataMissingError) -> SchemaError:
    return SchemaError(str(error), id="data-file-missing", next_step="Install kafkactl again.")
