"""Effect of the meta.properties of all directories on a start.

A node checks these files first, and many failed starts end there.

3.7 and later sort directories into good, empty and error and check them together (`MetaPropertiesEnsemble`,
`KafkaRaftServer.initializeLogDirs`). Up to 3.6 the files were read one by one and compared with each other
(`BrokerMetadataCheckpoint`): 3.3 compares them word by word, 3.4 to 3.6 by what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.core.errors import DecodeError
from kafkactl.core.file_read import FileRead
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.meta_properties import parse_meta_properties
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.leftovers import data_entries
from kafkactl.storage.model import DirectoryState, ObservedDirectory
from kafkactl.storage.verify.meta_before_37 import compared_with_each_other
from kafkactl.storage.verify.meta_troubles import (
    COPY_STEP,
    DATA_STEP,
    FORMAT_STEP,
    goes_offline,
    meta_path,
    not_formatted,
    other_node,
    step_for,
)
from kafkactl.storage.verify.model import (
    DirectoryClass,
    DirectoryFacts,
    Phase,
    RuleResult,
    StartContext,
    directory_subject,
    file_subject,
    informs,
    stops,
    warns,
)


def classify(observed: ObservedDirectory, release: Release) -> DirectoryFacts:
    """Classify a directory as a node of this release does. Up to 3.6 only an I/O error makes it an ERROR."""
    read = observed.meta_properties
    if read is None:
        return _without_file(observed)
    if read.content is None:
        return DirectoryFacts(observed=observed, kind=DirectoryClass.ERROR, problem=read.error or "unreadable")
    try:
        properties: Mapping[str, str] = parse_properties(read.content, file=read.path).mapping
    except DecodeError as error:
        return DirectoryFacts(observed=observed, kind=DirectoryClass.ERROR, problem=error.reason)
    try:
        meta = parse_meta_properties(read.content, file=read.path)
    except DecodeError as error:
        kind = DirectoryClass.ERROR if release.meta_properties_compared else DirectoryClass.GOOD
        return DirectoryFacts(observed=observed, kind=kind, properties=properties, problem=error.reason)
    return DirectoryFacts(observed=observed, kind=DirectoryClass.GOOD, meta=meta, properties=properties)


def _without_file(observed: ObservedDirectory) -> DirectoryFacts:
    """Classify a directory without the file as `empty`, or as ERROR if the directory cannot be read."""
    empty = observed.state in (DirectoryState.MISSING, DirectoryState.DIRECTORY)
    if observed.state is DirectoryState.NOT_A_DIRECTORY and (observed.error or "").startswith("a symbolic link"):
        empty = True
    kind = DirectoryClass.EMPTY if empty else DirectoryClass.ERROR
    return DirectoryFacts(observed=observed, kind=kind, problem=None if empty else observed.error or "unreadable")


def meta_rules(context: StartContext) -> Iterator[RuleResult]:
    """Report problems of meta.properties, in the order in which the release checks it."""
    if context.release.meta_properties_compared:
        yield from _checked_together(context)
    else:
        yield from compared_with_each_other(context)
    yield from _remarks(context)


def _checked_together(context: StartContext) -> Iterator[RuleResult]:
    good = [directory for directory in context.directories if directory.kind is DirectoryClass.GOOD]
    if not good:
        yield _nothing_readable(context)
    yield from _ids_agree(context, good)
    yield from _error_directories(context)
    yield from _unformatted(context, good)
    for directory in good:
        yield from _incomplete(directory)
        yield from _without_directory_id(context, directory)


def _nothing_readable(context: StartContext) -> RuleResult:
    unformatted = [directory for directory in context.directories if directory.kind is DirectoryClass.EMPTY]
    step = FORMAT_STEP if unformatted else "Format nothing: see what is reported of each directory."
    if any(data_entries(directory.observed) for directory in unformatted):
        step = DATA_STEP
    return stops(
        "node-not-formatted",
        Phase.META_PROPERTIES,
        f"node {context.config.node_id}",
        "No directory of the node has a meta.properties that can be read.",
        says="No readable meta.properties files found.",
        next_step=step,
        directories=[directory.path for directory in context.directories],
    )


def _ids_agree(context: StartContext, good: list[DirectoryFacts]) -> Iterator[RuleResult]:
    """Compare ids of directories in the order of paths: the first cluster id counts, and the configured node id."""
    cluster_id: str | None = None
    seen: dict[bytes, str] = {}
    for directory in good:
        meta = directory.meta
        assert meta is not None
        if cluster_id is None:
            cluster_id = meta.cluster_id
        elif meta.cluster_id not in (None, cluster_id):
            yield _other_cluster(directory, cluster_id, meta.cluster_id or "")
        if meta.stored_id is not None and meta.stored_id != context.config.node_id:
            stored, configured = meta.stored_id, context.config.node_id
            says = f"Stored node id {stored} doesn't match previous node id {configured} in {meta_path(directory.path)}"
            yield other_node(directory, stored, configured, says=says)
        if meta.directory_id is not None:
            yield from _directory_id_usable(context, directory, seen)


def _other_cluster(directory: DirectoryFacts, expected: str, found: str) -> RuleResult:
    path = meta_path(directory.path)
    return stops(
        "cluster-id-differs-between-directories",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The directory belongs to cluster {found!r}, another one of this node to {expected!r}.",
        says=f"Invalid cluster.id in: {path}. Expected {expected}, but read {found}",
        next_step="Find out whose disk this is before changing anything; a blank at the end of the id is enough.",
        expected=expected,
        found=found,
    )


def _directory_id_usable(
    context: StartContext, directory: DirectoryFacts, seen: dict[bytes, str]
) -> Iterator[RuleResult]:
    assert directory.meta is not None and directory.meta.directory_id is not None
    directory_id = directory.meta.directory_id
    subject = directory_subject(directory.path)
    if directory_id.is_reserved:
        word = context.rules.reserved_word
        yield stops(
            "reserved-directory-id",
            Phase.META_PROPERTIES,
            subject,
            f"The directory id {directory_id} is one of those that Kafka keeps for itself.",
            says=f"Invalid {word} directory ID {directory_id} found in {directory.path}",
            next_step="Take the directory.id line out (the node makes a new one) or format the directory again.",
            directory_id=str(directory_id),
        )
    other = seen.setdefault(directory_id.raw, directory.path)
    if other != directory.path:
        yield stops(
            "duplicate-directory-id",
            Phase.META_PROPERTIES,
            subject,
            f"The directory has the id {directory_id}, and so has {other}.",
            says=f"Duplicate directory ID Optional[{directory_id}] found. It was the ID of {other}, but also of"
            f" {directory.path}",
            directory_id=str(directory_id),
            other=other,
        )


def _error_directories(context: StartContext) -> Iterator[RuleResult]:
    for directory in context.directories:
        if directory.kind is not DirectoryClass.ERROR:
            continue
        if directory.path == context.config.metadata_log_dir:
            yield _metadata_directory_unreadable(directory)
        else:
            yield goes_offline(directory)


def _metadata_directory_unreadable(directory: DirectoryFacts) -> RuleResult:
    return stops(
        "unreadable-meta-properties",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The meta.properties of the metadata log directory cannot be used: {directory.problem}",
        says=f"Encountered I/O error in metadata log directory {directory.path}. Cannot continue.",
        next_step=step_for(directory),
        problem=directory.problem,
    )


def _unformatted(context: StartContext, good: list[DirectoryFacts]) -> Iterator[RuleResult]:
    """Report empty directories: each of them stops the whole node."""
    for directory in context.directories:
        if directory.kind is DirectoryClass.EMPTY and (good or not context.release.meta_properties_compared):
            yield not_formatted(context, directory)


def _incomplete(directory: DirectoryFacts) -> Iterator[RuleResult]:
    """Report a file without an id: only a version 0 file can lack one and still be valid (an empty file, for
    example)."""
    assert directory.meta is not None
    for value, word, words in (
        (directory.meta.stored_id, "node ID", "node id"),
        (directory.meta.cluster_id, "cluster ID", "cluster id"),
    ):
        if value is None:
            yield stops(
                "incomplete-meta-properties",
                Phase.META_PROPERTIES,
                directory_subject(directory.path),
                f"The file is of version 0 and has no {words}.",
                says=f"Error: {word} not found in {directory.path}",
                next_step=COPY_STEP,
            )
            return


def _without_directory_id(context: StartContext, directory: DirectoryFacts) -> Iterator[RuleResult]:
    assert directory.meta is not None
    if directory.meta.directory_id is not None:
        return
    if not directory.observed.writable:
        yield stops(
            "meta-properties-not-writable",
            Phase.META_PROPERTIES,
            directory_subject(directory.path),
            f"The node must write a directory.id into meta.properties and cannot: {directory.observed.write_error}.",
            says=f"Error while writing meta.properties to {directory.path}",
        )
        return
    yield informs(
        "directory-id-will-be-made",
        directory_subject(directory.path),
        f"Kafka {context.release.version_text} makes a directory.id and rewrites meta.properties.",
        next_step="Nothing to do for a static quorum; a voter of a dynamic quorum is known by its directory id.",
    )


def _remarks(context: StartContext) -> Iterator[RuleResult]:
    for directory in context.directories:
        read = directory.observed.meta_properties
        if directory.meta is not None and read is not None:
            for warning in directory.meta.warnings:
                yield RuleResult(finding=warning.finding(read.path))
            yield from _version_0(directory)
            yield from _not_canonical(directory, read)


def _version_0(directory: DirectoryFacts) -> Iterator[RuleResult]:
    assert directory.meta is not None
    if directory.meta.version == 0 and directory.meta.stored_id is not None:
        yield informs(
            "meta-properties-of-zookeeper-mode",
            directory_subject(directory.path),
            "The meta.properties is of version 0, as ZooKeeper mode writes it. A KRaft node reads it and leaves it so.",
        )


def _not_canonical(directory: DirectoryFacts, read: FileRead) -> Iterator[RuleResult]:
    assert directory.meta is not None
    text = (directory.properties or {}).get("directory.id")
    if text is not None and directory.meta.directory_id is not None and text != str(directory.meta.directory_id):
        yield warns(
            "directory-id-not-canonical",
            file_subject(read.path),
            f"directory.id is written {text!r}; Kafka reads and shows it as {directory.meta.directory_id}.",
        )
