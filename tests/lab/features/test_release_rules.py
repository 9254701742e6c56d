"""Rules of the release table, compared with the storage tool of each release.

One question a rule, put so that the two answers a release can give look different.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.protocol.catalog.releases import find_release, kraft_version_for
from tests.lab.harness import releases
from tests.lab.harness.storage_tool import StorageToolServer, ToolResult

pytestmark = pytest.mark.lab

CLUSTER_ID = "XgM8cvG1S-mQ3k4wGhkVpQ"
NOT_CANONICAL = "XgM8cvG1S-mQ3k4wGhkVpR"  # the same 16 bytes: the last character has bits to spare
STATIC = {"controller.quorum.voters": "1@localhost:9093"}
DYNAMIC = {"controller.quorum.bootstrap.servers": "localhost:9093"}
BROKER = {"process.roles": "broker", "node.id": "5", "listeners": "PLAINTEXT://localhost:9092"}
FLAGS = {
    "unspecified": [],
    "standalone": ["--standalone"],
    "initial-controllers": ["--initial-controllers", "1@localhost:9093:JEXY6aqzQY-32P5TStzaFg"],
    "no-initial-controllers": ["--no-initial-controllers"],
}
FIRST_CHECKPOINT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
SCRAM = 'SCRAM-SHA-256=[name=alice,password=secret,salt="N3E="]'


class Formatter:
    """`format` of one release on fresh directories."""

    def __init__(self, tool: StorageToolServer, folder: Path, version: str) -> None:
        self.tool, self.folder, self.version = tool, folder, version
        self.release = find_release(version)

    def directory(self) -> Path:
        """Return a path where nothing is yet."""
        return self.folder / f"d{len(list(self.folder.iterdir()))}"

    def run(
        self, *arguments: str, cluster_id: str = CLUSTER_ID, without: tuple[str, ...] = (), **settings: str
    ) -> ToolResult:
        """Format with these settings, a static controller with a new directory where they do not say otherwise."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        properties = {
            "process.roles": "controller", "node.id": "1", "listeners": "CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER", "log.dirs": str(self.directory()),
        } | (STATIC if DYNAMIC.keys().isdisjoint(named) else {}) | named  # fmt: skip
        config = self.folder / f"{len(list(self.folder.iterdir()))}.properties"
        kept = {name: value for name, value in properties.items() if name not in without}
        config.write_text("".join(f"{name}={value}\n" for name, value in kept.items()))
        self.at = Path(properties["log.dirs"].partition(",")[0])
        return self.tool.run(self.version, ["format", "-t", cluster_id, "-c", config, *arguments])


@pytest.fixture(scope="module")
def tool() -> Iterator[StorageToolServer]:
    with StorageToolServer() as server:
        yield server


@pytest.fixture(params=releases.VERSIONS)
def formatter(tool: StorageToolServer, tmp_path: Path, request: pytest.FixtureRequest) -> Formatter:
    return Formatter(tool, tmp_path, request.param)


def test_layout_is_that_of_the_release(formatter: Formatter) -> None:
    release = formatter.release
    assert formatter.run().exit_code == 0
    meta = (formatter.at / "meta.properties").read_text()
    assert ("directory.id=" in meta) is release.has_directory_ids
    assert (formatter.at / "bootstrap.checkpoint").exists() is release.writes_bootstrap_checkpoint
    assert (formatter.at / FIRST_CHECKPOINT).exists() is (release.layout == 4)
    if release.voter_flags:
        assert formatter.run("--standalone", **DYNAMIC).exit_code == 0
        assert (formatter.at / FIRST_CHECKPOINT).exists() is (release.layout >= 3)


def test_cluster_id_is_stored_as_by_the_release(formatter: Formatter) -> None:
    stored = {"reencoded": CLUSTER_ID, "verbatim": NOT_CANONICAL}[formatter.release.cluster_id_rule]
    assert formatter.run(cluster_id=NOT_CANONICAL).exit_code == 0
    assert f"cluster.id={stored}\n" in (formatter.at / "meta.properties").read_text()
    refused = formatter.run(cluster_id="no-uuid").exit_code == 1
    assert refused is (formatter.release.cluster_id_rule == "reencoded")


def test_ids_on_the_disk_are_compared_by_the_rule_of_the_release(formatter: Formatter) -> None:
    directory = str(formatter.directory())
    assert formatter.run(log_dirs=directory).exit_code == 0
    again = formatter.run("--ignore-formatted", log_dirs=directory, cluster_id="JEXY6aqzQY-32P5TStzaFg")
    assert (again.exit_code == 1) is formatter.release.meta_properties_compared
    assert ("Invalid cluster.id" in again.stderr) is formatter.release.meta_properties_compared


def test_unreadable_directory_is_treated_by_the_rule_of_the_release(formatter: Formatter) -> None:
    broken, good = formatter.directory(), formatter.folder / "good"
    broken.mkdir()
    (broken / "meta.properties").write_text("version=77\n")
    answer = formatter.run("--ignore-formatted", log_dirs=f"{good},{broken}")
    expected = {"not-noticed": (0, False), "fails": (1, True), "ignored": (0, True)}[
        formatter.release.error_directory_rule
    ]
    assert (answer.exit_code, "I/O error trying to read log directory" in answer.stdout + answer.stderr) == expected


