"""Filters that were written for the output of `kafka-dump-log.sh --cluster-metadata-decoder` work on `log dump`.

The golden texts are what Kafka's tool prints of the same captures (`tests/campaigns/goldens/dumps.py`).
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.metadata.goldens import DUMPS, GOLDEN

CAPTURES = pytest.mark.parametrize("capture", DUMPS, ids=lambda path: path.parts[1])
LOG = next(iter(DUMPS))
PAYLOAD = re.compile(r"\| offset: (\d+) .* payload: (.*)")
# Type of the record in the words of Kafka's tool, and the path of a filter in the words of jq.
FILTERS = [
    ("FEATURE_LEVEL_RECORD", ".data.featureLevel"),
    ("TOPIC_RECORD", ".data.topicId"),
    ("PARTITION_RECORD", ".data.directories[]"),
    ("PARTITION_CHANGE_RECORD", ".data.isr[]"),
    ("PARTITION_CHANGE_RECORD", ".data.leader"),
    ("REGISTER_BROKER_RECORD", ".data.endPoints[].securityProtocol"),
    ("REGISTER_BROKER_RECORD", ".data.incarnationId"),
    ("REGISTER_CONTROLLER_RECORD", ".data.features[].maxSupportedVersion"),
    ("CONFIG_RECORD", ".data.resourceName"),
    ("CLIENT_QUOTA_RECORD", ".data.entity[].entityName"),
    ("ACCESS_CONTROL_ENTRY_RECORD", ".data.permissionType"),
    ("USER_SCRAM_CREDENTIAL_RECORD", ".data.storedKey"),
    ("DELEGATION_TOKEN_RECORD", ".data.tokenId"),
]


def by_kafka(capture: Path) -> list[dict[str, Any]]:
    """Return the payloads that Kafka's tool prints, each with its offset."""
    text = gzip.decompress((GOLDEN / DUMPS[capture]).read_bytes()).decode()
    return [{"offset": int(offset), **json.loads(payload)} for offset, payload in PAYLOAD.findall(text)]


def by_us(kafkactl: Any, tmp_path: Path, capture: Path, *arguments: str) -> list[dict[str, Any]]:
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(gzip.decompress((GOLDEN / capture).read_bytes()))
    run = kafkactl("log", "dump", file, "--show-secrets", *arguments)
    assert run.code == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def filtered(path: str, lines: list[dict[str, Any]]) -> list[Any]:
    """Return what `jq PATH` gives for these lines: `.name` is a field or null, `[]` each element."""
    found: list[Any] = lines
    for name, _ in re.findall(r"\.(\w+)|(\[\])", path):
        found = [line.get(name) for line in found] if name else [element for line in found for element in line or ()]
    return found


@pytest.mark.parametrize(("type_name", "path"), FILTERS)
def test_filter_for_kafkas_tool_is_equivalent(kafkactl, tmp_path, type_name, path):
    theirs = filtered(path, [line for line in by_kafka(LOG) if line["type"] == type_name])
    assert any(value is not None for value in theirs)
    assert filtered(path, by_us(kafkactl, tmp_path, LOG, "--type", type_name)) == theirs


@CAPTURES
def test_every_record_has_the_fields_that_kafkas_tool_prints(kafkactl, tmp_path, capture):
    expected = by_kafka(capture)
    ours = [by_u for by_u in by_us(kafkactl, tmp_path, capture) if by_u["kind"] == "record"]
    assert len(expected) > 100
    assert [(our["offset"], our["version"], our["data"]) for our in ours] == [
        (line["offset"], line["version"], line["data"]) for line in expected
    ]


def test_name_of_the_definitions_finds_nothing(kafkactl, tmp_path):
    lines = by_us(kafkactl, tmp_path, LOG, "--type", "FeatureLevelRecord")
    assert set(filtered(".data.FeatureLevel", lines)) == {None}
