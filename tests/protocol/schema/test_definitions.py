from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kafkactl.core import data_files
from kafkactl.core.errors import SchemaError
from kafkactl.protocol.schema import definitions
from kafkactl.protocol.schema.definitions import (
    control_record,
    message,
    message_names,
    metadata_record,
    request,
    response,
)
from kafkactl.protocol.schema.spec import FieldSpec
from tests.protocol.schema.layouts import layout_at

FOLDERS = ("metadata", "raft", "tiered", "messages")


def every_field(fields: tuple[FieldSpec, ...]) -> Iterator[FieldSpec]:
    for field in fields:
        yield field
        yield from every_field(field.fields)


def test_every_definition_file_is_in_the_index_and_back() -> None:
    files = {name for folder in FOLDERS for name in data_files.list_data(folder, ".json")}
    index = json.loads(data_files.read_data("index.json"))["folders"]
    assert files == {f"{folder}/{name}.json" for folder in FOLDERS for name in index[folder]}
    names = [name for folder in FOLDERS for name in index[folder]]
    assert len(names) == len(set(names)) == len(message_names())


@pytest.mark.parametrize("name", message_names())
def test_every_definition_has_a_layout_at_every_version(name: str) -> None:
    spec = message(name)
    assert spec.name == name
    assert spec.about.endswith(".")
    assert spec.valid_versions
    for version in spec.valid_versions:
        layout_at(spec, version)


def test_no_field_is_never_there() -> None:
    for name in message_names():
        spec = message(name)
        unused = [field.name for field in every_field(spec.fields) if not field.versions.intersect(spec.valid_versions)]
        assert not unused, f"{name}: {unused}"


def test_api_keys_are_unique_and_lead_to_the_message() -> None:
    index = json.loads(data_files.read_data("index.json"))
    for table, find in (("metadata", metadata_record), ("request", request), ("response", response)):
        for key, name in index[table].items():
            assert find(int(key)).name == name
            assert find(int(key)).api_key == int(key)
        kinds = [message(name) for name in message_names() if message(name).kind == table]
        own = [spec for spec in kinds if spec.name not in index["tiered"].values()]
        assert sorted(spec.name for spec in own) == sorted(index[table].values())
    for key, name in index["tiered"].items():
        assert definitions.remote_log_record(int(key)).name == name


def test_request_and_response_come_in_pairs() -> None:
    index = json.loads(data_files.read_data("index.json"))
    for key, name in index["request"].items():
        assert index["response"][key] == name.removesuffix("Request") + "Response"
        assert request(int(key)).valid_versions == response(int(key)).valid_versions
        assert request(int(key)).flexible_versions == response(int(key)).flexible_versions


def test_records_that_newer_releases_dropped_are_still_known() -> None:
    assert metadata_record(21).name == "ZkMigrationStateRecord"
    assert metadata_record(6).name == "AccessControlRecord"
    assert len(definitions.metadata_record_names()) == 28


@pytest.mark.parametrize(
    ("record_type", "name"),
    [(0, "EndTxnMarker"), (1, "EndTxnMarker"), (2, "LeaderChangeMessage"), (3, "SnapshotHeaderRecord"),
     (4, "SnapshotFooterRecord"), (5, "KRaftVersionRecord"), (6, "VotersRecord")],
)  # fmt: skip
def test_control_record_is_found_by_type(record_type: int, name: str) -> None:
    assert control_record(record_type).name == name


@pytest.mark.parametrize(
    ("find", "argument"),
    [(message, "NoSuchMessage"), (message, "../errors"), (metadata_record, 999), (request, -1), (response, 999),
     (control_record, 7)],
)  # fmt: skip
def test_unknown_definition_is_named(find, argument) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SchemaError, match=str(argument)) as caught:
        find(argument)
    assert caught.value.id == "unknown-definition"


def test_one_message_costs_one_definition_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(name: str) -> bytes:
        opened.append(name)
        return data_files.read_data(name)

    monkeypatch.setattr(definitions, "read_data", counted)
    for cached in (definitions.message, definitions._index, definitions._folder_of):
        cached.cache_clear()
    metadata_record(12)
    metadata_record(12)
    assert opened == ["index.json", "metadata/FeatureLevelRecord.json"]


def test_file_that_defines_another_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    index = data_files.read_data("index.json")
    other = data_files.read_data("metadata/NoOpRecord.json")
    monkeypatch.setattr(definitions, "read_data", lambda name: index if name == "index.json" else other)
    definitions.message.cache_clear()
    with pytest.raises(SchemaError, match="defines NoOpRecord"):
        message("TopicRecord")
