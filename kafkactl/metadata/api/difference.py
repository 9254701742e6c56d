"""Differences between two states of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.metadata.image.diff import Difference, config_kind, diff
from kafkactl.metadata.io.image import LoadedImage
from kafkactl.protocol.redact import redacted, redacted_configs, redacted_key


@frozen
class ImageDifference:
    """Two states and what differs between them; what is only in `after` was added."""

    before: LoadedImage
    after: LoadedImage
    differences: tuple[Difference, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of differences in each part of the state."""
        return Counter(difference.part for difference in self.differences)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings about how the two states were read."""
        return (*self.before.findings, *self.after.findings)

    to_dict = json_of(
        "before=before.provenance", "after=after.provenance", "counts", "differences", "findings", kind="log.diff"
    )


def compare_images(before: LoadedImage, after: LoadedImage, *, show_secrets: bool = False) -> ImageDifference:
    """Return the differences of two states that `load_image` gave; the secrets of both only with `show_secrets`."""
    found = diff(before.image, after.image)
    return ImageDifference(
        before=before, after=after, differences=found if show_secrets else tuple(map(_redacted, found))
    )


def _redacted(found: Difference) -> Difference:
    if found.part == "configs":
        kind = config_kind(found.key)
        before, after = redacted_configs(kind, found.before), redacted_configs(kind, found.after)
        return changed(found, before=before, after=after)
    before, after = redacted(found.record, found.before), redacted(found.record, found.after)
    return changed(found, key=redacted_key(found.part, found.key), before=before, after=after)
