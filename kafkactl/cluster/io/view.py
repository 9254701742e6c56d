"""The state of a live cluster, observed: from every node, the quorum, and the registrations in the log.

What was not observed is None and reported as a finding, never assumed. A node is called silent only if nothing at its
address answers: a listener that refuses this user, or is of another kind, leaves its node unknown. A node that hangs
takes `node_timeout_ms` and delays no other. Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kafkactl._version import __version__
from kafkactl.cluster.followers import is_long_enough
from kafkactl.cluster.io.configured_addresses import Place
from kafkactl.cluster.io.controllers import controller_places
from kafkactl.cluster.io.leader import NO_ACCESS, leader_error
from kafkactl.cluster.io.leader_source import LeaderSource
from kafkactl.cluster.io.nodes import NodesNamed, ask_nodes, named_at_start
from kafkactl.cluster.io.places import Seat, seats
from kafkactl.cluster.io.watch import watch_quorum
from kafkactl.cluster.node import ClusterNode, NotAsked
from kafkactl.cluster.quorum.liveness import Observation, with_lives
from kafkactl.cluster.quorum.observation import QuorumAnswer, quorum_state
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.cluster.registrations import Registrations
from kafkactl.cluster.state import ClusterState
from kafkactl.core.closing import Closing
from kafkactl.core.errors import DecodeError, KafkactlError, UnreachableError
from kafkactl.core.findings import LEADER_NOT_REACHED, Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, NO_LEADER
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import ClusterView, check_quorum_known, check_role
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions, request_body

LOG_NOT_READ = "metadata-log-not-read"
NODE_TIMEOUT_MS = 5_000.0
_SOON_MS = 500.0  # after which a node named at the start is waited for while the others are asked
_LEADER_MAY_BE_THERE = frozenset({"not-authorised", "quorum-not-described", "request-not-supported"})
_MENDABLE = ("sasl-login-expected", "authentication-failed", "not-authorised", LEADER_NOT_REACHED)


@frozen
class ObservedCluster:
    """State of a cluster, findings about the observation, and the nodes to ask again.

    `leader_error` is the reason why the quorum was not described, `log_error` why the metadata log was not read.
    """

    state: ClusterState
    findings: tuple[Finding, ...]
    seats: tuple[Seat, ...]
    leader_error: UnreachableError | None = None
    log_error: UnreachableError | None = None


def observe_cluster_state(
    client: Client,
    *,
    with_log: bool = True,
    node_timeout_ms: float | None = None,
    doubted: int | None = None,
    registrations: Callable[[], Registrations] | None = None,
    quorum: Callable[[], QuorumAnswer] | None = None,
) -> ObservedCluster:
    """Observe the state that a change of feature levels rests on, until it is known which nodes follow the leader.

    Without `with_log` the metadata log is read only if a node would stay unknown, and the leader is asked once: that is
    enough to describe, but not to plan. If `doubted` names a node, the leader is watched for the full 2 s, because the
    absence of fetches of this node has to be shown. `registrations` returns those of another reader of the log, or
    raises UnreachableError; the log is then not read here, and the leader is asked once. Likewise `quorum` returns the
    answer of the leader to another question.

    Raises UnreachableError if none of the nodes named at the start answers in Kafka's protocol, if they are of the
    other kind, or if they name no node of the cluster (no login, no rights).
    """
    watches = with_log and registrations is None
    with (
        _patient(client, node_timeout_ms) as patient,
        _ClusterObserver(
            patient,
            node_timeout_ms or NODE_TIMEOUT_MS,
            watches=watches,
            doubted=doubted,
            read=registrations,
            quorum=quorum,
        ) as observer,
    ):
        return observer.view(with_log=with_log)


def observe_levels(
    client: Client, view: ObservedCluster, *, node_timeout_ms: float | None = None, watches: bool = False
) -> ObservedCluster:
    """Return the nodes with their present levels and leader; the log is not read again. Raises nothing.

    With `watches` the followers of the leader are observed again, too, as before a request that changes something.
    """
    with (
        _patient(client, node_timeout_ms) as patient,
        _ClusterObserver(patient, node_timeout_ms or NODE_TIMEOUT_MS, watches=watches) as observer,
    ):
        observer.registrations, observer.brokers_known = view.state.registrations, view.state.brokers_known
        observer.ask_quorum()
        state = observer.state(view.seats, cluster_id=view.state.cluster_id)
        return ObservedCluster(
            state=state, findings=tuple(observer.findings), seats=view.seats, leader_error=observer.leader_error
        )


def _patient(client: Client, node_timeout_ms: float | None) -> Client:
    return client.sibling(client.role, client.bootstrap, timeout_ms=node_timeout_ms or NODE_TIMEOUT_MS)


class _ClusterObserver(Closing):
    """Answers so far, and the findings about missing ones."""

    def __init__(
        self,
        client: Client,
        node_timeout_ms: float,
        *,
        watches: bool,
        doubted: int | None = None,
        read: Callable[[], Registrations] | None = None,
        quorum: Callable[[], QuorumAnswer] | None = None,
    ) -> None:
        self._client = client
        self._read = read
        self._leader = LeaderSource(client)
        self._ask = self._leader.answer if quorum is None else quorum
        self._node_timeout_ms = node_timeout_ms
        self._watches = watches
        self._doubted = frozenset(() if doubted is None else {doubted})
        self.quorum: QuorumAnswer | None = None
        self.cluster: ClusterView | None = None
        self.registrations: Registrations | None = None
        self.log_error: KafkactlError | None = None
        self.leader_error: UnreachableError | None = None
        self.brokers_known = True
        self.findings: list[Finding] = []
        self._own = NodesNamed()
        self._errors: list[UnreachableError] = []

    def close(self) -> None:
        """Close the connections on which the leader alone is asked."""
        self._leader.close()

    def view(self, *, with_log: bool) -> ObservedCluster:
        self._check_any_node_answers()
        no_leader = self.ask_quorum()
        self._ask_cluster()
        if self.quorum is None and self.cluster is None:
            self._check_can_learn(no_leader)
        places = self._places()
        self._own = named_at_start(self._client, self._seats(places), node_timeout_ms=self._node_timeout_ms)
        found = self._seats(places)
        if with_log or self._is_any_node_missing(found):
            if self.registrations is None and self.log_error is None:
                self._read_log(no_leader)
            found = self._seats(places)
            if any(not seat.addresses for seat in found):
                places += self._places_by_brokers(found)
                found = self._seats(places)
        self.brokers_known = self._client.role is Role.BROKER or self.registrations is not None
        if not self.brokers_known:
            self.findings.append(_brokers_not_known())
        state = self.state(found, cluster_id=self._cluster_id(found))
        advertised = {at for seat in found for at in seat.addresses}
        self.findings += [_start_silent(at, error) for at, error in self._own.silent if at not in advertised]
        return ObservedCluster(
            state=state,
            findings=tuple(self.findings),
            seats=found,
            leader_error=self.leader_error,
            log_error=self.log_error if isinstance(self.log_error, UnreachableError) else None,
        )

    def state(self, found: Sequence[Seat], *, cluster_id: str | None) -> ClusterState:
        """Return the state, after all nodes were asked for their levels and the followers were watched last."""
        nodes, findings = ask_nodes(
            self._client,
            found,
            cluster_id=cluster_id,
            node_timeout_ms=self._node_timeout_ms,
            again=self._watches,
            start=self._own,
        )
        self.findings += findings
        watched = self._watched(nodes, cluster_id)
        quorum = self._quorum_state(cluster_id) if watched is None else with_lives(watched.last.state, watched)
        active = self._active(found) if quorum is None else quorum.leader_id
        active = None if active == NO_LEADER else active
        finalized, epoch = _finalized(nodes, active, self.registrations)
        return ClusterState(
            cluster_id=cluster_id,
            nodes=nodes,
            brokers_known=self.brokers_known,
            registrations=self.registrations,
            log_error=_not_asked(self.log_error),
            finalized=finalized,
            finalized_epoch=epoch,
            quorum=quorum,
            leader_error=_not_asked(self.leader_error),
            active_controller=active,
            watched_ms=None if watched is None else watched.watched_ms,
            watched_enough=watched is not None and is_long_enough(watched),
        )

    def _quorum_state(self, cluster_id: str | None) -> QuorumState | None:
        return None if self.quorum is None else quorum_state(cluster_id=cluster_id, answers=(self.quorum,))

    def _watched(self, nodes: Sequence[ClusterNode], cluster_id: str | None) -> Observation | None:
        """Watch the followers of the leader; return None if no node answers as leader."""
        if self.quorum is None or not self._watches:
            return None
        found = watch_quorum(
            self._leader, self._client.clock, nodes, cluster_id=cluster_id, first=self.quorum, whole=self._doubted
        )
        if not isinstance(found, UnreachableError):
            return found
        self.findings.append(_leader_lost(self.quorum.leader_id, found))
        self.quorum = None
        return None

    def ask_quorum(self) -> UnreachableError | None:
        try:
            self.quorum = self._ask()
        except UnreachableError as error:
            self.leader_error = error = leader_error(self._client, error, self._node_timeout_ms)
            self._errors.append(error)
            self.findings.append(_not_seen("quorum-not-seen", "quorum", "who leads and who votes is not known", error))
            return error
        return None

    def _ask_cluster(self) -> None:
        try:
            self.cluster = self._client.cluster()
        except UnreachableError as error:
            self._errors.append(error)
            what = "the cluster id and its nodes are unknown"
            self.findings.append(_not_seen("cluster-not-seen", "cluster", what, error))

    def _check_any_node_answers(self) -> None:
        """Raise UnreachableError if no node named at the start answers, or if one is of the other kind."""
        answers = self._client.versions(self._client.bootstrap, soon_ms=_SOON_MS)
        for address, answer in answers.items():
            if isinstance(answer, NodeVersions):
                check_role(address, answer, self._client.role)
        check_quorum_known({at: answer for at, answer in answers.items() if isinstance(answer, NodeVersions)})
        if not any(isinstance(answer, NodeVersions) for answer in answers.values()):
            self._client.ask_any("ApiVersions", request_body(__version__))  # once more, with all of the time

    def _check_can_learn(self, no_leader: UnreachableError | None) -> None:
        """Raise UnreachableError if neither the quorum, nor the cluster, nor the log names a single node."""
        self._read_log(no_leader)
        if self.registrations is None or not (self.registrations.brokers or self.registrations.controllers):
            raise nothing_learned(self._errors)

    def _read_log(self, no_leader: UnreachableError | None) -> None:
        """Read the registrations from the log. Only the leader serves it, so without a leader this is not tried."""
        from kafkactl.cluster.io.fetched_registrations import fetch_registrations  # not needed to describe

        try:
            if no_leader is not None and no_leader.id not in _LEADER_MAY_BE_THERE:
                raise no_leader
            self.registrations = fetch_registrations(self._client, self.quorum) if self._read is None else self._read()
        except (UnreachableError, DecodeError) as error:
            self.log_error = error
            self._errors += [error] if isinstance(error, UnreachableError) else []
            self.findings.append(_not_seen(LOG_NOT_READ, "metadata log", "who is registered is not known", error))

    def _seats(self, places: Iterable[Place]) -> tuple[Seat, ...]:
        return seats(
            quorum=self.quorum,
            view=self.cluster,
            listener=self._client.role,
            registrations=self.registrations,
            places=places,
            own=self._own.places,
        )

    def _places(self) -> tuple[Place, ...]:
        """Return the controllers that only the configuration of brokers names, or, of them, the one that leads."""
        if self.quorum is None or all(voter.endpoints for voter in self.quorum.voters):
            return ()
        if self._client.role is Role.BROKER:
            return controller_places(self._client, self.quorum)
        try:
            return (Place(node_id=self.quorum.leader_id, address=self._client.find_leader()),)
        except UnreachableError:
            return ()

    def _places_by_brokers(self, found: Sequence[Seat]) -> tuple[Place, ...]:
        """Return controllers as registered brokers name them: before 3.7 no controller registers or names others."""
        brokers = _brokers(found)
        if self._client.role is Role.BROKER or not brokers:
            return ()
        with self._client.sibling(Role.BROKER, brokers) as client:
            return controller_places(client, self.quorum)

    def _cluster_id(self, found: Sequence[Seat]) -> str | None:
        """Return the cluster id from the nodes named at the start, else from discovered brokers."""
        brokers = _brokers(found)
        if self.cluster is not None or self._client.role is Role.BROKER or not brokers:
            return None if self.cluster is None else self.cluster.cluster_id
        with self._client.sibling(Role.BROKER, brokers) as client:
            try:
                cluster_id = client.cluster().cluster_id
            except UnreachableError:
                return None
        self.findings = [finding for finding in self.findings if finding.id != "cluster-not-seen"]
        return cluster_id

    def _is_any_node_missing(self, found: Sequence[Seat]) -> bool:
        known = {seat.id for seat in found if seat.addresses}
        replicas = () if self.quorum is None else (*self.quorum.voters, *self.quorum.observers)
        return self._client.role is Role.CONTROLLER or any(replica.id not in known for replica in replicas)

    def _active(self, found: Sequence[Seat]) -> int | None:
        """Return the active controller that a controller names in DescribeCluster, if it is one of the nodes."""
        active_id = NO_LEADER
        if self.cluster is not None and self._client.role is Role.CONTROLLER:
            active_id = self.cluster.controller_id
        return active_id if any(seat.id == active_id and seat.role is Role.CONTROLLER for seat in found) else None


def nothing_learned(errors: Sequence[UnreachableError]) -> UnreachableError:
    """Return the error of an observation without an answer: reasons that a user can remove come first.

    A listener answers ApiVersions before a login, so an answer to that alone is not evidence.
    """
    first = next((error for error in errors if error.id in _MENDABLE), errors[0])
    others = [error.message for error in errors if error.message != first.message]
    causes = [first.cause] if first.cause else []
    return UnreachableError(
        first.message,
        id=first.id,
        cause="; ".join(dict.fromkeys([*causes, *others])) or None,
        next_step=first.next_step,
    )


def check_not_empty(view: ObservedCluster) -> None:
    """Raise UnreachableError `no-node-answered` if nodes are named and not one of them shows its levels."""
    if not view.state.is_empty:
        return
    names = ", ".join(node.name for node in view.state.nodes)
    raise UnreachableError(
        f"no node of the cluster answers at an address that the cluster names: {names}",
        id="no-node-answered",
        cause="; ".join(finding.message for finding in view.findings) or None,
    )


def _brokers(found: Iterable[Seat]) -> list[Address]:
    return [address for seat in found if seat.role is Role.BROKER for address in seat.addresses]


def _finalized(
    nodes: Sequence[ClusterNode], active: int | None, registrations: Registrations | None
) -> tuple[dict[str, int], int | None]:
    """Return the finalized levels and their epoch: from the active controller, else the node that read furthest, else
    the log.

    An epoch of -1 means that a node has no metadata yet, or that it is a controller of 3.3, which never reports levels.
    """
    telling = [(node, node.versions) for node in nodes if node.versions and node.versions.finalized_epoch >= 0]
    for node, versions in telling:
        if node.role is Role.CONTROLLER and node.id == active:
            return dict(versions.finalized), versions.finalized_epoch
    if telling:
        # Only brokers' epochs grow with what they have read.
        _, versions = max(
            telling, key=lambda answer: (answer[0].role is Role.BROKER, answer[1].finalized_epoch, -answer[0].id)
        )
        return dict(versions.finalized), versions.finalized_epoch
    if registrations is None:
        return {}, None
    kraft = {KRAFT_VERSION: registrations.kraft_version} if registrations.kraft_version else {}
    return {**registrations.levels, **kraft}, None


def _not_asked(error: KafkactlError | None) -> NotAsked | None:
    if error is None:
        return None
    return NotAsked(reason=error.message, step=error.advice, is_access=error.id in NO_ACCESS)


def _not_seen(id: str, subject: str, what: str, error: KafkactlError) -> Finding:
    cause = f"{error.message} ({error.cause})" if error.cause else error.message
    return warning(id, subject, f"{what}: {cause}", error.advice, error=error.id)


def _start_silent(address: Address, error: KafkactlError) -> Finding:
    """Return the finding for an address given at the start at which no node answers, and that no node advertises."""
    text = f"{address} could not be asked: {error.message}"
    return warning("bootstrap-node-silent", str(address), text, address=str(address), error=error.id)


def _leader_lost(leader_id: int, error: UnreachableError) -> Finding:
    """Return the finding for a leader that was lost; silence alone does not prove that no controller leads."""
    before = f"controller {leader_id} led the quorum when the observation began"
    if error.id != "no-active-controller":
        return _not_seen("quorum-not-seen", "quorum", f"{before}, and who leads now is not known", error)
    return warning("quorum-not-seen", "quorum", f"{before}, and no controller that answers leads now", leader=leader_id)


def _brokers_not_known() -> Finding:
    return warning(
        "brokers-not-known",
        "cluster",
        "controllers name brokers only in the metadata log, which could not be read: no broker was asked",
    )
