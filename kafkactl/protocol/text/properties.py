"""Java `.properties` files, read and written as `java.util.Properties` does.

Rule: bytes are ISO-8859-1 whatever the author meant, a backslash joins lines and escapes, trailing blanks belong
to the value, and of a key given twice the last value is used. What Java silently ignores is reported as a warning.
Oracles in the tests: jproperties, javaproperties and a JVM.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from kafkactl.core.errors import InputDecodeError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen

_NATURAL_LINE = r"([^\r\n]*)(\r\n|\r|\n|\Z)"  # compiled when it is first used
_KEY = r"(?s)(?:[^\\=: \t\f]+|\\.)*\\?"  # up to what separates it from the value, or to the end
_BLANKS = " \t\f"
_USUAL_BYTES = 64 * 1024
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_WRITTEN = str.maketrans(
    {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"} | {char: f"\\{char}" for char in "\\=:#!"}
)
# Compiled when first used: files with escapes or control characters are rare.
_HEX4 = r"[0-9a-fA-F]{4}"
_ESCAPE = r"(?s)\\(.)"
_CONTROL = r"[\x00-\x08\x0b\x0e-\x1f\x7f]"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@frozen
class PropertyWarning:
    """Something Java reads without complaint and the author probably did not mean. `line` counts from 1."""

    line: int
    id: str
    key: str
    message: str

    def finding(self, file: str) -> Finding:
        """Return the warning as a finding about `file`."""
        return Finding(
            id=self.id,
            severity=Severity.WARNING,
            subject=f"{file}, line {self.line}",
            message=self.message,
            evidence={"line": self.line, "key": self.key},
        )


@frozen
class Entry:
    """A key and value. `line` counts from 1, `offset` is in bytes; both of the line on which the key begins."""

    key: str
    value: str = field(repr=False)  # may be a password
    line: int
    offset: int


@frozen
class Properties:
    """Content of a file: `mapping` has the effective values, `entries` their lines, duplicates included."""

    mapping: Mapping[str, str] = field(repr=False)
    entries: tuple[Entry, ...]
    warnings: tuple[PropertyWarning, ...]

    def line_of(self, key: str) -> int | None:
        """Return the line of the definition that counts, from 1; None if the key is not there."""
        return next((entry.line for entry in reversed(self.entries) if entry.key == key), None)

    def offset_of(self, key: str) -> int:
        """Return the offset in bytes of the definition that counts; 0 if the key is not there."""
        return next((entry.offset for entry in reversed(self.entries) if entry.key == key), 0)


NOTHING = Properties(mapping={}, entries=(), warnings=())


def parse_properties(data: bytes, *, file: str | None = None) -> Properties:
    """Read a whole file.

    Raises InputDecodeError `malformed-unicode-escape` (Java: "Malformed \\uxxxx encoding."), the only thing that
    `java.util.Properties` refuses. `file` is for the error's text. A file of usual size is read once: plans and checks
    look at the same files many times.
    """
    return (_read_once if len(data) <= _USUAL_BYTES else _read)(data, file)


def _read(data: bytes, file: str | None) -> Properties:
    entries = tuple(_entry(text, line, offset, file) for text, line, offset in _logical_lines(data.decode("latin-1")))
    mapping = {entry.key: entry.value for entry in entries}
    return Properties(mapping=mapping, entries=entries, warnings=tuple(_warnings(data, entries)))


_read_once = functools.lru_cache(maxsize=256)(_read)


def _logical_lines(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (text, line number, offset) of each logical line: no comments, no blank lines, continuations joined.

    A backslash that ends the file, or its last line, escapes nothing and is dropped.
    """
    joined = ""  # the part before a continuation
    line = offset = 0
    for number, match in enumerate(re.finditer(_NATURAL_LINE, text), start=1):
        natural, end = match.groups()
        content = natural.lstrip(_BLANKS)
        if not joined:  # a continuation that brought nothing yet may still turn into a comment
            if content[:1] in ("", "#", "!"):
                continue
            line, offset = number, match.end() - len(end) - len(content)
        if not _ends_with_escape(content):
            yield joined + content, line, offset
            joined = ""
        elif match.end() == len(text) and end != "\r\n":
            yield joined + content[:-1], line, offset
            joined = ""
        else:
            joined += content[:-1]


