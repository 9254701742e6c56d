"""The way out of a damaged newest snapshot is carried out as `storage verify` prints it, and a real node then leads."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafkactl.metadata.io.metadata_log import scan_log_folder, scan_metadata_log
from tests.conftest import Run
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.storage.verify_cases import CONTROLLER, OFTEN, STANDALONE_CONTROLLER, Case, Node
from tests.lab.storage.verify_damage import Damage, cut_in_batch, flipped, holds, in_snapshot
from tests.lab.storage.verify_disks import Disks

FORMS: dict[str, Damage] = {
    "empty": in_snapshot(-1, lambda name: holds(name, b"")),
    "cut": in_snapshot(-1, lambda name: cut_in_batch(name, 1, 100)),
    "wrong bit": in_snapshot(-1, lambda name: flipped(name, 1, 70)),
}


@pytest.mark.parametrize(
    ("release", "node", "form"),
    [
        ("4.3.1", STANDALONE_CONTROLLER, "empty"),
        *(
            pytest.param(release, node, form, marks=pytest.mark.campaign)
            for release in ("3.9.2", "4.3.1", "4.4.0")
            for node in (STANDALONE_CONTROLLER, CONTROLLER)
            for form in FORMS
        ),
    ],
)
def test_only_voter_leads_again_after_the_printed_move(
    kafkactl: Callable[..., Run],
    tmp_path: Path,
    storage_tool: StorageToolServer,
    free_port: Callable[[], int],
    lab_pool: Pool,
    release: str,
    node: Node,
    form: str,
) -> None:
    disks = Disks(tmp_path, storage_tool, free_port)
    case = Case(
        name=form, releases=(release,), damage=FORMS[form], node=replace(node, more=OFTEN), becomes=node,
        started_once=True,
    )  # fmt: skip
    folder = disks.prepare(case, release)
    verify = ("storage", "verify", "-c", folder / "server.properties", "--kafka-version", release, "-o", "json")
    found = kafkactl(*verify)
    assert found.code == 7
    (step,) = [finding["next_step"] for finding in found.json["findings"] if "mv " in finding["next_step"]]
    before = scan_metadata_log(str(folder / "d1")).contents.levels
    subprocess.run(re.findall("`([^`]*)`", step)[0], shell=True, check=True)
    again = kafkactl(*verify)
    assert (again.code, again.json["will_start"], again.json["would_lose"]) == (0, True, [])
    with KafkaNode(release, folder / "server.properties", folder) as running:
        running.start().wait_ready()
        deadline = time.monotonic() + 180
        while "Completed transition to Leader" not in running.log_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert running.stop() is not None
        assert "Completed transition to Leader" in running.log_text()
        assert "appears to be empty" not in running.log_text()
    assert scan_metadata_log(str(folder / "d1")).contents.levels == before


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        ("4.3.1", True),
        *(pytest.param(*case, marks=pytest.mark.campaign) for case in (("4.3.1", False), ("3.9.2", False))),
    ],
)
def test_voter_and_broker_fetch_the_whole_log_after_their_own_was_moved_aside(
    new_cluster: ClusterOf, release: str, dynamic: bool
) -> None:
    # Follow the advice for a log of one of several voters, or of a broker, that does not reach back to a snapshot.
    cluster = new_cluster(release, controllers=3, brokers=1, dynamic=dynamic)
    cluster.start()
    voter = next(number for number in cluster.controller_ids if number != cluster.leader())
    directory = cluster.directory_id(voter)
    for number in (voter, cluster.broker_ids[0]):
        cluster.stop(number)
        folder = cluster.disks.metadata_log(number)
        folder.rename(folder.with_name("moved-aside") if number == voter else folder.parents[1] / "moved-aside")
        cluster.node(number).start().wait_ready()
        cluster.wait_for(lambda folder=folder: scan_log_folder(str(folder)).contents.records > 0, "a log", 120)
    if dynamic:
        assert cluster.voters()[voter] == directory
    leader = cluster.leader()
    (other,) = {*cluster.controller_ids} - {leader, voter}
    cluster.kill(other)  # the voter is needed for a majority now
    cluster.wait_for(cluster.commits, "a commit", 120)
