"""Single writer to streams: foreign text passes through `commands/rendering/output.py`, which cleans it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.repository.tree import ROOT, nodes, product_files, shown

WRITER = "commands/rendering/output.py"
# A constant before anything is imported; and a page, whose words are clean, drawn by rich.
EXCEPTIONS = {"kafkactl/__main__.py": {"write"}, "commands/rendering/terminal.py": {"print"}}
CLICK = ("echo", "secho", "echo_via_pager", "confirm", "prompt", "pause", "progressbar")
# Texts that are hashed, so that their bytes are part of a format, or that a node of Kafka reads.
RAW_JSON = {
    "kafkactl/metadata/image/digest.py",
    "kafkactl/metadata/image/json.py",
    "kafkactl/change/plan_document.py",
    "kafkactl/storage/fleet/receipts.py",
    "kafkactl/files/contexts_edit.py",  # a text of TOML
}


def writes(calls: Iterable[ast.Call]) -> Iterator[str]:
    """Yield those of the calls that put text on a stream of the process."""
    for node in calls:
        match node.func:
            case ast.Name(id="print" | "input" as name):
                yield name
            case ast.Attribute(value=ast.Name(id="click"), attr=name) if name in CLICK:
                yield name
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr"), attr=name):
                if name in ("write", "writelines"):
                    yield name
            case ast.Attribute(value=ast.Attribute(attr="buffer"), attr="write"):
                yield "write"
            case ast.Attribute(value=ast.Name(id="os"), attr="write") if _is_standard(node.args[:1]):
                yield "write"


def _is_standard(arguments: list[ast.expr]) -> bool:
    return bool(arguments) and isinstance(arguments[0], ast.Constant) and arguments[0].value in (1, 2)


def test_only_one_module_writes_to_the_streams():
    found = {
        f"{shown(path)}: {name}"
        for path in product_files()
        if shown(path) != WRITER
        for name in writes(nodes(path, ast.Call))
        if name not in EXCEPTIONS.get(shown(path), set())
    }
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        "print(x)", "input(x)", "click.echo(x)", "click.confirm(x)", "sys.stdout.write(x)", "sys.stderr.writelines(x)",
        "sys.stdout.buffer.write(x)", "os.write(2, x)",
    ],
)  # fmt: skip
def test_rule_sees_every_way_to_write(code: str):
    assert list(writes(node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)))


def test_only_one_module_writes_json_with_letters_beyond_ascii():
    found = {
        shown(path)
        for path in product_files()
        for node in nodes(path, ast.keyword)
        if node.arg == "ensure_ascii" and shown(path) != "kafkactl/core/safe_text.py"
        if not (isinstance(node.value, ast.Constant) and node.value.value is True)
    }
    assert found == RAW_JSON
    assert (ROOT / WRITER).is_file()
