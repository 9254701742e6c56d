"""Rules of the records of brokers and controllers (`ClusterDelta.java`)."""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.core.findings import Severity
from kafkactl.core.frozen import changed
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Broker
from kafkactl.metadata.image.nodes import broker_of, controller_of
from kafkactl.metadata.replay.state import ContradictionError, State
from kafkactl.protocol.codec import Message

_CHANGES = frozenset({-1, 0, 1})  # BrokerRegistrationFencingChange.java


def register_broker(state: State, data: Message) -> None:
    """Apply a RegisterBrokerRecord: the whole registration. Its epoch is at most its offset, that of the request."""
    id = data["BrokerId"]
    if data["BrokerEpoch"] > state.offset >= 0 and not state.in_snapshot:
        text = f"the broker epoch {data['BrokerEpoch']} is above the record's own offset"
        state.note("broker-epoch-beyond-offset", Severity.WARNING, f"broker {id}", text)
    state.departed.pop(id, None)
    state.starting.discard(id)
    if data["Fenced"] and not state.in_snapshot:
        state.starting.add(id)
    state.brokers[id] = broker_of(data)


def unregister_broker(state: State, data: Message) -> None:
    """Apply an UnregisterBrokerRecord. Kafka's image checks only the id; its controller requires the right epoch."""
    id, epoch = data["BrokerId"], data["BrokerEpoch"]
    held = state.brokers.pop(id, None)
    if held is not None:
        state.departed[id] = held
        state.starting.discard(id)
    if held is None:
        text = "UnregisterBrokerRecord for a broker that is not registered"
        raise ContradictionError("unknown-broker-in-record", f"broker {id}", text)
    if held.epoch != epoch:
        text = f"UnregisterBrokerRecord with broker epoch {epoch}; the registration has {held.epoch}"
        state.note("broker-epoch-mismatch", Severity.BLOCKER, f"broker {id}", text)


def fence_broker(state: State, data: Message) -> None:
    """Apply a FenceBrokerRecord."""
    held = _registered(state, data["Id"], data["Epoch"], "FenceBrokerRecord")
    state.starting.discard(held.id)
    state.brokers[held.id] = changed(held, fenced=True)


def unfence_broker(state: State, data: Message) -> None:
    """Apply an UnfenceBrokerRecord."""
    held = _registered(state, data["Id"], data["Epoch"], "UnfenceBrokerRecord")
    state.starting.discard(held.id)
    state.brokers[held.id] = changed(held, fenced=False)


def change_broker(state: State, data: Message) -> None:
    """Apply a BrokerRegistrationChangeRecord: 0, an empty list and null change nothing.

    The flag of a controlled shutdown can be set but not cleared (`BrokerRegistrationInControlledShutdownChange`);
    directories change only to some, cordoned ones also to none.
    """
    held = _registered(state, data["BrokerId"], data["BrokerEpoch"], "BrokerRegistrationChangeRecord")
    fenced, leaving = data["Fenced"], data["InControlledShutdown"]
    if fenced not in _CHANGES or leaving not in (0, 1):
        text = f"fenced {fenced} or inControlledShutdown {leaving} is not known"
        raise ContradictionError("unknown-value-in-record", f"broker {held.id}", text)
    cordoned = data["CordonedLogDirs"]
    if fenced:
        state.starting.discard(held.id)
    state.brokers[held.id] = changed(
        held,
        fenced=fenced > 0 if fenced else held.fenced,
        in_controlled_shutdown=held.in_controlled_shutdown or leaving == 1,
        directories=_sorted(data["LogDirs"]) if data["LogDirs"] else held.directories,
        cordoned=held.cordoned if cordoned is None else tuple(cordoned),
    )


def register_controller(state: State, data: Message) -> None:
    """Apply a RegisterControllerRecord (KIP-919)."""
    state.controllers[data["ControllerId"]] = controller_of(data)


def unregister_controller(state: State, data: Message) -> None:
    """Apply an UnregisterControllerRecord (KIP-1312)."""
    id = data["ControllerId"]
    if state.controllers.pop(id, None) is None:
        text = "UnregisterControllerRecord for a controller that is not registered"
        raise ContradictionError("unknown-controller-in-record", f"controller {id}", text)


def _registered(state: State, id: int, epoch: int, record: str) -> Broker:
    held = state.brokers.get(id)
    if held is None:
        text = f"{record} for a broker that is not registered"
        raise ContradictionError("unknown-broker-in-record", f"broker {id}", text)
    if held.epoch != epoch:
        text = f"{record} with broker epoch {epoch}; the registration has {held.epoch}"
        raise ContradictionError("broker-epoch-mismatch", f"broker {id}", text)
    return held


def _sorted(uuids: Iterable[Uuid]) -> tuple[Uuid, ...]:
    return tuple(sorted(uuids))
