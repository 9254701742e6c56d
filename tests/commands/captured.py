"""Metadata logs of running clusters, unpacked: what the tests of `kafkactl log` read."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.metadata.goldens import GOLDEN

IMAGES = GOLDEN / "images"
RELEASES = sorted(path.name for path in IMAGES.iterdir() if path.is_dir())


def unpacked(release: str, root: Path, name: str = "disk") -> Path:
    """The `__cluster_metadata-0` folder of that release's capture, below `root/name`."""
    folder = root / name / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    for file in sorted((IMAGES / release).glob("*.gz")):
        (folder / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(file.read_bytes()))
    return folder
