"""Findings about a directory without a usable meta.properties that are the same in all releases."""

from __future__ import annotations

from kafkactl.core.file_read import link_step
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.leftovers import data_entries, is_half_done
from kafkactl.storage.model import DirectoryState
from kafkactl.storage.verify.model import (
    DirectoryClass,
    DirectoryFacts,
    Loss,
    Phase,
    RuleResult,
    StartContext,
    directory_subject,
    loses,
    stops,
)

FORMAT_STEP = "Format the directory (`kafkactl storage format`, or `ensure`) or take it out of log.dirs."
REPLACED_STEP = (
    "Is the disk mounted? If it replaces a lost disk, run `kafkactl log lint --from-cluster` first: Kafka elects a "
    "replica that is empty now where a partition without a leader waits for it, and the others remove their records. "
    f"Otherwise: {FORMAT_STEP}"
)
DATA_STEP = (
    "The directory holds data of a node: do not format it. Bring its meta.properties back, from a backup or from"
    " another directory of the node; the directory.id is the directory's own."
)
COPY_STEP = "Compare the file with the meta.properties of the node's other directories and repair it by hand."
OWNER_STEP = "Run the command as the user that runs Kafka. If that user may not read it either, change its owner."


def step_for(directory: DirectoryFacts) -> str:
    """Return the next step for an unusable meta.properties: its content is wrong, or this user may not read it."""
    seen = directory.observed
    is_read = seen.meta_properties is not None and seen.meta_properties.content is not None
    if is_read or seen.state is DirectoryState.NOT_A_DIRECTORY:
        return COPY_STEP
    return link_step(directory.problem) or OWNER_STEP


def meta_path(path: str) -> str:
    """Return the path of a directory's meta.properties as in Kafka's messages."""
    return f"{path.rstrip('/') or '/'}/{META_PROPERTIES}"


def goes_offline(directory: DirectoryFacts) -> RuleResult:
    """Return the result for a data directory whose file cannot be used: the node runs without the directory."""
    return loses(
        "directory-taken-offline",
        directory_subject(directory.path),
        f"The node starts without this directory because its meta.properties cannot be used: {directory.problem}",
        Loss(
            what="replicas",
            subject=directory_subject(directory.path),
            message="All replicas in this directory are offline until the node starts again with a file it can read.",
        ),
        next_step=step_for(directory),
        problem=directory.problem,
    )


def not_formatted(context: StartContext, directory: DirectoryFacts) -> RuleResult:
    """Return the result for a directory without the file, which ends the start of the whole node."""
    if directory.path == context.config.metadata_log_dir and is_metadata_disk_lost(context):
        return _metadata_disk_lost(context)
    seen = directory.observed
    missing = seen.state is DirectoryState.MISSING
    what = "does not exist" if missing else "has no meta.properties"
    return stops(
        "unformatted-directory",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The directory {what}.",
        says=_says_not_formatted(directory.path),
        next_step=DATA_STEP if data_entries(seen) else _step_for_empty(context, directory),
        entries=[entry.name for entry in seen.entries[:10]],
    )


def _step_for_empty(context: StartContext, directory: DirectoryFacts) -> str:
    """Return the next step for a directory without data, by what a broker may have had there."""
    is_data = directory.path != context.config.metadata_log_dir
    if is_data and "broker" in context.config.roles and context.topics:
        return REPLACED_STEP
    return "Is the disk mounted? If it is, and new: " + FORMAT_STEP


def is_metadata_disk_lost(context: StartContext) -> bool:
    """Return True if the metadata directory is blank while another directory of the node is formatted."""
    metadata = context.metadata_directory
    if metadata.kind is not DirectoryClass.EMPTY or data_entries(metadata.observed) or is_half_done(metadata.observed):
        return False
    return any(directory.kind is DirectoryClass.GOOD for directory in context.directories)


def _metadata_disk_lost(context: StartContext) -> RuleResult:
    """Return the refusal of a start without the disk of the metadata log, which is not mounted or is gone."""
    metadata = context.metadata_directory
    others = ", ".join(directory.path for directory in context.directories if directory.kind is DirectoryClass.GOOD)
    return stops(
        "metadata-disk-lost",
        Phase.META_PROPERTIES,
        directory_subject(metadata.path),
        f"The metadata directory is blank while other directories of this node are formatted ({others}): its disk may"
        " be lost or not mounted.",
        says=_says_not_formatted(metadata.path),
        entries=[entry.name for entry in metadata.observed.entries[:10]],
    )


def _says_not_formatted(path: str) -> str:
    return f"No `meta.properties` found in {path} (have you run `kafka-storage.sh` to format the directory?)"


def other_node(directory: DirectoryFacts, stored: int, configured: int, *, says: str) -> RuleResult:
    """Return the result for a directory of another node. `says` is the message of the release."""
    return stops(
        "node-id-differs-from-configuration",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The directory belongs to node {stored}, the configuration says {configured}.",
        says=says,
        configured=configured,
        stored=stored,
    )
