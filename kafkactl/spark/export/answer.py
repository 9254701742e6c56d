"""Answer of an export: tables that were written, and the clusters in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.errors import InputError, KafkactlError, UnknownOutcomeError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.metadata.dump.findings import EMPTY_LOG


@frozen
class ExportedTable:
    """A table that was written."""

    name: str
    path: str
    rows: int
    files: int
    bytes: int

    to_dict = by_fields


@frozen
class ExportedCluster:
    """A cluster whose log was read; the offset is None if it could not be read, and `findings` say why."""

    cluster_id: str | None
    name: str
    source: str
    as_of_offset: int | None
    findings: tuple[Finding, ...]

    to_dict = by_fields


@frozen
class LogExport:
    """Tables that were written, and the clusters in them."""

    tables: tuple[ExportedTable, ...]
    clusters: tuple[ExportedCluster, ...]
    engine: str
    """`local`, or `spark`."""
    findings: tuple[Finding, ...]

    @property
    def is_partial(self) -> bool:
        """Return True if the log of a cluster could not be read."""
        return any(cluster.as_of_offset is None for cluster in self.clusters)

    to_dict = json_of("tables", "clusters", "engine", "findings", kind="log.export")


def log_export(tables: Iterable[ExportedTable], clusters: Sequence[ExportedCluster], engine: str) -> LogExport:
    """Return the answer with the findings of all clusters."""
    findings = tuple(finding for cluster in clusters for finding in cluster.findings)
    return LogExport(tables=tuple(tables), clusters=tuple(clusters), engine=engine, findings=findings)


def check_any_read(clusters: Sequence[ExportedCluster]) -> None:
    """Raise the error of the first cluster, as reading its log does, if no cluster could be read."""
    if any(cluster.as_of_offset is not None or not cluster.findings for cluster in clusters):
        return
    first = clusters[0].findings[0]
    kind: type[KafkactlError] = UnknownOutcomeError if first.id == EMPTY_LOG else InputError
    raise kind(first.message, id=first.id, next_step=first.next_step)
