"""Settings that controllers decide, compared over all nodes of a KRaft cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkactl.cluster.api.node_timeout import DESCRIBE_MS, NO_LIMIT, node_timeout_ms
from kafkactl.cluster.io import view as state_view
from kafkactl.cluster.io.node_settings import SettingsView, observe_settings, read_settings_file
from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.settings_verdict import SettingsVerdict, verdict_of
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client


@frozen
class SettingsVerification:
    """Result of the comparison; `cluster_id` and `active_controller` are None if only files were read."""

    cluster_id: str | None
    active_controller: int | None
    verdict: SettingsVerdict

    @property
    def has_problems(self) -> bool:
        """Return True if a difference changes what the cluster does."""
        return any(difference.matters for difference in self.verdict.differences)

    @property
    def is_complete(self) -> bool:
        """Return True if every node that may decide was read."""
        return self.verdict.complete

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the differences, and the nodes that were not read."""
        return self.verdict.findings

    to_dict = json_of("cluster_id", "active_controller", "**verdict", kind="nodes.verify")


def verify_settings(
    client: Client | None = None,
    *,
    configs: Iterable[str | os.PathLike[str]] = (),
    timeout_ms: float = NO_LIMIT,
) -> SettingsVerification:
    """Compare settings that controllers decide, between controllers and with the brokers.

    Each node of a live cluster (`client`) is asked for its own values; `configs` are server.properties of nodes that
    cannot be asked. A silent node costs a fifth of `timeout_ms` at most. Raises InputError for a file that cannot be
    read, UnreachableError if no node answers.
    """
    unlisted: tuple[Finding, ...] = ()
    files = [node for path in configs for node in read_settings_file(os.fspath(path))]
    if client is None:
        cluster_id, active, seen = None, None, SettingsView(nodes=tuple(files), unread=())
        unknown: dict[Role, NotAsked] = {}
    else:
        view = state_view.observe_cluster_state(client, node_timeout_ms=node_timeout_ms(DESCRIBE_MS, timeout_ms))
        seen = observe_settings(client, view, files)
        cluster_id, active = view.state.cluster_id, view.state.active_controller
        # Brokers name controllers in the answer about the quorum, controllers name brokers in the log alone.
        causes = {Role.CONTROLLER: view.state.leader_error, Role.BROKER: view.state.log_error}
        known = {seat.role for seat in view.seats}
        unknown = {role: cause for role, cause in causes.items() if cause is not None and role not in known}
        # Nodes that only the log names were not read: brokers that are fenced, controllers that do not vote.
        unlisted = tuple(finding for finding in view.findings if finding.id == state_view.LOG_NOT_READ)
    unread = [(node.name, node.role, node.live, node.why, node.reason, node.step) for node in seen.unread]
    verdict = verdict_of(seen.nodes, unread, unknown)
    verdict = changed(verdict, findings=(*verdict.findings, *unlisted))
    return SettingsVerification(cluster_id=cluster_id, active_controller=active, verdict=verdict)
