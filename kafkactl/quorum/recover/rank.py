"""Choice of the disk: disks in Raft's order, the source, and the voters of the last voter set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.answers import json_of
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.image.model import Image
from kafkactl.quorum.recover.observed_disks import DiskSeen, RecoveryTarget

CONTROLLER: Final = "controller"
BROKER: Final = "broker"
SHOWN: Final = "shown"
LOST: Final = "lost"
UNKNOWN: Final = "unknown"


@frozen
class OldVoter:
    """A voter of the last set."""

    id: int
    directory_id: Uuid | None
    """None in a static quorum."""
    endpoints: tuple[Endpoint, ...]
    state: Literal["shown", "lost", "unknown"]
    """`lost`: declared by --lost."""
    is_sound: bool = False

    to_dict = json_of("id", "directory_id", "endpoints", "state")


def ranked(disks: Sequence[DiskSeen]) -> list[DiskSeen]:
    """Return the disks with a metadata log that counts, best first: last epoch, end offset, then whole before damaged.

    Role does not matter: a broker's copy is as good as a controller's. Equal ones stay as they were given.
    """
    counted = [disk for disk in disks if disk.candidate is not None]
    return sorted(counted, key=lambda disk: (-disk.place[0], -disk.place[1], _is_damaged(disk)))


def committed_offset(disks: Iterable[DiskSeen]) -> int:
    """Return the offset after the last record known to be committed: the end of the newest snapshot; 0 without one."""
    return max((disk.log.committed_offset for disk in disks if disk.log is not None), default=0)


def _is_damaged(disk: DiskSeen) -> bool:
    return disk.candidate is not None and disk.candidate.damage is not None


def choose_source(disks: Sequence[DiskSeen], wanted: str | None) -> DiskSeen:
    """Return the disk to recover from: the best, or the one that was named.

    Raises InputError `no-recovery-source` if no disk has a metadata log that counts, `source-not-shown`.
    """
    order = ranked(disks)
    if not order:
        raise InputError("none of the directories has a metadata log that can be read", id="no-recovery-source")
    if wanted is None:
        return order[0]
    found = next((disk for disk in order if disk.path == wanted), None)
    if found is None:
        raise InputError(
            f"--from {wanted} is none of the directories shown with a metadata log: "
            + ", ".join(disk.path for disk in order),
            id="source-not-shown",
        )
    return found


def is_dynamic(image: Image) -> bool:
    """Return True if the voters are in the log (kraft.version 1 and later)."""
    return bool(image.kraft_version) and image.voters is not None


def role_of(disk: DiskSeen, image: Image, voter_ids: Sequence[int]) -> Literal["controller", "broker"]:
    """Return whether a disk is a controller's or a broker's; the disk of a combined node is a controller's."""
    if disk.node_id in voter_ids or disk.node_id in image.controllers:
        return CONTROLLER
    if disk.folders or disk.node_id in image.brokers:
        return BROKER
    return CONTROLLER


def old_voters(
    image: Image, disks: Sequence[DiskSeen], target: RecoveryTarget, lost: Sequence[int]
) -> tuple[OldVoter, ...]:
    """Return the last voter set by the best disk, and what became of each.

    Static: the ids that quorum-state files name (the newest first), else those of the last LeaderChange record in the
    best log that has one, else those of the target's configuration, which may name the recovered node alone, else the
    controllers among the disks and those declared lost. They answer where that configuration says, or else where they
    had registered.
    """
    if is_dynamic(image):
        assert image.voters is not None
        return tuple(
            _voter(entry.node_id, entry.directory_id, entry.endpoints, disks, lost)
            for entry in sorted(image.voters, key=lambda voter: voter.node_id)
        )
    places = {id: (Endpoint(listener="", host=host, port=port),) for id, host, port in target.static_voters}
    ids = _static_ids(disks) or _logged_ids(disks) or set(places)
    if not ids:
        ids = {
            disk.node_id
            for disk in disks
            if disk.log and disk.node_id is not None and disk.node_id not in image.brokers
        }
        ids |= set(lost)
    return tuple(_voter(id, None, places.get(id) or _registered(image, id), disks, lost) for id in sorted(ids))


