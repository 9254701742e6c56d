"""`kafkactl status` and `storage verify` of a real node whose command line overrides its file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.files import processes
from tests.conftest import Run
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.node import write_config

Kafkactl = Callable[..., Run]


def test_node_is_judged_by_what_it_runs_with(
    new_cluster: ClusterOf, kafkactl: Kafkactl, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = new_cluster("4.3.1", controllers=1, brokers=0, combined=True)
    node, file = cluster.node(1), cluster.config_file(1)
    own = {key: value for key, value in node.config.items() if key in ("log.dirs", "node.id", "listeners")}
    assert own.keys() == {"log.dirs", "node.id", "listeners"}
    wrong = {"log.dirs": "/nowhere", "node.id": "9", "listeners": own["listeners"].replace("127.0.0.1:", "127.0.0.1:1")}
    write_config(file, {**node.config, **wrong})
    node._command = [*node._command, "--override=node.id=1"]
    for key in ("log.dirs", "listeners"):
        node._command += ["--override", f"{key}={own[key]}"]
    cluster.start()
    arguments = processes.arguments_of(node.pid)
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter([(node.pid, arguments)]))
    run = kafkactl("status", "-c", file, "-o", "json")
    assert run.stdout, run
    host = next(area for area in run.json["areas"] if area["area"] == "this-host")
    assert (run.code, host["verdict"], host["counts"]) == (0, "ok", {"nodes": 1, "running": 1}), run
    assert "node-file-overridden" in {finding["id"] for finding in host["findings"]}
    verified = kafkactl("storage", "verify", "-c", file, "-o", "json")
    assert (verified.code, verified.json["node_id"]) == (0, 1)
    assert [found["path"] for found in verified.json["directories"]] == [own["log.dirs"]]
