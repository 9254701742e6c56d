"""The words of --target, and which directory of a node they mean."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.quorum.target import TargetVoter, parse_target, resolve
from tests.quorum.worlds import directory, key, world


def test_ids_and_directories_are_read_in_any_order():
    assert parse_target(f" 3, 1@{directory('b')},2,") == (
        TargetVoter(node_id=1, directory_id=directory("b")),
        TargetVoter(node_id=2),
        TargetVoter(node_id=3),
    )


@pytest.mark.parametrize("text", ["", " ", ",,"])
def test_nothing_is_an_empty_target(text):
    assert parse_target(text) == ()


@pytest.mark.parametrize("text", ["a", "1,x", "-1", "1.5", "2147483648", "1,1", "1@", "@", "²", "1;2", "1 2"])
def test_target_without_node_ids_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse_target(text)
    assert (caught.value.id, caught.value.exit_code) == ("invalid-target", 2)


def test_directory_that_is_not_a_uuid_is_refused():
    with pytest.raises(InputError) as caught:
        parse_target("1@nonsense")
    assert caught.value.id == "invalid-uuid"


@pytest.mark.parametrize(
    ("here", "text", "keys", "missing"),
    [
        (world("1 2 3", observers="4"), "1,4", ["1a", "4a"], []),
        (world("1 2 3", dead="3"), "1,3", ["1a", "3a"], []),
        (world("1 2 3", dead="3", observers="3b"), "1,3", ["1a", "3b"], []),
        (world("1 2 3", dead="3", observers="3b"), f"3@{directory('a')}", ["3a"], []),
        (world("1 2 3", observers="4"), f"4@{directory('b')}", ["4b"], ["4b"]),
    ],
)
def test_directory_of_each_target_voter_is_resolved(here, text, keys, missing):
    found = resolve(here.observe(), parse_target(text))
    assert found.keys == {key(int(item[0]), item[1]) for item in keys}
    assert found.missing == {key(int(unread[0]), unread[1]) for unread in missing}
    assert [finding.id for finding in found.findings] == ["target-not-fetching"] * len(missing)


def test_known_directory_is_reported_for_a_target_that_is_not_found():
    finding = resolve(world("1 2 3").observe(), parse_target(f"3@{directory('c')}")).findings[0]
    assert str(directory("a")) in finding.message and finding.subject == "controller 3"
