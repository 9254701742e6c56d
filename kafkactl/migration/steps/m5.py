"""M5: the active KRaft controller takes `/controller` and copies the metadata; kafkactl only waits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.migration.copy.forecast import CopyForecast, forecast_copy
from kafkactl.migration.copy.rules import rules_seen
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.conditions import claimed_uncopied, copied, entering
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row, StateDefinition
from kafkactl.migration.steps.epoch import epoch_gate
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import Move, Progress, Step
from kafkactl.migration.zktree.password_encoder import SECRET_KEYS
from kafkactl.migration.zktree.znode import Hidden
from kafkactl.protocol.catalog.releases import KafkaVersion, find_release, newest_with_zookeeper

# Recognition

CLAIMED: Final = Row(State.M5, claimed_uncopied, "KRaft has taken /controller, and the copy is not done yet")
NOT_MIRRORED: Final = Row(
    State.M5,
    lambda e: copied(e) and not e.on_kraft and e.tree is not None and not e.has_dual_written,
    "the copy is committed, and /migration does not follow the log yet",
)
ALL_ENTERED: Final = Row(
    State.M5,
    lambda e: entering(e) and bool(e.entered) and not e.missing,
    "every broker has entered: the copy begins automatically once the controllers are ready",
)


# Forward


def plan(e: Evidence, _ids: tuple[int, ...]) -> Iterator[Step]:
    """Yield the wait for the copy."""
    is_copied = (
        e.kraft_state == ZkMigrationState.MIGRATION and e.holder is Holder.KRAFT and e.copy_marker is CopyMarker.COPIED
    )
    yield Step(
        action=Move.WAIT_COPY,
        target="controllers",
        gate="KRaft holds /controller, the log says MIGRATION, the offset in /migration follows the log",
        why="the copy starts automatically once every broker is registered",
        state=Progress.DONE if is_copied and e.has_dual_written else Progress.PENDING,
        role=Role.CONTROLLER,
        phase=State.M5,
    )


_TIMES: Final = 3
_MORE_MS: Final = 120_000


def expected_copy(evidence: Evidence, state: State) -> CopyForecast | None:
    """Return the forecast of the copy of the observed tree; None if there is no tree, or the copy is done.

    The rules are those of the oldest release that a broker runs.
    """
    is_before = state is State.COPY_CRASHED or (state.place is not None and state.place <= (State.M5.place or 0))
    if evidence.tree is None or not is_before:
        return None
    versions = {node.kafka_version for node in evidence.observation.nodes if node.kafka_version}
    version = min((version for text in versions for version in _known(text)), default=newest_with_zookeeper().version)
    rules, release_findings = rules_seen(version)
    return forecast_copy(
        evidence.tree, rules, secrets=shown_secrets(evidence.observation.controllers), findings=release_findings
    )


def _known(text: str) -> Iterator[KafkaVersion]:
    """Yield the version if Kafka has this release; vendors number their releases differently."""
    with contextlib.suppress(InputError):
        yield find_release(text).version


def copy_deadline_ms(copy: CopyForecast) -> int:
    """Return the timeout of the wait for the copy in ms: three times the forecast, and two minutes."""
    return _MORE_MS + int(_TIMES * copy.seconds * 1000)


def shown_secrets(controllers: Iterable[NodeSeen]) -> tuple[str, ...] | None:
    """Return the controllers' encoder secrets; None if no file of a controller was observed, or none shows them."""
    files = [controller.config for controller in controllers if controller.config is not None]
    given = [text for config in files for key in SECRET_KEYS if (text := config.get(key, "").strip())]
    hidden = any(text == Hidden.REDACTED.value or "${" in text for text in given)
    return None if not files or hidden else tuple(dict.fromkeys(given))


# Gate


def copy_done(e: Evidence) -> Iterator[Finding]:
    """Report each sign of a finished copy that is not observed, and copies that were aborted."""
    signs = (
        (e.holder is Holder.KRAFT, "/controller", "no KRaft controller holds it"),
        (e.kraft_state == ZkMigrationState.MIGRATION, "metadata log", "the metadata log does not show MIGRATION"),
        (e.copy_marker is CopyMarker.COPIED, "/migration", "/migration has no offset of a copy"),
        (e.has_dual_written, "/migration", "/migration does not follow the log, so dual write has not begun"),
    )
    step = "Wait; after three times the predicted time, and two minutes, read the controllers' logs."
    silent = [controller.name for controller in e.observation.controllers if answers(controller) is False]
    if silent and e.holder is not Holder.KRAFT:
        step = f"Start {', '.join(silent)} first."
        text = f"{', '.join(silent)} does not respond: with controller.quorum.voters the copy waits for every voter"
        yield warning("quorum-not-ready", ", ".join(silent), text, step)
    for is_observed, subject, text in signs:
        if not is_observed:
            yield warning("copy-not-done", subject, text, step)
    if e.log is not None and e.log.aborted_copies:
        count = len(e.log.aborted_copies)
        text = f"{count} copies were begun and aborted"
        yield warning("copy-not-done", "metadata log", text, "Read the controllers' logs before they begin again.")


# Rollback

_PRESENT: Final = (CopyMarker.NOT_COPIED, CopyMarker.COPIED, CopyMarker.BROKEN)


def undo(case: RollbackCase) -> Iterator[Step]:
    """Remove KRaft's claim from ZooKeeper: raise the epoch, delete `/controller` and `/migration`."""
    yield from znodes_removed(case)


def znodes_removed(case: RollbackCase) -> Iterator[Step]:
    """Yield the changes of znodes, each at the version that was observed.

    A ZooKeeper broker's `/controller` is ephemeral and never deleted: then KRaft has taken nothing over.
    """
    e = case.evidence
    gate = epoch_gate(e)
    if gate.needed and e.observation.tree is not None:
        yield Step(
            action=Move.RAISE_CONTROLLER_EPOCH,
            target="/controller_epoch",
            gate=f"/controller_epoch is at least {gate.value}, and above the epoch of every partition state",
            why=f"it is {gate.epoch} and partition states have up to {gate.highest}: a ZooKeeper controller could not"
            " change them (KAFKA-20488)",
            path="/controller_epoch",
            version=_version(e, "/controller_epoch"),
            value=gate.value,
        )
    if e.holder is Holder.KRAFT and e.tree is not None and e.tree.controller and not e.tree.controller.ephemeral:
        yield Step(
            action=Move.DELETE_CONTROLLER_ZNODE,
            target="/controller",
            gate="the persistent /controller of KRaft is gone",
            why="it is persistent, so no ZooKeeper broker is elected while it is there",
            path="/controller",
            version=_version(e, "/controller"),
        )
    if e.copy_marker in _PRESENT or (
        e.observation.tree is not None and e.observation.tree.get("/migration") is not None
    ):
        yield Step(
            action=Move.DELETE_MIGRATION_ZNODE,
            target="/migration",
            gate="/migration does not exist",
            why="a later try that finds it would skip the copy and empty ZooKeeper",
            path="/migration",
            version=_version(e, "/migration"),
        )


def _version(e: Evidence, path: str) -> int | None:
    znode = None if e.observation.tree is None else e.observation.tree.get(path)
    return None if znode is None or "version" in znode.untold else znode.version


M5: Final = StateDefinition(
    state=State.M5,
    level=None,
    ends_automatically=True,
    plan=plan,
    shown_until=State.M5,
    gate=(copy_done,),
    undo=undo,
    needs_quorum=True,
)
