"""JSON that others write: what is wrong with it is said by line and column, in words of ours, and without its text."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkactl.core.json_input import JsonInputError, parse_json
from tests.hypothesis_profiles import examples
from tests.samples.damage import HOSTILE

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@settings(max_examples=examples(60))
@given(VALUES)
def test_json_is_read_as_python_reads_it(value: object) -> None:
    text = json.dumps(value)
    assert parse_json(text) == parse_json(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "the text ends at line 1, column 1: expected a value"),
        (b'{"a": 1,\n "b": ', "the text ends at line 2, column 7: expected a value"),
        (b'{\n "a" 1}', "line 2, column 6: expected a colon behind the key"),
        (b"[1 2]", "line 1, column 4: expected a comma or the end of the list or object"),
        (b"{a: 1}", "line 1, column 2: expected a key in double quotes"),
        (b"{} {}", "line 1, column 4: expected the end of the text"),
        (b'["a', "line 1, column 2: the text in quotes that begins here has no end"),
        (b'"\x01"', "line 1, column 2: expected an escape such as \\n in the place of a control character"),
        (b'"\\x"', "line 1, column 2: expected an escape that JSON has"),
        (b'"\\u12"', "expected four hexadecimal digits"),
        (b"hunter2", "line 1, column 1: expected a value"),
        (b"NaN", "NaN is not a number of JSON"),
        (b"-1e999", "a number is larger than any that can be read"),
        (b"1" * 5_000, "a number has more digits than can be read"),
        (b"[" * 100_000, "lists and objects stand in each other too deeply"),
        (b'"\xff"', "byte 1 is not UTF-8"),
    ],
    ids=range(16),
)
def test_json_error_has_its_place_and_not_the_text(text: bytes, words: str) -> None:
    with pytest.raises(JsonInputError) as caught:
        parse_json(text)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_duplicate_key_is_refused_on_request() -> None:
    assert parse_json('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(JsonInputError, match="the key 'a' stands twice in one object"):
        parse_json('{"b": {"a": 1, "a": 2}}', unique_keys=True)


def test_any_number_is_parsed() -> None:
    assert parse_json("1e999", any_number=True) == math.inf


def test_byte_order_mark_is_passed_over() -> None:
    assert parse_json(b"\xef\xbb\xbf{}") == parse_json("\ufeff{}") == {}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_read_or_refused(text: bytes) -> None:
    for form in (text, b'{"a": ' + text + b"}", b"[" + text):
        try:
            json.dumps(parse_json(form), allow_nan=False)
        except JsonInputError as error:
            assert str(error)
