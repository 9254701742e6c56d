"""Scenario `reassignment`: a plan of replicas (`kafka-reassign-partitions.sh`), what it writes, whether it can end.

Sources: `alterPartitionReassignment` in `ReplicationControlManager.java`, `PartitionReassignmentReplicas.java`,
`PartitionReassignmentRevert.java`; errors measured on 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted, first_few
from kafkactl.dryrun.answer import Result, Step
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.controller.election import Election, Target, without
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.periodic import leaders_move_back
from kafkactl.dryrun.controller.rules import MOST_RECORDS_OF_REQUEST
from kafkactl.dryrun.fields import Kind, is_ids, is_number, is_text, list_of
from kafkactl.dryrun.prediction import Prediction, Verdict, findings_for, heaviest
from kafkactl.dryrun.reassignment_plan import Move, parse_plan
from kafkactl.dryrun.scenario import Document, Option, Scenario, ScenarioContext
from kafkactl.dryrun.scenarios.broker_return import catch_up
from kafkactl.metadata.image.lint import throttles_left
from kafkactl.metadata.image.model import ADDING_AT, REMOVING_AT, Image, Partition
from kafkactl.protocol.schema.error_codes import error_code

NAME: Final = "reassignment"

NONE, UNKNOWN_PARTITION, INVALID_ASSIGNMENT, NO_REASSIGNMENT = 0, 3, 39, 85
UNKNOWN_SERVER_ERROR = -1


def reassignment(image: Image, facts: Facts, moves: Sequence[Move]) -> Prediction:
    """Predict a plan: its first records, and those at its end, or the reason why it never ends."""
    controller = ActiveController(image, facts)
    results: list[Result] = []
    items: list[Any] = []
    started: list[Key] = []
    probe = ActiveController(image, facts)  # of what no longer fits into the request
    asked = 0
    for move in moves:
        is_full = facts.rules.bounded_requests and len(items) == MOST_RECORDS_OF_REQUEST
        code, message, change = _start(probe if is_full else controller, move)
        asked += len(change)
        if is_full and change:
            code, message, change = UNKNOWN_SERVER_ERROR, _FULL, []
        results.append(
            {
                "topic": move.topic,
                "partition": move.partition,
                "error_code": code,
                "error_name": error_code(code).name,
                "message": message,
            }
        )
        items += change
        if code == NONE and move.replicas is not None:
            topic = image.topic(move.topic)
            assert topic is not None
            started.append((topic.id, move.partition))
    if items:
        controller.apply("reassignment", *items)
    before = len(items)
    fits = before <= MOST_RECORDS_OF_REQUEST
    stuck = _finish(controller, started)
    changes = changes_of(controller)
    completes = not stuck and fits and all(result["error_code"] == NONE for result in results)
    steps = [_state(controller, key, stuck) for key in started]
    verdict = _verdict(results, stuck, verdict_of(changes), fits=fits)
    findings = [
        *findings_for(verdict, _refused(results)),
        *findings_for(verdict, _too_many(asked, is_atomic=not facts.rules.bounded_requests)),
        *_stuck(controller, stuck),
        *findings_of(changes, 0),
        *leaders_move_back(controller),
        *throttles_left(image),
        *_under_way_before(image, moves),
    ]
    return Prediction(
        scenario=NAME,
        input={"moves": [_shown(move) for move in moves]},
        verdict=verdict,
        facts=facts,
        findings=tuple(findings),
        counts=counts_of(controller, changes),
        changes=changes,
        operations=tuple(controller.operations),
        effects={"results": results, "steps": steps, "completes": completes, "records_at_once": before},
        assumptions=("every live replica that is added catches up and joins the ISR", *_reports(image, moves)),
    )


def _reports(image: Image, moves: Sequence[Move]) -> Iterator[str]:
    """Yield the assumption for brokers with several log directories: which one each chooses, and when it reports that,
    cannot be predicted. No text if no such broker gets a replica."""
    added = [
        broker_id
        for move in moves
        if move.replicas is not None and (topic := image.topic(move.topic)) and move.partition in topic.partitions
        for broker_id in set(move.replicas) - set(topic.partitions[move.partition].replicas)
        if broker_id in image.brokers and len(image.brokers[broker_id].directories) > 1
    ]
    if added:
        yield (
            f"brokers with several log directories choose one for each replica that is added there ({len(added)} on "
            f"{first_few([f'broker {broker}' for broker in sorted(set(added))])}) and report it: up to one more "
            "PartitionChangeRecord each, which is not counted here"
        )


def _start(controller: ActiveController, move: Move) -> tuple[int, str | None, list[Any]]:
    """Return the answer to one partition of the request: error code, its text, and the change."""
    topic = controller.image.topic(move.topic)
    if topic is None or move.partition not in topic.partitions:
        what = f"topic named {move.topic}" if topic is None else f"partition {move.topic}:{move.partition}"
        return UNKNOWN_PARTITION, f"Unable to find {'a ' if topic is None else ''}{what}.", []
    key = (topic.id, move.partition)
    partition = controller.partition(key)
    least, _ = controller.settings(topic)
    if move.replicas is None:
        return _cancel(controller, key, partition)
    error = _invalid(controller, move.replicas)
    if error:
        return INVALID_ASSIGNMENT, error, []
    removing = tuple(sorted(set(partition.replicas) - set(move.replicas)))
    adding = tuple(sorted(set(move.replicas) - set(partition.replicas)))
    target = Target(
        min_isr=least,
        replicas=(*move.replicas, *removing),
        removing=removing or None,
        adding=adding or None,
    )
    return NONE, None, controller.change(key, target, controller.is_active)


def _cancel(controller: ActiveController, key: Key, partition: Partition) -> tuple[int, str | None, list[Any]]:
    """Restore the earlier replicas; the ISR loses the replicas that were being added."""
    if not (partition.adding_replicas or partition.removing_replicas):
        return NO_REASSIGNMENT, None, []  # the text that every client has for this code is not sent
    topic = controller.image.topics[key[0]]
    least, unclean = controller.settings(topic)
    replicas = without(partition.replicas, *partition.adding_replicas)
    isr = without(partition.isr, *partition.adding_replicas)
    if not isr and not unclean:
        message = (
            f"Unable to revert partition assignment for {topic.name}:{key[1]} because it would require an unclean "
            "leader election."
        )
        return INVALID_ASSIGNMENT, message, []
    target = Target(
        min_isr=least,
        isr=isr or replicas[:1],
        replicas=replicas,
        removing=(),
        adding=(),
        election=Election.UNCLEAN if unclean else Election.ONLINE,
    )
    return NONE, None, controller.change(key, target, controller.is_active)


def _invalid(controller: ActiveController, replicas: Sequence[int]) -> str:
    """Return the error of a list of replicas, in Kafka's words; "" for a valid list."""
    start = "The manual partition assignment includes"
    if not replicas:
        return f"{start} an empty replica list."
    previous = None
    for broker_id in sorted(replicas):
        broker = controller.brokers.get(broker_id)
        if broker is None:
            return f"{start} broker {broker_id}, but no such broker is registered."
        if broker.cordoned and set(broker.directories) <= set(broker.cordoned):
            return f"{start} broker {broker_id}, but all its log directories are cordoned."
        if broker_id == previous:
            return f"{start} the broker {broker_id} more than once."
        previous = broker_id
    return ""


