"""Snapshots of images as one piece of bytes."""

from __future__ import annotations

from typing import Any

from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.snapshot_writer import snapshot_batches


def encode_snapshot(image: Image, **options: Any) -> bytes:
    """Return the bytes of a snapshot; the options are those of `snapshot_batches`."""
    return b"".join(snapshot_batches(image, **options))
