"""Records that found a new cluster: from bootstrap.checkpoint, from the 0-0 checkpoint, or a default.

Up to 4.3 a node of any role reads bootstrap.checkpoint from its metadata directory, checks no CRC, and exits on what
does not parse (`BootstrapDirectory`, `BatchFileReader`); without the file it takes a default. 4.4 reads the file too if
it is there, and lets the data records of the 0-0 checkpoint override it (`QuorumController.handleLoadBootstrap`). The
records count only for the controller that becomes the first leader of an empty metadata log.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.file_read import FileRead, link_step
from kafkactl.core.findings import Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_VERSION, MIGRATION_ENABLE
from kafkactl.metadata.log.scan import Contents, FoundBatch, Stop, walk_batches
from kafkactl.protocol.catalog.index import metadata_version
from kafkactl.protocol.catalog.release_version import understood
from kafkactl.protocol.record_batch import LENGTH_END, MAGIC, MAGIC_POSITION
from kafkactl.storage.model import BOOTSTRAP_CHECKPOINT
from kafkactl.storage.verify.model import (
    FATAL_EXIT,
    Loss,
    Phase,
    RuleResult,
    StartContext,
    dangling_link,
    file_subject,
    finding,
    informs,
    loses,
    stops,
    warns,
)
from kafkactl.storage.verify.state import loaded_snapshot, log_looks_empty
from kafkactl.storage.verify.voters import has_a_vote, other_voters

# What BatchFileReader can read among control records; the second set since 4.4 (KAFKA-19648).
_CONTROL_READ = {"LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"}
_CONTROL_READ_LATER = {"KRAFT_VERSION", "KRAFT_VOTERS"}
_NO_LEVEL = "No FeatureLevelRecord for metadata.version was found in the bootstrap metadata from"


@frozen
class BootstrapRecords:
    """Records that a first leader would write. `source` is bootstrap.checkpoint, the 0-0 checkpoint, or `default`.

    `levels` are feature levels by name, metadata.version among them; `scram` are user and mechanism.
    """

    source: str
    levels: dict[str, int]
    scram: frozenset[tuple[str, int]] = frozenset()


@frozen
class _File:
    """bootstrap.checkpoint as the node's reader sees it: records, or the error it exits with."""

    contents: Contents
    fatal: str | None
    crc_problem: str | None
    stop: Stop | None


