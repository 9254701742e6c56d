"""Scenario `rolling-restart`: every broker is stopped in order and started again, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.answer import Step
from kafkactl.dryrun.brokers.combined import with_quorum
from kafkactl.dryrun.brokers.orders import best_order
from kafkactl.dryrun.brokers.shapes import ShapedController, Spread
from kafkactl.dryrun.compare import findings_among, findings_of, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.members import checked
from kafkactl.dryrun.fields import Form, Kind, is_ids
from kafkactl.dryrun.lazy_sequence import Later
from kafkactl.dryrun.prediction import Change, Prediction, Verdict, heaviest
from kafkactl.dryrun.scenario import Option, ReportPart, Scenario, ScenarioContext, few_numbered
from kafkactl.dryrun.scenarios.broker_loss import LossMode, lose, stop_of
from kafkactl.dryrun.scenarios.broker_return import come_back
from kafkactl.metadata.image.model import Image

NAME: Final = "rolling-restart"


def rolling_restart(image: Image, facts: Facts, order: Sequence[int] | None = None) -> Prediction:
    """Predict each step of a rolling restart, and a safe order if none is given.

    A step's effects are those while its broker is down. Raises InputError `unknown-broker`.
    """
    brokers = checked(image, facts, order if order is not None else sorted(image.brokers))
    chosen = list(brokers) if order is not None else safest_order(image, facts)
    controller = ShapedController(image, facts)
    steps: list[Step] = []
    findings: dict[str, Finding] = {}
    verdicts: list[Verdict] = []
    for number, broker_id in enumerate(chosen, start=1):
        step, verdict, found = _step(controller, broker_id, number)
        steps.append(step)
        verdicts.append(verdict)
        findings |= {f"{finding.id} {broker_id}": finding for finding in found}
    end = Spread(controller)
    return Prediction(
        scenario=NAME,
        input={"order": list(order) if order is not None else "auto"},
        verdict=heaviest(verdicts),
        facts=facts,
        findings=(*findings.values(), *findings_of((), controller.leaderless_before)),
        counts=end.counts(),
        changes=Later(end.total, end.all, end.first),
        operations=controller.later_operations(),
        effects={"steps": steps, "order": chosen},
        assumptions=tuple(_assumptions(order)),
        end=controller.placed,
    )


def safest_order(image: Image, facts: Facts) -> list[int]:
    """Return brokers that are down first, then the least harmful order of the others (`orders`): the fewest
    partitions without a leader, then the fewest under min ISR, then the fewest moves of leaders."""
    down = [broker for broker in sorted(image.brokers) if image.brokers[broker].fenced]
    live = [broker for broker in image.brokers if broker not in down]
    return [*down, *best_order(ActiveController(image, facts), down, live)]


def _step(controller: ShapedController, broker_id: int, number: int) -> tuple[Step, Verdict, list[Finding]]:
    """Simulate a stop and a start of the broker.

    Partitions before the stop are compared with those while it is down.
    """
    controller.mark()
    written = controller.written
    held = controller.brokers.get(broker_id)
    hangs, stranger = Verdict.OK, []
    if held is None:
        hangs, finding = stop_of(controller, broker_id, LossMode.CONTROLLED)
        stranger.append(_in_step(finding, number, broker_id))
    elif not held.fenced:
        lose(controller, broker_id, LossMode.CONTROLLED)
    down = Spread(controller, since_mark=True)
    verdict = heaviest([hangs, verdict_of(down.changes)])
    step: Step = {
        "number": number,
        "broker": broker_id,
        "verdict": verdict,
        "partitions": down.counts(),
        "worst": list(down.first(10)),
    }
    found = [_in_step(finding, number, broker_id) for finding in findings_among(down.named)]
    come_back(controller, broker_id, clean=held is not None and controller.brokers[broker_id].in_controlled_shutdown)
    step["records_appended"] = controller.written - written
    return step, verdict, [*stranger, *found, *_elected_at_return(controller, broker_id, number)]


def _elected_at_return(controller: ShapedController, broker_id: int, number: int) -> Iterator[Finding]:
    """Yield the unclean elections of the broker that returned: of replicas that had no leader to follow."""
    returned = Spread(controller, since_mark=True)

    def named(chosen: Callable[[Change], bool], most: int) -> tuple[int, list[str]]:
        return returned.named(lambda change: change.leader_after == broker_id and chosen(change), most)

    for finding in findings_among(named):
        if finding.id == "unclean-leader":
            yield _in_step(finding, number, broker_id, f"when broker {broker_id} returns")


def _in_step(finding: Finding, number: int, broker_id: int, moment: str = "") -> Finding:
    return Finding(
        id=finding.id,
        severity=finding.severity,
        subject=f"step {number}, broker {broker_id}: {finding.subject}",
        message=f"{moment or f'while broker {broker_id} is down'}: {finding.message}",
        evidence=finding.evidence,
        next_step=finding.next_step,
    )


def _assumptions(order: Sequence[int] | None) -> Iterator[str]:
    yield "each broker stops by a controlled shutdown, and the next begins when its replicas are in sync again"
    yield "leaders are not moved back in between (auto.leader.rebalance.enable does so within minutes)"
    if order is None:
        yield "brokers that are down are brought back first"


AUTO: Final = "auto"
_ORDER: Final = Kind(
    words='"auto" or a list of node ids',
    holds=lambda value: value == AUTO or is_ids(value),
    read=lambda value: AUTO if value == AUTO else tuple(value),
    form=Form.ORDER,
)


@frozen
class Input:
    """The brokers in their order; `auto`: in the safest."""

    order: Annotated[str | tuple[int, ...], _ORDER] = AUTO


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the restart of the brokers, with what each step means for a quorum that has them as voters."""
    order = None if isinstance(asked.order, str) else asked.order
    found = rolling_restart(context.image, context.facts, order)
    return with_quorum(found, context.voters, [(broker_id,) for broker_id in found.effects.get("order") or ()])


def _title(asked: Mapping[str, Any]) -> str:
    order = asked.get("order")
    if isinstance(order, str) or order is None:
        return "Rolling restart of all brokers in the safest order"
    return f"Rolling restart of {few_numbered('broker', order)}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="What each step of a rolling restart does, and the safest order.",
    about="Every broker is restarted, one after the other.",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun rolling-restart /disk1/__cluster_metadata-0",
        "kafkactl dryrun rolling-restart /disk1/__cluster_metadata-0 --order 3,1,2",
    ),
    options=(Option("order", "The brokers in their order."),),
    effects=("steps", "order"),
    report=ReportPart(place=5, inputs=lambda image: [Input()] if image.brokers else []),
)
