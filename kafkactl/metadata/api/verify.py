"""Check of a metadata log, and comparison of the logs of several nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.same_paths import each_once, named_twice
from kafkactl.metadata.api.places import FilePath
from kafkactl.metadata.dump.findings import EMPTY_LOG
from kafkactl.metadata.io.check import read_node_log
from kafkactl.metadata.io.source import log_place
from kafkactl.metadata.verify import compare as log_compare
from kafkactl.metadata.verify import histories as log_histories
from kafkactl.metadata.verify.check import NodeLog
from kafkactl.metadata.verify.verified_log import VerifiedLog

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client


@frozen
class RankedLog:
    """A log among those of the same cluster: which disk is the better one."""

    path: str
    rank: int
    """1 is the best disk: highest epoch, then highest end offset of the valid part."""
    end_offset: int
    """Facts of the part before damage or a gap, or of the newest snapshot beyond the damage."""
    last_epoch: int
    is_damaged: bool

    to_dict = by_fields


@frozen
class DivergedLog:
    """Place at which a log differs from the reference; an epoch is None if a log has no batch that begins there."""

    path: str
    offset: int
    epoch: int | None
    reference_epoch: int | None
    offsets_behind: int

    to_dict = by_fields


@frozen
class LogVerification:
    """Logs as they were read, and what is wrong with them.

    `ranking` has the logs of one cluster from the best disk to the worst, and `reference` the log that the others are
    compared with; both are empty for a single log, and for logs of different clusters.
    """

    sources: tuple[VerifiedLog, ...]
    reference: str | None
    """The log that the others are compared with: highest epoch, then longest."""
    ranking: tuple[RankedLog, ...]
    """Best disk first; empty for one source, or several clusters."""
    divergences: tuple[DivergedLog, ...]
    findings: tuple[Finding, ...]

    @property
    def has_problems(self) -> bool:
        """Return True if a log is damaged, or contradicts another."""
        return bool(blockers(self.findings))

    @property
    def is_one_history(self) -> bool:
        """Return True if the logs differ in nothing that is or may be committed: only then one of them is the best."""
        return not any(finding.id in log_histories.CONTRADICTIONS for finding in self.findings)

    @property
    def is_empty(self) -> bool:
        """Return True if there was no record to check."""
        return sum(finding.id == EMPTY_LOG for finding in self.findings) == len(self.sources)

    to_dict = by_fields


def verify_logs(
    paths: Iterable[FilePath] = (), *, client: Client | None = None, client_name: str = "cluster"
) -> LogVerification:
    """Read every byte of the logs of one or several nodes of a cluster, and compare them batch by batch.

    A log that several paths lead to (a link, the log directory around it) is read once: compared with itself it agrees.
    `client` adds the log of the active controller of a live cluster, which is shown under `client_name`; it is kept
    in a temporary folder while it is read. Raises InputError for a path that is not a metadata log, UnreachableError
    for a cluster that does not answer, FailedError if the temporary folder is full.
    """
    names = each_once([os.fspath(path) for path in paths], log_place)
    logs = [read_node_log(path) for path in names]
    if client is not None:
        from kafkactl.metadata.io.live import saved_log

        with saved_log(client) as folder:
            logs.append(changed(read_node_log(folder), path=client_name))
    found = compare_logs(logs)
    return changed(found, findings=(*found.findings, *named_twice(names, "log")))


def compare_logs(logs: Sequence[NodeLog]) -> LogVerification:
    """Compare logs that were read; return the findings about them."""
    ranked = log_compare.ranking(logs) if len(logs) > 1 and log_compare.may_agree(logs) else []
    reference = log_histories.reference_of(ranked) if ranked else None
    return LogVerification(
        sources=tuple(log.verified for log in logs),
        reference=None if reference is None else reference.path,
        ranking=tuple(
            RankedLog(
                path=log.path,
                rank=rank,
                end_offset=log.place[1],
                last_epoch=log.place[0],
                is_damaged=log.damage is not None,
            )
            for rank, log in enumerate(ranked, start=1)
        ),
        divergences=tuple(
            DivergedLog(
                path=log.path,
                offset=parted.offset,
                epoch=parted.epoch,
                reference_epoch=parted.other_epoch,
                offsets_behind=log.kept.end_offset - parted.offset,
            )
            for log, parted in ([] if reference is None else log_histories.divergences(logs, reference))
        ),
        findings=tuple(log_compare.check_logs(logs)),
    )
