"""Short texts about the observed state of a node whose step is not done yet, for the operator of a run."""

from __future__ import annotations

from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.migration.observed.observation import Mode, NodeSeen, Observation
from kafkactl.migration.observed.silence import leader_unknown, refusals
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.step import File, Move, Step

_MODES = {Mode.ZK: "on ZooKeeper", Mode.MIGRATING: "in migration mode", Mode.KRAFT: "on KRaft"}
_OF_FILES = (Move.PUT_CONFIG, Move.RESTORE_CONFIG)


def observed_instead(seen: Observation, step: Step) -> str:
    """Return the reason why a step is not done yet, from the last observation: a clause that names its subject."""
    node = None if step.node is None or step.role is None else seen.node(step.node, step.role)
    if node is None:
        return _of_the_cluster(seen, step)
    if step.action is Move.FORMAT_DISK:
        return f"no meta.properties of {node.name} is seen"
    if step.action in _OF_FILES:
        return f"the file of {node.name} is not its {step.file} file yet"
    if answers(node) is not True:
        return _refusal(seen, node) or f"{node.name} does not answer yet"
    return _running(seen, step, node)


def _refusal(seen: Observation, node: NodeSeen) -> str | None:
    """Return why a node has not let kafkactl in; None if no answer at all came."""
    return next((finding.message for finding in refusals(seen) if finding.subject == node.name), None)


def _running(seen: Observation, step: Step, node: NodeSeen) -> str:
    if node.role is Role.CONTROLLER:
        ready = None if node.api_versions is None else node.api_versions.zk_migration_ready
        if step.file in (File.MIGRATION, File.FINAL) and ready is not None and ready is (step.file is File.FINAL):
            return f"{node.name} answers, and still runs {'with' if ready else 'without'} {MIGRATION_ENABLE}"
        return f"{node.name} answers"
    mode = "in a mode that is not known" if node.mode is None else _MODES[node.mode]
    words = f"{node.name} answers and runs {mode}"
    held = next((broker.registration for broker in evidence_of(seen).brokers if broker.id == node.id), None)
    if node.mode in (Mode.MIGRATING, Mode.KRAFT):
        fenced = ", fenced" if held is not None and held.fenced else ""
        as_what = (
            "not registered yet" if held is None else "registered as migrating" if held.migrating else "registered"
        )
        words += f", {as_what}{fenced}"
    return words


def _of_the_cluster(seen: Observation, step: Step) -> str:
    e = evidence_of(seen)
    if step.action is Move.WAIT_COPY:
        return f"/controller is held by {e.holder}, /migration is {e.copy_marker}"
    if step.action is Move.WAIT_ZOOKEEPER_CONTROLLER:
        return f"/controller is held by {e.holder}"
    silent = [controller for controller in seen.controllers if answers(controller) is not True]
    refused = [text for controller in silent if (text := _refusal(seen, controller))]
    if refused:
        return "; ".join(refused)
    if silent:
        names = ", ".join(controller.name for controller in silent)
        return f"{names} {'does' if len(silent) == 1 else 'do'} not answer yet"
    if seen.quorum is None or seen.quorum.leader_id is None:
        unknown = leader_unknown(seen)
        return "no controller leads yet" if unknown is None else f"the leader is unknown: {unknown}"
    return f"controller {seen.quorum.leader_id} leads, /migration is {e.copy_marker}"
