"""Java's text functions on which Kafka's parsing of files and arguments depends.

Invariant: each function here accepts and refuses exactly what its Java original does (`String.trim`, `String.split`,
`Integer.parseInt`, `Date.toString`, the order of a `HashMap`); tests/lab/storage/test_inputs.py asks a JVM.
"""

from __future__ import annotations

import base64
import functools
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from kafkactl.core.values import Uuid

INT_BITS = 32
LONG_BITS = 64
_BLANKS = "".join(map(chr, range(0x21)))  # what String.trim takes off: everything up to U+0020
_REGEX_BLANKS = " \t\n\x0b\f\r"  # what `\s` matches in a Java pattern
# Patterns are texts and compiled when they are first used: most runs need none of them.
_DECIMAL_DOUBLE = r"([+-]?)(NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?"
_HEX_DOUBLE = r"([+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?"
_BASE64_CHAR = "[A-Za-z0-9+/]"
_BASE64 = f"(?:{_BASE64_CHAR}{{4}})*(?:{_BASE64_CHAR}{{2}}(?:==)?|{_BASE64_CHAR}{{3}}=?)?"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def trim(text: str) -> str:
    """Remove blanks and control characters as `String.trim` does, not Unicode's other spaces."""
    return text.strip(_BLANKS)


def split_at(text: str, separator: str) -> list[str]:
    """Split as `String.split(separator)` does for one plain character: empty strings at the end are dropped."""
    if separator not in text:
        return [text]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def split_list(text: str) -> list[str]:
    """Split a value of type LIST as `ConfigDef.parseType` does: trimmed, at commas with the blanks around them."""
    trimmed = trim(text)
    return split_at_commas(trimmed) if trimmed else []


def split_at_commas(text: str) -> list[str]:
    """Return the parts between commas, without the blanks around each comma (`\\s*,\\s*`); empty ones are kept."""
    first, *others = text.split(",")
    if not others:
        return [first]
    *middle, last = others
    between = [part.strip(_REGEX_BLANKS) for part in middle]
    return [first.rstrip(_REGEX_BLANKS), *between, last.lstrip(_REGEX_BLANKS)]


def parse_int(text: str, bits: int = INT_BITS) -> int | None:
    """Read as `Integer.parseInt` does (or Short, Long by `bits`); None if Java throws NumberFormatException."""
    if not _is_integer(text):
        return None
    if len(text) > 4000:  # more digits than Python converts, unless they are zeros
        sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
        significant = digits.lstrip("0")
        if len(significant) > 20:
            return None
        text = sign + (significant or "0")
    number = int(text)
    limit = 1 << (bits - 1)
    return number if -limit <= number < limit else None


def _is_integer(text: str) -> bool:
    """Return True for decimal digits of any script that Java's 16-bit characters reach, with or without a sign."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isdecimal() and (digits.isascii() or max(digits) <= "\uffff")


def parse_double(text: str) -> float | None:
    """Read as `Double.parseDouble` does; None if Java throws NumberFormatException."""
    trimmed = trim(text)
    if trimmed.isascii() and trimmed.replace(".", "", 1).isdigit():  # nearly all: `0.5`, `10`
        return float(trimmed)
    if match := re.fullmatch(_DECIMAL_DOUBLE, trimmed, re.ASCII):
        return float("".join(match.groups()))
    if match := re.fullmatch(_HEX_DOUBLE, trimmed, re.ASCII):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return -math.inf if match[1].startswith("-") else math.inf
    return None


def parse_boolean(text: str) -> bool | None:
    """Return a value of type BOOLEAN, as `ConfigDef.parseType` reads it: true or false in any case, else None."""
    return {"true": True, "false": False}.get(trim(text).lower())


@functools.lru_cache(maxsize=4)  # the files of a plan have one time
def date_text(now_ms: int) -> str:
    """Return `Date.toString` of a JVM whose time zone is UTC: `Fri Nov 20 10:27:37 UTC 2026`."""
    moment = _EPOCH + timedelta(milliseconds=now_ms)
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day} {month} {moment.day:02} {moment:%H:%M:%S} UTC {moment.year}"


@functools.lru_cache(maxsize=1024)  # the nodes of a plan have the same few directories
def string_hash(text: str) -> int:
    """Return `String.hashCode`, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (value * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def uuid_hash(value: Uuid) -> int:
    """Return `org.apache.kafka.common.Uuid.hashCode`, as a signed 32-bit number."""
    mixed = int.from_bytes(value.raw[:8]) ^ int.from_bytes(value.raw[8:])
    code = (mixed >> 32) ^ (mixed & 0xFFFFFFFF)
    return code - (1 << 32) if code >> 31 else code


def hash_map_order(hashes: Iterable[int]) -> list[int]:
    """Return the positions of distinct keys, given by their hash codes in order of insertion, as a `HashMap` walks
    them.

    The table starts with 16 buckets and doubles when it is more than three quarters full; a bucket keeps the order
    of insertion, also while it grows (`java.util.HashMap`; buckets of eight and more turn into trees, which keep
    that order for walking too).
    """
    spread = [(code ^ ((code & 0xFFFFFFFF) >> 16)) & 0xFFFFFFFF for code in hashes]
    capacity = 16
    while len(spread) > capacity * 3 // 4:
        capacity *= 2
    return sorted(range(len(spread)), key=lambda position: spread[position] & (capacity - 1))


def decode_base64(text: str) -> bytes | None:
    """Decode as `Base64.getDecoder` does: standard alphabet, padding whole or left out; None if Java throws."""
    if not re.fullmatch(_BASE64, text):
        return None
    unpadded = text.rstrip("=")
    return base64.b64decode(unpadded + "=" * (-len(unpadded) % 4))
