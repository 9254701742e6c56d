"""Objects in an archive class of the store: no message is lost, and all are read after the objects are restored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.quorum.lost_majority import KafkaError, read_all
from tests.lab.tiered.cluster import TieredBroker

pytestmark = [
    pytest.mark.campaign,
]
ORDERS, COUNT, NODE = "orders", 100, 1


def _listing(store: Path, sizes: Mapping[str, int], archived: str, file: Path) -> Path:
    """Write the listing of the store: an archived object is listed, and cannot be read."""
    lines = ["key,size,storage_class"]
    lines += [f"{key},{size},{'GLACIER' if key == archived else 'STANDARD'}" for key, size in sorted(sizes.items())]
    file.write_text("\n".join(lines) + "\n")
    return file


def _read(broker: TieredBroker, timeout_s: float) -> int:
    """Return how many messages a consumer reads from the beginning."""
    clients: Any = SimpleNamespace(
        broker_ids=(NODE,), node=lambda _: broker.node, broker_address=lambda _: broker.broker_address
    )
    return len(read_all(clients, (ORDERS,), timeout_s)[ORDERS, 0])


def test_archived_object_is_read_again_after_it_is_restored(
    tmp_path: Path, kafkactl: Callable[..., Run], storage_tool: StorageToolServer
) -> None:
    with TieredBroker("4.3.1", tmp_path / "broker") as broker:
        broker.format(storage_tool).node.start().wait_ready()
        broker.chores(f"create:{ORDERS}:{broker.small_segments}", f"produce:{ORDERS}:{COUNT}")
        broker.wait_for(lambda: broker.offsets(ORDERS)["latest_tiered"] >= 85, "copied")
        sizes = {str(file.relative_to(broker.store)): file.stat().st_size
                 for file in broker.store.rglob("*") if file.is_file()}  # fmt: skip
        archived = min(key for key in sizes if key.endswith(".log"))

        def found(key: str) -> set[str]:
            listing = _listing(broker.store, sizes, key, tmp_path / "listing.csv")
            words = ("tiered", "audit", "--from-cluster", "--bootstrap-server", broker.address, "--bucket", listing)
            return {finding["id"] for finding in kafkactl(*words, "-o", "json").json["findings"]}

        broker.wait_for(lambda: found("") == set(), "nothing is reported")
        (broker.store / archived).rename(tmp_path / "archive")
        assert found(archived) == {"archived-object"}
        with contextlib.suppress(AssertionError, KafkaError):
            assert _read(broker, 10) < COUNT
        (tmp_path / "archive").rename(broker.store / archived)
        assert found("") == set()
        assert _read(broker, 180) == COUNT
        assert broker.offsets(ORDERS)["earliest"] == 0
