"""What differs between two states of a cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypedDict

from kafkactl.adapters.logs.image import LoadedImage
from kafkactl.findings import Finding
from kafkactl.frozen import frozen
from kafkactl.metadata.image.diff import Difference, config_kind, diff
from kafkactl.metadata.image.redact import redacted, redacted_configs, redacted_key
from kafkactl.operations.log.image import ProvenanceDict, provenance


class DifferenceDict(TypedDict):
    """An entity that differs; `before` and `after` are its fields, empty where it is only in the other state."""

    part: str
    key: str
    change: str
    record: str
    before: dict[str, Any]
    after: dict[str, Any]


class DifferencesDict(TypedDict):
    """`log.diff`."""

    before: ProvenanceDict
    after: ProvenanceDict
    counts: dict[str, int]
    differences: list[DifferenceDict]
    findings: list[dict[str, Any]]


@frozen
class ImageDifference:
    """Two states and what differs between them; what is only in `after` was added."""

    before: LoadedImage
    after: LoadedImage
    differences: tuple[Difference, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be said of how the two states were read."""
        return (*self.before.findings, *self.after.findings)

    def to_dict(self, *, show_secrets: bool = False) -> DifferencesDict:
        """The answer `log.diff`."""
        return {
            "before": provenance(self.before),
            "after": provenance(self.after),
            "counts": dict(Counter(difference.part for difference in self.differences)),
            "differences": [_plain(difference, hide=not show_secrets) for difference in self.differences],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def compare_images(before: LoadedImage, after: LoadedImage) -> ImageDifference:
    """What differs between two states that `load_image` gave."""
    return ImageDifference(before=before, after=after, differences=diff(before.image, after.image))


def _plain(found: Difference, *, hide: bool) -> DifferenceDict:
    before, after, key = dict(found.before), dict(found.after), found.key
    if hide and found.part == "configs":
        kind = config_kind(found.key)
        before, after = redacted_configs(kind, before), redacted_configs(kind, after)
    elif hide:
        before, after = redacted(found.record, before), redacted(found.record, after)
        key = redacted_key(found.part, key)
    return {
        "part": found.part,
        "key": key,
        "change": found.change.value,
        "record": found.record,
        "before": before,
        "after": after,
    }