def _registered(image: Image, node_id: int) -> tuple[Endpoint, ...]:
    """Return the registered endpoints of a controller (metadata.version 3.7 and later)."""
    found = image.controllers.get(node_id)
    listeners = () if found is None else found.listeners
    return tuple(Endpoint(listener=each.name, host=each.host, port=each.port) for each in listeners)


def _static_ids(disks: Sequence[DiskSeen]) -> set[int]:
    states = [disk.quorum_state for disk in disks if disk.quorum_state is not None and disk.quorum_state.current_voters]
    newest = max(states, key=lambda state: state.leader_epoch, default=None)
    return set() if newest is None else set(newest.current_voters)


def _logged_ids(disks: Sequence[DiskSeen]) -> set[int]:
    logs = (disk.log.kept.voters for disk in ranked(disks) if disk.log is not None)
    return set(next((voters for voters in logs if voters), ()))


def is_disk_of(disk: DiskSeen, id: int, directory_id: Uuid | None) -> bool:
    """Return True if a disk is the voter's: another directory id is that of another format of the node."""
    return disk.log is not None and disk.node_id == id and directory_id in (None, disk.directory_id)


def _voter(
    id: int,
    directory_id: Uuid | None,
    endpoints: tuple[Endpoint, ...],
    disks: Sequence[DiskSeen],
    lost: Sequence[int],
) -> OldVoter:
    own = [disk for disk in disks if is_disk_of(disk, id, directory_id)]
    state: Literal["shown", "lost", "unknown"] = SHOWN if own else LOST if id in lost else UNKNOWN
    return OldVoter(
        id=id,
        directory_id=directory_id,
        endpoints=endpoints,
        state=state,
        is_sound=any(_holds_a_whole_log(disk) for disk in own),
    )


def _holds_a_whole_log(disk: DiskSeen) -> bool:
    if disk.candidate is None or disk.candidate.damage is not None or disk.log is None:
        return False
    return disk.candidate.end_offset > 0 and not disk.log.is_empty


def at_new_addresses(voters: Sequence[OldVoter], new: Mapping[int, tuple[str, int]]) -> tuple[OldVoter, ...]:
    """Return the voters with the endpoints where they listen now."""
    return tuple(
        changed(voter, endpoints=_moved(voter.endpoints, *new[voter.id])) if voter.id in new else voter
        for voter in voters
    )


def _moved(endpoints: Sequence[Endpoint], host: str, port: int) -> tuple[Endpoint, ...]:
    return (Endpoint(listener=endpoints[0].listener if endpoints else "", host=host, port=port),)


def loss_is_unknowable(voters: Sequence[OldVoter]) -> bool:
    """Return True if committed records may be on none of the disks: disks that are lost, damaged or empty reach a
    majority."""
    return sum(voter.state != SHOWN or not voter.is_sound for voter in voters) >= majority(len(voters))


def target_endpoints(
    target: RecoveryTarget, image: Image, node_id: int, new: Mapping[int, tuple[str, int]]
) -> tuple[Endpoint, ...]:
    """Return the recovered node's endpoints: as given, else those of the old voter of that id, or of its registration.

    `new` are the addresses of voters that listen elsewhere now.
    """
    if target.endpoints:
        return target.endpoints
    if node_id in new and is_dynamic(image):
        old = next((voter.endpoints for voter in image.voters or () if voter.node_id == node_id), ())
        return _moved(old, *new[node_id]) if old else ()
    if not is_dynamic(image):
        return _registered(image, node_id)
    voter = next((voter for voter in image.voters or () if voter.node_id == node_id), None)
    return () if voter is None else voter.endpoints
