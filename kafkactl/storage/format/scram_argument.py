"""The grammar of Kafka's SCRAM arguments, `SCRAM-SHA-256=[name=…,password=…]`, in its two versions.

Invariant: nothing of an argument but names of keys, numbers and the user's name is ever repeated in a message, for the
rest may be a password or a piece of one. Sources: metadata `ScramParser` (3.9 and later), core `StorageTool` (3.5 to
3.8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import NoReturn

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.protocol.scram import MECHANISMS, ScramMechanism
from kafkactl.protocol.text.java_text import decode_base64, parse_int, split_at, trim

DEFAULT_ITERATIONS = 4096
MAX_ITERATIONS = 16384


_KEYS = ("name", "password", "saltedpassword", "salt", "iterations")
# The `=` between key and value of 3.5 to 3.8: one with an even number of quotation marks behind it.
_OLD_SEPARATOR = r'=(?=(?:[^"]*"[^"]*")*[^"]*\Z)'
_EXAMPLE = "SCRAM-SHA-512=[name=alice,password=…]"


@frozen
class Argument:
    """Content of one argument. Either `password` or `salted_password` is used."""

    name: str
    mechanism: ScramMechanism
    iterations: int
    salt: bytes | None = field(repr=False)
    password: str = field(repr=False)
    salted_password: bytes | None = field(repr=False)
    warnings: tuple[Finding, ...] = ()


def read_argument(text: str) -> Argument:
    """Return the grammar of 3.9 and later."""
    mechanism_name, equals, rest = trim(text).partition("=")
    if not equals:
        _refuse("malformed-scram-argument", "Failed to find equals sign in SCRAM argument")
    mechanism = _mechanism(mechanism_name)
    if not rest.startswith("["):
        _refuse("malformed-scram-argument", "Expected configuration string to start with [")
    if not rest.endswith("]") or len(rest) < 2:
        _refuse("malformed-scram-argument", "Expected configuration string to end with ]")
    components = _components(rest[1:-1])
    _require_name(components)
    salt = _salt(components)
    iterations = _iterations(components)
    password, salted = components.get("password"), components.get("saltedpassword")
    _require_password(password, salted, salt)
    _refuse_unknown_keys(components)
    _check_range(mechanism, iterations)
    both = password is not None and salted is not None
    return Argument(
        name=components["name"],
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        password=password or "",
        salted_password=_salted_password(salted) if password is None and salted is not None else None,
        warnings=(_warning("scram-password-and-saltedpassword", components["name"]),) if both else (),
    )


def _components(text: str) -> dict[str, str]:
    """Read `key=value` items between commas; one pair of quotation marks around a value is removed."""
    components = {}
    for number, item in enumerate(split_at(text, ","), start=1):
        key, equals, value = item.partition("=")
        if not equals:
            _refuse(
                "malformed-scram-argument",
                f"No equals sign found in SCRAM component {number}",
                "No value may hold a comma, quoted or not: it separates the components.",
            )
        quoted = len(value) >= 2 and value.startswith('"') and value.endswith('"')
        components[key] = value[1:-1] if quoted else value
    return components


def _refuse_unknown_keys(components: Mapping[str, str]) -> None:
    """Refuse unknown keys, unnamed unless harmless: after a comma in a password the key is a piece of the password."""
    unknown = [key for key in components if key not in _KEYS]
    if not unknown:
        return
    named = sorted(repr(key) for key in unknown if key.strip().lower() in _KEYS)
    shown = ", ".join(named) if named else f"{len(unknown)} not shown because they may be part of a password"
    _refuse(
        "unknown-scram-key",
        f"Unknown SCRAM configurations: {shown}",
        f"The keys are {', '.join(_KEYS)}, without blanks; no value may hold a comma.",
    )


def read_old_argument(text: str) -> Argument:
    """Return the grammar of 3.5 to 3.8, which cuts at blanks and drops brackets unseen."""
    first, *more = re.split(r"[ \t\n\x0b\f\r]+", text)
    mechanism_name, equals, rest = first.partition("=")
    mechanism = _mechanism(mechanism_name)
    if not equals or len(rest) < 2:
        _refuse("malformed-scram-argument", "The mechanism is not followed by =[…]")
    components, cut = _old_components(rest[1:-1])
    _require_name(components)
    salt = _salt(components)
    iterations = DEFAULT_ITERATIONS
    if salt is not None:
        if "iterations" not in components:
            words = "salt without iterations (key not found: iterations)"
            _refuse("scram-iterations-missing", words, "Before 3.9, give iterations with every salt.")
        iterations = _iterations(components)
        _check_range(mechanism, iterations)
    password, salted = components.get("password"), components.get("saltedpassword")
    if password is not None and salted is not None:
        _refuse("scram-password-and-saltedpassword", "You must only supply one of 'password' or 'saltedpassword'")
    _require_password(password, salted, salt)
    name = components["name"]
    warnings = [_warning("scram-argument-truncated", name)] if cut or any(more) else []
    warnings += [_warning("scram-iterations-ignored", name)] if "iterations" in components and salt is None else []
    return Argument(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        password=password or "",
        salted_password=None if salted is None else _salted_password(salted),
        warnings=tuple(warnings),
    )


def _old_components(text: str) -> tuple[dict[str, str], bool]:
    """Read `key=value` items, all quotation marks removed, and True if text after a second `=` was dropped."""
    components, cut = {}, False
    for number, item in enumerate(split_at(text, ","), start=1):
        parts = re.split(_OLD_SEPARATOR, item)
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) < 2:
            words = f"SCRAM component {number} has no value (Index 1 out of bounds)"
            _refuse("malformed-scram-argument", words, "No value may hold a comma or be empty.")
        cut = cut or len(parts) > 2
        components[parts[0]] = parts[1].replace('"', "")
    return components, cut


def _mechanism(name: str) -> ScramMechanism:
    mechanism = MECHANISMS.get(name)
    if mechanism is None:
        # The text there may be a secret typed at the wrong place, so only what looks like a mechanism is shown.
        shown = f" {name}" if re.fullmatch(r"(?i)scram[-_a-z0-9]{0,20}", name) else ""
        _refuse(
            "unsupported-scram-mechanism",
            f"The add-scram mechanism{shown} is not supported.",
            f"The mechanisms are {' and '.join(MECHANISMS)}.",
        )
    return mechanism


def _require_name(components: Mapping[str, str]) -> None:
    if "name" not in components:
        _refuse("scram-name-missing", "You must supply 'name' to add-scram")


def _salt(components: Mapping[str, str]) -> bytes | None:
    text = components.get("salt")
    if text is None:
        return None
    salt = decode_base64(text)
    if salt is None:
        _refuse("invalid-scram-salt", "Failed to decode given salt", "Write the salt in standard base64.")
    return salt


def _iterations(components: Mapping[str, str]) -> int:
    text = components.get("iterations")
    if text is None:
        return DEFAULT_ITERATIONS
    iterations = parse_int(text)
    if iterations is None:
        _refuse("invalid-scram-iterations", "Failed to parse iterations count", "iterations is a number.")
    return iterations


def _check_range(mechanism: ScramMechanism, iterations: int) -> None:
    for wrong, sign, limit in (
        (iterations < mechanism.min_iterations, ">=", mechanism.min_iterations),
        (iterations > MAX_ITERATIONS, "<=", MAX_ITERATIONS),
    ):
        if wrong:
            words = f"The 'iterations' value must be {sign} {limit} for add-scram using {mechanism.name}"
            _refuse("invalid-scram-iterations", f"{words}; found {iterations}")


def _require_password(password: str | None, salted: str | None, salt: bytes | None) -> None:
    if password is None and salted is None:
        words = "You must supply one of 'password' or 'saltedpassword' to add-scram"
        _refuse("scram-password-missing", words)
    if password == "" or (password is None and salted == ""):
        _refuse("scram-password-missing", "The password is empty (Empty key)")
    if password is None and salt is None:
        _refuse("scram-salt-missing", "You must supply 'salt' with 'saltedpassword' to add-scram")


def _salted_password(text: str) -> bytes:
    salted = decode_base64(text)
    if salted is None:
        words = "Failed to decode given saltedPassword"
        _refuse("invalid-scram-salted-password", words, "Write saltedpassword in standard base64.")
    return salted


def _refuse(id: str, words: str, next_step: str = f"For example: {_EXAMPLE}") -> NoReturn:
    raise InputError(words, id=id, next_step=next_step)


_WARNINGS: Mapping[str, tuple[str, str]] = {
    "scram-password-and-saltedpassword": (
        "both password and saltedpassword are given; the password counts",
        "Leave one of them out.",
    ),
    "scram-argument-truncated": (
        "Kafka of this release cuts the argument at a blank, and a value at a second =: what is stored is not what was"
        " typed",
        "Put the value between quotation marks if it holds =; a password with a blank needs Kafka 3.9 or later.",
    ),
    "scram-iterations-ignored": (
        f"Kafka of this release ignores iterations without a salt: {DEFAULT_ITERATIONS} are used",
        "Give salt as well, or leave iterations out.",
    ),
}


def _warning(id: str, name: str) -> Finding:
    message, next_step = _WARNINGS[id]
    return Finding(id=id, severity=Severity.WARNING, subject=f"SCRAM user {name}", message=message, next_step=next_step)
