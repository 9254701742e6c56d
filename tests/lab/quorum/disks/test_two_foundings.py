"""Disks of a majority are formatted again under the old cluster id: two histories, and recovery of the first one."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from kafkactl.metadata.image.model import BROKER_CONFIG
from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config

Cli = Callable[..., Run]
KEY, VALUE = "log.retention.ms", "1234567"


def set_value(cluster: KafkaCluster) -> int:
    """Return the error code of the change of a setting that only the first founding has."""
    config = {"Name": KEY, "ConfigOperation": 0, "Value": VALUE}
    body = {
        "Resources": [{"ResourceType": BROKER_CONFIG, "ResourceName": "", "Configs": [config]}],
        "ValidateOnly": False,
    }
    with cluster.client(timeout_ms=10_000) as client:
        answer = client.ask_active_controller("IncrementalAlterConfigs", body, changes=True).body
    code: int = answer["Responses"][0]["ErrorCode"]
    return code


def has_value(kafkactl: Cli, *source: object) -> bool:
    return VALUE in kafkactl("log", "image", *source, "-o", "json").stdout


def ids(run: Run) -> set[str]:
    return {finding["id"] for finding in run.json["findings"]}


@pytest.mark.parametrize("release", ["4.3.1", pytest.param("3.9.2", marks=pytest.mark.campaign)])
def test_two_foundings_are_named_and_the_first_one_is_recovered(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0)
    cluster.start()
    assert set_value(cluster) == 0
    logs = [cluster.disks.metadata_log(id) for id in cluster.controller_ids]
    cluster.wait_for(lambda: all(has_value(kafkactl, log) for log in logs), "the setting in every log")
    cluster.kill(*cluster.controller_ids)
    assert kafkactl("log", "verify", *logs, "-o", "json").code == 0
    for wiped in (1, 2):
        shutil.rmtree(cluster.disks.log_dir(wiped))
        cluster.disks.prepare(wiped, release, initial=True)
    cluster.start(1, 2)
    address = cluster.controller_address(1)
    live = kafkactl("quorum", "describe", "--bootstrap-controller", address, "--log-dir", logs[2], "-o", "json")
    assert live.code == 7
    assert "cluster-founded-twice" in ids(live), live.stdout
    assert "Bring it back" not in live.stdout
    cluster.kill(1, 2)
    apart = kafkactl("log", "verify", *logs, "-o", "json")
    assert (apart.code, ids(apart)) == (7, {"cluster-founded-twice"})
    dead = kafkactl("quorum", "describe", *(word for log in logs for word in ("--log-dir", log)), "-o", "json")
    assert "cluster-founded-twice" in ids(dead)

    target = cluster.disks.workdir / "recovered"
    shown = ("--log-dir", cluster.disks.log_dir(3))
    words = ("quorum", "recover", *shown, "--lost", "1,2", "--out", target, "-o", "json")
    assert kafkactl(*words, "--confirm", cluster.cluster_id).json["outcome"] == "done"
    file = cluster.config_file(3)
    changes = {"log.dirs": str(target), "controller.quorum.bootstrap.servers": str(cluster.controller_address(3))}
    write_config(file, read_config(file) | changes)
    cluster.node(3).start().wait_ready()
    cluster.wait_for(lambda: cluster.leader_now() == 3, "the recovered controller leads", 120)
    assert has_value(kafkactl, "--from-cluster", "--bootstrap-controller", cluster.controller_address(3))
