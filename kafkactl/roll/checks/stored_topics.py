"""Stored settings of topics that a release does not have: the release starts and ignores them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kafkactl.core.findings import Finding, warning
from kafkactl.core.wording import first_few, plural
from kafkactl.dryrun.controller.topic_settings import topic_rules
from kafkactl.metadata.image.model import TOPIC_CONFIG
from kafkactl.protocol.catalog.releases import Release
from kafkactl.roll.case import RollCase
from kafkactl.roll.checks.row import RollFinding, about
from kafkactl.roll.partitions import SHOWN
from kafkactl.roll.releases import rules_of
from kafkactl.roll.rules.changes import IgnoredSetting, ignored_topic_settings


def ignored_on_topics(case: RollCase, release: Release, brokers: list[int]) -> Iterator[RollFinding]:
    """Yield each key that topics have and that the release ignores, unless the running releases ignore it as well."""
    found: dict[str, list[str]] = defaultdict(list)
    first: dict[str, IgnoredSetting] = {}
    for (kind, name), values in sorted(case.image.configs.items()):
        for ignored in ignored_topic_settings(release, values) if kind == TOPIC_CONFIG else ():
            if not _is_ignored_already(case, ignored, brokers):
                found[ignored.key].append(name)
                first.setdefault(ignored.key, ignored)
    for key, topics in found.items():
        yield about(_ignored(release, first[key], topics), brokers)


def _is_ignored_already(case: RollCase, ignored: IgnoredSetting, brokers: list[int]) -> bool:
    running = [rules_of(case.last.get(id)) for id in brokers]
    return all(old is not None and ignored_topic_settings(old, {ignored.key: ""}) for old in running)


def _ignored(release: Release, ignored: IgnoredSetting, topics: list[str]) -> Finding:
    key, shown = ignored.key, first_few(topics, SHOWN)
    text = f"{plural('topic', len(topics))} {shown}: Kafka {release.version_text} does not have {key}."
    effects = [ignored.effect] if ignored.effect else []
    if topic_rules(release).stored_names_count:
        effects.append(
            f"It refuses every later change of such a topic's configuration: Unknown topic config name: {key}."
        )
    return warning(
        "setting-ignored",
        f"setting {key} of topics",
        " ".join([text, *effects]),
        "Before the roll, with the present binaries: kafka-configs.sh --bootstrap-server HOST:PORT --alter "
        f"--entity-type topics --entity-name {topics[0]} --delete-config {key}",
        key=key,
        value=ignored.value,
        topics=topics[:SHOWN],
        total=len(topics),
        effect=" ".join(effects) or None,
        replaced_by=list(ignored.replaced_by),
    )
