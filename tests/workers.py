"""How `make test` is divided between two workers: one runs all tests with live nodes, the other runs the rest.

Live tests wait more than they compute, and two clusters at once would delay each other; tests without nodes compute all
the time. So the two halves share a machine of two cores well (decision 16). A file is never divided, because its tests
share fixtures.
"""

from __future__ import annotations

from typing import Any

import pytest

LIVE = ("tests/lab/", "tests/adapters/test_log_places.py")
# Tests of the lab that ask Kafka's classes, and start no node: they compute, so they go with the other tests.
WITHOUT_NODES = frozenset(
    f"tests/lab/test_{name}.py"
    for name in (
        "client_keys", "codec_oracle", "definitions", "dump_equality", "facts", "format_differential", "generated_log",
        "image_oracle", "info_differential", "inputs", "lab_cache", "lab_maven", "lab_storage_tool", "levels_and_tool",
        "loader_oracle", "log_dump_equality", "node_config", "partition_changes", "poisoned_folder",
        "quorum_state_oracle", "record_types", "release_rules", "secret_configs", "tokens",
    )
)  # fmt: skip


def share_of(nodeid: str) -> str:
    """What a test is kept together with: `live`, or its file."""
    file = nodeid.partition("::")[0]
    return "live" if file.startswith(LIVE) and file not in WITHOUT_NODES else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Called where there are workers (`-n 2`)."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Shares(LoadScopeScheduling):
        """The largest share first, which is the live one."""

        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return Shares(config, log)
