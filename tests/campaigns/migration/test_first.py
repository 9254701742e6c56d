"""The whole way from ordinary files on ZooKeeper to Kafka 4, as docs/first-migration.md and docs/migration.md have it.

Three brokers and three controllers, by each template of hooks. A producer and a member of a group are at work from the
first to the last minute. Whatever `run` stops at is accepted by the name that it prints, and written down.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.protocol.text.properties import parse_properties
from tests.lab.migration.driving.by_hand import operator
from tests.lab.migration.driving.driven import Canary, Reader
from tests.lab.migration.driving.first import CREDENTIALS, FirstCluster
from tests.lab.migration.driving.proof import write_section
from tests.lab.migration.driving.walk import Walk, colleague_takes_over

pytestmark = pytest.mark.timeout(3600)

DATA = (
    "topic:canary:1:3", "topic:orders:6:3", "topic:more:3:2", "config:topic:orders:retention.ms=86400000",
    "scram:alice", "acl:orders:alice", "quota:producer_byte_rate=1000000:user=alice",
)  # fmt: skip


WAYS = (
    ("3.9.2", "local", (("3.9.2", "3.9"), ("4.0.2", "4.0"))),
    ("3.9.2", "command", (("3.9.2", "3.9"), ("4.3.1", "4.3"))),
    ("3.9.2", "manual", (("3.9.2", "3.9"), ("4.3.1", "4.3"))),
    ("3.7.2", "local", (("3.9.2", "3.9"), ("4.0.2", "4.0"))),
    ("3.7.2", "command", (("4.0.2", "4.0"),)),
    ("3.7.2", "manual", (("3.9.2", "3.9"), ("4.3.1", "4.3"))),
)


@pytest.mark.parametrize(("release", "template", "levels"), WAYS, ids=lambda way: way if isinstance(way, str) else "4")
def test_cluster_is_migrated_from_ordinary_files_to_kafka_4(
    release: str, template: str, levels: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    # `levels` are the releases that follow the migration, with the level of metadata.version that each is given.
    with FirstCluster(release, tmp_path) as cluster, operator(template, cluster) as hand:
        walk = Walk(cluster, hand)
        try:
            cluster.reach("M0")
            cluster.chores(*DATA)
            with Reader(cluster, "canary") as reader, Canary(cluster, "canary") as canary:
                _files(walk)
                walk.forward("M3")
                if (release, template) == ("3.9.2", "local"):
                    colleague_takes_over(walk)
                walk.forward("M4L")
                _edit(walk)
                assert hand.kafkactl("compare")["unexplained"] == 0
                walk.forward("M8")
                assert hand.kafkactl("compare")["unexplained"] == 0
                walk.finalize()
                for binaries, level in levels:
                    walk.roll(binaries)
                    walk.raise_levels(level)
                walk.settings_agree()
        finally:
            (tmp_path / "transcript.txt").write_text("\n".join([*hand.lines, *walk.notes]) + "\n")
        assert (canary.result["lost"], canary.result["errors"]) == (0, 0), canary.result
        assert (reader.result["behind"], reader.result["errors"]) == (0, 0), reader.result
        assert reader.result["read"] >= canary.result["acked"] > 100
    walk.says(f"the group read {reader.result['read']}, its longest gap {reader.result['longest_gap_ms']} ms")
    write_section(f"{release}: ordinary files to {levels[-1][0]}, template `{template}`", walk.notes, canary.result)


def _files(walk: Walk) -> None:
    """Check the first observations: ordinary files do not block, and the login that is missing is asked for."""
    checked = walk.check("M0")
    assert checked["counts"]["blocker"] == 0, checked["findings"]
    missing = {finding["subject"] for finding in checked["findings"] if finding["id"] == "listener-credentials-missing"}
    assert missing == {f"broker {id}" for id in walk.cluster.broker_ids}
    walk.cluster.add_credentials()
    checked = walk.check("M0")
    assert "listener-credentials-missing" not in {finding["id"] for finding in checked["findings"]}


def _edit(walk: Walk) -> None:
    """Edit a broker's file by hand at M4L: it is reported, not overwritten without consent, and kept if accepted."""
    cluster, hand = walk.cluster, walk.hand
    before = {id: cluster.config_file(id).read_bytes() for id in cluster.broker_ids}
    with cluster.config_file(2).open("a") as file:
        file.write("num.io.threads=3\n")
    edited = cluster.config_file(2).read_bytes()
    refused = hand.kafkactl("run", "--yes", *walk.accepts, code=3)
    assert {finding["id"] for finding in refused["findings"]} == {"config-edited-by-hand"}
    assert "num.io.threads" in refused["findings"][0]["message"]
    now = {id: cluster.config_file(id).read_bytes() for id in cluster.broker_ids}
    assert now == {**before, 2: edited}
    walk.forward("M6", "--hand-edits", "carry")
    read = {id: parse_properties(cluster.config_file(id).read_bytes()).mapping for id in cluster.broker_ids}
    assert {id: found["num.io.threads"] for id, found in read.items()} == {1: "2", 2: "3", 3: "2"}
    assert all(CREDENTIALS in found for found in read.values())
    walk.says("broker 2's file edited at M4L: the run refused, the file untouched; carried into all later files")
