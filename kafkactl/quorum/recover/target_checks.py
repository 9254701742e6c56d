"""Refusals for the place of the recovered directory: nothing is written over what is there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.wording import first_few
from kafkactl.quorum.recover.request import RecoveryInput

_NAMES_SHOWN = 100


def check_place(directory: str, read: RecoveryInput) -> Iterator[Finding]:
    """Yield the refusals for a new directory that lies in a source, holds something, or has the plan of another."""
    subject = f"directory {directory}"
    if read.target_inside is not None:
        yield blocker(
            "target-in-source",
            subject,
            f"{directory} lies in {read.target_inside}, which is a source",
            "Name a directory outside every directory shown: nothing is ever written into a source.",
        )
    elif read.target_entries:
        names = list(read.target_entries)
        yield blocker(
            "target-not-empty",
            subject,
            f"{directory} exists and holds {first_few(names)}" + _written_by(read),
            "Name a new directory with --out. An existing one is never written into."
            if read.target_plan is None
            else f"Continue with `kafkactl quorum recover verify {shlex.quote(read.target_plan)}`. Another --out"
            " would begin again from the disks that were shown, without any change that was made since.",
            entries=names[:_NAMES_SHOWN],
        )
    elif read.other_plan is not None:
        file, directory_id = read.other_plan
        yield blocker(
            "recovery-plan-exists",
            f"file {file}",
            f"{file} is the plan of another recovery into this directory, with directory id {directory_id}: other disks"
            " or options were given, or a disk has changed since",
            f"Look for directory.id={directory_id} in the meta.properties of every controller. Where one has it, that"
            f" recovery is done: `kafkactl quorum recover verify {shlex.quote(file)}` continues it, and a second one"
            " would begin again from the disks. Otherwise move the plan away, or name another directory with --out.",
        )


def _written_by(read: RecoveryInput) -> str:
    if read.target_plan is None:
        return ""
    return f": the recovery of {read.target_plan} wrote it, and a node has started on it or it was changed since"
