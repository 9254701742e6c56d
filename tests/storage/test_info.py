"""Output of `info`.

That Kafka's tool prints the same is shown by tests/lab/storage/test_info_differential.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kafkactl.core.file_read import FileRead
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.info import NodeInfo, describe_node, render_info
from kafkactl.storage.model import DirectoryState, ObservedDirectory, ObservedNode

CLUSTER = "XgM8cvG1S-mQ3k4wGhkVpQ"
ID_A, ID_B = "JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A"
OLD, NEW = find_release("3.6.2"), find_release("4.3.1")


@dataclass(frozen=True)
class Config:
    metadata_log_dir: str = "/d1"
    is_zookeeper_mode: bool = False


def kraft(directory_id: str | None = ID_A, *, node_id: str = "1", cluster_id: str = CLUSTER, more: str = "") -> str:
    given = f"directory.id={directory_id}\n" if directory_id else ""
    return f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n{given}{more}"


ZOOKEEPER = f"version=0\nbroker.id=1\ncluster.id={CLUSTER}\n"


def directory(path: str, content: str | DirectoryState | None) -> ObservedDirectory:
    """Return a directory with this meta.properties (None: without one), or in this state."""
    state = content if isinstance(content, DirectoryState) else DirectoryState.DIRECTORY
    file = None
    if isinstance(content, str) and not isinstance(content, DirectoryState):
        file = FileRead(path=f"{path}/meta.properties", content=content.encode())
    return ObservedDirectory(path=path, real_path=path, state=state, meta_properties=file)


def info(*contents: str | DirectoryState | None, release=NEW, config=None) -> NodeInfo:
    seen = tuple(directory(f"/d{number}", content) for number, content in enumerate(contents, start=1))
    return describe_node(config or Config(), ObservedNode(directories=seen), release)


def test_formatted_node_is_shown_as_by_kafka():
    assert render_info(info(kraft(ID_A), kraft(ID_B))) == [
        "Found log directories:",
        "  /d1",
        "  /d2",
        "",
        f"Found metadata: {{cluster.id={CLUSTER}, directory.id={ID_A}, node.id=1, version=1}}",
        "",
    ]


def test_every_problem_is_shown_as_by_kafka():
    found = info(kraft(), None, DirectoryState.MISSING, DirectoryState.NOT_A_DIRECTORY)
    assert render_info(found)[:4] == ["Found log directories:", "  /d1", "  /d2", ""]
    assert render_info(found)[-5:] == [
        "Found problems:",
        "  /d2 is not formatted.",
        "  /d3 does not exist",
        "  /d4 is not a directory",
        "",
    ]


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ([kraft(ID_A), kraft(ID_B, cluster_id="other")], "Mismatched cluster IDs between storage directories."),
        ([kraft(ID_A), kraft(ID_B, node_id="2")], "Mismatched node IDs between storage directories."),
        (
            [kraft(ID_A), kraft(ID_B, node_id="2", cluster_id="x")],
            "Mismatched cluster IDs between storage directories.",
        ),
        (["version=2\n"], "Error loading /d1/meta.properties: Unknown meta.properties version number 2"),
        (["version=1\nnode.id=1\n"], "Error loading /d1/meta.properties: cluster.id was not found."),
        ([f"version=1\ncluster.id={CLUSTER}\n"], "Error loading /d1/meta.properties: Failed to find node.id"),
        ([kraft(node_id="1 ")], "Error loading /d1/meta.properties: Unable to read node.id as a base-10 number."),
        ([kraft("zz")], "Error loading /d1/meta.properties: Unable to read directory.id as a Uuid"),
    ],
)
def test_problems_since_3_7_are_reported(contents, problem):
    found = info(*contents)
    assert len(found.problems) == 1
    assert found.problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("contents", "problems"),
    [
        ([kraft("zz")], ()),
        ([kraft(None, more="zz=1\n")], ()),
        (["version=1\nnode.id=1\n"], ()),
        (["version=2\n"], ("Unsupported version for /d1/meta.properties: 2",)),
        (
            [kraft(ID_A), kraft(ID_B)],
            (
                f"Metadata for /d2/meta.properties was {{cluster.id={CLUSTER}, directory.id={ID_B}, node.id=1,"
                f" version=1}}, but other directories featured {{cluster.id={CLUSTER}, directory.id={ID_A}, node.id=1,"
                " version=1}",
            ),
        ),
    ],
)
def test_problems_up_to_3_6_where_files_are_compared_as_texts(contents, problems):
    assert info(*contents, release=OLD).problems == problems


def test_old_releases_show_the_file_as_it_is_and_new_ones_what_they_understand():
    content = kraft(None, more="zz=1\n")
    assert info(content, release=OLD).metadata == {"cluster.id": CLUSTER, "node.id": "1", "version": "1", "zz": "1"}
    assert info(content, release=NEW).metadata == {"cluster.id": CLUSTER, "node.id": "1", "version": "1"}


def test_files_left_by_a_migration_are_reported_and_are_not_a_problem():
    found = info(ZOOKEEPER)
    assert [problem.rpartition(", ")[2] for problem in found.problems] == [
        "but the directories are formatted for legacy mode."
    ]
    assert [finding.id for finding in found.findings] == ["meta-properties-from-zookeeper"]
    assert (found.cluster_id, found.node_id) == (CLUSTER, 1)


@pytest.mark.parametrize("content", ["", "version=0\n", "version=0\nbroker.id=1\n", f"cluster.id={CLUSTER}\n"])
def test_files_of_version_0_that_no_node_starts_from_are_a_problem(content):
    assert info(content).problems[0].endswith("the directories are formatted for legacy mode.")


def test_zookeeper_broker_is_at_home_with_its_files_and_not_with_krafts():
    zookeeper = Config(is_zookeeper_mode=True)
    assert info(ZOOKEEPER, config=zookeeper, release=OLD).problems == ()
    (problem,) = info(kraft(), config=zookeeper, release=OLD).problems
    assert "appears to be for a legacy cluster" in problem


def test_kafka_sorts_directories_and_drops_trailing_slashes():
    seen = (directory("/b/", kraft(ID_B)), directory("/a", kraft(ID_A)))
    found = describe_node(Config("/b/"), ObservedNode(directories=seen), NEW)
    assert [(directory.path, directory.role) for directory in found.directories] == [("/a", "data"), ("/b", "metadata")]
    assert found.metadata["directory.id"] == ID_A


def test_values_of_a_directory_are_answered():
    (first, second) = info(kraft(), None).directories
    assert first.to_dict() == {
        "path": "/d1",
        "role": "metadata",
        "state": "formatted",
        "version": 1,
        "cluster_id": CLUSTER,
        "node_id": 1,
        "directory_id": ID_A,
        "error": None,
    }
    assert (second.to_dict()["state"], second.to_dict()["directory_id"]) == ("not-formatted", None)


def test_missing_directories_are_shown_as_by_kafka():
    assert render_info(info()) == ["No directories specified."]
