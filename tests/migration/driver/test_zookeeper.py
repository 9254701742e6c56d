"""A ZooKeeper that disappears during a step: waited for a while, then reported, and the next run resumes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Outcome, warning
from kafkactl.migration.api import driver as migration_driver_open
from kafkactl.migration.driver.journal import remembered
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.observed.observation import Mode
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import at_phase, inventory_of, open_context
from tests.migration.driver.test_rollback import assert_back
from tests.migration.driver.test_run import assert_on_kraft, back, forward


class Away(FakeWorld):
    """ZooKeeper does not answer so many times after a hook was asked for something, once."""

    def __init__(self, cluster: FakeCluster, verb: Verb, node: int, times: int) -> None:
        super().__init__(cluster)
        self._strikes, self._times = (verb, node), times

    def ask(self, request):
        run = super().ask(request)
        if (request.verb, request.node) == self._strikes:
            self.unreachable, self._strikes = self._times, (Verb.JMX, -1)
        return run


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 8])
def test_broker_that_is_stopped_is_started_when_zookeeper_is_back(times: int, tmp_path: Path) -> None:
    cluster = FakeCluster()
    result = forward(Away(cluster, Verb.STOP, 2, times), tmp_path)
    assert (result.outcome, result.state_after) == (Outcome.DONE, "M8"), result.findings
    assert_on_kraft(cluster)


@pytest.mark.slow
def test_zookeeper_that_stays_away_behind_a_stop_is_reported_and_the_next_run_starts_the_broker(
    tmp_path: Path,
) -> None:
    cluster = FakeCluster()
    result = forward(Away(cluster, Verb.STOP, 2, 10_000), tmp_path)
    assert _ended(result) == (Outcome.PARTIAL, "zookeeper-unreachable", "failed")
    assert result.findings[-1].subject == "broker 2"
    assert not cluster.nodes[2].running
    assert forward(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_on_kraft(cluster)


@pytest.mark.parametrize("times", [3, 10_000])
def test_brokers_without_a_controller_wait_for_a_zookeeper_that_comes_back(times: int, tmp_path: Path) -> None:
    # The controllers are gone, and none of the znodes can be deleted for now.
    cluster = at_phase("M6")
    result = back(Away(cluster, Verb.STOP, 3003, times), tmp_path)
    if times == 10_000:
        assert result.outcome in (Outcome.UNKNOWN, Outcome.PARTIAL, Outcome.FAILED)
        assert result.findings[-1].id == "zookeeper-unreachable" and result.findings[-1].advice
        result = back(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.DONE, result.findings
    assert_back(cluster)


def test_no_permission_is_not_waited_for(tmp_path: Path) -> None:
    cluster = at_phase("M6")
    world, began_ms = FakeWorld(cluster), cluster.now_ms

    def forbid(path: str) -> None:
        raise UnreachableError(f"{path} may not be changed", id="zookeeper-no-permission")

    world.before_write = forbid
    result = back(world, tmp_path)
    assert _ended(result) == (Outcome.PARTIAL, "zookeeper-no-permission", "failed")
    assert cluster.now_ms - began_ms < 60_000
    context = open_context(world, tmp_path)
    with context.journal as journal:
        recorded = remembered(journal.entries)
    assert recorded.failed is not None and recorded.failed.action == "delete-controller-znode"
    assert back(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_back(cluster)


def test_server_without_its_quorum_is_not_looked_at_as_if_it_were_new(monkeypatch: pytest.MonkeyPatch) -> None:
    # It lets read what may be old, and nothing could be written: the driver waits for the others, and says so.
    inventory = inventory_of(FakeCluster())
    old = warning("zookeeper-read-only", "ZooKeeper zk:2181", "it has lost its quorum and only lets read", "")
    captured = SimpleNamespace(znodes=(), raw=SimpleNamespace(findings=(old,)))
    monkeypatch.setattr(migration_driver_open, "observe", lambda *_, **__: captured)
    world = migration_driver_open.live_world(inventory, lambda _: None)
    with pytest.raises(UnreachableError) as caught:
        world.observe()
    assert (caught.value.id, "zk:2181" in caught.value.message) == ("zookeeper-read-only", True)
    assert "quorum" in caught.value.advice


def _ended(result: RunResult) -> tuple[Outcome, str, str]:
    last = [step.state for step in result.steps if step.state != "pending"][-1]
    return result.outcome, result.findings[-1].id, last


def test_modes_of_brokers_are_left_alone_while_nothing_is_seen(tmp_path: Path) -> None:
    cluster = at_phase("M6")
    world = FakeWorld(cluster)
    world.unreachable = 10_000
    with pytest.raises(UnreachableError):
        forward(world, tmp_path)
    assert all(broker.mode is Mode.MIGRATING and broker.running for broker in cluster.brokers)


class InterruptedCluster(FakeCluster):
    """The controller's ZooKeeper session ends right behind its claim: its epoch cannot take `/controller` again."""

    interrupted_in: int | None = None

    def _copy(self) -> None:
        found = self.controller_znode()
        if found is not None and found["kraftControllerEpoch"] == self.log.epoch and self.interrupted_in is None:
            self.interrupted_in = self.log.epoch
        if self.interrupted_in != self.log.epoch:
            super()._copy()


