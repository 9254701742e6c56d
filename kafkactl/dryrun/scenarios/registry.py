"""Every scenario by its name, from an input as it stands in answers: what is printed can be played again.

`run` plays one scenario on a state; `chain` plays several, each on what the one before it left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from kafkactl.dryrun.chain import after
from kafkactl.dryrun.controller.election import Election
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.engine.loader import Started
from kafkactl.dryrun.engine.local import GAP, Loaded
from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest
from kafkactl.dryrun.scenarios.alter_config import alter_config, parse_entity
from kafkactl.dryrun.scenarios.broker_loss import LossMode, broker_loss
from kafkactl.dryrun.scenarios.broker_return import broker_return
from kafkactl.dryrun.scenarios.combined import with_quorum, worst_for_quorum
from kafkactl.dryrun.scenarios.controllers import ControllerEvent, Observed, VoterWish, controllers
from kafkactl.dryrun.scenarios.elect_leaders import elect_leaders
from kafkactl.dryrun.scenarios.feature_levels import feature_levels
from kafkactl.dryrun.scenarios.growth import growth, replay_report
from kafkactl.dryrun.scenarios.input import check_input
from kafkactl.dryrun.scenarios.reassignment import Move, reassignment
from kafkactl.dryrun.scenarios.restart import restart
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart
from kafkactl.dryrun.scenarios.unregister_broker import unregister_broker
from kafkactl.dryrun.scenarios.worst import worst_losses
from kafkactl.errors import InputError
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.findings import Finding, Severity
from kafkactl.frozen import frozen
from kafkactl.values import Uuid
from kafkactl.wording import plural

Input: TypeAlias = Mapping[str, Any]


@frozen
class World:
    """What a scenario is played on: a log read to its end, and the facts beside it.

    `observed` is the live quorum of that cluster where it was asked; `started` is what nodes make of the log that start
    from it, read for the scenario `restart` only; `told` what there is to say of the sources whatever is asked.
    """

    loaded: Loaded
    facts: Facts
    cluster_id: str | None = None
    started: tuple[Started, ...] = ()
    told: tuple[Finding, ...] = ()
    observed: Observed | None = None


def run(scenario: str, world: World, asked: Input) -> Prediction:
    """Play one scenario. `asked` has the fields of the `input` of its answer.

    Raises InputError `unknown-scenario`, `invalid-scenario-input`, and what the scenario raises.
    """
    if scenario not in SCENARIOS:
        known = ", ".join(sorted(SCENARIOS))
        raise InputError(
            f"there is no scenario {scenario!r}", id="unknown-scenario", next_step=f"Scenarios are: {known}."
        )
    check_input(scenario, asked)
    try:
        found = SCENARIOS[scenario](world, {name: value for name, value in asked.items() if value is not None})
    except InputError as error:
        raise _on_damage(error, world) from None
    return _on_what_was_read(found, world)


def chain(world: World, events: Iterable[tuple[str, Input]]) -> tuple[World, list[Prediction]]:
    """Play scenarios one after the other; the world after the last, and what each came to."""
    found = []
    for scenario, asked in events:
        prediction = run(scenario, world, asked)
        found.append(prediction)
        image, facts = after(world.loaded.image, prediction)
        world = replace(world, loaded=replace(world.loaded, image=image), facts=facts)
    return world, found


def _on_what_was_read(found: Prediction, world: World) -> Prediction:
    """What was wrong with the log belongs to the answer, and one that is not whole cannot carry a calm verdict."""
    broken = [one for one in world.loaded.findings if one.severity is Severity.BLOCKER]
    is_sound = not broken and not any(one.severity is Severity.BLOCKER for one in world.told)
    verdict = found.verdict if is_sound else heaviest([found.verdict, Verdict.UNKNOWN])
    gaps = [one for one in world.loaded.findings if one.id == GAP and one not in broken]
    told = world.loaded.findings if found.scenario == "replay" else (*broken, *gaps)
    return replace(found, verdict=verdict, findings=(*found.findings, *world.told, *_by_id(told)))


def _on_damage(error: InputError, world: World) -> InputError:
    """What the log does not have may be in what could not be read of it."""
    broken = next((one for one in world.loaded.findings if one.severity is Severity.BLOCKER), None)
    if broken is None:
        return error
    cause = f"This log was not read whole: {broken.message}."
    return InputError(error.message, id=error.id, cause=error.cause or cause, next_step=error.next_step)


def _by_id(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first of each id, with the number of the others."""
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(one.id, []).append(one)
    for first, *others in groups.values():
        more = f"; {len(others)} more like it" if others else ""
        evidence = {**first.evidence, "count": len(others) + 1}
        yield replace(first, message=first.message + more, evidence=evidence)


# --- one function a scenario --------------------------------------------------------------------------------------


def _replay(world: World, asked: Input) -> Prediction:
    return replay_report(world.loaded, world.facts, {"at": asked.get("at")})


def _restart(world: World, asked: Input) -> Prediction:
    return restart(world.loaded.image, world.facts, world.started, asked.get("node"), _voters(world))


def _growth(world: World, asked: Input) -> Prediction:
    return growth(world.loaded, world.facts, asked["days"])


