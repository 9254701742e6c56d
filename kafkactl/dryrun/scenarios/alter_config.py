"""Scenario `alter-config`: what a change of configuration writes, and which partitions it strands.

What the controller does automatically some minutes later because of the change is part of the answer (`periodic`).

With ELR on, every ConfigRecord of min.insync.replicas brings a ClearElrRecord: all eligible replicas and last known
leaders in its scope are forgotten, and a partition that has no leader at that moment stays without one when its
broker returns (measured on 4.0.2 and 4.3.1). Source: `ConfigurationControlManager.java`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.wording import counted, first_few
from kafkactl.dryrun.chain import replayed
from kafkactl.dryrun.compare import SHOWN_NAMES, change_of, counts_of
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.appended_records import record, records_of
from kafkactl.dryrun.controller.facts import MIN_ISR, Facts
from kafkactl.dryrun.controller.periodic import unclean_interval_s
from kafkactl.dryrun.controller.setting_checks import (
    CORDONED,
    NOT_A_SUBSET,
    ignored_by_brokers,
    of_each_host,
    of_running_pools,
    refusal,
    unseen_by_log,
    what_expires,
)
from kafkactl.dryrun.fields import Texts, TextTable
from kafkactl.dryrun.prediction import Change, Prediction, ServerError, Verdict
from kafkactl.dryrun.scenario import TITLE_NAMES, Option, OptionsError, Scenario, ScenarioContext
from kafkactl.metadata.image.model import (
    BROKER_CONFIG,
    ELR_AT,
    ISR_AT,
    LAST_KNOWN_ELR_AT,
    LEADER_AT,
    REPLICAS_AT,
    TOPIC_CONFIG,
    Image,
)
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.redact import redacted_configs

NAME: Final = "alter-config"

_SCOPES = {"topic": TOPIC_CONFIG, "broker": BROKER_CONFIG, "cluster": BROKER_CONFIG}


@frozen
class Entity:
    """Entity whose configuration is changed: `topic:NAME`, `broker:ID` or `cluster`."""

    kind: str
    name: str

    @property
    def key(self) -> tuple[int, str]:
        """Return the key in the image: type and name."""
        return _SCOPES[self.kind], self.name

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind


def parse_entity(text: str) -> Entity:
    """Return the entity that a word names. Raises InputError `unknown-entity`."""
    kind, colon, name = text.partition(":")
    whole = kind == "cluster" and not colon
    named = (kind == "topic" and name) or (kind == "broker" and name.isascii() and name.isdigit())
    if not (whole or named):
        raise InputError(f"{text!r} names no entity: topic:NAME, broker:ID or cluster expected", id="unknown-entity")
    return Entity(kind=kind, name=name)


def alter_config(
    image: Image,
    facts: Facts,
    entity: Entity,
    settings: Mapping[str, str],
    deleted: Sequence[str] = (),
    *,
    through_broker: bool = False,
) -> Prediction:
    """Predict a change or removal of these keys (IncrementalAlterConfigs).

    The request goes to the active controller, or with `through_broker` to a broker, which forwards what it has
    validated for itself: `kafka-configs.sh` with `--bootstrap-controller` and with `--bootstrap-server`.
    """
    asked = {
        "entity": str(entity),
        "set": redacted_configs(entity.key[0], settings),
        "delete": list(deleted),
        "through_broker": through_broker,
    }
    wanted: dict[str, str | None] = {**settings, **dict.fromkeys(deleted)}
    error = refusal(image, facts, entity.key, wanted, through_broker=through_broker)
    controller = ActiveController(image, facts)
    if error is not None:
        return Prediction(
            scenario=NAME,
            input=asked,
            verdict=Verdict.REFUSED,
            facts=facts,
            findings=(_refused(entity, error, wanted),),
            counts=counts_of(controller, ()),
            operations=(),
            effects={"server_error": error},
        )
    doubts = tuple(unseen_by_log(image, facts, entity.key, wanted))
    records = list(_records(image, facts, entity, wanted))
    if records:
        controller.apply(f"configuration of {entity}", *records)
    changed = replayed(image, facts, records_of(controller.operations, facts.rules))
    after = _minutes_later(image, changed, facts, entity)
    changes = _changes(image, after)
    stranded = [change for change in changes if change.leader_before == change.leader_after == NO_LEADER]
    unclean = [change for change in changes if change.elected_uncleanly]
    ignored = tuple(ignored_by_brokers(facts, entity.key, settings))
    is_less = stranded or unclean or _newly_under(controller, after)
    return Prediction(
        scenario=NAME,
        input=asked,
        verdict=Verdict.UNKNOWN if doubts else Verdict.DEGRADED if is_less or ignored else Verdict.OK,
        facts=facts,
        findings=(
            *doubts,
            *_findings(controller, after, stranded, unclean),
            *ignored,
            *what_expires(image, entity.key, wanted),
        ),
        counts=counts_of(after, changes),
        changes=changes,
        operations=(*controller.operations, *after.operations),
        effects={"stranded": [{"topic": change.topic, "partition": change.partition} for change in stranded]},
        assumptions=tuple(_assumptions(facts, entity, wanted, through_broker=through_broker)),
    )


def _assumptions(
    facts: Facts, entity: Entity, wanted: Mapping[str, str | None], *, through_broker: bool
) -> Iterator[str]:
    settings = {key: value for key, value in wanted.items() if value is not None}
    if through_broker and entity.kind != "topic" and wanted.get(CORDONED):
        yield f"the broker found that each entry of {CORDONED} is one of its log.dirs, or that it is *"
    what = "refuses the change" if through_broker else "ignores it"
    if keys_of_hosts := of_each_host(facts, entity.key, settings):
        yield (
            f"{' and '.join(keys_of_hosts)}: fits the file, the class path and the files of each broker, which are not"
            f" in the log; a broker that finds otherwise {what}"
        )
    if pools := of_running_pools(facts, entity.key, settings):
        keys = " and ".join(pools)
        yield f"{keys}: at least half and at most twice the value in force on each broker, which otherwise {what}"


def _refused(entity: Entity, error: ServerError, wanted: Mapping[str, str | None]) -> Finding:
    step = ""
    if entity.kind != "topic" and CORDONED in wanted and error.message == NOT_A_SUBSET:
        step = (
            f"Send it to {entity} itself (`kafka-configs.sh --bootstrap-server`), which knows its log.dirs; "
            "--through-broker predicts that."
        )
    return blocker("config-change-refused", str(entity), f"Kafka answers {error.code}: {error.message}", step)


def _records(image: Image, facts: Facts, entity: Entity, wanted: Mapping[str, str | None]) -> Iterator[MetadataRecord]:
    """Yield a record for each changed key (for brokers also an unchanged one), then records that clear the ELRs."""
    present = image.configs.get(entity.key, {})
    kind, name = entity.key
    written = [key for key, value in wanted.items() if present.get(key) != value or kind == BROKER_CONFIG]
    for key in written:
        yield record("ConfigRecord", {"ResourceType": kind, "ResourceName": name, "Name": key, "Value": wanted[key]})
    if facts.rules.elections.elr and MIN_ISR in written:
        yield record("ClearElrRecord", {"TopicName": name if kind == TOPIC_CONFIG else ""})


def _minutes_later(image: Image, changed: Image, facts: Facts, entity: Entity) -> ActiveController:
    """Return the controller at its next check of leaderless partitions, which elects uncleanly if the change allows
    it.

    What it would elect without the change is left out. The configuration of another controller counts from the moment
    at which that one leads.
    """
    if entity.kind == "broker" and int(entity.name) in (
        *image.controllers,
        *(voter.node_id for voter in image.voters or ()),
    ):
        facts = replace(facts, leader_id=int(entity.name))
    due, after = ActiveController(image, facts), ActiveController(changed, facts)
    due.elect_unclean()
    after.elect_unclean(other_than=due.changed)
    return after


def _changes(before: Image, after: ActiveController) -> tuple[Change, ...]:
    """Return the partitions that lose their ELR or last known leader, or are led uncleanly, the worst first."""
    old = ActiveController(before, after.facts)
    cleared = old.keys(lambda fields: bool(fields[ELR_AT] or fields[LAST_KNOWN_ELR_AT]))
    found = [
        change_of(after, key, old.partition(key), after.partition(key))
        for key in dict.fromkeys((*cleared, *after.changed))
        if old.partition(key) != after.partition(key)
    ]
    return tuple(
        sorted(found, key=lambda change: (not change.elected_uncleanly, change.leader_before >= 0, *change.rank))
    )


def _newly_under(before: ActiveController, after: ActiveController) -> list[str]:
    """Return the partitions that a higher min.insync.replicas puts below it."""
    found, enough = [], after.facts.rules.enough
    for topic in after.image.topics.values():
        was, least = before.min_isr(topic), after.min_isr(topic)
        if least <= was:
            continue
        for number, state in sorted(topic.partitions.states.items()):
            if state[LEADER_AT] != NO_LEADER and was <= len(state[ISR_AT]) < enough(least, len(state[REPLICAS_AT])):
                found.append(f"{topic.name}-{number}")
    return sorted(found)


def _findings(
    before: ActiveController, after: ActiveController, stranded: Sequence[Change], unclean: Sequence[Change]
) -> Iterator[Finding]:
    if unclean:
        lost = [f"{change.topic}-{change.partition}" for change in unclean]
        within = f"{unclean_interval_s(after.facts):g} s"
        yield warning(
            "unclean-leader",
            counted(len(unclean), "partition"),
            f"the controller elects leaders that are not in sync within {within} of this change, and records that only "
            f"the other replicas have are lost: {first_few(lost)}",
            "Bring back the last leaders first if their data matters, or set it for a topic whose data may be lost.",
            count=len(unclean),
            partitions=lost[:SHOWN_NAMES],
            within_s=unclean_interval_s(after.facts),
        )
    if stranded:
        names: list[str] = [f"{change.topic}-{change.partition}" for change in stranded]
        yield warning(
            "elr-wipe-strands-partition",
            f"{len(stranded)} partitions",
            f"partitions without a leader, whose eligible leaders the change removes: they stay leaderless when their "
            f"brokers return: {first_few(names)}",
            count=len(stranded),
            partitions=names[:20],
        )
    under = _newly_under(before, after)
    if under:
        evidence: dict[str, Any] = {"count": len(under), "partitions": under[:20]}
        yield warning(
            "partition-under-min-isr",
            f"{len(under)} partitions",
            f"fewer replicas are in sync than the new value asks for, writes with acks=all fail: {first_few(under)}",
            **evidence,
        )


@frozen
class Input:
    """The keys of an entity (`topic:NAME`, `broker:ID` or `cluster`) that are set and deleted."""

    entity: str
    set: TextTable = field(default_factory=dict)
    delete: Texts = ()
    through_broker: bool = False

    ONE_OF: ClassVar = (("set", "delete"),)


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the change of the configuration. Raises InputError `unknown-entity`."""
    entity = parse_entity(asked.entity)
    return alter_config(
        context.image, context.facts, entity, asked.set, asked.delete, through_broker=asked.through_broker
    )


