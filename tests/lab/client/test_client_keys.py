"""The table of a client's properties against what the admin client of released Kafka prints of itself."""

from __future__ import annotations

import re

import pytest

from kafkactl.protocol.text.client_properties import client_keys
from tests.lab.harness import releases
from tests.lab.harness.storage_tool import StorageToolServer

ADMIN_CONFIG = "org.apache.kafka.clients.admin.AdminClientConfig"
_KEY = re.compile(r'<h4><a id="([^"]+)">.*?<th>Type:</th><td>(\w+)</td>', re.DOTALL)
# Gone from the newest release, still in files.
NO_LONGER = {"auto.include.jmx.reporter"}


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(version, marks=() if version == releases.VERSIONS[-1] else pytest.mark.campaign)
        for version in releases.VERSIONS
    ],
)
def test_names_and_types_equal_those_of_kafka(storage_tool: StorageToolServer, release: str) -> None:
    page = storage_tool.run_tool(release, ADMIN_CONFIG, []).stdout
    theirs = {name: kind.upper() for name, kind in _KEY.findall(page)}
    ours = {name: key.type for name, key in client_keys().items()}
    assert len(theirs) > 50
    assert theirs.items() <= ours.items()
    if release == releases.VERSIONS[-1]:
        assert set(ours) - set(theirs) == NO_LONGER
