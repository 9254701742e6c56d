"""Manual steps around the one directory that the tool writes, in order, as complete commands."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.values import Endpoint, host_port
from kafkactl.quorum.recover.folders import Adoptable
from kafkactl.quorum.recover.observed_disks import DiskSeen
from kafkactl.quorum.recover.rank import LOST, OldVoter
from kafkactl.quorum.recover.request import RecoveryInput

_OWN = " (Where a copy was shown, name the broker's own directory, on its host.)"


Action = Literal[
    "stop-controllers", "stop-brokers", "copy-aside", "write-directory", "fence-old-voter", "rename-stray",
    "change-config", "start-controller", "verify", "start-broker", "add-controllers",
]  # fmt: skip


@frozen
class Step:
    """A step of the whole recovery; all but `write-directory` are done by people."""

    number: int
    action: Action
    target: str
    text: str
    command: str | None = None
    state: Literal["pending", "done"] = "pending"

    to_dict = json_of("number", "action", "target", "state", "text", "command")


@frozen
class Way:
    """Values for the texts of the steps."""

    read: RecoveryInput
    voters: tuple[OldVoter, ...]
    brokers: tuple[int, ...]
    brokers_run: bool
    node_id: int
    endpoints: tuple[Endpoint, ...]
    directory: str
    plan_file: str
    is_dynamic: bool
    adopted: tuple[Adoptable, ...]
    written: bool


def combined_nodes(voters: Sequence[OldVoter], brokers: Sequence[int]) -> list[int]:
    """Return the voters that are brokers, too: node ids are unique, so one that is both is one process."""
    return [voter.id for voter in voters if voter.id in brokers]


def steps_of(way: Way) -> tuple[Step, ...]:
    """Return all steps, numbered. Steps up to the write are done if the directory is written."""
    found = []
    for number, (action, target, text, command) in enumerate(_steps(way), 1):
        state: Literal["pending", "done"] = "done" if way.written and action == "write-directory" else "pending"
        found.append(Step(number=number, action=action, target=target, text=text, command=command, state=state))
    return tuple(found)


def _steps(way: Way) -> Iterator[tuple[Action, str, str, str | None]]:
    old = ", ".join(str(voter.id) for voter in way.voters)
    yield "stop-controllers", f"controllers {old}", "Stop every controller that still runs, and keep it stopped.", None
    if not way.brokers_run:
        text = "Stop every broker: a running one deletes partitions that it does not find in the recovered image."
        yield "stop-brokers", _brokers(way.brokers), text, None
    yield from _copies(way.read.disks)
    yield "write-directory", way.directory, "Write the recovered directory (this command without --plan).", None
    yield from _fences(way)
    yield from _renames(way.adopted)
    yield from _configs(way)
    combined = combined_nodes(way.voters, way.brokers)
    verify = f"kafkactl quorum recover verify {shlex.quote(way.plan_file)}"
    where = _address(way.endpoints)
    checks = f"{verify} --bootstrap-controller {where}"
    if way.node_id in combined:
        own = [disk.path for disk in way.read.disks if disk.node_id == way.node_id]
        text = f"Start node {way.node_id}, controller and broker in one process, alone. It leads within seconds."
        then = (
            "Check leader, epoch and registrations, and that no folder of its own was renamed, before others start. A"
            " partition that keeps a lost broker as its last in-sync replica has no leader until"
            " `kafka-leader-election --election-type unclean` makes this node the leader, with its copy: do that before"
            " those brokers come back with empty disks."
        )
        checks = " ".join([checks, *(f"--log-dir {shlex.quote(path)}" for path in own)])
    else:
        text = f"Start controller {way.node_id} alone. It leads within seconds: `Performing controller activation`."
        then = "Check leader, epoch and registrations before any broker starts."
    yield "start-controller", f"controller {way.node_id}", text, None
    yield "verify", f"controller {way.node_id}", then, checks
    yield from _brokers_start(way, f"{verify} --bootstrap-controller {where}")
    yield from _growth(way, where)


def _copies(disks: Sequence[DiskSeen]) -> Iterator[tuple[Action, str, str, str | None]]:
    """Yield copies, each into a folder of its own: all logs have the same name, and one host may make all copies."""
    with_log = [disk for disk in disks if disk.log is not None]
    for number, disk in enumerate(with_log, 1):
        folder = disk.path if disk.path.endswith(METADATA_LOG) else f"{disk.path}/{METADATA_LOG}"
        to = f"BACKUP/{number}" + ("" if disk.node_id is None else f"-node-{disk.node_id}")
        command = f"mkdir -p {to} && cp -a {shlex.quote(folder)} {to}/"
        yield "copy-aside", f"directory {disk.path}", "Copy the metadata log aside, on its own host.", command


def _fences(way: Way) -> Iterator[tuple[Action, str, str, str | None]]:
    combined = combined_nodes(way.voters, way.brokers)
    for voter in way.voters:
        at = _address(voter.endpoints)
        target = f"controller {voter.id}" + (f" at {at}" if at != "HOST:PORT" else "")
        if voter.id in combined and voter.state != LOST:
            yield from _fences_combined(way, voter, target)
            continue
        identity = "" if voter.directory_id is None else f", directory id {voter.directory_id}"
        text = (
            f"Withdraw the configuration of old voter {voter.id}{identity}, or fence off its host, so that it never"
            " starts with its disk again: two old voters can elect each other while the recovered one is down. Keep the"
            " disk, unchanged, until the recovery is verified."
        )
        if voter.id == way.node_id and voter.state != LOST:
            text = (
                f"Controller {voter.id} never starts with its old directory again{identity}: change-config below names"
                " the new one. Keep the old one until the quorum has grown back."
            )
        yield "fence-old-voter", target, text, None


def _fences_combined(way: Way, voter: OldVoter, target: str) -> Iterator[tuple[Action, str, str, str | None]]:
    """Move the metadata log aside on a broker: Kafka starts on no log directory with a log outside metadata.log.dir."""
    text = (
        f"Node {voter.id} is a broker, too: keep its partition folders, and move its old metadata log out of its log"
        " directories. It must never start with that log again, and the recovered node does not start next to it."
    )
    for disk in way.read.disks:
        if disk.node_id == voter.id and disk.log is not None and not disk.path.endswith(METADATA_LOG):
            command = f"mv -nT {shlex.quote(f'{disk.path}/{METADATA_LOG}')} BACKUP/old-voter-{voter.id}"
            yield "fence-old-voter", target, text, command
            return
    yield "fence-old-voter", target, text, None


def _renames(adopted: Sequence[Adoptable]) -> Iterator[tuple[Action, str, str, str | None]]:
    for partition in adopted:
        plain = f"{partition.topic}-{partition.partition}"
        for folder in partition.replicas:
            if folder.name != plain:
                old, new = shlex.quote(f"{folder.disk}/{folder.name}"), shlex.quote(f"{folder.disk}/{plain}")
                text = f"Give the folder its name back while broker {folder.broker} is stopped."
                yield "rename-stray", f"broker {folder.broker}", text, f"mv -nT {old} {new}"


def _configs(way: Way) -> Iterator[tuple[Action, str, str, str | None]]:
    own = f"Set metadata.log.dir={way.directory} (or log.dirs, where the node has no other data)."
    if way.node_id in combined_nodes(way.voters, way.brokers):
        own = f"Set metadata.log.dir={way.directory}, and leave log.dirs as it is: its partitions are there."
    yield "change-config", f"controller {way.node_id}", own, None
    at = _address(way.endpoints)
    if way.is_dynamic:
        text = f"Set controller.quorum.bootstrap.servers={at} on every node, and no controller.quorum.voters."
    else:
        text = f"Set controller.quorum.voters={way.node_id}@{at} on every node; nothing else says who votes."
    yield "change-config", "every node", text, None


def _brokers_start(way: Way, verify: str) -> Iterator[tuple[Action, str, str, str | None]]:
    if way.brokers_run:
        text = f"The brokers load the snapshot while they run; check for renamed folders nevertheless.{_OWN}"
        yield "verify", _brokers(way.brokers), text, _with_folders(verify, way, way.brokers)
        return
    combined = combined_nodes(way.voters, way.brokers)
    lost = [voter.id for voter in way.voters if voter.state == LOST and voter.id in combined]
    later = [broker for broker in way.brokers if broker not in lost and broker != way.node_id]
    shown = {disk.node_id for disk in way.read.disks}
    for number, broker in enumerate(later):
        text = (
            f"Start this one alone, and check that no folder ends in -stray before any other starts.{_OWN}"
            if number == 0
            else "Start it."
        )
        if broker not in shown:
            text += " (Its disks were not shown: leave it out if they are lost, see partitions-without-leader.)"
        yield "start-broker", f"broker {broker}", text, (_with_folders(verify, way, [broker]) if number == 0 else None)
    if len(later) > 1:
        text = "Check brokers, leaders and folders once more: the recovery is complete when nothing is found."
        yield "verify", _brokers(later), text, _with_folders(verify, way, later)


def _with_folders(verify: str, way: Way, brokers: Collection[int]) -> str:
    """Return the check of the cluster, and of the folders of these brokers as far as their directories were shown."""
    own = [disk.path for disk in way.read.disks if disk.node_id in brokers and disk.folders]
    return " ".join([verify, *(f"--log-dir {shlex.quote(path)}" for path in own)])


def _growth(way: Way, where: str) -> Iterator[tuple[Action, str, str, str | None]]:
    others = [voter.id for voter in way.voters if voter.id != way.node_id]
    target = ",".join(map(str, [way.node_id, *others]))
    if way.is_dynamic:
        text = (
            "Until the quorum has more voters, its metadata is on one disk only: format new disks with"
            " --no-initial-controllers, start these controllers, and make them voters."
        )
        if len(combined_nodes(way.voters, way.brokers)) > 1:
            text += " Those that are brokers, too, copy their partitions from other replicas, where there are any."
        command = f"kafkactl quorum reassign --target {target} --bootstrap-controller {where} --yes" if others else None
        yield "add-controllers", f"controllers {', '.join(map(str, others)) or 'new ones'}", text, command
        return
    text = (
        "Add one blank controller to controller.quorum.voters everywhere, restart the controllers that run, which read"
        " it at their start, and start the new one while the recovered one runs; add the next only when its lag in"
        " `kafkactl quorum describe` is 0. Never have more voters with a blank disk than voters"
        " with data."
    )
    yield "add-controllers", f"controllers {', '.join(map(str, others)) or 'new ones'}", text, None


def _brokers(ids: Sequence[int]) -> str:
    return f"brokers {', '.join(map(str, ids))}" if ids else "every broker"


def _address(endpoints: Sequence[Endpoint]) -> str:
    if not endpoints:
        return "HOST:PORT"
    return host_port(endpoints[0].host or "localhost", endpoints[0].port)
