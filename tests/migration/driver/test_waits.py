"""Waits of the driver and reports meanwhile: an operator, nodes that boot, hooks that did nothing."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from kafkactl.change.hooks.node import Hooks, Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed
from kafkactl.migration.driver.guards import BackGuard, ForwardGuard
from kafkactl.migration.driver.journal import BACK, FORWARD
from kafkactl.migration.driver.moves import RunContext
from kafkactl.migration.driver.ports import Event, RunResult
from kafkactl.migration.driver.routes import ForwardRoute, RollbackRoute, identity_of
from kafkactl.migration.driver.run import run_migration
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import ALL, LIE, FakeWorld
from tests.fakes.run_context import FLAG, POLICY, QUORUM, at_phase, open_context
from tests.migration.observations import OPEN_AT_M0

KNOWN = frozenset(OPEN_AT_M0)


def context_of(world: FakeWorld, folder: Path, events: list[Event], **more) -> RunContext:
    return changed(open_context(world, folder), tell=events.append, **more)


def forward(context: RunContext, until: str) -> RunResult:
    with context.journal:
        guard = ForwardGuard(context, accepted=KNOWN)
        identity = identity_of(context.inventory)
        reached = lambda state: state == until  # noqa: E731
        return run_migration(
            context, ForwardRoute(context.inventory), goal=FORWARD, identity=identity, guard=guard, is_there=reached
        )


def with_local_disks(context: RunContext) -> RunContext:
    """Return the observation with disks of this machine, so that a look shows whether they are formatted."""
    nodes = tuple(changed(node, hooks=Hooks(template="local")) for node in context.inventory.nodes)
    return changed(context, inventory=changed(context.inventory, nodes=nodes))


def test_format_that_is_asked_for_is_waited_for_until_it_is_seen(tmp_path: Path) -> None:
    cluster, events, begged = FakeCluster(), [], []
    world = FakeWorld(cluster, verbs=ALL - {Verb.FORMAT})
    world.operator = begged.append
    late = []

    def act_late() -> None:
        """Act as an operator who takes a minute."""
        if begged and cluster.now_ms - began >= 60_000 * len(begged):
            late.append(begged[len(late)] if len(late) < len(begged) else None)
            if late[-1] is not None:
                world.carry_out(late[-1])

    began = cluster.now_ms
    world.on_act = act_late
    result = forward(with_local_disks(context_of(world, tmp_path, events)), "M2")
    assert result.outcome is Outcome.DONE, result.findings
    formatted = [step for step in result.steps if step.step.action == "format-disk" and step.state == "done"]
    assert formatted and cluster.now_ms - began >= 60_000
    waits = [event for event in events if event.kind == "wait"]
    assert len(waits) > 10 and "no meta.properties of controller 3001 is seen" in {wait.seen for wait in waits}


@pytest.mark.slow
def test_disk_that_is_formatted_for_another_cluster_does_not_count(tmp_path: Path) -> None:
    cluster, events = FakeCluster(), []
    world = FakeWorld(cluster, verbs=ALL - {Verb.FORMAT})
    world.operator = lambda request: cluster.format(request.node, "Another-cluster-id-22ch")
    result = forward(with_local_disks(context_of(world, tmp_path, events)), "M3")
    assert result.outcome is not Outcome.DONE
    assert "format-disk controller 3001: done" not in {event.text for event in events}


def test_format_that_cannot_be_observed_stays_asked_and_is_not_called_done(tmp_path: Path) -> None:
    cluster, events = FakeCluster(), []
    world = FakeWorld(cluster, verbs=ALL - {Verb.FORMAT})
    world.operator = world.carry_out
    result = forward(context_of(world, tmp_path, events), "M3")
    assert {step.state for step in result.steps if step.step.action == "format-disk"} == {"asked"}
    assert not any(event.text.startswith("format-disk") and event.text.endswith("done") for event in events)


@pytest.mark.parametrize("verbs", [ALL, ALL - {Verb.IS_RUNNING}])
def test_stop_hook_without_effect_is_reported(verbs, tmp_path: Path) -> None:
    cluster, events = at_phase("M3"), []
    world = FakeWorld(cluster, verbs=verbs)
    world.faults = [(Verb.STOP, 2, LIE)]
    starts = cluster.nodes[2].starts
    result = forward(context_of(world, tmp_path, events), "M4")
    assert [finding.id for finding in result.findings] == ["hook-did-nothing"]
    assert "broker 2 still runs" in result.findings[0].message
    assert cluster.nodes[2].starts == starts
    assert any(event.kind == "wait" and "process of broker 2" in event.text for event in events)


@pytest.mark.slow
def test_restart_hook_that_did_nothing_is_seen_by_the_mode(tmp_path: Path) -> None:
    cluster, events = at_phase("M3"), []
    world = FakeWorld(cluster, verbs=ALL - {Verb.STOP})
    world.faults = [(Verb.RESTART, 2, LIE)]
    result = forward(context_of(world, tmp_path, events), "M4")
    assert [finding.id for finding in result.findings] == ["step-not-confirmed"]
    assert "broker 2 answers and runs on ZooKeeper" in result.findings[0].message
    assert not any("is still to be done" in event.seen for event in events)


class EndsAtOnce(FakeWorld):
    """Broker 2 ends as soon as it is started, as one whose keystore the others do not trust."""

    repaired = False
    log = b""
    restarted_by_supervisor_ms: float | None = None

    def carry_out(self, request: Request):
        if request.verb is Verb.LOGS:
            return HookRun(end=HookEnd.DONE, exit_code=0, stdout=self.log)
        run = super().carry_out(request)
        if request.verb is Verb.START and request.node == 2 and not self.repaired:
            self.cluster.kill(2)
        return run

    def observe(self):
        late = self.restarted_by_supervisor_ms
        if late is not None and self.cluster.now_ms >= late and not self.cluster.nodes[2].running:
            self.cluster.start(2)
        return super().observe()


_LOG = b"""[2026-11-28] INFO starting (kafka.server.KafkaServer)
[2026-11-28] ERROR ssl.keystore.password=hunter2 refused (org.apache.kafka)
java.security.cert.CertPathValidatorException: PKIX path building failed
"""


def test_started_node_that_ended_ends_the_wait_with_the_errors_of_its_log(tmp_path: Path) -> None:
    cluster = at_phase("M3")
    world = EndsAtOnce(cluster, verbs=ALL | {Verb.LOGS})
    world.log = _LOG
    began_ms = cluster.now_ms
    result = forward(context_of(world, tmp_path, []), "M4L")
    (finding,) = [finding for finding in result.findings if finding.id == "started-node-ended"]
    assert result.outcome.exit_code in (1, 5)
    assert "PKIX path building failed" in finding.message
    assert "hunter2" not in str(finding.to_dict())
    assert "INFO" not in finding.message
    assert cluster.now_ms - began_ms < POLICY.gate_ms
    world.repaired = True
    again = forward(context_of(world, tmp_path, []), "M4L")
    assert again.state_after == "M4L"


def test_started_node_that_ended_is_reported_without_a_hook_for_its_log(tmp_path: Path) -> None:
    world = EndsAtOnce(at_phase("M3"))
    result = forward(context_of(world, tmp_path, []), "M4L")
    assert "started-node-ended" in {finding.id for finding in result.findings}


class StartedAgain(EndsAtOnce):
    """A supervisor starts the broker again some seconds after it ended."""

    def carry_out(self, request: Request):
        run = super().carry_out(request)
        if request.verb is Verb.START and request.node == 2:
            self.restarted_by_supervisor_ms = self.cluster.now_ms + POLICY.apart_ms
        return run


def test_node_that_its_supervisor_starts_again_is_waited_for(tmp_path: Path) -> None:
    result = forward(context_of(StartedAgain(at_phase("M3")), tmp_path, []), "M4L")
    assert result.state_after == "M4L"


def test_node_without_is_running_is_awaited_for_the_whole_time_of_its_gate(tmp_path: Path) -> None:
    cluster = at_phase("M3")
    began_ms = cluster.now_ms
    result = forward(context_of(EndsAtOnce(cluster, verbs=ALL - {Verb.IS_RUNNING}), tmp_path, []), "M4L")
    assert "step-not-confirmed" in {finding.id for finding in result.findings}
    assert cluster.now_ms - began_ms >= POLICY.gate_ms


class SlowBoot(FakeWorld):
    """Broker 2 takes a minute from its start until it answers, as one that recovers its logs."""

    started: int = 0
    ready_ms: float | None = None

    def carry_out(self, request: Request):
        if request.verb is Verb.IS_RUNNING and request.node == 2 and self.ready_ms is not None:
            self._come_up()
            return changed(super().carry_out(request), stdout=b"running")
        if request.verb is Verb.START and request.node == 2:
            self.started += 1
            self.ready_ms = self.cluster.now_ms + 60_000
            return changed(super().carry_out(changed(request, verb=Verb.IS_RUNNING)), stdout=b"")
        if request.verb is Verb.STOP and request.node == 2:
            self.ready_ms = None
        return super().carry_out(request)

    def _come_up(self) -> None:
        if self.ready_ms is not None and self.cluster.now_ms >= self.ready_ms and not self.cluster.nodes[2].running:
            self.cluster.start(2)

    def observe(self):
        self._come_up()
        return super().observe()


@pytest.mark.slow
def test_broker_that_boots_is_not_restarted_by_the_next_run(tmp_path: Path) -> None:
    start = at_phase("M3")
    for act in range(1, 60):
        cluster = copy.deepcopy(start)
        world, folder = SlowBoot(cluster), tmp_path / str(act)
        folder.mkdir()
        kill = [act]

        def count_down() -> None:
            kill[0] -= 1  # noqa: B023
            if kill[0] == 0:  # noqa: B023
                raise KeyboardInterrupt

        world.on_act = count_down
        forward(context_of(world, folder, []), "M4")
        world.on_act = lambda: None
        was_booting = world.ready_ms is not None and not cluster.nodes[2].running
        events: list[Event] = []
        result = forward(context_of(world, folder, events), "M4")
        assert result.outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO), (act, result.findings)
        assert world.started == 1, act
        if was_booting:
            assert any("is booting: its gate is awaited" in event.text for event in events), act
            return
    pytest.fail("no run was killed while the broker booted")


def test_broker_whose_process_is_gone_is_started_again(tmp_path: Path) -> None:
    events: list[Event] = []
    cluster = at_phase("M3")
    context = context_of(FakeWorld(cluster), tmp_path, events)
    with context.journal:
        context.journal.append("begin", {"goal": FORWARD, "migration": identity_of(context.inventory)})
        seq = context.journal.append(
            "intent", {"action": "restart-node", "target": "broker 2", "phase": "migration"}
        ).seq
        context.journal.append("starting", {"of": seq, "target": "broker 2", "phase": "migration"})
    assert cluster.stop(2)
    cluster.nodes[2].file = (cluster.nodes[2].file or "") + FLAG + QUORUM
    result = forward(context_of(FakeWorld(cluster), tmp_path, events), "M4")
    assert result.outcome is Outcome.DONE, result.findings
    assert not any("is booting" in event.text for event in events)


def test_start_for_another_phase_is_not_a_boot(tmp_path: Path) -> None:
    events: list[Event] = []
    cluster = at_phase("M6")
    context = context_of(FakeWorld(cluster), tmp_path, events)
    with context.journal:
        context.journal.append("begin", {"goal": FORWARD, "migration": identity_of(context.inventory)})
        seq = context.journal.append(
            "intent", {"action": "restart-node", "target": "broker 2", "phase": "migration"}
        ).seq
        context.journal.append("starting", {"of": seq, "target": "broker 2", "phase": "migration"})
    assert forward(context_of(FakeWorld(cluster), tmp_path, events), "M7").outcome is Outcome.DONE
    assert not any("is booting" in event.text for event in events)


def test_warning_that_is_not_accepted_is_reported_while_it_may_still_pass(tmp_path: Path) -> None:
    events: list[Event] = []
    context = context_of(FakeWorld(FakeCluster()), tmp_path, events)
    with context.journal:
        guard = ForwardGuard(context)
        run_migration(
            context, ForwardRoute(context.inventory), goal=FORWARD, identity=identity_of(context.inventory), guard=guard
        )
    assert any(event.kind == "wait" and "findings to pass before" in event.text and event.seen for event in events)


def test_epoch_that_the_run_itself_raised_is_nothing_to_accept(tmp_path: Path) -> None:
    cluster = at_phase("M3")
    for _ in range(3):
        for controller in cluster.controllers:
            assert cluster.stop(controller.id)
        for controller in cluster.controllers:
            cluster.start(controller.id)
        cluster.advance(5_000)
    assert forward(context_of(FakeWorld(cluster), tmp_path, []), "M4L").outcome is Outcome.DONE


def test_rollback_that_goes_as_planned_raises_no_alarm(tmp_path: Path) -> None:
    events: list[Event] = []
    cluster = at_phase("M6")
    context = context_of(FakeWorld(cluster), tmp_path, events)
    with context.journal:
        identity = identity_of(context.inventory)
        run = run_migration(
            context, RollbackRoute(context.inventory), goal=BACK, identity=identity, guard=BackGuard(context)
        )
    assert run.outcome is Outcome.DONE, run.findings
    states = [event.text for event in events if event.kind == "state"]
    assert states[0].startswith("M6") and states[-1].startswith("M0")
    assert all(state.startswith("rollback, ") for state in states[1:-1]) and len(states) > 2
