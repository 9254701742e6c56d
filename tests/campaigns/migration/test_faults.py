"""Faults around the driver on real clusters: it stops where it is safe, reports the observed state, and resumes.

Hooks that misbehave, a ZooKeeper without its quorum, paused, slow or read-only, two drivers, nodes that are killed.
Each journey is recorded in docs/proof/migration.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkactl.migration.zktree.parse import parse_tree
from tests.lab.harness.ports import HOST
from tests.lab.harness.services.slow_way import SlowWay
from tests.lab.harness.zookeeper import ZooKeeperEnsemble
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.driven import Canary
from tests.lab.migration.driving.faults import (
    ANOTHER,
    ANY,
    FAIL,
    HANG,
    LIE,
    TWICE,
    FaultyDriven,
    UnderWay,
    begun,
    ended,
    later,
)
from tests.lab.migration.driving.proof import write_section

pytestmark = pytest.mark.timeout(1_800)


def reached(driven: FaultyDriven, verb: str, state: str, *words: str) -> dict[str, Any]:
    """Return a run that gets there."""
    run = ended(driven, verb, *words)
    assert (run.code, run.answer.get("state")) == (0, state), (run.answer, run.said[-3000:])
    return run.answer


def goes_on(driven: FaultyDriven, verb: str, state: str, *words: str) -> str:
    """Run until one run gets there; the cure that a refusal names is tried. Return what it took, in words."""
    refused: list[str] = []
    for _ in range(8):
        run = ended(driven, verb, *words)
        if run.code == 0:
            assert run.answer["state"] == state
            break
        assert run.code in (1, 3, 5) and run.ids[0] in _CATCHING_UP, (run.answer, run.said[-3000:])
        refused.append(run.ids[0])
        if run.ids[0] == "claim-interrupted" or len(refused) % 3 == 0:  # not only late: lost, until it begins again
            driven.cluster.restart(3001)
            refused.append("the leading controller restarted")
        if run.ids[0] == "kraft-brokers-without-quorum":  # the other driver had stopped it
            driven.cluster.start(3001)
            refused.append("the controller started")
        refused += start_the_dead(driven.cluster)
    else:
        raise AssertionError((refused, run.answer, run.said[-3000:]))
    refused += start_the_dead(driven.cluster)
    return (
        f", behind {', '.join(f'`{finding}`' if '-' in finding else finding for finding in refused)}" if refused else ""
    )


def start_the_dead(cluster: MigrationCluster) -> list[str]:
    """Start brokers that had exited, without a ZooKeeper to register in."""
    dead = [broker_id for broker_id in cluster.broker_ids if not cluster.node(broker_id).alive]
    cluster.start(*dead)
    return [f"broker {broker} started" for broker in dead]


_CATCHING_UP = (
    "broker-down",
    "claim-interrupted",
    "copy-crashed",
    "zookeeper-and-kraft-differ",
    "zookeeper-differs-from-kraft",
    "zookeeper-behind-kraft",
    "migration-driver-stuck",
    "dual-write-not-seen",
    "zookeeper-behind",
    "kraft-brokers-without-quorum",
    "migration-lock-lost",  # ZooKeeper was away for longer than the driver's session
)


def test_hooks_that_fail_hang_lie_or_restart_another_node(tmp_path: Path) -> None:
    notes = []
    with MigrationCluster("3.9.2", tmp_path) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2")
        with Canary(cluster, "canary") as canary:

            def stopped(verb: str, node: int, fault: str, id: str, *words: str) -> str:
                driven.strikes(verb, node, fault)
                run = ended(driven, "run", *words)
                codes = (6,) if fault == HANG else (1, 5)
                assert run.code in codes and run.ids[0] == id, (run.code, run.answer, run.said[-3000:])
                assert run.answer["findings"][-1]["next_step"], run.answer
                notes.append(f"hook {verb} of node {node}, {fault}: exit {run.code}, `{id}`, in {run.took_s:.0f} s")
                return str(run.answer["findings"][-1]["message"])

            stopped("start", 3001, FAIL, "hook-failed", "--until", "M6")
            driven.rewrite(hook_timeout_s=8)
            said = stopped("stop", 1, HANG, "hook-timed-out", "--until", "M6")
            assert "8 s" in said
            driven.rewrite(hook_timeout_s=120)
            stopped("start", 1, LIE, "started-node-ended", "--until", "M6", "--gate-timeout", "15s")
            assert not cluster.node(1).alive
            driven.strikes("start", 1, TWICE)
            reached(driven, "run", "M6", "--until", "M6")
            assert cluster.node(1).alive
            notes.append("hook start of node 1, twice: no harm; M6 reached")

            # One hook that restarts, and says nothing of the process.
            driven.rewrite(verbs=("restart",))
            stopped("restart", 1, LIE, "step-not-confirmed", "--gate-timeout", "15s")
            stopped("restart", 1, ANOTHER, "step-not-confirmed", "--gate-timeout", "15s")
            driven.strikes("restart", 1, TWICE)
            reached(driven, "run", "M8")
            notes.append("hook restart of node 1, twice: no harm; M8 reached")

            # The most dangerous lie: controllers are said to be gone, and are not.
            driven.rewrite(verbs=("stop", "start", "is_running"))
            for verb in ("stop", *["is_running"] * 200):
                driven.strikes(verb, 3001, LIE)
            back = ended(driven, "rollback")
            assert back.ids[0] == "controller-still-runs", (back.code, back.answer, back.said[-3000:])
            assert cluster.node(3001).alive and cluster.controller()["kraftControllerEpoch"] >= 0
            notes.append(
                f"rollback, hooks stop and is_running of the controller lie: exit {back.code}, `controller-still-runs`"
                " by its open port; /controller and /migration untouched"
            )
            driven.mend()
            reached(driven, "rollback", "M0")
        assert canary.result["lost"] == 0
    write_section("3.9.2: hooks that fail, hang, lie, or restart another node", notes, canary.result)


def is_claimed(cluster: MigrationCluster) -> bool:
    """Return True if KRaft has taken `/controller`, which the copy begins with."""
    return int(cluster.controller().get("kraftControllerEpoch", -1)) >= 0


@pytest.mark.parametrize("read_only", [False, True])
def test_zookeeper_loses_its_quorum_in_mid_step(read_only: bool, tmp_path: Path) -> None:
    # Two servers of three are killed: when the last broker starts, in dual write, and before the znodes go.
    notes = []
    ensemble = ZooKeeperEnsemble(tmp_path, read_only=read_only)
    with MigrationCluster("3.9.2", tmp_path, zookeeper=ensemble) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2")
        with Canary(cluster, "canary") as canary:
            for verb, node, goal, state, words in (
                ("start", 2, "run", "M6", ("--until", "M6")),
                ("stop", 1, "run", "M8", ()),
                ("stop", 3001, "rollback", "M0", ()),
            ):
                driven.at(verb, node, ensemble.lose_quorum)
                run = ended(driven, goal, *words)
                assert run.code in (1, 5, 6) and run.ids[0].startswith("zookeeper-"), (run.answer, run.said[-3000:])
                assert "uorum" in json.dumps(run.answer["findings"]) or "ZooKeeper" in json.dumps(run.answer)
                again = ended(driven, goal, *words)
                assert (again.code, again.ids[0]) == (4, f"zookeeper-{'read-only' if read_only else 'unreachable'}")
                notes.append(
                    f"quorum lost at the hook {verb} of node {node} on the way to {state}: exit {run.code} after"
                    f" {run.took_s:.0f} s, `{run.ids[0]}`; another run: exit {again.code}, `{again.ids[0]}`"
                )
                ensemble.start().wait_ready()
                notes.append(f"the quorum back: {state} reached{goes_on(driven, goal, state, *words)}")
        assert canary.result["lost"] == 0
    kind = "and lets read" if read_only else "and refuses all requests"
    write_section(f"3.9.2: ZooKeeper loses two of three servers in mid-step {kind}", notes, canary.result)


def test_zookeeper_hangs_for_longer_than_a_session_lasts(tmp_path: Path) -> None:
    # Stopped by a signal for 25 s: every session of brokers, controllers and the driver is over.
    notes = []
    with MigrationCluster("3.9.2", tmp_path) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2")

        def hang() -> None:
            cluster.zookeeper.pause()
            later(25, cluster.zookeeper.resume)

        with Canary(cluster, "canary") as canary:
            for goal, action, state, words in (
                ("run", "the copy", "M6", ("--until", "M6")),
                ("run", "restart-node broker", "M8", ()),
                ("rollback", "delete-controller-znode", "M0", ()),
            ):
                known = len(driven.journal)

                def is_begun(entries: list[dict[str, Any]], known: int = known, action: str = action) -> bool:
                    if action == "the copy":
                        return is_claimed(cluster)
                    return any(action in step for step in begun(entries[known:]))

                with UnderWay(driven, goal, *words) as run:
                    run.until(is_begun)
                    hang()
                if run.code == 0:
                    assert run.answer["state"] == state
                    notes.append(f"hung for 25 s at {action}: {state} reached by the same run")
                    continue
                assert run.code in (1, 5, 6) and run.answer["findings"], (run.answer, run.said[-3000:])
                notes.append(
                    f"hung for 25 s at {action}: exit {run.code}, `{run.ids[0]}`; {state} reached by the next run"
                    f"{goes_on(driven, goal, state, *words)}"
                )
        assert canary.result["lost"] == 0
    write_section("3.9.2: ZooKeeper hangs for longer than a session lasts", notes, canary.result)


def test_migration_is_done_with_a_slow_zookeeper(tmp_path: Path) -> None:
    # The driver's own way to it is slow, then as good as dead, then well again.
    notes = []
    with MigrationCluster("3.9.2", tmp_path, brokers=1) as cluster, SlowWay(delay_s=0.15) as way:
        cluster.reach("M0")
        way.to = (HOST, cluster.zookeeper.ports[0])
        with FaultyDriven(cluster, connect=f"{way.connect}{cluster.chroot}") as driven:
            run = ended(driven, "run", "--until", "M6")
            assert (run.code, run.answer["state"]) == (0, "M6"), (run.answer, run.said[-3000:])
            notes.append(f"every answer 300 ms late: M6 in {run.took_s:.0f} s")
            driven.at("stop", 1, lambda: setattr(way, "delay_s", 30.0))
            run = ended(driven, "run")
            assert run.code in (1, 5, 6) and run.ids[0].startswith("zookeeper-"), (run.answer, run.said[-3000:])
            notes.append(f"every answer 60 s late: exit {run.code} after {run.took_s:.0f} s, `{run.ids[0]}`")
            way.delay_s = 0.15
            reached(driven, "run", "M8")
            reached(driven, "rollback", "M0")
            notes.append("300 ms again: the next run reached M8, and the way back M0")
    write_section("3.9.2: a slow ZooKeeper", notes, None)


def test_driver_raises_a_low_epoch_in_its_rollback(tmp_path: Path) -> None:
    # KAFKA-20488: partitions carry KRaft's epoch, which is above /controller_epoch after many elections.
    with MigrationCluster("3.9.2", tmp_path) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2", "topic:more:3:2")
        with Canary(cluster, "canary") as canary:
            reached(driven, "run", "M3", "--until", "M3")
            for _ in range(6):
                cluster.restart(3001)
            reached(driven, "run", "M6", "--until", "M6", "--accept", "rollback-needs-controller-epoch")
            cluster.restart(1, "migration")  # leaders move, so KRaft stamps their states
            cluster.wait_for(lambda: max(epochs(cluster)[1]) > epochs(cluster)[0], "stamped states above the epoch")
            low, states = epochs(cluster)
            answer = reached(driven, "rollback", "M0")
            assert [step["state"] for step in answer["steps"] if step["action"] == "raise-controller-epoch"] == ["done"]
            high, _ = epochs(cluster)
            assert high > max(states)
            cluster.stop(1)  # where a state is of a higher epoch, no controller leads from here on
            cluster.wait_for(lambda: set(leaders(cluster)) == {2}, "given every partition to broker 2")
            cluster.start(1)
        assert canary.result["lost"] == 0
    write_section(
        "3.9.2: the epoch raised by the driver on its way back (KAFKA-20488)",
        [
            f"in M6 /controller_epoch {low}, partition states up to {max(states)}; after the way back {high}",
            "broker 1 stopped then: broker 2 leads every partition",
        ],
        canary.result,
    )


def epochs(cluster: MigrationCluster) -> tuple[int, list[int]]:
    """Return `/controller_epoch`, and the epoch of every partition's state."""
    with cluster.open_zookeeper() as zookeeper:
        tree = parse_tree(zookeeper.read_tree())
    states = [partition.state for topic in tree.topics.values() for partition in topic.partitions.values()]
    assert tree.controller_epoch is not None
    return tree.controller_epoch, [state.controller_epoch for state in states if state is not None]


