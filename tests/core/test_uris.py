"""Paths and URIs: one rule in every command that reads a log or writes tables of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.core.uris import disk_path, needs_spark, plain_paths, scheme_of
from tests.conftest import Run
from tests.dryrun.odd_logs import CASES, encoded
from tests.spark.logs import write_log

Kafkactl = Callable[..., Run]


@pytest.mark.parametrize(
    "source, scheme",
    [
        ("/logs/x", None),
        ("logs:old/x", None),
        ("C:x", None),
        ("file:/logs", "file"),
        ("FILE:///logs", "file"),
        ("hdfs://name/logs", "hdfs"),
        ("s3a://bucket/logs", "s3a"),
    ],
)
def test_scheme_of_a_source_is_found(source: str, scheme: str | None) -> None:
    assert scheme_of(source) == scheme
    assert needs_spark([source]) == (scheme not in (None, "file"))


@pytest.mark.parametrize(
    "uri, path",
    [
        ("/a b", "/a b"),
        ("a%20b", "a%20b"),
        ("file:/a/b", "/a/b"),
        ("FILE:////a", "/a"),
        ("file:///", "/"),
        ("file:///a%20b", "/a%20b"),
        ("file:///a?b#c", "/a?b#c"),
        ("file://localhost/c", "/c"),
    ],
)
def test_characters_of_file_uri_are_those_of_path(uri: str, path: str) -> None:
    assert plain_paths([uri]) == {uri: path}


@pytest.mark.parametrize("uri", ["file://elsewhere/a", "file://localhost", "file://"])
def test_file_uri_of_another_machine_is_refused(uri: str) -> None:
    with pytest.raises(InputError) as caught:
        disk_path(uri)
    assert caught.value.id == "invalid-file-uri"


COMMANDS = (
    ("log", "dump"),
    ("log", "image"),
    ("log", "verify"),
    ("log", "lint"),
    ("log", "history", "--topic", "t"),
    ("log", "browse"),
    ("log", "diff"),
    ("log", "export", "--table", "topics", "--format", "jsonl", "--mode", "overwrite", "--out"),
    ("dryrun", "replay"),
    ("dryrun", "report"),
    ("tiered", "segments"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_reads_same_log_by_path_and_by_uri(
    kafkactl: Kafkactl, tmp_path: Path, command: tuple[str, ...]
) -> None:
    logs = {name: write_log(tmp_path, name, encoded(CASES["ended"]), cluster_id="one") for name in ("a%20b", "a b")}
    (logs["a b"] / f"{0:020d}.log").write_bytes(b"")  # a log that is decoded by mistake has another answer
    path = str(logs["a%20b"])
    found = []
    for source in (path, f"file:{path}", f"file://{path}", f"file://localhost{path}"):
        more = (str(tmp_path / "out"),) if command[-1] == "--out" else (path,) if command[1] == "diff" else ()
        run = kafkactl(*command, *more, source, "-o", "json")
        found.append((run.code, (run.stdout + run.stderr).replace(source, path)))
    assert len(set(found)) == 1, found
    assert "No such file" not in found[0][1] or command[0] == "tiered"
    refused = kafkactl(*command, *more, "file://elsewhere/log", "-o", "json")
    assert (refused.code, refused.error["id"]) == (2, "invalid-file-uri")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command[1] != "export"], ids=" ".join)
def test_command_refuses_a_file_system_of_hadoop(kafkactl: Kafkactl, command: tuple[str, ...]) -> None:
    more = ("s3a://bucket/other",) if command[1] == "diff" else ()
    run = kafkactl(*command, *more, "s3a://bucket/log", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "path-needs-spark")
