"""Recovery of a metadata quorum that lost its majority: read disks, plan, and write one new directory.

`plan_recovery` reads and decides, `apply_recovery` writes what was planned. No directory that was read is ever written
into.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.findings import Finding, Outcome, error_finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.files.entropy import random_uuid
from kafkactl.files.filesystem import Filesystem, OsFilesystem
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.same_paths import each_once, named_twice
from kafkactl.metadata.image.model import EMPTY
from kafkactl.quorum.api.recover.words import Probe, recovery_probe
from kafkactl.quorum.io.recover import apply as writing
from kafkactl.quorum.io.recover.apply import Place, WrittenRecovery, is_leftover, is_written
from kafkactl.quorum.io.recover.disks import disk_place, read_disk, read_image, read_images
from kafkactl.quorum.io.recover.target import TargetLook, locked_target, look_at
from kafkactl.quorum.recover import plan as planning
from kafkactl.quorum.recover.answer import KIND, KeptPlan, Recovery, plan_file_of, read_kept_plan
from kafkactl.quorum.recover.histories import partings_of
from kafkactl.quorum.recover.losses import ImageDifferences, compared
from kafkactl.quorum.recover.observed_disks import DiskSeen, RecoveryTarget
from kafkactl.quorum.recover.plan import RecoveryPlan
from kafkactl.quorum.recover.rank import choose_source, old_voters, ranked
from kafkactl.quorum.recover.request import RAISE, RecoveryInput, RecoveryOverrides, Request, Tail
from kafkactl.storage.model import Owner


@frozen
class RecoveryRequest:
    """A recovery as an operator asks for it; without ids and times, which are drawn or taken from an earlier plan.

    `log_dirs` are all log directories that are left, of controllers and brokers, or copies of them. `source` is the one
    to recover from (default: the best), `lost` the voters whose disks are gone, `new_addresses` host and port of voters
    that lost the address which the voter set has. Epoch and offset of the new snapshot
    are by `raise_epoch` and `raise_offset` above everything that was read.
    """

    log_dirs: tuple[str, ...]
    target: RecoveryTarget
    source: str | None = None
    lost: tuple[int, ...] = ()
    new_addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    overrides: RecoveryOverrides = field(default_factory=RecoveryOverrides)
    raise_epoch: int = RAISE
    raise_offset: int = RAISE


@frozen
class PlannedRecovery:
    """A plan, and the state of the directory that it is for: `is_there` exactly as planned already."""

    plan: RecoveryPlan
    look: TargetLook
    is_there: bool = False

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `refused`, or `nothing-to-do`."""
        return Outcome.NOTHING_TO_DO if self.is_there else self.plan.outcome

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `quorum.recover`, before anything is written."""
        return self.answer().to_dict()

    def answer(self, outcome: Outcome | None = None, more: Sequence[Finding] = ()) -> Recovery:
        """Return the object of `quorum.recover`, with `more` findings than the plan's."""
        return Recovery(plan=self.plan, outcome=outcome or self.outcome, more=tuple(more))


def plan_recovery(
    request: RecoveryRequest, *, probe: Probe | None = None, now_ms: int | None = None
) -> PlannedRecovery:
    """Read every directory and plan; nothing is written. The plan lists what is lost, and refuses what is not accepted.

    `probe` asks the old voters' addresses whether a controller answers (default: `recovery_probe()`, without security);
    `now_ms` is the time of the plan (default: now).

    A plan that is kept next to the new directory gives its ids and times, so that the same disks and arguments give the
    same bytes again. Raises InputError for directories that cannot be read, and as `choose_source`.
    """
    look = look_at(request.target.directory)  # before the disks, which take long to read
    names = each_once(request.log_dirs, disk_place)
    request = changed(request, source=next((path for path in names if request.source in names[path]), request.source))
    disks = tuple(read_disk(path) for path in names)
    source = choose_source(disks, request.source)
    images = read_images(list({disk.path: disk for disk in (source, ranked(disks)[0])}.values()))
    newest = images[ranked(disks)[0].path].image
    voters = old_voters(newest, disks, request.target, request.lost)
    places: list[tuple[int | None, Endpoint]] = [
        (voter.id, endpoint) for voter in voters for endpoint in voter.endpoints[:1]
    ]
    places += [(id, Endpoint(listener="", host=host, port=port)) for id, (host, port) in request.new_addresses.items()]
    read = RecoveryInput(
        disks=disks,
        images=images,
        tails=tuple(_tails(disks, source)),
        answering=(probe or recovery_probe())(places),
        target_entries=look.names,
        target_inside=_inside(request.target.directory, disks),
        findings=(*(found for disk in disks for found in disk.findings), *named_twice(names, "directory")),
    )
    kept = _kept(request.target.directory)
    if kept is not None:
        again = _planned_again(request, read, kept, look)
        if again is not None:
            return again
        if not read.target_entries:
            read = changed(read, other_plan=(plan_file_of(request.target.directory), kept.directory_id))
        elif _directory_id(request.target.directory) == kept.directory_id:
            read = changed(read, target_plan=plan_file_of(request.target.directory))
    planned_at_ms = int(time.time() * 1000) if now_ms is None else now_ms
    return PlannedRecovery(plan=planning.plan_recovery(_request(request, now_ms=planned_at_ms), read), look=look)


