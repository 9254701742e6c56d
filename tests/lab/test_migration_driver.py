"""The driver on real clusters: all the way forward, back from dual write, and a refusal; more of it in `make lab`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.lab.migration_cluster import MigrationCluster
from tests.lab.migration_driven import Canary, Driven


def seconds_between(journal: str, first: str, last: str) -> float:
    """From the beginning of one action to the end of another, by the driver's journal."""
    entries = [json.loads(line) for line in Path(journal).read_text().splitlines()]
    began = next(one for one in entries if one["entry"] == "intent" and one["data"]["action"] == first)
    intents = {one["seq"]: one["data"]["action"] for one in entries if one["entry"] == "intent"}
    done = [one for one in entries if one["entry"] == "done" and intents[one["data"]["of"]] == last]
    return (done[-1]["at_ms"] - began["at_ms"]) / 1000


def modes(status: dict[str, Any]) -> list[str]:
    return [one["mode"] for one in status["observed"]["brokers"]]


def test_forward_refused_back_and_forward_to_the_end(tmp_path: Path) -> None:
    """Kafka 3.9.2, two brokers, a canary that writes through all of it."""
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2", "topic:more:3:2")
        began = time.monotonic()
        with Canary(cluster, "canary") as canary:
            refused = driven.kafkactl("run", "--yes", code=3)
            assert "--accept C-41" in json.dumps(refused["findings"])
            assert refused["state"] == "M0"
            answer = driven.run("--until", "M6")
            assert (answer["outcome"], answer["state_before"], answer["state"]) == ("done", "M0", "M6")
            answer = driven.kafkactl("rollback", "--yes")
            assert (answer["outcome"], answer["state"]) == ("done", "M0")
            assert cluster.migration() == {}
            assert modes(driven.kafkactl("status")) == ["zk", "zk"]
            without = seconds_between(answer["journal"], "stop-controllers", "delete-controller-znode")
            answer = driven.run()
            assert (answer["outcome"], answer["state"]) == ("done", "M8")
            answer = driven.kafkactl("finalize", "--confirm", cluster.cluster_id())
            assert (answer["outcome"], answer["state"]) == ("done", "M11")
            assert driven.kafkactl("rollback", "--yes", code=3)["outcome"] == "refused"
        took = time.monotonic() - began
        assert canary.result["lost"] == 0
        assert canary.result["acked"] > 100
    print(canary.result, f"{took:.0f} s, without a controller {without:.1f} s")
