"""Comparison of KRaft with ZooKeeper, entity by entity, and of the copy with its prediction."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkactl.core.answers import plain_dict
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blockers
from kafkactl.core.frozen import frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.migration.api.answers import MigrateCompare, ShownCopyComparison, UnknownThing
from kafkactl.migration.compare.case import Difference, Unknown
from kafkactl.migration.compare.comparison import Comparison, compare_observation, encoder_secrets, phase_facts
from kafkactl.migration.compare.copy import copy_compared, copy_findings
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.io.saved_observation import ZNODES
from kafkactl.migration.zktree.parse import parse_saved_tree
from kafkactl.protocol.catalog.releases import find_release, newest_with_zookeeper

if TYPE_CHECKING:
    from kafkactl.migration.observed.observation import Observation
    from kafkactl.migration.zktree.values import KafkaTree
    from kafkactl.protocol.catalog.releases import KafkaVersion

_MOST = 1000


@frozen
class CopyComparison:
    """Differences between the copy and its prediction, and what is unknown of the copy."""

    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[Unknown, ...]

    @property
    def unexplained(self) -> int:
        """Return the number of differences that nothing explains."""
        return sum(difference.explained is None for difference in self.differences)

    @property
    def ordered(self) -> tuple[Difference, ...]:
        """Return the differences, the unexplained ones first."""
        return tuple(sorted(self.differences, key=lambda difference: difference.explained or ""))


@frozen
class ComparisonResult:
    """The comparison of ZooKeeper with KRaft; `copy` is that with the prediction, None if none was asked for.

    `most` is how many differences `to_dict` gives at most; None: all.
    """

    comparison: Comparison
    observation: Observation
    copy: CopyComparison | None = None
    most: int | None = _MOST

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the comparison and of the observation."""
        return (*self.comparison.findings, *(self.copy.findings if self.copy else ()), *self.observation.findings)

    @property
    def has_problems(self) -> bool:
        """Return True if there is a difference that nothing explains."""
        is_unexplained = bool(self.comparison.unexplained or (self.copy and self.copy.unexplained))
        return is_unexplained or bool(blockers(self.findings))

    @property
    def is_compared(self) -> bool:
        """Return True if both sides were observed, so that there was something to compare."""
        return self.comparison.compared

    @property
    def mirror_offset(self) -> int | None:
        """Return the offset in /migration."""
        return phase_facts(self.observation).migration_offset

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `migrate.compare`, the unexplained differences first."""
        found, log = self.comparison, self.observation.log
        answer: MigrateCompare = {
            "phase": found.phase,
            "compared": found.compared,
            "time_ms": self.observation.time_ms,
            "last_offset": None if log is None else log.last_offset,
            "mirror_offset": self.mirror_offset,
            "counts": found.counts,
            "unexplained": len(found.unexplained),
            "differences_total": len(found.differences),
            "differences": found.differences[: self.most],
            "unknown": _unknown(found.unknown),
            "copy": None if self.copy is None else _copy_answer(self.copy),
            "copy_unknown": [] if self.copy is None else _unknown(self.copy.unknown),
            "findings": tuple(self.findings),
        }
        return plain_dict(answer)


def compare(
    observation: Observation, *, before: str | os.PathLike[str] | None = None, kafka_version: str | None = None
) -> ComparisonResult:
    """Compare ZooKeeper with KRaft as one observation has them.

    `before` is an observation, or its zk.jsonl.gz, from before the copy: what was predicted of it is compared with
    the copy, too, by the rules of `kafka_version` (default: the controllers' own). Raises InputError if the
    observation holds no copy, and for a `before` that is not a whole tree.
    """
    comparison = compare_observation(observation)
    copy = None if before is None else _copy(observation, Path(before), kafka_version)
    return ComparisonResult(comparison=comparison, observation=observation, copy=copy)


def _copy(observation: Observation, before: Path, kafka_version: str | None) -> CopyComparison:
    log = observation.log
    if log is None or not log.copy_records or log.copy_end is None:
        raise InputError(
            "the metadata log of the observation holds no copy of ZooKeeper that was ended", id="no-copy-in-log"
        )
    rules = copy_rules(_version(observation, kafka_version))
    secrets = encoder_secrets(observation.nodes)
    found, unknown = copy_compared(_tree_before(before), log.copy_records, rules, secrets=secrets)
    return CopyComparison(differences=found, findings=copy_findings(found), unknown=unknown)


def _version(observation: Observation, named: str | None) -> KafkaVersion:
    """Return the release of the controllers; the last one with ZooKeeper if it is unknown."""
    known = [node.kafka_version for node in observation.controllers if node.kafka_version]
    name = named or (known[0] if known else None)
    return (newest_with_zookeeper() if name is None else find_release(name)).version


def _tree_before(file: Path) -> KafkaTree:
    if file.is_dir():
        file = next((file / name for name in ZNODES if (file / name).exists()), file / ZNODES[0])
    tree, findings = parse_saved_tree(read_input(file, "saved tree", InputKind.SAVED_TREE), file=str(file))
    for finding in findings:  # from a part of a tree only a part of the copy can be predicted
        raise InputError(f"{finding.subject}: {finding.message}", id=finding.id, next_step=finding.next_step)
    return tree


def _unknown(unknown: tuple[Unknown, ...]) -> list[UnknownThing]:
    return [{"entity": value.entity, "key": value.key, "reason": value.reason} for value in unknown[:_MOST]]


def _copy_answer(copy: CopyComparison) -> ShownCopyComparison:
    return {
        "unexplained": copy.unexplained,
        "differences_total": len(copy.differences),
        "differences": copy.ordered[:_MOST],
    }