def leaders(cluster: MigrationCluster) -> list[int]:
    """Return the leaders of every partition with a replica on broker 2."""
    with cluster.open_zookeeper() as zookeeper:
        tree = parse_tree(zookeeper.read_tree())
    parts = [
        partition
        for topic in tree.topics.values()
        for partition in topic.partitions.values()
        if 2 in partition.replicas
    ]
    return [part.state.leader for part in parts if part.state is not None]


def test_nodes_that_are_killed_under_the_driver(tmp_path: Path) -> None:
    # The controller in the copy, ZooKeeper in dual write, a broker while another one is rolled; all come back.
    notes = []
    with MigrationCluster("3.9.2", tmp_path) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        cluster.fill()
        cluster.chores("topic:canary:1:2")

        with Canary(cluster, "canary", interval_ms=200) as canary:
            with UnderWay(driven, "run", "--until", "M6") as run:
                run.until(lambda _: is_claimed(cluster))
                cluster.node(3001).kill()
                copied = cluster.migration().get("kraft_metadata_offset", -1)
                cluster.start(3001, wait=False)
            assert (run.code, run.answer["state"]) == (0, "M6"), (run.answer, run.said[-3000:])
            notes.append(f"controller killed when it had taken /controller (offset {copied}), and started: M6, one run")

            def lose_zookeeper() -> None:
                cluster.zookeeper.kill()
                later(12, cluster.zookeeper.start)

            driven.at("stop", ANY, lose_zookeeper)
            run = ended(driven, "run", "--until", "M7")
            assert (run.code, run.answer["state"]) == (0, "M7"), (run.answer, run.said[-3000:])
            notes.append("ZooKeeper killed in dual write as the first broker is stopped, back after 12 s: M7, one run")

            def lose_the_other() -> None:
                other = 3 - driven.served[-1][1]
                cluster.node(other).kill()
                later(15, lambda: cluster.start(other, wait=False))

            driven.at("start", ANY, lose_the_other, when="after")
            run = ended(driven, "run")
            assert (run.code, run.answer["state"]) == (0, "M8"), (run.answer, run.said[-3000:])
            notes.append("a broker on KRaft killed while the other one changes, back after 15 s: M8, one run")
            compared = driven.kafkactl("compare")
            assert [difference for difference in compared["differences"] if difference["explained"] is None] == []
        assert canary.result["lost"] == 0
    write_section("3.9.2: nodes killed under the driver", notes, canary.result)


