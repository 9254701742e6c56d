"""The state of a cluster as a tree of folders and files, as kafka-metadata-shell shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypedDict

from kafkactl.core.findings import Finding
from kafkactl.metadata.image import tree
from kafkactl.metadata.image.tree import File, Folder, Node
from kafkactl.metadata.io.image import LoadedImage

__all__ = ["BrowsedPath", "File", "Folder", "Node", "absolute_path", "browse", "find", "walk"]


class BrowsedPath(TypedDict):
    """The answer `log.browse`."""

    path: str
    type: Literal["directory", "file"]
    names: list[str] | None
    """Names in a directory."""
    value: Any
    """Content of a file; None for a directory."""
    findings: tuple[Finding, ...]


def browse(loaded: LoadedImage, *, show_secrets: bool = False) -> Folder:
    """Return the root of the tree of a state that `load_image` gave."""
    return tree.tree_of(loaded.image, provenance=loaded.provenance.to_dict(), hide=not show_secrets)


def find(root: Folder, path: str) -> Node:
    """Return the folder or file at a path from the root, such as /image/topics/byName/orders. Raise InputError."""
    return tree.find(root, path)


def absolute_path(path: str) -> str:
    """Return the path from the root without `.`, `..` and double slashes."""
    return "/" + "/".join(tree.resolved(path))


def walk(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """Yield everything below a node, with its path; `path` is that of the node."""
    return tree.walk(node, path)
