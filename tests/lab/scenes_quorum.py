"""The scenes of the quorum: growing and shrinking, lost disks, dead and paused voters, and what stops it for good."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from kafkactl.adapters.cluster_view import error_codes_in
from kafkactl.errors import KafkactlError
from kafkactl.values import Uuid
from tests.lab.scene import NO_ANSWER, Asking, Course, Deed, Scene, Stage, Verdict
from tests.lab.scenes_features import kill, rise, scene, start

WORKS, NOTHING, REFUSED, CLAIMED, ALLOWED, WEDGES, KILLS, LATER = (
    Verdict.WORKS, Verdict.NOTHING, Verdict.REFUSED, Verdict.CLAIMED, Verdict.ALLOWED, Verdict.WEDGES, Verdict.KILLS,
    Verdict.LATER,
)  # fmt: skip


# --- deeds and requests ---------------------------------------------------------------------------------------------


def pause(*who: int | str) -> Deed:
    """SIGSTOP, and long enough for the leader to know."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(one) for one in who]
        stage.cluster.pause(*ids)
        stage.cluster.wait_for(lambda: _silent(stage, ids), "missed the paused voters", 15)

    return deed


def resume(*who: int | str) -> Deed:
    """SIGCONT."""

    def deed(stage: Stage) -> None:
        stage.cluster.resume(*[stage.part(one) for one in who])
        stage.cluster.wait_complete()

    return deed


def lose_disk(who: int | str) -> Deed:
    """Another, empty disk in the place of that node's; it follows again as an observer."""

    def deed(stage: Stage) -> None:
        node_id = stage.part(who)
        key = stage.cluster.replace_disk(node_id)
        stage.cluster.wait_for(lambda: (node_id, key) in _observers(stage), "the new disk as an observer", 60)

    return deed


def know_dead(*who: int | str) -> Deed:
    """SIGKILL, and wait until the leader has missed them for longer than it takes as alive."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(one) for one in who]
        stage.cluster.kill(*ids)
        stage.cluster.wait_for(lambda: _silent(stage, ids), "missed the dead voters", 15)

    return deed


def freeze_at(name: str, *who: int | str, for_s: float | None = None) -> Deed:
    """Pause these nodes in the moment in which our client sends that request, for good or for some seconds."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(one) for one in who]

        def freeze() -> None:
            stage.undo()
            stage.cluster.pause(*ids)
            if for_s is not None:
                threading.Timer(for_s, stage.cluster.resume, ids).start()

        stage.undo = _watch_client(name, freeze)

    return deed


def thaw(*who: int | str) -> Deed:
    """The nodes go on."""

    def deed(stage: Stage) -> None:
        stage.cluster.resume(*[stage.part(one) for one in who])

    return deed


def _watch_client(name: str, happens: Any) -> Any:
    """Have something happen right before the client sends a request of that name; returns what undoes it."""
    from kafkactl.adapters.connection import Connection

    kept = Connection.ask

    def ask(self: Connection, asked: str, *arguments: Any, **more: Any) -> Any:
        if asked == name:
            happens()
        return kept(self, asked, *arguments, **more)

    Connection.ask = ask  # type: ignore[method-assign]

    def undo() -> None:
        Connection.ask = kept  # type: ignore[method-assign]

    return undo


def _silent(stage: Stage, ids: Sequence[int]) -> bool:
    """Whether the leader has not been asked by any of these for 5 s, as it says itself."""
    try:
        quorum = stage.cluster.quorum()
    except KafkactlError:
        return False
    replicas = [*quorum["CurrentVoters"], *quorum["Observers"]]
    newest = max(one["LastFetchTimestamp"] for one in replicas)
    return all(newest - one["LastFetchTimestamp"] > 5_000 for one in replicas if one["ReplicaId"] in ids)


def _observers(stage: Stage) -> set[tuple[int, str]]:
    try:
        found = stage.cluster.quorum()["Observers"]
    except KafkactlError:
        return set()
    return {(one["ReplicaId"], str(one["ReplicaDirectoryId"])) for one in found}


