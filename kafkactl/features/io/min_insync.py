"""min.insync.replicas of a live cluster: each node's value, the cluster's, and how many topics have none of their own.

A node describes only its own configuration; a topic's own value is returned by any broker (DESCRIBE_CONFIGS on the
topic). A value that was not returned is None, and its node is listed as unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from kafkactl.cluster.io.node_settings import describe_own
from kafkactl.cluster.io.view import NODE_TIMEOUT_MS, ObservedCluster
from kafkactl.cluster.node_settings import CLUSTER_SOURCE, DEFAULT_SOURCE, MIN_INSYNC, STATIC_SOURCE
from kafkactl.cluster.state import MinInsync
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import ELR_VERSION
from kafkactl.core.values import Role
from kafkactl.features.plan.request import FeatureRequest
from kafkactl.kafka.client import Client

_TOPIC_SOURCE: Final = 1
_BROKER_SOURCE: Final = 2
_TOPIC_RESOURCE: Final = 2
_TOPICS_AT_ONCE: Final = 1000


def with_min_insync(client: Client, view: ObservedCluster, request: FeatureRequest) -> ObservedCluster:
    """Return the view with min.insync.replicas if the request turns eligible leader replicas on; else as it is."""
    if not request.levels.get(ELR_VERSION) or view.state.level(ELR_VERSION):
        return view
    return changed(view, state=changed(view.state, min_insync=observe_min_insync(client, view)))


def observe_min_insync(client: Client, view: ObservedCluster) -> MinInsync:
    """Ask every live node for its own value, and a broker for the topics'. Raises nothing."""
    brokers: dict[int, str] = {}
    controllers: dict[int, str] = {}
    single: list[int] = []
    unread: list[str] = []
    cluster: str | None = None
    for seat in view.seats:
        node = view.state.node(seat.role, seat.id)
        if node is not None and node.answers is False:
            continue
        listener = Role.BROKER if seat.role is Role.BROKER else Role.CONTROLLER
        with client.sibling(listener, seat.addresses, timeout_ms=NODE_TIMEOUT_MS) as asking:
            config = _min_insync_config(asking, seat.id)
        if config is None:
            unread.append(f"{seat.role.value} {seat.id}")
        elif seat.role is Role.BROKER:
            brokers[seat.id] = config["Value"]
            single += [seat.id] if _of(config, _BROKER_SOURCE) is not None else []
            cluster = cluster or _of(config, CLUSTER_SOURCE)
        else:
            controllers[seat.id] = _of(config, STATIC_SOURCE) or _of(config, DEFAULT_SOURCE) or config["Value"]
            cluster = cluster or _of(config, CLUSTER_SOURCE)
    without, own = _topics(client, view)
    # With a value of the cluster no controller's file decides: only brokers have to be known.
    needed = [name for name in unread if cluster is None or name.startswith(Role.BROKER.value)]
    return MinInsync(
        cluster=cluster, controllers=controllers, brokers=brokers, single=tuple(single), unread=tuple(needed),
        topics=without, topics_with_own_value=own,
    )  # fmt: skip


def _min_insync_config(client: Client, node_id: int) -> Mapping[str, Any] | None:
    for address in client.bootstrap:
        try:
            configs = describe_own(client, address, node_id, [MIN_INSYNC])
        except KafkactlError:
            continue
        found = next(
            (config for config in configs if config["Name"] == MIN_INSYNC and config["Value"] is not None), None
        )
        if found is not None:
            return found
    return None


def _of(config: Mapping[str, Any], source: int) -> str | None:
    """Return the value that comes from one source: of the file, of the cluster, of the single broker."""
    if config["ConfigSource"] == source:
        return str(config["Value"])
    return next((str(synonym["Value"]) for synonym in config["Synonyms"] or () if synonym["Source"] == source), None)


def _topics(client: Client, view: ObservedCluster) -> tuple[int | None, int | None]:
    """Return the numbers of topics without and with a value of their own; (None, None) if no broker returns them."""
    addresses = [address for seat in view.seats if seat.role is Role.BROKER for address in seat.addresses]
    with client.sibling(Role.BROKER, addresses) as asking:
        try:
            answer = asking.ask_any("Metadata", {"Topics": None, "AllowAutoTopicCreation": False})
            names = iter([topic["Name"] for topic in answer.body["Topics"] if not topic["ErrorCode"]])
            without = own = 0
            while batch := tuple(islice(names, _TOPICS_AT_ONCE)):
                has_own = _own_values(asking, batch)
                own += sum(has_own)
                without += len(has_own) - sum(has_own)
        except KafkactlError:
            return None, None
    return without, own


def _own_values(client: Client, topics: Iterable[str]) -> list[bool]:
    """Return whether each of these topics has a value of its own; topics without the right to describe are omitted."""
    resources = [
        {"ResourceType": _TOPIC_RESOURCE, "ResourceName": name, "ConfigurationKeys": [MIN_INSYNC]} for name in topics
    ]
    answer = client.ask_any("DescribeConfigs", {"Resources": resources})
    return [
        any(config["ConfigSource"] == _TOPIC_SOURCE for config in result["Configs"])
        for result in answer.body["Results"]
        if not result["ErrorCode"]
    ]
