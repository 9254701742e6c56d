"""Plan the format of one node: the bytes of every file, or every finding against it.

A pure function from what is asked (arguments, configuration, release) and what is there (directories) to a
`FormatPlan`. Clock, ids and salts come from a `Source`, so that a plan can be made again, or be stored.

`format` of every Kafka release stops at its first problem; here no rule hides another. Blockers are reported in Kafka's
order, so that the first one is the error of Kafka's own tool (StorageTool.scala, Formatter.java), and a message has
Kafka's key phrase if there is one, so that it can be searched for. The rules, in that order: arguments, levels,
disks, then kafkactl's own guard; warnings.py reports what Kafka does silently. Arguments that cannot be parsed are not
findings but an InputError (exit 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.cluster.quorum.voters import DynamicVoter, hash_order
from kafkactl.core.findings import Finding, Outcome, Severity, blocker, blockers, planned_outcome
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.protocol.catalog.releases import Release
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.arguments import (
    check_controller_login,
    check_mode,
    check_voter_flags,
    first_voters,
    warn_of_voters,
)
from kafkactl.storage.format.cluster_id import check_cluster_id
from kafkactl.storage.format.disks import (
    ClassifiedDirectory,
    DirectoryClass,
    check_already_formatted,
    check_error_directories,
    check_same_place,
    check_stored_ids,
    classify_all,
    is_interrupted,
)
from kafkactl.storage.format.files import NodeFiles
from kafkactl.storage.format.guard import check_blank
from kafkactl.storage.format.last_copies import warn_of_last_copies
from kafkactl.storage.format.levels import Levels, effective_levels
from kafkactl.storage.format.running_quorum import BlankController, check_running_quorum
from kafkactl.storage.format.scram import ScramCredential, parse_scram
from kafkactl.storage.format.warnings import (
    check_owner,
    check_space,
    warn_of_idle_flags,
    warn_of_kept,
    warn_of_stale_bootstrap,
    warn_of_unknown_places,
)
from kafkactl.storage.model import (
    QUORUM_STATE,
    Action,
    DirectoryRole,
    DirectoryState,
    FormatPlan,
    FormatRequest,
    ObservedDirectory,
    ObservedNode,
    PlannedDirectory,
    Source,
)


def plan_format(
    request: FormatRequest,
    config: NodeConfig,
    observed: ObservedNode,
    release: Release,
    source: Source,
    *,
    notes: Sequence[Finding] = (),
) -> FormatPlan:
    """Return the plan for one node; equal arguments give equal plans. `notes` are findings on the release.

    `outcome` is planned, nothing-to-do or refused; a refused plan has every blocker among its findings, the one that
    Kafka would have reported first, and no files. Raises InputError for words that cannot be understood: a voter, a
    feature, a SCRAM argument, a release version, a cluster id if the release decodes it.
    """
    cluster_id = check_cluster_id(request.cluster_id, release, migration=config.zookeeper_migration)
    voters = first_voters(request, config, release, source)
    levels = effective_levels(request, config, release)
    credentials = _credentials(request, release, source)
    facts = _Facts(request, config, observed, release, classify_all(observed.directories, release))
    first = None if voters is None else _voters(voters, config)
    findings = [
        *check_mode(config),
        *cluster_id.findings,
        *(warning for credential in credentials for warning in credential.warnings),
        *levels.parsing_findings,
        *_advised_by_disk(check_voter_flags(request, config, release), config, observed),
        *check_controller_login(request, config, voters),
        *_check_scram_flag(request, release),
        *_check_jbod(config, levels, release),
        *levels.findings,
        *_check_disks(facts, cluster_id.stored),
        *_check_quorum(facts, cluster_id.stored, voters),
        *warn_of_voters(voters or (), config, request.voter_mode, release),
        *_warn_of_taken_id(facts, voters),
        *warn_of_unknown_places(request, config),
        *warn_of_idle_flags(request, config),
        *warn_of_stale_bootstrap(facts.empty, config, release),
        *warn_of_kept(facts.kept, levels.features, levels.metadata_version.level, first),
        *(*warn_of_last_copies(config, observed), *config.warnings, *notes),
    ]
    files = NodeFiles(
        layout=release.layout,
        cluster_id=cluster_id.stored,
        node_id=config.node_id,
        now_ms=source.now_ms(),
        is_controller="controller" in config.roles,
        metadata_version_level=levels.metadata_version.level,
        features=levels.features,
        kraft_version=levels.kraft_version,
        voters=first,
        scram=credentials,
    )
    directories = _untouched(facts) if blockers(findings) else _directories(facts, files, voters, source)
    findings += check_space(facts.empty, _bytes_needed(directories))
    outcome = _outcome(directories, findings)
    return FormatPlan(
        outcome=outcome,
        cluster_id=cluster_id.stored,
        node_id=config.node_id,
        kafka_version=release.version_text,
        metadata_version_level=levels.metadata_version.level,
        metadata_version_name=levels.metadata_version.name,
        kraft_version=levels.kraft_version,
        features=dict(levels.features),
        voters=first or () if _writes_metadata_directory(directories) else (),  # else their ids are on no disk
        directories=_untouched(facts) if outcome is Outcome.REFUSED else directories,
        findings=tuple(findings),
        owner=request.owner,
    )


@frozen(kw_only=False)
class _Facts:
    """Request and observed directories together."""

    request: FormatRequest
    config: NodeConfig
    observed: ObservedNode
    release: Release
    classified: tuple[ClassifiedDirectory, ...]

    @property
    def empty(self) -> list[ObservedDirectory]:
        """Return the directories to format, each real path once."""
        return [disk.directory for disk in self.classified if disk.kind is DirectoryClass.EMPTY]

    @property
    def resumes(self) -> bool:
        """Return True if what is formatted is kept because a format of kafkactl was interrupted."""
        return not self.request.ignore_formatted and is_interrupted(self.classified)

    @property
    def kept(self) -> list[ClassifiedDirectory]:
        """Return the directories that are formatted already."""
        return [disk for disk in self.classified if disk.kind is DirectoryClass.FORMATTED]

    def role(self, path: str) -> DirectoryRole:
        """Return metadata or data."""
        return "metadata" if path == self.config.metadata_log_dir else "data"

    def repeated(self) -> set[str]:
        """Return paths to a place which another path formats: the metadata directory's own, else the first."""
        chosen: dict[str, str] = {}
        for directory in self.observed.directories:
            if directory.path == self.config.metadata_log_dir:
                chosen[directory.real_path] = directory.path
        for directory in self.observed.directories:
            chosen.setdefault(directory.real_path, directory.path)
        return {
            directory.path for directory in self.observed.directories if chosen[directory.real_path] != directory.path
        }


