"""The state of a cluster that its metadata log comes to: load it, show it, compare two, and check one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from kafkactl.core.answers import json_of, read_fields
from kafkactl.core.findings import Finding, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.safe_text import json_text
from kafkactl.metadata.api.places import LogPlace, client_of_place, log_files, opened_sources
from kafkactl.metadata.dump.findings import empty_log, has_records
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.json import PART_NAMES, image_json, image_text
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.io import image as loading
from kafkactl.metadata.io.image import LoadedImage, Point, Provenance, joined, replay_files
from kafkactl.protocol.redact import SECRET_PARTS, redacted_part


def load_image(
    place: LogPlace,
    *,
    at: int | None = None,
    at_time_ms: int | None = None,
    whole: bool = False,
    past_damage: bool = False,
) -> LoadedImage:
    """Return the state of a metadata log: at its end, after the record at offset `at`, or at `at_time_ms`.

    `place` is a folder such as /disk1/__cluster_metadata-0, single files of one log, or a client of a live cluster.
    The newest snapshot before that point is taken, and the records after it are applied; with `whole` as much of the
    log as there is, so that findings are about all of it. A damaged batch ends the log, as it does for a node of
    Kafka; with `past_damage` what can be read after it is applied, too.

    The result has `image` (kafkactl.metadata.image.model), where it comes from, and `findings`: a blocker reports that
    the state cannot be trusted. Raises InputError for a place that is not a metadata log, and if the log does not
    reach to the point; UnreachableError for a cluster that does not answer; ValueError for both `at` and `at_time_ms`.
    """
    if at is not None and at_time_ms is not None:
        raise ValueError("load_image: at and at_time_ms exclude each other")
    point = Point(offset=at, timestamp_ms=at_time_ms)
    name = "the log of the cluster"
    if client_of_place(place) is not None:
        files = log_files(place, checkpoints=True, to_offset=at)
        loaded = replay_files(files, point, name=name, past_damage=past_damage)
    else:
        source = joined(opened_sources(place))
        name, loaded = source.name, loading.load_image(source, point, whole=whole, past_damage=past_damage)
    if not point.is_end or has_records(loaded.counts) or blockers(loaded.findings):
        return loaded
    return changed(loaded, findings=(*loaded.findings, empty_log(name)))


@frozen
class ImageSummary:
    """Source of a state, its SHA-256, its size, and its features with their levels.

    The SHA-256 is of the state with its secrets: equal states have equal ones.
    """

    provenance: Provenance
    sha256: str
    """Hash of the canonical binary form of the state, secrets included; in a support bundle, without secrets."""
    counts: Mapping[str, int]
    features: Mapping[str, int] = field(default_factory=dict)
    """Finalized levels; only if `image` is None."""
    findings: tuple[Finding, ...]

    @property
    def image(self) -> Mapping[str, Any] | None:
        """Return the state, with fields as in Kafka's JSON; None in a support bundle without its log.

        Keys and order are always the same for equal states.
        """
        return None

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any]) -> ImageSummary:
        """Read the answer of a bundle."""
        return read_fields(cls, {**answer, "provenance": answer})

    to_dict = json_of("**provenance", "sha256", "counts", "features", "image", "findings", kind="log.image")


def image_summary(loaded: LoadedImage) -> ImageSummary:
    """Return a summary of a state, without the state itself."""
    return ImageSummary(
        provenance=loaded.provenance,
        sha256=image_sha256(loaded.image),
        counts=_counts(loaded.image),
        features=dict(loaded.image.features),
        findings=loaded.findings,
    )


def image_to_dict(image: Image, *, show_secrets: bool = False) -> dict[str, Any]:
    """Return the whole state as JSON values. A large cluster's takes hundreds of megabytes: see `image_pieces`."""
    shown = image_json(image)
    if show_secrets:
        return shown
    return {part: value if value is None else redacted_part(part, value) for part, value in shown.items()}


def image_pieces(image: Image, *, show_secrets: bool = False) -> Iterator[str]:
    """Yield the canonical JSON text of the state, in pieces; equal states give equal texts."""
    heads = {f'{"{" if name == PART_NAMES[0] else ","}"{name}":': name for name in PART_NAMES}
    part = ""
    for piece in image_text(image):
        if piece in heads:
            part = heads[piece]
            yield piece
        elif not show_secrets and part in SECRET_PARTS and piece != "}":
            yield json_text(redacted_part(part, json.loads(piece)), compact=True)
        else:
            yield piece


def _counts(image: Image) -> dict[str, int]:
    return {
        "brokers": len(image.brokers),
        "fenced_brokers": sum(broker.fenced for broker in image.brokers.values()),
        "controllers": len(image.controllers),
        "topics": len(image.topics),
        "partitions": image.partition_count(),
        "leaderless_partitions": image.leaderless_count(),
        "configs": sum(map(len, image.configs.values())),
        "client_quotas": sum(map(len, image.client_quotas.values())),
        "acls": len(image.acls),
        "scram_credentials": len(image.scram),
        "delegation_tokens": len(image.delegation_tokens),
    }


@frozen
class LintResult:
    """Contradictions in a log and in the state at its end.

    `records` has how often each type of record was met.
    """

    provenance: Provenance
    records: Mapping[str, int]
    """Number of records of each type."""
    findings: tuple[Finding, ...]

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any]) -> LintResult:
        """Read the answer of a bundle."""
        return read_fields(cls, {**answer, "provenance": answer})

    to_dict = json_of("**provenance", "records", "findings", kind="log.lint")


def lint(loaded: LoadedImage, place: LogPlace | None = None) -> LintResult:
    """Check a state that was loaded `whole`: records that contradict others, leaders outside the ISR, and the like.

    With the `place` that it was loaded from, how the log came to it is checked, too: broker ids that two processes use
    in turns, and snapshots without end. Raises what reading the place raises.
    """
    from kafkactl.metadata.image import lint as rules

    course = () if place is None else _course(loaded, place)
    return LintResult(
        provenance=loaded.provenance,
        records=loaded.counts,
        findings=(*loaded.findings, *rules.lint(loaded.image), *course),
    )


def _course(loaded: LoadedImage, place: LogPlace) -> Iterator[Finding]:
    from kafkactl.metadata.io.registrations import broker_starts
    from kafkactl.metadata.log.turns import FEWEST_TURNS, frequent_snapshots, ids_in_turns

    if loaded.counts.get("RegisterBrokerRecord", 0) >= FEWEST_TURNS:
        yield from ids_in_turns(broker_starts(log_files(place, checkpoints=False, whole=True)))
    if client_of_place(place) is None:  # of a live cluster only the newest snapshot is fetched
        source = joined(opened_sources(place))
        yield from frequent_snapshots(source.name, [file.base_offset or 0 for file in source.checkpoints])