def _ends_with_escape(text: str) -> bool:
    """Return True if the text ends with an odd number of backslashes."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _entry(text: str, line: int, offset: int, file: str | None) -> Entry:
    key, value = _split(text)
    try:
        return Entry(key=_unescape(key), value=_unescape(value), line=line, offset=offset)
    except ValueError:
        raise InputDecodeError(
            f"Malformed \\uxxxx encoding in line {line}: four hexadecimal digits must follow \\u",
            id="malformed-unicode-escape",
            offset=offset,
            file=file,
            next_step="A backslash that is meant as one is written \\\\ in a .properties file.",
        ) from None


def _split(text: str) -> tuple[str, str]:
    """Return key and value, both still escaped: split at the first `=`, `:` or blank that no backslash escapes."""
    at = next(re.finditer(_KEY, text)).end()  # which is found at the beginning, be it empty
    key, rest = text[:at], text[at:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str) -> str:
    """Undo backslash escapes. Raises ValueError if `\\u` is not followed by four hexadecimal digits."""
    if "\\" not in text:
        return text
    parts, at = [], 0
    escape = re.compile(_ESCAPE)
    while match := escape.search(text, at):
        parts.append(text[at : match.start()])
        at = match.end()
        if match[1] == "u":
            digits = text[at : at + 4]
            if not re.fullmatch(_HEX4, digits):
                raise ValueError(digits)
            parts.append(chr(int(digits, 16)))
            at += 4
        else:
            parts.append(_ESCAPES.get(match[1], match[1]))
    parts.append(text[at:])
    # Two escapes may be the halves of one character; Java counts in halves, Python does not.
    return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _warnings(data: bytes, entries: tuple[Entry, ...]) -> Iterator[PropertyWarning]:
    yield from _mark_warnings(data)
    yield from _encoding_warnings(data)
    seen: dict[str, int] = {}
    for entry in entries:
        if entry.key in seen:
            yield PropertyWarning(
                line=entry.line,
                id="duplicate-property-key",
                key=_shown(entry.key),
                message=f"{_shown(entry.key)} occurs in line {seen[entry.key]} and again in line {entry.line}:"
                " the last takes effect",
            )
        seen[entry.key] = entry.line
        for find in (_trailing_blank, _control_character):
            if warning := find(entry):
                yield warning


def _shown(key: str) -> str:
    """Return a key for a message: one with marks of a login line is the rest of such a line, broken in two."""
    return "a key that may be a part of a login" if any(mark in key for mark in "\"';") else key


def _mark_warnings(data: bytes) -> Iterator[PropertyWarning]:
    name = "UTF-8" if data.startswith(_UTF8_MARK) else "UTF-16" if data.startswith(_UTF16_MARKS) else None
    if name:
        yield PropertyWarning(
            line=1,
            id="byte-order-mark",
            key="",
            message=f"the file begins with a {name} byte order mark, which Java takes for a part of the first key",
        )


def _encoding_warnings(data: bytes) -> Iterator[PropertyWarning]:
    """Yield one warning for the first line (outside of comments) with a byte above 127."""
    if data.isascii() or data.startswith((_UTF8_MARK, *_UTF16_MARKS)):
        return
    for text, line, _ in _logical_lines(data.decode("latin-1")):
        if text.isascii():
            continue
        kind = "in UTF-8" if _is_utf8(text.encode("latin-1")) else "outside of ASCII"
        yield PropertyWarning(
            line=line,
            id="non-ascii-property",
            key=_shown(_split(text)[0]),
            message=f"line {line} holds text {kind}; Java reads every byte of it as one ISO-8859-1 character",
        )
        return


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _trailing_blank(entry: Entry) -> PropertyWarning | None:
    if entry.value == entry.value.rstrip(" \t\f"):
        return None
    return PropertyWarning(
        line=entry.line,
        id="trailing-blank-in-value",
        key=_shown(entry.key),
        message=f"the value of {_shown(entry.key)} in line {entry.line} ends with a blank, and the blank is part of it",
    )


def _control_character(entry: Entry) -> PropertyWarning | None:
    if entry.key.isprintable() and entry.value.isprintable():
        return None
    match = re.search(_CONTROL, entry.key) or re.search(_CONTROL, entry.value)
    if not match:
        return None
    return PropertyWarning(
        line=entry.line,
        id="control-character-in-property",
        key=re.sub(_CONTROL, "?", _shown(entry.key)),
        message=f"line {entry.line} holds the control character U+{ord(match[0]):04X}",
    )


def render_property(key: str, value: str, *, ascii_only: bool) -> str:
    """Return one `key=value` line without its end, escaped as `Properties.store` escapes.

    `ascii_only` is Java's way of writing to a byte stream (what is not printable ASCII becomes a backslash, `u` and
    four digits); without it, the way of writing to a character stream.
    """
    convert: Callable[[str], str] = _escape_unicode if ascii_only else str
    return convert(_escape(key).replace(" ", "\\ ")) + "=" + convert(_escape_leading_blank(_escape(value)))


def _escape(text: str) -> str:
    return text.translate(_WRITTEN)


def _escape_leading_blank(text: str) -> str:
    return "\\" + text if text.startswith(" ") else text


def _escape_unicode(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    units = text.encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if 0x20 <= code <= 0x7E else f"\\u{code:04X}" for code in codes)
