"""Scenario `broker-loss`: brokers crash or are shut down, together or in an order that is given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, ClassVar, Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, note
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import numbered
from kafkactl.dryrun.answer import Effects
from kafkactl.dryrun.brokers.combined import is_fatal, out_of_reach, unreachable, with_quorum
from kafkactl.dryrun.brokers.loss import ends_of
from kafkactl.dryrun.brokers.worst_loss import worst_losses
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, leaderless, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.members import checked
from kafkactl.dryrun.fields import NodeIds
from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest
from kafkactl.dryrun.scenario import Option, OptionsError, ReportPart, Scenario, ScenarioContext, few_numbered
from kafkactl.metadata.image.model import REPLICAS_AT, Image, Partition

NAME: Final = "broker-loss"

MOST_TOGETHER = 6  # 720 orders for a partition that has them all as replicas


class LossMode(StrEnum):
    """Kind of a broker's loss: killed, or asked to stop and given the time."""

    CRASH = "crash"
    CONTROLLED = "controlled"


def broker_loss(
    image: Image,
    facts: Facts,
    brokers: Sequence[int],
    *,
    mode: LossMode = LossMode.CRASH,
    in_order: bool = False,
    voters: Collection[int] = (),
) -> Prediction:
    """Predict the state of the cluster after these brokers are lost. `voters` are those of the quorum.

    Without `in_order` every order is simulated, and a result that depends on the order has all its outcomes; the
    records are those of the given order. Raises InputError `unknown-broker`, `no-brokers-named`,
    `too-many-brokers-lost`.
    """
    brokers = checked(image, facts, brokers)
    controller = ActiveController(image, facts)
    strangers = [broker for broker in brokers if broker not in image.brokers]
    gone = [broker for broker in brokers if broker in image.brokers and image.brokers[broker].fenced]
    lost = [broker for broker in brokers if broker not in (*gone, *strangers)]
    if len(lost) > MOST_TOGETHER and not in_order and not is_fatal(voters, lost):
        raise InputError(
            f"{len(lost)} brokers lost together can be noticed in too many orders; {MOST_TOGETHER} are the most",
            id="too-many-brokers-lost",
        )
    noticed = _noticed(voters, lost, mode, in_order=in_order)
    for broker_id in noticed:
        lose(controller, broker_id, mode)
    away = [broker for broker in lost if broker not in noticed]
    if away:
        changes, counts = out_of_reach(controller, away)
        findings = [*unreachable(controller, changes, away), *_gone(gone)]
    else:
        changes = changes_of(controller, {} if in_order or len(lost) < 2 else _outcomes(image, facts, lost))
        counts = counts_of(controller, changes)
        findings = [*findings_of(changes, leaderless(controller)), *_gone(gone)]
    stops = [stop_of(controller, stranger, mode) for stranger in strangers]
    return Prediction(
        scenario=NAME,
        input=_input(brokers, mode, in_order),
        verdict=heaviest([verdict_of(changes), *(verdict for verdict, _ in stops)]),
        facts=facts,
        findings=(*(finding for _, finding in stops), *findings),
        counts=counts,
        changes=changes,
        operations=tuple(controller.operations),
        assumptions=tuple(_assumptions(lost, mode, in_order)),
    )


def _noticed(voters: Collection[int], lost: Sequence[int], mode: LossMode, *, in_order: bool) -> list[int]:
    """Return the lost brokers that the controllers fence: all, or those for which a majority is there.

    A controlled shutdown is granted before the node ends as a controller; a crash is noticed by the others.
    """
    if not is_fatal(voters, lost):
        return list(lost)
    if mode is LossMode.CRASH and not in_order:
        return []
    before = mode is LossMode.CONTROLLED
    return [broker for at, broker in enumerate(lost) if not is_fatal(voters, lost[: at + (not before)])]


def lose(controller: ActiveController, broker_id: int, mode: LossMode) -> None:
    """Simulate the loss of one broker: its session expires, or it moves its leaders to others and shuts down."""
    if mode is LossMode.CONTROLLED:
        controller.begin_shutdown(broker_id)
    controller.fence(broker_id)
    if mode is LossMode.CONTROLLED and controller.facts.rules.fences_again_after_shutdown:
        controller.fence(broker_id)


def stop_of(controller: ActiveController, broker_id: int, mode: LossMode) -> tuple[Verdict, Finding]:
    """Return the effect of the loss of an unregistered broker: none, or a controlled shutdown that does not end."""
    subject, before = f"broker {broker_id}", controller.facts.departed.get(broker_id)
    start = f"broker {broker_id} is not registered: no partition is led by it, and its loss changes none"
    if mode is LossMode.CRASH or (before is not None and before.fenced):
        return Verdict.OK, note("broker-not-registered", subject, start)
    lives = "was alive when it was unregistered" if before is not None else "may be alive, which this log does not show"
    return Verdict.WEDGED if before is not None else Verdict.UNKNOWN, blocker(
        "controlled-shutdown-not-granted",
        subject,
        f"{start}. It {lives}; the active controller takes no heartbeat of a broker that is not registered, so its "
        "controlled shutdown is never granted: after SIGTERM the process waits five minutes for it before it ends",
    )