def _check_disks(facts: _Facts, cluster_id: str) -> Iterator[Finding]:
    request, config, release = facts.request, facts.config, facts.release
    yield from check_stored_ids(facts.classified, cluster_id=cluster_id, node_id=config.node_id, release=release)
    yield from check_already_formatted(facts.classified, ignore_formatted=request.ignore_formatted)
    yield from check_error_directories(
        facts.classified, metadata_directory=config.metadata_log_dir, overrides=request.overrides, release=release
    )
    yield from check_blank(
        facts.empty,
        formatted=[disk.directory for disk in facts.kept],
        metadata_directory=config.metadata_log_dir,
        is_controller="controller" in config.roles,
        is_broker="broker" in config.roles,
        overrides=request.overrides,
        node_id=config.node_id,
        cluster_id=cluster_id,
        quorum=facts.observed.quorum,
    )
    yield from check_owner(request, facts.empty, facts.observed)
    yield from check_same_place(facts.observed.directories)


def _advised_by_disk(findings: Iterator[Finding], config: NodeConfig, observed: ObservedNode) -> Iterator[Finding]:
    """Add the lost voters line to a missing voter flag if the quorum-state of the node names static voters."""
    for finding in findings:
        yield _with_voters_line(finding, config, observed) if finding.id == "voter-flag-missing" else finding


def _with_voters_line(finding: Finding, config: NodeConfig, observed: ObservedNode) -> Finding:
    from kafkactl.storage.verify.quorum_state import read_quorum_state
    from kafkactl.storage.verify.voters import static_voters_line

    read = observed.directory(config.metadata_log_dir).metadata_files.get(QUORUM_STATE)
    state = None if read is None else read_quorum_state(read)[0]
    if state is None or not state.current_voters:
        return finding
    line, rest = static_voters_line(config, state)
    step = f"This node ran with controller.quorum.voters: put the line back, `{line}`{rest}."
    return changed(finding, next_step=step)


def _check_quorum(facts: _Facts, cluster_id: str, voters: Sequence[DynamicVoter] | None) -> Iterator[Finding]:
    """Check the blank metadata directory of a controller against the quorum that answers at its addresses."""
    quorum = facts.observed.quorum
    blank = facts.config.metadata_log_dir in {directory.path for directory in facts.empty}
    if quorum is not None and blank and not facts.kept:
        node = BlankController(config=facts.config, cluster_id=cluster_id, request=facts.request, voters=voters)
        yield from check_running_quorum(node, quorum)


def _check_scram_flag(request: FormatRequest, release: Release) -> Iterator[Finding]:
    if (request.scram or request.credentials) and release.scram_rule == "none":
        yield blocker(
            "option-not-in-release",
            "--add-scram",
            f"Kafka {release.version_text} has no --add-scram; it came with 3.5",
            "Add the users once the cluster runs, or name the release that will start with --kafka-version.",
        )


