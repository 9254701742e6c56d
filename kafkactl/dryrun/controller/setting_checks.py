"""Answers of active controller and brokers to a change of configuration: refused, ignored, or data that expires.

The controller judges settings of topics (`topic_settings`) and, of those of brokers, the few of ELR and of cordoned
directories. A broker that passes a request on judges the values of its own settings first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.dryrun.controller.facts import MIN_ISR, Facts
from kafkactl.dryrun.controller.topic_settings import (
    DELETE_ON_DISABLE,
    REMOTE,
    SYSTEM_ENABLE,
    refused_by_controller,
    tiered_known,
    topic_rules,
)
from kafkactl.dryrun.prediction import ServerError
from kafkactl.metadata.image.model import TOPIC_CONFIG, Image
from kafkactl.storage.config.dynamic_keys import SettingProblem, bound_by_host, bound_by_present, setting_problems
from kafkactl.storage.config.release_rules import reading_rules

INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, NOT_REGISTERED = 40, 42, 3, 102
CORDONED: Final = "cordoned.log.dirs"
NOT_A_SUBSET: Final = (
    f"When updating {CORDONED} via controllers,  the new value must be a subset of the current configuration value."
)
_COMMA = re.compile(r"(?<!\s)\s*,\s*", re.ASCII)
_RETENTION: Final = ("retention.ms", "retention.bytes")
Key = tuple[int, str]  # of an entity: type and name
Wanted = Mapping[str, str | None]


def refusal(
    image: Image, facts: Facts, entity: Key, wanted: Wanted, *, through_broker: bool = False
) -> ServerError | None:
    """Return the error that answers the change, None if it is accepted, as far as a log can tell."""
    kind, name = entity
    if kind == TOPIC_CONFIG:
        answers = [_of_topic(image, facts, entity, wanted, is_tiered=way) for way in _ways(image, facts)]
        if all(answers):
            return ServerError(code=INVALID_CONFIG, message=answers[0])
        missing = image.topic(name) is None
        message = f"The topic '{name}' does not exist."
        return ServerError(code=UNKNOWN_TOPIC_OR_PARTITION, message=message) if missing else None
    if name and not _is_node(image, facts, int(name)):
        what = "node" if topic_rules(facts.release).finds_controllers else "broker"
        return ServerError(code=NOT_REGISTERED, message=f"No {what} with id {name} found.")
    by_broker = next(_refused_by_brokers(facts, entity, wanted), None) if through_broker else None
    if by_broker is not None:
        return ServerError(code=INVALID_REQUEST, message=by_broker.words)
    wrong = next(_wrong_of_controller(image, facts, entity, wanted, through_broker=through_broker), None)
    return None if wrong is None else ServerError(code=INVALID_CONFIG, message=wrong)


def unseen_by_log(image: Image, facts: Facts, entity: Key, wanted: Wanted) -> Iterator[Finding]:
    """Yield settings that decide about a change and are only in the controller's properties file."""
    answers = [_of_topic(image, facts, entity, wanted, is_tiered=way) for way in _ways(image, facts)]
    if entity[0] == TOPIC_CONFIG and any(answers) and not all(answers):
        yield blocker(
            "tiered-storage-unknown",
            f"topic {entity[1]}",
            f"whether the controllers have {SYSTEM_ENABLE}=true decides, and neither a topic nor a properties file "
            f"shows that; without it Kafka answers {INVALID_CONFIG}: {next(filter(None, answers))}",
        )


