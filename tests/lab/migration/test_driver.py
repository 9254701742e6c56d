"""The driver on real clusters: forward to the end, back from dual write, and a refusal; more of it in `make lab`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.driven import ACCEPTED, Canary, Driven
from tests.lab.migration.driving.proof import write_section
from tests.lab.migration.driving.runbook import Line, Runbook


def seconds_between(journal: str, first: str, last: str) -> float:
    """Return the seconds from the beginning of one action to the end of another, by the driver's journal."""
    entries = [json.loads(line) for line in Path(journal).read_text().splitlines()]
    began = next(entry for entry in entries if entry["entry"] == "intent" and entry["data"]["action"] == first)
    intents = {entry["seq"]: entry["data"]["action"] for entry in entries if entry["entry"] == "intent"}
    done = [entry for entry in entries if entry["entry"] == "done" and intents[entry["data"]["of"]] == last]
    return (done[-1]["at_ms"] - began["at_ms"]) / 1000


def modes(status: dict[str, Any]) -> list[str]:
    return [broker["mode"] for broker in status["observed"]["brokers"]]


def test_runbook_is_followed_forward_back_and_to_the_end(tmp_path: Path) -> None:
    # Kafka 3.9.2, two brokers, every line of docs/migration.md, and a canary that writes through all of it.
    #
    # The lines stand in the runbook's order, but for the rollback, which starts from dual write. What an operator says
    # at a terminal is given by options here; test_runbook.py has an operator type it.
    runbook = Runbook()
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster, Driven(cluster) as driven:

        def section_of(section: str, state: str, *words: str) -> list[dict[str, Any]]:
            """Return the lines of a section, and the state that the last of them has to find or to reach."""
            answers = []
            for line in runbook.section(section):
                answers.append(driven.typed(line, *said(line), *words))
                runbook.ran(line)
            assert [answer["state"] for answer in answers if "state" in answer][-1:] in ([], [state])
            return answers

        cluster.reach("M0")
        cluster.chores("topic:canary:1:2", "topic:more:3:2")
        began = time.monotonic()
        with Canary(cluster, "canary") as canary:
            section_of("Live clusters", "M0")
            assert not section_of("1.", "M0")[0]["passes"]
            refused = driven.kafkactl("run", "--yes", code=3)
            assert "--accept automation-unknown" in json.dumps(refused["findings"])
            assert refused["state"] == "M0"
            section_of("2.", "M3")
            section_of("3.", "M4L")
            copied, compared = section_of("4.", "M6")
            assert copied["outcome"] == "done" and compared["unexplained"] == 0
            answer = section_of("Rollback", "M0")[-1]
            assert (answer["outcome"], answer["state_before"]) == ("done", "M6")
            assert cluster.migration() == {}
            assert modes(driven.kafkactl("status")) == ["zk", "zk"]
            without = seconds_between(answer["journal"], "stop-controllers", "delete-controller-znode")
            assert section_of("5.", "M8")[-1]["outcome"] == "done"
            assert section_of("6.", "M11")[-1]["outcome"] == "done"
            assert driven.kafkactl("rollback", "--yes", code=3)["outcome"] == "refused"
            section_of("7.", "M11")
        assert canary.result["lost"] == 0
        assert canary.result["acked"] > 100
        assert time.monotonic() - began < 1500
    assert without < 120
    assert runbook.left == []


def said(line: Line) -> list[str]:
    """Return what an operator answers, and how long one looks at a board."""
    answers = {
        "run": ["--yes", *(word for finding in ACCEPTED for word in ("--accept", finding))],
        "rollback": [] if "--dry-run" in line.text else ["--yes"],
        "status": ["--interval", "500ms", "--timeout", "4s"] if "--watch" in line.text else [],
    }
    return answers.get(line.verb, [])


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.7.2", "3.8.1", "3.9.2"])
def test_cluster_with_data_of_every_kind_is_migrated(release: str, tmp_path: Path) -> None:
    with MigrationCluster(release, tmp_path, brokers=2) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        cluster.fill()
        cluster.chores("topic:canary:1:2")
        with Canary(cluster, "canary", interval_ms=200) as canary:  # its user may read 2 KB a second
            began = time.monotonic()
            answer = driven.run("--until", "M6")
            assert answer["state"] == "M6"
            to_copy = time.monotonic() - began
            compared = driven.kafkactl("compare")
            assert [difference for difference in compared["differences"] if difference["explained"] is None] == []
            answer = driven.run()
            assert answer["state"] == "M8"
            to_kraft = time.monotonic() - began - to_copy
            answer = driven.kafkactl("finalize", "--confirm", cluster.cluster_id())
            assert (answer["outcome"], answer["state"]) == ("done", "M11")
            took = time.monotonic() - began
        assert canary.result["lost"] == 0
    write_section(
        f"{release}: forward to the end, two brokers, data of every kind",
        [
            f"M0 to M6 in {to_copy:.0f} s, M6 to M8 in {to_kraft:.0f} s, all in {took:.0f} s",
            f"ZooKeeper against KRaft in M6: {len(compared['differences'])} differences, none unexplained",
        ],
        canary.result,
    )


