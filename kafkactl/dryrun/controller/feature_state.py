"""The cluster as the planner of feature levels sees it, from the log alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.cluster.registrations import BrokerRegistration, ControllerRegistration, Registrations
from kafkactl.cluster.state import ClusterState, MinInsync
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION, NO_LEADER
from kafkactl.core.values import Endpoint, Role, Uuid
from kafkactl.dryrun.controller.facts import MIN_ISR, Facts
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, Broker, Controller, FeatureRange, Image
from kafkactl.protocol.api_versions import FIRST_VERSION, NodeVersions
from kafkactl.protocol.catalog.levels import supported_by
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.schema.spec import Versions


def state_of(
    image: Image, facts: Facts, *, cluster_id: str, voters: tuple[int, ...], down: frozenset[int]
) -> ClusterState:
    """Return the cluster as the planner of levels sees it, from the log alone."""
    known = {voter.node_id: voter.directory_id for voter in image.voters or ()}
    ids = {voter: known.get(voter) for voter in voters}
    image = _as_they_run(image, facts)
    leader = _leader(facts, ids.keys() or image.controllers.keys(), down)
    nodes = [_controller_seen(image, facts, id, down) for id in sorted({*image.controllers, *ids})]
    nodes += [
        ClusterNode(id=broker.id, role=Role.BROKER, answers=not (broker.fenced or broker.id in down))
        for broker in image.brokers.values()
    ]
    levels = {name: level for name, level in image.features.items() if level and name != KRAFT_VERSION}
    if image.kraft_version:
        levels[KRAFT_VERSION] = image.kraft_version
    return ClusterState(
        cluster_id=cluster_id,
        finalized=levels,
        active_controller=leader,
        nodes=tuple(nodes),
        registrations=_registrations(image),
        quorum=_quorum(cluster_id, leader, ids, down),
        watched_ms=0,
        # A voter that is down since before the present leader was elected cannot have reported to it.
        unreported=frozenset(ids) & down if facts.leader_id in down else frozenset(),
        min_insync=_min_insync(image, facts, leader),
    )


def _quorum(
    cluster_id: str, leader: int | None, voters: Mapping[int, Uuid | None], down: frozenset[int]
) -> QuorumState | None:
    """Return the quorum in which every voter that is not down follows the leader; None without voters."""
    if not voters:
        return None
    return QuorumState(
        cluster_id=cluster_id,
        mode=None,
        kraft_version=None,
        leader_id=NO_LEADER if leader is None else leader,
        leader_epoch=None,
        high_watermark=None,
        voters=tuple(Replica(id=id, directory_id=directory, alive=id not in down) for id, directory in voters.items()),
    )


def _min_insync(image: Image, facts: Facts, leader: int | None) -> MinInsync:
    """Return min.insync.replicas as far as the log has it, which does not contain the properties files of brokers.

    A broker has the cluster's dynamic value or, without one, its own dynamic value; else its value is unknown.
    """
    cluster = image.configs.get((BROKER_CONFIG, ""), {}).get(MIN_ISR)
    single = {
        id: held[MIN_ISR]
        for id in image.brokers
        if MIN_ISR in (held := image.configs.get((BROKER_CONFIG, str(id)), {}))
    }
    own = sum(MIN_ISR in image.configs.get((TOPIC_CONFIG, topic.name), {}) for topic in image.topics.values())
    brokers = {id: single.get(id, cluster) for id in image.brokers}
    return MinInsync(
        cluster=cluster,
        controllers={} if leader is None or not facts.static_known else {leader: facts.static.get(MIN_ISR, "1")},
        brokers={id: value for id, value in brokers.items() if value is not None},
        single=tuple(sorted(single)),
        unread=tuple(f"broker {id}" for id, value in brokers.items() if value is None),
        topics=len(image.topics) - own,
        topics_with_own_value=own,
    )


def _leader(facts: Facts, voters: Collection[int], down: frozenset[int]) -> int | None:
    """Return the active controller: the one that the log names, another if that is down, none without a majority."""
    alive = [voter for voter in voters if voter not in down]
    if voters and len(alive) <= len(voters) // 2:
        return None
    return facts.leader_id if facts.leader_id is not None and facts.leader_id not in down else min(alive, default=None)


def _as_they_run(image: Image, facts: Facts) -> Image:
    """Return the image with controllers of the release that was named, if it is not the one that they registered."""
    registered = [release_of(_ranges(controller).get(METADATA_VERSION)) for controller in image.controllers.values()]
    if not facts.release_named or all(release and release.name == facts.release.name for release in registered):
        return image
    features = {
        name: FeatureRange(levels.lowest, levels.highest) for name, levels in supported_by(facts.release).items()
    }
    return replace(
        image,
        controllers={
            controller.id: replace(controller, features=features) for controller in image.controllers.values()
        },
    )


def _controller_seen(image: Image, facts: Facts, node_id: int, down: frozenset[int]) -> ClusterNode:
    """Return a controller; one that has not registered (none does below metadata.version 15) answers as its release."""
    answers = node_id not in down
    versions = None
    if answers and node_id not in image.controllers:
        versions = NodeVersions(
            version=FIRST_VERSION,
            requests={},
            supported=supported_by(facts.release),
            finalized=image.features,
            finalized_epoch=0,
            zookeeper_migration_ready=False,
        )
    return ClusterNode(id=node_id, role=Role.CONTROLLER, answers=answers, versions=versions)


def _registrations(image: Image) -> Registrations:
    return Registrations(
        brokers={broker.id: _broker(broker) for broker in image.brokers.values()},
        controllers={controller.id: _controller(controller) for controller in image.controllers.values()},
        levels={name: level for name, level in image.features.items() if level},
        kraft_version=image.kraft_version,
        voters=image.voters,
        zk_migration_state=image.zk_migration_state,
    )


def _broker(broker: Broker) -> BrokerRegistration:
    return BrokerRegistration(
        id=broker.id,
        epoch=broker.epoch,
        incarnation_id=broker.incarnation_id,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        features=_ranges(broker),
        endpoints=_endpoints(broker),
        directory_ids=broker.directories,
        cordoned=broker.cordoned or (),
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
    )


def _controller(controller: Controller) -> ControllerRegistration:
    return ControllerRegistration(
        id=controller.id,
        incarnation_id=controller.incarnation_id,
        features=_ranges(controller),
        endpoints=_endpoints(controller),
        zk_migration_ready=controller.zk_migration_ready,
    )


def _ranges(node: Broker | Controller) -> dict[str, Versions]:
    return {name: Versions(feature.min, feature.max) for name, feature in node.features.items()}


def _endpoints(node: Broker | Controller) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(listener=listener.name, host=listener.host, port=listener.port) for listener in node.listeners
    )
