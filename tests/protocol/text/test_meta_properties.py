"""meta.properties: bytes as Kafka writes them, and what Kafka believes and refuses."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import DecodeError
from kafkactl.core.values import Uuid
from kafkactl.protocol.text.meta_properties import parse_meta_properties, render_meta_properties

CLUSTER = "XgM8cvG1S-mQ3k4wGhkVpQ"
DIRECTORY = Uuid.parse("JEXY6aqzQY-32P5TStzaFg")
NOW_MS = 1795170457000


def render(layout: int, cluster_id: str = CLUSTER, directory_id: Uuid | None = DIRECTORY) -> bytes:
    return render_meta_properties(
        layout=layout, cluster_id=cluster_id, node_id=0, directory_id=directory_id, now_ms=NOW_MS
    )


@pytest.mark.parametrize("layout", [2, 3, 4])
def test_bytes_equal_those_of_3_7_and_later(layout: int):
    # Written by Kafka's tool on JDK 17 in UTC (the shared specification, 2.2).
    assert render(layout) == (
        b"#\n#Fri Nov 20 10:27:37 UTC 2026\nnode.id=0\ndirectory.id=JEXY6aqzQY-32P5TStzaFg\nversion=1\n"
        b"cluster.id=XgM8cvG1S-mQ3k4wGhkVpQ\n"
    )


def test_bytes_equal_those_of_3_3_to_3_6():
    lines = render(1, directory_id=None).split(b"\n")
    assert lines[2:] == [b"node.id=0", b"version=1", b"cluster.id=XgM8cvG1S-mQ3k4wGhkVpQ", b""]


def test_strange_cluster_ids_are_escaped():
    assert b"cluster.id=\\ a b\\:\\=\\#\\!\n" in render(3, " a b:=#!")
    assert "cluster.id=é\n".encode() in render(3, "é")
    assert b"cluster.id=\\u00E9\n" in render(1, "é")
    assert render(3, "").endswith(b"cluster.id=\n")


def test_layout_2_needs_a_directory_id():
    with pytest.raises(ValueError, match="directory id"):
        render(2, directory_id=None)


@given(
    st.text(st.characters(codec="ascii"), max_size=20), st.integers(0, 2**31 - 1), st.binary(min_size=16, max_size=16)
)
def test_written_meta_properties_are_read_again(cluster_id: str, node_id: int, raw: bytes):
    data = render_meta_properties(
        layout=3, cluster_id=cluster_id, node_id=node_id, directory_id=Uuid(raw), now_ms=NOW_MS
    )
    read = parse_meta_properties(data)
    assert (read.version, read.cluster_id, read.node_id, read.directory_id) == (1, cluster_id, node_id, Uuid(raw))
    assert read.stored_id == node_id


@pytest.mark.parametrize(
    ("text", "version", "cluster_id", "stored_id"),
    [
        ("", 0, None, None),
        ("version=0\nbroker.id=7\ncluster.id=x\n", 0, "x", 7),
        ("broker.id=7", 0, None, 7),
        ("version=0\nnode.id=1\ncluster.id=x", 0, "x", None),
        ("version= 1 \nnode.id=+3\ncluster.id=", 1, "", 3),
        ("version=1\nnode.id=3\ncluster.id=x \nfuture.key=1", 1, "x ", 3),
        ("version=1\nbroker.id=zz\nnode.id=-3\ncluster.id=x", 1, "x", -3),
    ],
)
def test_meta_properties_are_parsed(text: str, version: int, cluster_id: str | None, stored_id: int | None):
    read = parse_meta_properties(text.encode())
    assert (read.version, read.cluster_id, read.stored_id) == (version, cluster_id, stored_id)


@pytest.mark.parametrize(
    ("text", "id", "path", "words"),
    [
        ("version=2", "unknown-meta-properties-version", "version", "Unknown meta.properties version number 2"),
        ("version=x", "unknown-meta-properties-version", "version", "Invalid meta.properties version string 'x'"),
        ("version=", "unknown-meta-properties-version", "version", "Invalid meta.properties version string ''"),
        ("version=1\ncluster.id=x", "missing-meta-properties-id", "node.id", "Failed to find node.id"),
        ("version=1\nnode.id=1", "missing-meta-properties-id", "cluster.id", "cluster.id was not found."),
        ("version=1\nnode.id=a\ncluster.id=x", "unreadable-meta-properties-id", "node.id", "base-10 number"),
        ("version=1\nnode.id=1 \ncluster.id=x", "unreadable-meta-properties-id", "node.id", "A blank at the end"),
        ("version=0\nbroker.id= ", "unreadable-meta-properties-id", "broker.id", "base-10 number"),
        (
            "directory.id=short",
            "unreadable-meta-properties-id",
            "directory.id",
            "Unable to read directory.id as a Uuid",
        ),
        ("a=\\u12", "malformed-unicode-escape", "", "Malformed \\uxxxx encoding"),
    ],
)
def test_wrong_meta_properties_are_refused(text: str, id: str, path: str, words: str):
    with pytest.raises(DecodeError) as caught:
        parse_meta_properties(b"# made\n" + text.encode(), file="/d/meta.properties")
    error = caught.value
    exit_code = 2 if id == "malformed-unicode-escape" else 1  # one code for every .properties file
    assert (error.id, error.path, error.exit_code, error.file) == (id, path, exit_code, "/d/meta.properties")
    assert words in error.reason
    assert error.advice
    assert error.message.startswith("/d/meta.properties, byte ")


def test_offset_is_that_of_the_line():
    with pytest.raises(DecodeError) as caught:
        parse_meta_properties(b"cluster.id=x\nversion=9\n")
    assert caught.value.offset == 13
    assert "(line 2)" in caught.value.reason


@given(st.binary(max_size=60))
def test_any_bytes_raise_declared_errors_only(data: bytes):
    with contextlib.suppress(DecodeError):
        parse_meta_properties(data)