@pytest.mark.slow
def test_claim_that_was_interrupted_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    # Seen on 3.9.2: ControllerMovedException without end, and no controller until the leader is restarted.
    cluster = InterruptedCluster()
    began_ms = cluster.now_ms
    result = forward(FakeWorld(cluster), tmp_path)
    assert _ended(result) == (Outcome.PARTIAL, "claim-interrupted", "failed")
    assert "restart that controller" in result.findings[-1].advice
    assert result.state_after == "M5"
    assert cluster.now_ms - began_ms < 1_000_000
    assert cluster.stop(3001)  # what it says to do
    cluster.start(3001)
    assert forward(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_on_kraft(cluster)


class CrashingCluster(FakeCluster):
    """The controllers' ZooKeeper session ends during the copy, and they exit."""

    has_crashed = False

    def _copy(self) -> None:
        super()._copy()
        if self.copying and not self.has_crashed:
            self.has_crashed = True
            for node in self.controllers:
                self.kill(node.id)


class Deaf(FakeCluster):
    """ZooKeeper whose brokers do not notice that `/controller` is gone."""

    is_deaf = False

    def _elect_in_zookeeper(self) -> None:
        if not self.is_deaf:
            super()._elect_in_zookeeper()


@pytest.mark.slow
def test_zookeeper_election_that_does_not_come_is_reported_soon_and_resumed(tmp_path: Path) -> None:
    cluster = Deaf()
    assert forward(FakeWorld(cluster), tmp_path, until="M6").state_after == "M6"
    began_ms, cluster.is_deaf = cluster.now_ms, True
    result = back(FakeWorld(cluster), tmp_path)
    assert _ended(result) == (Outcome.PARTIAL, "step-not-confirmed", "failed")
    assert cluster.now_ms - began_ms < 240_000
    cluster.is_deaf = False
    cluster.tick()
    assert back(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_back(cluster)


class UnendingCopy(FakeCluster):
    """The copy was begun and goes on and on."""

    is_slow = True

    def _copy(self) -> None:
        if self.is_slow:
            self.copying = min(self.copying, 0)
        super()._copy()


@pytest.mark.slow
def test_back_out_of_a_copy_that_goes_on(tmp_path: Path) -> None:
    # Its controllers are stopped: that none is left to end the copy is what was wanted, not a crash.
    cluster = UnendingCopy()
    assert forward(FakeWorld(cluster), tmp_path).state_after == "M5"
    result = back(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.DONE, result.findings
    assert_back(cluster)
    cluster.is_slow = False
    assert forward(FakeWorld(cluster), tmp_path).outcome is Outcome.DONE
    assert_on_kraft(cluster)


@pytest.mark.slow
def test_controllers_that_end_in_the_copy_are_reported_soon_and_started_by_the_next_run(tmp_path: Path) -> None:
    # Seen on 3.9.2: `Aborting the ZK migration` by SessionExpired, and the process is gone.
    cluster = CrashingCluster()
    began_ms = cluster.now_ms
    result = forward(FakeWorld(cluster), tmp_path)
    assert _ended(result) == (Outcome.PARTIAL, "copy-crashed", "failed")
    assert cluster.now_ms - began_ms < 900_000
    result = forward(FakeWorld(cluster), tmp_path)
    if result.outcome is not Outcome.DONE:  # a majority was enough to copy; the third one is asked for before M7
        assert (result.state_after, result.findings[-1].evidence["check"]) == ("M6", "C-31")
        for node in cluster.controllers:
            cluster.start(node.id)
        result = forward(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.DONE
    assert_on_kraft(cluster)


class SupervisedCluster(CrashingCluster):
    """Something watches over the controllers, and starts what has ended after 20 seconds."""

    crashed_ms = 0.0

    def tick(self) -> None:
        if self.has_crashed and not self.crashed_ms:
            self.crashed_ms = self.now_ms
        if self.crashed_ms and self.now_ms - self.crashed_ms > 20_000:
            for node in self.controllers:
                if not node.running:
                    self.start(node.id)
        super().tick()


@pytest.mark.slow
def test_controllers_that_end_in_the_copy_and_return_are_waited_for(tmp_path: Path) -> None:
    # As those of systemd and Kubernetes do: one run reaches its end.
    cluster = SupervisedCluster()
    result = forward(FakeWorld(cluster), tmp_path)
    assert result.outcome is Outcome.DONE, result.findings
    assert cluster.crashed_ms
    assert_on_kraft(cluster)
