from __future__ import annotations

from typing import Any

import pytest

from kafkactl.core.errors import SchemaError
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.spec import FieldSpec


def built(**facts: Any) -> FieldSpec:
    definition = {"name": "F", "versions": "0+"} | facts
    return build_message(
        {"type": "data", "name": "M", "validVersions": "0-3", "flexibleVersions": "none", "fields": [definition]}
    ).fields[0]


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        ("bool", None, False),
        ("bool", "true", True),
        ("bool", False, False),
        ("int8", None, 0),
        ("int8", -1, -1),
        ("int16", "-1", -1),
        ("uint16", "65535", 65535),
        ("int32", "0x7fffffff", 2**31 - 1),
        ("int32", "-2147483648", -(2**31)),
        ("uint32", 2**32 - 1, 2**32 - 1),
        ("int64", "9223372036854775807", 2**63 - 1),
        ("float64", None, 0.0),
        ("float64", "1.5", 1.5),
        ("uuid", None, ZERO_UUID),
        ("uuid", "JEXY6aqzQY-32P5TStzaFg", Uuid.parse("JEXY6aqzQY-32P5TStzaFg")),
        ("string", None, ""),
        ("string", "x", "x"),
        ("bytes", None, b""),
        ("records", None, None),
        ("[]int32", None, ()),
    ],
)
def test_default_of_a_field_is_parsed(kind: str, default: object, value: object) -> None:
    facts = {} if default is None else {"default": default}
    assert built(type=kind, **facts).default == value


@pytest.mark.parametrize("kind", ["string", "bytes", "records", "[]int32"])
def test_nullable_field_may_default_to_null(kind: str) -> None:
    assert built(type=kind, nullableVersions="0+", default="null").default is None


def test_null_is_not_a_default_where_some_version_cannot_be_null() -> None:
    with pytest.raises(SchemaError, match="not nullable in all its versions"):
        built(type="string", nullableVersions="1+", default="null")


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("bool", "yes"), ("bool", 1), ("int8", "128"), ("int8", "x"), ("int8", True), ("uint16", "-1"),
        ("int32", "1.5"), ("float64", "x"), ("uuid", "x"), ("string", 3), ("bytes", "x"), ("[]int32", "1"),
        ("int32", "null"),
    ],
)  # fmt: skip
def test_default_that_its_type_cannot_hold_is_refused(kind: str, default: object) -> None:
    with pytest.raises(SchemaError, match="default") as caught:
        built(type=kind, default=default)
    assert caught.value.id == "invalid-definition"
