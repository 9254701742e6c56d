"""Signs that another driver acts on the cluster, looked for before the first act of a run.

A lock keeps two runs with one journal apart; two journals only meet in the metadata log. A node that stops, registered
a moment ago, or is down after a controlled shutdown was changed by another driver, unless this journal has the change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.roll.case import RollCase
from kafkactl.roll.cluster_log import EventKind, RegistrationEvent
from kafkactl.roll.driver.ports import RollWaitPolicy
from kafkactl.roll.journal import RollProgress

CONCURRENT: Final = "concurrent-roll"


def other_hands(case: RollCase, progress: RollProgress, policy: RollWaitPolicy) -> tuple[Finding, ...]:
    """Return the signs of another driver: nodes that stop, registered just now, or were stopped and are down."""
    own = {*progress.pending, *progress.restarted}
    found = (*_stopping(case), *_registered(case, policy.interval_ms), *_stopped(case, policy.gate_ms))
    return tuple(finding for finding in found if finding.evidence["node"] not in own)


def _stopping(case: RollCase) -> Iterator[Finding]:
    for broker_id, broker in case.image.brokers.items():
        if broker.in_controlled_shutdown and not broker.fenced:
            yield _found(
                f"broker {broker_id}", "is in controlled shutdown, and this journal did not stop it", broker_id
            )


def _registered(case: RollCase, within_ms: float) -> Iterator[Finding]:
    """Report registrations of the last moment. One in a snapshot only has no time, and is older."""
    for event in _events(case):
        age_ms = _age_ms(case, event)
        if event.kind is EventKind.REGISTERED and age_ms is not None and age_ms < within_ms:
            text = f"registered {age_ms} ms ago, and this journal did not start it"
            yield _found(f"{event.role.value} {event.node_id}", text, event.node_id)


def _stopped(case: RollCase, within_ms: float) -> Iterator[Finding]:
    """Report brokers that are down after a controlled shutdown, for less time than a driver waits for a node.

    A broker that failed was not stopped, and one that was stopped long ago is started in its turn.
    """
    for broker_id, broker in case.image.brokers.items():
        if not (broker.in_controlled_shutdown and broker.fenced):
            continue
        stops = [event for event in _events(case) if event.node_id == broker_id and event.kind is EventKind.STOPPING]
        age_ms = _age_ms(case, stops[-1]) if stops else None
        if age_ms is not None and age_ms < within_ms:
            text = f"was stopped {age_ms} ms ago, and not by this journal: another driver may be about to start it"
            step = (
                f"Find the other driver, and run the command again when it has ended. If there is none, start broker "
                f"{broker_id}, which is always allowed, and run the command again when it is back."
            )
            yield _found(f"broker {broker_id}", text, broker_id, step)


def _events(case: RollCase) -> tuple[RegistrationEvent, ...]:
    log = case.observation.log
    return () if log is None else log.events


def _age_ms(case: RollCase, event: RegistrationEvent) -> int | None:
    """Return the age of an event; None if it is unknown, or in the future of this machine's clock."""
    now_ms = case.observation.time_ms
    age_ms = None if now_ms is None or event.at_ms is None else now_ms - event.at_ms
    return None if age_ms is None or age_ms < 0 else age_ms


def _found(subject: str, text: str, node_id: int, next_step: str = "") -> Finding:
    return blocker(CONCURRENT, subject, f"{subject} {text}", next_step, node=node_id)
