"""Java .properties files. Oracles here: jproperties and javaproperties; tests/lab/storage/test_inputs.py asks a JVM."""

from __future__ import annotations

import re

import javaproperties
import jproperties
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError
from kafkactl.protocol.text.properties import parse_properties, render_property

PIECES = st.sampled_from(
    [
        "a",
        "b",
        "key",
        "=",
        ":",
        " ",
        "\t",
        "\f",
        "\\",
        "\n",
        "\r",
        "\r\n",
        "#",
        "!",
        "\\u0041",
        "\\n",
        "\\\n",
        "\\\r\n",
        "1",
        "é",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def mapping(text: str) -> dict[str, str]:
    return dict(parse_properties(text.encode("latin-1")).mapping)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b\nc d\n e  =  f ", {"a": "b", "c": "d", "e": "f "}),
        ("# note\n ! note\n\n\t\na=b", {"a": "b"}),
        ("a=b\\\n   c\\\r\n\td", {"a": "bcd"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a = = b", {"a": "= b"}),
        ("a\\t=\\n\\r\\f\\t\\q", {"a\t": "\n\r\f\tq"}),
        ("a=\\u00e9\\u00C9", {"a": "éÉ"}),
        ("a=\\ud83d\\ude00", {"a": "\N{GRINNING FACE}"}),
        ("a=1\na=2\na=3", {"a": "3"}),
        ("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
        ("a=1\rb=2", {"a": "1", "b": "2"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("", {}),
        ("a=1\\", {"a": "1"}),
        ("\\", {"": ""}),
        ("\\\n#x\na=1", {"a": "1"}),
        ("a=\\\n# no comment", {"a": "# no comment"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ("a=b  \nc=d\t", {"a": "b  ", "c": "d\t"}),
        ('sasl.jaas.config=x required \\\n  user=\\"u\\";', {"sasl.jaas.config": 'x required user="u";'}),
    ],
)
def test_properties_are_parsed(text: str, expected: dict[str, str]):
    assert mapping(text) == expected


def test_bytes_are_latin_1():
    assert parse_properties("a=ü".encode()).mapping == {"a": "Ã¼"}


def continues_nothing(text: str) -> bool:
    """Return True for lines of blanks and a backslash only: there each of the two libraries has rules of its own,
    unlike Java."""
    return any(line.strip(" \t\f") == "\\" for line in re.split("[\r\n]", text))


@given(TEXTS)
def test_properties_are_parsed_as_by_javaproperties(text: str):
    text += "\nz=1\n"
    assume(not continues_nothing(text))
    assert mapping(text) == javaproperties.loads(text)


# Form feeds, lone CR, bytes above 127 and continuations are where jproperties has rules of its own.
SIMPLE = PIECES.filter(lambda piece: piece not in ("\f", "\r", "é") and not piece.startswith("\\\n"))


@given(st.lists(SIMPLE.filter(lambda piece: piece not in ("\\", "\\\r\n")), max_size=14).map("".join))
def test_properties_are_parsed_as_by_jproperties(text: str):
    theirs = jproperties.Properties()
    try:
        theirs.load(text.encode("latin-1"), "iso-8859-1")
    except jproperties.ParseError:
        return
    assert mapping(text) == {key: value.data for key, value in theirs.items()}


@pytest.mark.parametrize("text", ["a=\\u", "a=\\u12", "a=\\u12g4", "a\\u00=1", "a=\\u 041", "a=\\uu0041"])
def test_malformed_escapes_are_refused(text: str):
    with pytest.raises(DecodeError) as caught:
        parse_properties(b"x=1\n" + text.encode(), file="server.properties")
    error = caught.value
    assert (error.id, error.exit_code, error.offset) == ("malformed-unicode-escape", 2, 4)
    assert "server.properties, byte 4" in error.message
    assert "Malformed \\uxxxx encoding in line 2" in error.message
    assert error.next_step


@pytest.mark.parametrize(
    ("data", "id", "line", "key"),
    [
        (b"a=1\n\nb=2\na=3", "duplicate-property-key", 4, "a"),
        (b"x=1\na=1 \nb=2", "trailing-blank-in-value", 2, "a"),
        (b"a=1\t", "trailing-blank-in-value", 1, "a"),
        (b"a=\\u0000", "control-character-in-property", 1, "a"),
        (b"a\x00b=1", "control-character-in-property", 1, "a?b"),
        (b"\xef\xbb\xbfa=1", "byte-order-mark", 1, ""),
        (b"\xff\xfea\x00=\x001\x00", "byte-order-mark", 1, ""),
        ("x=1\na=ü".encode(), "non-ascii-property", 2, "a"),
        (b"a=\xfc", "non-ascii-property", 1, "a"),
    ],
)
def test_suspicious_line_is_a_warning(data: bytes, id: str, line: int, key: str):
    warning = parse_properties(data).warnings[0]
    assert (warning.id, warning.line, warning.key) == (id, line, key)
    finding = warning.finding("f")
    assert finding.subject == f"f, line {line}"
    assert finding.advice and finding.message


@pytest.mark.parametrize("data", [b"", b"a=1\r\nb=2\r\n", "# ü\na=1".encode(), b"a=b\\\n  c"])
def test_ordinary_line_has_no_warning(data: bytes):
    assert parse_properties(data).warnings == ()


def test_lines_and_offsets_of_keys_are_found():
    found = parse_properties(b"# c\na=1\n  b\\\n  =2\na=3\n")
    assert [(entry.key, entry.line, entry.offset) for entry in found.entries] == [
        ("a", 2, 4),
        ("b", 3, 10),
        ("a", 5, 18),
    ]
    assert (found.line_of("a"), found.offset_of("a"), found.line_of("z"), found.offset_of("z")) == (5, 18, None, 0)


def test_values_stay_out_of_reprs():
    assert "hunter2" not in repr(parse_properties(b"ssl.key.password=hunter2"))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("abc", "k=abc"),
        (" a b", "k=\\ a b"),
        ("a:b=c#d!e\\f", "k=a\\:b\\=c\\#d\\!e\\\\f"),
        ("\t\n\r\f", "k=\\t\\n\\r\\f"),
        ("", "k="),
    ],
)
def test_writing_escapes(value: str, written: str):
    assert render_property("k", value, ascii_only=True) == written
    assert render_property("k", value, ascii_only=False) == written


def test_characters_beyond_ascii_are_escaped():
    assert render_property("k", "é\N{GRINNING FACE}\x01", ascii_only=True) == "k=\\u00E9\\uD83D\\uDE00\\u0001"
    assert render_property("k", "é", ascii_only=False) == "k=é"
    assert render_property("a b", "c", ascii_only=False) == "a\\ b=c"


@pytest.mark.slow
@given(st.text(max_size=8), st.text(max_size=8))
def test_written_property_is_read_again(key: str, value: str):
    line = render_property(key, value, ascii_only=True)
    assert line.isascii()
    assert parse_properties(line.encode()).mapping == {key: value}