def ignored_by_brokers(facts: Facts, entity: Key, settings: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the settings of brokers that the controller stores and brokers do not use: it does not look at them."""
    if entity[0] == TOPIC_CONFIG:
        return
    for problem in _refused_by_brokers(facts, entity, settings):
        what = "all dynamic settings of that broker" if problem.voids_others else "it"
        yield warning(
            "setting-stored-and-ignored",
            f"broker {entity[1]}" if entity[1] else "cluster",
            f"{problem.words}: the controller stores {problem.key}, and brokers log an error, ignore {what}, and use "
            "their files' values or the defaults",
            problem.next_step,
            key=problem.key,
        )


def of_running_pools(facts: Facts, entity: Key, settings: Mapping[str, str]) -> list[str]:
    """Return the settings of pools of threads: brokers compare them with values in force, which are not in the log."""
    return [] if entity[0] == TOPIC_CONFIG else list(bound_by_present(facts.release.name, settings))


def of_each_host(facts: Facts, entity: Key, settings: Mapping[str, str]) -> list[str]:
    """Return the settings that brokers compare with their own files and hosts, which are not in the log."""
    return [] if entity[0] == TOPIC_CONFIG else list(bound_by_host(facts.release.name, settings))


def what_expires(image: Image, entity: Key, wanted: Wanted) -> Iterator[Finding]:
    """Yield the data of a topic that brokers delete because of the change, within minutes of it."""
    kind, name = entity
    if kind != TOPIC_CONFIG:
        return
    stored = image.configs.get(entity, {})
    after = {key: value for key, value in {**stored, **wanted}.items() if value is not None}
    lower = [key for key in _RETENTION if _is_lower(after.get(key), stored.get(key), since=key in wanted)]
    if lower:
        shown = " and ".join(f"{key}={after[key]}" for key in lower)
        yield warning(
            "records-expire",
            f"topic {name}",
            f"brokers delete what is beyond {shown} of {name} at their next check "
            "(log.retention.check.interval.ms, 300 s); a metadata log does not show how much that is",
            settings=lower,
        )
    was, is_on = (values.get(REMOTE, "").strip().lower() == "true" for values in (stored, after))
    if was and not is_on and after.get(DELETE_ON_DISABLE, "").strip().lower() == "true":
        yield warning(
            "remote-data-deleted",
            f"topic {name}",
            f"tiered storage of {name} is switched off with {DELETE_ON_DISABLE}=true: everything that is only in the "
            "remote storage is deleted",
        )


def _is_lower(after: str | None, before: str | None, *, since: bool) -> bool:
    """Return True if a limit is set that was higher, without end, or not the topic's own."""
    if not since or after is None or int(after) < 0:
        return False
    return before is None or int(before) < 0 or int(after) < int(before)


def _ways(image: Image, facts: Facts) -> tuple[bool, ...]:
    """Return whether the cluster has tiered storage: both possibilities if that is unknown."""
    known = tiered_known(image, facts)
    return (True, False) if known is None else (known,)


def _of_topic(image: Image, facts: Facts, entity: Key, wanted: Wanted, *, is_tiered: bool) -> str | None:
    return refused_by_controller(facts, image.configs.get(entity, {}), wanted, is_tiered=is_tiered)


def _is_node(image: Image, facts: Facts, node_id: int) -> bool:
    if node_id in image.brokers:
        return True
    is_controller = node_id in image.controllers or node_id == facts.leader_id
    return is_controller and topic_rules(facts.release).finds_controllers


def _wrong_of_controller(
    image: Image, facts: Facts, entity: Key, wanted: Wanted, *, through_broker: bool
) -> Iterator[str]:
    """Yield the controller's errors for a change of brokers' settings."""
    rules, present = facts.rules, image.configs.get(entity, {})
    for key, value in wanted.items():
        if key == MIN_ISR and rules.elections.elr and entity[1]:
            yield f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
        elif key == MIN_ISR and rules.elections.elr and value is None:
            yield f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
        elif key == CORDONED and rules.checks_cordoned:
            wrong = _wrong_cordoned(facts, value, present.get(CORDONED), through_broker=through_broker)
            if wrong is not None:
                yield wrong


def _refused_by_brokers(facts: Facts, entity: Key, wanted: Wanted) -> Iterator[SettingProblem]:
    """Yield the settings that a broker refuses to pass on to the controller, and ignores if they are stored."""
    settings = {key: value for key, value in wanted.items() if value is not None}
    reading = reading_rules(facts.release)
    return setting_problems(facts.release.name, settings, reading, of_cluster=not entity[1])


def _wrong_cordoned(facts: Facts, value: str | None, present: str | None, *, through_broker: bool) -> str | None:
    """Return the controller's error for a change of cordoned.log.dirs of a broker (`isCordonedLogDirsDisabled`,
    `isCordonedLogDirsInvalid`). It knows directories by their ids alone, so that only a broker may add a path."""
    if not facts.rules.cordons:
        return f"The {CORDONED} configuration value cannot be set because it requires metadata.version >= 4.3-IV0"
    if through_broker or value is None or not value.strip():
        return None
    held = set() if present is None else set(_COMMA.split(present.strip()))
    return None if set(_COMMA.split(value.strip())) <= held else NOT_A_SUBSET
