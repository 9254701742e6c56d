"""Phrases that messages share."""

from __future__ import annotations

import pytest

from kafkactl.core.wording import counted, file_name_of, first_few, plural, some

LETTERS = ["c", "a", "b"]


@pytest.mark.parametrize(
    ("most", "phrase"), [(1, "c and 2 more"), (2, "c, a and 1 more"), (3, "c, a, b"), (4, "c, a, b")]
)
def test_first_of_a_list_keep_their_order(most, phrase):
    assert first_few(LETTERS, most) == phrase


def test_count_includes_names_that_are_not_in_the_list():
    assert first_few(LETTERS, 2, count=40) == "c, a and 38 more"
    assert first_few(LETTERS, count=40) == "c, a, b and 35 more"


def test_few_of_a_set_are_sorted():
    assert some({"c", "a", "b"}, 2) == "a, b and 1 more"
    assert some(iter(())) == ""


@pytest.mark.parametrize(("count", "phrase"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps")])
def test_number_has_its_noun(count, phrase):
    assert counted(count, "step") == phrase
    assert f"{count} {plural('step', count)}" == phrase


@pytest.mark.parametrize(
    ("cluster_id", "name"),
    [
        ("4L6g3nShT-eMCtK--X86sw", "4L6g3nShT-eMCtK--X86sw"),
        ("../../etc", "%2e%2e%2f%2e%2e%2fetc"),
        ("a b\x00", "a%20b%0"),
        ("é", "%e9"),
    ],
)
def test_cluster_id_as_a_file_name_leads_to_no_other_folder(cluster_id, name):
    assert file_name_of(cluster_id) == name
