"""Configurations of nodes: what Kafka's storage tool loads, kafkactl loads; the rest it refuses for the same reason.

The oracle is `StorageTool info`, which reads the whole configuration as `format` does and then only looks at
directories: either it lists them, or it fails because of the configuration.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from kafkactl.files.config_providers import resolve
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.dynamic_keys import dynamic_keys
from kafkactl.storage.config.keys import ServerKey, server_keys
from kafkactl.storage.config.node_config import ConfigError, NodeConfig, read_node_config
from scripts import import_dynamic_configs
from scripts.import_server_config import SOURCE, parsed
from tests.lab.harness import java, maven, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS, StorageToolServer
from tests.lab.storage import config_variants
from tests.lab.storage.config_variants import Variant

ALWAYS = {releases.VERSIONS[0], "3.9.2", releases.NEWEST}
RELEASES = [
    pytest.param(version, marks=() if version in ALWAYS else pytest.mark.campaign) for version in releases.VERSIONS
]
# Kafka takes the directory it is started in; kafkactl says no (docs/decisions).
REFUSED_ON_PURPOSE = Variant("combined", {"metadata.log.dir": ""})
# Where Kafka's words say less than ours, or come from deep inside Java.
OTHER_WORDS = {
    "four hexadecimal digits must follow": "Malformed \\uxxxx encoding",
    "port out of range": "port out of range:70000",
    "1@localhost:99999999999": 'For input string: "99999999999"',
    "no colon in": "begin 0, end -1",
    "control.plane.listener.name is not supported": "listener name|Listener with ",
    "to a broker endpoint": "Unable to parse a listener name from",
    "provided listener name is null or empty": "No security protocol defined for listener|Listener with name ",
    "Duplicate key": "Duplicate key ListenerName(CONTROLLER)",
    "must contain exactly one assignor": "Class a cannot be found|Class cannot be found",
    "Class a cannot be found": "Class a cannot be found|Class cannot be found",
    "Duplicate role names": "Duplicate role names",
    "Unknown compression type id": "is an unknown compression codec",  # 3.3
    "(Kafka fails with: / by zero)": "/ by zero",
    "to the same value as `broker.id`": "must be set to the same value",
}


def ours(text: str, release: str) -> NodeConfig | ConfigError:
    try:
        return read_node_config(
            text.encode("latin-1"), file="server.properties", release=find_release(release), resolve=resolve
        )
    except ConfigError as error:
        return error


def theirs(tool: StorageToolServer, release: str, file: Path) -> tuple[set[str] | None, str]:
    """Return the directories that the tool looks at (None: it does not load the file), and what it said."""
    result = tool.run(release, ["info", "-c", file])
    if "Exception" in result.stderr:
        return None, result.stderr
    lines = result.stdout.splitlines()
    return {line.strip().removesuffix(" does not exist") for line in lines if line.endswith(" does not exist")}, ""


def letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


def same_words(message: str, said: str) -> bool:
    """Return True if Kafka's error has the words that ours begins with, or those it is known to have instead."""
    for mine, alternatives in OTHER_WORDS.items():
        if mine in message and any(words in said for words in alternatives.split("|")):
            return True
    phrase = re.split("[(`{$]", re.sub("^Invalid value .*? for configuration [^ ]+: |^[a-z.]+: ", "", message))[0]
    return letters(phrase)[:25] in letters(said)


@pytest.mark.parametrize("release", RELEASES)
def test_same_files_are_loaded(storage_tool: StorageToolServer, tmp_path: Path, release: str):
    nowhere = tmp_path / "nowhere"
    wrong = []
    for variant in config_variants.ALL:
        if variant == REFUSED_ON_PURPOSE:
            continue
        text = variant.render(release, f"{nowhere}/x").replace("/tmp/kafkactl-none", str(nowhere))
        file = tmp_path / "server.properties"
        file.write_text(text, encoding="latin-1")
        directories, said = theirs(storage_tool, release, file)
        mine = ours(text, release)
        if isinstance(mine, ConfigError):
            if directories is not None:
                wrong.append(f"{variant.name}: Kafka loads it, we say {[finding.message for finding in mine.findings]}")
            elif not any(same_words(finding.message, said) for finding in mine.findings[:1]):
                wrong.append(f"{variant.name}: Kafka says {said.splitlines()[0]}, we say {mine.findings[0].message}")
        elif directories is None:
            wrong.append(f"{variant.name}: Kafka says {said.splitlines()[0]}, we load it")
        elif directories - {"/tmp/kafka-logs"} != {
            path.rstrip("/") for path in mine.all_directories if path != "/tmp/kafka-logs"
        }:
            wrong.append(f"{variant.name}: Kafka looks at {directories}, we at {mine.all_directories}")
    assert wrong == []


MIXTURES = 40 if os.environ.get("KAFKACTL_HYPOTHESIS") != "campaign" else 1500


