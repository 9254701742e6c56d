"""Releases in the output of hooks."""

from __future__ import annotations

import pytest

from kafkactl.roll.release_text import named_release


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("4.3.1\n", "4.3.1"),
        ("apache/kafka:4.3.1", "4.3.1"),
        ("registry.example:5000/kafka:v4.4.0", "4.4.0"),
        ("kafka_2.13-3.9.2.jar", "3.9.2"),
        ("4.3.1\n4.3.1\n", "4.3.1"),
        ("4.3.1\n4.4.0\n", None),
        ("4.4", "4.4"),
        ("latest", None),
        ("", None),
        (None, None),
    ],
)
def test_release_in_a_text_is_read(text: str | None, release: str | None) -> None:
    assert named_release(text) == release
