"""The logs and snapshots of `tests/golden/images/`, from small clusters of every release."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from tests.metadata.goldens import GOLDEN

IMAGES = GOLDEN / "images"
RELEASES = sorted(path.name for path in IMAGES.iterdir() if path.is_dir())


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Snapshot that Kafka wrote: the state before `end_offset`."""

    release: str
    end_offset: int
    epoch: int
    data: bytes

    @property
    def before_4_0(self) -> bool:
        return self.release.startswith("3.")

    def __str__(self) -> str:
        return f"{self.release}-{self.end_offset}"


def log(release: str) -> bytes:
    """Return the whole log of a release's cluster."""
    return b"".join(_content(file) for file in sorted((IMAGES / release).glob("*.log.gz")))


def snapshots(release: str) -> list[Snapshot]:
    """Return its snapshots, oldest first."""
    found = []
    for file in sorted((IMAGES / release).glob("*.checkpoint.gz")):
        end_offset, epoch = file.name.removesuffix(".checkpoint.gz").split("-")
        found.append(Snapshot(release=release, end_offset=int(end_offset), epoch=int(epoch), data=_content(file)))
    return found


def _content(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes())