def remove_bare(who: int | str) -> Asking:
    """RemoveRaftVoter as it is, whatever follows from it."""

    def ask(stage: Stage, words: Sequence[str]) -> int:
        node_id = stage.part(who)
        key = stage.cluster.voters().get(node_id, stage.cluster.disks.directory_ids[node_id])
        return _sent(stage, "RemoveRaftVoter", {"VoterId": node_id, "VoterDirectoryId": Uuid.parse(key)})

    return ask


def add_bare(who: int | str) -> Asking:
    """AddRaftVoter as it is, with the endpoint of the node, a broker's too."""

    def ask(stage: Stage, words: Sequence[str]) -> int:
        node_id = stage.part(who)
        cluster = stage.cluster
        is_controller = node_id in cluster.disks.controller_ports
        at = cluster.controller_address(node_id) if is_controller else cluster.broker_address(node_id)
        listener = {"Name": "CONTROLLER", "Host": at.host, "Port": at.port}
        key = Uuid.parse(cluster.directory_id(node_id))
        body = {"TimeoutMs": 5_000, "VoterId": node_id, "VoterDirectoryId": key, "Listeners": [listener]}
        return _sent(stage, "AddRaftVoter", body)

    return ask


def convert_bare(stage: Stage, words: Sequence[str]) -> int:
    """kraft.version=1 by the bare request."""
    update = {"Feature": "kraft.version", "MaxVersionLevel": 1, "UpgradeType": 1}
    with stage.cluster.client(timeout_ms=8_000, request_timeout_ms=6_000) as client:
        body = client.ask_active_controller("UpdateFeatures", {"FeatureUpdates": [update]}, changes=True).body
    return next(error_codes_in(body), 0)


def _sent(stage: Stage, name: str, body: dict[str, Any]) -> int:
    with stage.cluster.client(timeout_ms=8_000, request_timeout_ms=6_000) as client:
        try:
            answer = client.ask_active_controller(name, {"ClusterId": stage.cluster.cluster_id, **body}, changes=True)
        except KafkactlError:
            return NO_ANSWER
    return next(error_codes_in(answer.body), 0)


def reassign(target: str, *options: str) -> tuple[str, ...]:
    """`quorum reassign --target`."""
    return ("quorum", "reassign", "--target", target, *options)


def remove(who: str) -> tuple[str, ...]:
    """`quorum remove-controller`."""
    return ("quorum", "remove-controller", "-i", f"{{{who}}}", "-d", f"{{{who}_dir}}")


def add(who: str) -> tuple[str, ...]:
    """`quorum add-controller`."""
    return ("quorum", "--command-config", f"{{{who}_config}}", "add-controller")


# --- courses --------------------------------------------------------------------------------------------------------

_THREE = reassign("1,2,3")

_COMMON = (
    scene("the only voter removed", remove("leader"), REFUSED, "last-voter", instead=remove_bare("leader")),
    scene("from one voter to three", _THREE, WORKS),
    scene("to the voters there are", _THREE, NOTHING),
    scene("who votes already is added", add("follower"), NOTHING),
    scene("who does not vote is removed", remove("observer"), NOTHING),
    scene("a voter removed under another directory", (*remove("follower")[:-1], "{observer_dir}"), REFUSED,
          "voter-has-another-directory"),
    scene("an observer that is dead is added", add("observer"), REFUSED, "candidate-not-fetching",
          before=(know_dead("observer"),), instead=add_bare("observer"), after=(start("observer"),)),
    scene("a broker as a voter", reassign("1,2,3,4,11"), KILLS, "broker-only-node", instead=add_bare(11)),
    scene("the dead broker leaves the voters", _THREE, WORKS, before=(know_dead(),), after=(start(11),)),
    scene("one of three dead, a healthy one removed", remove("other"), WEDGES, "quorum-would-wedge",
          before=(know_dead("follower"),), instead=remove_bare("other"), after=(rise("follower"),)),
    scene("from two voters to three", _THREE, WORKS),
    scene("a lost disk replaced", _THREE, WORKS, before=(lose_disk("follower"),)),
    scene("a dead voter gives way to an observer", reassign("{without_follower},{observer}"), WORKS,
          before=(know_dead("follower"),), after=(start("follower"),)),
    scene("the leader gives way to an observer", reassign("{without_leader},{observer}"), WORKS),
    scene("from three voters to five", reassign("1,2,3,4,5"), WORKS),
    scene("two dead of five leave", reassign("{survivors}"), WORKS, before=(know_dead("other", "third"),),
          after=(start("other", "third"),)),
)  # fmt: skip

