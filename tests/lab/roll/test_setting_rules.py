"""The rules of releases for a roll, asked of the jars of each release: settings, removed keys, classes, Java."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping

import pytest

from kafkactl.protocol.catalog.releases import find_release
from kafkactl.roll.rules.binaries import java_needed
from kafkactl.roll.rules.changes import ignored_settings
from kafkactl.roll.rules.refusals import refused_settings, refused_topic_settings
from kafkactl.storage.config.plugin_classes import all_classes, releases_with
from scripts.import_java_releases import java_release
from scripts.import_plugin_classes import SOURCE, parsed
from tests.lab.harness import java, maven, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS
from tests.lab.oracles.settings import kafka_says
from tests.roll.rules.refusal_rows import BROKER, COMBINATIONS, FILE_REFUSALS, REMOVED, TOPIC_REFUSALS

TOKEN_KEYS = ("delegation.token.master.key", "delegation.token.secret.key")


def file_with(settings: Mapping[str, str]) -> str:
    """Return the file of a broker with more settings, as a line for the oracle."""
    return "\\n".join(f"{name}={text}" for name, text in {**BROKER, **settings}.items())


FILES = [*(({key: value}, refusing) for key, value, refusing in FILE_REFUSALS), *COMBINATIONS]
_ODD_VALUES = {"inter.broker.protocol.version": "3.3", "log.message.format.version": "3.0"}
REMOVED_VALUES = {
    key: _ODD_VALUES.get(key, "true" if key.endswith(("enable", "reporter", "acl")) else "1") for key in REMOVED
}
QUESTIONS = {
    "files": [f"server\t{file_with(settings)}" for settings, _ in FILES],
    "topics": [f"topic\t{key}={value}" for key, value, _ in TOPIC_REFUSALS],
    "removed keys": [f"server\t{file_with({key: value})}" for key, value in REMOVED_VALUES.items()],
    "tokens": [f"tokens\t{file_with({key: 'secret'})}" for key in TOKEN_KEYS],
}


@functools.cache
def answers_of(release: str) -> Mapping[str, list[str]]:
    """Return the answers of a release to all questions, which one JVM reads."""
    said = iter(kafka_says(release, [line for lines in QUESTIONS.values() for line in lines]))
    return {kind: [next(said) for _ in lines] for kind, lines in QUESTIONS.items()}


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_file_is_refused_by_kafka_and_kafkactl_as_the_rows_say(release: str) -> None:
    row = find_release(release)
    wrong = []
    for (settings, refusing), error in zip(FILES, answers_of(release)["files"], strict=True):
        mine = refused_settings(row, {**BROKER, **settings})
        if not bool(error) == bool(mine) == (row.name in refusing):
            wrong.append(f"{settings}: Kafka says {error!r}, kafkactl {mine}")
    assert wrong == []


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_topic_setting_is_refused_by_kafka_and_kafkactl_as_the_rows_say(release: str) -> None:
    row = find_release(release)
    wrong = []
    for (key, value, refusing), error in zip(TOPIC_REFUSALS, answers_of(release)["topics"], strict=True):
        mine = refused_topic_settings(row, {key: value})
        if not bool(error) == bool(mine) == (row.name in refusing):
            wrong.append(f"{key}={value}: Kafka says {error!r}, kafkactl {mine}")
    assert wrong == []


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_file_with_a_removed_key_is_loaded(release: str) -> None:
    assert [error for error in answers_of(release)["removed keys"] if error] == []
    row = find_release(release)
    ignored = {key for key, value in REMOVED_VALUES.items() if ignored_settings(row, {key: value})}
    assert (ignored == set(REMOVED)) is release.startswith("4.")


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_old_key_of_delegation_tokens_disables_them(release: str) -> None:
    effects = [
        found.effect for found in ignored_settings(find_release(release), {TOKEN_KEYS[0]: "secret"}) if found.effect
    ]
    assert answers_of(release)["tokens"] == [str(not effects).lower(), "true"]


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_needed_java_is_that_of_the_classes(release: str) -> None:
    assert java_release(maven.jars(release)) == java_needed(find_release(release))


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_table_of_classes_is_that_of_the_jars(release: str) -> None:
    path = os.pathsep.join((maven.class_path(release), str(compiled("plugin-classes", [SOURCE]))))
    command = [str(java.java_binary()), *JVM_OPTIONS, "-cp", path, "PluginClasses"]
    run = subprocess.run(
        [*command, str(maven.jars(release))],
        env=java.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    name = find_release(release).name
    assert parsed(run.stdout) == {known for known in all_classes() if name in releases_with(known)}