def _from_options(*, entity: str, settings: Sequence[str], deleted: Sequence[str], through_broker: bool) -> Input:
    split = [text.partition("=") for text in settings]
    wrong = [text for text, (key, equals, _) in zip(settings, split, strict=True) if not (key and equals)]
    if wrong:
        raise OptionsError(f"{wrong[0]!r} sets nothing: write KEY=VALUE.")
    if not settings and not deleted:
        raise OptionsError("Give --set or --delete.")
    both = [key for key, _, _ in split if key in deleted]
    if both:
        raise OptionsError(f"{both[0]!r} is both set and deleted.")
    given = {key: value for key, _, value in split}
    return Input(entity=entity, set=given, delete=tuple(deleted), through_broker=through_broker)


def _title(asked: Mapping[str, Any]) -> str:
    pairs = [f"{key}={value}" for key, value in dict(asked.get("set") or {}).items()]
    pairs += [f"{key} deleted" for key in asked.get("delete") or ()]
    return f"Settings of {asked.get('entity')}: {first_few(pairs, TITLE_NAMES)}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="""What a change of configuration writes, and which partitions it strands.

    With eligible leader replicas, touching min.insync.replicas forgets who may lead: a partition
    that has no leader at that moment then stays without one.
    """,
    about="A configuration changes.",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun alter-config /disk1/__cluster_metadata-0 --entity topic:orders --set min.insync.replicas=2",
        "kafkactl dryrun alter-config /disk1/__cluster_metadata-0 --entity cluster --delete log.retention.ms",
    ),
    options=(
        Option("entity", "topic:NAME, broker:ID or cluster.", metavar="ENTITY"),
        Option("settings", "Set a key.", flag="--set", metavar="K=V", is_repeatable=True),
        Option("deleted", "Delete a key.", flag="--delete", metavar="K", is_repeatable=True),
        Option("through_broker", "Sent to a broker, which checks it first, not to a controller."),
    ),
    effects=("stranded", "server_error"),
    from_options=_from_options,
)
