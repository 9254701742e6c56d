"""The rules for the members of an archive."""

from __future__ import annotations

import pytest

from kafkactl.bundle.members import (
    FREE_BYTES,
    MOST_BYTES,
    MOST_MEMBERS,
    Entry,
    check_entries,
    is_member_name,
    too_large,
)
from kafkactl.core.errors import InputError

NAMES = ["manifest.json", "answers/log.image-1.json", "logs/1/__cluster_metadata-0/00000000000000000000.log"]
WRONG_NAMES = [
    "", "/etc/passwd", "../x", "a/../x", "a//x", "a/", "./x", ".hidden", "a\\x", "C:/x", "a b", "a\0b", "a\nb", "é",
    "x" * 241, "/".join("abcdefghi"),
]  # fmt: skip


def entry(name: str = "a", *, size: int = 10, compressed: int = 5, offset: int = 0, is_plain: bool = True) -> Entry:
    return Entry(name=name, size=size, compressed_size=compressed, offset=offset, is_plain=is_plain)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_bundles_have(name: str) -> None:
    assert is_member_name(name)


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_name_outside_of_the_folder_is_refused(name: str) -> None:
    assert not is_member_name(name)
    with pytest.raises(InputError) as error:
        check_entries([entry(name)], 1000, file="x.zip")
    assert error.value.id == "hostile-bundle"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([entry(is_plain=False)], "a link"),
        ([entry(), entry(offset=100)], "same name"),
        ([entry("a"), entry("a/b", offset=100)], "the folder of another"),
        ([entry("a", compressed=50), entry("b", offset=40)], "overlap"),
        ([entry("a", offset=999, compressed=50)], "overlap"),
        ([entry(size=MOST_BYTES + 1)], "the limit"),
        ([entry(size=FREE_BYTES + 1)], "200 times"),
        ([entry(f"n{number}", offset=number * 50) for number in range(MOST_MEMBERS + 1)], "10001 members"),
    ],
)
def test_unsafe_archive_entries_are_refused(entries: list[Entry], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_entries(entries, 1000, file="x.zip")


def test_compressed_metadata_log_is_not_refused() -> None:
    assert too_large([FREE_BYTES * 10], FREE_BYTES // 3) is None
    check_entries([entry("a"), entry("b", offset=50)], 1000, file="x.zip")
