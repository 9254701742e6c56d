"""Messages of text scripts, made from the words of a command; see tests/simulator/raft/scripts.py."""

from __future__ import annotations

from collections.abc import Callable

from kafkactl.core.values import ZERO_UUID, ReplicaKey
from kafkactl.protocol.schema.error_codes import error_codes
from kafkactl.simulator.raft import errors
from kafkactl.simulator.raft import messages as wire
from kafkactl.simulator.raft.log import Batch, LeaderChange, RecordKind, Voters
from kafkactl.simulator.raft.voters import NO_VOTERS
from tests.simulator.raft.quorum import directory, endpoint, voters


def _cluster(given: dict[str, str]) -> str | None:
    return None if given["cluster"] == "none" else given["cluster"]


def _end_of_log(text: str) -> tuple[int, int]:
    epoch, end = text.split(":")
    return int(epoch), int(end)


def _addressed(stage, given: dict[str, str]):
    node_id = int(given.get("to", stage.node.id))
    if given.get("generation") == "unknown":
        return node_id, ZERO_UUID
    return node_id, directory(node_id, int(given.get("generation", "1")))


def _vote(stage, head, given):
    sender = int(given["from"])
    epoch, end = _end_of_log(given.get("log", "0:0"))
    to, place = _addressed(stage, given)
    of = directory(sender) if sender >= 0 else ZERO_UUID
    return wire.VoteRequest(
        *head, _cluster(given), to, place, int(given["epoch"]), sender, of, epoch, end, "pre" in given
    )


def _begin(stage, head, given):
    sender = int(given["from"])
    to, place = _addressed(stage, given)
    listeners = (endpoint(sender),) if sender >= 0 else ()
    return wire.BeginQuorumEpochRequest(*head, _cluster(given), to, place, sender, int(given["epoch"]), listeners)


def _end(stage, head, given):
    sender = int(given["from"])
    ids = [int(part) for part in given.get("successors", "").split(",") if part]
    keys = tuple(ReplicaKey(node_id=node_id, directory_id=directory(node_id)) for node_id in ids)
    return wire.EndQuorumEpochRequest(*head, _cluster(given), sender, int(given["epoch"]), keys, (endpoint(sender),))


def _fetch(stage, head, given):
    sender = int(given["from"])
    epoch, offset = _end_of_log(given["log"])
    known = int(given.get("committed", str((1 << 63) - 1)))
    place = directory(sender, int(given.get("generation", "1")))
    wait = int(given.get("wait", "500"))
    current = int(given.get("epoch", stage.node.epoch))
    return wire.FetchRequest(*head, _cluster(given), sender, place, wait, current, offset, epoch, known)


def _fetch_snapshot(stage, head, given):
    sender = int(given["from"])
    end, epoch = (int(part) for part in given["snapshot"].split("-"))
    current = int(given.get("epoch", stage.node.epoch))
    place = directory(sender)
    position = int(given.get("position", "0"))
    return wire.FetchSnapshotRequest(*head, _cluster(given), sender, place, 500, current, end, epoch, position)


def _add(stage, head, given):
    new = int(given["voter"])
    place = directory(new, int(given.get("generation", "1"))) if given.get("generation") != "unknown" else ZERO_UUID
    listeners = () if "no-listener" in given else (endpoint(new, int(given.get("port", "0"))),)
    return wire.AddRaftVoterRequest(*head, _cluster(given), new, place, listeners)


def _remove(stage, head, given):
    old = int(given["voter"])
    return wire.RemoveRaftVoterRequest(*head, _cluster(given), old, directory(old, int(given.get("generation", "1"))))


def _update(stage, head, given):
    sender = int(given["from"])
    listeners = (endpoint(sender, int(given.get("port", "0"))),)
    low, high = (int(number) for number in given.get("levels", "0-1").split("-"))
    place = directory(sender, int(given.get("generation", "1")))
    epoch = int(given.get("epoch", stage.node.epoch))
    return wire.UpdateRaftVoterRequest(*head, _cluster(given), epoch, sender, place, listeners, low, high)


