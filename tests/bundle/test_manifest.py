"""The manifest: what is written is read, and what was not written so is a typed error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.bundle.manifest import (
    Manifest,
    Member,
    PartError,
    PartResult,
    SavedLog,
    parse_manifest,
    render_manifest,
)
from kafkactl.core.errors import InputError
from tests.sampling import one_in

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
PATHS = st.from_regex(r"[a-z]{1,9}/[a-z]{1,9}", fullmatch=True)
NUMBERS = st.integers(0, 2**62)
ERRORS = st.none() | st.builds(PartError, id=TEXTS, message=TEXTS, next_step=TEXTS)
PARTS = st.builds(
    PartResult,
    name=TEXTS,
    about=TEXTS,
    members=st.lists(PATHS, max_size=3).map(tuple),
    exit_code=st.none() | NUMBERS,
    error=ERRORS,
)
LOGS = st.builds(
    SavedLog,
    number=NUMBERS,
    source=TEXTS,
    folder=TEXTS,
    cluster_id=st.none() | TEXTS,
    replaced=st.dictionaries(TEXTS, NUMBERS, max_size=3),
)
MEMBERS = st.builds(Member, path=PATHS, size=NUMBERS, sha256=st.just("ab" * 32))
MANIFESTS = st.builds(
    Manifest,
    kafkactl_version=TEXTS,
    created_ms=NUMBERS,
    cluster_id=st.none() | TEXTS,
    parts=st.lists(PARTS, max_size=3).map(tuple),
    logs=st.lists(LOGS, max_size=2).map(tuple),
    members=st.lists(MEMBERS, max_size=3).map(tuple),
)
SMALL = Manifest(
    kafkactl_version="1", created_ms=5, cluster_id=None, parts=(PartResult(name="a", about="b"),),
    logs=(SavedLog(number=1, source="s", folder="logs/1", cluster_id=None),),
    members=(Member(path="a", size=1, sha256="ab" * 32),),
)  # fmt: skip


@pytest.mark.slow
@given(MANIFESTS)
def test_written_manifest_is_read_again(manifest: Manifest) -> None:
    assert parse_manifest(render_manifest(manifest), file="x") == manifest


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"kind": "bundle"}', b'{"kind": "bundle.manifest"}'],
    ids=range(8),
)
def test_other_content_is_refused_as_a_manifest(data: bytes) -> None:
    with pytest.raises(InputError) as error:
        parse_manifest(data, file="x.zip")
    assert error.value.id == "invalid-bundle" and "x.zip" in error.value.message


@pytest.mark.parametrize("wrong", one_in(3, [None, 1, -1, True, "x", [], [1], {}, {"a": "b"}, [{}], 1.5]))
@pytest.mark.parametrize(
    "path",
    [
        ("kafkactl_version",), ("created_ms",), ("cluster_id",), ("parts",), ("logs",), ("members",),
        ("parts", 0, "name"), ("parts", 0, "members"), ("parts", 0, "exit_code"), ("parts", 0, "error"),
        ("logs", 0, "number"), ("logs", 0, "replaced"), ("members", 0, "path"), ("members", 0, "size"),
        ("members", 0, "sha256"),
    ],
)  # fmt: skip
def test_value_of_another_type_is_reported(path: tuple[Any, ...], wrong: Any) -> None:
    document = json.loads(render_manifest(SMALL))
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    try:
        parsed = parse_manifest(json.dumps(document).encode(), file="x")
    except InputError as error:
        assert error.id == "invalid-bundle"
    else:
        assert json.loads(render_manifest(parsed)) == document, "what is taken is kept as it is"


def test_manifest_of_a_later_version_is_refused() -> None:
    with pytest.raises(InputError) as error:
        parse_manifest(json.dumps(json.loads(render_manifest(SMALL)) | {"schema_version": 2}).encode(), file="x")
    assert error.value.id == "bundle-too-new" and error.value.exit_code == 2
