"""Reasons to refuse a recovery, by cause, each with the option that overrides the refusal, if any.

Every check is a function of one `Case`, and all are asked: an operator learns every reason at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Uuid, host_port
from kafkactl.core.wording import counted, first_few
from kafkactl.metadata.dump.findings import GAP
from kafkactl.metadata.image.model import Image
from kafkactl.protocol.catalog.levels import metadata_version
from kafkactl.quorum.recover.folders import Adoption
from kafkactl.quorum.recover.losses import Losses
from kafkactl.quorum.recover.lost_end import LostEnd, lost_end
from kafkactl.quorum.recover.observed_disks import MOST_NAMED, DiskSeen, FolderKind, all_folders
from kafkactl.quorum.recover.rank import BROKER, SHOWN, UNKNOWN, OldVoter, ranked, role_of
from kafkactl.quorum.recover.request import RecoveryInput, Request
from kafkactl.quorum.recover.settings import ExpiringPartition
from kafkactl.quorum.recover.tails import check_tails, start_step
from kafkactl.quorum.recover.target_checks import check_place

_MOST_OFFSET: Final = 2**63 - 1
_MOST_EPOCH: Final = 2**31 - 1
_COPY: Final = "Copies of directories have no lock: `kafkactl quorum recover collect` makes one."


@frozen
class Case:
    """Input of the checks. `recovered` is the image as it will be written, `image` that of the source."""

    request: Request
    read: RecoveryInput
    source: DiskSeen
    image: Image
    recovered: Image
    voters: tuple[OldVoter, ...]
    losses: Losses
    adoption: Adoption
    adopted: int
    is_behind: bool
    expiring: tuple[ExpiringPartition, ...]
    node_id: int | None
    has_endpoints: bool
    offset: int
    epoch: int
    cluster_ids: tuple[str, ...]
    brokers_missing: dict[int, list[Uuid]]

    @property
    def is_dynamic(self) -> bool:
        """Return True if the voter set is in the log."""
        return self.recovered.voters is not None


def check(case: Case) -> list[Finding]:
    """Return all findings that refuse a recovery, or would without the given option."""
    return [finding for check in CHECKS for finding in check(case)]


def refusal(id: str, subject: str, message: str, step: str = "", *, allowed: bool = False, **evidence: Any) -> Finding:
    """Return a blocker, or a warning if the operator allowed it."""
    severity = Severity.WARNING if allowed else Severity.BLOCKER
    return Finding(id=id, severity=severity, subject=subject, message=message, evidence=evidence, next_step=step)


def _majority(case: Case) -> Iterator[Finding]:
    sound = [voter.id for voter in case.voters if voter.state == SHOWN and voter.is_sound]
    needed = majority(len(case.voters))
    if not case.voters or len(sound) < needed:
        return
    moved = case.request.new_addresses
    if case.is_dynamic and sum(id not in moved for id in sound) < needed:
        yield from _moved(case, sound)
        return
    lost = lost_end(case.voters, case.read.disks, case.source)
    if lost is not None:
        yield _voters_lost_their_end(case, sound, lost)
        return
    repair = len(case.voters) == 1 and case.adopted > 0
    step = start_step(case.read.tails, case.source)
    yield refusal(
        "quorum-has-majority",
        "quorum",
        f"the disks of voters {_ids(sound)} are sound: {len(sound)} of {len(case.voters)}, a majority is {needed}",
        "The only voter is replaced to adopt partitions: keep it stopped from now on." if repair else step,
        allowed=repair,
        sound=sound,
        majority=needed,
    )


def _moved(case: Case, sound: list[int]) -> Iterator[Finding]:
    """Report that voters with sound disks cannot find each other; what differs on their disks is another finding."""
    new = case.request.new_addresses
    where = "; ".join(
        f"{voter.id} has {first_few([host_port(at.host, at.port) for at in voter.endpoints])} there and listens at"
        f" {host_port(*new[voter.id])}"
        for voter in case.voters
        if voter.id in new
    )
    yield refusal(
        "voters-at-new-addresses",
        "quorum",
        f"the disks of voters {_ids(sound)} are sound, and these voters do not find each other at the addresses of the"
        f" voter set: {where}",
        allowed=True,
        sound=sound,
        voters=sorted(new),
    )


def _new_addresses(case: Case) -> Iterator[Finding]:
    new, ids = case.request.new_addresses, [voter.id for voter in case.voters]
    for id in sorted(set(new) - set(ids)):
        yield refusal(
            "new-address-of-no-voter",
            f"controller {id}",
            f"--new-address names controller {id}, and the voters are {_ids(ids)}",
            voters=ids,
        )
    if new and not case.is_dynamic:
        yield refusal(
            "new-address-in-static-quorum",
            "quorum",
            "the quorum is static: the addresses of its voters are in controller.quorum.voters of each node, and not in"
            " the metadata log",
        )


def _voters_lost_their_end(case: Case, sound: list[int], lost: LostEnd) -> Finding:
    return refusal(
        "quorum-has-majority",
        "quorum",
        f"the disks of voters {_ids(sound)} can be read, but {lost.text}",
        lost.next_step,
        allowed=True,
        sound=sound,
        majority=majority(len(case.voters)),
        voters_end=lost.voters_place[1],
        source_end=case.source.place[1],
    )


def _answering(case: Case) -> Iterator[Finding]:
    for voter in case.read.answering:
        who = "a controller" if voter.node_id is None else f"controller {voter.node_id}"
        yield refusal(
            "old-voter-answers",
            who,
            f"{who} answers at {voter.address}, an address of the voter set",
            address=voter.address,
        )


def _locks(case: Case) -> Iterator[Finding]:
    ids = [voter.id for voter in case.voters]
    for disk in case.read.disks:
        if disk.lock_holder is None:
            continue
        is_broker = role_of(disk, case.image, ids) == BROKER
        holder = f"process {disk.lock_holder}" if disk.lock_holder else "a process"
        step = f"Stop the node that runs on it. {_COPY}"
        runs_on = is_broker and case.request.overrides.brokers_run
        if runs_on:
            step = "Leave the broker running, as --brokers-run declares. If it stops meanwhile, plan again."
        elif is_broker:
            step += " With --brokers-run, brokers may keep running where that cannot lose data."
        yield refusal(
            "log-dir-in-use",
            f"directory {disk.path}",
            f"{holder} holds the lock of {disk.path}",
            step,
            allowed=runs_on,
            pid=disk.lock_holder or None,
        )


def _voters_not_shown(case: Case) -> Iterator[Finding]:
    for voter in case.voters:
        if voter.state == UNKNOWN:
            directory = "" if voter.directory_id is None else f" (directory id {voter.directory_id})"
            yield refusal(
                "voter-disk-not-shown",
                f"voter {voter.id}",
                f"the disk of voter {voter.id}{directory} is neither shown nor declared lost",
                f"Show its directory, or a copy, with --log-dir; if the disk is gone, give --lost {voter.id}.",
                voter=voter.id,
            )


def _clusters(case: Case) -> Iterator[Finding]:
    if len(case.cluster_ids) > 1:
        paths = {id: [disk.path for disk in case.read.disks if disk.cluster_id == id] for id in case.cluster_ids}
        fewest_first = sorted(paths.items(), key=lambda item: len(item[1]))  # the odd one is the one to leave out
        yield refusal(
            "cluster-id-differs",
            "disks",
            f"the directories are of {len(paths)} clusters: "
            + "; ".join(f"{id} in {first_few(named)}" for id, named in fewest_first),
            cluster_ids=list(case.cluster_ids),
        )
    if case.source.cluster_id is None:
        yield refusal(
            "recovery-without-cluster-id",
            f"directory {case.source.path}",
            f"no meta.properties or quorum-state in {case.source.path} names the cluster",
        )


def _better(case: Case) -> Iterator[Finding]:
    best = ranked(case.read.disks)[0]
    if best.place > case.source.place:
        (epoch, end), (own_epoch, own_end) = best.place, case.source.place
        yield refusal(
            "better-disk-exists",
            f"directory {case.source.path}",
            f"{case.source.path} ends at offset {own_end} (epoch {own_epoch}); {best.path} reaches offset {end}"
            f" (epoch {epoch})",
            f"Recover from {best.path}. --accept-loss gives up what only that disk has.",
            allowed=case.request.overrides.accept_loss,
            best=best.path,
            records=case.losses.records_after_source,
        )


def _damage(case: Case) -> Iterator[Finding]:
    found = case.source.candidate
    if found is None or found.damage is None:
        return
    yield refusal(
        "source-damaged",
        f"directory {case.source.path}",
        f"{case.source.path}: {found.damage}. The usable part ends at offset {found.end_offset}, where Kafka would end"
        " it, too",
        allowed=case.request.overrides.accept_loss,
        end_offset=found.end_offset,
        last_good_offset=found.end_offset - 1,
        files_end=found.files_end,
    )


def _tails(case: Case) -> Iterator[Finding]:
    yield from check_tails(
        case.read.tails, case.source, case.read.disks, accept_loss=case.request.overrides.accept_loss
    )


def _readable(case: Case) -> Iterator[Finding]:
    level = case.image.metadata_version
    step = "Use a version of kafkactl that supports the release which wrote this log."
    if level is None:
        yield refusal("metadata-version-unknown", METADATA_VERSION, "the image has no metadata.version", step)
        return
    try:
        metadata_version(level)
    except KeyError:
        text = f"the image is of metadata.version {level}, which this kafkactl does not know"
        yield refusal("metadata-version-unknown", f"metadata.version {level}", text, step, level=level)
    for finding in case.read.images[case.source.path].findings:
        if finding.severity is Severity.BLOCKER and finding.id != GAP and "readable_records" not in finding.evidence:
            yield refusal(
                "metadata-version-unknown", finding.subject, f"a record cannot be read: {finding.message}", step
            )
            return


def _brokers_not_shown(case: Case) -> Iterator[Finding]:
    for id, lacking in sorted(case.brokers_missing.items()):
        which = f" ({', '.join(map(str, lacking))})" if lacking else ""
        yield refusal(
            "broker-disk-not-shown",
            f"broker {id}",
            f"log directories of broker {id}{which} are not shown: whether partitions on them would become stray is not"
            " known",
            allowed=case.request.overrides.without_broker_disks,
            directory_ids=[str(broker) for broker in lacking],
        )


def _strays(case: Case) -> Iterator[Finding]:
    found = case.losses.partitions_stray
    if not found:
        return
    names = sorted({f"{folder.topic}-{folder.partition}" for folder in found})
    yield refusal(
        "partitions-would-be-stray",
        "partitions",
        f"{counted(len(found), 'folder')} on brokers' disks would become stray: {first_few(names)}. A stopped broker"
        " renames such a folder and keeps it, a running one deletes the data",
        allowed=case.request.overrides.accept_strays,
        folders=len(found),
        not_adopted=[f"{folder.disk}/{folder.name}: {why}" for folder, why in case.adoption.refused][:20],
    )


def _returning(case: Case) -> Iterator[Finding]:
    names = case.losses.topics_returning_empty
    if names:
        yield refusal(
            "deleted-topics-return",
            "topics",
            f"the image has {counted(len(names), 'topic')} without a folder on any of the replicas' disks, which would"
            f" come back empty: {first_few(names)}",
            allowed=case.request.overrides.accept_empty,
            topics=list(names),
        )


def _retention(case: Case) -> Iterator[Finding]:
    in_image = _named(held for held in case.expiring if not held.is_default)
    if in_image:
        yield refusal(
            "retention-would-delete",
            "partitions",
            f"the retention in the image would remove data that is on disk now, within minutes of a broker's start:"
            f" {first_few(in_image)}",
            allowed=case.request.overrides.accept_retention,
            partitions=in_image[:MOST_NAMED],
        )
    by_default = _named(held for held in case.expiring if held.is_default)
    if by_default:
        behind = " and ends before the cluster did" if case.is_behind else ""
        yield refusal(
            "retention-not-known",
            "partitions",
            f"the image sets no retention{behind}, and Kafka's default of 7 days would remove data that is on disk now,"
            f" within minutes of a broker's start: {first_few(by_default)}",
            allowed=case.request.overrides.accept_retention or not case.is_behind,
            partitions=by_default[:MOST_NAMED],
        )


def _named(expiring: Iterable[ExpiringPartition]) -> list[str]:
    return [f"{held.folder.topic}-{held.folder.partition} ({held.setting}={held.value})" for held in expiring]


def _running_brokers(case: Case) -> Iterator[Finding]:
    """Refuse brokers that go on running, unless their own folders prove that the image lacks nothing."""
    if not case.request.overrides.brokers_run:
        return
    why = []
    if case.brokers_missing:
        why.append(f"the directories of broker {_ids(case.brokers_missing)} are not shown")
    if not case.losses.is_none or case.adopted:
        why.append("the image lacks or changes what disks hold")
    if ranked(case.read.disks)[0].place > case.source.place or case.source.candidate is None:
        why.append("the source is not the best disk")
    if case.source.candidate is not None and case.source.candidate.damage is not None:
        why.append("the source is damaged")
    if not case.request.raise_offset or not case.request.raise_epoch:
        why.append("offset or epoch is not raised")
    if why:
        yield refusal("brokers-must-stop", "brokers", "brokers cannot go on running: " + "; ".join(why))


def _target(case: Case) -> Iterator[Finding]:
    yield from check_place(case.request.target.directory, case.read)
    if case.node_id is None:
        yield refusal(
            "recovered-node-unknown",
            "recovered node",
            f"the node id of the recovered controller is not given, and"
            f" {case.source.path} does not belong to a controller",
        )
    elif case.is_dynamic and not case.has_endpoints:
        yield refusal(
            "recovered-node-unknown",
            f"controller {case.node_id}",
            f"where controller {case.node_id} listens is unknown, and no voter of that id was in the old set",
        )


def _numbers(case: Case) -> Iterator[Finding]:
    if case.epoch >= _MOST_EPOCH or case.offset >= _MOST_OFFSET:
        yield refusal(
            "recovery-number-too-large",
            "snapshot",
            f"offset {case.offset} or epoch {case.epoch} is too large to be raised: Kafka could not count on from it",
        )


def _ids(ids: Any) -> str:
    return ", ".join(map(str, sorted(ids)))


def other_lives(case: Case) -> Iterator[Finding]:
    """Report directories under a voter's id that the voter set does not know: of another life of the node."""
    known = {voter.id: voter.directory_id for voter in case.voters}
    for disk in case.read.disks:
        expected = None if disk.node_id is None else known.get(disk.node_id)
        if expected is not None and disk.log is not None and disk.directory_id != expected:
            yield refusal(
                "directory-id-not-in-voter-set",
                f"directory {disk.path}",
                f"{disk.path} has directory id {disk.directory_id}, voter {disk.node_id} has {expected}",
                "The directory is not taken for that voter's disk. Make sure that it belongs to the present cluster.",
                allowed=True,
            )


def stray_folders(disks: Sequence[DiskSeen]) -> int:
    """Return the number of folders that brokers have renamed already."""
    return sum(folder.kind is FolderKind.STRAY for folder in all_folders(disks))


CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _majority, _new_addresses, _answering, _locks, _voters_not_shown, _clusters, _better, _damage, _tails, _readable,
    _brokers_not_shown, _strays, _returning, _retention, _running_brokers, _target, _numbers,
)  # fmt: skip