def bootstrap_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report the effect of bootstrap.checkpoint on a start, its damage, and the consequences of its loss."""
    read = context.metadata_directory.observed.bootstrap_checkpoint
    if read is not None and link_step(read.error):
        yield dangling_link(read, "")
        read = None
    if read is not None:
        yield from _file_rules(context, read)
    readable = read is None or read.content is not None
    if context.is_controller and readable and log_looks_empty(context):
        yield from _founding_rules(context, read)


def founding_records(context: StartContext) -> BootstrapRecords:
    """Return the records that the node would found a cluster with."""
    newest = context.log.latest_snapshot  # a newer snapshot, even a broken one, hides the 0-0 checkpoint
    held = newest.contents if newest is not None and newest.is_first else None
    if context.release.layout >= 4 and held is not None and held.features:
        return _of(held, FIRST_CHECKPOINT)
    read = context.metadata_directory.observed.bootstrap_checkpoint
    if read is not None and read.content is not None:
        return _of(_read_file(context, read).contents, BOOTSTRAP_CHECKPOINT)
    return BootstrapRecords(source="default", levels={METADATA_VERSION: default_level(context)})


def default_level(context: StartContext) -> int:
    """Return the metadata.version of a node that finds no records: 3.x asks inter.broker.protocol.version first."""
    asked = context.config.inter_broker_protocol_version
    if context.release.uses_inter_broker_protocol and asked is not None:
        found = understood(context.release, asked)
        return max(found.level if found is not None else 0, context.rules.bootstrap_lowest_level)
    return context.release.production_level


def _of(contents: Contents, source: str) -> BootstrapRecords:
    return BootstrapRecords(source=source, levels=contents.levels, scram=frozenset(contents.scram))


def _file_rules(context: StartContext, read: FileRead) -> Iterator[RuleResult]:
    subject = file_subject(read.path)
    if read.content is None:
        yield stops(
            "unreadable-bootstrap-checkpoint",
            Phase.BOOTSTRAP_CHECKPOINT,
            subject,
            f"The file cannot be read: {read.error}.",
            says=_unreadable_words(read),
        )
        return
    found = _read_file(context, read)
    fatal = found.fatal or _level_refused(context, found.contents, read.path)
    if fatal is not None:
        yield stops(
            "broken-bootstrap-checkpoint",
            Phase.BOOTSTRAP_CHECKPOINT,
            subject,
            "The file is not one that a node can read, and every node reads it, even if it does not need it.",
            says=fatal,
            next_step="" if log_looks_empty(context) else "Remove the file: the metadata log has the levels already.",
            size_bytes=len(read.content),
        )
    elif found.crc_problem is not None:
        yield _wrong_crc(context, subject, found.crc_problem)


def _unreadable_words(read: FileRead) -> str:
    if (read.error or "").startswith("Is a directory"):
        return "java.io.IOException: Is a directory"
    return f"java.nio.file.AccessDeniedException: {read.path}"


def _magic_ignored(data: bytes) -> bytes:
    """Return the file as this reader takes it: any magic of 2 or more is read as 2 (`FileLogInputStream.nextBatch`)."""
    position, seen = 0, bytearray(data)
    while position + LENGTH_END < len(seen):
        magic_at = position + MAGIC_POSITION
        if magic_at < len(seen) and 2 < seen[magic_at] < 128:
            seen[magic_at] = MAGIC
        length = int.from_bytes(seen[position + 8 : position + LENGTH_END], "big", signed=True)
        if length < 0:
            break
        position += LENGTH_END + length
    return bytes(seen)


def _read_file(context: StartContext, read: FileRead) -> _File:
    """Follow FileLogInputStream and BatchFileReader: CRCs unchecked, a cut batch is the end of the file."""
    data = _magic_ignored(read.content or b"")
    contents, crc_problem = Contents(decode_all=True), None
    stop: Stop | None = None
    fatal: str | None = None
    for found in walk_batches([data], len(data), file=read.path, check_crc=False):
        if isinstance(found, FoundBatch):
            contents.add(found, file=read.path)
            crc_problem = crc_problem or (None if found.problem is None else str(found.problem))
        else:
            stop = found
            fatal = _fatal_stop(found, read.path)
    fatal = _fatal_content(context, contents) or fatal
    if fatal is None and not any(change.name == METADATA_VERSION for change in contents.features):
        fatal = f"{_NO_LEVEL} the binary bootstrap metadata file: {read.path}"
    return _File(contents=contents, fatal=fatal, crc_problem=crc_problem, stop=stop)


def _fatal_stop(stop: Stop, path: str) -> str | None:
    if stop.reason == "length":
        return f"Found record size {stop.length} smaller than minimum record overhead (14) in file {path}."
    return FATAL_EXIT if stop.reason in ("magic", "crc") else None


def _fatal_content(context: StartContext, contents: Contents) -> str | None:
    """Return the error of the first record that this release's reader refuses; None if it reads all records."""
    broken = contents.undecodable
    if broken is not None and broken.whole_batch:
        return FATAL_EXIT
    if contents.unknown_control is not None:
        return f"Unable to read control record at offset {contents.unknown_control[0]}"
    if broken is not None and broken.control:
        return f"Unable to read control record at offset {broken.offset}"
    read = _CONTROL_READ | (_CONTROL_READ_LATER if context.rules.bootstrap_reads_voters else set())
    strange = set(contents.control) - read
    if strange:
        return "Unable to read control record at offset"
    known = context.release_record_types
    unknown = [offset for kind, offset in contents.first_offsets.items() if kind[1] > known.get(kind[0], -1)]
    at = min([*unknown, *([] if broken is None else [broken.offset])], default=None)
    return None if at is None else f"unable to deserialize record at offset {at}"


def _level_refused(context: StartContext, contents: Contents, path: str) -> str | None:
    """Return a metadata.version that the reader itself refuses; from 4.0.1 on only the first leader looks at it."""
    level = contents.levels.get(METADATA_VERSION)
    if level is None:
        return f"{_NO_LEVEL} the binary bootstrap metadata file: {path}"
    if not context.release.zookeeper_mode and not context.release.reads_unused_bootstrap_checkpoint:
        return None
    if level > context.release.testing_level or level < context.release.lowest_supported_level:
        return no_metadata_version(context, level)
    lowest, words = context.rules.bootstrap_lowest_level, context.rules.bootstrap_level_words
    if level < lowest:
        return f"Bootstrap {words} before {metadata_version(lowest).name} are not supported."
    return None


def no_metadata_version(context: StartContext, level: int) -> str:
    """Return the message of a release about a level without a name (`MetadataVersion.fromFeatureLevel`)."""
    return f"No MetadataVersion with {context.rules.level_word} {level}"


def _wrong_crc(context: StartContext, subject: str, problem: str) -> RuleResult:
    message = f"The file is not what was written ({problem}), and the node will not notice: it checks no CRC here."
    step = "Compare its content (`kafkactl storage dump`) with that of the node's other directories."
    if context.is_controller and log_looks_empty(context):
        return loses("bootstrap-checkpoint-crc-mismatch", subject, message, next_step=step)
    return warns("bootstrap-checkpoint-crc-mismatch", subject, message, next_step=step)


def _founding_rules(context: StartContext, read: FileRead | None) -> Iterator[RuleResult]:
    records = founding_records(context)
    yield from _ignored_checkpoint(context, records)
    if records.source == "default" and not _ignored_contents(context):
        yield _default_used(context, records)
    if context.release.layout >= 4 and records.source == FIRST_CHECKPOINT and read is not None:
        yield informs(
            "unused-bootstrap-checkpoint",
            file_subject(read.path),
            "The file is read, and then overridden by the records of the 0-0 checkpoint.",
        )


