"""The folder of `migrate render`, where `run` is asked to use its files: each is compared with what it would render.

Rule: an operator's additions in that folder count, a contradiction to the phase does not pass. What a phase sets or
removes has to be so in the folder's file as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, blocker, blockers
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import some
from kafkactl.migration.render.facts import NodeFile
from kafkactl.migration.render.hand_edits import changed_keys
from kafkactl.migration.render.node import Rendered, refused_by_kafka


def folder_of(node: NodeFile | Rendered) -> str:
    """Return the folder of a node within that of the rendering: `broker-1`."""
    return f"{node.role}-{node.id if isinstance(node, NodeFile) else node.node}"


def file_of(rendered: Rendered) -> str:
    """Return the path of a rendered file within the folder: `broker-1/kraft.properties`."""
    return f"{folder_of(rendered)}/{rendered.phase}.properties"


@frozen
class FromFolder:
    """A file of the folder: its path, its bytes, and the keys in which it differs from the rendered one."""

    path: str
    content: bytes
    differs: tuple[str, ...]


def from_folder(folder: Path, node: NodeFile, made: Rendered, read: Callable[[Path], bytes]) -> FromFolder | Finding:
    """Return the folder's file for the phase of `made`, or why it cannot be used. `read` may raise OSError."""
    assert made.content is not None
    path = folder / file_of(made)
    try:
        content = read(path)
        differs = tuple(changed_keys(made.content, content))
    except OSError as error:
        return blocker(
            "rendered-file-missing",
            node.name,
            f"the {made.phase} file of {node.name}, {path}, cannot be read: {error.strerror or error}",
            f"Run `kafkactl migrate render --out {folder}`, or leave --rendered out: the driver then renders itself.",
            path=str(path),
        )
    except DecodeError as error:
        return blocker("rendered-file-contradicts", node.name, f"{path}: {error.message}", path=str(path))
    wrong = sorted(set(differs) & {*made.set, *made.removed})
    if wrong:
        return blocker(
            "rendered-file-contradicts",
            node.name,
            f"{path} contradicts the phase {made.phase}: {some(wrong)} is not as that phase needs it",
            path=str(path),
            keys=wrong,
        )
    if refusals := blockers(refused_by_kafka(node, made.phase, content)):
        return refusals[0]
    return FromFolder(path=str(path), content=content, differs=differs)


def difference_text(found: FromFolder) -> str:
    """Return a line for the operator of the run."""
    same = (
        "as the driver renders it" if not found.differs else f"differs from the rendered file in {some(found.differs)}"
    )
    return f"file {found.path} (sha256 {hashlib.sha256(found.content).hexdigest()[:12]}): {same}"