def _broker_loss(world: World, asked: Input) -> Prediction:
    image, facts = world.loaded.image, world.facts
    if asked.get("worst") is None:
        mode = LossMode(asked.get("mode", "crash"))
        found = broker_loss(image, facts, asked["brokers"], mode=mode, in_order=asked.get("in_order", False))
        return with_quorum(found, _voters(world), [asked["brokers"]])
    losses, count = worst_losses(image, facts, asked["worst"])
    # More than six brokers are lost in too many orders to be listed; the harm was found in all of them.
    found = broker_loss(image, facts, losses[0].brokers, in_order=asked["worst"] > 6)
    effects = {"worst": [one.to_dict() for one in losses], "sets": count}
    findings = tuple(_without(losses[0].brokers, one) for one in found.findings)
    found = replace(found, input={"worst": asked["worst"]}, findings=findings, effects={**found.effects, **effects})
    voters, live = _voters(world), [one.id for one in image.brokers.values() if not one.fenced]
    fatal = worst_for_quorum(voters, live, asked["worst"])
    return with_quorum(found, voters, [fatal or losses[0].brokers], is_played=not fatal)


def _voters(world: World) -> tuple[int, ...]:
    """The ids of the voters, as far as the log tells them."""
    known = world.loaded.image.voters
    return world.loaded.voters if known is None else tuple(voter.node_id for voter in known)


def _without(brokers: Sequence[int], finding: Finding) -> Finding:
    """A finding about the worst set, which names the set."""
    lost = f"without {plural('broker', len(brokers))} {', '.join(map(str, brokers))}"
    return replace(finding, subject=f"{lost}: {finding.subject}")


def _broker_return(world: World, asked: Input) -> Prediction:
    return broker_return(
        world.loaded.image,
        world.facts,
        asked["brokers"],
        empty_disks=asked.get("empty_disks", False),
        clean=asked.get("clean"),
        in_order=asked.get("in_order", False),
    )


def _rolling_restart(world: World, asked: Input) -> Prediction:
    order = asked.get("order", "auto")
    found = rolling_restart(world.loaded.image, world.facts, None if order == "auto" else order)
    return with_quorum(found, _voters(world), [(one,) for one in found.effects["order"]])


def _unregister_broker(world: World, asked: Input) -> Prediction:
    return unregister_broker(world.loaded.image, world.facts, asked["broker"])


def _elect_leaders(world: World, asked: Input) -> Prediction:
    wanted = [parse_partition(one) for one in asked.get("topics", [])]
    return elect_leaders(world.loaded.image, world.facts, Election(asked.get("type", "preferred")), wanted)


def _alter_config(world: World, asked: Input) -> Prediction:
    entity = parse_entity(asked["entity"])
    return alter_config(
        world.loaded.image,
        world.facts,
        entity,
        asked.get("set", {}),
        asked.get("delete", []),
        through_broker=asked.get("through_broker", False),
    )


def _reassignment(world: World, asked: Input) -> Prediction:
    moves = [
        Move(one["topic"], one["partition"], None if one["replicas"] is None else tuple(one["replicas"]))
        for one in asked["moves"]
    ]
    return reassignment(world.loaded.image, world.facts, moves)


def _controllers(world: World, asked: Input) -> Prediction:
    seen = world.observed
    if seen is not None and None not in (seen.cluster_id, world.cluster_id) and seen.cluster_id != world.cluster_id:
        seen = None  # the log is of another cluster than the one that was asked
    event = ControllerEvent(
        down=frozenset(asked.get("down", [])) | frozenset(() if seen is None else seen.not_alive),
        lose=frozenset(asked.get("lose", [])),
        add=_wish(asked.get("add")),
        remove=_wish(asked.get("remove")),
        cluster_id=asked.get("cluster_id"),
        own_cluster_id=world.cluster_id,
        observed=seen,
    )
    return controllers(world.loaded.image, world.facts, event, world.loaded.voters)


def _wish(asked: Input | None) -> VoterWish | None:
    if asked is None:
        return None
    directory = asked.get("directory_id")
    return VoterWish(
        node_id=asked["id"],
        directory_id=None if directory is None else Uuid.parse(directory),
        endpoint=asked.get("endpoint"),
    )


def _features(world: World, asked: Input) -> Prediction:
    request = FeatureRequest(
        operation=Operation(asked["operation"]),
        levels=asked.get("levels", {}),
        unsafe=asked.get("unsafe", False),
        release_version=asked.get("release_version"),
    )
    return feature_levels(
        world.loaded.image,
        world.facts,
        request,
        cluster_id=world.cluster_id or "",
        voters=world.loaded.voters,
        down=frozenset(asked.get("down", [])),
        not_alive={} if world.observed is None else world.observed.not_alive,
    )


SCENARIOS: Final[Mapping[str, Callable[[World, Input], Prediction]]] = {
    "replay": _replay,
    "features": _features,
    "broker-loss": _broker_loss,
    "broker-return": _broker_return,
    "rolling-restart": _rolling_restart,
    "unregister-broker": _unregister_broker,
    "elect-leaders": _elect_leaders,
    "controllers": _controllers,
    "alter-config": _alter_config,
    "reassignment": _reassignment,
    "growth": _growth,
    "restart": _restart,
}


def parse_partition(text: str) -> tuple[str, int | None]:
    """`TOPIC` or `TOPIC:PARTITION`. Raises InputError `invalid-partition-name`.

    >>> parse_partition("orders:3")
    ('orders', 3)
    """
    topic, colon, number = text.partition(":")
    if not topic or (colon and not (number.isascii() and number.isdigit())):
        raise InputError(
            f"{text!r} names neither a topic nor a partition of one",
            id="invalid-partition-name",
            next_step="Write TOPIC or TOPIC:PARTITION.",
        )
    return topic, int(number) if colon else None
