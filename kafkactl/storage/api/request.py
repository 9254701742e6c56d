"""Request for a format: its options, its users and the owner of the written files."""

from __future__ import annotations

from pathlib import Path

from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.storage.format.scram import read_scram_lines
from kafkactl.storage.model import FormatRequest, GuardOverrides, Owner, VoterMode

__all__ = [
    "FormatRequest",
    "GuardOverrides",
    "Owner",
    "VoterMode",
    "named_owner",
    "parse_scram_users",
    "read_scram_users",
]

_USERS = "the file of SCRAM users"


def parse_scram_users(data: bytes, *, source: str) -> tuple[str, ...]:
    """Parse SCRAM arguments in Kafka's grammar, one a line, for `FormatRequest.scram`; `source` names the data.

    Raises InputError for data that is not text.
    """
    return read_scram_lines(data, file=source)


def read_scram_users(path: str, *, on_exposure: ExposureCallback = ignore_exposure) -> tuple[str, ...]:
    """Read SCRAM arguments from a file. `on_exposure` gets a finding if other users of the host can read the file.

    Raises InputError if the file cannot be read.
    """
    from kafkactl.kafka.api.exposure import file_exposure

    on_exposure(file_exposure(path, _USERS))
    return read_scram_lines(read_input(Path(path), _USERS, InputKind.SCRAM), file=path)


def named_owner(text: str) -> Owner:
    """Return the owner that `USER:GROUP`, `USER` or numbers name on this host. Raises InputError for an unknown one."""
    from kafkactl.storage.io.owner import find_owner

    return find_owner(text)