def _request(request: RecoveryRequest, *, now_ms: int, kept: KeptPlan | None = None) -> Request:
    return Request(
        target=request.target,
        directory_id=random_uuid() if kept is None else kept.directory_id,
        now_ms=now_ms if kept is None else kept.planned_at_ms,
        source=request.source,
        lost=request.lost,
        new_addresses=request.new_addresses,
        overrides=request.overrides,
        raise_epoch=request.raise_epoch,
        raise_offset=request.raise_offset,
    )


def _planned_again(
    request: RecoveryRequest, read: RecoveryInput, kept: KeptPlan, look: TargetLook
) -> PlannedRecovery | None:
    """Return the kept plan made again, where disks and arguments still give it.

    Its leftovers do not count as content.
    """
    made = planning.plan_recovery(_request(request, now_ms=0, kept=kept), changed(read, target_entries=None))
    again = PlannedRecovery(plan=made, look=look)
    if made.result is None or again.answer().to_dict()["plan_sha256"] != kept.plan_sha256:
        return None
    directory = request.target.directory
    if not read.target_entries:
        return again
    if is_written(directory, made.result):
        return changed(again, is_there=True)
    return again if is_leftover(directory, made.result) else None


def _kept(directory: str) -> KeptPlan | None:
    path = Path(plan_file_of(directory))
    if not path.is_file():
        return None
    return read_kept_plan(read_input(path, "the plan of the recovery", InputKind.KEPT), file=str(path))


def _directory_id(directory: str) -> Uuid | None:
    try:
        return read_disk(directory).directory_id
    except InputError:
        return None


def _inside(directory: str, disks: Sequence[DiskSeen]) -> str | None:
    """Return the source directory in which the new one, or the plan next to it, would be written."""
    target = Path(directory).resolve()
    for disk in disks:
        source = Path(disk.path).resolve()
        if source in (target, *target.parents):
            return disk.path
    return None


def _tails(disks: Sequence[DiskSeen], source: DiskSeen) -> Iterable[Tail]:
    """Yield the disks whose log is not the source's from some offset on, with what only they have."""
    by_path = {disk.path: disk for disk in disks}
    for parting in partings_of(disks, source):
        offset = 0 if parting.parted is None else parting.parted.offset
        changes = _changes(by_path[parting.path], offset)
        yield Tail(parting=parting, changes=changes, change_count=_count(changes))


def _changes(disk: DiskSeen, offset: int) -> ImageDifferences:
    """Compare the images of a disk before and after an offset; below the snapshot of the disk no difference is
    known."""
    assert disk.candidate is not None
    known = offset > 0 and disk.candidate.snapshot_offset <= offset
    before = read_image(disk, end_offset=offset).image if known else EMPTY
    return compared(before, read_image(disk).image)


def _count(changes: ImageDifferences) -> int:
    fields = (
        changes.topics_missing, changes.partitions_missing, changes.topics_removed, changes.configs, changes.acls,
        changes.users, changes.quotas, changes.others,
    )  # fmt: skip
    return sum(map(len, fields))


@contextlib.contextmanager
def recovery_lock(request: RecoveryRequest, files: Filesystem | None = None) -> Iterator[None]:
    """Keep every other recovery out of the new directory while the block runs, from the first look to the last write.

    Raises RefusedError `another-kafkactl-is-writing`, InputError `recovery-target-unusable`.
    """
    with locked_target(request.target.directory, files or OsFilesystem()):
        yield


def apply_recovery(
    planned: PlannedRecovery, files: Filesystem | None = None, *, is_locked: bool = False
) -> WrittenRecovery:
    """Write the plan and the new directory, or make sure of what is there. A plan that is refused writes nothing.

    The directory is looked at again first, under its lock: it may hold nothing but what a killed call with this plan
    left. meta.properties is written last: a node does not start from what a killed call left, and the same call
    continues. Failures are part of the result. `files` writes (default: the file system of this machine); `is_locked`:
    the caller holds `recovery_lock`.
    """
    made = planned.plan.result
    if made is None or planned.outcome is Outcome.REFUSED:
        return WrittenRecovery(outcome=Outcome.REFUSED)
    port = files or OsFilesystem()
    directory = planned.plan.request.target.directory
    try:
        with contextlib.nullcontext() if is_locked else locked_target(directory, port):
            if planned.is_there:
                return writing.settle_recovery(made, _place(planned), port)
            return writing.apply_recovery(made, kept_bytes(planned), _place(planned), port)
    except (RefusedError, InputError) as error:
        outcome = Outcome.REFUSED if isinstance(error, RefusedError) else Outcome.FAILED
        return WrittenRecovery(outcome=outcome, findings=(error_finding(f"directory {directory}", error),))


def kept_bytes(planned: PlannedRecovery) -> bytes:
    """Return the plan as it is kept next to the directory: the answer before anything was written."""
    answer = {"kind": KIND, "schema_version": 1, **planned.answer(Outcome.PLANNED).to_dict()}
    return (json.dumps(answer, indent=2, ensure_ascii=True) + "\n").encode()


def _place(planned: PlannedRecovery) -> Place:
    """Return the place of the recovered log; root gives the new directory to the owner of the source."""
    directory = planned.plan.request.target.directory
    found = Path(planned.plan.source.path).stat()
    return Place(
        directory=directory,
        plan_file=plan_file_of(directory),
        look=planned.look,
        owner=Owner(text="", uid=found.st_uid, gid=found.st_gid) if os.geteuid() == 0 else None,
    )
