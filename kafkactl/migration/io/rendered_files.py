"""Rendered configuration files in a folder, with a manifest of what they were made from.

Invariant: no file is overwritten that is not, to the byte, what an earlier rendering wrote there. Files may hold
passwords and have mode 0600; diffs hold none. A second rendering of a node that runs with a rendered file already
starts from its original, which the first one kept.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.files.held_folder import held_folder
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.whole_file import make_folders, write_whole
from kafkactl.migration.render.facts import PHASES, ConfigPhase, NodeFile, node_file
from kafkactl.migration.render.folder import file_of, folder_of
from kafkactl.migration.render.node import Rendered, phase_diff

MANIFEST: Final = "manifest.json"
KIND: Final = "migrate.rendered"
_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


def sha256(content: bytes) -> str:
    """Return the hash for the manifest."""
    return hashlib.sha256(content).hexdigest()


def diffs(nodes: Iterable[NodeFile], rendered: Iterable[Rendered]) -> dict[tuple[int, ConfigPhase], str]:
    """Return the changes of each phase to the one before it, by node and phase."""
    contents = {(file.node, file.phase): file.content for file in rendered}
    found = {}
    for node in nodes:
        phases = PHASES[node.role]
        for before, after in itertools.pairwise(phases):
            old, new = contents.get((node.id, before)), contents.get((node.id, after))
            if old is not None and new is not None:
                found[node.id, after] = phase_diff(old, new, name=node.name, phases=(before, after))
    return found


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of an earlier rendering; empty if there is none, or if the file is something else."""
    try:
        found = json.loads(read_whole(folder / MANIFEST, InputKind.MANIFEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("kind") == KIND else {}


def _entries(manifest: Mapping[str, Any], key: str) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the manifest's entries about files, by path and sha256; entries of another type are left out."""
    listed = manifest.get(key)
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    pairs = (((row.get("path"), row.get("sha256")), row) for row in rows)
    return {(path, digest): row for (path, digest), row in pairs if isinstance(path, str) and isinstance(digest, str)}


def originals(nodes: Iterable[NodeFile], folder: Path) -> tuple[NodeFile, ...]:
    """Return each node with the file it had before the migration.

    Its own, or if that is a rendered one, the kept one.
    """
    manifest = read_manifest(folder)
    known = _entries(manifest, "files")
    found = []
    for node in nodes:
        mine = [
            path for path, digest in known if digest == sha256(node.content) and str(path).startswith(folder_of(node))
        ]
        kept = f"{folder_of(node)}/{ConfigPhase.ORIGINAL}.properties"
        found.append(node if not mine or kept in mine else _kept(node, folder / kept, known, kept))
    return tuple(found)


def _kept(node: NodeFile, path: Path, known: Iterable[tuple[Any, Any]], name: str) -> NodeFile:
    """Return the node with its kept original, if that is still the content that was kept."""
    try:
        content = read_whole(path, InputKind.RENDERED)
    except OSError:
        return node
    if (name, sha256(content)) not in set(known):
        return node
    return node_file(node.id, node.role, content, file=str(path), kafka_version=node.kafka_version)


def write_rendered(
    folder: Path, nodes: Iterable[NodeFile], rendered: Iterable[Rendered], *, withheld: frozenset[int]
) -> Path:
    """Write files, diffs and the manifest; the path of the manifest. Of nodes in `withheld` only the diffs are written.

    Raises RefusedError `render-folder-in-use` before anything is written, FailedError `render-folder-not-writable`.
    """
    nodes, rendered = tuple(nodes), tuple(rendered)
    contents = {
        file_of(file): file.content for file in rendered if file.content is not None and file.node not in withheld
    }
    texts = {
        f"{_folder(nodes, id)}/{phase}.diff": text.encode() for (id, phase), text in diffs(nodes, rendered).items()
    }
    targets = {**contents, **texts}
    _check(folder, targets)
    try:
        make_folders(folder)
        with held_folder(folder) as held:
            for name in sorted({path.partition("/")[0] for path in targets}):
                make_folders(held / name, mode=_FOLDER_MODE)
                with held_folder(held / name, follow=False) as inside:
                    for path, content in targets.items():
                        if path.startswith(f"{name}/"):
                            write_whole(inside / path.partition("/")[2], content, mode=_MODE)
            write_whole(held / MANIFEST, _manifest(nodes, rendered, targets), mode=_MODE)
    except OSError as error:
        text = f"{folder} cannot be written to: {error.strerror}"
        raise FailedError(text, id="render-folder-not-writable") from error
    return folder / MANIFEST


def _folder(nodes: Iterable[NodeFile], id: int) -> str:
    return next(folder_of(node) for node in nodes if node.id == id)


def _check(folder: Path, targets: Mapping[str, bytes]) -> None:
    """Check that every existing file is one that a rendering wrote, or is about to write."""
    manifest = read_manifest(folder)
    known = _entries(manifest, "written")
    odd = []
    for path, content in targets.items():
        try:
            there = read_whole(folder / path, InputKind.RENDERED)
        except FileNotFoundError:
            continue
        except OSError as error:
            odd.append(f"{path} ({error.strerror})")
            continue
        if there != content and (path, sha256(there)) not in known:
            odd.append(path)
    if (folder / MANIFEST).exists() and not manifest:
        odd.append(MANIFEST)
    if odd:
        raise RefusedError(
            f"{len(odd)} files in {folder} are not as an earlier rendering wrote them: {', '.join(odd[:5])}",
            id="render-folder-in-use",
        )


def _manifest(nodes: Iterable[NodeFile], rendered: Iterable[Rendered], targets: Mapping[str, bytes]) -> bytes:
    inputs = [
        {"id": node.id, "role": node.role.value, "file": node.file, "sha256": sha256(node.content)} for node in nodes
    ]
    files = [
        {
            "id": file.node,
            "role": file.role.value,
            "phase": file.phase.value,
            "path": file_of(file),
            "sha256": sha256(file.content),
        }
        for file in rendered
        if file.content is not None and file_of(file) in targets
    ]
    written = [{"path": path, "sha256": sha256(content)} for path, content in sorted(targets.items())]
    manifest = {"kind": KIND, "schema_version": 1, "inputs": inputs, "files": files, "written": written}
    return json.dumps(manifest, indent=1).encode() + b"\n"
