"""The text of a record, without secrets."""

from __future__ import annotations

import json

import pytest

from kafkactl.core.values import Uuid
from kafkactl.metadata.dump.text import compact_json, record_json
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.redact import REDACTED
from kafkactl.protocol.schema.definitions import message, metadata_record


def test_record_is_written_as_compact_json():
    spec = metadata_record(5)
    value = {"PartitionId": 3, "TopicId": Uuid(bytes(15) + b"\7"), "Isr": [2, 1], "Leader": 2}
    data = encode_record(spec, 2, value)
    assert compact_json(record_json(decode_record(data), hide=True)) == (
        '{"partitionId":3,"topicId":"AAAAAAAAAAAAAAAAAAAABw","isr":[2,1],"leader":2}'
    )


def secret_record(name: str, **data: object) -> MetadataRecord:
    spec = message(name)
    assert spec.api_key is not None
    return decode_record(encode_record(spec, 0, data))


@pytest.mark.parametrize(
    ("record", "hidden"),
    [
        (
            secret_record("UserScramCredentialRecord", Name="eve", Salt=b"s", StoredKey=b"k", ServerKey=b"v"),
            ["salt", "storedKey", "serverKey"],
        ),
        (secret_record("DelegationTokenRecord", Owner="User:eve", TokenId="tttt"), ["tokenId"]),
        (secret_record("RemoveDelegationTokenRecord", TokenId="tttt"), ["tokenId"]),
        (secret_record("ConfigRecord", Name="ssl.keystore.password", Value="hunter2"), ["value"]),
        (secret_record("ConfigRecord", Name="ssl.truststore.certificates", Value="-----BEGIN"), ["value"]),
        (
            secret_record("ConfigRecord", Name="listener.name.sasl.plain.sasl.jaas.config", Value="hunter2"),
            ["value"],
        ),
        (secret_record("ConfigRecord", Name="some.plugin.Secret.thing", Value="hunter2"), ["value"]),
        (secret_record("ConfigRecord", Name="ssl.keystore.password", Value=None), []),
        (secret_record("ConfigRecord", ResourceType=4, Name="delegation.token.max.lifetime.ms", Value="1"), []),
        (secret_record("ConfigRecord", ResourceType=2, Name="retention.ms", Value="1"), []),
        (secret_record("ConfigRecord", ResourceType=4, Name="retention.ms", Value="1"), ["value"]),
        (secret_record("ConfigRecord", ResourceType=2, Name="my.plugin.mode", Value="1"), ["value"]),
        (secret_record("ConfigRecord", ResourceType=2, Name="retention.ms", Value="password=x"), ["value"]),
    ],
    ids=lambda value: value.data.get("Name") or value.type if isinstance(value, MetadataRecord) else None,
)
def test_secrets_are_replaced(record: MetadataRecord, hidden: list[str]):
    shown = json.loads(compact_json(record_json(record, hide=True)))
    assert [name for name, value in shown.items() if value == REDACTED] == hidden
    assert shown.keys() == record_json(record, hide=False).keys()
    assert REDACTED not in compact_json(record_json(record, hide=False))
