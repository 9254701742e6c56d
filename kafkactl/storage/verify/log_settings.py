"""Settings in the metadata log that a release refuses although an earlier one stored them.

A broker reads the settings of every topic of the cluster when it starts its log manager, also of topics of which it has
no replica (`LogManager.fetchTopicConfigOverrides`, `LogConfig.fromProps`), and a value out of range ends the process.
A controller reads none of them. Dynamic settings of the broker itself are ignored one by one if they are invalid.
Bounds are data: schemas/config/topics.json and server.json, from the jars of each release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from kafkactl.core.wording import first_few, plural, some
from kafkactl.metadata.log.stored_settings import BROKER_SETTING, TOPIC_SETTING, settings_after
from kafkactl.protocol.catalog.releases import Release, known_releases
from kafkactl.protocol.text.config_values import Problem
from kafkactl.storage.config.keys import server_keys, topic_keys, value_problem
from kafkactl.storage.config.release_rules import reading_rules
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, stops, warns
from kafkactl.storage.verify.state import loaded_snapshot

_NOT_STARTED = "Error starting LogManager"
_SHOWN = 20


def log_setting_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the results of a broker's start with the settings in the node's copy of the metadata log."""
    refused: dict[tuple[str, str], list[str]] = defaultdict(list)
    own = ("", str(context.config.node_id))
    for (kind, name), values in stored_settings(context):
        if kind == TOPIC_SETTING:
            for problem in topic_problems(values, context.release):
                refused[problem.key, problem.words].append(name)
        elif kind == BROKER_SETTING and name in own and context.is_broker:
            yield from _ignored(context, values, name)
    if refused:
        yield _refused(context, refused)


def topic_problems(values: Mapping[str, str], release: Release) -> Iterator[Problem]:
    """Yield the settings of one topic with which no broker of the release starts; unknown keys are ignored."""
    keys, rules = topic_keys(release.name), reading_rules(release)
    for key, text in values.items():
        if key in keys and (problem := value_problem(keys[key], text, rules)) is not None:
            yield problem


def stored_settings(context: StartContext) -> Iterator[tuple[tuple[int, str], Mapping[str, str]]]:
    """Return the settings of each topic and broker, as this node's log leaves them."""
    snapshot = loaded_snapshot(context)
    contents = None if snapshot is None else snapshot.contents
    before, topics = (None, {}) if contents is None else (contents.settings, contents.topics)
    return settings_after(before, topics, context.log.contents.settings)


def _refused(context: StartContext, refused: Mapping[tuple[str, str], list[str]]) -> RuleResult:
    listed = [(key, words, sorted(topics)) for (key, words), topics in sorted(refused.items())]
    key, words, topics = listed[0]
    texts = "; ".join(f"{plural('topic', len(topics))} {some(topics)}: {words}" for _, words, topics in listed[:_SHOWN])
    subject = f"metadata log in {context.config.metadata_log_dir}"
    message = f"{texts}. No broker of Kafka {context.release.version_text} starts while a topic of the cluster has such"
    message += " a value, whether it has a replica of the topic or not."
    evidence = [{"key": key, "topics": topics[:_SHOWN]} for key, _, topics in listed]
    step = _way_out(context, key, topics)
    if not context.is_broker:
        return warns("topic-setting-refused", subject, message, next_step=step, settings=evidence)
    says = words if len(listed) == 1 else _NOT_STARTED
    return stops(
        "topic-setting-refused", Phase.BROKER_LOGS, subject, message, says=says, next_step=step, settings=evidence
    )


def _way_out(context: StartContext, key: str, topics: list[str]) -> str:
    """Return the next step that removes the value: at running brokers, or at the controllers, which start with it."""
    change = f"--alter --entity-type topics --entity-name {topics[0]} --delete-config {key}"
    more = f" (likewise {first_few(topics[1:], 5)})" if len(topics) > 1 else ""
    older = _last_release_that_takes(context, key)
    running = f" of Kafka {older} or earlier" if older else ""
    steps = (
        f"While brokers{running} run: kafka-configs.sh --bootstrap-server HOST:PORT {change}{more}. Where none runs,"
        " the same with --bootstrap-controller: controllers start with such a value."
    )
    if context.is_controller and context.is_broker:
        steps += " A combined node is such a controller once it is started with process.roles=controller and its"
        steps += " controller listener alone; a majority of the voters has to run."
    return steps


def _last_release_that_takes(context: StartContext, key: str) -> str | None:
    """Return the newest release before this one with other bounds, in which the value is not refused."""
    stored = [values[key] for (kind, _), values in stored_settings(context) if kind == TOPIC_SETTING and key in values]
    older = [release for release in known_releases() if release.numbers < context.release.numbers]
    for release in reversed(older):
        taken = ({key: value} for value in stored)
        if not any(problem for values in taken for problem in topic_problems(values, release)):
            return release.name
    return None


def _ignored(context: StartContext, values: Mapping[str, str], name: str) -> Iterator[RuleResult]:
    keys, rules = server_keys(context.release.name), reading_rules(context.release)
    for key, text in sorted(values.items()):
        problem = value_problem(keys[key], text, rules) if key in keys else None
        if problem is not None:
            entity = f"--entity-name {name}" if name else "--entity-default"
            yield warns(
                "dynamic-setting-refused",
                f"node {context.config.node_id}",
                f"A dynamic setting in the metadata log is refused: {problem.words}. The broker logs an error, starts,"
                " and uses its file's value or the default.",
                next_step=f"kafka-configs.sh --alter --entity-type brokers {entity} --delete-config {key}",
                key=key,
            )