def _ignored_contents(context: StartContext) -> Contents | None:
    """Report records of a 0-0 checkpoint that this release does not read: 4.4 disks under 4.3, or before 3.6."""
    first = context.log.first_checkpoint
    if context.release.layout >= 4 or first is None or first.contents is None or not first.contents.features:
        return None
    return first.contents


def _ignored_checkpoint(context: StartContext, records: BootstrapRecords) -> Iterator[RuleResult]:
    contents = _ignored_contents(context)
    first = context.log.first_checkpoint
    if contents is None or first is None:
        return
    subject = file_subject(f"{context.log.path}/{first.name}")
    version = context.release.version_text
    yield loses(
        "newer-checkpoint-ignored",
        subject,
        f"The disks were formatted for Kafka 4.4 or later, which keeps features and users in the 0-0 checkpoint."
        f" Kafka {version} looks for them in bootstrap.checkpoint only.",
        *_differences(contents.levels, frozenset(contents.scram), records, subject),
        next_step=f"Start Kafka 4.4 or later; or, if the node has never started, run `kafkactl storage unformat` and"
        f" format with `--kafka-version {version}`.",
        formatted=dict(sorted(contents.levels.items())),
        would_be=dict(sorted(records.levels.items())),
    )


def _differences(
    levels: dict[str, int],
    scram: frozenset[tuple[str, int]],
    records: BootstrapRecords,
    subject: str,
) -> Iterator[Loss]:
    wanted, got = levels.get(METADATA_VERSION), records.levels.get(METADATA_VERSION)
    if wanted != got:
        yield Loss(
            what="release",
            subject=subject,
            message=f"metadata.version becomes {_name(got)} instead of {_name(wanted)}.",
        )
    others = {name: level for name, level in levels.items() if name != METADATA_VERSION}
    lost = {name: level for name, level in others.items() if records.levels.get(name, 0) != level}
    if lost:
        text = ", ".join(f"{name}={level}" for name, level in sorted(lost.items()))
        yield Loss(what="features", subject=subject, message=f"Not set: {text}.")
    if scram - records.scram:
        users = ", ".join(sorted({user for user, _ in scram - records.scram}))
        yield Loss(what="scram", subject=subject, message=f"Users that would not exist: {users}.")


def _name(level: int | None) -> str:
    if level is None:
        return "nothing"
    try:
        return f"{metadata_version(level).name} ({level})"
    except KeyError:
        return str(level)


def _default_used(context: StartContext, records: BootstrapRecords) -> RuleResult:
    """Report lost founding records: the choices made at format are unknown, so all of them may be lost."""
    where = context.config.metadata_log_dir
    wanted = BOOTSTRAP_CHECKPOINT if context.release.layout < 4 else f"{FIRST_CHECKPOINT} with metadata records"
    level = _name(records.levels[METADATA_VERSION])
    subject = f"directory {where}"
    losses = (
        Loss(what="release", subject=subject, message=f"metadata.version becomes {level}, whatever was asked for."),
        Loss(what="features", subject=subject, message="Every other feature stays at level 0."),
        Loss(what="scram", subject=subject, message="Users given at format do not exist."),
    )
    return loses(
        "missing-bootstrap-checkpoint",
        subject,
        f"There is no {wanted} in the metadata directory. If this node becomes the first leader of a new cluster, it"
        f" sets metadata.version {level} and nothing else: no other feature, no SCRAM user.",
        *(losses if has_a_vote(context) else ()),
        default_metadata_version=records.levels[METADATA_VERSION],
    )


_FOUNDED_WITHOUT = 0  # ZkMigrationState.NONE, also if no record says anything
_SAYS = "Should not have ZK migrations enabled on a cluster that was created in KRaft mode"


def migration_flag_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield that a leader with the flag ends on a log that was founded without it (`ActivationRecordsGenerator`)."""
    if not (context.is_controller and context.config.zookeeper_migration) or log_looks_empty(context):
        return
    if not has_a_vote(context) or _migration_state(context) != _FOUNDED_WITHOUT:
        return
    others = other_voters(context)
    subject = f"node {context.config.node_id}"
    message = (
        f"{MIGRATION_ENABLE} is true, and the metadata log was founded without it: the controller exits as soon as"
    )
    message += " it is elected."
    step = f"Remove {MIGRATION_ENABLE}. To migrate a ZooKeeper cluster, format new controllers with the flag in their"
    step += " files; this cluster's metadata cannot become that cluster's."
    id = "migration-flag-after-founding"
    if not others:
        yield stops(id, Phase.CONTROLLER_ACTIVATION, subject, message, says=_SAYS, next_step=step)
        return
    yield RuleResult(finding=finding(id, Severity.BLOCKER, subject, message, next_step=step), unknown=True)


def _migration_state(context: StartContext) -> int:
    snapshot = loaded_snapshot(context)
    stored = snapshot.contents.zk_migration_state if snapshot is not None and snapshot.contents is not None else None
    found = context.log.contents.zk_migration_state
    return (stored or _FOUNDED_WITHOUT) if found is None else found
