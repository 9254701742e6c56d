"""The table of record types is that of the released jars."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from kafkactl.protocol.catalog.record_types import record_types_of
from kafkactl.protocol.catalog.releases import find_release
from tests.lab.harness import maven
from tests.lab.harness.releases import VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_a_release_equal_those_of_its_jar(version: str) -> None:
    jar = next(Path(maven.jars(version)).glob("kafka-metadata-*.jar"))
    found: dict[int, int] = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"common/metadata/\w+\.json", name):
                text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                definition = json.loads(text)
                found[definition["apiKey"]] = int(definition["validVersions"].rpartition("-")[2])
    assert dict(record_types_of(find_release(version))) == found
