"""Metadata logs on disk for tests of the pipeline: captured, odd and damaged ones, each of a cluster of its own."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.dryrun.odd_logs import CASES, damaged, encoded

GOLDEN = Path(__file__).parent.parent / "golden" / "images"
FIRST_SEGMENT = f"{0:020d}.log"


def write_all_logs(
    root: Path, *, releases: Collection[str] | None = None, made: bool | Collection[str] = True
) -> list[Path]:
    """Write every captured (or those of some releases), odd and damaged log (or some by name) below a folder.

    Return their folders.
    """
    wanted = [(name, data) for name, data in _made() if made is True or (made and name in made)]
    return [*_captured(root, releases), *(write_log(root, name, data) for name, data in wanted)]


def write_log(root: Path, name: str, data: bytes, *, node_id: int = 7, cluster_id: str | None = None) -> Path:
    """Write a log of one segment, and the meta.properties above it."""
    folder = root / name.replace(" ", "-")
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / FIRST_SEGMENT).write_bytes(data)
    cluster_id = cluster_id or f"id-{folder.name}"
    (folder / "meta.properties").write_text(f"version=1\nnode.id={node_id}\ncluster.id={cluster_id}\n")
    return log


def _made() -> Iterator[tuple[str, bytes]]:
    yield from ((name, encoded(batches)) for name, batches in CASES.items())
    yield from damaged()
    yield "empty", b""


def _captured(root: Path, releases: Collection[str] | None) -> Iterator[Path]:
    for release in sorted(path.name for path in GOLDEN.iterdir() if releases is None or path.name in releases):
        log = root / release / "__cluster_metadata-0"
        log.mkdir(parents=True)
        for file in (GOLDEN / release).glob("*.gz"):
            (log / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(file.read_bytes()))
        yield log
