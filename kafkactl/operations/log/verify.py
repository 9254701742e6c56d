"""Whether a metadata log is whole, and whether the logs of several nodes agree."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from kafkactl.adapters.logs.check import read_node_log
from kafkactl.findings import Finding, blockers
from kafkactl.frozen import changed, frozen
from kafkactl.operations.log.places import FilePath
from kafkactl.storage import log_compare
from kafkactl.storage.log_check import LogDict, NodeLog

if TYPE_CHECKING:
    from kafkactl.adapters.kafka.client import Client


class RankDict(TypedDict):
    """A log in the ranking: the best disk is the first."""

    path: str
    rank: int
    end_offset: int
    last_epoch: int
    is_damaged: bool


class VerificationDict(TypedDict):
    """`log.verify`."""

    sources: list[LogDict]
    reference: str | None
    ranking: list[RankDict]
    divergences: list[dict[str, Any]]
    findings: list[dict[str, Any]]


@frozen
class LogVerification:
    """Logs as they were read, and what is wrong with them.

    `ranking` has the logs of one cluster from the best disk to the worst, and `reference` the log that the others are
    compared with; both are empty for a single log, and for logs of different clusters.
    """

    logs: tuple[NodeLog, ...]
    findings: tuple[Finding, ...]
    ranking: tuple[NodeLog, ...] = ()
    reference: NodeLog | None = None

    @property
    def has_problems(self) -> bool:
        """Whether a log is damaged, or contradicts another."""
        return bool(blockers(self.findings))

    @property
    def is_empty(self) -> bool:
        """Whether there was no record to check."""
        return log_compare.nothing_learned(self.logs)

    def to_dict(self) -> VerificationDict:
        """The answer `log.verify`."""
        return {
            "sources": [log.to_dict() for log in self.logs],
            "reference": None if self.reference is None else self.reference.path,
            "ranking": [
                {
                    "path": log.path,
                    "rank": rank,
                    "end_offset": log.place[1],
                    "last_epoch": log.place[0],
                    "is_damaged": log.damage is not None,
                }
                for rank, log in enumerate(self.ranking, start=1)
            ],
            "divergences": self._divergences(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def _divergences(self) -> list[dict[str, Any]]:
        if self.reference is None:
            return []
        return [
            {
                "path": log.path,
                "offset": parted.offset,
                "epoch": parted.epoch,
                "reference_epoch": parted.other_epoch,
                "offsets_behind": log.kept.end_offset - parted.offset,
            }
            for log, parted in log_compare.divergences(self.logs, self.reference)
        ]


def verify_logs(
    paths: Iterable[FilePath] = (), *, client: Client | None = None, client_name: str = "cluster"
) -> LogVerification:
    """Read every byte of the logs of one or several nodes of a cluster, and compare them batch by batch.

    `client` adds the log of the active controller of a live cluster, which is shown under `client_name`; it is kept
    in a temporary folder while it is read. Raises InputError for a path that is not a metadata log, UnreachableError
    for a cluster that does not answer, FailedError where the temporary folder is full.
    """
    logs = [read_node_log(path) for path in dict.fromkeys(os.fspath(path) for path in paths)]
    if client is not None:
        from kafkactl.adapters.logs.live import saved_log

        with saved_log(client) as folder:
            logs.append(changed(read_node_log(folder), path=client_name))
    return compare_logs(logs)


def compare_logs(logs: Sequence[NodeLog]) -> LogVerification:
    """What is to be said of logs that were read."""
    ranked = log_compare.ranking(logs) if len(logs) > 1 and log_compare.may_agree(logs) else []
    return LogVerification(
        logs=tuple(logs),
        findings=tuple(log_compare.check_logs(logs)),
        ranking=tuple(ranked),
        reference=log_compare.reference_of(ranked) if ranked else None,
    )
