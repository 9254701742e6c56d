"""Evidence of an observation about a step: installed files and binaries, ended processes, processes never stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.wording import numbered
from kafkactl.roll.case import RollCase, Until
from kafkactl.roll.driver.acts import Act
from kafkactl.roll.journal import Action, RollProgress
from kafkactl.roll.liveness import is_alive
from kafkactl.roll.observation import RollNode
from kafkactl.roll.releases import is_same, version_in


def misplaced(act: Act, case: RollCase, node: RollNode | None) -> Finding | None:
    """Return the difference between what the next start would run and what it should run."""
    if node is None:
        return None
    if act.action is Action.INSTALL:
        found = version_in(node.installed)
        if found is not None and case.goal is not None and not is_same(found, case.goal):
            text = f"the next start of {node.name} would run Kafka {found}, expected Kafka {act.release}"
            return blocker("install-not-effective", node.name, text, found=str(found), expected=act.release)
        return None
    wanted = case.request.rendered.get(node.id)
    if node.config is not None and wanted is not None and node.config != wanted:
        text = f"the configuration file of {node.name} is not the rendered one"
        return blocker("config-not-in-place", node.name, text)
    return None


def is_untouched(case: RollCase, progress: RollProgress, node_id: int) -> bool:
    """Return True if a node runs as before its stop: it answers, has the same incarnation and does not stop."""
    node = case.observation.node(node_id)
    if node is None or not is_alive(case, node_id) or not case.has_log:
        return False
    broker = case.image.brokers.get(node_id)
    if node.is_broker and broker is not None and not broker.is_active:
        return False
    return not has_ended(case, progress, node_id)


def has_ended(case: RollCase, progress: RollProgress, node_id: int) -> bool:
    """Return True if another process than before the stop is registered under the id."""
    node, mark = case.observation.node(node_id), progress.marks.get(node_id)
    if node is None or mark is None:
        return False
    held = case.image.brokers.get(node_id) if node.is_broker else case.image.controllers.get(node_id)
    before = mark.incarnation if node.is_broker else mark.controller_incarnation
    return held is not None and before is not None and str(held.incarnation_id) != before


def phase_of(case: RollCase, nodes: Sequence[int]) -> Until:
    """Return the phase of a step of these nodes."""
    is_controller = any(node.is_controller for node in case.observation.nodes if node.id in nodes)
    return Until.CONTROLLERS if is_controller else Until.BROKERS


def sha(content: bytes) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()


def names(act: Act) -> str:
    """Return the nodes of an act: `nodes 11, 12`."""
    return numbered("node", act.nodes)


def words(act: Act) -> str:
    """Return an act as one line."""
    what = {
        Action.INSTALL: f"install Kafka {act.release} on {names(act)}",
        Action.PUT_CONFIG: f"replace the configuration of {names(act)}",
        Action.STOP: f"stop {names(act)}",
        Action.START: f"start {names(act)}" if act.needs_hook else f"prove that {names(act)} is back",
        Action.RAISE_LEVELS: f"raise the levels to those of Kafka {act.release}",
        Action.VERIFY: "verify every node",
    }
    return what.get(act.action, act.action.value)
