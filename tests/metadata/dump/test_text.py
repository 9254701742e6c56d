"""The fast text of a record is that of the reference codec, for every record at every version."""

from __future__ import annotations

import json
import random

import pytest

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.dump.text import MAY_GIVE_UP, compact_json, record_json, text_maker
from kafkactl.metadata.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.redact import REDACTED
from kafkactl.protocol.schema.definitions import message, metadata_record, metadata_record_names
from kafkactl.protocol.schema.spec import MessageSpec
from tests.protocol.random_messages import random_message
from tests.sampling import one_in

RECORDS = [message(name) for name in metadata_record_names()]
VERSIONS = [(spec, version) for spec in RECORDS for version in spec.valid_versions]


def by_codec(data: bytes, *, hide: bool) -> str | type[Exception]:
    try:
        return compact_json(record_json(decode_record(data), hide=hide))
    except DecodeError:
        return DecodeError


def by_maker(spec: MessageSpec, version: int, data: bytes, *, hide: bool) -> str | None:
    """None where it gives up."""
    try:
        return "{" + text_maker(spec, version, hide=hide)(data, 3, len(data)) + "}"
    except MAY_GIVE_UP:
        return None


@pytest.mark.parametrize(
    ("spec", "version"), one_in(3, VERSIONS), ids=[f"{spec.name}-{version}" for spec, version in VERSIONS]
)
@pytest.mark.parametrize("hide", [True, False])
def test_the_same_text(spec: MessageSpec, version: int, hide: bool):
    rng = random.Random(f"{spec.name} {version}")
    make = text_maker(spec, version, hide=hide)
    gave = 0
    for _ in range(60):
        data = encode_record(spec, version, random_message(rng, spec, version))
        try:
            fast = "{" + make(data, 3, len(data)) + "}"
        except MAY_GIVE_UP:
            continue
        gave += 1
        assert fast == by_codec(data, hide=hide)
    assert gave > 20


@pytest.mark.slow
def test_what_is_damaged_is_always_reported_alike():
    rng = random.Random(5)
    compared = 0
    for turn in range(4000):
        spec, version = VERSIONS[turn % len(VERSIONS)]
        data = bytearray(encode_record(spec, version, random_message(rng, spec, version)))
        if len(data) > 3:
            data[rng.randrange(3, len(data))] ^= 1 << rng.randrange(8)
        if rng.randrange(3) == 0:
            del data[rng.randrange(3, len(data) + 1) :]
        fast = by_maker(spec, version, bytes(data), hide=True)
        if fast is not None:
            compared += 1
            assert fast == by_codec(bytes(data), hide=True), data.hex()
    assert compared > 1000


def test_a_change_in_words():
    spec = metadata_record(5)
    value = {"PartitionId": 3, "TopicId": message_uuid(), "Isr": [2, 1], "Leader": 2}
    data = encode_record(spec, 2, value)
    assert by_maker(spec, 2, data, hide=True) == (
        '{"partitionId":3,"topicId":"AAAAAAAAAAAAAAAAAAAABw","isr":[2,1],"leader":2}'
    )


def message_uuid():
    from kafkactl.core.values import Uuid

    return Uuid(bytes(15) + b"\7")


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
def test_secrets(record: MetadataRecord, hidden: list[str]):
    shown = json.loads(compact_json(record_json(record, hide=True)))
    assert [name for name, value in shown.items() if value == REDACTED] == hidden
    assert shown.keys() == record_json(record, hide=False).keys()
    assert REDACTED not in compact_json(record_json(record, hide=False))
    data = encode_record(message(record.type), record.version, record.data)
    assert by_maker(message(record.type), record.version, data, hide=True) == compact_json(
        record_json(record, hide=True)
    )
