"""Clusters in a few lines of text, for the scripts in tests/scripts/plans and for tests.

    levels metadata.version=25 group.version=1
    controllers 1* 2 3 kafka=4.3          # the one with the star is active; they vote, are registered and answer
    brokers 4 5 kafka=4.3                 # registered, unfenced, answer
    brokers 6 kafka=4.0 gone              # registered, fenced, no answer

Words behind the ids: `kafka=V` (what it runs, 4.3 if not said), `listed=V` (what its registration says, if that
differs), `gone` (a broker: fenced, no answer, no fetch; a controller: no answer, no vote, no fetch), `silent` (killed a
moment ago: no answer, no fetch, and not fenced yet), `cut` (cannot be reached from here, and fetches), `starting` (a
broker that is fenced, takes no connection yet, and fetches), `hangs`, `unreached`, `elsewhere` (how it does not
answer), `quiet` (does not fetch), `undecided` (the leader was not watched long enough), `unregistered`, `observer`,
`unasked`, `fenced`, `hosts=N`, `only` (it says of itself that it has no other role), `levels:NAME=L` (what this node
shows). `min.insync brokers=2 controllers=1 cluster=3 topics=7 single=4` says what the nodes have for
min.insync.replicas (1 everywhere, no value of the cluster, 4 topics if there is no such line), `min.insync unasked`
that no node was asked.
Lines of one word: `unread` (the log), `migrating`, `dynamic`, `quorumless`, `unwatched`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkactl.cluster.node import ClusterNode, Silence
from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.cluster.registrations import BrokerRegistration, ControllerRegistration, Registrations
from kafkactl.cluster.state import ClusterState, MinInsync
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Endpoint, Role, Uuid
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.schema.spec import Versions

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
KRAFT = "kraft.version"


def ranges(kafka: str) -> dict[str, Versions]:
    """Return what a node of that release advertises."""
    release = find_release(kafka)
    found = {"metadata.version": Versions(release.lowest_supported_level, release.production_level)}
    for name, facts in features_of(release).items():
        if facts.latest_production:
            found[name] = Versions(0, facts.latest_production)
    return found


def directory_id(node_id: int) -> Uuid:
    return Uuid(node_id.to_bytes(16, "big") if node_id > 255 else bytes([77] * 15 + [node_id]))


@dataclass
class Node:
    id: int
    role: Role
    kafka: str = "4.3"
    listed: str | None = None
    words: frozenset[str] = frozenset()
    hosts: int = 0
    levels: dict[str, int] | None = None

    @property
    def gone(self) -> bool:
        return "gone" in self.words

    @property
    def answers(self) -> bool | None:
        if "unasked" in self.words:
            return None
        return not (self.words & {"gone", "silent", "cut", "starting", "hangs", "unreached", "elsewhere"})

    @property
    def silence(self) -> Silence | None:
        if self.answers is not False:
            return None
        named = [silence for silence in Silence if silence.value in self.words]
        return named[0] if named else Silence.UNREACHED if "cut" in self.words else Silence.REFUSED

    @property
    def follows(self) -> bool | None:
        """Return True if it is seen to fetch."""
        if "undecided" in self.words:
            return None
        return not self.words & {"gone", "silent", "hangs", "unreached", "elsewhere", "quiet"}

    @property
    def evidence(self) -> str:
        words = {True: "fetches from the leader", False: "did not advance in 2000 ms", None: "was watched too briefly"}
        return words[self.follows]

    @property
    def votes(self) -> bool:
        return self.role is Role.CONTROLLER and not self.words & {"gone", "observer"}

    @property
    def registered(self) -> bool:
        return "unregistered" not in self.words


@dataclass
class Cluster:
    """A cluster to be written down step by step; `state()` is what an observer sees."""

    levels: dict[str, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    active: int | None = None
    words: set[str] = field(default_factory=set)
    insync: dict[str, str] = field(default_factory=dict)

    def read(self, line: str) -> None:
        word, *rest = line.split()
        if word == "levels":
            self.levels |= dict(_level(text) for text in rest)
        elif word == "min.insync":
            self.insync |= dict(text.split("=") if "=" in text else (text, "") for text in rest)
        elif word in ("controllers", "brokers"):
            self._add(Role(word.removesuffix("s")), rest)
        elif word in ("unread", "migrating", "dynamic", "quorumless", "unwatched") and not rest:
            self.words.add(word)
        else:
            raise AssertionError(f"not understood: {line}")

    def _add(self, role: Role, rest: list[str]) -> None:
        ids = [word for word in rest if word.rstrip("*").isdigit()]
        words = [word for word in rest if word not in ids]
        named = dict(word.split("=", 1) for word in words if "=" in word and ":" not in word)
        shown = dict(_level(word.removeprefix("levels:")) for word in words if word.startswith("levels:"))
        for text in ids:
            node_id = int(text.rstrip("*"))
            if text.endswith("*"):
                self.active = node_id
            self.nodes.append(
                Node(
                    id=node_id,
                    role=role,
                    kafka=named.get("kafka", "4.3"),
                    listed=named.get("listed"),
                    words=frozenset(word for word in words if "=" not in word),
                    hosts=int(named.get("hosts", 0)),
                    levels=shown or None,
                )
            )

    def state(self) -> ClusterState:
        voters = [node for node in self.nodes if node.votes]
        return ClusterState(
            cluster_id=CLUSTER_ID,
            finalized={name: level for name, level in self.levels.items() if level},
            finalized_epoch=100,
            active_controller=self.active,
            nodes=tuple(self._seen(node) for node in self.nodes),
            registrations=None if "unread" in self.words else self._registrations(voters),
            quorum=None if "quorumless" in self.words else self._quorum(voters),
            watched_ms=2000,
            watched_enough="unwatched" not in self.words,
            min_insync=None if "unasked" in self.insync else self._min_insync(),
        )

    def _min_insync(self) -> MinInsync:
        answering = [node for node in self.nodes if node.answers]
        cluster = self.insync.get("cluster")
        single = int(self.insync.get("single", 0))
        held = cluster or self.insync.get("brokers", "1")
        controllers = (node.id for node in answering if node.role is Role.CONTROLLER)
        return MinInsync(
            cluster=cluster,
            controllers=dict.fromkeys(controllers, self.insync.get("controllers", "1")),
            brokers={node.id: "9" if node.id == single else held for node in answering if node.role is Role.BROKER},
            single=(single,) if single else (),
            topics=int(self.insync.get("topics", 4)),
            topics_with_own_value=2,
        )

    def _quorum(self, voters: list[Node]) -> QuorumState:
        return QuorumState(
            cluster_id=CLUSTER_ID,
            mode=None,
            kraft_version=None,
            leader_id=NO_LEADER if self.active is None else self.active,
            leader_epoch=5,
            high_watermark=None,
            voters=tuple(self._voter(node) for node in voters),
            observers=tuple(
                self._observer(node) for node in self.nodes if not node.votes and node.follows is not False
            ),
        )

    def _seen(self, node: Node) -> ClusterNode:
        versions = NodeVersions(
            version=4,
            requests={57: Versions(0, 2)},
            supported=ranges(node.kafka),
            finalized={
                k: v for k, v in (self.levels if node.levels is None else self.levels | node.levels).items() if v
            },
            finalized_epoch=100 + node.id,
            zookeeper_migration_ready=False,
        )
        return ClusterNode(
            id=node.id,
            role=node.role,
            answers=node.answers,
            versions=versions if node.answers else None,
            named_itself=node.answers is True,
            silence=node.silence,
            roles=frozenset({node.role}) if "only" in node.words else None,
        )

    def _observer(self, node: Node) -> Replica:
        return Replica(id=node.id, alive=node.follows, evidence=node.evidence)

    def _voter(self, node: Node) -> Replica:
        return Replica(id=node.id, directory_id=directory_id(node.id), alive=node.follows, evidence=node.evidence)

    def _registrations(self, voters: Iterable[Node]) -> Registrations:
        registered = [node for node in self.nodes if node.registered]
        dynamic = "dynamic" in self.words
        return Registrations(
            brokers={node.id: _broker(node) for node in registered if node.role is Role.BROKER},
            controllers={node.id: _controller(node) for node in registered if node.role is Role.CONTROLLER},
            levels={name: level for name, level in self.levels.items() if level and name != KRAFT},
            kraft_version=1 if dynamic else None,
            voters=tuple(Voter(node_id=v.id, directory_id=directory_id(v.id), endpoints=()) for v in voters)
            if dynamic
            else None,
            zk_migration_state=2 if "migrating" in self.words else None,
            hosted={node.id: node.hosts for node in self.nodes if node.hosts},
            leaderless={node.id: 1 for node in self.nodes if node.hosts and node.gone},
        )


def cluster(text: str) -> ClusterState:
    """Return the state that these lines tell of."""
    found = Cluster()
    for line in text.strip().splitlines():
        found.read(line.strip())
    return found.state()


def _level(text: str) -> tuple[str, int]:
    name, level = text.split("=")
    return name, int(level)


def _broker(node: Node) -> BrokerRegistration:
    return BrokerRegistration(
        id=node.id,
        epoch=1000 + node.id,
        incarnation_id=directory_id(node.id),
        fenced=bool(node.words & {"gone", "fenced", "starting"}),
        in_controlled_shutdown=False,
        features=ranges(node.listed or node.kafka),
        endpoints=(Endpoint(listener="PLAINTEXT", host=f"broker-{node.id}", port=9092),),
        directory_ids=(directory_id(node.id + 100),),
    )


def _controller(node: Node) -> ControllerRegistration:
    return ControllerRegistration(
        id=node.id,
        incarnation_id=directory_id(node.id),
        features=ranges(node.listed or node.kafka),
        endpoints=(Endpoint(listener="CONTROLLER", host=f"controller-{node.id}", port=9093),),
    )
