"""The tree as the repository tests see it: every file of ours once, under its path from the root."""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from scripts.make_layers import EDGES

Node = TypeVar("Node", bound=ast.AST)
ROOT = Path(__file__).resolve().parents[2]
# Parts of a capability that may touch the world.
IMPURE_PARTS = frozenset({"io", "api"})
CAPABILITIES = tuple(
    sorted(path.name for path in (ROOT / "kafkactl").iterdir() if path.is_dir() and (path / "__init__.py").is_file())
)
PURE_PACKAGES = tuple(name for name in CAPABILITIES if name not in (*EDGES, "commands", "schemas"))


def python_files(*folders: str) -> list[Path]:
    """Return the Python files in these folders of the root, links not followed."""
    return sorted(path for folder in folders for path in _below(ROOT / folder) if path.suffix == ".py")


def product_files() -> list[Path]:
    """Return the Python files that are installed."""
    return python_files("kafkactl", "commands", "schemas")


def pure_files() -> list[Path]:
    """Return the Python files of the pure packages without what is under `io` or named `api`, and the modules at the
    top."""
    packages = [
        path
        for package in PURE_PACKAGES
        for path in python_files(f"kafkactl/{package}")
        if not IMPURE_PARTS & {*path.relative_to(ROOT).parts, path.stem}
    ]
    return packages + [path for path in sorted((ROOT / "kafkactl").glob("*.py")) if path.name != "__main__.py"]


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of one file.

    Millions of nodes are made and none is garbage: the collector would look through all of them again and again.
    """
    gc.disable()
    try:
        return ast.parse(text_of(path), str(path))
    finally:
        gc.freeze()
        gc.enable()


@functools.cache
def text_of(path: Path) -> str:
    """Return the text of one file."""
    return path.read_text(encoding="utf-8")


def nodes(path: Path, *kinds: type[Node]) -> list[Node]:
    """Return the nodes of these kinds in one file, kind by kind. The file is walked once for all tests.

    Whether a name is read or set is a field of its node, and no node here.
    """
    return [node for kind in kinds for node in _by_kind(path).get(kind, ())]


@functools.cache
def _by_kind(path: Path) -> dict[type, list[Any]]:
    """Return nodes by kind, as `ast.walk` finds them, in half of its time: half of the nodes are contexts, which are
    left out."""
    found: dict[type, list[Any]] = {}
    waiting: list[ast.AST] = [parsed(path)]
    for node in waiting:
        found.setdefault(type(node), []).append(node)
        for name in node._fields:
            value = None if name == "ctx" else getattr(node, name, None)
            if isinstance(value, list):
                waiting.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST):
                waiting.append(value)
    return found


@functools.cache
def shown(path: Path) -> str:
    """Return the path from the root."""
    return str(path.relative_to(ROOT))


def _below(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name != "__pycache__":
            yield from _below(path)
        elif path.is_file():
            yield path
