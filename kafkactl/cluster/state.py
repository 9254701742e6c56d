"""A live cluster as a value: nodes, registrations, levels, quorum.

Invariant: a fact that was not observed is None, never a guess. A node that was not asked has `answers` None; if the log
could not be read, `registrations` is None; plans differ in both cases. Levels of different nodes are compared, epochs
never: a broker's epoch grows with every metadata batch and controllers of equal features show different ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkactl.cluster.node import ClusterNode, NotAsked, Silence
from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION, MIGRATING_STATES, ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import Release, newest_release
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.schema.spec import Versions

# A feature that a node does not list: only level 0 is possible there (QuorumFeatures.DISABLED).
NOT_SUPPORTED = Versions(0, 0)
# The level of a cluster whose log never held one: 3.0-IV1 (KAFKA-20839).
LEVEL_OF_SILENCE = 1


@frozen
class MinInsync:
    """min.insync.replicas of a cluster, as texts.

    `cluster` is the value for the whole cluster in the metadata log, None if there is none. `controllers` are the
    values of their files, by node id; `brokers` those in force there for a topic without one. `single` are brokers
    with a value of their own in the metadata log. `unread` names live nodes whose value is not known. `topics` counts
    those without a value of their own; None if no broker shows them.
    """

    cluster: str | None = None
    controllers: Mapping[int, str]
    brokers: Mapping[int, str]
    single: tuple[int, ...] = ()
    unread: tuple[str, ...] = ()
    topics: int | None = None
    topics_with_own_value: int | None = None

    def by_value(self) -> dict[str, tuple[int, ...]]:
        """Return the ids of brokers by the value in force there."""
        values = sorted(set(self.brokers.values()))
        return {text: tuple(sorted(id for id, held in self.brokers.items() if held == text)) for text in values}


@frozen
class ClusterState:
    """A live cluster at one moment: its nodes, its registrations, its feature levels, and its quorum.

    `registrations` are None if the metadata log was not read; `log_error` is the reason, if a read was tried.
    `brokers_known` is False if no node names the brokers. `cluster_id` is None if no node names it (controllers before
    3.7).

    `finalized` are the levels as the active controller reports them (level 0 left out), or as another node reports them
    if it does not answer. `min_insync` is observed only if a change depends on it.

    `quorum` is None if no node answered as the leader; `leader_error` is the reason. `active_controller` is the
    leader's node id, None if there is none; without `quorum` a controller may name it. `watched_ms` is the time for
    which the fetches from one leader were watched, None if it was asked once only, and 0 in a dry run, which assumes
    the followers. `watched_enough`: a node that follows the leader would have fetched in that time. `unreported` are
    the voters that have not shown the present leader which levels of kraft.version they support (UpdateRaftVoter, once
    per leader): only a dry run knows them.
    """

    cluster_id: str | None
    nodes: tuple[ClusterNode, ...] = ()
    brokers_known: bool = True
    registrations: Registrations | None = None
    log_error: NotAsked | None = None
    finalized: Mapping[str, int]
    finalized_epoch: int | None = None
    min_insync: MinInsync | None = None
    quorum: QuorumState | None = None
    leader_error: NotAsked | None = None
    active_controller: int | None = None
    watched_ms: int | None = None
    watched_enough: bool = False
    unreported: frozenset[int] = frozenset()

    @property
    def voters(self) -> tuple[Replica, ...] | None:
        """Return the voters; None if no node shows them."""
        return None if self.quorum is None else self.quorum.voters

    @property
    def observers(self) -> tuple[Replica, ...]:
        """Return the observers of the quorum, as far as the leader showed them."""
        return () if self.quorum is None else self.quorum.observers

    @property
    def leader_epoch(self) -> int | None:
        """Return the epoch of the leader; None if no node answered as the leader."""
        return None if self.quorum is None else self.quorum.leader_epoch

    @property
    def tolerates(self) -> int | None:
        """Return the number of further voters that may fail, below 0 without a majority; None if it is not known.

        Only voters whose fetches were observed while the leader was watched count.
        """
        return None if self.quorum is None or self.watched_ms is None else self.quorum.tolerates

    def level(self, feature: str) -> int:
        """Return the finalized level; 0 is off. metadata.version is never off: without a record it is level 1."""
        return self.finalized.get(feature, LEVEL_OF_SILENCE if feature == METADATA_VERSION else 0)

    @property
    def levels_known(self) -> bool:
        """Return False if no node showed its levels and the log was not read: level 0 is not evidence then."""
        return bool(self.finalized) or self.finalized_epoch is not None or self.registrations is not None

    @property
    def is_static(self) -> bool | None:
        """Return True if the voters are those of each node's configuration; None if no level is known.

        3.9 finalizes kraft.version 1 on request and stays static: then no voter has a directory id (KAFKA-18979).
        """
        if not self.levels_known:
            return None
        return not self.level(KRAFT_VERSION) or (
            bool(self.voters) and all(voter.directory_id is None for voter in self.voters or ())
        )

    @property
    def on_zookeeper(self) -> frozenset[int]:
        """Return the brokers in ZooKeeper mode, by their registrations in the log and by their own answers."""
        known = {} if self.registrations is None else self.registrations.brokers
        answering = (node.id for node in self.nodes if node.versions is not None and node.versions.is_zookeeper_mode)
        return frozenset({*(id for id, broker in known.items() if broker.is_migrating_zk_broker), *answering})

    @property
    def is_empty(self) -> bool:
        """Return True if no level is known: no node answered, and the log was not read."""
        return self.registrations is None and all(node.versions is None for node in self.nodes)

    def node(self, role: Role, node_id: int) -> ClusterNode | None:
        """Return the observation of that node in that role."""
        return next((node for node in self.nodes if node.role is role and node.id == node_id), None)

    @property
    def migrating(self) -> bool:
        """Return True if a migration from ZooKeeper is in progress, as far as the log was read (KIP-866)."""
        state = None if self.registrations is None else self.registrations.zk_migration_state
        return state in MIGRATING_STATES

    @property
    def left_on_zookeeper(self) -> frozenset[int]:
        """Return the brokers in ZooKeeper mode although the migration is finalized: they learn nothing any more."""
        state = None if self.registrations is None else self.registrations.zk_migration_state
        return self.on_zookeeper if state == ZkMigrationState.POST_MIGRATION else frozenset()

    @property
    def is_before_copy(self) -> bool:
        """Return True if the log is that of a migration that has copied nothing: of the cluster it has only the brokers
        that entered."""
        state = None if self.registrations is None else self.registrations.zk_migration_state
        return state == ZkMigrationState.PRE_MIGRATION

    @property
    def controllers_known(self) -> bool:
        """Return False if no controller is known: none answers, votes or is registered, as far as that was observed."""
        return any(member.role is Role.CONTROLLER for member in self.members)

    @property
    def voter_ids(self) -> frozenset[int] | None:
        """Return the voters' ids; None if they are unknown."""
        return None if self.voters is None else frozenset(voter.id for voter in self.voters)

    @property
    def members(self) -> tuple[Member, ...]:
        """Return every broker and controller that is registered, answers, or votes: controllers first, by id."""
        return tuple(_members(self))

    @property
    def controller_range(self) -> Mapping[str, Versions] | None:
        """Return the features of the active controller, from its answer or its registration."""
        if self.active_controller is None:
            return None
        member = next((m for m in self.members if m.role is Role.CONTROLLER and m.id == self.active_controller), None)
        return None if member is None else member.supported

    @property
    def controller_release(self) -> Release | None:
        """Return the release of the active controller, as its range of metadata.version shows it."""
        supported = self.controller_range
        return None if supported is None else release_of(supported.get(METADATA_VERSION))

    @property
    def rules_release(self) -> Release:
        """Return the release whose rules the active controller follows; the newest known one if that is unknown."""
        return self.controller_release or newest_release()


