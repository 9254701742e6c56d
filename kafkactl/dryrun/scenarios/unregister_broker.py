"""Scenario `unregister-broker`: a broker's registration is removed.

Kafka accepts the request for a live broker too. The broker's process then stays up without a function: it leads and
follows no partition, does not register again until it is restarted, and after SIGTERM it waits five minutes for a
controlled shutdown that is not granted (measured on 3.9.2 to 4.4.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import first_few
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, leaderless, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.bounds import BeyondBound, beyond_bound
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Prediction, ServerError, Verdict
from kafkactl.dryrun.scenario import Option, Scenario, ScenarioContext
from kafkactl.metadata.image.model import REPLICAS_AT, Image

NAME: Final = "unregister-broker"

BROKER_ID_NOT_REGISTERED = 102


def unregister_broker(image: Image, facts: Facts, broker_id: int) -> Prediction:
    """Predict the removal of a broker: the effects on partitions, on the log, and on the broker if it is alive."""
    asked = {"broker": broker_id}
    controller = ActiveController(image, facts)
    if broker_id not in image.brokers:
        message = f"Broker ID {broker_id} is not currently registered"
        error = ServerError(code=BROKER_ID_NOT_REGISTERED, message=message)
        return Prediction(
            scenario=NAME,
            input=asked,
            verdict=Verdict.REFUSED,
            facts=facts,
            findings=(blocker("broker-not-registered", f"broker {broker_id}", f"Kafka answers 102: {message}"),),
            counts=counts_of(controller, ()),
            operations=(),
            effects={"server_error": error},
        )
    beyond = _beyond_bound(facts, broker_id, len(controller.unregister(broker_id).items))
    if beyond is not None:
        return Prediction(
            scenario=NAME,
            input=asked,
            verdict=beyond.verdict,
            facts=facts,
            findings=(beyond.finding,),
            counts=counts_of(ActiveController(image, facts), ()),
            operations=(),
            effects={"server_error": beyond.error},
        )
    changes = changes_of(controller)
    findings = [*_of_broker(controller, broker_id), *findings_of(changes, leaderless(controller))]
    return Prediction(
        scenario=NAME,
        input=asked,
        verdict=verdict_of(changes),
        facts=facts,
        findings=tuple(findings),
        counts=counts_of(controller, changes),
        changes=changes,
        operations=tuple(controller.operations),
        assumptions=(
            f"the process of broker {broker_id} does not run: no log shows whether a fenced broker does, and one that "
            "starts is fenced (`kafkactl nodes unregister` observes it)",
        ),
    )


def _beyond_bound(facts: Facts, broker_id: int, records: int) -> BeyondBound | None:
    """Return the answer to an unregistration that writes too much. Nothing bounds what fencing writes, and of a fenced
    broker the registration alone is left (measured on 3.9.2 and 4.3.1, with and without ELR)."""
    return beyond_bound(
        records,
        facts.rules,
        id="unregistration-too-large",
        subject=f"broker {broker_id}",
        what="the unregistration",
        next_step=f"Stop broker {broker_id} first and wait until it is fenced: fencing removes it from its ISRs "
        "without a limit, and the unregistration then writes one record.",
    )


def _of_broker(controller: ActiveController, broker_id: int) -> Iterator[Finding]:
    subject = f"broker {broker_id}"
    if not controller.image.brokers[broker_id].fenced:
        yield warning(
            "broker-would-be-zombie",
            subject,
            f"broker {broker_id} is not fenced: it lives, or failed within broker.session.timeout.ms before the end of "
            "the log. Kafka would take the request, and the process of a live broker would stay up without leading or "
            "following anything; it never registers again and ends only five minutes after SIGTERM",
        )
    held = controller.keys(lambda fields: broker_id in fields[REPLICAS_AT])
    if held:
        names = controller.names(held)
        yield note(
            "replicas-stay-assigned",
            subject,
            f"{len(held)} partitions keep broker {broker_id} in their replica lists: {first_few(names)}",
            "Reassign them to other brokers, before or after.",
            count=len(held),
            partitions=names[:20],
        )
    eligible = controller.with_elr(broker_id)
    if eligible:
        names = controller.names(eligible)
        yield note(
            "unregistered-broker-in-elr",
            subject,
            f"{len(eligible)} partitions name broker {broker_id} as an eligible leader though it is gone: "
            f"{first_few(names)}",
            "It cannot be elected while it is not registered, and leaves the ELR when it comes back.",
            count=len(eligible),
        )


@frozen
class Input:
    """The broker that is unregistered."""

    broker: int


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the removal of the broker's registration."""
    return unregister_broker(context.image, context.facts, asked.broker)


SCENARIO: Final = Scenario(
    name=NAME,
    title=lambda asked: f"Unregistration of broker {asked.get('broker')}",
    help="What unregistering a broker does, to its partitions and to itself if it lives.",
    about="The registration of a broker is removed.",
    input=Input,
    simulate=simulate,
    examples=("kafkactl dryrun unregister-broker /disk1/__cluster_metadata-0 --broker 4",),
    options=(Option("broker", "The broker.", metavar="ID"),),
    effects=("server_error",),
)
