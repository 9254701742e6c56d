"""Registrations of nodes from an image, as a planner of feature levels reads them from the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkactl.cluster.registrations import BrokerRegistration, ControllerRegistration, Registrations
from kafkactl.core.values import Endpoint
from kafkactl.metadata.image.model import FeatureRange, Image, Listener
from kafkactl.protocol.schema.spec import Versions


def registrations_of(image: Image) -> Registrations:
    """Return the nodes of an image. The numbers of partitions by broker, and former leaders, are left out."""
    return Registrations(
        brokers={
            id: BrokerRegistration(
                id=id,
                epoch=broker.epoch,
                incarnation_id=broker.incarnation_id,
                fenced=broker.fenced,
                in_controlled_shutdown=broker.in_controlled_shutdown,
                features=_ranges(broker.features),
                endpoints=_endpoints(broker.listeners),
                directory_ids=broker.directories,
                cordoned=broker.cordoned or (),
                is_migrating_zk_broker=broker.is_migrating_zk_broker,
            )
            for id, broker in sorted(image.brokers.items())
        },
        controllers={
            id: ControllerRegistration(
                id=id,
                incarnation_id=controller.incarnation_id,
                features=_ranges(controller.features),
                endpoints=_endpoints(controller.listeners),
                zk_migration_ready=controller.zk_migration_ready,
            )
            for id, controller in sorted(image.controllers.items())
        },
        levels={name: level for name, level in sorted(image.features.items()) if level},
        kraft_version=image.kraft_version,
        voters=image.voters,
        zk_migration_state=image.zk_migration_state,
    )


def _ranges(features: Mapping[str, FeatureRange]) -> dict[str, Versions]:
    return {name: Versions(held.min, held.max) for name, held in features.items()}


def _endpoints(listeners: Iterable[Listener]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(listener=held.name, host=held.host, port=held.port) for held in listeners)