@frozen
class Member:
    """A node in one role, with all facts from both the node itself and the log.

    `registered`: None if the log was not read. `voter`: None if the voters are unknown. `fenced` is False for
    controllers, which have no fence. `fetches`: True if a process of that id and role fetches the metadata log from the
    leader; False if the leader was watched and shows none, None if that is unknown; `evidence` has the reason. `listed`
    are the ranges in its registration; `supported` those that it answered, else `listed`, else None. The controller
    judges by the registration; an answer is about the process that runs now.
    """

    id: int
    role: Role
    answers: bool | None
    registered: bool | None
    fenced: bool
    voter: bool | None
    observer: bool
    listed: Mapping[str, Versions] | None
    answered: Mapping[str, Versions] | None
    fetches: bool | None = None
    evidence: str | None = None
    silence: Silence | None = None
    named_itself: bool = False
    not_asked: NotAsked | None = None

    @property
    def name(self) -> str:
        """Return `broker 4`, the subject of findings."""
        return f"{self.role.value} {self.id}"

    @property
    def supported(self) -> Mapping[str, Versions] | None:
        """Return the ranges it supports, by feature; None if they are unknown."""
        return self.answered if self.answered is not None else self.listed

    @property
    def release(self) -> Release | None:
        """Return the release it runs, as far as its range of metadata.version shows."""
        return release_of((self.supported or {}).get(METADATA_VERSION))

    @property
    def stale(self) -> bool:
        """Return True if the node is registered and, by all evidence, gone.

        A broker is gone when it is fenced and neither answers nor fetches; a controller when it neither answers nor
        votes nor fetches. A broker that starts is fenced, refuses connections and fetches. A node that was not asked or
        hangs is not reported as gone, and no controller is if the voters are unknown.
        """
        if not self.registered or self.answers is not False:
            return False
        if self.fetches or self.silence is Silence.HANGS:
            return False
        return self.fenced if self.role is Role.BROKER else self.voter is False and not self.observer