def test_several_log_directories_are_formatted_from_a_level_on(formatter: Formatter) -> None:
    level = formatter.release.jbod_format_level
    both = f"{formatter.directory()},{formatter.folder / 'other'}"
    broker = BROKER | {"log.dirs": both}
    answer = formatter.run("--release-version", "3.3", **broker)
    assert (answer.exit_code == 1) is (level > 0), answer
    assert ("Multiple log directories (aka JBOD) are not supported" in answer.stderr) is (level > 0)
    if level:
        assert formatter.run("--release-version", "3.7-IV1", **broker).exit_code == 1
        assert formatter.run("--release-version", "3.7-IV2", **broker).exit_code == 0
        assert level == 17


def test_empty_item_in_log_dirs_is_refused_by_some_releases(formatter: Formatter) -> None:
    answer = formatter.run(log_dirs=f"{formatter.directory()},,{formatter.folder / 'other'}")
    assert (answer.exit_code == 1) is formatter.release.empty_log_dir_refused, answer
    assert ("'log.dirs' values must not be empty" in answer.stderr) is formatter.release.empty_log_dir_refused


def test_inter_broker_protocol_version_is_used_by_some_releases(formatter: Formatter) -> None:
    answer = formatter.run(inter_broker_protocol_version="3.3-IV3")
    named = answer.stdout.strip().endswith("metadata.version 3.3-IV3.")
    newest = formatter.release.name == "3.3"
    assert named is (formatter.release.uses_inter_broker_protocol or newest), answer


def test_node_without_process_roles_is_formatted_by_some_releases(formatter: Formatter) -> None:
    old = {"zookeeper.connect": "localhost:2181", "broker.id": "1", "listeners": "PLAINTEXT://localhost:9092"}
    answer = formatter.run(without=("process.roles", "node.id", "controller.listener.names"), **old)
    legacy = "legacy cluster. Formatting is only supported for clusters in KRaft mode" in answer.stderr
    missing = 'Missing required configuration "process.roles"' in answer.stderr
    assert answer.exit_code == 1
    assert (legacy, missing) == (formatter.release.zookeeper_mode, not formatter.release.zookeeper_mode), answer


def test_scram_rule_is_that_of_the_release(formatter: Formatter) -> None:
    rule = formatter.release.scram_rule
    answer = formatter.run("--add-scram", SCRAM)
    plain = formatter.run("--add-scram", SCRAM.replace(',salt="N3E="', ""))
    if rule == "none":
        assert "unrecognized arguments" in " ".join(answer.stderr.split())
    else:
        assert plain.exit_code == 0, plain
        assert (answer.exit_code == 0) is (rule == "any"), answer
        assert ("key not found: iterations" in answer.stderr) is (rule == "salt-needs-iterations")


def test_feature_flag_is_that_of_the_release(formatter: Formatter) -> None:
    rule = formatter.release.feature_flag
    answer = formatter.run("--feature", "metadata.version=20")
    if rule == "none":
        assert "unrecognized arguments" in " ".join(answer.stderr.split())
        return
    assert answer.stdout.strip().endswith("metadata.version 3.8-IV0."), answer
    unknown = formatter.run("--feature", "nothing.version=1")
    assert (unknown.exit_code == 0) is (rule == "metadata-version-only"), unknown
    both = formatter.run("--feature", "kraft.version=0", "--release-version", "3.8")
    assert (both.exit_code == 0) is (rule == "all"), both


@pytest.mark.parametrize("mode", FLAGS)
@pytest.mark.parametrize("place", ["static", "dynamic", "static broker", "dynamic broker"])
def test_kraft_version_with_voter_flags_is_that_of_the_release(formatter: Formatter, mode: str, place: str) -> None:
    release = formatter.release
    settings = (STATIC if "static" in place else DYNAMIC) | (BROKER if "broker" in place else {})
    static = "static" in place
    if not release.voter_flags:
        if mode != "unspecified" and place == "static":
            assert "unrecognized arguments" in " ".join(formatter.run(*FLAGS[mode], **settings).stderr.split())
        assert kraft_version_for(release, voter_mode=mode, static_voters=static) == 0
        return
    answers = [formatter.run(*FLAGS[mode], "--feature", f"kraft.version={level}", **settings) for level in (0, 1)]
    texts = [" ".join(answer.stderr.split()) for answer in answers]
    if release.static_voters_exclude_voter_flags and static and mode in {"standalone", "initial-controllers"}:
        assert all("You cannot specify controller.quorum.voters and format the node with" in text for text in texts)
    elif mode == "standalone" and "broker" in place:
        assert all("You can only use --standalone on a controller" in text for text in texts)
    elif mode == "unspecified" and place == "dynamic":
        assert all("you must specify one of the following" in text for text in texts)
    else:
        level = kraft_version_for(release, voter_mode=mode, static_voters=static)
        assert answers[level].exit_code == 0, texts
        assert answers[1 - level].exit_code == 1
        assert f"Cannot set kraft.version to {1 - level}" in texts[1 - level]
