"""How `make test` is divided between two workers: all that plays with live processes is one's, the rest the other's.

Live tests wait more than they compute, and two clusters at once would make each other late; tests without processes
compute all the time. So the two halves share a machine of two cores well (decision 16). A file is never divided, for
its tests share fixtures.
"""

from __future__ import annotations

from typing import Any

import pytest

LIVE = ("tests/lab/", "tests/dryrun/test_spark", "tests/adapters/test_log_places.py")


def share_of(nodeid: str) -> str:
    """What a test is kept together with: `live`, or its file."""
    file = nodeid.partition("::")[0]
    return "live" if file.startswith(LIVE) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Called where there are workers (`-n 2`)."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Shares(LoadScopeScheduling):
        """The largest share first, which is the live one."""

        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return Shares(config, log)
