"""Release versions, version-mapping and feature-dependencies: our answer and that of the real tool of each release.

For every level that there is, by name and by release, and for words that mean nothing: same acceptance, same lines,
same words of refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.index import (
    default_metadata_version,
    feature_dependencies,
    metadata_versions,
    parse_feature_level,
    parse_release_version,
    render_dependencies,
    version_mapping,
)
from kafkactl.protocol.catalog.levels import _FEATURES, names_before_levels
from kafkactl.protocol.catalog.releases import Release, find_release
from tests.lab.harness import releases
from tests.lab.harness.storage_tool import StorageToolServer, ToolResult

pytestmark = pytest.mark.lab

WITH_COMMANDS = [version for version in releases.VERSIONS if find_release(version).mapping_commands]
NOISE = (
    "",
    ".",
    "x",
    "3",
    "3.9.",
    "3.9..",
    ".3.9",
    "3.9.1",
    "3.9-IV0.x",
    "3.9-IV9",
    "4.1-iv0",
    " 4.0",
    "4.0 ",
    "latest",
    "99.9",
    "%s {x}",
)
BY_NAME = tuple(mv.name for mv in metadata_versions())
BY_RELEASE = tuple(dict.fromkeys(mv.release for mv in metadata_versions()))
TEXTS = (
    *BY_NAME,
    *BY_RELEASE,
    *(f"{release}.1" for release in BY_RELEASE),
    *names_before_levels(),
    "2.8",
    "0.10.2",
    *NOISE,
)
LEVELS = ("0", "1", "2", "3", "-1", "+1", "01", "32767", "32768", "1.0", " 1", "x", "")
FEATURES = (*_FEATURES, "test.feature.version", "unit.test.feature.version.7", "nothing.version")
ARGUMENTS = (
    *(f"{name}={level}" for name in FEATURES for level in LEVELS),
    *(f"metadata.version={level}" for level in range(-1, 40)),
    "x", "=", "=1", "x=1=2", "metadata.version", "metadata.version=4.0-IV0", "group.version=1=", "group.version==1",
    "==", "group.version===", " group.version = 1 ", "group.version=1=2", "", "metadata.version= 22",
)  # fmt: skip


@pytest.fixture(scope="module")
def tool() -> Iterator[StorageToolServer]:
    with StorageToolServer() as server:
        yield server


def words_of(result: ToolResult) -> str:
    """Return what the tool says is wrong: its message, or that of the exception that ends it."""
    lines = [line for line in result.stderr.splitlines() if line and not line.startswith("\tat ")]
    return "\n".join(lines)


def disagreement(answer: ToolResult, ours: Callable[[], list[str]]) -> str | None:
    """Return how the tool's answer differs from our lines, or from the message of our refusal; None if it does not."""
    try:
        lines = ours()
    except InputError as error:
        refused = answer.exit_code == 1 and error.message in words_of(answer)
        return None if refused else f"we: {error.message!r}, Kafka: {answer}"
    same = (answer.exit_code, answer.stdout.splitlines()) == (0, lines)
    return None if same else f"we: {lines}, Kafka: {answer}"


@pytest.mark.parametrize("version", WITH_COMMANDS)
def test_version_mapping_equals_that_of_kafka(tool: StorageToolServer, version: str) -> None:
    release = find_release(version)
    answer = tool.run(version, ["version-mapping"])
    assert answer.stdout.splitlines() == [str(level) for level in version_mapping(release)]
    wrong = {}
    for text in TEXTS:
        answer = tool.run(version, ["version-mapping", f"--release-version={text}"])
        wrong[text] = disagreement(answer, lambda text=text: [str(level) for level in version_mapping(release, text)])
    assert {text: how for text, how in wrong.items() if how} == {}


def our_dependencies(release: Release, argument: str) -> list[str]:
    name, level = parse_feature_level(release, argument)
    return render_dependencies(name, level, feature_dependencies(release, name, level))


@pytest.mark.parametrize("version", WITH_COMMANDS)
def test_feature_dependencies_equal_those_of_kafka(tool: StorageToolServer, version: str) -> None:
    release = find_release(version)
    wrong = {}
    for argument in ARGUMENTS:
        answer = tool.run(version, ["feature-dependencies", f"--feature={argument}"])
        wrong[argument] = disagreement(answer, lambda argument=argument: our_dependencies(release, argument))
        if "scala.MatchError" in words_of(answer):  # 4.0 and 4.1 where there are not two parts
            wrong[argument] = None if "Invalid feature format" in str(wrong[argument]) else "we accept it"
    assert {argument: how for argument, how in wrong.items() if how} == {}


@pytest.mark.parametrize("version", WITH_COMMANDS)
def test_several_features_are_answered_in_turn(tool: StorageToolServer, version: str) -> None:
    asked = ["eligible.leader.replicas.version=1", "kraft.version=1", "metadata.version=23"]
    answer = tool.run(version, ["feature-dependencies", *(word for feature in asked for word in ("-f", feature))])
    assert answer.stdout.splitlines() == [
        line for feature in asked for line in our_dependencies(find_release(version), feature)
    ]


@pytest.mark.parametrize("version", [version for version in releases.VERSIONS if version not in WITH_COMMANDS])
@pytest.mark.parametrize("command", [["version-mapping"], ["feature-dependencies", "-f", "x=1"]])
def test_older_releases_have_no_such_commands(tool: StorageToolServer, version: str, command: list[str]) -> None:
    answer = tool.run(version, command)
    assert answer.exit_code == 1
    assert f"invalid choice: '{command[0]}'" in " ".join(answer.stderr.split())


@pytest.mark.parametrize("switched", [False, True])
@pytest.mark.parametrize("version", releases.VERSIONS)
def test_release_version_of_format_is_that_of_the_tool(
    tool: StorageToolServer, tmp_path: Path, version: str, switched: bool
) -> None:
    release = find_release(version)
    if switched and not release.unstable_switch:
        assert release.testing_level == release.production_level
        return
    plain = formatted(format_with(tool, tmp_path, release, None, switched))
    assert plain.stdout == default_metadata_version(release, unstable=switched).name
    wrong = {}
    for text in TEXTS:
        answer = formatted(format_with(tool, tmp_path, release, text, switched))
        wrong[text] = disagreement(
            answer, lambda text=text: [parse_release_version(release, text, unstable=switched).name]
        )
    assert {text: how for text, how in wrong.items() if how} == {}


def format_with(
    tool: StorageToolServer, folder: Path, release: Release, text: str | None, switched: bool
) -> ToolResult:
    """Format a static controller on a new directory."""
    number = len(list(folder.iterdir()))
    config = folder / f"{number}.properties"
    switch = f"{release.unstable_switch}=true\n" if switched else ""
    config.write_text(
        "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://localhost:9093\n"
        "controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@localhost:9093\n"
        f"log.dirs={folder / str(number)}.d\n{switch}"
    )
    asked = [] if text is None else [f"--release-version={text}"]
    return tool.run(release.version_text, ["format", "-t", "XgM8cvG1S-mQ3k4wGhkVpQ", "-c", config, *asked])


def formatted(answer: ToolResult) -> ToolResult:
    """Return an answer of `format` with nothing in stdout but the level of `Formatting … with metadata.version
    LEVEL.`"""
    level = answer.stdout.strip().rpartition("metadata.version ")[2].removesuffix(".")
    return replace(answer, stdout=level)
