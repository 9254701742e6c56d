"""A voter that is to be added or removed: as an option names it, and as an answer has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.dryrun.fields import Kind, is_number, is_text

ENDPOINT: Final = re.compile(r"([^:/]+)://(.+):(\d+)", re.ASCII)


@frozen
class VoterChange:
    """A voter that is to be added or removed. `directory_id` None: the one that the voter set names."""

    node_id: int
    directory_id: Uuid | None = None
    endpoint: str | None = None


def parse_voter_change(text: str) -> VoterChange:
    """Read `ID`, `ID:DIRECTORY` or `ID:DIRECTORY@LISTENER://HOST:PORT`. Raise InputError `invalid-voter-change`."""
    voter, _, endpoint = text.partition("@")
    number, colon, directory = voter.partition(":")
    is_wrong = (colon and not directory) or (endpoint and not ENDPOINT.fullmatch(endpoint))
    if is_wrong or not (number.isascii() and number.isdigit()):
        raise InputError(
            f"{text!r} names no controller: ID, ID:DIRECTORY_ID or ID:DIRECTORY_ID@LISTENER://HOST:PORT expected",
            id="invalid-voter-change",
        )
    return VoterChange(
        node_id=int(number), directory_id=Uuid.parse(directory) if directory else None, endpoint=endpoint or None
    )


def change_dict(change: VoterChange) -> dict[str, Any]:
    """Return the change as the `input` of an answer has it."""
    directory = None if change.directory_id is None else str(change.directory_id)
    return {"id": change.node_id, "directory_id": directory, "endpoint": change.endpoint}


def _is_voter_change(value: Any) -> bool:
    known = {"id", "directory_id", "endpoint"}
    if not isinstance(value, Mapping) or not set(value) <= known or not is_number(value.get("id")):
        return False
    return all(value.get(name) is None or is_text(value[name]) for name in ("directory_id", "endpoint"))


def _read_voter_change(value: Mapping[str, Any]) -> VoterChange:
    directory = value.get("directory_id")
    return VoterChange(
        node_id=value["id"],
        directory_id=None if directory is None else Uuid.parse(directory),
        endpoint=value.get("endpoint"),
    )


ChangeField = Annotated[
    VoterChange,
    Kind(
        words="a table with an id, and a directory_id or an endpoint if need be",
        holds=_is_voter_change,
        read=_read_voter_change,
    ),
]
