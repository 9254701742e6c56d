"""Metadata logs of running clusters, unpacked: what the tests of `kafkactl log` read."""

from __future__ import annotations

import gzip
from pathlib import Path

from kafkactl.protocol.record_batch import decode_batches
from tests.metadata.goldens import GOLDEN

IMAGES = GOLDEN / "images"
RELEASES = sorted(path.name for path in IMAGES.iterdir() if path.is_dir())


def unpacked(release: str, root: Path, name: str = "disk") -> Path:
    """Return the `__cluster_metadata-0` folder of that release's capture, below `root/name`."""
    folder = root / name / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    for file in sorted((IMAGES / release).glob("*.gz")):
        (folder / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(file.read_bytes()))
    return folder


def with_hole(folder: Path, first: int, behind: int) -> None:
    """Make two segments of the one, and leave the batches between these offsets out."""
    segment = folder / f"{0:020d}.log"
    data = segment.read_bytes()
    starts = {batch.header.base_offset: batch.header.position for batch in decode_batches(data)}
    begin, end = min(at for at in starts if at >= first), min(at for at in starts if at >= behind)
    segment.write_bytes(data[: starts[begin]])
    (folder / f"{end:020d}.log").write_bytes(data[starts[end] :])
