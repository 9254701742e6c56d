"""The lab's fixtures for the tests in this folder."""

from tests.lab.harness.cluster_fixtures import cluster_of, new_cluster, pytest_runtest_teardown
from tests.lab.harness.fixtures import (
    free_port,
    lab_pool,
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    storage_tool,
)

__all__ = [
    "cluster_of",
    "free_port",
    "lab_pool",
    "new_cluster",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "storage_tool",
]
