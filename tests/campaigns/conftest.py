"""The mark `campaign` on every test of this folder, and the lab's fixtures for those that start real nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.harness.cluster_fixtures import cluster_of, new_cluster, pytest_runtest_teardown
from tests.lab.harness.fixtures import (
    free_port,
    lab_pool,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    storage_tool,
)

__all__ = [
    "cluster_of",
    "free_port",
    "lab_pool",
    "new_cluster",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "storage_tool",
]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, so that `-m "not campaign"` leaves them out if the folder is named."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.campaign)
