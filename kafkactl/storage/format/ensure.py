"""Plan of `storage ensure`: format what was never formatted, leave what is as asked, refuse what is anything else.

What this file guards: an entry point that runs at every start must not paper over a difference. So what is on a
formatted disk is compared, value by value, with what this very format would have written, had it drawn the ids and
salts that are on the disk. After the node has started, features, users and voters are decided by its metadata log: a
difference on the disk is reported, and nothing is refused because of it, unless the log has no voters to decide by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Finding, Outcome, Severity, blocker, blockers
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_LOG
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.checkpoint import Checkpoint, decode_checkpoint
from kafkactl.metadata.verify.folder import MetadataLogFacts
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.meta_properties import MetaProperties
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.disks import stored_directory_id, stored_meta
from kafkactl.storage.format.last_copies import refuse_last_copies
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    Action,
    DirectoryState,
    FormatPlan,
    FormatRequest,
    ObservedDirectory,
    ObservedNode,
    PlannedDirectory,
    Source,
    is_staged_name,
)
from kafkactl.storage.verify.node import start_context
from kafkactl.storage.verify.places import unexpected_metadata_log
from kafkactl.storage.verify.voters import voter_rules

# What `format -g` says of directories that differ; here the differences are reported one by one, and refuse.
_SUPERSEDED = "formatted-directory-differs"
_NO_VOTERS = "no-voters-known"
_DECIDED_BY_VOTERS = ("voter-flag-missing", "voters-differ")


def plan_ensure(
    request: FormatRequest,
    config: NodeConfig,
    observed: ObservedNode,
    release: Release,
    source: Source,
    *,
    log: MetadataLogFacts | None = None,
    notes: Sequence[Finding] = (),
) -> FormatPlan:
    """Return the plan of `ensure` for one node: planned, nothing-to-do, or refused with every difference.

    `log` is the metadata log where `needs_log` asks for it, `notes` as for `plan_format`. Raises as `plan_format` does.
    """
    asked = replace(request, ignore_formatted=True)
    disk = _DiskSource(observed, config, source)
    plan = plan_format(asked, config, observed, release, disk, notes=notes)
    expected = plan_format(asked, config, blank_node(config), release, disk)
    findings = [finding for finding in plan.findings if finding.id != _SUPERSEDED]
    findings += check_formatted(expected, observed)
    never = list(_never_starts(config, observed, release, log))
    if any(finding.id == _NO_VOTERS for finding in never):  # then no flag makes up for the missing line
        findings = [finding for finding in findings if finding.id not in _DECIDED_BY_VOTERS]
    findings += never
    findings = list(refuse_last_copies(findings, observed))
    return settled(replace(plan, findings=distinct(findings)))


def needs_log(config: NodeConfig, observed: ObservedNode) -> bool:
    """Return True if only the metadata log shows whether it decides: disks formatted without a dynamic quorum."""
    if "controller" not in config.roles or config.static_voters:
        return False
    metadata = observed.directory(config.metadata_log_dir)
    if stored_meta(metadata) is None or not has_started(metadata):
        return False
    first = _checkpoints(metadata).get(FIRST_CHECKPOINT)
    return first is None or (first.voters is None and not first.kraft_version)


def _never_starts(
    config: NodeConfig, observed: ObservedNode, release: Release, log: MetadataLogFacts | None
) -> Iterator[Finding]:
    """Yield the reasons that keep a formatted node from its quorum indefinitely, even if its disks are correct."""
    context = start_context(config, observed, release, log or MetadataLogFacts(path="", state="missing"))
    yield from (result.finding for result in unexpected_metadata_log(context))
    if log is not None:
        yield from (result.finding for result in voter_rules(context) if result.finding.id == _NO_VOTERS)


def blank_node(config: NodeConfig) -> ObservedNode:
    """Return the node's directories as if there were none yet."""
    return ObservedNode(
        directories=tuple(
            ObservedDirectory(path=path, real_path=path, state=DirectoryState.MISSING)
            for path in config.all_directories
        )
    )


def settled(plan: FormatPlan) -> FormatPlan:
    """Return the plan with the outcome that its findings and directories give."""
    if blockers(plan.findings):
        return replace(plan, outcome=Outcome.REFUSED)
    if any(directory.action is Action.FORMAT for directory in plan.directories):
        return replace(plan, outcome=Outcome.PLANNED)
    return replace(plan, outcome=Outcome.NOTHING_TO_DO)


