"""The fields of registrations: every form of a node follows from one table."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from kafkactl.core.values import Uuid
from kafkactl.metadata.image import nodes, records
from kafkactl.metadata.image.model import Broker, Controller, FeatureRange, Listener
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.record_versions import parts

LISTENER = Listener(name="A", host="h", port=1, security_protocol=0)
BROKER = Broker(
    id=1, epoch=7, incarnation_id=Uuid(bytes(16)), listeners=(LISTENER,),
    features={"f": FeatureRange(0, 1)}, rack=None, fenced=False, in_controlled_shutdown=True,
    is_migrating_zk_broker=False, directories=(Uuid(b"d" * 16),), cordoned=(),
)  # fmt: skip


def test_registration_comes_back_as_it_was() -> None:
    assert nodes.broker_of(nodes.broker_data(BROKER, lambda _: True)) == BROKER


def test_level_without_a_part_writes_nothing_of_it() -> None:
    data = nodes.broker_data(BROKER, lambda part: part not in ("cordoned", "shutdown-flags"))
    assert (data["CordonedLogDirs"], data["InControlledShutdown"], len(data["LogDirs"])) == (None, False, 1)
    assert nodes.holds_part([BROKER], "cordoned") and not nodes.holds_part([replace(BROKER, cordoned=None)], "cordoned")


@pytest.mark.parametrize(
    "kind, table, record",
    [
        (Broker, nodes.BROKER_FIELDS, "RegisterBrokerRecord"),
        (Controller, nodes.CONTROLLER_FIELDS, "RegisterControllerRecord"),
    ],
)
def test_table_has_every_field_of_the_image_and_of_the_record(
    kind: type, table: tuple[nodes.NodeField, ...], record: str
) -> None:
    assert {row.attribute for row in table} == {field.name for field in fields(kind)}
    assert {row.name for row in table} == {field.name for field in message(record).fields}


def test_every_part_that_a_level_cannot_hold_is_looked_for() -> None:
    assert set(parts()) == {*nodes.NODE_PARTS, *records._HELD}
