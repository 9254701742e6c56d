"""Writes by path: another user may own a folder that root writes in, and rename what a path leads through."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.repository.tree import nodes, python_files, shown

PORT = "kafkactl/files/filesystem.py"
# Operations of the port that change names, or open what is given away.
_AT = frozenset({"create", "lock", "mkdir", "unlink", "rmdir", "publish"})
_PORTS = frozenset({"files", "_files", "port"})
# Modules that write by path through the port, none of which gives a file to another user.
BY_PATH = {
    "kafkactl/files/contexts_edit.py": "the contexts of the user who runs the command",
    "kafkactl/files/journal.py": "a journal, which stays the user's own, in a folder that is named",
    "kafkactl/storage/io/receipts.py": "receipts, which stay the user's own, in a folder that is named",
}
# Functions that change the owner or the mode of whatever a path leads to.
_GIVES = frozenset({"chown", "lchown", "chmod", "lchmod"})


def _port_calls(path: Path) -> list[ast.Call]:
    def is_port(call: ast.Call) -> bool:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _AT:
            return False
        of = call.func.value
        return (of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else "") in _PORTS

    return [call for call in nodes(path, ast.Call) if is_port(call)]


def _modules() -> list[Path]:
    return [path for path in python_files("kafkactl", "commands") if shown(path) != PORT]


def test_only_named_modules_write_by_path() -> None:
    found = {
        shown(path)
        for path in _modules()
        for call in _port_calls(path)
        if not any(keyword.arg == "at" for keyword in call.keywords)
    }
    assert found == set(BY_PATH)


def test_operations_of_the_port_are_found() -> None:
    for folder in ("storage/io", "quorum/io/recover"):
        assert [path for path in _modules() if f"kafkactl/{folder}/" in shown(path) and _port_calls(path)]


def test_owner_and_mode_are_changed_by_descriptors_only() -> None:
    # `chown` and `chmod` of the port take a descriptor; those of `os`, `shutil` and `Path` take a path.
    found = [
        f"{shown(path)}: {ast.unparse(call.func)}"
        for path in _modules()
        for call in nodes(path, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in _GIVES
        and not ast.unparse(call.func.value).endswith(("files", "port"))
    ]
    assert not found
