"""A live quorum for a change of its voters: observed on separate connections, each change requested once.

An observation asks every controller and uses the answer of the leader with the highest epoch. A request is sent once,
to that leader, on a connection that is not used to observe: a server reads nothing from a connection on which it still
owes a response. A broker forwards a request to the controller for up to 60 s (`NodeToControllerChannelManager`), so an
unanswered request through a broker is given up only after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.metadata_fetch import FetchedSnapshot, iterate_metadata_log
from kafkactl.cluster.io.quorum_view import NODE_TIMEOUT_MS, QuorumObserver
from kafkactl.cluster.io.quorum_visit import Visit, nodes_of, visit_node
from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import Probe, QuorumState
from kafkactl.cluster.registrations import RegistrationLog, Registrations
from kafkactl.core.closing import Closing
from kafkactl.core.errors import KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.values import Endpoint, Role
from kafkactl.features.change.results import read_response, update_features_request
from kafkactl.features.plan.change import UpgradeType
from kafkactl.kafka.attempts import SilentNodes, all_at_once
from kafkactl.kafka.change_right import change_denied
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import check_same_cluster, is_not_the_leader
from kafkactl.net.transport import Address
from kafkactl.protocol.framing import Response
from kafkactl.protocol.record_batch import decode_header
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, grant_step, server_text
from kafkactl.quorum.outcome import UNREAD_MS, Answer
from kafkactl.quorum.step import Action, Step

FORWARDED_MS = 65_000
REQUEST_MS = 20_000.0
_SOON_MS = 1_000.0
_LOOKS = 6  # at nodes that may be silent, one after the other, before it is known what the cluster is like
_NOT_LEADER = 6
_NOT_REPORTED = frozenset({"request-not-supported", "cluster-not-described"})


class LiveQuorum(Closing):
    """The quorum of a client's cluster; a context manager, which does not close the client.

    `endpoints` are those of a node to be added, by its id, if the operator named them: they are probed, too.
    `with_brokers`: brokers are asked for their features, as well as controllers. Nodes that do not answer cost one
    look `node_timeout_ms`, or a share of a short time that the client has. Making one raises UnreachableError, and
    RefusedError if the bootstrap nodes belong to several clusters.
    """

    def __init__(
        self,
        client: Client,
        *,
        endpoints: Mapping[int, Sequence[Endpoint]] | None = None,
        with_brokers: bool = False,
        node_timeout_ms: float = NODE_TIMEOUT_MS,
    ) -> None:
        self.unread_ms = FORWARDED_MS if client.role is Role.BROKER else UNREAD_MS
        self._client = client
        self._endpoints = dict(endpoints or {})
        self._with_brokers = with_brokers
        self._node_timeout_ms = min(node_timeout_ms, client.left_ms / _LOOKS)
        silent = SilentNodes()
        self._watcher = QuorumObserver(client, identify=False, node_timeout_ms=self._node_timeout_ms, silent=silent)
        self._observer = QuorumObserver(client, node_timeout_ms=self._node_timeout_ms, silent=silent)
        self._log = _RegistrationReader()
        self._near: Client | None = None
        client.check_one_cluster()
        self._cluster = self._cluster_seen() or _cluster_id(client)
        if isinstance(self._cluster, str):  # from here on answers of other clusters are ignored
            self._watcher.cluster_id = self._observer.cluster_id = self._cluster

    def _cluster_seen(self) -> str | None:
        """Return the cluster's id from any node that answers soon; None otherwise. The time is short because a node
        that hangs delays the observation that follows as well."""
        try:
            soon_ms = min(_SOON_MS, self._node_timeout_ms)
            with QuorumObserver(self._client, identify=False, node_timeout_ms=soon_ms) as observer:
                return observer.observe().cluster_id
        except UnreachableError:
            self._watcher.close()
            return None  # a client asks more than once before it gives up, and says why

    @property
    def cluster_id(self) -> str:
        """Return the cluster's id. Raises UnreachableError if its nodes do not report it (controllers before 3.7)."""
        if isinstance(self._cluster, UnreachableError):
            raise self._cluster
        return self._cluster

    @property
    def knows_cluster_id(self) -> bool:
        """Return True if `cluster_id` is known, that is, does not raise."""
        return isinstance(self._cluster, str)

    def close(self) -> None:
        """Close all connections but the client."""
        self._watcher.close()
        self._observer.close()
        if self._near is not None:
            self._near.close()

    def observe(self) -> QuorumState:
        """Return the quorum, every controller, registrations from the log, and probes of the named addresses."""
        state = self._observer.observe()
        if not state.has_leader:
            return self._named(state)
        try:
            registrations = self._log.read(self._near_the_leader(), self._observer.cluster_id)
        except KafkactlError as error:
            return self._named(replace(state, findings=(*state.findings, _log_not_read(error))))
        return self._named(self._observer.assembled(self._observer.visits, registrations=registrations))

    def observe_nodes(self) -> QuorumState:
        """Return the leader's description and the identity of every controller. Raise UnreachableError."""
        state = self._watcher.observe()
        if not state.has_leader:
            raise UnreachableError("no controller leads the quorum", id="no-active-controller")
        return state

    def sample(self) -> QuorumState | None:
        """Return the leader alone, and whether the nodes that answered the last observation still do."""
        return self._observer.sample()

    def endpoints_of(self, node_id: int, state: QuorumState) -> tuple[Endpoint, ...]:
        """Return the endpoints that a controller registered; () if they are unknown.

        If the log may not be read, the address is taken from DescribeCluster. That answer has no listener name
        (KIP-919), so this works only if every voter has a single listener and all have the same name.
        """
        if state.registrations is not None:
            known = state.registrations.controllers.get(node_id)
            return () if known is None else known.endpoints
        names = {tuple(endpoint.listener for endpoint in voter.endpoints) for voter in state.voters}
        (name,) = names if len(names) == 1 else ((),)
        if len(name) != 1:
            return ()
        for visit in self._observer.visits:
            node = visit.view.node(node_id) if visit.view is not None and visit.role is Role.CONTROLLER else None
            if node is not None:
                return (Endpoint(listener=name[0], host=node.address.host, port=node.address.port),)
        return ()

    def send(self, step: Step, endpoints: Sequence[Endpoint]) -> Answer:
        """Send one request, once, on connections that are used for nothing else.

        If the operator named controllers, it is sent to the leader of the last observation and to no other controller:
        a leader elected since has not yet seen any voter fetch. A broker forwards it to the current leader.
        """
        name, body = _request(step, self.cluster_id, endpoints)
        try:
            response = self._sent(name, body)
        except UnknownOutcomeError as error:
            return _unanswered(error)
        if is_not_the_leader(response.body):
            return Answer(code=_NOT_LEADER, message="the controller does not lead any more")
        answer = _answer(step, response.version, response.body)
        if answer.code != CLUSTER_DENIED:
            return answer
        return replace(answer, next_step=grant_step(name, self._client.login))

    def _sent(self, name: str, body: Mapping[str, Any]) -> Response:
        leader = self._observer.leader
        if self._client.role is Role.CONTROLLER and leader is not None:
            deadline = Deadline.after(REQUEST_MS, self._client.clock)
            with self._client.open_connection(leader, deadline.at_most(_SOON_MS)) as connection:
                check_same_cluster(connection, Role.CONTROLLER, self.cluster_id, deadline.at_most(_SOON_MS))
                return connection.ask(name, body, deadline=deadline, changes=True)
        with self._client.sibling(self._client.role, self._order(), timeout_ms=REQUEST_MS) as sender:
            return sender.ask_active_controller(name, body, changes=True, cluster_id=self.cluster_id)

    def change_denied(self, request: str) -> Finding | None:
        """Return a blocker if this user may not send that request (`change_right`)."""
        return change_denied(self._client, request)

    def rehearse(self, step: Step) -> Answer:
        """Return the leader's own dry run of a conversion."""
        body = _conversion(validate_only=True)
        response = self._near_the_leader().ask_active_controller("UpdateFeatures", body)
        return _answer(step, response.version, response.body)

    def _order(self) -> tuple[Address, ...]:
        """Return the nodes to ask, in order: the last observed leader, nodes that answered it, then the other named
        nodes.

        A node that hangs would otherwise take half of the time of every call.
        """
        seen = (*self._observer.visits, *self._watcher.visits)
        leads = [visit.address for visit in seen if visit.answer is not None and visit.role is self._client.role]
        answers = [visit.address for visit in seen if visit.answers and visit.address in self._client.bootstrap]
        return tuple(dict.fromkeys((*leads, *answers, *self._client.bootstrap)))

    def _near_the_leader(self) -> Client:
        """Return a client that is reused as long as the same node leads."""
        order = self._order()
        if self._near is None or self._near.bootstrap != order:
            if self._near is not None:
                self._near.close()
            self._near = self._client.sibling(self._client.role, order, timeout_ms=REQUEST_MS)
        return self._near

    def _named(self, state: QuorumState) -> QuorumState:
        """Return the state with what is found at the endpoints that the operator named."""
        if self._with_brokers:
            state = replace(state, nodes={**self._brokers(), **state.nodes})
        if not self._endpoints:
            return state
        wanted = {
            Address(endpoint.host, endpoint.port): id for id, several in self._endpoints.items() for endpoint in several
        }

        def ask(address: Address, deadline: Deadline) -> Visit:
            with self._client.open_connection(address, deadline, role=Role.CONTROLLER) as connection:
                return visit_node(connection, expected_id=wanted[address], identify=True, deadline=deadline)

        found = all_at_once(list(wanted), ask, Deadline.after(self._node_timeout_ms, self._client.clock))
        visits = [
            visited
            if isinstance(visited, Visit)
            else Visit(address=address, expected_id=wanted[address], error=visited)
            for address, visited in found.items()
        ]
        probes = [
            _probe(visit, endpoint)
            for visit in visits
            for endpoint in self._at(visit.address)
            if visit.answers is not None
        ]
        return replace(
            state,
            probes=state.probes + tuple(probes),
            nodes={**{node.id: node for node in nodes_of(visits) if node.answers}, **state.nodes},
        )

    def _brokers(self) -> dict[int, ClusterNode]:
        from kafkactl.cluster.io.view import observe_cluster_state

        found = observe_cluster_state(self._client, with_log=False, node_timeout_ms=self._node_timeout_ms).state.nodes
        return {node.id: node for node in found if node.role is Role.BROKER}

    def _at(self, address: Address) -> list[Endpoint]:
        return [
            endpoint
            for several in self._endpoints.values()
            for endpoint in several
            if Address(endpoint.host, endpoint.port) == address
        ]