@pytest.mark.parametrize("release", RELEASES)
def test_mixtures_of_changes_are_judged_as_by_kafka(storage_tool: StorageToolServer, tmp_path: Path, release: str):
    # Two to four changes at once: which of several problems Kafka meets first, and whether it is among ours.
    rng = random.Random(release)
    changes = [change for change in config_variants.ALL if change.base == "combined" and change != REFUSED_ON_PURPOSE]
    file = tmp_path / "server.properties"
    for _ in range(MIXTURES):
        base = rng.choice(["controller", "broker", "combined", "controller-static", "broker-static", "combined-static"])
        picked = rng.sample(changes, rng.randint(2, 4))
        mixture = Variant(base, {key: value for change in picked for key, value in change.changes.items()})
        text = mixture.render(release, f"{tmp_path}/x").replace("/tmp/kafkactl-none", f"{tmp_path}/nowhere")
        file.write_text(text, encoding="latin-1")
        directories, said = theirs(storage_tool, release, file)
        mine = ours(text, release)
        if isinstance(mine, NodeConfig) and mine.is_zookeeper_mode:
            continue  # not formatted by either; some such files Kafka does not load, for reasons of ZooKeeper mode
        assert isinstance(mine, ConfigError) == (directories is None), (mixture.name, said[:300], mine)
        if isinstance(mine, ConfigError) and "process.roles=" in text:
            messages = [finding.message for finding in mine.findings]
            assert any(same_words(message, said) for message in messages), (mixture.name, said[:300], messages)


def test_there_is_much_to_compare():
    assert len(config_variants.ALL) > 280
    assert len({variant.name for variant in config_variants.ALL}) == len(config_variants.ALL)


@pytest.mark.parametrize("release", [releases.VERSIONS[0], releases.NEWEST])
def test_file_with_an_empty_metadata_log_dir_is_refused(storage_tool: StorageToolServer, tmp_path: Path, release: str):
    text = REFUSED_ON_PURPOSE.render(release, f"{tmp_path}/x")
    file = tmp_path / "server.properties"
    file.write_text(text)
    assert theirs(storage_tool, release, file)[0] is not None
    error = ours(text, release)
    assert isinstance(error, ConfigError)
    assert error.id == "empty-metadata-log-dir"


CLASS = "org.apache.kafka.common.config.provider."
FILE = {"config.providers": "file", "config.providers.file.class": f"{CLASS}FileConfigProvider"}
DIRECTORY = {"config.providers": "dir", "config.providers.dir.class": f"{CLASS}DirectoryConfigProvider"}
ENVIRONMENT = {"config.providers": "env", "config.providers.env.class": f"{CLASS}EnvVarConfigProvider"}
ANSWERED = [
    (FILE | {"node.id": "${file:{tmp}/f:id}", "log.dirs": "${file:{tmp}/f:dir}"}, "{tmp}/nowhere/q"),
    (DIRECTORY | {"log.dirs": "${dir:{tmp}:name}/x"}, "{tmp}/nowhere/v/x"),
    (ENVIRONMENT | {"log.dirs": "{tmp}/nowhere/${env:USER_OF_TEST}"}, "{tmp}/nowhere/${env:USER_OF_TEST}"),
    (FILE | {"log.dirs": "{tmp}/nowhere/${env:HOME}"}, "{tmp}/nowhere/${env:HOME}"),
    ({"config.providers": "file", "log.dirs": "{tmp}/nowhere/${file:{tmp}/f:id}"}, "{tmp}/nowhere/${file:{tmp}/f:id}"),
]


@pytest.mark.parametrize("release", RELEASES)
def test_config_providers_are_resolved_as_by_kafka(storage_tool: StorageToolServer, tmp_path: Path, release: str):
    (tmp_path / "f").write_text(f"id=1\ndir={tmp_path}/nowhere/q\n")
    (tmp_path / "name").write_text(f"{tmp_path}/nowhere/v")
    for changes, expected in ANSWERED:
        if changes.get("config.providers") == "env" and find_release(release).version < find_release("3.5").version:
            continue  # Kafka has no such class there, and exits because of it
        here = {key: value.replace("{tmp}", str(tmp_path)) for key, value in changes.items()}
        text = Variant("combined", here).render(release, f"{tmp_path}/nowhere/x")
        file = tmp_path / "server.properties"
        file.write_text(text)
        directories, said = theirs(storage_tool, release, file)
        assert directories == {expected.replace("{tmp}", str(tmp_path))}, said
        mine = ours(text, release)
        if "USER_OF_TEST" in expected:  # Kafka would make a directory of that name; we say that the variable is unset
            assert isinstance(mine, ConfigError)
            assert mine.id == "unresolved-config-provider"
        else:
            assert isinstance(mine, NodeConfig)
            assert set(mine.all_directories) == directories


@pytest.mark.parametrize("release", releases.VERSIONS)
def test_table_of_keys_is_that_of_the_jars(release: str):
    found = parsed(printed(release, "ServerConfig", SOURCE))
    assert {name: ServerKey(name=name, **row) for name, row in found.items()} == dict(
        server_keys(find_release(release).name)
    )
    if release == releases.NEWEST:
        assert list(found) == list(server_keys(find_release(release).name))


@pytest.mark.parametrize("release", RELEASES)
def test_table_of_dynamic_keys_is_that_of_the_jars(release: str):
    in_files = server_keys(find_release(release).name)
    rows = import_dynamic_configs.parsed(
        printed(release, "DynamicConfigs", import_dynamic_configs.SOURCE), set(in_files)
    )
    found = dynamic_keys(find_release(release).name)
    assert {name: row["scope"] for name, row in rows.items()} == {name: key.scope for name, key in found.items()}
    outside = {name: (row["type"], row["check"]) for name, row in rows.items() if "type" in row}
    defined = {name: (found[name].definition.type, found[name].definition.check) for name in outside}
    assert (defined, len(outside)) == (outside, 3)


def printed(release: str, name: str, source: Path) -> str:
    """Return what a program of `scripts/` prints with the jars of a release."""
    path = os.pathsep.join((maven.class_path(release), str(compiled(name.lower(), [source]))))
    command = [str(java.java_binary()), *JVM_OPTIONS, "-cp", path, name]
    run = subprocess.run(
        command,
        env=java.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return run.stdout
