"""Did a recovery come out as planned? The directory before its first start, and the cluster after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted, first_few
from kafkactl.metadata.image.model import Image
from kafkactl.quorum.recover.answer import KeptPlan
from kafkactl.quorum.recover.leaderless_partitions import without_leader
from kafkactl.quorum.recover.observed_disks import MOST_NAMED, FolderKind, PartitionFolder


@frozen
class WrittenSeen:
    """The new directory as it is now. `image_sha256` and `voters` are of its log; None if it cannot be read.

    `files` are the planned files by path, each with its SHA-256 or None; `is_started`: a node has run on it.
    """

    is_there: bool
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: Uuid | None = None
    is_started: bool = False
    files: tuple[tuple[str, str | None], ...] = ()
    image_sha256: str | None = None
    voters: tuple[tuple[int, Uuid], ...] | None = None


@frozen
class LiveSeen:
    """The running cluster: its leader and epoch, the voters by id, and the image of its metadata log."""

    cluster_id: str | None
    leader_id: int
    leader_epoch: int
    voters: tuple[int, ...]
    image: Image


def check_directory(kept: KeptPlan, seen: WrittenSeen) -> Iterator[Finding]:
    """Check that the directory is the planned one, byte for byte until a node has run on it."""
    subject = f"directory {kept.directory}"
    if not seen.is_there:
        yield note("recovery-directory-not-here", subject, f"{kept.directory} is not on this host: it was not checked")
        return
    expected = (kept.cluster_id, kept.node_id, kept.directory_id)
    found = (seen.cluster_id, seen.node_id, seen.directory_id)
    if found != expected:
        yield blocker(
            "recovery-differs",
            subject,
            f"meta.properties says cluster {found[0]}, node {found[1]}, directory id {found[2]}; planned were"
            f" {expected[0]}, {expected[1]}, {expected[2]}",
        )
    if seen.is_started:
        return
    planned = {path: sha256 for path, _, sha256 in kept.files}
    wrong = [path for path, sha256 in seen.files if planned.get(path) != sha256]
    if wrong or seen.image_sha256 != kept.image_sha256:
        yield blocker(
            "recovery-differs",
            subject,
            f"{first_few(wrong) or 'the image'} is not what was planned",
            files=wrong,
        )
    if kept.is_dynamic and seen.voters != ((kept.node_id, kept.directory_id),):
        yield blocker("recovery-differs", subject, f"the voter set in it is not controller {kept.node_id} alone")


def check_live(kept: KeptPlan, seen: LiveSeen) -> Iterator[Finding]:
    """Check that the recovered controller leads, and the registrations of the brokers."""
    if seen.cluster_id not in (None, kept.cluster_id):
        yield blocker(
            "cluster-id-mismatch",
            "cluster",
            f"the cluster that answers has the id {seen.cluster_id}, the plan's is {kept.cluster_id}",
            "Name the recovered controller with --bootstrap-controller.",
        )
        return
    if seen.leader_id != kept.node_id and seen.voters == (kept.node_id,):
        yield blocker(
            "recovered-controller-not-leading",
            f"controller {kept.node_id}",
            f"controller {kept.node_id} was to lead; the leader is {seen.leader_id}",
            "Look at its log, and make sure that no old voter runs.",
        )
    if seen.leader_epoch <= kept.epoch:
        yield blocker(
            "recovered-epoch-too-low",
            "quorum",
            f"the leader's epoch is {seen.leader_epoch}, expected was {kept.epoch + 1} or more: it did not start from"
            " the recovered snapshot",
        )
    if kept.node_id not in seen.voters:
        yield blocker(
            "recovered-controller-not-voter",
            f"controller {kept.node_id}",
            f"the voters are {', '.join(map(str, seen.voters))}: controller {kept.node_id} is not among them",
        )
    yield from _brokers(seen.image)


def _brokers(image: Image) -> Iterator[Finding]:
    fenced = sorted(id for id, broker in image.brokers.items() if broker.fenced)
    if fenced:
        yield warning(
            "brokers-still-fenced",
            f"brokers {', '.join(map(str, fenced))}",
            f"fenced: {len(fenced)} of {counted(len(image.brokers), 'broker')}, not started yet, or not registered",
            brokers=fenced,
        )
    stranded = without_leader(image)
    if stranded.names:
        yield (warning if fenced else blocker)(
            "partitions-without-leader",
            "partitions",
            f"{stranded.count_text} no leader that is alive: {first_few(stranded.names)}",
            stranded.next_step,
            **stranded.evidence,
        )


def check_strays(folders: Sequence[PartitionFolder]) -> Iterator[Finding]:
    """Report folders that a broker has renamed since."""
    found = [folder for folder in folders if folder.kind is FolderKind.STRAY]
    if found:
        yield blocker(
            "partition-folders-renamed",
            "brokers",
            f"{counted(len(found), 'folder')} were renamed to -stray:"
            f" {first_few([f'{folder.disk}/{folder.name}' for folder in found])}",
            folders=[f"{folder.disk}/{folder.name}" for folder in found][:MOST_NAMED],
        )