REQUESTS: dict[str, Callable] = {
    "vote": _vote,
    "begin": _begin,
    "end": _end,
    "fetch": _fetch,
    "fetch-snapshot": _fetch_snapshot,
    "add": _add,
    "remove": _remove,
    "update": _update,
    "versions": lambda stage, head, given: wire.ApiVersionsRequest(*head),
    "describe": lambda stage, head, given: wire.DescribeQuorumRequest(*head),
}


def _code(given: dict[str, str]) -> int:
    return next((known.code for known in error_codes() if known.name in given), errors.NONE)


def _leads(stage, given) -> tuple[int, int, tuple]:
    leader = int(given.get("leader", "-1"))
    return leader, int(given.get("epoch", stage.node.epoch)), (endpoint(leader),) if leader >= 0 else ()


def _voted(stage, head, given):
    leader, epoch, where = _leads(stage, given)
    top = _code(given) if "top" in given else 0
    return wire.VoteResponse(*head, top, 0 if top else _code(given), leader, epoch, "granted" in given, where)


def _begun(stage, head, given):
    leader, epoch, where = _leads(stage, {"leader": str(stage.node.id), **given})
    return wire.BeginQuorumEpochResponse(*head, 0, _code(given), leader, epoch, where)


def _ended(stage, head, given):
    leader, epoch, where = _leads(stage, {"leader": str(stage.node.id), **given})
    return wire.EndQuorumEpochResponse(*head, 0, _code(given), leader, epoch, where)


def _records(stage, given) -> tuple[Batch, ...]:
    batches, base = [], stage.node.log_end
    for piece in filter(None, given.get("records", "").split(";")):
        epoch, what = piece.split(":")
        kind = RecordKind.DATA if what.isdigit() else RecordKind.CONTROL
        if what.startswith("leader"):
            content, count = (LeaderChange(int(what[6:]), (), ()),), 1
        elif what.startswith("voters"):
            content, count = (Voters(voters(*map(int, what[6:].split("+")))),), 1
        else:
            content, count = (what,), int(what)
        batches.append(Batch(base, base + count, int(epoch), kind, content, 100))
        base += count
    return tuple(batches)


def _fetched(stage, head, given):
    leader, epoch, where = _leads(stage, {"leader": str(stage.node.leader_id), **given})
    mark = int(given.get("committed", "-1"))
    diverging, diverging_end = _end_of_log(given.get("diverging", "-1:-1"))
    end, snapshot_epoch = (int(part) for part in given["snapshot"].split("-")) if "snapshot" in given else (-1, -1)
    found = (diverging, diverging_end, snapshot_epoch, end, _records(stage, given))
    return wire.FetchResponse(*head, 0, _code(given), leader, epoch, mark, 0, *found, where)


def _snapshot_piece(stage, head, given):
    leader, epoch, where = _leads(stage, {"leader": str(stage.node.leader_id), **given})
    end, of = (int(part) for part in given["snapshot"].split("-")) if "snapshot" in given else (-1, -1)
    piece = (int(given.get("size", "0")), int(given.get("position", "0")), int(given.get("bytes", "0")))
    held = voters(*map(int, given["voters"].split(","))) if "voters" in given else NO_VOTERS
    return wire.FetchSnapshotResponse(*head, 0, _code(given), leader, epoch, end, of, *piece, 1, held, where)


def _probed(stage, head, given):
    low, high = (int(number) for number in given.get("levels", "0-1").split("-", 1))
    return wire.ApiVersionsResponse(*head, _code(given), low, high)


def _updated(stage, head, given):
    leader, epoch, _ = _leads(stage, {"leader": str(stage.node.leader_id), **given})
    at = endpoint(leader)
    return wire.UpdateRaftVoterResponse(*head, _code(given), leader, epoch, at.host, at.port)


RESPONSES: dict[type, Callable] = {
    wire.VoteRequest: _voted,
    wire.BeginQuorumEpochRequest: _begun,
    wire.EndQuorumEpochRequest: _ended,
    wire.FetchRequest: _fetched,
    wire.FetchSnapshotRequest: _snapshot_piece,
    wire.ApiVersionsRequest: _probed,
    wire.UpdateRaftVoterRequest: _updated,
    wire.AddRaftVoterRequest: lambda stage, head, given: wire.AddRaftVoterResponse(*head, _code(given), None),
    wire.RemoveRaftVoterRequest: lambda stage, head, given: wire.RemoveRaftVoterResponse(*head, _code(given), None),
}