def _finish(controller: ActiveController, started: Sequence[Key]) -> list[Key]:
    """Simulate that the added replicas catch up, and return the partitions that are still being moved afterwards."""
    brokers = {replica for key in started for replica in controller.partition(key).adding_replicas}
    waiting = [key for key in started if _under_way(controller.partition(key))]
    if waiting:
        catch_up(controller, brokers or set(controller.brokers), only=waiting)
    return [key for key in waiting if _under_way(controller.partition(key))]


def _under_way(partition: Partition) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _stuck(controller: ActiveController, stuck: Sequence[Key]) -> Iterator[Finding]:
    for key in stuck[:100]:
        partition = controller.partition(key)
        name = f"{controller.image.topics[key[0]].name}-{key[1]}"
        dead = [replica for replica in partition.replicas if not controller.is_active(replica)]
        both = [replica for replica in partition.adding_replicas if replica in partition.removing_replicas]
        step = "Bring those brokers back, or name others."
        if both:
            why = (
                f"replicas {first_few([str(replica) for replica in both])} of the reassignment under way are marked"
                " both as added and as removed, and this release waits for them to be in sync"
            )
            step = 'Cancel the reassignment with "replicas": null in place of naming the replicas from before it.'
        elif partition.leader < 0:
            why = "it has no leader that the added replicas could read from"
        elif set(dead) & set(partition.adding_replicas):
            added = [str(replica) for replica in dead if replica in partition.adding_replicas]
            why = f"brokers {first_few(added)} to be added are down"
        else:
            named = first_few([str(replica) for replica in dead])
            why = f"brokers {named} of its target are down and it waits for a whole ISR"
        ends = "does not end" if both else "ends when they are back"
        yield warning(
            "reassignment-never-completes",
            f"partition {name}",
            f"{name}: {why}; Kafka accepts the plan, and the reassignment {ends}",
            step,
            brokers=dead,
        )


