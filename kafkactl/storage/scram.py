"""SCRAM credentials of the first controller: Kafka's argument grammar and the keys made from a password.

The law: no password, salted password or key appears in a repr, an error or a finding; names and numbers may.
Sources: KIP-900, metadata `ScramParser` (3.9 and later), core `StorageTool` (3.5 to 3.8), clients `ScramFormatter`
(RFC 5802; no SASLprep, as in Kafka).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

from kafkactl.errors import InputError
from kafkactl.features.releases import Release
from kafkactl.plan import Finding, Severity
from kafkactl.protocol.java_text import decode_base64, parse_int, split_at, trim

DEFAULT_ITERATIONS = 4096
MAX_ITERATIONS = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramMechanism:
    """A mechanism: Kafka's name and number for it, its hash, and the least iterations Kafka allows."""

    name: str
    type: int
    hash: str
    min_iterations: int = 4096


MECHANISMS: Mapping[str, ScramMechanism] = MappingProxyType(
    {
        "SCRAM-SHA-256": ScramMechanism(name="SCRAM-SHA-256", type=1, hash="sha256"),
        "SCRAM-SHA-512": ScramMechanism(name="SCRAM-SHA-512", type=2, hash="sha512"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """One user's credential as the metadata log keeps it. Keys and salt stay out of its repr."""

    name: str
    mechanism: ScramMechanism
    iterations: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    warnings: tuple[Finding, ...] = ()

    def record_value(self) -> dict[str, Any]:
        """The value of a UserScramCredentialRecord, by the names of its definition. Holds secrets."""
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

    `salt` is used where the argument names none. A release without SCRAM at format time (3.3, 3.4) is read like
    3.5; whether it may be used is the planner's question. Raises InputError, with one id a cause and no secret.
    """
    given = (_read_argument if release.scram_rule == "any" else _read_old_argument)(text)
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
    """The arguments in a `--scram-file`: UTF-8, one argument a line, blank lines and lines that begin with `#` left out.

    Raises InputError `scram-file-not-utf8`, `scram-file-empty`.
    """
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: byte {error.start} is not UTF-8",
            id="scram-file-not-utf8",
            next_step="Save the file as UTF-8 text, one SCRAM argument a line.",
        ) from None
    lines = (line.strip() for line in re.split(r"\r\n|\r|\n", text))
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InputError(
            f"{file} holds no SCRAM argument",
            id="scram-file-empty",
            next_step="Write one a line: SCRAM-SHA-512=[name=admin,password=…]",
        )
    return found


# --- keys -----------------------------------------------------------------------------------------------------------


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """RFC 5802 `Hi`: PBKDF2 with one block, over the password's UTF-8 bytes."""
    return hashlib.pbkdf2_hmac(mechanism.hash, password.encode("utf-8", "replace"), salt, iterations)


def stored_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """The hash of the client key, by which a server checks a client's proof."""
    return hashlib.new(mechanism.hash, hmac.digest(salted, b"Client Key", mechanism.hash)).digest()


def server_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """The key with which a server signs."""
    return hmac.digest(salted, b"Server Key", mechanism.hash)


# --- the argument ---------------------------------------------------------------------------------------------------

_KEYS = ("name", "password", "saltedpassword", "salt", "iterations")
# The `=` between key and value of 3.5 to 3.8: one with an even number of quotation marks behind it.
_OLD_SEPARATOR = re.compile(r'=(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
_EXAMPLE = "SCRAM-SHA-512=[name=alice,password=…]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """What one argument says. One of `password` and `salted_password` counts."""

    name: str
    mechanism: ScramMechanism
    iterations: int
    salt: bytes | None = field(repr=False)
    password: str = field(repr=False)
    salted_password: bytes | None = field(repr=False)
    warnings: tuple[Finding, ...] = ()


def _read_argument(text: str) -> _Argument:
    """The grammar of 3.9 and later."""
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
    return _Argument(
        name=components["name"],
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        password=password or "",
        salted_password=_salted_password(salted) if password is None and salted is not None else None,
        warnings=(_warning("scram-password-and-saltedpassword", components["name"]),) if both else (),
    )


def _components(text: str) -> dict[str, str]:
    """`key=value` items between commas; one pair of quotation marks around a value is taken off."""
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
    """Unknown keys, unnamed unless harmless: behind a comma in a password there is a piece of the password."""
    unknown = [key for key in components if key not in _KEYS]
    if not unknown:
        return
    named = sorted(repr(key) for key in unknown if key.strip().lower() in _KEYS)
    shown = ", ".join(named) if named else f"{len(unknown)} not shown, for they may be part of a password"
    _refuse(
        "unknown-scram-key",
        f"Unknown SCRAM configurations: {shown}",
        f"The keys are {', '.join(_KEYS)}, without blanks; no value may hold a comma.",
    )


def _read_old_argument(text: str) -> _Argument:
    """The grammar of 3.5 to 3.8, which cuts at blanks and drops brackets unseen."""
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
    warnings = [_warning("scram-argument-cut", name)] if cut or any(more) else []
    warnings += [_warning("scram-iterations-ignored", name)] if "iterations" in components and salt is None else []
    return _Argument(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        password=password or "",
        salted_password=None if salted is None else _salted_password(salted),
        warnings=tuple(warnings),
    )


def _old_components(text: str) -> tuple[dict[str, str], bool]:
    """`key=value` items, all quotation marks removed, and whether something behind a second `=` was dropped."""
    components, cut = {}, False
    for number, item in enumerate(split_at(text, ","), start=1):
        parts = _OLD_SEPARATOR.split(item)
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) < 2:
            words = f"SCRAM component {number} has no value (Index 1 out of bounds)"
            _refuse("malformed-scram-argument", words, "No value may hold a comma or be empty.")
        cut = cut or len(parts) > 2
        components[parts[0]] = parts[1].replace('"', "")
    return components, cut


# --- checks both grammars share -------------------------------------------------------------------------------------


def _mechanism(name: str) -> ScramMechanism:
    mechanism = MECHANISMS.get(name)
    if mechanism is None:
        # What stands there may be a secret typed at the wrong place, so only what looks like a mechanism is shown.
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
    "scram-argument-cut": (
        "Kafka of this release cuts the argument at a blank, and a value at a second =: the password is not what was typed",
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
