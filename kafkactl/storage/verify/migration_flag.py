"""The migration flag of the file against what the metadata log says of how the cluster was founded (3.x)."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.findings import Severity
from kafkactl.kafka_names import MIGRATION_ENABLE
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, finding, stops
from kafkactl.storage.verify.state import loaded_snapshot, log_looks_empty
from kafkactl.storage.verify.voters import has_a_vote, other_voters

_FOUNDED_WITHOUT = 0  # ZkMigrationState.NONE, also where no record says anything
_SAYS = "Should not have ZK migrations enabled on a cluster that was created in KRaft mode"


def migration_flag_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield that a leader with the flag ends on a log that was founded without it (`ActivationRecordsGenerator`)."""
    if not (context.is_controller and context.config.zookeeper_migration) or log_looks_empty(context):
        return
    if not has_a_vote(context) or _state(context) != _FOUNDED_WITHOUT:
        return
    others = other_voters(context)
    subject = f"node {context.config.node_id}"
    message = (
        f"{MIGRATION_ENABLE} is true, and the metadata log was founded without it: the controller exits as soon as"
    )
    message += " it is elected."
    step = f"Remove {MIGRATION_ENABLE}. To migrate a ZooKeeper cluster, format new controllers with the flag in their"
    step += " files; this cluster's metadata cannot become that cluster's."
    id = "migration-flag-after-founding"
    if not others:
        yield stops(id, Phase.CONTROLLER_ACTIVATION, subject, message, says=_SAYS, next_step=step)
        return
    yield RuleResult(finding=finding(id, Severity.BLOCKER, subject, message, next_step=step), unknown=True)


def _state(context: StartContext) -> int:
    snapshot = loaded_snapshot(context)
    stored = snapshot.contents.zk_migration_state if snapshot is not None and snapshot.contents is not None else None
    found = context.log.contents.zk_migration_state
    return (stored or _FOUNDED_WITHOUT) if found is None else found
