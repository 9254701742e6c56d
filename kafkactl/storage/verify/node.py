"""Will this node start on these disks, and what would it lose? A simulated start, from the files alone.

The rules follow a node of the given release from the first file that it opens to the registration of the broker. Each
says what it finds; the first in the order of a start that ends or blocks it is the expected failure. Other nodes are
taken to be there and healthy; a finding reports where the answer rests on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import changed
from kafkactl.metadata.verify.folder import MetadataLogFacts
from kafkactl.protocol.catalog.releases import Release, known_releases
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.model import QUORUM_STATE, ObservedNode
from kafkactl.storage.partition_folders import PartitionIds
from kafkactl.storage.verify.addresses import address_rules
from kafkactl.storage.verify.bootstrap import bootstrap_rules, migration_flag_rules
from kafkactl.storage.verify.classes import class_rules
from kafkactl.storage.verify.features import feature_rules, snapshot_level_rules
from kafkactl.storage.verify.files import file_rules
from kafkactl.storage.verify.hygiene import hygiene_rules
from kafkactl.storage.verify.log_settings import log_setting_rules
from kafkactl.storage.verify.logins import login_rules
from kafkactl.storage.verify.losses import loss_rules
from kafkactl.storage.verify.meta import classify, meta_rules
from kafkactl.storage.verify.meta_troubles import is_metadata_disk_lost
from kafkactl.storage.verify.model import (
    DirectoryFacts,
    Failure,
    Phase,
    Rule,
    RuleResult,
    StartContext,
    Verification,
    VerifiedDirectory,
)
from kafkactl.storage.verify.offline import offline_rules
from kafkactl.storage.verify.partitions import partition_rules
from kafkactl.storage.verify.places import place_rules
from kafkactl.storage.verify.quorum_state import quorum_state_rules, read_quorum_state
from kafkactl.storage.verify.recovery import offset_rules, recovery_rules
from kafkactl.storage.verify.snapshot_remedy import with_remedies
from kafkactl.storage.verify.snapshots import snapshot_rules
from kafkactl.storage.verify.tiered import tiered_rules
from kafkactl.storage.verify.voters import voter_rules

RULES: tuple[Rule, ...] = (
    meta_rules,
    place_rules,
    offline_rules,
    bootstrap_rules,
    offset_rules,
    file_rules,
    snapshot_rules,
    snapshot_level_rules,
    recovery_rules,
    quorum_state_rules,
    voter_rules,
    address_rules,
    login_rules,
    migration_flag_rules,
    feature_rules,
    log_setting_rules,
    class_rules,
    tiered_rules,
    partition_rules,
    loss_rules,
    hygiene_rules,
)
_RULES_WITHOUT_METADATA: tuple[Rule, ...] = (meta_rules, place_rules, offline_rules, hygiene_rules)


def verify_node(
    config: NodeConfig,
    observed: ObservedNode,
    release: Release,
    log: MetadataLogFacts,
    partition_ids: PartitionIds | None = None,
) -> Verification:
    """Predict the start of a node of `release` on the observed disks; `log` is its metadata directory's.

    `partition_ids` are the topic ids in the partition folders of a broker; None: they were not read.
    """
    if config.is_zookeeper_mode:
        return _not_for_zookeeper_mode(config)
    context = changed(start_context(config, observed, release, log), partition_ids=partition_ids)
    results = [result for rule in rules_for(context) for result in rule(context)]

    def predict(other: MetadataLogFacts) -> Verification:
        return verify_node(config, observed, release, other, partition_ids)

    return _answer(context, list(with_remedies(context, results, predict)), config.warnings)


def rules_for(context: StartContext) -> tuple[Rule, ...]:
    """Return the rules that apply: without the metadata disk nothing is known of log, quorum and levels."""
    return _RULES_WITHOUT_METADATA if is_metadata_disk_lost(context) else RULES


def verify_refused_config(findings: Iterable[Finding]) -> Verification:
    """Return the answer if the configuration itself stops the node: the disks are not looked at."""
    kept = tuple(findings)
    first = next((finding for finding in kept if finding.severity is Severity.BLOCKER), None)
    failure = None if first is None else Failure(phase=Phase.CONFIG, message=first.message)
    return Verification(will_start=False, expected_failure=failure, would_lose=(), directories=(), findings=kept)


def _not_for_zookeeper_mode(config: NodeConfig) -> Verification:
    found = Finding(
        id="zookeeper-mode-not-verified",
        severity=Severity.WARNING,
        subject=config.file,
        message="process.roles is empty: this is a broker in ZooKeeper mode, and verify simulates starts of "
        "KRaft nodes.",
        next_step="Nothing was checked.",
    )
    return Verification(
        will_start=None, expected_failure=None, would_lose=(), directories=(), findings=(*config.warnings, found)
    )


def start_context(config: NodeConfig, observed: ObservedNode, release: Release, log: MetadataLogFacts) -> StartContext:
    """Return the input of the rules; directories are in the order of their paths, as a node visits them."""
    directories = tuple(
        sorted((classify(directory, release) for directory in observed.directories), key=lambda facts: facts.path)
    )
    state = None
    for facts in directories:
        read = facts.observed.metadata_files.get(QUORUM_STATE)
        if facts.path == config.metadata_log_dir and read is not None:
            state, _ = read_quorum_state(read)
    return StartContext(
        config=config, observed=observed, release=release, log=log, directories=directories, quorum_state=state
    )


def _answer(context: StartContext, results: list[RuleResult], warnings: Iterable[Finding]) -> Verification:
    failures = sorted(
        (result.failure for result in results if result.failure is not None), key=lambda result: result.phase
    )
    unknown = any(result.unknown for result in results)
    will_start = False if failures else None if unknown else True
    return Verification(
        will_start=will_start,
        expected_failure=failures[0] if failures else None,
        would_lose=() if _ends_untouched(failures) else tuple(loss for result in results for loss in result.losses),
        directories=tuple(_directory(context, facts) for facts in context.directories),
        findings=(*warnings, *(result.finding for result in results)),
    )


def _ends_untouched(failures: Sequence[Failure]) -> bool:
    """Return True if the node is gone before it opens its metadata log: such a start drops and creates nothing."""
    return bool(failures) and failures[0].phase < Phase.METADATA_LOG


def _directory(context: StartContext, facts: DirectoryFacts) -> VerifiedDirectory:
    meta = facts.meta
    return {
        "path": facts.path,
        "role": "metadata" if facts.path == context.config.metadata_log_dir else "data",
        "state": facts.kind.word,
        "version": None if meta is None else meta.version,
        "cluster_id": None if meta is None else meta.cluster_id,
        "node_id": None if meta is None else meta.stored_id,
        "directory_id": None if meta is None or meta.directory_id is None else str(meta.directory_id),
    }


def releases_that_start(
    config: NodeConfig, observed: ObservedNode, log: MetadataLogFacts, partition_ids: PartitionIds | None = None
) -> list[str]:
    """Return the known releases that would start on these disks and lose nothing, oldest first.

    The configuration is taken as it is read for the release asked for: what another release would say of its keys is
    not part of this answer.
    """
    found = []
    for release in known_releases():
        answer = verify_node(config, observed, release, log, partition_ids)
        if answer.will_start and not answer.would_lose:
            found.append(release.name)
    return found
