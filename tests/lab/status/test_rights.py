"""`kafkactl status` of a login with few rights: what it may not ask is unknown, and nothing of it is ok."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.features.test_features_secured import CLUSTER_ID, RELEASE, Guarded
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once

Kafkactl = Callable[..., Run]


@pytest.fixture(scope="module")
def guarded(storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Yield a node to which alice may log in."""
    cluster = Guarded(storage_tool, tmp_path_factory.mktemp("status"))
    formatted = storage_tool.run(RELEASE, ["format", "-t", CLUSTER_ID, "-c", cluster.node.config_file, "-r", RELEASE])
    assert formatted.exit_code == 0, formatted
    with cluster.node as node:
        node.start().wait_ready()
        yield cluster


def test_each_right_makes_more_known(guarded: Guarded, kafkactl: Kafkactl) -> None:
    def areas(run: Run) -> dict[str, Any]:
        return {area["area"]: area for area in run.json["areas"]} if run.stdout else {}

    def asked(code: int, area: str, verdict: str) -> dict[str, Any]:
        """Return the areas when the rights are in force: every node has read them."""
        run = answer_once(
            lambda run: run.code == code and areas(run)[area]["verdict"] == verdict,
            lambda: kafkactl("status", *guarded.words("alice"), "-o", "json"),
        )
        assert run.code == code, run
        return areas(run)

    tool = "org.apache.kafka.tools.TopicCommand"
    made = guarded.tool.run_tool(RELEASE, tool, [*guarded.words("admin"), "--create", "--topic", "orders"])
    assert made.exit_code == 0, made
    assert kafkactl("status", *guarded.words("admin"), "-o", "json").code == 0
    nothing = asked(6, "quorum", "unknown")
    assert nothing["quorum"]["verdict"] == nothing["partitions"]["verdict"] == "unknown"
    assert set(nothing["partitions"]["counts"].values()) == {None}
    guarded.allow("Describe")
    described = asked(6, "quorum", "ok")
    assert described["quorum"]["counts"]["leader_id"] == 1
    assert described["partitions"]["verdict"] == "unknown"
    assert "sees no topics" in described["partitions"]["text"]
    guarded.allow("ClusterAction")
    guarded.allow("DescribeConfigs")
    known = asked(0, "brokers", "ok")
    assert known["partitions"]["counts"]["partitions"] == 1
    assert known["brokers"]["verdict"] == "ok"