def _outcomes(image: Image, facts: Facts, lost: Sequence[int]) -> dict[Key, Sequence[Partition]]:
    """Return the different ends of every partition that has two or more lost brokers as replicas."""
    start = ActiveController(image, facts)
    found: dict[Key, Sequence[Partition]] = {}
    for key in start.keys(lambda fields: sum(replica in lost for replica in fields[REPLICAS_AT]) > 1):
        partition = start.partition(key)
        ends = ends_of(
            partition,
            [replica for replica in partition.replicas if replica in lost],
            start.acceptor(partition, start.is_active),
            facts.rules.elections,
            start.settings(image.topics[key[0]]),
        )
        if len(ends) > 1:
            found[key] = ends
    return found


def _gone(brokers: Sequence[int]) -> Iterator[Finding]:
    for broker_id in brokers:
        yield note(
            "broker-fenced-already",
            f"broker {broker_id}",
            f"broker {broker_id} is fenced: the cluster lives without it already, losing it changes nothing",
        )


def _assumptions(lost: Sequence[int], mode: LossMode, in_order: bool) -> Iterator[str]:
    if len(lost) > 1 and not in_order:
        yield "counts, records and leader epochs are those of the order in which the brokers were named"
    if mode is LossMode.CONTROLLED:
        yield "each controlled shutdown ends before the next begins"
    else:
        yield "nothing else happens before the sessions expire (broker.session.timeout.ms, 9 s if not set)"
    yield "each operation of the controller is one batch; two within 25 ms may share one, which saves 61 bytes"


def _input(brokers: Sequence[int], mode: LossMode, in_order: bool) -> dict[str, Any]:
    return {"brokers": list(brokers), "mode": mode.value, "in_order": in_order}


@frozen
class Input:
    """The brokers that are lost together; or `worst`: all sets of so many live brokers are searched."""

    brokers: NodeIds | None = None
    mode: LossMode = LossMode.CRASH
    in_order: bool = False
    worst: int | None = None

    ONE_OF: ClassVar = (("brokers", "worst"),)


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Predict the loss of the named brokers, or of the worst set, and its effect on a quorum with them as voters."""
    if asked.worst is not None:
        return _worst(context, asked.worst)
    brokers, voters = asked.brokers or (), context.voters
    found = broker_loss(context.image, context.facts, brokers, mode=asked.mode, in_order=asked.in_order, voters=voters)
    return with_quorum(found, voters, [brokers])


def _worst(context: ScenarioContext, size: int) -> Prediction:
    image, facts, voters = context.image, context.facts, context.voters
    losses, count = context.losses or worst_losses(image, facts, size, voters=voters)
    worst = losses[0].brokers
    # More than six brokers are lost in too many orders to be listed; the harm was found in all of them.
    in_order = size > MOST_TOGETHER and not losses[0].loses_majority
    found = with_quorum(broker_loss(image, facts, worst, in_order=in_order, voters=voters), voters, [worst])
    effects: Effects = {**found.effects, "worst": list(losses), "sets": count}
    findings = tuple(_of_worst(worst, finding) for finding in found.findings)
    return replace(found, input={"worst": size}, findings=findings, effects=effects)


def _of_worst(brokers: Sequence[int], finding: Finding) -> Finding:
    """Return a finding about the worst set, which names the set."""
    lost = f"without {numbered('broker', brokers)}"
    return replace(finding, subject=f"{lost}: {finding.subject}")


def _from_options(*, brokers: tuple[int, ...] | None, mode: LossMode, in_order: bool, worst: int | None) -> Input:
    if (brokers is None) == (worst is None):
        raise OptionsError("Give --brokers, or --worst.")
    if worst is not None and (in_order or mode is not LossMode.CRASH):
        raise OptionsError("--worst looks for crashes in every order; --mode and --in-order go with --brokers.")
    return Input(brokers=brokers, mode=mode, in_order=in_order, worst=worst)


def _in_report(image: Image) -> list[Input]:
    """Return the worst loss of one and of two brokers."""
    live = sum(not broker.fenced for broker in image.brokers.values())
    return [Input(worst=size) for size in (1, 2) if size <= live]


def _title(asked: Mapping[str, Any]) -> str:
    how = ", shut down one by one" if asked.get("mode") == "controlled" else ""
    worst = asked.get("worst")
    if worst is not None:
        return f"Loss of the worst broker{how}" if worst == 1 else f"Loss of the {worst} worst brokers{how}"
    order = ", in this order" if asked.get("in_order") else ""
    return f"Loss of {few_numbered('broker', asked.get('brokers') or ())}{order}{how}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="""What happens when brokers are lost.

    The controller notices brokers that are lost together one after the other, in an unknown
    order: every order is simulated, and where it matters, all outcomes are listed.
    """,
    about="Brokers are lost. For brokers lost together, every order is simulated.",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --brokers 3,4",
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --brokers 3 --mode controlled --records -o json",
        "kafkactl dryrun broker-loss /disk1/__cluster_metadata-0 --worst 2",
    ),
    options=(
        Option("brokers", "The brokers that are lost together."),
        Option("mode", "How they go."),
        Option("in_order", "Simulate only the given order."),
        Option("worst", "Search all sets of K live brokers.", metavar="K", least=1),
    ),
    effects=("worst", "sets"),
    from_options=_from_options,
    report=ReportPart(place=7, inputs=_in_report),
)
