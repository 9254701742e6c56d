"""C-61: settings that brokers' files decided under ZooKeeper and that controllers' files decide under KRaft.

The table is schemas/node_settings.toml, the comparison that of `kafkactl nodes verify`. Before the quorum is started
the controllers' files are judged as `render` makes them: what they lack and all brokers share is taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafkactl.cluster.node_settings import (
    Difference,
    NodeSettings,
    Value,
    difference_findings,
    differences,
    node_settings,
    of_file,
)
from kafkactl.core.values import Role
from kafkactl.metadata.image.model import BROKER_CONFIG
from kafkactl.migration.checks.case import ALWAYS, CheckCase, Row, Said, Stage, Unknown
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.settings import is_hidden, release_of


def decided_differences(
    nodes: Iterable[NodeSeen], *, dynamic: Mapping[str, str], rendered: bool = False
) -> tuple[Difference, ...]:
    """Return the differences between the observed files.

    `dynamic` are the configs of the whole cluster, which take precedence.

    With `rendered` the controllers have what `render` writes into their files.
    """
    known = [_read(node, dynamic) for node in nodes if node.config is not None]
    if rendered:
        known = _carried(known)
    # The authorizer, its super users and the principals have checks of their own (C-14, C-20).
    return tuple(difference for difference in differences(known) if not difference.setting.elsewhere)


def _decided(case: CheckCase) -> Said:
    unseen = [controller.name for controller in (*case.brokers, *case.controllers) if controller.config is None]
    if unseen:
        yield Unknown(f"the files of {', '.join(unseen)} were not observed")
    found = decided_differences(
        (*case.brokers, *case.controllers), dynamic=cluster_configs(case), rendered=case.stage is Stage.BEFORE
    )
    yield from difference_findings(difference for difference in found if not _is_reported_elsewhere(case, difference))


def cluster_configs(case: CheckCase) -> Mapping[str, str]:
    """Return the configs of all brokers as kept in the metadata log, and before the copy in ZooKeeper."""
    if case.image is not None and case.stage in (Stage.DUAL, Stage.FINAL):
        return dict(case.image.configs.get((BROKER_CONFIG, ""), {}))
    found: Mapping[str, str] = {} if case.tree is None else case.tree.broker_configs.get("", {})
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _is_reported_elsewhere(case: CheckCase, difference: Difference) -> bool:
    """Return True if C-20 reports a policy that controllers lack while ZooKeeper is there."""
    is_policy = difference.setting.type == "class" and difference.setting.key.endswith("policy.class.name")
    return is_policy and case.stage is not Stage.FINAL and "" in difference.controllers


def _read(node: NodeSeen, dynamic: Mapping[str, str]) -> NodeSettings:
    found = of_file(node.config or {}, id=node.id, role=node.role, release=release_of(node), hidden=is_hidden)
    values = {}
    for row in node_settings():
        value = found.values.get(row.key)
        key = next((key for key in row.keys if key in dynamic), None)
        if value is not None and key is not None and not is_hidden(dynamic[key]):
            value = Value(text=row.canonical(dynamic[key]), given=True, in_file=value.text if value.given else None)
        if value is not None:
            values[row.key] = value
    return NodeSettings(id=found.id, role=found.role, values=values, release=found.release)


def _carried(nodes: list[NodeSettings]) -> list[NodeSettings]:
    """Return the nodes; controllers that do not set a value have the one that all brokers share."""
    brokers = [settings for settings in nodes if settings.role is Role.BROKER]
    shared = {}
    for row in node_settings():
        held = {settings.values[row.key].text for settings in brokers if row.key in settings.values}
        is_given = all(row.key in settings.values and settings.values[row.key].given for settings in brokers)
        if row.carried_over and brokers and is_given and len(held) == 1:
            shared[row.key] = Value(text=held.pop(), given=True)
    return [settings if settings.role is Role.BROKER else _with(settings, shared) for settings in nodes]


def _with(node: NodeSettings, shared: Mapping[str, Value]) -> NodeSettings:
    taken = {key: value for key, value in shared.items() if key in node.values and not node.values[key].given}
    return NodeSettings(id=node.id, role=node.role, values={**node.values, **taken}, release=node.release)


ROWS: Final = (Row("C-61", "controller-settings-unknown", "settings that controllers decide", ALWAYS, _decided),)
