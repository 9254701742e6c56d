"""Scenario `fence-broker`: the session of a broker expires, for example in a long pause of its JVM."""

from __future__ import annotations

from typing import Final

from kafkactl.core.findings import note
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, leaderless, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import Option, Scenario, ScenarioContext

NAME: Final = "fence-broker"


@frozen
class Input:
    """The broker whose session expires."""

    broker: int


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the fencing of the broker."""
    controller = ActiveController(context.image, context.facts)
    if not controller.is_active(asked.broker):
        text = f"broker {asked.broker} is not registered, or fenced already"
        return Prediction(
            scenario=NAME, input={"broker": asked.broker}, verdict=Verdict.OK, facts=context.facts,
            findings=(note("broker-not-registered", f"broker {asked.broker}", text),),
            counts=counts_of(controller, ()), operations=(),
        )  # fmt: skip
    controller.fence(asked.broker)
    changes = changes_of(controller)
    return Prediction(
        scenario=NAME, input={"broker": asked.broker}, verdict=verdict_of(changes), facts=context.facts,
        findings=tuple(findings_of(changes, leaderless(controller))), counts=counts_of(controller, changes),
        changes=changes, operations=tuple(controller.operations),
    )  # fmt: skip


SCENARIO: Final = Scenario(
    name=NAME,
    title=lambda asked: f"Fencing of broker {asked.get('broker')}",
    help="What the active controller does when the session of a broker expires.",
    about="The session of a broker expires, and the broker is fenced.",
    input=Input,
    simulate=simulate,
    examples=("kafkactl dryrun fence-broker /disk1/__cluster_metadata-0 --broker 4",),
    options=(Option("broker", "The broker.", metavar="ID"),),
)