_MORE = (
    scene("a paused voter gives way to an observer", reassign("{without_follower},{observer}"), WORKS,
          before=(pause("follower"),), after=(resume("follower"),)),
    scene("an even number of voters", reassign("{voters_text},{observer}"), ALLOWED, "even-voter-count",
          instead=add_bare("observer")),
    scene("a voter removed while two of four pause, for two seconds", remove("third"), WORKS,
          during=freeze_at("RemoveRaftVoter", "follower", "other", for_s=2.2)),
    scene("from three voters to five, once more", reassign("1,2,3,4,5"), WORKS),
    scene("the leader removed by itself", remove("leader"), WORKS),
    scene("a voter removed while two of four pause, for long", remove("third"), LATER,
          options=("--step-timeout", "9s"), during=freeze_at("RemoveRaftVoter", "follower", "other"),
          after=(thaw("follower", "other"),)),
    scene("back to five, whatever came of it", reassign("1,2,3,4,5"), WORKS),
    scene("five voters, two dead, a healthy one removed", remove("follower"), WEDGES, "quorum-would-wedge",
          before=(know_dead("other", "third"),), instead=remove_bare("follower"), after=(rise("other", "third"),)),
    scene("from four voters to three", reassign("{three}"), WORKS),
)  # fmt: skip


def _course(release: str, *scenes: Scene, **shape: Any) -> Course:
    usual = {"controllers": 5, "voters": (1,), "brokers": 1}
    return Course(name=f"quorum of {release}", release=release, shape={**usual, **shape}, scenes=scenes)


_STATIC = {"controllers": 3, "voters": None, "brokers": 1, "dynamic": False}
_CONVERT = ("quorum", "convert")
_CONFIRMED = ("--confirm", "{cluster_id}")

STATIC = tuple(
    Course(
        name=f"static quorum of {release}", release=release, shape=_STATIC,
        scenes=(
            scene("a voter removed from a static quorum", remove("follower"), REFUSED, "quorum-is-static",
                  instead=remove_bare("follower")),
            *scenes,
        ),
    )
    for release, scenes in {
        "3.9.2": (
            scene("converted where it is pretended", _CONVERT, CLAIMED, "conversion-not-supported",
                  options=_CONFIRMED, instead=convert_bare),
        ),
        "4.3.1": (
            scene("converted while a voter is dead", _CONVERT, REFUSED, "voter-not-alive", options=_CONFIRMED,
                  before=(know_dead("follower"), kill("leader"), rise("leader")), instead=convert_bare,
                  after=(start("follower"),)),
            scene("converted", _CONVERT, WORKS, options=_CONFIRMED),
            scene("a voter removed after that", remove("follower"), WORKS),
        ),
    }.items()
)  # fmt: skip

MIXED = _course("4.3.1 with controllers of 3.9.2", *_COMMON[1:3], *_COMMON[11:14], releases={2: "3.9.2", 4: "3.9.2"})

ALL = (
    _course("3.9.2", *_COMMON),
    _course("4.0.2", *_COMMON),
    _course("4.3.1", *_COMMON, *_MORE),
    _course("4.4.0", *_COMMON),
    Course(name=MIXED.name, release="4.3.1", shape=MIXED.shape, scenes=MIXED.scenes),
    *STATIC,
)
