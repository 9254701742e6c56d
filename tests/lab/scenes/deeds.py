"""Acts on the nodes of a scene, and requests that go to Kafka unchanged, without any of our guards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkactl.core.errors import KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.core.values import Role, Uuid
from kafkactl.kafka.cluster_view import error_codes_in
from kafkactl.kafka.connection import Connection
from tests.lab.scenes.scene import NO_ANSWER, Asking, Deed, Stage, registered

_UNSUPPORTED_VERSION = 35


def kill(*who: int | str) -> Deed:
    """Send SIGKILL; a dead broker is fenced, and known as such, a session timeout later."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(name) for name in who]
        stage.cluster.kill(*ids)
        if any(node_id in stage.cluster.broker_ids for node_id in ids):
            stage.cluster.wait_for(lambda: not _unfenced(stage) & set(ids), "fenced the dead brokers", 120)

    return deed


def start(*who: int | str) -> Deed:
    """Start again, and wait until the cluster is complete."""

    def deed(stage: Stage) -> None:
        stage.cluster.start(*[stage.part(name) for name in who])

    return deed


def rise(*who: int | str) -> Deed:
    """Start dead nodes again, while others stay dead."""

    def deed(stage: Stage) -> None:
        for name in who:
            stage.cluster.node(stage.part(name)).start()
        stage.cluster.wait_complete()

    return deed


def run_as(who: int, release: str) -> Deed:
    """Run that node with other binaries."""

    def deed(stage: Stage) -> None:
        stage.cluster.change_release(who, release)
        stage.cluster.wait_complete()

    return deed


def _unfenced(stage: Stage) -> set[int]:
    with stage.cluster.client(Role.BROKER, timeout_ms=5_000, request_timeout_ms=2_000) as client:
        return {node.id for node in client.cluster().nodes if not node.fenced}


def back_again(who: int | str) -> Deed:
    """Wait until a live controller has registered again, which it does unasked."""

    def deed(stage: Stage) -> None:
        key = ("controller", stage.part(who))
        stage.cluster.wait_for(lambda: key in registered(stage), f"{key} registered again", 120)

    return deed


def request(name: str, field: str, who: int | str) -> Asking:
    """Ask Kafka by the bare request: it has no tool with these words."""

    def ask(stage: Stage, words: Sequence[str]) -> int:
        with stage.cluster.client(timeout_ms=10_000) as client:
            try:
                code: int = client.ask_active_controller(name, {field: stage.part(who)}, changes=True).body["ErrorCode"]
            except UnknownOutcomeError:
                return NO_ANSWER
            except UnreachableError as error:
                if error.id != "request-not-supported":
                    raise
                return _UNSUPPORTED_VERSION
        return code

    return ask


def pause(*who: int | str) -> Deed:
    """Send SIGSTOP, for long enough that the leader notices."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(name) for name in who]
        stage.cluster.pause(*ids)
        stage.cluster.wait_for(lambda: _silent(stage, ids), "missed the paused voters", 120)

    return deed


def resume(*who: int | str) -> Deed:
    """Send SIGCONT."""

    def deed(stage: Stage) -> None:
        stage.cluster.resume(*[stage.part(name) for name in who])
        stage.cluster.wait_complete()

    return deed


def lose_disk(who: int | str) -> Deed:
    """Replace the disk of that node by an empty one; it follows again as an observer."""

    def deed(stage: Stage) -> None:
        node_id = stage.part(who)
        know_dead(node_id)(stage)
        key = stage.cluster.replace_disk(node_id)
        stage.cluster.wait_for(lambda: (node_id, key) in _observers(stage), "the new disk as an observer", 120)

    return deed


def know_dead(*who: int | str) -> Deed:
    """Send SIGKILL, and wait until the leader no longer considers them alive."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(name) for name in who]
        stage.cluster.kill(*ids)
        stage.cluster.wait_for(lambda: _silent(stage, ids), "missed the dead voters", 120)

    return deed


def freeze_at(name: str, *who: int | str, for_s: float | None = None) -> Deed:
    """Pause these nodes in the moment in which our client sends that request, permanently or for some seconds."""

    def deed(stage: Stage) -> None:
        ids = [stage.part(name) for name in who]

        def freeze() -> None:
            stage.undo()
            stage.cluster.pause(*ids)
            if for_s is not None:
                threading.Timer(for_s, stage.cluster.resume, ids).start()

        stage.undo = _watch_client(name, freeze)

    return deed


def thaw(*who: int | str) -> Deed:
    """Resume the nodes."""

    def deed(stage: Stage) -> None:
        stage.cluster.resume(*[stage.part(name) for name in who])

    return deed


def _watch_client(name: str, happens: Callable[[], None]) -> Callable[[], None]:
    """Run the fault immediately before the client sends a change of that name; return the function that undoes it."""
    kept = Connection.ask

    def ask(self: Connection, asked: str, body: Mapping[str, Any], **more: Any) -> Any:
        if asked == name and not body.get("ValidateOnly"):
            happens()
        return kept(self, asked, body, **more)

    Connection.ask = ask  # type: ignore[method-assign]

    def undo() -> None:
        Connection.ask = kept  # type: ignore[method-assign]

    return undo


def _silent(stage: Stage, ids: Sequence[int]) -> bool:
    """Return True if the leader has not been asked by any of these for 5 s, as it says itself."""
    try:
        quorum = stage.cluster.quorum()
    except KafkactlError:
        return False
    replicas = [*quorum["CurrentVoters"], *quorum["Observers"]]
    newest = max(replica["LastFetchTimestamp"] for replica in replicas)
    return all(newest - replica["LastFetchTimestamp"] > 5_000 for replica in replicas if replica["ReplicaId"] in ids)


def _observers(stage: Stage) -> set[tuple[int, str]]:
    try:
        found = stage.cluster.quorum()["Observers"]
    except KafkactlError:
        return set()
    return {(replica["ReplicaId"], str(replica["ReplicaDirectoryId"])) for replica in found}


def remove_bare(who: int | str) -> Asking:
    """Send RemoveRaftVoter directly, whatever follows from it."""

    def ask(stage: Stage, words: Sequence[str]) -> int:
        node_id = stage.part(who)
        key = stage.cluster.voters().get(node_id, stage.cluster.disks.directory_ids[node_id])
        return _sent(stage, "RemoveRaftVoter", {"VoterId": node_id, "VoterDirectoryId": Uuid.parse(key)})

    return ask


def add_bare(who: int | str) -> Asking:
    """Send AddRaftVoter directly, with the endpoint of the node, a broker's too."""

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
    """Convert to kraft.version=1 by the bare request."""
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
