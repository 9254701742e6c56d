"""meta.properties as 3.3 to 3.6 read them (`BrokerMetadataCheckpoint`): one by one, then compared with each other.

3.3 compares them word by word, 3.4 to 3.6 by what they mean. An I/O error puts a directory offline; anything else that
cannot be read ends the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.protocol.text.java_text import parse_int
from kafkactl.storage.verify.meta_troubles import COPY_STEP, goes_offline, not_formatted, other_node, step_for
from kafkactl.storage.verify.model import (
    DirectoryClass,
    DirectoryFacts,
    Phase,
    RuleResult,
    StartContext,
    directory_subject,
    stops,
)


def compared_with_each_other(context: StartContext) -> Iterator[RuleResult]:
    """Read one by one, compared, and only then checked against the configuration."""
    for directory in context.directories:
        if directory.kind is DirectoryClass.EMPTY:
            yield not_formatted(context, directory)
        elif directory.kind is DirectoryClass.ERROR and _is_malformed(directory):
            yield _malformed(directory)
    good = [directory for directory in context.directories if directory.kind is DirectoryClass.GOOD]
    word_by_word = context.rules.meta_properties_compared_as_written
    parsed = [file for file in good if word_by_word or _required(file.properties or {}) is None]
    if len({_compared(properties, word_by_word) for properties in parsed}) > 1:
        yield _inconsistent(good)
    for directory in context.directories:
        if directory.kind is DirectoryClass.ERROR and not _is_malformed(directory):
            yield _offline_or_fatal(context, directory)
    for directory in good:
        complaint = _required(directory.properties or {})
        if complaint is not None:
            yield _cannot_be_used(directory, complaint)
    for directory in good:
        stored = _stored_id(directory.properties or {})
        if stored is not None and stored != context.config.node_id:
            configured = context.config.node_id
            says = f"Configured node.id `{configured}` doesn't match stored node.id `{stored}'"
            yield other_node(directory, stored, configured, says=says)


def _is_malformed(directory: DirectoryFacts) -> bool:
    """Return True for a malformed escape: it is not an I/O error in Java, and no release up to 3.6 catches it."""
    return (directory.problem or "").startswith("Malformed")


def _malformed(directory: DirectoryFacts) -> RuleResult:
    return stops(
        "unreadable-meta-properties",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The meta.properties cannot be read: {directory.problem}",
        says="Malformed \\uxxxx encoding.",
        next_step=COPY_STEP,
    )


def _compared(directory: DirectoryFacts, word_by_word: bool) -> tuple[object, ...]:
    properties = directory.properties or {}
    if word_by_word:
        return tuple(sorted(properties.items()))
    return properties.get("cluster.id"), _stored_id(properties)


def _inconsistent(good: list[DirectoryFacts]) -> RuleResult:
    return stops(
        "meta-properties-differ",
        Phase.META_PROPERTIES,
        "meta.properties",
        "The directories of this node do not have the same meta.properties.",
        says="BrokerMetadata is not consistent across log.dirs.",
        found={file.path: dict(file.properties or {}) for file in good},
    )


def _required(properties: Mapping[str, str]) -> str | None:
    """Return Kafka's complaint about a file's content, None without one (`MetaProperties.parse`, 3.3-3.6)."""
    if "cluster.id" not in properties:
        return "Failed to find required property cluster.id."
    for key in ("version", *_id_keys(properties)):
        text = properties.get(key)
        if text is not None and parse_int(text) is None:
            return f'Failed to parse {key} property as an int: For input string: "{text}"'
        if key == "version" and text is not None and parse_int(text) not in (0, 1):
            return f"Expected version 0 or 1, but got version {parse_int(text)}"
        if key != "version" and text is None:
            return f"Failed to find required property {key}."
    return None


def _id_keys(properties: Mapping[str, str]) -> tuple[str, ...]:
    return ("node.id",) if parse_int(properties.get("version", "0")) == 1 else ("broker.id",)


def _stored_id(properties: Mapping[str, str]) -> int | None:
    return parse_int(properties.get(_id_keys(properties)[0], ""))


def _offline_or_fatal(context: StartContext, directory: DirectoryFacts) -> RuleResult:
    if directory.path != context.config.metadata_log_dir:
        return goes_offline(directory)
    return stops(
        "unreadable-meta-properties",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The meta.properties of the metadata log directory cannot be read: {directory.problem}",
        says=f"Cannot start server since `meta.properties` could not be loaded from {directory.path}",
        next_step=step_for(directory),
    )


def _cannot_be_used(directory: DirectoryFacts, complaint: str) -> RuleResult:
    return stops(
        "incomplete-meta-properties",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The meta.properties cannot be used: {complaint}",
        says=complaint,
        next_step=COPY_STEP,
    )