def _cluster_id(client: Client) -> str | UnreachableError:
    """Return the cluster's id, or the error that says why nodes that do answer do not report it.

    Raises UnreachableError.
    """
    try:
        return client.cluster().cluster_id
    except UnreachableError as error:
        if error.id not in _NOT_REPORTED:
            raise
        return UnreachableError(
            "the controllers do not tell to which cluster they belong",
            id=error.id,
            cause=error.message,
            next_step="Ask through a broker: --bootstrap-server. Controllers tell from metadata.version 3.7-IV0 on.",
        )


class _RegistrationReader:
    """The registrations in the log; what was read once is not read again."""

    def __init__(self) -> None:
        self._log = RegistrationLog()
        self._next = 0

    def read(self, client: Client, cluster_id: str | None) -> Registrations:
        """Return the current registrations in that cluster. Raises UnreachableError, DecodeError; the next call then
        reads from the start."""
        from kafkactl.cluster.io.fetched_registrations import read_snapshot

        try:
            for part in iterate_metadata_log(client, from_offset=self._next or None, cluster_id=cluster_id):
                if isinstance(part, FetchedSnapshot):
                    self._log, self._next = RegistrationLog(), part.end_offset
                    read_snapshot(self._log, part)
                else:
                    self._take(part.data)
        except BaseException:
            self._log, self._next = RegistrationLog(), 0
            raise
        return self._log.registrations()

    def _take(self, data: bytes) -> None:
        from kafkactl.cluster.io.fetched_registrations import read_batches

        position = 0
        while position < len(data):
            header = decode_header(data, position)
            if header.last_offset >= self._next:
                read_batches(self._log, data[position : header.end])
                self._next = header.last_offset + 1
            position = header.end


