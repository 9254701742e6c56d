"""A client of one cluster: its nodes, its active controller, and all of them at once.

Invariant: a question may be asked again, a change is sent once. A change goes out again only if it certainly did not
leave; if it did and the answer is missing, or the node reports that it leads no more, the outcome is unknown and the
error reports this (UnknownOutcomeError, exit 6): a controller that loses its office answers NOT_CONTROLLER to requests
that are in its log already. Every call ends by the client's time limit. Nothing here is remembered that can be asked.

Bootstrapped with brokers, whatever concerns the active controller goes through any broker, which forwards it.
Bootstrapped with controllers (KIP-919), it goes to the one that leads: named by DescribeCluster if the release has
that on controllers (3.7, and the right to ALTER the cluster), else found by asking each for the quorum.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from kafkactl.change.clock import Clock, Deadline
from kafkactl.core.closing import Closing
from kafkactl.core.errors import KafkactlError, RefusedError, UnreachableError
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.attempts import Ask, NotLeaderError, all_at_once, one_after_another
from kafkactl.kafka.client_errors import (
    forwarded_in_vain,
    leadership_lost,
    no_time_left,
    not_described,
)
from kafkactl.kafka.cluster_view import (
    ClusterView,
    check_role,
    check_same_cluster,
    cluster_view,
    describe_cluster_body,
    error_codes_in,
    is_not_the_leader,
)
from kafkactl.kafka.connection import Access, Connection, connect
from kafkactl.kafka.line import TIMED_OUT, Line
from kafkactl.kafka.quorum_requests import QUORUM_REQUEST
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address, NotSentError
from kafkactl.protocol.api_versions import NodeVersions, usable_version
from kafkactl.protocol.framing import Response
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, Login, not_authorised, server_text

DEFAULT_TIMEOUT_MS = 60_000.0  # default.api.timeout.ms
DEFAULT_REQUEST_TIMEOUT_MS = 30_000.0  # request.timeout.ms
_FORWARDED = "DescribeQuorum"  # the one question that a broker does not answer on its own (KafkaApis)
_SOON_MS = 1_000.0
_NO_LIMIT = float("inf")
# A paused node accepts a connection and does not answer. Where others can be asked, it is waited for so long at first,
# and twice as long each time that it is asked again: a node that is slow, or far away, is heard in the end.
_CONTACT_MS = 5_000.0
_MOST_DOUBLINGS = 4
T = TypeVar("T")


@frozen
class Limits:
    """Timeouts: one call may take `timeout_ms`, one request in it `request_timeout_ms`."""

    timeout_ms: float = DEFAULT_TIMEOUT_MS
    request_timeout_ms: float = DEFAULT_REQUEST_TIMEOUT_MS
    backoff: Backoff = field(default_factory=Backoff)


class Client(Closing):
    """A client of the nodes of one cluster. Use it as a context manager, or close it.

    `access` has security and login for brokers, and for controllers if there is no `controller_access`. `time_left`
    returns the milliseconds that all calls together still have; a change leaves half of them for reading its outcome.
    `clock` and `randomness` (numbers from 0 up to 1) are arguments so that tests can replace them.
    """

    def __init__(
        self,
        bootstrap: Sequence[Address],
        role: Role,
        *,
        access: Access | None = None,
        controller_access: Access | None = None,
        limits: Limits | None = None,
        time_left: Callable[[], float] | None = None,
        clock: Clock | None = None,
        randomness: Callable[[], float] | None = None,
    ) -> None:
        self.bootstrap = tuple(dict.fromkeys(bootstrap))
        self.role = role
        self._access = access or Access()
        self._controller_access = controller_access or self._access
        self._limits = limits or Limits()
        self._time_left = time_left
        self._clock = clock or SystemClock()
        self._randomness = randomness or _random
        self._lines: dict[Address, Line] = {}
        self._lines_lock = threading.Lock()
        self._is_closed = False
        self._leader: Address | None = None
        self._silent: set[Address] = set()

    def sibling(self, role: Role, bootstrap: Sequence[Address], *, timeout_ms: float | None = None) -> Client:
        """Return a client with the same way in for other nodes of the cluster, or with less time for a call, closed
        apart.

        Its limits are those of this one, and at most `timeout_ms`. Both know which nodes did not answer in time.
        """
        limits = self._limits
        if timeout_ms is not None:
            limits = changed(
                limits,
                timeout_ms=min(timeout_ms, limits.timeout_ms),
                request_timeout_ms=min(timeout_ms, limits.request_timeout_ms),
            )
        made = Client(
            bootstrap,
            role,
            access=self._access,
            controller_access=self._controller_access,
            limits=limits,
            time_left=self._time_left,
            clock=self._clock,
            randomness=self._randomness,
        )
        made._silent = self._silent
        return made

    def close(self) -> None:
        """Close all connections, and each that a thread which still waits for an answer opens later."""
        with self._lines_lock:
            self._is_closed = True
        for line in self._lines.values():
            line.hang_up()

    @property
    def clock(self) -> Clock:
        """Return the clock that its time limits are measured by."""
        return self._clock

    @property
    def login(self) -> Login:
        """Return the user that nodes take requests from, as far as it is known here."""
        return self._access_of(self.role).login

    @property
    def left_ms(self) -> float:
        """Return the time in ms that a request may take now."""
        return self._deadline().left_ms

    def cluster(self) -> ClusterView:
        """Return the cluster as the first bootstrap node with an answer describes it.

        Raises UnreachableError: `wrong-endpoint-type`, `request-not-supported` (controllers before 3.7),
        `not-authorised`, `cluster-not-described`, or the error of the queried nodes.
        """
        candidates = functools.partial(self._answering_first, self.bootstrap)
        return self._search(candidates, self._describe_cluster, self._deadline())

    def check_one_cluster(self) -> None:
        """Make sure that the bootstrap nodes belong to one cluster, before a change: any of them may be asked.

        All are asked at once. One that does not answer within a second, or does not describe its cluster, is not
        compared. Raises RefusedError `bootstrap-of-several-clusters`, with every id and its addresses.
        """
        if len(self.bootstrap) < 2:
            return
        soon = self._deadline().at_most(_SOON_MS)
        views = all_at_once(self._answering_first(self.bootstrap), self._describe_cluster, soon)
        found: dict[str, list[str]] = {}
        for address in self.bootstrap:
            if isinstance(view := views[address], ClusterView):
                found.setdefault(view.cluster_id, []).append(str(address))
        if len(found) > 1:
            places = "; ".join(f"{cluster_id} ({', '.join(addresses)})" for cluster_id, addresses in found.items())
            raise RefusedError(
                f"the addresses of {self.role.option} belong to {len(found)} clusters: {places}",
                id="bootstrap-of-several-clusters",
            )

    def versions(
        self,
        addresses: Sequence[Address],
        *,
        soon_ms: float | None = None,
    ) -> dict[Address, NodeVersions | KafkactlError]:
        """Return the present versions, features and finalized levels of these nodes, asked at once.

        With `soon_ms` nodes that have not answered by then are not waited for once another node has. They are asked
        last until they answer; a pending contact with them continues, and the next request waits for it.
        """
        deadline = self._deadline()
        soon = None if soon_ms is None else deadline.at_most(soon_ms)
        found = all_at_once(addresses, self._fresh_versions, deadline, soon=soon)
        late = (at for at, answer in found.items() if isinstance(answer, KafkactlError) and answer.id == TIMED_OUT)
        self._silent.update(late)
        return found

    def find_leader(self) -> Address:
        """Return the address of the controller that leads the quorum now, found by asking controllers for the quorum.

        Raises UnreachableError `no-active-controller`, `not-authorised`, or the reason why no controller was reached.
        """
        return self._find_leader(self._deadline())

    def _find_leader(self, deadline: Deadline) -> Address:
        def ask(address: Address, deadline: Deadline) -> Address:
            answer = self._leaders_answer("DescribeQuorum", QUORUM_REQUEST, address, deadline)
            if CLUSTER_DENIED in error_codes_in(answer.body):
                raise not_authorised("DescribeQuorum", str(address), self.login)
            return address

        return self._search(lambda: self._controllers(deadline), ask, deadline)

    def open_connection(
        self, address: Address, deadline: Deadline | None = None, *, role: Role | None = None
    ) -> Connection:
        """Return a connection of the caller's own, to watch while others wait. `role` is the kind of node that is
        expected there, by default that of this client. Raises UnreachableError.
        """
        return connect(address, self._access_of(role), self._request(deadline or self._deadline()))

    def _access_of(self, role: Role | None) -> Access:
        return self._controller_access if (role or self.role) is Role.CONTROLLER else self._access

    @contextlib.contextmanager
    def kept_connection(
        self, address: Address, deadline: Deadline, *, role: Role | None = None
    ) -> Iterator[Connection]:
        """Yield the connection that this client keeps to a node, for the caller alone meanwhile; opened if there is
        none.

        What the node said of itself may be as old as the client. Raises UnreachableError.
        """
        line = self._line(address)
        with line.held(address, deadline):
            yield self._connected(line, address, deadline, role=role)

    def ask_any(
        self, name: str, body: Mapping[str, Any], *, changes: bool = False, cluster_id: str | None = None
    ) -> Response:
        """Ask the first bootstrap node that answers. Raises as `ask_active_controller` but for who leads."""
        deadline = self._deadline(changes=changes)
        ask = self._asking(name, body, deadline, changes=changes, cluster_id=cluster_id)
        return self._search(functools.partial(self._answering_first, self.bootstrap), ask, deadline)

    def ask_node(self, address: Address, name: str, body: Mapping[str, Any], *, changes: bool = False) -> Response:
        """Ask one node, again if that is safe and may help. Raises UnreachableError, UnknownOutcomeError."""
        deadline = self._deadline(changes=changes)
        return self._search(lambda: (address,), self._asking(name, body, deadline, changes=changes), deadline)

    def ask_active_controller(
        self,
        name: str,
        body: Mapping[str, Any],
        *,
        changes: bool = False,
        cluster_id: str | None = None,
        most_ms: float = _NO_LIMIT,
    ) -> Response:
        """Ask the active controller within `most_ms`, directly or through a broker; error codes are the caller's.

        A change that is meant for the cluster `cluster_id` leaves only on a connection whose other end said, right
        before, that it belongs to that cluster (`check_same_cluster`).

        Raises UnreachableError (`no-active-controller` if no controller leads), UnknownOutcomeError `reply-lost`,
        for a change that met a controller on its way out `leadership-lost`, and RefusedError `cluster-id-mismatch`.
        """
        deadline = self._deadline(changes=changes).at_most(most_ms)
        if not changes:
            return self._search(
                lambda: (
                    self._answering_first(self.bootstrap) if self.role is Role.BROKER else self._controllers(deadline)
                ),
                lambda at, by: self._leaders_answer(name, body, at, by),
                deadline,
            )
        if self.role is Role.BROKER:
            return self.ask_any(name, body, changes=True, cluster_id=cluster_id)
        leader = self._find_leader(deadline)
        ask = self._asking(name, body, deadline, changes=True, cluster_id=cluster_id)
        response = self._search(lambda: (leader,), ask, deadline)
        if is_not_the_leader(response.body):
            self._leader = None
            raise leadership_lost(name, leader)
        return response

    def _asking(
        self,
        name: str,
        body: Mapping[str, Any],
        overall: Deadline,
        *,
        changes: bool = False,
        cluster_id: str | None = None,
    ) -> Ask[Response]:
        def ask(address: Address, deadline: Deadline) -> Response:
            # A change has the whole time to be answered in: cut short, its outcome would be unknown.
            answer_by = overall if changes else deadline
            return self._once(
                address, name, body, deadline, answer_by=answer_by, changes=changes, cluster_id=cluster_id
            )

        return ask

    def _leaders_answer(self, name: str, body: Mapping[str, Any], address: Address, deadline: Deadline) -> Response:
        response = self._once(address, name, body, deadline, answer_by=deadline)
        if is_not_the_leader(response.body):
            raise NotLeaderError(address)
        self._leader = address
        return response

    def _once(
        self,
        address: Address,
        name: str,
        body: Mapping[str, Any],
        deadline: Deadline,
        *,
        answer_by: Deadline,
        changes: bool = False,
        cluster_id: str | None = None,
    ) -> Response:
        line = self._line(address)
        with self._heard(address), line.held(address, deadline):
            connection = self._connected(line, address, deadline)
            check_role(address, connection.versions, self.role)
            if cluster_id is not None:
                check_same_cluster(connection, self.role, cluster_id, self._request(deadline))
            try:
                return connection.ask(name, body, deadline=self._request(answer_by), changes=changes)
            except UnreachableError as error:
                is_sent = not isinstance(error, NotSentError)
                if self.role is Role.BROKER and name == _FORWARDED and error.id == TIMED_OUT and is_sent:
                    raise forwarded_in_vain(address) from error
                raise

    def _describe_cluster(self, address: Address, deadline: Deadline) -> ClusterView:
        line = self._line(address)
        with self._heard(address), line.held(address, deadline):
            connection = self._connected(line, address, deadline)
            check_role(address, connection.versions, self.role)
            version = usable_version(message("DescribeClusterRequest"), connection.versions, peer=str(address))
            body = describe_cluster_body(self.role, version)
            response = connection.ask("DescribeCluster", body, deadline=self._request(deadline), version=version)
        if code := response.body["ErrorCode"]:
            text = response.body["ErrorMessage"]
            if code == CLUSTER_DENIED:
                raise not_authorised("DescribeCluster", str(address), self.login, text)
            raise not_described(address, code, server_text(text))
        return cluster_view(response.body, role=self.role, version=version)

    def _fresh_versions(self, address: Address, deadline: Deadline) -> NodeVersions:
        line = self._line(address)
        with self._heard(address), line.held(address, deadline):
            known = line.connection
            connection = self._connected(line, address, deadline)
            return connection.versions if connection is not known else connection.refresh_versions(deadline)

    @contextlib.contextmanager
    def _heard(self, address: Address) -> Iterator[None]:
        """Note whether a node answered in time. One that hangs would else cost each call half of its time."""
        try:
            yield
        except UnreachableError as error:
            (self._silent.add if error.id == TIMED_OUT else self._silent.discard)(address)
            raise
        self._silent.discard(address)

    def is_silent(self, address: Address) -> bool:
        """Return True if the node did not answer in time when it was asked last."""
        return address in self._silent

    def _answering_first(self, addresses: Iterable[Address]) -> tuple[Address, ...]:
        """Return these nodes, with those that last timed out at the end."""
        return tuple(sorted(addresses, key=self._silent.__contains__))

    def _search(self, candidates: Callable[[], Iterable[Address]], ask: Ask[T], deadline: Deadline) -> T:
        if deadline.passed:
            raise no_time_left(self._silent)
        return one_after_another(
            candidates, ask, deadline=deadline, backoff=self._limits.backoff, randomness=self._randomness
        )

    def _controllers(self, deadline: Deadline) -> Iterator[Address]:
        """Yield the controllers, the likely leader first.

        Those that were not named at the start only if they are needed.
        """
        tried = dict.fromkeys((self._leader, *self.bootstrap) if self._leader else self.bootstrap)
        yield from self._answering_first(tried)
        try:
            view = self._view_of_any_node(deadline)
        except UnreachableError:
            return  # before 3.7, or not allowed: the bootstrap controllers are all that are known
        active = view.node(view.controller_id)
        named = ((active,) if active else ()) + view.nodes
        yield from (address for address in dict.fromkeys(node.address for node in named) if address not in tried)

    def _view_of_any_node(self, deadline: Deadline) -> ClusterView:
        """Return the cluster from the first bootstrap node that answers; the caller's search has rounds of its own."""
        return one_after_another(
            functools.partial(self._answering_first, self.bootstrap),
            self._describe_cluster,
            deadline=deadline,
            backoff=Backoff(rounds=1),
            randomness=self._randomness,
        )

    def _line(self, address: Address) -> Line:
        with self._lines_lock:
            if self._is_closed and address not in self._lines:
                return Line(is_closed=True)
            return self._lines.setdefault(address, Line())

    def _connected(self, line: Line, address: Address, deadline: Deadline, *, role: Role | None = None) -> Connection:
        """Return the line's connection; a new one if there is none or it is stale."""
        if line.connection is not None and line.connection.is_stale(self._clock.now_ms()):
            line.connection.close()
            line.connection = None
        if line.connection is None:
            if len(self.bootstrap) > 1:
                deadline = deadline.at_most(_CONTACT_MS * 2 ** min(line.silences, _MOST_DOUBLINGS))
            line.silences += 1
            line.connection = connect(address, self._access_of(role), self._request(deadline))
            line.silences = 0
            if line.is_closed:  # while this thread waited for the node
                line.connection.close()
        return line.connection

    def _deadline(self, *, changes: bool = False) -> Deadline:
        deadline = Deadline.after(self._limits.timeout_ms, self._clock)
        if self._time_left is None:
            return deadline
        return deadline.at_most(self._time_left() / (2 if changes else 1))

    def _request(self, deadline: Deadline) -> Deadline:
        return deadline.at_most(self._limits.request_timeout_ms)


def _random() -> float:
    import random  # takes hashlib along; only a second round needs it

    return random.random()
