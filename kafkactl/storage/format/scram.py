"""SCRAM credentials of the first controller: the keys made from a password.

Invariant: no password, salted password or key appears in a repr, an error or a finding; names and numbers may.
Sources: KIP-900, clients `ScramFormatter` (RFC 5802; no SASLprep, as in Kafka).
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from kafkactl.core.answers import json_of
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.scram import ScramMechanism, salted_password, server_key, stored_key
from kafkactl.storage.format.scram_argument import read_argument, read_old_argument


@frozen
class ScramCredential:
    """A SCRAM user whose keys the plan writes: the cluster lets this user in from its first start.

    Keys and salt are not in the repr.
    """

    name: str
    mechanism: ScramMechanism
    iterations: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    warnings: tuple[Finding, ...] = ()

    to_dict = json_of("name", "mechanism=mechanism.name", "iterations")  # without the keys

    def record_value(self) -> dict[str, Any]:
        """Return the value of a UserScramCredentialRecord, by the names of its definition. Holds secrets."""
        return {
            "Name": self.name,
            "Mechanism": self.mechanism.type,
            "Salt": self.salt,
            "StoredKey": self.stored_key,
            "ServerKey": self.server_key,
            "Iterations": self.iterations,
        }


def parse_scram(text: str, *, release: Release, salt: bytes) -> ScramCredential:
    """Read one argument `SCRAM-SHA-256=[name=…,password=…]` as the tool of `release` does, and make its keys.

    `salt` is used if the argument names none. A release without SCRAM at format time (3.3, 3.4) is read like
    3.5; whether it may be used is the planner's question. Raises InputError, with one id a cause and no secret.
    """
    given = (read_argument if release.scram_rule == "any" else read_old_argument)(text)
    salt = salt if given.salt is None else given.salt
    salted = given.salted_password
    if salted is None:
        salted = salted_password(given.mechanism, given.password, salt, given.iterations)
    return ScramCredential(
        name=given.name,
        mechanism=given.mechanism,
        iterations=given.iterations,
        salt=salt,
        stored_key=stored_key(given.mechanism, salted),
        server_key=server_key(given.mechanism, salted),
        warnings=given.warnings,
    )


def read_scram_lines(data: bytes, *, file: str) -> tuple[str, ...]:
    """Return the arguments in a `--scram-file`: UTF-8, one a line, blank lines and lines that begin with `#` left out.

    Raises InputError `scram-file-not-utf8`, `scram-file-empty`.
    """
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start} is not UTF-8", id="scram-file-not-utf8") from None
    lines = (line.strip() for line in re.split(r"\r\n|\r|\n", text))
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InputError(
            f"{file} holds no SCRAM argument",
            id="scram-file-empty",
            next_step="Write one a line: SCRAM-SHA-512=[name=admin,password=…]",
        )
    return found
