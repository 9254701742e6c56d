"""A copy of a log directory that is enough for a recovery on another host."""

from __future__ import annotations

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted, first_few
from kafkactl.quorum.io.recover import collect as copying
from kafkactl.quorum.io.recover.collect import Copied
from kafkactl.storage.io.directories import observe_directory


@frozen
class RecoveryCopy:
    """The copy in the file `to`."""

    directory: str
    to: str
    copied: Copied
    findings: tuple[Finding, ...] = ()

    to_dict = json_of(
        "directory", "to", "files=copied.files", "bytes=copied.bytes", "partitions=copied.partitions",
        "left_out=copied.left_out", "findings", kind="quorum.recover-collect",
    )  # fmt: skip


def collect_recovery(directory: str, to: str) -> RecoveryCopy:
    """Copy the metadata log of a log directory, and the ids and epochs of its partitions, into the new tar file `to`.

    Raises InputError for a directory that cannot be read, and FailedError if the file cannot be written or exists.
    """
    copied = copying.collect(directory, to)
    findings = []
    subject = f"directory {directory}"
    if copied.left_out:
        findings.append(
            warning(
                "copy-left-out",
                subject,
                f"{counted(len(copied.left_out), 'name')} in {directory} were not copied, because Kafka does not write"
                f" them or they are links: {first_few(list(copied.left_out))}",
            )
        )
    if observe_directory(directory).locked_by_process:
        text = f"a node runs on {directory}: the copy contains what was written until now"
        findings.append(warning("copy-of-running-node", subject, text))
    return RecoveryCopy(directory=directory, to=to, copied=copied, findings=tuple(findings))
