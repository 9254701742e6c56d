"""What releases say alike about a directory without a usable meta.properties."""

from __future__ import annotations

from kafkactl.storage.model import META_PROPERTIES, DirectoryState
from kafkactl.storage.verify.model import DirectoryFacts, Loss, Phase, RuleResult, directory_subject, loses, stops

FORMAT_STEP = "Format the directory (`kafkactl storage format`, or `ensure`) or take it out of log.dirs."
COPY_STEP = "Compare the file with the meta.properties of the node's other directories and repair it by hand."
OWNER_STEP = "Run the command as the user that runs Kafka. If that user may not read it either, change its owner."


def step_for(directory: DirectoryFacts) -> str:
    """What to do about a meta.properties that cannot be used: its content is wrong, or this user may not read it."""
    seen = directory.observed
    is_read = seen.meta_properties is not None and seen.meta_properties.content is not None
    return COPY_STEP if is_read or seen.state is DirectoryState.NOT_A_DIRECTORY else OWNER_STEP


def meta_path(path: str) -> str:
    """The path of a directory's meta.properties as in Kafka's messages."""
    return f"{path.rstrip('/') or '/'}/{META_PROPERTIES}"


def goes_offline(directory: DirectoryFacts) -> RuleResult:
    """A data directory whose file cannot be used is left out, and the node runs without it."""
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


def not_formatted(directory: DirectoryFacts) -> RuleResult:
    """One directory without the file ends the start of the whole node."""
    seen = directory.observed
    missing = seen.state is DirectoryState.MISSING
    what = "does not exist" if missing else "has no meta.properties"
    return stops(
        "unformatted-directory",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The directory {what}.",
        says=f"No `meta.properties` found in {directory.path} (have you run `kafka-storage.sh` to format the"
        " directory?)",
        next_step="Is the disk mounted? If it is, and new: " + FORMAT_STEP,
        entries=[entry.name for entry in seen.entries[:10]],
    )


def other_node(directory: DirectoryFacts, stored: int, configured: int, *, says: str) -> RuleResult:
    """A directory of another node. `says` is the message of the release."""
    return stops(
        "node-id-differs-from-configuration",
        Phase.META_PROPERTIES,
        directory_subject(directory.path),
        f"The directory belongs to node {stored}, the configuration says {configured}.",
        says=says,
        configured=configured,
        stored=stored,
    )
