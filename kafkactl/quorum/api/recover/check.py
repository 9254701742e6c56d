"""Was a recovery carried out as planned? The directory and brokers' disks are read, the cluster is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafkactl.cluster.quorum.observation import answer_error
from kafkactl.core.answers import plain_dict
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.same_paths import each_once, named_twice
from kafkactl.kafka.client import Client
from kafkactl.kafka.quorum_requests import QUORUM_REQUEST
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.io.image import Point, replay_files
from kafkactl.metadata.io.source import cluster_files
from kafkactl.quorum.io.recover.disks import checksum, disk_place, read_disk, read_image
from kafkactl.quorum.recover.answer import KeptPlan, read_kept_plan
from kafkactl.quorum.recover.leaderless_partitions import without_leader
from kafkactl.quorum.recover.published_answers import CheckedPart, QuorumRecoverVerify
from kafkactl.quorum.recover.verify import (
    LiveSeen,
    WrittenSeen,
    check_directory,
    check_live,
    check_strays,
)
from kafkactl.storage.io.directories import observe_directory
from kafkactl.storage.model import DirectoryState


@frozen
class RecoveryCheck:
    """Checked objects, and the findings about them."""

    plan_file: str
    cluster_id: str
    checked: tuple[CheckedPart, ...]
    live: LiveSeen | None
    findings: tuple[Finding, ...]

    @property
    def learned(self) -> bool:
        """Return True if anything could be checked at all."""
        return bool(self.checked)

    @property
    def brokers(self) -> list[tuple[int, bool]]:
        """Return the registered brokers by id, and whether each is fenced."""
        registered = {} if self.live is None else self.live.image.brokers
        return [(id, registration.fenced) for id, registration in sorted(registered.items())]

    @property
    def without_leader(self) -> list[str]:
        """Return the first 1,000 partitions without a leader."""
        return [] if self.live is None else without_leader(self.live.image).first_names

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the answer `quorum.recover-verify`."""
        live = self.live
        found: QuorumRecoverVerify = {
            "plan": self.plan_file,
            "cluster_id": self.cluster_id,
            "checked": self.checked,
            "leader_id": None if live is None else live.leader_id,
            "leader_epoch": None if live is None else live.leader_epoch,
            "voters": [] if live is None else list(live.voters),
            "brokers": [{"id": id, "fenced": fenced} for id, fenced in self.brokers],
            "partitions_without_leader": self.without_leader,
            "findings": self.findings,
        }
        return plain_dict(found)


def verify_recovery(plan_file: str, log_dirs: Sequence[str] = (), client: Client | None = None) -> RecoveryCheck:
    """Check the new directory against its plan, brokers' `log_dirs` for stray folders, and the cluster of `client`.

    What is not there or not named is not in `checked` of the result. Raises InputError for the plan or a log
    directory, and UnreachableError.
    """
    data = read_input(Path(plan_file), "the plan of the recovery", InputKind.KEPT)
    kept = read_kept_plan(data, file=plan_file)
    seen = _written(kept)
    findings = list(check_directory(kept, seen))
    checked: list[CheckedPart] = ["directory"] if seen.is_there else []
    live = None
    if client is not None:
        live = _live(client)
        findings += check_live(kept, live)
        checked.append("cluster")
    if log_dirs:
        names = each_once(log_dirs, disk_place)
        findings += check_strays([folder for path in names for folder in read_disk(path).folders])
        findings += named_twice(names, "directory")
        checked.append("folders")
    return RecoveryCheck(
        plan_file=plan_file,
        cluster_id=kept.cluster_id,
        checked=tuple(checked),
        live=live,
        findings=tuple(findings),
    )


def _written(kept: KeptPlan) -> WrittenSeen:
    if observe_directory(kept.directory).state is not DirectoryState.DIRECTORY:
        return WrittenSeen(is_there=False)
    disk = read_disk(kept.directory)
    is_started = disk.quorum_state is not None or bool(disk.log and disk.log.facts.segments)
    image = None if is_started or disk.candidate is None else read_image(disk).image
    voters = None if image is None or image.voters is None else image.voters
    return WrittenSeen(
        is_there=True,
        cluster_id=disk.cluster_id,
        node_id=disk.node_id,
        directory_id=disk.directory_id,
        is_started=is_started,
        files=tuple((path, _sha256(path)) for path, _, _ in kept.files),
        image_sha256=None if image is None else image_sha256(image),
        voters=None if voters is None else tuple((voter.node_id, voter.directory_id) for voter in voters),
    )


def _sha256(path: str) -> str | None:
    try:
        return checksum(path).sha256
    except InputError:
        return None


def _live(client: Client) -> LiveSeen:
    """Read leader, epoch and voters from the leader, and the image of the committed log."""
    body = client.ask_active_controller("DescribeQuorum", QUORUM_REQUEST).body
    code, text = answer_error(body)
    assert not code, text  # the active controller is found by its answer
    partition = body["Topics"][0]["Partitions"][0]
    loaded = replay_files(cluster_files(client, from_offset=None, up_to=None), Point(), name="the log of the cluster")
    return LiveSeen(
        cluster_id=client.cluster().cluster_id,
        leader_id=partition["LeaderId"],
        leader_epoch=partition["LeaderEpoch"],
        voters=tuple(sorted(currentvoter["ReplicaId"] for currentvoter in partition["CurrentVoters"])),
        image=loaded.image,
    )
