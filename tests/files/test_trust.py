"""Detection of files on a host that another user could have planted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.files.trust import distrust_of, user_name

OTHER = os.geteuid() + 1 if os.geteuid() else 12_345


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a file in a folder, both of this user and writable for no other."""
    folder = tmp_path / "config"
    folder.mkdir(mode=0o755)
    file = folder / "server.properties"
    file.write_text("node.id=1\n")
    file.chmod(0o644)
    folder.chmod(0o755)
    return file


def test_file_of_this_user_is_trusted(place):
    assert distrust_of(str(place)) is None


@pytest.mark.parametrize(("mode", "by"), [(0o664, "its group"), (0o646, "every user")])
def test_file_that_others_can_write_is_not_trusted(place, mode, by):
    place.chmod(mode)
    assert distrust_of(str(place)).reason == f"it can be written by {by} (mode {mode:04o})"


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_folder_that_others_can_write_is_not_trusted(place, mode):
    place.parent.chmod(mode)
    assert f"its folder {place.parent} can be written" in distrust_of(str(place)).reason


def test_folder_above_that_others_can_write_is_not_trusted(place):
    place.parent.parent.chmod(0o777)
    assert f"its folder {place.parent.parent} can be written" in distrust_of(str(place)).reason


def test_sticky_folder_may_be_writable_for_all(place):
    place.parent.chmod(0o1777)
    assert distrust_of(str(place)) is None


def test_file_of_another_user_names_its_owner(place):
    if os.geteuid():  # This user's file, asked about for another user.
        assert distrust_of(str(place), user=OTHER).owner == user_name(os.geteuid())
        return
    os.chown(place, OTHER, OTHER)
    found = distrust_of(str(place))
    assert found.reason == f"it belongs to {user_name(OTHER)}, who is neither root nor the user who asks"
    assert found.owner == user_name(OTHER)


def test_link_is_followed_to_a_folder_that_others_can_write(place, tmp_path):
    link = tmp_path / "usual.properties"
    link.symlink_to(place)
    assert distrust_of(str(link)) is None
    place.parent.chmod(0o777)
    assert f"its folder {place.parent}" in distrust_of(str(link)).reason


def test_relative_link_with_a_folder_in_between_is_followed(place, tmp_path):
    link = tmp_path / "config" / "link.properties"
    link.symlink_to("../config/server.properties")
    assert distrust_of(str(link)) is None


def test_circle_of_links_is_not_trusted(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "links lead to it" in distrust_of(str(tmp_path / "a")).reason


def test_missing_file_and_pipe_are_not_trusted(tmp_path):
    assert "cannot be examined" in distrust_of(str(tmp_path / "missing")).reason
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o600)
    assert distrust_of(str(fifo)).reason == "it is not a regular file"
