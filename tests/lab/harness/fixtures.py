"""Fixtures and hooks of the lab; ``tests/lab/conftest.py`` takes them all, other rooms' may too."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.lab.harness import java, ports
from tests.lab.harness.cluster_fixtures import shares_clusters
from tests.lab.harness.pool import Pool, shared_pool
from tests.lab.harness.storage_tool import StorageToolServer

LAB = Path(__file__).parents[1]
FAILED = LAB / ".failed"
LIMIT_S = 1800
"""Time of a test whose nodes start and wait beside others on a busy machine; what hangs is to end all the same."""


@pytest.fixture(scope="session")
def lab_pool() -> Iterator[Pool]:
    """Yield the pool of all processes; whatever a test left running is killed at the end."""
    java.java_home()
    pool = shared_pool()
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def storage_tool(lab_pool: Pool) -> Iterator[StorageToolServer]:
    """Yield Kafka's own tools, served by one JVM for the whole session."""
    with StorageToolServer(pool=lab_pool) as server:
        yield server


@pytest.fixture
def free_port() -> Iterator[Callable[[], int]]:
    """Yield a function that gives another free loopback port each time; they are given back after the test."""
    taken: list[int] = []

    def take() -> int:
        taken.append(ports.free_port())
        return taken[-1]

    yield take
    for port in taken:
        ports.release_port(port)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test under ``tests/lab``: each needs the lab, and has the time that a busy machine takes.

    What fails there is run once more (decision 16).

    Tests that share clusters run one after the other, so that no cluster is kept for later ones.
    """
    items.sort(key=lambda item: not shares_clusters(item))
    in_lab = {path: path.is_relative_to(LAB) for path in {item.path for item in items}}
    for item in items:
        if in_lab[item.path]:
            item.add_marker(pytest.mark.lab)
        if not item.get_closest_marker("lab") or item.get_closest_marker("campaign"):
            continue
        item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))
        limit = item.get_closest_marker("timeout")
        if limit is None or limit.args[0] < LIMIT_S:
            item.add_marker(pytest.mark.timeout(LIMIT_S), append=False)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Assign to this test what starts from now on."""
    shared_pool().begin_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the logs of a failed test's processes, and say where; those of its last run go."""
    report = yield
    if report.when == "setup":
        shared_pool().forget_logs(item.nodeid, FAILED)
    if report.failed and (place := shared_pool().keep_logs(item.nodeid, FAILED)):
        report.sections.append(("lab", f"logs and configurations are kept in {place}"))
    return report
