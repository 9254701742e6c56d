from __future__ import annotations

import pytest

from kafkactl.core.errors import SchemaError
from kafkactl.protocol.schema.dialect import _object, parse_definition, parse_versions
from kafkactl.protocol.schema.spec import NO_VERSIONS, Versions


def test_whole_line_comments_are_dropped() -> None:
    text = '// licence\n{\n  // why\n  "name": "A", // not here: this is no whole line\n"x": 1}'
    with pytest.raises(SchemaError, match="line 4"):
        parse_definition(text)
    assert parse_definition('// licence\n{\n  // why\n  "name": "a // b"\n}\n') == {"name": "a // b"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("{", "line 1"),
        ("[]", "expected an object"),
        ("null", "expected an object"),
        ('{"a": 1,\n "a": 2}', "'a' stands twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_invalid_definition_is_refused(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        parse_definition(text)
    assert caught.value.id == "invalid-definition"


class Name(str):
    """A key that counts how often it is compared."""

    compared = 0

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_repeated_key_behind_many_others_is_found_by_comparing_few() -> None:
    # Names that are looked up are compared once or twice each; each with each would be 4.5 million comparisons.
    Name.compared = 0
    names = [Name(f"key-{number}") for number in range(3_000)]
    with pytest.raises(SchemaError, match="'key-2999' stands twice"):
        _object([(name, 0) for name in [*names, Name("key-2999")]])
    assert 1 <= Name.compared < 10 * len(names)


def test_last_key_wins_where_kafka_itself_repeats_one() -> None:
    assert parse_definition('{"versions": "0", "versions": "0+"}', last_key_wins=True) == {"versions": "0+"}


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("0", Versions(0, 0)),
        ("3", Versions(3, 3)),
        ("3+", Versions(3, 32767)),
        ("3-5", Versions(3, 5)),
        ("none", NO_VERSIONS),
        ("0-32767", Versions(0, 32767)),
    ],
)
def test_version_ranges_are_parsed(text: str, versions: Versions) -> None:
    assert parse_versions(text, "here") == versions


@pytest.mark.parametrize("text", ["", "1-", "-1", "5-3", "1,3", "0-1,3+", "1 +", "01", "32768+", "1+2", "x", None, 3])
def test_holes_and_other_texts_are_not_a_version_range(text: object) -> None:
    with pytest.raises(SchemaError, match="here"):
        parse_versions(text, "here")


@pytest.mark.parametrize("text", ["0", "3", "3+", "3-5", "none"])
def test_versions_are_written_as_they_are_read(text: str) -> None:
    assert str(parse_versions(text, "here")) == text


def test_ranges_are_intersected() -> None:
    assert Versions(0, 5).intersect(Versions(3, 9)) == Versions(3, 5)
    assert Versions(0, 2).intersect(Versions(3, 9)) == NO_VERSIONS
    assert NO_VERSIONS.intersect(Versions(0, 9)) == NO_VERSIONS
    assert list(Versions(3, 5)) == [3, 4, 5]
    assert 4 in Versions(3, 5)
    assert 6 not in Versions(3, 5)
    assert not NO_VERSIONS
