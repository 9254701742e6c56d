"""Remarks of a recovery plan that do not stop it: raised values, unknowns, and acts to avoid."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.values import host_port
from kafkactl.core.wording import counted, first_few
from kafkactl.metadata.image.records import level_of, losses
from kafkactl.quorum.recover.checks import Case, other_lives, stray_folders
from kafkactl.quorum.recover.leaderless_partitions import without_in_sync_disk
from kafkactl.quorum.recover.observed_disks import MOST_NAMED
from kafkactl.quorum.recover.rank import OldVoter
from kafkactl.quorum.recover.repairs import Repairs
from kafkactl.quorum.recover.steps import combined_nodes


def remarks(case: Case, repairs: Repairs, committed: int) -> Iterator[Finding]:
    """Report remarks about every recovery, or about this one, that do not refuse it."""
    yield from other_lives(case)
    end = case.source.place[1]
    if end > committed:
        yield note(
            "uncommitted-tail-possible",
            f"directory {case.source.path}",
            f"records from offset {committed} to {end - 1} may not have been committed; they are all taken, and a new"
            " leader would commit them, too",
            first=committed,
            last=end - 1,
        )
    if case.losses.unknown:
        yield warning(
            "loss-not-knowable",
            "quorum",
            "as many voters' disks are lost as a majority has members: records that were on them alone are"
            " lost, and no disk can list them",
        )
    yield note(
        "leader-epochs-raised",
        "partitions",
        f"the leader epoch of {counted(repairs.partitions, 'partition')} is raised by {repairs.raised_by}: epochs that"
        " go back keep replicas out of the ISR",
    )
    yield note(
        "producer-ids-raised",
        "producer ids",
        f"the next producer id goes from {repairs.producer_ids[0]} to {repairs.producer_ids[1]}: an id that is given"
        " out twice loses acknowledged records",
    )
    if repairs.controllers_unregistered:
        ids = ", ".join(map(str, repairs.controllers_unregistered))
        yield note(
            "registrations-dropped",
            f"controllers {ids}",
            f"the registrations of controllers {ids} are left out of the snapshot: running controllers register again,"
            " and registrations of others would block feature changes",
        )
    stranded = without_in_sync_disk(case.recovered, case.brokers_missing)
    if stranded.names:
        yield warning(
            "partitions-without-leader",
            "partitions",
            f"{stranded.count_text} no in-sync replica on the disks that were shown, and no leader until brokers that"
            f" were not shown are back: {first_few(stranded.names)}",
            stranded.next_step,
            **stranded.evidence,
        )
    yield from _afterwards(case)
    level = level_of(case.recovered)
    yield from () if level is None else losses(case.image if case.image.transaction else case.recovered, level)
    if case.adoption.partitions and not case.adopted:
        yield note(
            "partitions-adoptable",
            "partitions",
            f"{counted(len(case.adoption.partitions), 'partition')} could be adopted from brokers' disks (--adopt)",
        )
    yield from _settings(repairs)
    renamed = stray_folders(case.read.disks)
    if renamed and not case.request.overrides.return_strays:
        yield warning(
            "stray-folders-found",
            "brokers",
            f"brokers renamed {counted(renamed, 'folder')} to -stray earlier",
            "--adopt --return-strays takes their partitions back, where the image lacks them.",
        )


def _settings(repairs: Repairs) -> Iterator[Finding]:
    unknown = [given for given in repairs.settings if not given.known]
    if unknown:
        yield warning(
            "adopted-settings-unknown",
            f"topics {first_few([given.topic for given in unknown])}",
            f"no disk that was shown has the settings of {counted(len(unknown), 'adopted topic')}: they keep all their"
            f" data (repairs.adopted_settings) until they are set: {first_few([given.topic for given in unknown])}",
            topics=[given.topic for given in unknown][:MOST_NAMED],
        )
    if repairs.tiered:
        yield warning(
            "tiering-restored",
            f"topics {first_few(list(repairs.tiered))}",
            f"by brokers' disks the logs of {counted(len(repairs.tiered), 'topic')} begin in tiered storage, and the"
            f" image does not tier them: remote.storage.enable=true is set: {first_few(list(repairs.tiered))}",
            topics=list(repairs.tiered)[:MOST_NAMED],
        )


def _afterwards(case: Case) -> Iterator[Finding]:
    who = "the recovered controller" if case.node_id is None else f"controller {case.node_id}"
    grow = (
        ""
        if case.is_dynamic
        else "Add controllers to controller.quorum.voters one after the other, as the last step says, as soon as the"
        " brokers are up: no request changes the voters of a static quorum."
    )
    yield warning("single-voter", who, f"{who} will be the only voter, on one disk", grow)
    others = case.voters
    listed = "; ".join(_identity(other) for other in others)
    combined = [str(node) for node in combined_nodes(others, tuple(case.image.brokers))]
    keeps = (
        f"Keep the partition folders of {first_few(combined)}, which are brokers, too: move their metadata logs away."
        " Fence off the hosts of the others, or withdraw their configuration; empty their disks after the recovery is"
        " verified."
    )
    yield warning(
        "old-voters-must-not-return",
        "quorum",
        f"the old voters must never start again with their disks: {listed}",
        keeps if combined else "",
        voters=[other.id for other in others],
    )
    if not case.is_dynamic:
        yield warning(
            "voters-unlearned",
            "quorum",
            "the quorum is static: no snapshot names voters, each node's controller.quorum.voters does",
            f"Write controller.quorum.voters with controller {case.node_id} alone into the file of every"
            " controller before it starts.",
        )


def _identity(voter: OldVoter) -> str:
    at = ", ".join(host_port(endpoint.host, endpoint.port) for endpoint in voter.endpoints)
    directory = "" if voter.directory_id is None else f" directory {voter.directory_id}"
    return f"{voter.id}{directory}" + (f" at {at}" if at else "")
