"""Scenario `elect-leaders`: elections that are asked for (`kafka-leader-election.sh`, `electLeaders`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.wording import counted, first_few
from kafkactl.dryrun.answer import Result
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, leaderless, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.controller.bounds import BeyondBound, beyond_bound
from kafkactl.dryrun.controller.election import Election, PartitionChange, Target
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.periodic import leaders_move_back
from kafkactl.dryrun.fields import Texts, one_of
from kafkactl.dryrun.prediction import Prediction, Verdict, findings_for, heaviest
from kafkactl.dryrun.scenario import TITLE_NAMES, Option, ReportPart, Scenario, ScenarioContext
from kafkactl.metadata.image.model import (
    DIRECTORIES_AT,
    LEADER_AT,
    LEADER_EPOCH_AT,
    REPLICAS_AT,
    Image,
    PartitionState,
    Topic,
)
from kafkactl.protocol.schema.error_codes import error_code

NAME: Final = "elect-leaders"

NONE, UNKNOWN_PARTITION, PREFERRED_NOT_AVAILABLE, ELIGIBLE_NOT_AVAILABLE, NOT_NEEDED = 0, 3, 80, 83, 84

Wanted = Sequence[tuple[str, int | None]]  # topic, and a partition or None for all of them


def elect_leaders(image: Image, facts: Facts, election: Election, wanted: Wanted = ()) -> Prediction:
    """Predict an election; without `wanted` it is requested for all partitions.

    `results` has a line for each partition; as in Kafka, a partition without a need for an election is omitted if all
    were requested.
    """
    controller = ActiveController(image, facts)
    elections = _Elections(controller, election)
    answers: list[tuple[str, int | None, int]] = []
    for topic, number, key in _asked(image, wanted):
        code = UNKNOWN_PARTITION if key is None else elections.ask(key)
        if wanted or code != NOT_NEEDED:
            answers.append((topic, number, code))
    changes_made = elections.changes
    beyond = beyond_bound(
        len(changes_made),
        facts.rules,
        id="election-too-large",
        subject=counted(len(changes_made), "partition"),
        what="the election",
    )
    if beyond is not None:
        return _too_large(image, facts, election, wanted, beyond)
    operation = [controller.put(key, controller.partition(key), change) for key, change in changes_made.items()]
    if operation:
        controller.apply(f"{election.value} election", *operation)
    results: list[Result] = [
        {"topic": topic, "partition": number, "error_code": code, "error_name": error_code(code).name}
        for topic, number, code in answers
    ]
    changes = changes_of(controller)
    verdict = _verdict(results, verdict_of(changes))
    return Prediction(
        scenario=NAME,
        input={"type": election.value, "topics": [_text(asked) for asked in wanted]},
        verdict=verdict,
        facts=facts,
        findings=(
            *findings_for(verdict, _not_elected(results, election)),
            *findings_of(changes, leaderless(controller)),
            *leaders_move_back(controller),
        ),
        counts=counts_of(controller, changes),
        changes=changes,
        operations=tuple(controller.operations),
        effects={"results": results},
    )


def _too_large(image: Image, facts: Facts, election: Election, wanted: Wanted, beyond: BeyondBound) -> Prediction:
    """Return the prediction for a request that would write too much."""
    return Prediction(
        scenario=NAME,
        input={"type": election.value, "topics": [_text(asked) for asked in wanted]},
        verdict=beyond.verdict,
        facts=facts,
        findings=(beyond.finding,),
        counts=counts_of(ActiveController(image, facts), ()),
        operations=(),
        effects={"results": [], "server_error": beyond.error},
    )


def _asked(image: Image, wanted: Wanted) -> list[tuple[str, int | None, Key | None]]:
    """Return topic, partition and location for each partition of the request."""
    names = wanted or [(name, None) for name in sorted(image.topic_ids)]
    found: list[tuple[str, int | None, Key | None]] = []
    for name, number in names:
        topic = image.topic(name)
        if topic is None:
            found.append((name, number, None))
        elif number is None:
            found += [(name, partition, (topic.id, partition)) for partition in sorted(topic.partitions)]
        else:
            found.append((name, number, (topic.id, number) if number in topic.partitions else None))
    return found


class _Elections:
    """Elections that are asked for, one partition after the other; `changes` are what they would write.

    Partitions that are alike are elected alike, and their change is worked out once.
    """

    def __init__(self, controller: ActiveController, election: Election) -> None:
        self.changes: dict[Key, PartitionChange] = {}
        self._controller = controller
        self._election = election
        self._known: dict[tuple[object, ...], PartitionChange | None] = {}
        self._topic: Topic | None = None

    def ask(self, key: Key) -> int:
        """Return the error code of Kafka's answer."""
        topic = self._topic
        if topic is None or topic.id is not key[0]:
            topic = self._topic = self._controller.image.topics[key[0]]
        state = topic.partitions.states[key[1]]
        preferred = self._election is Election.PREFERRED
        leader = state[LEADER_AT]
        if (leader == state[REPLICAS_AT][0] if preferred else leader != NO_LEADER) or key in self.changes:
            return NOT_NEEDED
        change = self._change(key, topic, state)
        if change is None:
            return PREFERRED_NOT_AVAILABLE if preferred else ELIGIBLE_NOT_AVAILABLE
        self.changes[key] = change
        return NONE

    def _change(self, key: Key, topic: Topic, state: PartitionState) -> PartitionChange | None:
        controller = self._controller
        least, _ = controller.settings(topic)
        shape = least, state[:LEADER_EPOCH_AT], state[DIRECTORIES_AT:]
        if shape not in self._known:
            target = Target(min_isr=least, election=self._election)
            self._known[shape] = controller.change_of(controller.partition(key), target, controller.is_active)
        return self._known[shape]


