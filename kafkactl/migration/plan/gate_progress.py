"""What is still to come before a state is left: one row for each thing that the next step waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.observed.silence import leader_unknown, refusing
from kafkactl.migration.state.brokers import BrokerEvidence, answers
from kafkactl.migration.state.evidence import (
    STATE_WORDS,
    CopyMarker,
    Evidence,
    Holder,
    Quorum,
    file_has_flag,
    has_flag,
    state_metric,
)

_WAIT = "Wait and look again."


def controllers_formatted(e: Evidence) -> Iterator[Finding]:
    """M2: every controller has its own meta.properties, and not all of those that were started are down."""
    if e.controllers_ended:
        names = ", ".join(controller.name for controller in e.observation.controllers)
        text = (
            f"no controller runs ({names}), and /migration shows that one was started: the quorum ended before a broker"
            " entered, and nothing was copied"
        )
        yield blocker("started-controllers-ended", names, text)
    for controller in e.observation.controllers:
        if not controller.meta_properties and not answers(controller):
            yield warning("controller-disk-not-seen", controller.name, "no meta.properties of it was seen")


def quorum_ready(e: Evidence) -> Iterator[Finding]:
    """M3, M4: a leader, every controller with the flag and in PRE_MIGRATION, `/migration` made, ZooKeeper active."""
    if e.quorum is None or e.quorum.leader_id is None:
        unknown = leader_unknown(e.observation)
        text = f"the leader of the quorum is unknown: {unknown}" if unknown else "no controller was seen to lead"
        yield warning("quorum-not-ready", "controllers", text)
    closed_to_us = refusing(e.observation)
    for controller in e.observation.controllers:
        if controller.name in closed_to_us:
            yield warning("quorum-not-ready", controller.name, f"{controller.name} did not let kafkactl in")
        elif answers(controller) is not True:
            yield warning("quorum-not-ready", controller.name, f"{controller.name} was not observed to respond")
        elif has_flag(controller) is None:
            text = f"whether {controller.name} is ready for the migration was not observed"
            yield warning("quorum-not-ready", controller.name, text)
        state = state_metric(controller)
        if state is not None and state != ZkMigrationState.PRE_MIGRATION:
            text = f"the migration state of {controller.name} is {STATE_WORDS[state]}"
            yield warning("quorum-not-ready", controller.name, text, state=state)
    if e.copy_marker is not CopyMarker.NOT_COPIED:
        yield warning("quorum-not-ready", "/migration", f"/migration is {e.copy_marker}, not at offset -1")
    if e.holder is not Holder.ZOOKEEPER:
        yield warning(
            "quorum-not-ready", "/controller", f"/controller is held by {e.holder}, not by a ZooKeeper broker"
        )


def every_broker_entered(e: Evidence) -> Iterator[Finding]:
    """M4, M4L: who is missing, and which of the four witnesses."""
    for broker in e.expected:
        lacking = _lacking(broker)
        if lacking:
            yield warning(
                "broker-not-entered",
                broker.name,
                f"{broker.name} has not entered the migration: {', '.join(lacking)}",
                "Start it in migration mode." if broker.mode is not None and not broker.ready else _WAIT,
                **witnesses(broker),
            )


def _lacking(broker: BrokerEvidence) -> list[str]:
    """Witnesses that are not there, or were not heard."""
    said = {
        "no znode": broker.in_zookeeper,
        "not registered as migrating": broker.entered,
        "its own answer does not say so": broker.ready,
        "no observer of the quorum": broker.observer,
    }
    lacking = [what for what, there in said.items() if there is False]
    return lacking or [f"{what} (not observed)" for what, there in said.items() if there is None]


def witnesses(broker: BrokerEvidence) -> dict[str, bool | None]:
    """The four, as evidence: None is what was not heard."""
    return {
        "znode": broker.in_zookeeper,
        "registered_migrating": None if broker.registered is None else bool(broker.entered),
        "tag": broker.ready,
        "observer": broker.observer,
    }


def copy_done(e: Evidence) -> Iterator[Finding]:
    """M5: KRaft holds `/controller`, the state is MIGRATION, `/migration` has an offset and moves on with the log."""
    signals = (
        (e.holder is Holder.KRAFT, "/controller", "no KRaft controller holds it"),
        (e.kraft_state == ZkMigrationState.MIGRATION, "metadata log", "the metadata log does not show MIGRATION"),
        (e.copy_marker is CopyMarker.COPIED, "/migration", "/migration has no offset of a copy"),
        (e.has_dual_written, "/migration", "/migration does not follow the log, so dual write has not begun"),
    )
    for seen, subject, text in signals:
        if not seen:
            step = "Wait; after three times the predicted time, and two minutes, read the controllers' logs."
            yield warning("copy-not-done", subject, text, step)
    if e.log is not None and e.log.aborted_copies:
        count = len(e.log.aborted_copies)
        text = f"{count} copies were begun and aborted"
        yield warning("copy-not-done", "metadata log", text, "Read the controllers' logs before they begin again.")


def dual_write_seen(e: Evidence) -> Iterator[Finding]:
    """M6 to M9: ZooKeeper follows the log. The lag metric is 0 while the driver is stuck indefinitely."""
    seen = e.dual_write
    if seen.follows is None:
        text = "/migration and the end of a log were not both observed"
        yield warning("dual-write-not-seen", "/migration", text, "Observe the log of a controller.")
    elif not seen.follows:
        text = f"/migration is at offset {seen.offset}, {seen.lag} records behind the log"
        yield warning("dual-write-not-seen", "/migration", text, metadata_offset=seen.offset, lag=seen.lag)


def every_broker_on_kraft(e: Evidence) -> Iterator[Finding]:
    """M7: each broker registered without the migrating flag, not fenced, and gone from ZooKeeper."""
    for broker in e.brokers:
        held = broker.registration
        reasons = [
            what
            for what, is_so in (
                ("registered as migrating", held is not None and held.migrating),
                ("not registered", broker.registered is False),
                ("fenced", held is not None and held.fenced),
                ("still in /brokers/ids", bool(broker.in_zookeeper)),
                ("not seen to run on KRaft", held is None and broker.registered is None and not broker.on_kraft),
            )
            if is_so
        ]
        if reasons:
            step = _MEND if broker.fell_back else ""
            yield warning("broker-not-on-kraft", broker.name, ", ".join(reasons), step)


_MEND: Final = "Start it with its file of migration mode first, and wait until all its replicas are in the ISR."


def no_migrating_registration(e: Evidence) -> Iterator[Finding]:
    """M8, M9: no broker, not even a dead one, is left behind when a controller without the flag ends the migration."""
    if e.log is None and e.migrating_count is None:
        text = "no log was observed, so whether a broker is still registered as migrating is not known"
        yield warning("migrating-registration-left", "metadata log", text, "Observe the log of a controller.")
    for broker in e.brokers:
        if (broker.registration is not None and broker.registration.migrating) or broker.in_zookeeper:
            text = "still registered as migrating, or in /brokers/ids: if finalized now, this broker is left behind"
            yield warning("migrating-registration-left", broker.name, text)
    alive = sum(answers(controller) is True for controller in e.observation.controllers)
    if e.controllers is not Quorum.UP or 2 * alive <= len(e.observation.controllers):
        yield warning("quorum-not-ready", "controllers", "a majority of controllers was not seen to run")


def controllers_final(e: Evidence) -> Iterator[Finding]:
    """M10: every controller runs without the flag and knows POST_MIGRATION."""
    for controller in e.observation.controllers:
        if has_flag(controller) or (has_flag(controller) is None and file_has_flag(controller)):
            yield warning("controller-not-final", controller.name, f"{controller.name} still has the migration flag")
        elif state_metric(controller) in (ZkMigrationState.MIGRATION, ZkMigrationState.PRE_MIGRATION):
            yield warning(
                "controller-not-final", controller.name, f"{controller.name} does not report POST_MIGRATION yet", _WAIT
            )
        elif answers(controller) is False:
            yield warning("controller-not-final", controller.name, f"{controller.name} does not respond", "Start it.")