def test_second_driver_is_refused(tmp_path: Path) -> None:
    # With one journal the second is refused; with another journal the first is known only by what it does.
    notes = []
    with MigrationCluster("3.9.2", tmp_path) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        cluster.chores("topic:canary:1:2")
        with Canary(cluster, "canary") as canary:
            with UnderWay(driven, "run", "--until", "M3") as first:
                first.until(lambda entries: bool(begun(entries)))
                second = ended(driven, "rollback")
                assert (second.code, second.ids) == (3, ["another-kafkactl-is-changing"]), second.answer
            assert (first.code, first.answer["state"]) == (0, "M3")
            notes.append("one journal: the second is refused, exit 3, `another-kafkactl-is-changing`")

            with UnderWay(driven, "run", "--until", "M6") as first:
                first.until(lambda entries: any("restart-node broker" in step for step in begun(entries)))
                second = ended(driven.with_other_journal("elsewhere"), "run", "--until", "M6")
            assert (first.code, second.code, second.ids) == (0, 3, ["concurrent-migration-run"]), second.answer
            notes.append("two journals, both forward: the second is refused, exit 3, `concurrent-migration-run`")

            second = ended(driven.with_other_journal("another"), "rollback")
            assert (second.code, set(second.ids)) == (3, {"original-file-unknown"}), second.answer
            notes.append("a way back with a new journal: exit 3, `original-file-unknown`; nothing touched")

            # The one that can do harm: the journal was copied to another machine.
            known = len(driven.journal)
            with UnderWay(driven, "run") as first:
                first.until(lambda entries: any("restart-node broker" in step for step in begun(entries[known:])))
                second = ended(driven.with_other_journal("copied", is_copy=True), "rollback")
            assert (first.code, second.code, second.ids) == (0, 3, ["concurrent-migration-run"]), second.answer
            notes.append("a copied journal, run and rollback at once: the rollback is refused, the run reached M8")
            notes.append(f"alone then: M0 reached{goes_on(driven, 'rollback', 'M0')}")
        assert canary.result["lost"] == 0
    write_section("3.9.2: two drivers at once", notes, canary.result)