def _verdict(results: Sequence[Mapping[str, Any]], changed: Verdict) -> Verdict:
    """Return `refused` if no election that is needed takes place, `degraded` if some do not."""
    needed = [result["error_code"] for result in results if result["error_code"] != NOT_NEEDED]
    if needed and NONE not in needed:
        return Verdict.REFUSED
    return heaviest([changed, Verdict.DEGRADED if any(needed) else Verdict.OK])


_WHY: Final = {
    UNKNOWN_PARTITION: ("the log holds no such partition", "Check the names."),
    PREFERRED_NOT_AVAILABLE: (
        "the preferred replica, the first of the assignment, is down, shutting down or not in the ISR",
        "Bring its broker back and wait until the replica is in sync; then repeat the election.",
    ),
    ELIGIBLE_NOT_AVAILABLE: (
        "no replica of the partition is alive",
        "Bring a broker back that holds a replica; then repeat the election.",
    ),
}


def _not_elected(results: Sequence[Mapping[str, Any]], election: Election) -> Iterator[Finding]:
    """Yield the elections that are needed and refused, by the error that Kafka answers."""
    for code, (why, step) in _WHY.items():
        names = [_shown(result) for result in results if result["error_code"] == code]
        if names:
            yield blocker(
                "election-refused",
                f"{len(names)} partitions",
                f"Kafka answers {code} {error_code(code).name} to the {election.value} election of {first_few(names)}: "
                f"{why}",
                step,
                count=len(names),
                partitions=names[:20],
                error_code=code,
            )


def _shown(result: Mapping[str, Any]) -> str:
    topic, partition = result["topic"], result["partition"]
    return topic if partition is None else f"{topic}-{partition}"


def _text(wanted: tuple[str, int | None]) -> str:
    topic, partition = wanted
    return topic if partition is None else f"{topic}:{partition}"


@frozen
class Input:
    """Election, and its partitions (`TOPIC` or `TOPIC:PARTITION`); all partitions if none is named."""

    type: Annotated[Election, one_of(Election.PREFERRED, Election.UNCLEAN, read=Election)] = Election.PREFERRED
    topics: Texts = ()


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the election that is asked for. Raises InputError `invalid-partition-name`."""
    wanted = [parse_partition(text) for text in asked.topics]
    return elect_leaders(context.image, context.facts, asked.type, wanted)


def parse_partition(text: str) -> tuple[str, int | None]:
    """Read `TOPIC` or `TOPIC:PARTITION`. Raise InputError `invalid-partition-name`.

    >>> parse_partition("orders:3")
    ('orders', 3)
    """
    topic, colon, number = text.partition(":")
    if not topic or (colon and not (number.isascii() and number.isdigit())):
        raise InputError(f"{text!r} names neither a topic nor a partition of one", id="invalid-partition-name")
    return topic, int(number) if colon else None


def _title(asked: Mapping[str, Any]) -> str:
    which = "Unclean election of leaders" if asked.get("type") == "unclean" else "Election of preferred leaders"
    topics = asked.get("topics")
    return f"{which} of {first_few(topics, TITLE_NAMES)}" if topics else f"{which} of all partitions"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="What kafka-leader-election.sh would do.",
    about="What kafka-leader-election.sh would do.",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun elect-leaders /disk1/__cluster_metadata-0 --type preferred",
        "kafkactl dryrun elect-leaders /disk1/__cluster_metadata-0 --type unclean --topic orders:3",
    ),
    options=(
        Option("kind", "Which election.", flag="--type", field="type"),
        Option("topics", "Only these partitions.", flag="--topic", metavar="T[:P]", is_repeatable=True),
    ),
    effects=("results", "server_error"),
    report=ReportPart(place=6, inputs=lambda image: [Input()] if image.brokers else []),
)
