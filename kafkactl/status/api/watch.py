"""Observation of a live cluster for its status, once or repeatedly."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from kafkactl.cluster.io.addresses import check_addresses
from kafkactl.cluster.io.leader_source import HELD_MS, LeaderSource
from kafkactl.cluster.io.node_settings import observe_settings
from kafkactl.cluster.io.silence import silent_nodes
from kafkactl.cluster.io.view import ObservedCluster, observe_cluster_state
from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.settings_verdict import verdict_of
from kafkactl.core.closing import Closing
from kafkactl.core.errors import InputError, KafkactlError, UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.kafka.line import TIMED_OUT
from kafkactl.quorum.api.observation import QuorumWatch
from kafkactl.status.answer import FoundNodes
from kafkactl.status.areas import cluster_status as judged
from kafkactl.status.io.asking import LATE, Question, ask_all, not_asked
from kafkactl.status.io.host import exact_releases, observe_host
from kafkactl.status.io.log_follower import LogFollower
from kafkactl.status.io.partitions import PartitionCounter
from kafkactl.status.next_command import Target
from kafkactl.status.observation import (
    ComparedSettings,
    Observation,
    ObservedNodes,
    ObservedPartitions,
    ObservedQuorum,
    PredictedFailure,
)
from kafkactl.status.prediction import QUICK_PARTITIONS, next_failure
from kafkactl.status.registrations import registrations_of
from kafkactl.storage.discovery import FoundBy

if TYPE_CHECKING:
    from kafkactl.cluster.quorum.observation import QuorumAnswer
    from kafkactl.cluster.registrations import Registrations
    from kafkactl.kafka.client import Client
    from kafkactl.metadata.image.model import Image
    from kafkactl.status.answer import ClusterStatus

_NODE_TIMEOUT_MS: Final = 800.0  # for one node that does not answer
_QUORUM_NODE_TIMEOUT_MS: Final = 650.0  # a voter that is silent for so long is watched next
_SOON_MS: Final = 200.0
_VOTERS_WATCHED_MS: Final = 1_200.0  # two intervals of no-ops and a sample: a voter that is silent for so long is dead
_CALL_MS: Final = 1_800.0
_LEADER_MS: Final = 600.0  # for the leader, before the log is read
_QUORUM_MS: Final = 3_500.0  # for followers that show after their fetch timeout if a leader out of reach leads
_LIMIT_MS: Final = 2_000.0  # for an area, so that the command ends within 3 s also on a busy host
_LOG_SHARE: Final = 0.4  # of the limit, for which the nodes wait for the registrations in the log
_FIRST_LOG_MS: Final = 20_000.0  # The first observation may have to read a large log.
_DEEP_LIMIT_MS: Final = 20_000.0
_SHARE_OF_TIME: Final = 0.9  # of the time of the command, so that the answer can still be given
_JOIN_S: Final = 0.1


class StatusWatch(Closing):
    """A cluster whose status can be asked repeatedly; use it as a context manager.

    `files` are the configurations of nodes on this host; `deep` also compares settings and predicts the next failure.
    Each area has a deadline of its own: 2 s, except for the first read of the metadata log, which may be large.
    """

    def __init__(self, client: Client, *, files: Iterable[str | os.PathLike[str]] = (), deep: bool = False) -> None:
        self._client = client.sibling(client.role, client.bootstrap, timeout_ms=_CALL_MS)
        self._log_client = client.sibling(client.role, client.bootstrap)
        self._quorum_client = client.sibling(client.role, client.bootstrap, timeout_ms=_CALL_MS)
        self._files = tuple(os.fspath(file) for file in files)
        self._deep = deep
        self._releases = exact_releases(self._files) if self._files else ()
        self._quorum: QuorumWatch | None = None
        leader_ms = _LEADER_MS + (HELD_MS if client.role is Role.BROKER else 0)
        self._leader_client = client.sibling(client.role, client.bootstrap, timeout_ms=leader_ms)
        self._leader = LeaderSource(self._leader_client)
        self._follower = LogFollower(self._log_client, lambda: self._quorum_answer(_LIMIT_MS))
        self._counter = PartitionCounter(self._client, _NODE_TIMEOUT_MS)
        self._is_first = True
        self._begin_s = 0.0
        self._questions = {name: Question(ask) for name, ask in self._asked().items()}

    def close(self) -> None:
        """Close all connections, which ends pending requests."""
        if self._quorum is not None:
            self._quorum.__exit__(None, None, None)
        for client in (self._client, self._log_client, self._leader, self._leader_client, self._quorum_client):
            client.close()
        deadline_s = time.monotonic() + _JOIN_S
        for question in self._questions.values():
            question.join(deadline_s)

    def observe(self) -> Observation:
        """Return one observation.

        Raise UnreachableError if no node answers, or none answers what it is asked, and InputError
        `bootstrap-of-several-clusters`: each area may ask another of the addresses.
        """
        self._begin_s = time.monotonic()
        found = ask_all(self._questions, self._limits_ms())
        self._is_first = False
        if isinstance(several := found.get("addresses"), InputError):
            raise several
        _check_anything_known(found)
        quorum, nodes, partitions = (_part(found[name]) for name in ("quorum", "nodes", "partitions"))
        if isinstance(found["log"], KafkactlError):
            nodes = _with_reason(nodes, not_asked(found["log"]))
        return Observation(
            quorum=quorum,
            nodes=nodes if isinstance(nodes, NotAsked) else nodes[1],
            partitions=partitions,
            settings=_part(found.get("settings")),
            host=_part(found.get("host")),
            next_failure=self._predicted(found["next_failure"]),
            releases=self._releases,
        )

    def status(
        self, *, found: FoundNodes | None = None, words: Iterable[str] = (), context: str | None = None
    ) -> ClusterStatus:
        """Return the status now; arguments and errors are those of `cluster_status`."""
        observation = self.observe()
        return judged(
            observation,
            Target(words=tuple(words)),
            found=found or FoundNodes(by=FoundBy.OPTIONS, files=self._files),
            context=context,
            time_ms=int(time.time() * 1000),
        )

    def _predicted(self, found: Any) -> PredictedFailure | NotAsked | None:
        """Return the prediction; one that was not asked for is left out if it is late."""
        part: PredictedFailure | NotAsked | None = _part(found)
        return None if isinstance(part, NotAsked) and not self._deep else part

    def _asked(self) -> dict[str, Callable[[], Any]]:
        asked: dict[str, Callable[[], Any]] = {
            "quorum": self._ask_quorum,
            "leader": self._leader.answer,
            "log": self._follower.image,
            "nodes": self._ask_nodes,
            "partitions": self._ask_partitions,
            "next_failure": self._ask_next_failure,
        }
        if len(self._client.bootstrap) > 1:
            asked["addresses"] = lambda: check_addresses(self._client)
        if self._deep:
            asked["settings"] = self._ask_settings
        if self._files:
            asked["host"] = lambda: observe_host(self._files)
        return asked

    def _limits_ms(self) -> dict[str, float]:
        limits = dict.fromkeys(self._questions, _LIMIT_MS)
        limits["log"] = limits["partitions"] = self._log_limit_ms()
        limits["quorum"] = _QUORUM_MS
        if self._deep:
            limits["settings"] = limits["next_failure"] = limits["host"] = _DEEP_LIMIT_MS
        most_ms = _SHARE_OF_TIME * self._log_client.left_ms
        return {name: min(limit, most_ms) for name, limit in limits.items()}

    def _log_limit_ms(self) -> float:
        return _FIRST_LOG_MS if self._is_first else _LIMIT_MS

    def _ask_quorum(self) -> ObservedQuorum:
        if self._quorum is None:
            self._quorum_client = self._answering_first(self._quorum_client)
            self._quorum = QuorumWatch(
                self._quorum_client, node_timeout_ms=_QUORUM_NODE_TIMEOUT_MS, watch_ms=_VOTERS_WATCHED_MS
            )
        found = self._quorum.observe()
        return ObservedQuorum(state=found.state, findings=found.findings, is_broken=found.is_broken)

    def _answering_first(self, client: Client) -> Client:
        """Return a client with the brokers that answer soon before the others: they are asked one after the other."""
        if client.role is not Role.BROKER or len(client.bootstrap) == 1:
            return client
        found = client.versions(client.bootstrap, soon_ms=_SOON_MS)
        ordered = sorted(client.bootstrap, key=lambda address: isinstance(found[address], KafkactlError))
        client.close()
        return client.sibling(client.role, ordered, timeout_ms=_CALL_MS)

    def _ask_nodes(self) -> tuple[ObservedCluster, ObservedNodes]:
        view = observe_cluster_state(
            self._client,
            node_timeout_ms=_NODE_TIMEOUT_MS,
            registrations=self._registrations,
            quorum=lambda: self._quorum_answer(_LIMIT_MS * _LOG_SHARE),
        )
        fenced = self._fenced() if view.state.registrations is None else None
        return view, ObservedNodes(state=view.state, findings=(*view.findings, *silent_nodes(view)), fenced=fenced)

    def _registrations(self) -> Registrations:
        image = self._image(_LIMIT_MS * _LOG_SHARE)
        if isinstance(image, NotAsked):
            raise UnreachableError(image.reason, id="metadata-log-not-given", next_step=image.step)
        return registrations_of(image)

    def _quorum_answer(self, limit_ms: float) -> QuorumAnswer:
        """Return the leader's answer; raise UnreachableError with the reason if none came in time."""
        found = self._questions["leader"].answer(self._begin_s + limit_ms / 1000)
        if isinstance(found, NotAsked):
            raise UnreachableError(found.reason, id=TIMED_OUT, next_step=found.step)
        if isinstance(found, KafkactlError):
            raise found
        answer: QuorumAnswer = found
        return answer

    def _fenced(self) -> dict[int, bool | None] | None:
        """Return the brokers that a broker names; None if no broker was named at the start."""
        if self._client.role is not Role.BROKER:
            return None
        try:
            return {node.id: node.fenced for node in self._client.cluster().nodes}
        except UnreachableError:
            return None

    def _ask_partitions(self) -> ObservedPartitions | NotAsked:
        image = self._image_or_reason(self._log_limit_ms())
        return self._counter.of_brokers(image) if isinstance(image, NotAsked) else self._counter.of_image(image)

    def _ask_settings(self) -> ComparedSettings | NotAsked:
        nodes = self._questions["nodes"].answer(self._begin_s + _LIMIT_MS / 1000)
        if isinstance(nodes, KafkactlError):
            return not_asked(nodes)
        if isinstance(nodes, NotAsked):
            return nodes
        view = nodes[0]
        seen = observe_settings(self._client, view, node_timeout_ms=_NODE_TIMEOUT_MS)
        unread = [(node.name, node.role, node.live, node.why, node.reason, node.step) for node in seen.unread]
        verdict = verdict_of(seen.nodes, unread)
        differences = [difference for difference in verdict.differences if difference.matters]
        return ComparedSettings(differences=len(differences), is_complete=verdict.complete, findings=verdict.findings)

    def _ask_next_failure(self) -> PredictedFailure | NotAsked | None:
        image = self._image_or_reason(self._log_limit_ms())
        if isinstance(image, NotAsked):
            return image if self._deep else None
        if not self._deep and image.partition_count() > QUICK_PARTITIONS:
            return None
        quorum = self._questions["quorum"].answer(self._begin_s + _LIMIT_MS / 1000)
        return next_failure(image, quorum.state if isinstance(quorum, ObservedQuorum) else None)

    def _image(self, limit_ms: float) -> Image | NotAsked:
        """Return the image of the log; raise the reason why it was not read."""
        found = self._questions["log"].answer(self._begin_s + limit_ms / 1000)
        if isinstance(found, KafkactlError):
            raise found
        image: Image | NotAsked = found
        return image

    def _image_or_reason(self, limit_ms: float) -> Image | NotAsked:
        try:
            return self._image(limit_ms)
        except KafkactlError as error:
            return not_asked(error)