def _request(step: Step, cluster_id: str, endpoints: Sequence[Endpoint]) -> tuple[str, dict[str, Any]]:
    if step.action is Action.UPGRADE:
        return "UpdateFeatures", _conversion(validate_only=False)
    assert step.key is not None, f"nothing is sent to {step.action}"
    voter = {"ClusterId": cluster_id, "VoterId": step.key.node_id, "VoterDirectoryId": step.key.directory_id}
    if step.action is Action.REMOVE:
        return "RemoveRaftVoter", voter
    listeners = [{"Name": endpoint.listener, "Host": endpoint.host, "Port": endpoint.port} for endpoint in endpoints]
    # AckWhenCommitted stays at its default, true, in the versions that have it (4.2 on): answered when committed.
    return "AddRaftVoter", {**voter, "TimeoutMs": round(REQUEST_MS), "Listeners": listeners}


def _conversion(*, validate_only: bool) -> dict[str, Any]:
    levels = {KRAFT_VERSION: 1}
    return update_features_request(
        levels, UpgradeType.UPGRADE, validate_only=validate_only, timeout_ms=round(REQUEST_MS)
    )


def _answer(step: Step, version: int, body: Mapping[str, Any]) -> Answer:
    if step.action is not Action.UPGRADE:
        return Answer(code=body["ErrorCode"], message=server_text(body.get("ErrorMessage")))
    (result,) = read_response([KRAFT_VERSION], version, body)
    return Answer(code=result.error_code, message=result.message)


def _unanswered(error: UnknownOutcomeError) -> Answer:
    """Return the answer for a request whose outcome is unknown.

    Raises the error again if the command's time is over.
    """
    if error.id == "leadership-lost":
        return Answer(code=_NOT_LEADER, message=error.message)
    if error.id == "reply-lost":
        return Answer(code=None, message=error.cause or error.message)
    raise error


def _probe(visit: Visit, endpoint: Endpoint) -> Probe:
    return Probe(
        endpoint=endpoint,
        answers=visit.answers is True,
        role=visit.role,
        cluster_id=None if visit.view is None else visit.view.cluster_id,
        node_id=visit.node_id,
    )


def _log_not_read(error: KafkactlError) -> Finding:
    return warning(
        "metadata-log-not-read",
        "metadata log",
        f"who is registered is not known: {error.message}",
        error.advice,
        error=error.id,
    )
