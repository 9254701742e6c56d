"""Readers of others' bytes in the library: each has a fuzz target, or a reason why not.

A reader is known by what it is: a public function `parse_…`, `decode_…`, `read_…` or `scan_…` that takes bytes (or a
text, for `parse_…`), or a call of a parser: JSON, TOML, CSV, `struct`. Data of our own (`read_data`) does not count.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.campaigns.fuzz.targets import TARGETS
from tests.repository.tree import ROOT, nodes, parsed, python_files, text_of

_VERBS = ("parse_", "decode_", "read_", "scan_", "unpacked")
_CONTENT = {"bytes", "bytes | None", "str | bytes", "bytes | str"}
_PARSERS = {"parse_json", "json.loads", "tomli.loads", "csv.reader", "zipfile.ZipFile", "struct.unpack"}
_MAY_READ = re.compile(rf"def ({'|'.join(_VERBS)})|\.unpack|{'|'.join(map(re.escape, _PARSERS))}")

_OWN_BYTES = "what it reads comes from a process of this run, over a pipe or from its own memory"
_OWN_TEXT = "it reads a text that kafkactl has just made"
_OWN_DATA = "it reads the definitions that are installed with it"
WITHOUT = {
    "bundle.io.writing": "it writes an archive",
    "storage.io.locks": "the kernel fills a structure of fixed size",
    "storage.io.class_paths": "the jars are those that the node runs; only their directory is read, by the library",
    "kafka.sasl.token": "an HTTP server is needed: `answer with a token` in test_hostile_inputs",
    "migration.io.observe": "its parser is that of the target znode-values",
    "files.children": _OWN_BYTES,
    "jobs.session": "it looks into the archives of the installed Spark",
    "spark.record_rows": _OWN_TEXT,
    "spark.record_times": "it reads headers of batches whose CRC is right",
    "spark.kafka_metadata": "it reads the list of paths that a program passed to Spark",
    "core.json_input": "read by every target of JSON, and a test of its own",
    "metadata.api.image": _OWN_TEXT,
    "protocol.schema.dialect": _OWN_DATA,
    "core.package_data": _OWN_DATA,
    "core.remedies": _OWN_DATA,
    "tiered.ledger_bytes": _OWN_BYTES,
}


def readers() -> set[str]:
    """Return the modules that read, without `kafkactl.`."""
    return {
        ".".join(path.relative_to(ROOT / "kafkactl").with_suffix("").parts)
        for path in python_files("kafkactl")
        if _reads(path)
    }


def _reads(path: Path) -> bool:
    if _MAY_READ.search(text_of(path)) is None:  # a syntax tree is made of the few files that may
        return False
    functions = [node for node in parsed(path).body if isinstance(node, ast.FunctionDef)]
    return any(_takes_content(function) for function in functions) or any(
        _parses(call) for call in nodes(path, ast.Call)
    )


def _takes_content(function: ast.FunctionDef) -> bool:
    if not function.name.startswith(_VERBS) or not function.args.args:
        return False
    first = function.args.args[0].annotation
    kind = "" if first is None else ast.unparse(first)
    return kind in _CONTENT or (kind == "str" and function.name.startswith("parse_"))


def _parses(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    own = any(isinstance(part, ast.Name) and part.id == "read_data" for part in ast.walk(call))
    return not own and (name in _PARSERS or name.endswith((".unpack_from", ".unpack")))


@pytest.mark.slow
def test_every_reader_has_a_target_or_a_reason() -> None:
    found = readers()
    fuzzed = {name for target in TARGETS.values() for name in target.reads}
    assert not fuzzed & set(WITHOUT), "these have a target"
    assert found - fuzzed == set(WITHOUT), "give it a target, or a reason"
