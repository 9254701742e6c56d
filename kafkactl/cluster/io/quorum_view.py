"""The quorum of a live cluster as a value. Every node that may have a fact is asked, on separate connections.

The answer of the leader decides. All controllers are asked nevertheless: a former leader may not yet know that it was
replaced, and without a leader each controller still reports its id and the leader that it follows. Connections are not
shared, because a server reads nothing from a connection on which it still owes a response. Nodes that do not answer
take `node_timeout_ms` together, however many there are.

The nodes named at the start, the endpoints in the voter set (to check the log) and standby controllers that fetch are
asked. Without a leader, all registered and configured controllers are asked as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.configured_addresses import bootstrap_servers, static_voters
from kafkactl.cluster.io.followed_leader import (
    confirmed,
    names_newer_leader,
    wait_ms,
)
from kafkactl.cluster.io.leader_source import HELD_MS
from kafkactl.cluster.io.quorum_assembly import assembled
from kafkactl.cluster.io.quorum_sample import leaders_visit, sample_visits
from kafkactl.cluster.io.quorum_visit import (
    Visit,
    believed_leader,
    of_cluster,
    visit_node,
)
from kafkactl.cluster.quorum.liveness import is_steady, proven
from kafkactl.cluster.quorum.observation import DiskSeen, QuorumAnswer
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.closing import Closing
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Endpoint, Role
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.attempts import SilentNodes, all_at_once, worst_of
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import check_quorum_known, check_role
from kafkactl.kafka.connection import Connection
from kafkactl.kafka.line import TIMED_OUT
from kafkactl.kafka.retries import is_transient
from kafkactl.net.transport import Address
from kafkactl.protocol.schema.rights import not_authorised

NODE_TIMEOUT_MS = 3_000.0
_NO_LIMIT = float("inf")
_WATCH_EVERY_MS = 200.0
_ROUNDS = 3  # from the named nodes to their voters, from these to the configured controllers, and once more
Expected = Mapping[Address, int | None]


class QuorumObserver(Closing):
    """Observer of the quorum of `client`'s cluster, which keeps its connections between two observations.

    `identify`: also ask every controller for its identity and its settings (3.7 on). `cluster_id` is the expected
    cluster, None for any: an answer of a node of another one is an error of that address and not evidence. `silent` are
    nodes that did not answer, shared by observers of one cluster with the same time limit: if a leader answers, such a
    node is not waited for again before it answers. `watches_followers`: take about 2 s more if followers of a leader
    that cannot be asked then show if it leads. Use it as a context manager.
    """

    def __init__(
        self,
        client: Client,
        *,
        identify: bool = True,
        node_timeout_ms: float = NODE_TIMEOUT_MS,
        silent: SilentNodes | None = None,
        watches_followers: bool = False,
    ) -> None:
        self.cluster_id: str | None = None
        self._silent = SilentNodes() if silent is None else silent
        self._client = client
        self._identify, self._watches_followers = identify, watches_followers
        self._node_timeout_ms = node_timeout_ms
        self._clock = SystemClock()
        self._lines: dict[Address, Connection] = {}
        self._is_closed = False
        self.visits: tuple[Visit, ...] = ()
        self._latest: list[Visit] = []  # the same, as of the last sample

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        lines, self._lines = list(self._lines.values()), {}
        for line in lines:
            line.close()

    def observe(self, *, disks: Sequence[DiskSeen] = (), registrations: Registrations | None = None) -> QuorumState:
        """Return the present quorum. `visits` then has the answer of each node.

        Raises UnreachableError if none of the nodes named at the start answers what it is asked, unless there are
        `disks` to answer from; `wrong-endpoint-type` if one of them is of the other kind, and `not-authorised` if this
        user may not ask for the quorum.
        """
        first = self._start()
        self._check_start(first, has_disks=bool(disks))
        visits = self._tour(first)
        if disks and not any(visit.answer for visit in visits):
            visits = self._tour([*visits, *self._at_voter_endpoints(visits, disks)])
        if not any(visit.answer for visit in visits):
            _check_allowed(visits)
            asked_ms = self._clock.now_ms()
            visits = self._watch_followers(self._leader_once_more(self._beliefs(visits)), asked_ms)
        self.visits, self._latest = tuple(visits), list(visits)
        return self.assembled(self.visits, disks=disks, registrations=registrations)

    def _at_voter_endpoints(self, visits: Sequence[Visit], disks: Sequence[DiskSeen]) -> list[Visit]:
        """Visit the addresses in the voter set on the disks that were not visited yet."""
        voters = self.assembled(visits, disks=disks).voters
        places = {Address(at.host, at.port): voter.id for voter in voters for at in voter.endpoints}
        return self._visit_all(_unvisited(places, [visit.address for visit in visits]))

    def assembled(
        self,
        visits: Sequence[Visit],
        *,
        disks: Sequence[DiskSeen] = (),
        registrations: Registrations | None = None,
    ) -> QuorumState:
        """Return the state that follows from these visits, of the expected cluster."""
        return assembled(visits, disks=disks, registrations=registrations, cluster_id=self.cluster_id)

    def sample(self) -> QuorumState | None:
        """Return the quorum from the nodes that answered the last observation (`quorum_sample`); None without a leader.

        `visits` stay those of the last observation.
        """
        now = sample_visits(self._latest, self._lines, self._clock)
        if now is None:
            return None
        self._latest = now
        return self.assembled(now)

    @property
    def leader(self) -> Address | None:
        """Return the address of the controller that last answered as the leader; None if only brokers named it."""
        found = leaders_visit(self._latest)
        return found.address if found is not None and found.role is Role.CONTROLLER else None

    def now_ms(self) -> float:
        """Return the monotonic time in ms."""
        return self._clock.now_ms()

    def sleep_ms(self, duration_ms: float) -> None:
        """Wait between two samples."""
        self._clock.sleep_ms(duration_ms)

    def prove(self, *, node_ids: Collection[int] = (), rounds: int = 3) -> QuorumState:
        """Return the present quorum, with evidence for every voter that it follows the leader (`quorum/liveness`).

        `node_ids` are nodes that matter in addition to the voters. During an election the observation is repeated, up
        to `rounds` times in all; after that a blocker reports that the quorum is not steady. Raises as `look`.
        """
        state = self.observe()
        for left in reversed(range(rounds)):
            if not state.has_leader:
                return state
            judged, _ = proven(state, self, node_ids=node_ids)
            if is_steady(judged) or not left:
                return judged
            state = self.observe()
        return state

    def _start(self) -> list[Visit]:
        """Visit the nodes named at the start: all controllers, or brokers until one knows the leader.

        A broker without an answer may wait for a leader that hangs: the controllers that its configuration names are
        then asked together with the other brokers.
        """
        if self._client.role is Role.CONTROLLER:
            return self._visit_all(dict.fromkeys(self._client.bootstrap))
        first = self._first_brokers()
        visits = self._visit_all(dict.fromkeys(first), identify=False, most_ms=HELD_MS)
        if any(visit.answer is not None for visit in visits):
            return visits
        visits = self._with_configurations(visits)
        # The first are asked again: they had less time than a node that is slow, or far away, may need.
        brokers: Expected = dict.fromkeys(self._client.bootstrap)
        onwards = {**brokers, **_unvisited(expected_places(visits), self._client.bootstrap)}
        later = self._visit_all(onwards, plain=brokers)
        answering = {visit.address: visit for visit in later if visit.answer}
        visits = [answering.get(visit.address, visit) for visit in visits]
        visits += [visit for visit in later if visit.address not in first]
        if any(visit.answer for visit in visits):
            return visits
        _check_allowed(visits)
        # A broker that holds the request has no error if no node leads.
        visits = self._with_configurations(visits)
        return [changed(visit, error=None) if visit.role is Role.BROKER and visit.view else visit for visit in visits]

    def _first_brokers(self) -> list[Address]:
        """Return the first broker named at the start that was not silent, and those that were; else the first."""
        silent = [address for address in self._client.bootstrap if address in self._silent]
        others = [address for address in self._client.bootstrap if address not in silent]
        return [*silent, others[0]] if others else silent[:1]

    def _with_configurations(self, visits: Sequence[Visit]) -> list[Visit]:
        """Return the visits with the settings of brokers that do not answer for the quorum."""
        known = {visit.address: visit for visit in visits if visit.role is Role.BROKER and not visit.settings}
        for again in self._visit_all(dict.fromkeys(known), identify=True, ask_quorum=False):
            first = known[again.address]
            known[again.address] = changed(again, error=again.error or first.error, denied=first.denied + again.denied)
        return [known.get(visit.address, visit) for visit in visits]

    def _check_start(self, visits: Sequence[Visit], *, has_disks: bool) -> None:
        named = [visit for visit in visits if visit.address in self._client.bootstrap]
        for visit in named:
            if visit.versions is not None:
                check_role(visit.address, visit.versions, self._client.role)
        check_quorum_known({visit.address: visit.versions for visit in named if visit.versions is not None})
        errors = [visit.error for visit in named if visit.error is not None]
        if errors and len(errors) == len(named) and not (has_disks or any(visit.answer for visit in visits)):
            raise worst_of(errors)

    def _tour(self, visits: list[Visit]) -> list[Visit]:
        """Visit the nodes that the visited ones name, and those that these name, for `_ROUNDS` rounds at most."""
        for _ in range(_ROUNDS):
            onwards = _unvisited(expected_places(visits), [visit.address for visit in visits])
            if not onwards:
                break
            visits = visits + self._visit_all(onwards, has_leader=any(visit.answer for visit in visits))
        places = expected_places(visits)
        return [
            changed(visit, expected_id=places.get(visit.address)) if visit.expected_id is None else visit
            for visit in visits
        ]

    def _beliefs(self, visits: Sequence[Visit]) -> list[Visit]:
        """Ask each controller that answers which leader it follows; needed only without a leader."""
        deadline = Deadline.after(self._node_timeout_ms, self._clock)
        asked = {
            visit.address: visit for visit in visits if visit.role is Role.CONTROLLER and visit.address in self._lines
        }

        def ask(address: Address, by: Deadline) -> Visit:
            return believed_leader(self._lines[address], asked[address], by)

        answered = all_at_once(list(asked), ask, deadline)
        found = ((visit, answered.get(visit.address)) for visit in visits)
        return [now if isinstance(now, Visit) else visit for visit, now in found]

    def _leader_once_more(self, visits: list[Visit]) -> list[Visit]:
        """Ask the followed controllers once more: one may be newly elected, the connection of another may be lost.

        One that did not answer for all of its time is not waited for a second time.
        """
        followed = {None, *(visit.leader_id for visit in visits)}
        again = [visit for visit in visits if visit.error is None or is_transient(visit.error)]
        late = [visit for visit in again if visit.error is not None and visit.error.id == TIMED_OUT]
        asked = {visit.address: visit.expected_id for visit in again if visit.id in followed and visit not in late}
        now = {visit.address: visit for visit in self._visit_all(asked)}
        if not any(visit.answer for visit in now.values()):
            return visits
        return self._tour([now.get(visit.address, visit) for visit in visits])

    def _watch_followers(self, visits: list[Visit], asked_ms: float) -> list[Visit]:
        """Ask again whom controllers follow, until those that cannot fetch from their leader have given it up.

        A leader that is elected meanwhile is asked at once.
        """
        if not self._watches_followers or (time_ms := wait_ms(visits)) is None:
            return visits
        end_ms, later = asked_ms + time_ms, visits
        while (left_ms := end_ms - self._clock.now_ms()) > 0:
            self._clock.sleep_ms(min(left_ms, _WATCH_EVERY_MS))
            later = self._beliefs([changed(visit, leader_id=None, leader_epoch=None) for visit in visits])
            if names_newer_leader(visits, later):
                return self._leader_once_more(later)
        return list(map(confirmed, visits, later))

    def _visit_all(
        self,
        places: Expected,
        *,
        identify: bool | None = None,
        ask_quorum: bool = True,
        has_leader: bool = False,
        plain: Collection[Address] = (),
        most_ms: float = _NO_LIMIT,
    ) -> list[Visit]:
        """Visit these addresses at once, for `most_ms` at most; a node that hangs does not delay the others.

        A node that hung before delays none of them if a leader answers (`has_leader`: one did already). The nodes at
        `plain` addresses are not asked for their identity.
        """
        wanted = self._identify if identify is None else identify

        def ask(address: Address, by: Deadline) -> Visit:
            line = self._line(address, by)
            asks_identity = wanted and address not in plain
            seen = visit_node(
                line, expected_id=places[address], identify=asks_identity, ask_quorum=ask_quorum, deadline=by
            )
            seen = of_cluster(self.cluster_id, seen)
            self._keep(line, seen)
            return seen

        if not places:
            return []
        found = all_at_once(
            list(places),
            ask,
            Deadline.after(min(self._node_timeout_ms, most_ms), self._clock),
            silent=self._silent,
            is_enough=lambda visits: has_leader or any(visit.answer for visit in visits),
        )
        return [
            visited
            if isinstance(visited, Visit)
            else Visit(address=address, expected_id=places[address], error=visited)
            for address, visited in found.items()
        ]

    def _line(self, address: Address, deadline: Deadline) -> Connection:
        """Return the kept connection, with the present versions of the node, or a new one."""
        kept = self._lines.pop(address, None)
        if kept is not None and not kept.is_stale(self._clock.now_ms()):
            try:
                # Half of the time: a connection whose other end is gone without notice leaves the rest for a new one.
                kept.refresh_versions(deadline.at_most(deadline.left_ms / 2))
            except KafkactlError:
                kept.close()  # closed since the last observation: a new one shows whether the node is there
            else:
                return kept
        elif kept is not None:
            kept.close()
        role = self._client.role if address in self._client.bootstrap else Role.CONTROLLER
        return self._client.open_connection(address, deadline, role=role)

    def _keep(self, line: Connection, seen: Visit) -> None:
        is_late = self._is_closed or line.address in self._lines  # after a later visit of the same node
        if seen.error is not None or is_late:
            line.close()
        else:
            self._lines[line.address] = line


def _unvisited(places: Expected, visited: Collection[Address]) -> dict[Address, int | None]:
    return {address: id for address, id in places.items() if address not in visited}


def _check_allowed(visits: Sequence[Visit]) -> None:
    """Raise UnreachableError if DescribeQuorum was refused: then it is not known that there is no leader."""
    refused = [visit for visit in visits if "DescribeQuorum" in visit.denied]
    if refused:
        where = ", ".join(str(visit.address) for visit in refused)
        raise not_authorised("DescribeQuorum", where, refused[0].login)


def expected_places(visits: Sequence[Visit]) -> dict[Address, int | None]:
    """Return the expected addresses of controllers, with ids: by voter set, registrations, configurations."""
    answers = [visit.answer for visit in visits if visit.answer is not None]
    best = max(answers, key=lambda answer: answer.leader_epoch, default=None)
    places: dict[Address, int | None] = {}
    for id, endpoint in () if best is None else _voter_endpoints(best):
        places.setdefault(Address(endpoint.host, endpoint.port), id)
    for source in (_registered(visits, best), *(() if best else (_configured(visits),))):
        for address, id in source:
            places.setdefault(address, id)
    return places


def _voter_endpoints(answer: QuorumAnswer) -> Iterator[tuple[int, Endpoint]]:
    for voter in answer.voters:
        for endpoint in voter.endpoints:
            yield voter.id, endpoint


def _registered(visits: Sequence[Visit], best: QuorumAnswer | None) -> Iterator[tuple[Address, int | None]]:
    """Yield registered controllers; with a leader only those that vote or fetch, since others may be gone long ago."""
    present = None if best is None else {replica.id for replica in (*best.voters, *best.observers)}
    for visit in visits:
        if visit.view is None or visit.role is not Role.CONTROLLER:
            continue
        for node in visit.view.nodes:
            if present is None or node.id in present:
                yield node.address, node.id


def _configured(visits: Sequence[Visit]) -> Iterator[tuple[Address, int | None]]:
    for visit in visits:
        yield from static_voters(visit.settings)
    for visit in visits:
        yield from ((address, None) for address in bootstrap_servers(visit.settings))
