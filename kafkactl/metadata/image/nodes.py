"""Fields of a node's registration in the image, a row each: the place in the record, and the first level.

Replay, snapshots, the canonical JSON and the records of a dry run all follow from these rows. A field of another
version of the record is a row here, an attribute with a default in `model.Broker` or `model.Controller`, and the level
that writes it in schemas/replay/record_versions.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Broker, Controller, FeatureRange, Listener
from kafkactl.protocol.schema.spec import json_name


class NodeField(NamedTuple):
    """A field of a registration: the attribute in the image, the name in the record.

    `read` makes the value of the image from that of the record, `write` the other way round. `part` is what
    record_versions.toml calls it if some levels cannot hold it, `absent` the value of the image that means
    nothing there.
    """

    attribute: str
    name: str
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value
    part: str | None = None
    absent: Any = None


def _sorted_tuple(uuids: Iterable[Uuid]) -> tuple[Uuid, ...]:
    return tuple(sorted(uuids))


def _tuple_or_none(uuids: Iterable[Uuid] | None) -> tuple[Uuid, ...] | None:
    return None if uuids is None else tuple(uuids)


def _list_or_none(uuids: Iterable[Uuid] | None) -> list[Uuid] | None:
    return None if uuids is None else list(uuids)


def _listeners(held: Iterable[Mapping[str, Any]]) -> tuple[Listener, ...]:
    listeners = (
        Listener(
            name=endpoint["Name"],
            host=endpoint["Host"],
            port=endpoint["Port"],
            security_protocol=endpoint["SecurityProtocol"],
        )
        for endpoint in held
    )
    return tuple(sorted(listeners, key=lambda listener: listener.name))


def _endpoints(listeners: Iterable[Listener]) -> list[dict[str, Any]]:
    return [
        {"Name": held.name, "Host": held.host, "Port": held.port, "SecurityProtocol": held.security_protocol}
        for held in listeners
    ]


def _ranges(held: Iterable[Mapping[str, Any]]) -> dict[str, FeatureRange]:
    ranges = {row["Name"]: FeatureRange(row["MinSupportedVersion"], row["MaxSupportedVersion"]) for row in held}
    return dict(sorted(ranges.items()))


def _features(ranges: Mapping[str, FeatureRange]) -> list[dict[str, Any]]:
    return [
        {"Name": name, "MinSupportedVersion": held.min, "MaxSupportedVersion": held.max}
        for name, held in sorted(ranges.items())
    ]


_LISTENERS: Final = NodeField("listeners", "EndPoints", _listeners, _endpoints)
_FEATURES: Final = NodeField("features", "Features", _ranges, _features)
# RegisterBrokerRecord and RegisterControllerRecord (KIP-919), in the order of the canonical JSON.
BROKER_FIELDS: Final = (
    NodeField("id", "BrokerId"),
    NodeField("is_migrating_zk_broker", "IsMigratingZkBroker", part="migrating-brokers", absent=False),
    NodeField("incarnation_id", "IncarnationId"),
    NodeField("epoch", "BrokerEpoch"),
    _LISTENERS,
    _FEATURES,
    NodeField("rack", "Rack"),
    NodeField("fenced", "Fenced"),
    NodeField("in_controlled_shutdown", "InControlledShutdown", part="shutdown-flags", absent=False),
    NodeField("directories", "LogDirs", _sorted_tuple, list, part="broker-directories", absent=()),
    NodeField("cordoned", "CordonedLogDirs", _tuple_or_none, _list_or_none, part="cordoned"),
)
CONTROLLER_FIELDS: Final = (
    NodeField("id", "ControllerId"),
    NodeField("incarnation_id", "IncarnationId"),
    NodeField("zk_migration_ready", "ZkMigrationReady"),
    _LISTENERS,
    _FEATURES,
)


def broker_of(data: Mapping[str, Any]) -> Broker:
    """Return the broker of a RegisterBrokerRecord."""
    return Broker(**{field.attribute: field.read(data[field.name]) for field in BROKER_FIELDS})


def controller_of(data: Mapping[str, Any]) -> Controller:
    """Return the controller of a RegisterControllerRecord."""
    return Controller(**{field.attribute: field.read(data[field.name]) for field in CONTROLLER_FIELDS})


def broker_data(broker: Broker, has: Callable[[str], bool]) -> dict[str, Any]:
    """Return the fields of a RegisterBrokerRecord at a level of metadata.version that `has` these parts."""
    return _written(broker, BROKER_FIELDS, has)


def controller_data(controller: Controller) -> dict[str, Any]:
    """Return the fields of a RegisterControllerRecord."""
    return _written(controller, CONTROLLER_FIELDS, lambda _: True)


def node_json(node: Broker | Controller) -> dict[str, Any]:
    """Return the registration in the canonical JSON of an image."""
    fields = BROKER_FIELDS if isinstance(node, Broker) else CONTROLLER_FIELDS
    return {name: _plain(value) for name, value in _written(node, fields, lambda _: True, json_name).items()}


def holds_part(brokers: Iterable[Broker], part: str) -> bool:
    """Return True if a registration uses a part that some levels cannot hold. Raise KeyError for an unknown part."""
    field = _PARTS[part]
    return any(getattr(broker, field.attribute) != field.absent for broker in brokers)


_PARTS: Final = {field.part: field for field in BROKER_FIELDS if field.part is not None}
NODE_PARTS: Final = tuple(_PARTS)


def _written(
    node: Broker | Controller,
    fields: Sequence[NodeField],
    has: Callable[[str], bool],
    named: Callable[[str], str] = lambda name: name,
) -> dict[str, Any]:
    return {
        named(field.name): field.write(
            getattr(node, field.attribute) if field.part is None or has(field.part) else field.absent
        )
        for field in fields
    }


def _plain(value: Any) -> Any:
    """Return a value of a record in JSON's types."""
    if isinstance(value, Mapping):
        return {json_name(name): _plain(held) for name, held in value.items()}
    if isinstance(value, list):
        return [_plain(held) for held in value]
    return str(value) if isinstance(value, Uuid) else value