@pytest.mark.campaign
@pytest.mark.timeout(2400)
def test_cluster_of_three_controllers_is_migrated_to_kafka_4(tmp_path: Path) -> None:
    # Back from M4, forward to the end, then binaries and metadata.version of 4.0, under one canary.
    notes = []
    with MigrationCluster("3.9.2", tmp_path, brokers=3, controllers=3) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        cluster.fill()
        cluster.chores("topic:canary:1:3")
        with Canary(cluster, "canary", interval_ms=200) as canary:
            # A young quorum of three has had more elections than the ZooKeeper controller: the epoch has to be raised
            # in the rollback, which is to be known before the first broker enters.
            assert driven.run("--until", "M4", "--accept", "rollback-needs-controller-epoch")["state"] == "M4"
            assert driven.kafkactl("rollback", "--yes")["state"] == "M0"
            notes.append("back from M4 with one of three brokers entered")
            answer = driven.run("--accept", "rollback-needs-controller-epoch")
            assert answer["state"] == "M8"
            leader = next(
                controller["id"]
                for controller in driven.kafkactl("status")["observed"]["controllers"]
                if controller["leader"]
            )
            answer = driven.kafkactl("finalize", "--confirm", cluster.cluster_id())
            assert (answer["outcome"], answer["state"]) == ("done", "M11")
            restarted = restarted_controllers(answer["journal"])
            assert restarted[-1] == leader
            notes.append(f"finalized: controllers restarted in the order {restarted}, the leader {leader} last")
            left = {finding["id"] for finding in driven.kafkactl("status")["findings"]}
            assert {"binaries-can-be-upgraded", "zookeeper-no-longer-used"} <= left
            cluster.zookeeper.stop(10)
            cluster.release = "4.0.2"
            for node_id in (*cluster.controller_ids, *cluster.broker_ids):
                cluster.restart(node_id)
            upgrade = (
                "features",
                "--bootstrap-server",
                cluster.bootstrap_server,
                "upgrade",
                "--release-version",
                "4.0",
            )
            ended = subprocess.run(
                [sys.executable, "-m", "kafkactl", *upgrade, "-o", "json"], capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
            notes.append("ZooKeeper stopped, every node restarted as 4.0.2, metadata.version raised to 4.0")
        assert canary.result["lost"] == 0
    write_section("3.9.2: three brokers, three controllers, and on to 4.0.2", notes, canary.result)


def restarted_controllers(journal: str) -> list[int]:
    """Return the nodes that the driver restarted last, by its journal: the controllers of the end, in their order."""
    entries = [json.loads(line) for line in Path(journal).read_text().splitlines()]
    found = [
        entry["data"] for entry in entries if entry["entry"] == "intent" and entry["data"]["action"] == "restart-node"
    ]
    return [int(step["target"].split()[-1]) for step in found if step["target"].startswith("controller")][-3:]


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("release", ["3.7.2", "3.8.1", "3.9.2"])
def test_cluster_is_migrated_after_a_rollback_from_every_state(release: str, tmp_path: Path) -> None:
    # One cluster that goes forward and back again and again: every run forward but the first is a second attempt.
    #
    # Three brokers, for with two of them M4 and M4L are one state.
    notes = []
    with MigrationCluster(release, tmp_path, brokers=3) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:3", "topic:more:3:2")
        with Canary(cluster, "canary") as canary:
            for state in ("M3", "M4", "M4L", "M6", "M7", "M8"):
                assert driven.run("--until", state)["state"] == state
                began = time.monotonic()
                answer = driven.kafkactl("rollback", "--yes")
                assert (answer["outcome"], answer["state"]) == ("done", "M0")
                took = time.monotonic() - began
                assert modes(driven.kafkactl("status")) == ["zk"] * 3
                assert cluster.migration() == {} and "kraftControllerEpoch" not in {
                    key for key, value in cluster.controller().items() if value != -1
                }
                notes.append(f"back from {state} in {took:.0f} s")
            began = time.monotonic()
            assert driven.run("--until", "M6")["state"] == "M6"
            compared = driven.kafkactl("compare")
            assert [difference for difference in compared["differences"] if difference["explained"] is None] == []
            assert driven.run()["state"] == "M8"
            assert driven.kafkactl("finalize", "--confirm", cluster.cluster_id())["state"] == "M11"
            notes.append(f"forward for the seventh time, and to the end (M11), in {time.monotonic() - began:.0f} s")
        assert canary.result["lost"] == 0
    write_section(f"{release}: back from every state, and forward again", notes, canary.result)


@pytest.mark.campaign
@pytest.mark.parametrize("then", ["run", "rollback"])
def test_driver_that_is_killed_is_resumed(then: str, tmp_path: Path) -> None:
    # SIGKILL as soon as the journal has so many entries; the next run gets there.
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2")
        kills = 0
        with Canary(cluster, "canary") as canary:
            if then == "run":  # killed again and again on one way, until there is nothing left to be killed in
                # A run writes five entries before it first touches anything: one more entry each time gets further.
                while killed_at(driven, 6 + kills) is not None:
                    kills += 1
                assert driven.run()["state"] == "M8"
            else:  # killed once on each way
                for entries in (9, 16, 22, 27, 33):
                    assert killed_at(driven, entries) is not None
                    kills += 1
                    answer = driven.kafkactl("rollback", "--yes")
                    assert answer["state"] == "M0" and answer["outcome"] in ("done", "nothing-to-do")
        assert canary.result["lost"] == 0
        assert kills >= 4
    write_section(
        f"3.9.2: the driver killed, then {then}",
        [f"killed {kills} times, the goal was reached each time"],
        canary.result,
    )


def killed_at(driven: Driven, more: int) -> int | None:
    """Start a run forward and kill it when the journal has so many entries more; None if it ended before."""
    folder = driven.cluster.workdir / "journal"
    before = entries_in(folder)
    accepted = [word for finding in ACCEPTED for word in ("--accept", finding)]
    said = driven.cluster.workdir / "killed-run.txt"
    with said.open("wb") as out:
        process = subprocess.Popen(
            driven.command("run", "--yes", *accepted), stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
        while process.poll() is None:
            if entries_in(folder) - before >= more:
                process.kill()
                process.wait()
                return entries_in(folder)
            time.sleep(0.02)
    assert process.returncode == 0, said.read_text()
    return None


def entries_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))
