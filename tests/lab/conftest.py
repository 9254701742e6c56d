"""The lab's fixtures for the tests beside it."""

from tests.lab.fixtures import (
    free_port,
    lab_pool,
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    storage_tool,
)

__all__ = [
    "free_port",
    "lab_pool",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "storage_tool",
]
