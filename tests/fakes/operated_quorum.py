"""A fake quorum with what whole commands meet: the registration of a dead broker, and a quorum that is static."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from kafkactl.commands.demo.bodies import broker_registration
from kafkactl.commands.demo.broker import Action, Asked, Reply
from kafkactl.commands.demo.quorum import NOT_CONTROLLER, RANGES
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.values import ZERO_UUID
from kafkactl.net.transport import Address
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import metadata_record
from tests.fakes.faulty_quorum import FaultyQuorum

DEAD_BROKER = 14
_UNREGISTER_BROKER = 1
_NOT_REGISTERED = 102


class OperatedQuorum(FaultyQuorum):
    """A `FaultyQuorum`. `dead_broker`: broker 14 is registered, fenced, and nothing listens where it did. `static`:
    kraft.version is 0, so the log holds no voters, and no node shows a directory id.
    """

    def __init__(self, *, dead_broker: bool = False, static: bool = False, **quorum: Any) -> None:
        self.static = static
        self.registered = dead_broker
        self._dead_port = socket.socket()  # taken, so that no other listener gets it, and not listened at
        super().__init__(**quorum)
        if static:
            self.levels[KRAFT_VERSION] = 0

    def __enter__(self) -> OperatedQuorum:
        super().__enter__()
        if self.registered:
            self._dead_port.bind(("127.0.0.1", 0))
            address = Address("127.0.0.1", self._dead_port.getsockname()[1])
            self._append([broker_registration(DEAD_BROKER, address, RANGES, fenced=True)])
        return self

    def __exit__(self, *failure: object) -> None:
        self._dead_port.close()
        super().__exit__(*failure)

    def answer(self, asked: Asked, node_id: int) -> Action | None:
        if asked.name == "UnregisterBroker":
            return Reply(
                body=self._unregister(asked.body) if node_id == self.leader_id else {"ErrorCode": NOT_CONTROLLER}
            )
        return super().answer(asked, node_id)

    def _unregister(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if not self.registered or body["BrokerId"] != DEAD_BROKER:
            return {"ErrorCode": _NOT_REGISTERED, "ErrorMessage": f"Broker ID {body['BrokerId']} is not registered"}
        self.registered = False
        self.effects.append(("unregister", DEAD_BROKER))
        self._append(
            [encode_record(metadata_record(_UNREGISTER_BROKER), 0, {"BrokerId": DEAD_BROKER, "BrokerEpoch": 1})]
        )
        return {"ErrorCode": 0}

    def _update(self, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = super()._update(body)
        if self.static and self.levels[KRAFT_VERSION] == 1:
            self.static = False
            self._append_control([encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": 1})])
            self._append_voters()
        return answer

    def _described(self) -> dict[str, Any]:
        body = super()._described()
        if self.static:
            for replica in body["Topics"][0]["Partitions"][0]["CurrentVoters"]:
                replica["ReplicaDirectoryId"] = ZERO_UUID
        return body

    def _append_control(self, records: list[tuple[bytes, bytes]]) -> None:
        if not self.static:
            super()._append_control(records)
