"""Tables of what differs between releases: rows inherit from the row above."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import SchemaError
from kafkactl.protocol.schema import release_table
from kafkactl.protocol.schema.release_table import read_release_table

TABLE = """
[[release]]
from = "3.9"
colour = "red"
levels = { 1 = 0, 2 = 5 }

[[release]]
from = "4.0.1"
colour = "blue"

[[release]]
from = "4.2"
levels = { 2 = 6, 3 = 0 }
"""


def table(monkeypatch, text, fields=("colour", "levels")):
    monkeypatch.setattr(release_table, "read_data", lambda _name: text.encode())
    return read_release_table("features/colours.toml", fields)


@pytest.mark.parametrize(
    ("version", "colour", "levels"),
    [
        ((3, 8, 5), "red", {"1": 0, "2": 5}),
        ((3, 9, 0), "red", {"1": 0, "2": 5}),
        ((4, 0, 0), "red", {"1": 0, "2": 5}),
        ((4, 0, 1), "blue", {"1": 0, "2": 5}),
        ((4, 1, 9), "blue", {"1": 0, "2": 5}),
        ((4, 2, 0), "blue", {"1": 0, "2": 6, "3": 0}),
        ((5, 0, 0), "blue", {"1": 0, "2": 6, "3": 0}),
    ],
)
def test_row_holds_from_its_patch_on_and_says_only_what_changed(monkeypatch, version, colour, levels):
    assert table(monkeypatch, TABLE).at(version) == {"colour": colour, "levels": levels}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (TABLE.replace('colour = "red"\n', ""), r"colours\.toml, 3\.9: .*\['colour'\]"),
        (TABLE.replace('"blue"', '"blue"\nshape = "round"'), r"colours\.toml, 4\.0\.1: .*\['shape'\]"),
        (TABLE.replace("4.2", "4.0.1"), r"colours\.toml, 4\.0\.1: .*not newer"),
        (TABLE.replace("4.2", "3.3"), r"colours\.toml, 3\.3: .*not newer"),
    ],
    ids=["missing field", "unknown field", "the same patch twice", "out of order"],
)
def test_table_that_says_too_little_or_too_much_is_refused(monkeypatch, text, names):
    with pytest.raises(SchemaError, match=names) as caught:
        table(monkeypatch, text)
    assert caught.value.id == "invalid-release-table"


def test_row_does_not_change_the_rows_above_it(monkeypatch):
    first, second, third = table(monkeypatch, TABLE).rows
    assert (first.fields["colour"], second.fields["colour"]) == ("red", "blue")
    assert first.fields["levels"] == {"1": 0, "2": 5}
    assert [row.since for row in (first, second, third)] == [(3, 9, 0), (4, 0, 1), (4, 2, 0)]
