"""Answers of `tiered audit`, `tiered forecast` and `tiered report`."""

from __future__ import annotations

from typing import Literal

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.tiered.audit.run import AuditTotals, PartitionStatus
from kafkactl.tiered.bucket import BucketRead
from kafkactl.tiered.forecast import LOG_START_JUMPS, UPLOADS_STOP, PartitionForecast
from kafkactl.tiered.pictures import OrphanAges, Picture


@frozen
class MetadataPartition:
    """A partition of the metadata topic, as it was read."""

    partition: int
    paths: tuple[str, ...]
    log_start_offset: int
    end_offset: int
    expected_end_offset: int | None
    records: int
    complete: bool

    to_dict = by_fields


@frozen
class AuditSource:
    """The sources of an audit."""

    paths: tuple[str, ...]
    cluster: bool
    observed_at_ms: int | None
    bucket: BucketRead | None
    metadata_partitions: tuple[MetadataPartition, ...]
    configured_partitions: int | None

    to_dict = by_fields


@frozen
class Audit:
    """Findings about the remote log, the most severe first, and the state of each partition."""

    engine: Literal["local", "spark"]
    source: AuditSource
    totals: AuditTotals
    partitions: tuple[PartitionStatus, ...]
    findings: tuple[Finding, ...]
    """Findings by severity, then by cost."""
    assumptions: tuple[str, ...]

    @property
    def findings_total(self) -> int:
        """Return the number of findings."""
        return len(self.findings)

    to_dict = json_of(
        "engine", "source", "totals", "partitions", "findings", "findings_total", "assumptions", kind="tiered.audit"
    )


@frozen
class Forecast:
    """Behaviour of each replica as leader, by partition; `findings` are those of the forecast, then of the sources."""

    partitions: tuple[PartitionForecast, ...]
    findings: tuple[Finding, ...]
    assumptions: tuple[str, ...]

    @property
    def harms(self) -> list[Finding]:
        """Return the findings about partitions that a replica would harm as leader."""
        return [found for found in self.findings if found.id in (LOG_START_JUMPS, UPLOADS_STOP)]

    to_dict = json_of("partitions", "findings", "assumptions", kind="tiered.forecast")


@frozen
class TieredReport:
    """An audit and a forecast of the same sources, with what is drawn of them.

    `findings` are its findings and those of the forecast, the worst first.
    `forecast` is a list of partitions, None if no replica is known. `pictures` are the offsets of the partitions
    that are drawn (the worst, then the largest), `orphan_ages` the orphaned copies of each topic by age.
    """

    audit: Audit
    findings: tuple[Finding, ...]
    """Findings of audit and forecast, by severity."""
    forecast: tuple[PartitionForecast, ...] | None
    """None if no replica is known."""
    pictures: tuple[Picture, ...]
    """Pictures of selected partitions: the most severe, then the largest."""
    orphan_ages: tuple[OrphanAges, ...]
    assumptions: tuple[str, ...]

    @property
    def findings_total(self) -> int:
        """Return the number of findings."""
        return len(self.findings)

    to_dict = json_of(
        "engine=audit.engine", "source=audit.source", "totals=audit.totals", "partitions=audit.partitions", "findings",
        "findings_total", "assumptions", "forecast", "pictures", "orphan_ages", kind="tiered.report",
    )  # fmt: skip
