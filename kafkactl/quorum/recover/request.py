"""Request for a recovery, and what was read for it: the input of the planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.verify.histories import DivergentLog
from kafkactl.quorum.recover.histories import FATAL
from kafkactl.quorum.recover.losses import ImageDifferences
from kafkactl.quorum.recover.observed_disks import AnsweringAddress, DiskImage, DiskSeen, RecoveryTarget

RAISE: Final = 1_000_000
"""By how much offset and epoch are raised: an isolated 3.9 voter raises its epoch about once in 2.5 s, so a month."""


@frozen
class RecoveryOverrides:
    """Losses that the operator accepts, and requested repairs."""

    accept_loss: bool = False
    accept_strays: bool = False
    accept_empty: bool = False
    accept_retention: bool = False
    without_broker_disks: bool = False
    adopt: bool = False
    return_strays: bool = False
    drop_empty: bool = False
    brokers_run: bool = False


@frozen
class Request:
    """A recovery. `source` is the directory of `--from`, None for the best; `lost` are voters declared lost.

    `new_addresses` are host and port of voters, by id, that the voter set has under an address which they lost.
    `directory_id` and `now_ms` (milliseconds since the epoch) are drawn by the caller, or taken from an earlier plan.
    """

    target: RecoveryTarget
    directory_id: Uuid
    now_ms: int
    source: str | None = None
    lost: tuple[int, ...] = ()
    new_addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    overrides: RecoveryOverrides = field(default_factory=RecoveryOverrides)
    raise_epoch: int = RAISE
    raise_offset: int = RAISE


@frozen
class Tail:
    """The difference of a disk's log from the source's, and what the log's records from there on change."""

    parting: DivergentLog
    changes: ImageDifferences
    change_count: int

    @property
    def path(self) -> str:
        """Return the disk."""
        return self.parting.path

    @property
    def is_fatal(self) -> bool:
        """Return True if no recovery is made as long as this disk is shown with the source."""
        return self.parting.verdict in FATAL

    @property
    def is_harmless(self) -> bool:
        """Return True if nothing is lost with the tail: its records change no metadata, and were not committed."""
        return not self.is_fatal and not self.change_count


@frozen
class RecoveryInput:
    """Input of a recovery: all disks, the images of the source and of the best disk, tails that diverge.

    `findings` are those about the directories, for any purpose.
    `target_entries` are the names in the new directory, None if it does not exist; `answering` are old voters'
    addresses at which a controller answers. `target_inside` is the source directory that the new one would lie in.
    `target_plan` is the kept plan by which the new directory was written already, None for another directory;
    `other_plan` the file and directory id of a plan that is kept for this directory, which is not written, by another
    recovery.
    """

    disks: tuple[DiskSeen, ...]
    images: Mapping[str, DiskImage] = field(default_factory=dict)
    tails: tuple[Tail, ...] = ()
    answering: tuple[AnsweringAddress, ...] = ()
    target_entries: tuple[str, ...] | None = None
    target_inside: str | None = None
    target_plan: str | None = None
    other_plan: tuple[str, Uuid] | None = None
    findings: tuple[Finding, ...] = ()
