"""M8: every broker is on KRaft, ZooKeeper is still written, and a rollback is still possible.

`state/soak.py` measures how long this state has lasted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.conditions import copied, shown_by_tree_alone
from kafkactl.migration.state.evidence import Evidence, Quorum
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Milestone, Row, StateDefinition
from kafkactl.migration.steps.m6 import mirror_follows
from kafkactl.migration.steps.step import Barrier

# Recognition


def _some_left(e: Evidence) -> bool:
    """Return True if brokers are still registered as migrating; if no log shows them, if they run so."""
    if e.log is None and e.migrating_count is not None:
        return e.migrating_count > 0
    if any(broker.on_kraft is False for broker in e.brokers):
        return True
    unseen = e.log is None and not e.on_kraft
    return unseen and (not shown_by_tree_alone(e) or any(broker.in_zookeeper for broker in e.brokers))


ALL_ON_KRAFT: Final = Row(
    State.M8,
    lambda e: copied(e) and not _some_left(e),
    "the copy is done, and no broker is registered as migrating",
)


# Gate


def no_migrating_registration(e: Evidence) -> Iterator[Finding]:
    """Report brokers that a finalized migration would leave behind, dead ones too, and a quorum without a majority."""
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


_BEFORE_THE_END: Final = Milestone(
    name="finalize",
    precedes=lambda step: step.barrier is Barrier.FINALIZE,
    observations=3,
    asks_gate=True,
    compares=True,
    asks_soak=True,
)

M8: Final = StateDefinition(
    state=State.M8,
    level=Level.COPIED,
    milestone=_BEFORE_THE_END,
    ends_automatically=True,
    gate=(mirror_follows, no_migrating_registration),
    needs_quorum=True,
    is_mirrored=True,
)