def _under_way_before(image: Image, moves: Sequence[Move]) -> Iterator[Finding]:
    """Report partitions that are being reassigned: Kafka's tool refuses them, the controller accepts a second plan."""
    names = [
        f"{topic.name}-{number}"
        for topic in sorted(image.topics.values(), key=lambda topic: topic.name)
        for number, state in sorted(topic.partitions.states.items())
        if state[ADDING_AT] or state[REMOVING_AT]
    ]
    if names and any(move.replicas is not None for move in moves):
        yield warning(
            "reassignment-under-way",
            counted(len(names), "partition"),
            f"{first_few(names)} are being reassigned: kafka-reassign-partitions.sh --execute refuses another plan "
            "without --additional",
            count=len(names),
            partitions=names[:20],
        )


def _refused(results: Sequence[Result]) -> Iterator[Finding]:
    for result in results:
        if result["error_code"] not in (NONE, UNKNOWN_SERVER_ERROR):
            yield blocker(
                "reassignment-refused",
                f"partition {result['topic']}-{result['partition']}",
                f"Kafka answers {result['error_code']} {result['error_name']}{_colon(result['message'])}",
                error_code=result["error_code"],
            )


def _colon(message: str | None) -> str:
    return f": {message}" if message else ""


_FULL = (
    f"Cannot add another element to the list because it would exceed the maximum length of {MOST_RECORDS_OF_REQUEST}"
)


def _too_many(records: int, *, is_atomic: bool) -> Iterator[Finding]:
    if records > MOST_RECORDS_OF_REQUEST:
        what = "nothing of the plan is done" if is_atomic else "the partitions after those are refused"
        yield blocker(
            "reassignment-too-large",
            "plan",
            f"the plan makes {records} records in one request, which may have {MOST_RECORDS_OF_REQUEST}: {what}",
            records=records,
        )


def _verdict(results: Sequence[Result], stuck: Sequence[Key], changed: Verdict, *, fits: bool) -> Verdict:
    if all(result["error_code"] != NONE for result in results) or not fits:
        return Verdict.REFUSED
    is_whole = not stuck and all(result["error_code"] == NONE for result in results)
    return changed if is_whole else heaviest([changed, Verdict.DEGRADED])


def _state(controller: ActiveController, key: Key, stuck: Sequence[Key]) -> Step:
    partition = controller.partition(key)
    return {
        "topic": controller.image.topics[key[0]].name,
        "partition": key[1],
        "completes": key not in stuck,
        "replicas_after": list(partition.replicas),
        "adding_after": list(partition.adding_replicas),
        "removing_after": list(partition.removing_replicas),
    }


def _shown(move: Move) -> dict[str, Any]:
    replicas = None if move.replicas is None else list(move.replicas)
    return {"topic": move.topic, "partition": move.partition, "replicas": replicas}


def _is_move(value: Any) -> bool:
    if not isinstance(value, Mapping) or set(value) != {"topic", "partition", "replicas"}:
        return False
    replicas = value["replicas"]
    return is_text(value["topic"]) and is_number(value["partition"]) and (replicas is None or is_ids(replicas))


_MOVES: Final = Kind(
    words="a list of tables with topic, partition and replicas",
    holds=list_of(_is_move),
    read=lambda value: tuple(map(_move_of, value)),
)


def _move_of(value: Mapping[str, Any]) -> Move:
    replicas = value["replicas"]
    return Move(value["topic"], value["partition"], None if replicas is None else tuple(replicas))


@frozen
class Input:
    """The moves of a plan."""

    moves: Annotated[tuple[Move, ...], _MOVES]


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Predict the plan: records at its begin, and records at its end."""
    return reassignment(context.image, context.facts, asked.moves)


def _from_options(*, plan: Document) -> Input:
    return Input(moves=parse_plan(plan.text, file=plan.path))


SCENARIO: Final = Scenario(
    name=NAME,
    title=lambda asked: f"Reassignment of {counted(len(asked.get('moves', ())), 'partition')}",
    help="What a reassignment writes, and whether it can end.",
    about="Replicas move to other brokers.",
    input=Input,
    simulate=simulate,
    examples=("kafkactl dryrun reassignment /disk1/__cluster_metadata-0 --plan plan.json",),
    options=(Option("plan", "As kafka-reassign-partitions.sh reads.", document="reassignment plan", is_required=True),),
    effects=("results", "steps", "completes", "records_at_once"),
    from_options=_from_options,
)
