"""Lines of keys in TOML: compared with what the parser reads, and with the lines in which the keys were written."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkactl.protocol.text.toml_lines import in_line, key_lines, read_toml
from tests.hypothesis_profiles import examples

DOCUMENT = '''# a comment with [brackets] and = signs
title = "a # no comment"
text = """
not.a = "key"
[neither]
"""
raw = \'\'\'
x = 1\'\'\'
"quoted \\u0061" = 1
list = [
  "a", # ]
  [1, 2],
]
inline = { a = 1, b = [ { c = 2 } ] }

[zookeeper]
connect = "zk:2181"
a.b = 1
[[nodes]]
id = 1
[nodes.hooks]
stop = ["x"]
[[nodes]]
id = 2
[nodes.hooks]
stop = "y"
'''
LINES = {
    ("title",): 2, ("text",): 3, ("raw",): 7, ("quoted a",): 9, ("list",): 10, ("inline",): 14, ("zookeeper",): 16,
    ("zookeeper", "connect"): 17, ("zookeeper", "a"): 18, ("zookeeper", "a", "b"): 18, ("nodes",): 19, ("nodes", 0): 19,
    ("nodes", 0, "id"): 20, ("nodes", 0, "hooks"): 21, ("nodes", 0, "hooks", "stop"): 22, ("nodes", 1): 23,
    ("nodes", 1, "id"): 24, ("nodes", 1, "hooks"): 25, ("nodes", 1, "hooks", "stop"): 26,
}  # fmt: skip


def test_lines_of_keys_are_found_in_a_document() -> None:
    assert tomli.loads(DOCUMENT)["nodes"][1] == {"id": 2, "hooks": {"stop": "y"}}
    assert key_lines(DOCUMENT) == LINES
    assert key_lines(DOCUMENT.replace("\n", "\r\n")) == LINES


def test_tables_know_their_lines() -> None:
    table = read_toml(DOCUMENT)
    assert table == tomli.loads(DOCUMENT)
    assert (table.line_of("title"), table["nodes"][1].line_of("id")) == (2, 24)
    assert table["inline"]["b"][0].line_of("c") == 14, "the statement's"
    assert table["nodes"][1]["hooks"].line_of("missing") == 25, "the table's"
    assert in_line(table, "raw") == " (line 7)"
    assert in_line({"raw": 1}, "raw") == ""


@pytest.mark.parametrize(
    "text", ["a", "a = ", "[", "[[", '"', "a = [", 'a = """', "[a", "=", "a.b.", "\\", "]]", "{}=1"]
)
def test_invalid_toml_is_scanned_to_its_end(text: str) -> None:
    key_lines(text)


_VALUES = st.recursive(
    st.integers(-9, 9) | st.text("ab#='\"[]{}\\\n, ", max_size=6),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return "[ # (\n" + "".join(f"{_written(item)},\n" for item in value) + "]"
    return json.dumps(value)


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.tuples(st.text("ab.# \"'=[]", min_size=1, max_size=4), _VALUES), max_size=6, unique_by=lambda pair: pair[0]
    )
)
def test_lines_of_keys_are_found_next_to_any_values(entries: list[tuple[str, Any]]) -> None:
    # Strings, comments and brackets of any kind lead to no other key.
    text, wanted = "", {}
    for name, value in entries:
        wanted[(name,)] = 1 + text.count("\n")
        text += f"{json.dumps(name)} = {_written(value)} # [ ' \"\n"
    assert tomli.loads(text) == dict(entries)
    assert key_lines(text) == wanted


def test_open_brackets_are_read_in_linear_time() -> None:
    assert key_lines("a = [\n" * 50_000) == {("a",): 1}