def distinct(findings: list[Finding]) -> tuple[Finding, ...]:
    """Remove duplicates; keep the more severe finding."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        before = kept.get((finding.id, finding.subject))
        if before is None or (finding.severity is Severity.BLOCKER and before.severity is not Severity.BLOCKER):
            kept[finding.id, finding.subject] = finding
    return tuple(kept.values())


class _DiskSource:
    """Ids and salts that are on the disks already, so that an equal request gives an equal plan; new ones where not."""

    def __init__(self, observed: ObservedNode, config: NodeConfig, source: Source) -> None:
        self._source = source
        self._ids = {
            directory.path: found
            for directory in observed.directories
            if (found := stored_directory_id(directory)) is not None
        }
        metadata = next(
            (directory for directory in observed.directories if directory.path == config.metadata_log_dir), None
        )
        records = _Records.of(_checkpoints(metadata)) if metadata is not None else None
        self._salts = [user["Salt"] for user in records.users] if records else []

    def now_ms(self) -> int:
        """Return the clock."""
        return self._source.now_ms()

    def directory_id(self, path: str) -> Uuid:
        """Return the id that the directory has, or a new one. It stays the same when asked again."""
        if path not in self._ids:
            self._ids[path] = self._source.directory_id(path)
        return self._ids[path]

    def scram_salt(self, position: int) -> bytes:
        """Return the salt of the user at this place on the disk: users are written in the order of the arguments."""
        if position < len(self._salts):
            salt: bytes = self._salts[position]
            return salt
        return self._source.scram_salt(position)


def check_formatted(expected: FormatPlan, observed: ObservedNode) -> Iterator[Finding]:
    """Report differences between formatted directories and what `expected` (a plan for blank disks) would have
    written.

    Directories without meta.properties are not looked at, and those with an unreadable one are reported elsewhere.
    """
    by_path = {directory.path: directory for directory in observed.directories}
    for planned in expected.directories:
        found = by_path.get(planned.path)
        stored = stored_meta(found)
        if found is None or stored is None:
            continue
        yield from _check_ids(expected, planned, stored)
        if planned.role == "metadata" and planned.files:
            yield from _check_checkpoints(planned, found)


def _check_ids(expected: FormatPlan, planned: PlannedDirectory, stored: MetaProperties) -> Iterator[Finding]:
    asked = {
        "cluster-id-mismatch": (expected.cluster_id, stored.cluster_id),
        "node-id-mismatch": (expected.node_id, stored.stored_id),
        "directory-id-mismatch": (_text(planned.directory_id), _text(stored.directory_id)),
    }
    for id, (wanted, found) in asked.items():
        # A meta.properties without directory.id is one of 3.3 to 3.6 (or of ZooKeeper): a newer node adds it.
        if wanted != found and not (id == "directory-id-mismatch" and None in (wanted, found)):
            what = id.removesuffix("-mismatch").replace("-", " ")
            yield Finding(
                id=id,
                severity=Severity.BLOCKER,
                subject=f"directory {planned.path}",
                message=f"{planned.path} is formatted with {what} {found}, asked for is {wanted}",
                evidence={"path": planned.path, "expected": wanted, "found": found},
                next_step="Find out whose disk this is. An id is never taken over from a disk, nor changed on it.",
            )


@frozen
class _Records:
    """Records of checkpoints for the start of a cluster. `users` holds secrets."""

    levels: Mapping[str, int]
    users: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, checkpoints: Mapping[str, Checkpoint]) -> _Records | None:
        """Return the records of the first checkpoint that has any, as a node reads them; None if no file has
        records."""
        for checkpoint in checkpoints.values():
            records = [record for _, record in checkpoint.records]
            if records:
                return cls(
                    levels={
                        record.data["Name"]: record.data["FeatureLevel"]
                        for record in records
                        if record.type == "FeatureLevelRecord"
                    },
                    users=tuple(
                        {key: value for key, value in record.data.items() if key != "_tags"}
                        for record in records
                        if record.type == "UserScramCredentialRecord"
                    ),
                )
        return None


def _check_checkpoints(planned: PlannedDirectory, found: ObservedDirectory) -> Iterator[Finding]:
    refused = _refused(found)
    if refused is not None:
        yield blocker(
            "metadata-directory-unreadable",
            f"directory {planned.path}",
            f"the levels, users and voters that {planned.path} was formatted with cannot be read: {refused}",
            "Run the command as the user that runs Kafka. If that user may not read it either, change its owner.",
        )
        return
    on_disk = _checkpoints(found)
    meant = {
        file.name.rpartition("/")[2]: decode_checkpoint(file.content)
        for file in planned.files
        if file.name.endswith(".checkpoint")
    }
    findings = [
        *_check_damage(planned.path, on_disk),
        *_check_records(planned.path, _Records.of(_in_order(meant)), _Records.of(on_disk)),
        *_check_voters(planned.path, meant.get(FIRST_CHECKPOINT), on_disk.get(FIRST_CHECKPOINT)),
    ]
    started = has_started(found)
    yield from (_decided_elsewhere(finding) if started else finding for finding in findings)


def has_started(directory: ObservedDirectory) -> bool:
    """Return True if a node has run on this metadata directory: it contains a log or a quorum-state."""
    return any(
        entry.name != FIRST_CHECKPOINT and not entry.name.endswith(".part") and not is_staged_name(entry.name)
        for entry in directory.metadata_log or ()
    )


def _refused(found: ObservedDirectory) -> str | None:
    """Return the reason why the formatted content of the directory is unknown; None if it is known."""
    if found.metadata_log_error is not None:
        return f"{found.path}/{METADATA_LOG}: {found.metadata_log_error}"
    files = (found.bootstrap_checkpoint, found.metadata_files.get(FIRST_CHECKPOINT))
    return next((f"{file.path}: {file.error}" for file in files if file is not None and file.content is None), None)


def _check_damage(path: str, on_disk: Mapping[str, Checkpoint]) -> Iterator[Finding]:
    for name, checkpoint in on_disk.items():
        if checkpoint.problems:
            yield _difference(
                "checkpoint-damaged",
                path,
                f"{name} in {path} is damaged: {checkpoint.problems[0].reason} (byte {checkpoint.problems[0].offset})",
                found=name,
            )


def _check_records(path: str, wanted: _Records | None, found: _Records | None) -> Iterator[Finding]:
    if wanted is None:
        return
    if found is None:
        yield _difference(
            "bootstrap-records-missing",
            path,
            f"{path} is formatted and holds no feature levels: the cluster would start with defaults and without users",
            expected=dict(wanted.levels),
        )
        return
    if wanted.levels != found.levels:
        yield _difference(
            "feature-levels-differ",
            path,
            f"{path} is formatted with {_levels_text(found.levels)}, asked for is {_levels_text(wanted.levels)}",
            expected=dict(wanted.levels),
            found=dict(found.levels),
        )
    if wanted.users != found.users:
        yield _difference(
            "scram-users-differ",
            path,
            f"{path} is formatted with the SCRAM users {_users_text(found)}, asked for are {_users_text(wanted)}"
            + (" with other passwords or salts" if _users_text(found) == _users_text(wanted) else ""),
        )


def _check_voters(path: str, wanted: Checkpoint | None, found: Checkpoint | None) -> Iterator[Finding]:
    expected, stored = _voters_text(wanted), _voters_text(found)
    if expected != stored:
        yield _difference(
            "voters-differ",
            path,
            f"{path} is formatted with {_said(stored)}, asked for is {_said(expected)}",
            expected=expected,
            found=stored,
        )


def _difference(id: str, path: str, message: str, **evidence: object) -> Finding:
    return Finding(
        id=id,
        severity=Severity.BLOCKER,
        subject=f"directory {path}",
        message=message,
        evidence={"path": path, **evidence},
    )


def _decided_elsewhere(finding: Finding) -> Finding:
    """Return the finding as information: after its first start a node follows the metadata log, not the format."""
    return replace(
        finding,
        severity=Severity.INFO,
        message=finding.message + "; the node has started since, so its metadata log decides",
        next_step="Change feature levels, users and voters in the running cluster.",
    )


def _checkpoints(directory: ObservedDirectory) -> dict[str, Checkpoint]:
    """Return the checkpoints that formatting writes, by name, in the order in which a node reads them."""
    files: dict[str, FileRead | None] = {
        BOOTSTRAP_CHECKPOINT: directory.bootstrap_checkpoint,
        FIRST_CHECKPOINT: directory.metadata_files.get(FIRST_CHECKPOINT),
    }
    return {
        name: decode_checkpoint(file.content, file=file.path)
        for name, file in files.items()
        if file is not None and file.content is not None
    }


def _in_order(checkpoints: Mapping[str, Checkpoint]) -> dict[str, Checkpoint]:
    return {name: checkpoints[name] for name in (BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT) if name in checkpoints}


def _voters_text(checkpoint: Checkpoint | None) -> list[str] | None:
    if checkpoint is None or checkpoint.voters is None:
        return None
    return sorted(f"{voter.node_id}@{_addresses(voter)}:{voter.directory_id}" for voter in checkpoint.voters)


def _addresses(voter: Voter) -> str:
    return "+".join(map(str, voter.endpoints))


def _said(voters: list[str] | None) -> str:
    return "no voter set" if voters is None else f"the voters {', '.join(voters)}"


def _levels_text(levels: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={level}" for name, level in levels.items()) or "no feature level"


def _users_text(records: _Records) -> str:
    return ", ".join(str(user["Name"]) for user in records.users) or "none"


def _text(value: Uuid | None) -> str | None:
    return None if value is None else str(value)
