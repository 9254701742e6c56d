"""The properties of a client, as Kafka's admin client takes them (`--command-config`).

Rule: which keys there are, and of what type, is data (schemas/config/client.json, checked against the jars); values
are read as clients' `ConfigDef.parseType` reads them: blanks around them go, passwords included. A key that Kafka does
not know is a warning, as there; so is one that Kafka uses and kafkactl cannot. No error shows a value: if a line
break or a quotation mark is lost, any of them holds a login.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from kafkactl.core.data_files import read_data
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.protocol.text.java_text import LONG_BITS, parse_boolean, parse_double, parse_int, split_list, trim
from kafkactl.protocol.text.places import place

_PROVIDERS = "config.providers."
_KEY = r"[A-Za-z][\w-]{0,40}(?:\.[\w-]{1,40})+"  # compiled when it is first used


@frozen
class ClientKey:
    """A key: Kafka's type for it, the least number it may be, and whether kafkactl uses it.

    `use` is `used`, `no-effect` (it has none on a tool like this) or `not-supported`. `same_tls`, of a key that is not
    supported and decides about TLS, are the values with which TLS is the same as without it; None for other keys.
    """

    name: str
    type: str
    use: str
    min: int | None = None
    same_tls: tuple[str, ...] | None = None


@frozen
class ClientProperties:
    """Values of the known keys of a file, and the findings about the others. Values may be secrets."""

    values: Mapping[str, Any] = field(repr=False)
    findings: tuple[Finding, ...]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a key, or the default if it is not given."""
        return self.values.get(name, default)


@functools.cache
def client_keys() -> Mapping[str, ClientKey]:
    """Return all keys of an admin client by name."""
    rows = json.loads(read_data("config/client.json"))["keys"]
    return {row["name"]: ClientKey(**row) for row in rows}


def other_tls(properties: ClientProperties) -> list[str]:
    """Return the keys with which Kafka's client would make a TLS connection that kafkactl cannot make."""
    return [
        name
        for name, value in properties.values.items()
        if (same := client_keys()[name].same_tls) is not None and value and value not in same
    ]


def read_client_properties(
    given: Mapping[str, str], *, file: str, lines: Mapping[str, int] | None = None
) -> ClientProperties:
    """Return the values of a file's keys; `lines` are theirs, from 1, if they are known.

    Raises InputError `invalid-client-property` that names every value that Kafka would refuse, with its line.
    """
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for name, text in given.items():
        key = client_keys().get(name)
        if key is None:
            continue
        value = _PARSERS[key.type](text)
        if value is None or (key.min is not None and value < key.min):
            least = "" if key.min is None else f" from {key.min} on"
            wrong.append(
                f"{place(file, name, lines or {})}: the value of {name} is not a valid {key.type.lower()}{least}"
            )
        values[name] = value
    if wrong:
        raise InputError("; ".join(wrong), id="invalid-client-property")
    return ClientProperties(values=values, findings=tuple(_findings(given, file)))


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "BOOLEAN": parse_boolean,
    "SHORT": lambda text: parse_int(trim(text), 16),
    "INT": lambda text: parse_int(trim(text)),
    "LONG": lambda text: parse_int(trim(text), LONG_BITS),
    "DOUBLE": parse_double,
    "STRING": trim,
    "CLASS": trim,
    "PASSWORD": trim,
    "LIST": split_list,
}


def _findings(given: Mapping[str, str], file: str) -> Iterator[Finding]:
    for name in given:
        key = client_keys().get(name)
        if key is None and not name.startswith(_PROVIDERS):
            yield Finding(
                id="unknown-client-property",
                severity=Severity.WARNING,
                subject=file,
                message=f"{_shown(name)} is not a property of Kafka's admin client; it has no effect",
                evidence={"key": _shown(name)},
                next_step=_near(name) or "Leave it out, or correct its name.",
            )
        elif key is not None and key.use == "not-supported":
            yield Finding(
                id="unsupported-client-property",
                severity=Severity.WARNING,
                subject=file,
                message=f"{name} means something to Kafka's Java client, and nothing to kafkactl",
                evidence={"key": name},
            )


def _shown(name: str) -> str:
    """Return a key for a message; hide an unlikely one, since a broken login line continues as a key."""
    return name if re.fullmatch(_KEY, name) or _near(name) else "a key that may be a part of a login"


def _near(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, client_keys(), n=1, cutoff=0.8)
    return f"Did you mean {near[0]}?" if near else ""
