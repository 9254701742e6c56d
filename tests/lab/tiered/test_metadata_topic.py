"""Settings of the metadata topic that delete its records: the remedies, and the loss that a restart would bring."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.tiered.cluster import TieredBroker

pytestmark = [pytest.mark.timeout(600), pytest.mark.campaign]
Kafkactl = Callable[..., Run]
TOPIC, ORDERS = "__remote_log_metadata", "orders"


class Operator:
    """Operator that queries kafkactl and sets what the next step names."""

    def __init__(self, broker: TieredBroker, kafkactl: Kafkactl, tool: StorageToolServer) -> None:
        self._broker, self._kafkactl, self._tool = broker, kafkactl, tool

    def ask(self, verb: str) -> Run:
        source = ("--from-cluster", "--bootstrap-server", self._broker.address)
        return self._kafkactl("tiered", verb, *source, "-o", "json")

    def found(self) -> dict[str, dict[str, Any]]:
        return {finding["id"]: finding for finding in self.ask("audit").json["findings"]}

    def set(self, step: str) -> None:
        settings = ",".join(re.findall(r"[a-z.]+=[-a-z0-9]+", step.partition(" on the topic")[0]))
        assert settings, step
        words = ["--alter", "--entity-type", "topics", "--entity-name", TOPIC, "--add-config", settings]
        where = ["--bootstrap-server", self._broker.address]
        run = self._tool.run_tool(releases.NEWEST_WITH_TOOLS, "kafka.admin.ConfigCommand", [*where, *words])
        assert run.exit_code == 0, run.stdout + run.stderr


def test_settings_of_the_metadata_topic_are_corrected_before_a_restart_loses_data(
    tmp_path: Path, kafkactl: Kafkactl, storage_tool: StorageToolServer
) -> None:
    with TieredBroker("4.3.1", tmp_path / "broker") as broker:
        broker.format(storage_tool).node.start().wait_ready()
        operator = Operator(broker, kafkactl, storage_tool)
        broker.chores(f"create:{ORDERS}:{broker.small_segments}", f"produce:{ORDERS}:100")
        broker.wait_for(lambda: broker.offsets(ORDERS)["latest_tiered"] >= 85, "copied")
        broker.chores(f"configure:{TOPIC}:retention.ms=3600000,retention.bytes=1000000")
        expires = broker.wait_for(lambda: operator.found().get("metadata-topic-expires"), "reported")
        operator.set(expires["next_step"])
        broker.wait_for(lambda: not operator.found(), "nothing is left to report")

        broker.chores(f"configure:{TOPIC}:segment.ms=500")
        closed = f"{TOPIC}-*/*.log"
        broker.chores(f"produce:{ORDERS}:60")
        broker.wait_for(lambda: len([file for file in broker.data.glob(closed) if file.stat().st_size]) > 1, "rolled")
        (first,) = (file for file in broker.data.glob(f"{TOPIC}-*/{0:020}.log") if file.stat().st_size)
        size = first.stat().st_size
        policy = "cleanup.policy=compact,min.cleanable.dirty.ratio=0.001,file.delete.delay.ms=500"
        broker.chores(f"configure:{TOPIC}:{policy}")
        compacted = broker.wait_for(lambda: operator.found().get("metadata-topic-compacted"), "reported")
        broker.wait_for(lambda: first.stat().st_size < size, "the log cleaner removes records", 90)
        operator.set(compacted["next_step"])
        broker.wait_for(lambda: "metadata-topic-compacted" not in operator.found(), "corrected")
        assert operator.found()["metadata-log-start-moved"]["severity"] == "blocker"
        print(operator.ask("forecast").stdout)
        assert broker.offsets(ORDERS)["earliest"] == 0
        broker.node.stop()
        broker.node.start().wait_ready()
        broker.wait_for(lambda: print(broker.offsets(ORDERS)) or broker.offsets(ORDERS)["earliest"] > 0, "moved")
        print(operator.ask("forecast").stdout)