def cluster_status(
    client: Client,
    *,
    files: Iterable[str | os.PathLike[str]] = (),
    deep: bool = False,
    found: FoundNodes | None = None,
    words: Iterable[str] = (),
    context: str | None = None,
) -> ClusterStatus:
    """Return the status of a live cluster, as of one observation.

    `files` are configurations of nodes of this host, whose disks are verified; `deep` also compares settings and
    predicts the next failure, however long that takes. `found` is the way in which the cluster was found, `words` are
    the connection options for the next commands, `context` is the name of the cluster. Raises UnreachableError if no
    node answers, or nothing that was asked is allowed, and InputError if the addresses belong to several clusters.
    """
    with StatusWatch(client, files=files, deep=deep) as watch:
        return watch.status(found=found, words=words, context=context)


def _part(found: Any) -> Any:
    return not_asked(found) if isinstance(found, KafkactlError) else found


def _with_reason(nodes: Any, why: NotAsked) -> Any:
    """Return the nodes with the reason why the log is unknown, which is more precise than a timeout of the nodes."""
    if isinstance(nodes, NotAsked):
        return why if nodes is LATE else nodes
    view, found = nodes
    state = found.state
    late = [name for name in ("log_error", "leader_error") if getattr(state, name, None) == LATE]
    return view, changed(found, state=changed(state, **dict.fromkeys(late, why)))


def _check_anything_known(found: dict[str, Any]) -> None:
    """Raise the reason why nothing is known: no node answers, nothing is allowed, or there is no quorum to know."""
    for answer in found.values():
        if isinstance(answer, UnreachableError) and answer.id == "zookeeper-mode":
            raise answer
    decisive = [found[name] for name in ("quorum", "nodes", "partitions")]
    if any(not isinstance(answer, KafkactlError | NotAsked) for answer in decisive):
        return
    errors = [answer for answer in (*decisive, found["log"]) if isinstance(answer, KafkactlError)]
    first = next((error for error in errors if isinstance(error, UnreachableError)), None)
    if first is not None:
        raise first