def _check_jbod(config: NodeConfig, levels: Levels, release: Release) -> Iterator[Finding]:
    """Refuse several directories of a broker below 3.7-IV2, as 3.7 and 3.8 do (KIP-858); later ones at run time."""
    needed = release.jbod_format_level
    if needed and "broker" in config.roles and len(config.log_dirs) > 1 and levels.metadata_version.level < needed:
        yield blocker(
            "several-directories-need-newer-metadata-version",
            "log.dirs",
            "Multiple log directories (aka JBOD) are not supported in the current MetadataVersion"
            f" {levels.metadata_version.name}. Need 3.7-IV2 or higher",
            directories=list(config.log_dirs),
        )


def _credentials(request: FormatRequest, release: Release, source: Source) -> tuple[ScramCredential, ...]:
    parsed = (
        parse_scram(text, release=release, salt=source.scram_salt(position))
        for position, text in enumerate(request.scram)
    )
    return (*parsed, *request.credentials)


def _voters(voters: Sequence[DynamicVoter], config: NodeConfig) -> tuple[Voter, ...]:
    """Return the voters in the order of Kafka's VotersRecord, with the normalised name of the first controller
    listener."""
    listener = config.controller_listener_names[0].upper() if config.controller_listener_names else ""
    by_id = {voter.node_id: voter for voter in voters}
    return tuple(
        Voter(
            node_id=node_id,
            directory_id=by_id[node_id].directory_id,
            endpoints=(Endpoint(listener=listener, host=by_id[node_id].stored_host, port=by_id[node_id].port),),
        )
        for node_id in hash_order(by_id)
    )


def _warn_of_taken_id(facts: _Facts, voters: Sequence[DynamicVoter] | None) -> Iterator[Finding]:
    """Report a metadata directory id of the voter list that belongs to another directory already."""
    own = _own_voter(voters, facts.config.node_id)
    if own is None:
        return
    for disk in facts.kept:
        stored = disk.stored.directory_id if disk.stored else None
        is_metadata = disk.path == facts.config.metadata_log_dir
        if not is_metadata and stored == own.directory_id:
            yield Finding(
                id="shared-directory-id",
                severity=Severity.WARNING,
                subject=f"directory {disk.path}",
                message=f"{disk.path} already has the directory id {stored} that the voter list gives to"
                f" {facts.config.metadata_log_dir}: the node will not start",
                next_step="Give this node's voter another directory id, on all nodes.",
            )


def _writes_metadata_directory(directories: Sequence[PlannedDirectory]) -> bool:
    return any(directory.role == "metadata" and directory.action is Action.FORMAT for directory in directories)


def _own_voter(voters: Sequence[DynamicVoter] | None, node_id: int) -> DynamicVoter | None:
    return next((voter for voter in voters or () if voter.node_id == node_id), None)


def _directories(
    facts: _Facts, files: NodeFiles, voters: Sequence[DynamicVoter] | None, source: Source
) -> tuple[PlannedDirectory, ...]:
    own = _own_voter(voters, facts.config.node_id)
    repeated = facts.repeated()
    return tuple(
        _format(disk, facts, files, own, source)
        if disk.kind is DirectoryClass.EMPTY and disk.path not in repeated
        else _leave(disk, facts)
        for disk in facts.classified
    )


def _format(
    disk: ClassifiedDirectory, facts: _Facts, files: NodeFiles, own: DynamicVoter | None, source: Source
) -> PlannedDirectory:
    role = facts.role(disk.path)
    directory_id: Uuid | None = None
    if facts.release.has_directory_ids:
        is_voter = own is not None and role == "metadata"
        directory_id = own.directory_id if own and is_voter else source.directory_id(disk.path)
    return PlannedDirectory(
        path=disk.path,
        role=role,
        directory_id=directory_id,
        action=Action.FORMAT,
        files=files.of_directory(directory_id, is_metadata=role == "metadata"),
        place=_place(disk.directory),
        found=_names(disk),
    )


def _names(disk: ClassifiedDirectory) -> frozenset[str]:
    return frozenset(entry.name for entry in disk.directory.entries)


def _place(directory: ObservedDirectory) -> tuple[int, int] | None:
    is_there = directory.state is DirectoryState.DIRECTORY
    return (directory.device, directory.inode) if is_there else None


def _leave(disk: ClassifiedDirectory, facts: _Facts) -> PlannedDirectory:
    return PlannedDirectory(
        path=disk.path,
        role=facts.role(disk.path),
        directory_id=disk.stored.directory_id if disk.stored else None,
        action=Action.KEEP if disk.kind is DirectoryClass.FORMATTED else Action.SKIP,
        found=_names(disk) if facts.resumes else frozenset(),
    )


def _untouched(facts: _Facts) -> tuple[PlannedDirectory, ...]:
    """Return the directories of a refused plan, which touches nothing."""
    return tuple(_leave(disk, facts) for disk in facts.classified)


def _bytes_needed(directories: Sequence[PlannedDirectory]) -> dict[str, int]:
    return {directory.path: sum(len(file.content) for file in directory.files) for directory in directories}


def _outcome(directories: Sequence[PlannedDirectory], findings: Sequence[Finding]) -> Outcome:
    return planned_outcome(findings, any(directory.action is Action.FORMAT for directory in directories))