def _members(state: ClusterState) -> Iterable[Member]:
    known = state.registrations
    registered = {
        Role.CONTROLLER: None if known is None else known.controllers,
        Role.BROKER: None if known is None else known.brokers,
    }
    quorum = {voter.id for voter in state.voters or ()}
    fetching = {observer.id for observer in state.observers if observer.alive is not False}
    for role, found in registered.items():
        ids = {node.id for node in state.nodes if node.role is role} | set(found or ())
        if role is Role.CONTROLLER:
            ids |= quorum
        for node_id in sorted(ids):
            node = state.node(role, node_id)
            registration = (found or {}).get(node_id)
            fetches, evidence = _fetches(state, role, node_id)
            yield Member(
                id=node_id,
                role=role,
                answers=None if node is None else node.answers,
                registered=None if found is None else registration is not None,
                fenced=_fenced(state, node_id) if role is Role.BROKER else False,
                voter=_votes(state, role, node_id),
                observer=role is Role.CONTROLLER and node_id in fetching,
                listed=None if registration is None else registration.features,
                answered=None if node is None or node.versions is None else node.versions.supported,
                fetches=fetches,
                evidence=evidence,
                silence=None if node is None else node.silence,
                named_itself=node is not None and node.named_itself,
                not_asked=None if node is None else node.not_asked,
            )


def _fetches(state: ClusterState, role: Role, node_id: int) -> tuple[bool | None, str | None]:
    """Return True if the process of that id and role fetches from the leader, with the evidence.

    A fetch names an id and no role. If a process of that id runs that reports to lack this role, the fetches are those
    of that process.
    """
    other = state.node(Role.CONTROLLER if role is Role.BROKER else Role.BROKER, node_id)
    if other is not None and other.roles is not None and role not in other.roles:
        return False, f"the process that fetches as {node_id} is a {other.role.value} only"
    replicas = [replica for replica in (*(state.voters or ()), *state.observers) if replica.id == node_id]
    for fetching in (True, None):
        found = next((replica for replica in replicas if replica.alive is fetching), None)
        if found is not None:
            return fetching, found.evidence
    if replicas:
        return False, replicas[0].evidence
    if not state.watched_enough:
        return None, None
    return False, f"did not fetch from the leader in {state.watched_ms} ms"


def _votes(state: ClusterState, role: Role, node_id: int) -> bool | None:
    if role is Role.BROKER:
        return False
    return None if state.voter_ids is None else node_id in state.voter_ids


def _fenced(state: ClusterState, node_id: int) -> bool:
    broker = None if state.registrations is None else state.registrations.brokers.get(node_id)
    return broker is not None and broker.fenced
