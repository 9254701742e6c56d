"""Plan a recovery: from what was read to the snapshot that is written, what it loses, and what people have to do.

A function from values to values. Equal requests and disks give equal plans: ids and times come with the request.
Rule, measured on 3.9.2, 4.3.1 and 4.4.0: one new directory with one snapshot, its offset and epoch above everything
that any disk has seen, and a voter set of the recovered node alone under a new directory id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.findings import Finding, Outcome, blockers
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.model import Image, Topic
from kafkactl.metadata.image.snapshot_writer import snapshot_batches, snapshot_name
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, render_meta_properties
from kafkactl.quorum.recover.checks import Case, check
from kafkactl.quorum.recover.folders import (
    Adoptable,
    adoption,
    brokers_shown,
    epochs_are_ahead,
    epochs_on_disk,
    strays,
    topics_without_data,
)
from kafkactl.quorum.recover.losses import ImageDifferences, Losses, compared, with_tails
from kafkactl.quorum.recover.observed_disks import DiskSeen, PartitionFolder, all_folders
from kafkactl.quorum.recover.rank import (
    SHOWN,
    OldVoter,
    choose_source,
    committed_offset,
    is_dynamic,
    loss_is_unknowable,
    old_voters,
    ranked,
    target_endpoints,
)
from kafkactl.quorum.recover.remarks import remarks
from kafkactl.quorum.recover.repairs import Repairs, merged, raised, repairs_of, with_tiering
from kafkactl.quorum.recover.request import RecoveryInput, Request
from kafkactl.quorum.recover.settings import AdoptedSettings, expiring, settings_of_adopted, tiered_topics, untiered

_LAYOUT_WITH_DIRECTORY_ID = 2


@frozen
class ResultFile:
    """A file of the new directory: `name` is relative to it."""

    name: str
    size: int
    sha256: str


@frozen
class Result:
    """Content to write. `content` is the image of the snapshot, `meta_properties` the bytes of that file."""

    node_id: int
    directory_id: Uuid
    endpoints: tuple[Endpoint, ...]
    offset: int
    epoch: int
    timestamp_ms: int
    now_ms: int
    files: tuple[ResultFile, ...]
    image_sha256: str
    meta_properties: bytes = field(repr=False)
    content: Image = field(repr=False)

    def snapshot(self) -> Iterator[bytes]:
        """Yield the bytes of the checkpoint, batch by batch."""
        return snapshot_batches(
            self.content, epoch=self.epoch, last_contained_log_timestamp_ms=self.timestamp_ms, now_ms=self.now_ms
        )


@frozen
class RecoveryPlan:
    """A recovery before it is carried out. `result` is None if it is refused."""

    request: Request
    read: RecoveryInput
    outcome: Outcome
    cluster_id: str | None
    source: DiskSeen
    image: Image = field(repr=False)
    is_dynamic: bool
    voters: tuple[OldVoter, ...]
    committed_at_least: int
    losses: Losses
    repairs: Repairs
    result: Result | None
    node_id: int | None
    endpoints: tuple[Endpoint, ...]
    findings: tuple[Finding, ...]


def plan_recovery(request: Request, read: RecoveryInput) -> RecoveryPlan:
    """Return the plan, `planned` or `refused` with every reason.

    `read.images` has the image of the source (`rank.choose_source`) and of the best disk. Raises InputError as
    `choose_source`.
    """
    source = choose_source(read.disks, request.source)
    best = ranked(read.disks)[0]
    image, newest = read.images[source.path].image, read.images[best.path].image
    folders = tuple(all_folders(read.disks))
    shown, lacking = brokers_shown(image, read.disks)
    options = request.overrides
    empty = topics_without_data(image, folders, shown)
    drop = empty if options.drop_empty else []
    kept = merged(image, drop=drop)
    adopted = adoption(kept, folders, from_strays=options.return_strays)
    taken = adopted.partitions if options.adopt else ()
    whole, given, restored = _adopting(kept, newest, folders, taken)
    voters = old_voters(newest, read.disks, request.target, request.lost)
    node_id = _node_id(request, source, voters)
    endpoints = () if node_id is None else target_endpoints(request.target, newest, node_id, request.new_addresses)
    dynamic = is_dynamic(newest)
    voter = _voter(request, node_id, endpoints, newest) if dynamic else None
    recovered = raised(whole, voter=voter, node_id=node_id, epochs=epochs_on_disk(folders))
    lost = _losses(
        whole,
        folders,
        empty=[] if drop else empty,
        source=source,
        best=best,
        newer=with_tails(
            compared(whole, None if best is source else merged(newest, drop=drop)),
            [tail.changes for tail in read.tails if tail.path != best.path],
            whole,
        ),
        unknown=loss_is_unknowable(voters),
    )
    offset, epoch = _above_everything(read.disks)
    case = Case(
        request=request,
        read=read,
        source=source,
        image=image,
        recovered=recovered,
        voters=voters,
        losses=lost,
        adoption=adopted,
        adopted=len(taken),
        is_behind=bool(adopted.partitions) or lost.records_after_source > 0 or epochs_are_ahead(image, folders),
        expiring=tuple(expiring(whole, folders, now_ms=request.now_ms, alive_ms=read.images[source.path].timestamp_ms)),
        node_id=node_id,
        has_endpoints=bool(endpoints),
        offset=offset + request.raise_offset,
        epoch=epoch + request.raise_epoch,
        cluster_ids=tuple(sorted({disk.cluster_id for disk in read.disks if disk.cluster_id})),
        brokers_missing=lacking,
    )
    repairs = repairs_of(image, recovered, adopt=taken, settings=given, tiered=restored, drop=drop)
    return _planned(case, repairs, endpoints)


def _adopting(
    kept: Image, newest: Image, folders: Sequence[PartitionFolder], taken: Sequence[Adoptable]
) -> tuple[Image, tuple[AdoptedSettings, ...], tuple[str, ...]]:
    """Return the image with what is adopted, the settings given to that, and the topics that are tiered again."""
    tiered = tiered_topics(kept, folders)
    given, restored = settings_of_adopted(kept, newest, taken, tiered), untiered(kept, tiered)
    return with_tiering(merged(kept, adopt=taken, settings=given), restored), given, restored


def _planned(case: Case, repairs: Repairs, endpoints: tuple[Endpoint, ...]) -> RecoveryPlan:
    """Return the findings of the checks and, if none of them refuses, the content to write."""
    request, read, source = case.request, case.read, case.source
    committed = committed_offset(read.disks)
    findings = [*check(case), *remarks(case, repairs, committed), *read.findings]
    refused = bool(blockers(findings))
    return RecoveryPlan(
        request=request,
        read=read,
        outcome=Outcome.REFUSED if refused else Outcome.PLANNED,
        cluster_id=source.cluster_id,
        source=source,
        image=case.image,
        is_dynamic=case.is_dynamic,
        voters=case.voters,
        committed_at_least=committed,
        losses=case.losses,
        repairs=repairs,
        result=None if refused else _result(case, endpoints, read.images[source.path].timestamp_ms),
        node_id=case.node_id,
        endpoints=endpoints,
        findings=tuple(findings),
    )


def _node_id(request: Request, source: DiskSeen, voters: Sequence[OldVoter]) -> int | None:
    """Return the given id, else the voter of the source disk, else (a broker's copy) the only voter that was given."""
    if request.target.node_id is not None:
        return request.target.node_id
    if source.node_id in {voter.id for voter in voters}:
        return source.node_id
    shown = [voter.id for voter in voters if voter.state == SHOWN]
    return shown[0] if len(shown) == 1 else None


def _voter(request: Request, node_id: int | None, endpoints: Sequence[Endpoint], image: Image) -> Voter:
    """Return the only voter; its range of kraft.version is that of the old voter with its id."""
    old = next((voter for voter in image.voters or () if voter.node_id == node_id), None)
    return Voter(
        node_id=-1 if node_id is None else node_id,
        directory_id=request.directory_id,
        endpoints=tuple(endpoints),
        min_kraft_version=0 if old is None else old.min_kraft_version,
        max_kraft_version=1 if old is None else max(old.max_kraft_version, 1),
    )


def _above_everything(disks: Sequence[DiskSeen]) -> tuple[int, int]:
    """Return the largest offset and the largest epoch that any disk has seen, what is damaged on it included."""
    offsets, epochs = [0], [0]
    for disk in disks:
        if disk.candidate is not None:
            offsets += [disk.candidate.end_offset, disk.candidate.files_end]
            epochs.append(disk.candidate.last_epoch)
        if disk.log is not None:
            epochs += [*disk.log.index.epochs[-1:], *(snapshot.epoch for snapshot in disk.log.facts.snapshots)]
            offsets += [snapshot.offset for snapshot in disk.log.facts.snapshots]
        if disk.quorum_state is not None:
            epochs.append(disk.quorum_state.leader_epoch)
    return max(offsets), max(epochs)


def _losses(
    whole: Image,
    folders: Sequence[PartitionFolder],
    *,
    empty: Sequence[Topic],
    source: DiskSeen,
    best: DiskSeen,
    newer: ImageDifferences,
    unknown: bool,
) -> Losses:
    """Return the losses after the repairs, by the better disk and by the folders on brokers' disks."""
    stray = strays(whole, folders)
    unheard = [folder for folder in stray if folder.topic_id is None or folder.topic_id not in whole.topics]
    absent = [folder for folder in stray if folder in unheard or folder.partition not in _numbers(whole, folder)]
    topics = {*newer.topics_missing, *(folder.topic for folder in unheard)}
    partitions = {*newer.partitions_missing, *(f"{folder.topic}-{folder.partition}" for folder in absent)}
    names = tuple(topic.name for topic in empty)
    return Losses(
        records_after_source=_records_after(source, best),
        unknown=unknown,
        topics_missing=tuple(sorted(topics)),
        partitions_missing=tuple(sorted(partitions)),
        partitions_stray=tuple(stray),
        topics_returning_empty=names,
        topics_returning=tuple(topic for topic in newer.topics_removed if topic not in names),
        configs_changed=newer.configs,
        acls=newer.acls,
        users=newer.users,
        quotas=newer.quotas,
        others=tuple(other for other in newer.others if other["part"] not in ("controllers", "brokers")),
    )


def _records_after(source: DiskSeen, best: DiskSeen) -> int:
    """Return the offsets after the source's end that a better disk, or its own files after the damage, have."""
    ends = [source.place[1]]
    if best.place > source.place:
        ends.append(best.place[1])
    if source.candidate is not None and source.candidate.damage is not None:
        ends.append(source.candidate.files_end)
    return max(ends) - source.place[1]


def _numbers(image: Image, folder: PartitionFolder) -> Mapping[int, object]:
    topic = None if folder.topic_id is None else image.topics.get(folder.topic_id)
    return {} if topic is None else topic.partitions.states


def _result(case: Case, endpoints: tuple[Endpoint, ...], timestamp_ms: int) -> Result:
    assert case.node_id is not None and case.source.cluster_id is not None, "refused otherwise"
    request = case.request
    meta = render_meta_properties(
        layout=_LAYOUT_WITH_DIRECTORY_ID,
        cluster_id=case.source.cluster_id,
        node_id=case.node_id,
        directory_id=request.directory_id,
        now_ms=request.now_ms,
    )
    digest, size = hashlib.sha256(), 0
    batches = snapshot_batches(
        case.recovered, epoch=case.epoch, last_contained_log_timestamp_ms=timestamp_ms, now_ms=request.now_ms
    )
    for batch in batches:
        digest.update(batch)
        size += len(batch)
    checkpoint = f"{METADATA_LOG}/{snapshot_name(case.offset, case.epoch)}"
    return Result(
        node_id=case.node_id,
        directory_id=request.directory_id,
        endpoints=endpoints,
        offset=case.offset,
        epoch=case.epoch,
        timestamp_ms=timestamp_ms,
        now_ms=request.now_ms,
        files=(
            ResultFile(name=checkpoint, size=size, sha256=digest.hexdigest()),
            ResultFile(name=META_PROPERTIES, size=len(meta), sha256=hashlib.sha256(meta).hexdigest()),
        ),
        image_sha256=image_sha256(case.recovered),
        meta_properties=meta,
        content=case.recovered,
    )
