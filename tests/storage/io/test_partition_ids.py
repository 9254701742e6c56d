"""Topic ids read from the partition folders of log directories."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kafkactl.change.hooks.templates import TEMPLATES
from kafkactl.change.hooks.words import Verb
from kafkactl.migration.io.observe_places import _ids_and_paths
from kafkactl.storage.io.partition_ids import read_partition_ids
from kafkactl.storage.partition_folders import PartitionIds

A, B = "3DQ5fs2iR1mUsgN7o0xA9g", "q8jYpF3nTeKz0g2GQ2hVcw"


def _folder(place: Path, name: str, content: str | None) -> None:
    (place / name).mkdir(parents=True)
    if content is not None:
        (place / name / "partition.metadata").write_text(content)


def _disk(place: Path) -> Path:
    for number in (0, 1, 2):
        _folder(place, f"orders-{number}", f"version: 0\ntopic_id: {B if number == 2 else A}")
    _folder(place, "logs-0", None)
    _folder(place, "logs-1.0123456789abcdef0123456789abcdef-stray", f"version: 0\ntopic_id: {B}")
    _folder(place, "__cluster_metadata-0", None)
    (place / "meta.properties").write_text("version=0\n")
    return place


def _expected(disk: Path) -> PartitionIds:
    return PartitionIds(
        topic_ids={"orders": A},
        without_id=(f"{disk}/logs-0",),
        other_ids={f"{disk}/orders-2": B},
        stray_ids={f"{disk}/logs-1.0123456789abcdef0123456789abcdef-stray": B},
    )


def test_folders_of_this_machine_are_read(tmp_path: Path) -> None:
    disk = _disk(tmp_path / "disk")
    assert read_partition_ids([str(disk), str(tmp_path / "gone")]) == _expected(disk)


def test_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    _folder(tmp_path, "orders-0", None)
    (tmp_path / "elsewhere").write_text(f"topic_id: {A}\n")
    (tmp_path / "orders-0" / "partition.metadata").symlink_to(tmp_path / "elsewhere")
    assert read_partition_ids([str(tmp_path)]) == PartitionIds(is_complete=False)


def test_unread_file_makes_no_folder_one_without_an_id(tmp_path: Path) -> None:
    _folder(tmp_path, "orders-0", f"topic_id: {A}")
    _folder(tmp_path, "logs-0", None)
    (tmp_path / "logs-1" / "partition.metadata").mkdir(parents=True)
    found = read_partition_ids([str(tmp_path)])
    assert (found.topic_ids, found.without_id, found.is_complete) == ({"orders": A}, (), False)


def test_ready_made_probe_prints_what_is_read_on_this_machine(tmp_path: Path) -> None:
    disk = _disk(tmp_path / "disk")
    words = TEMPLATES["docker-compose"][Verb.FS_PROBE]
    script = words[words.index("-c") + 1].replace("{{", "{").replace("}}", "}")
    run = subprocess.run(["sh", "-c", script, "kafkactl", str(disk)], capture_output=True, text=True, check=True)
    found, paths = _ids_and_paths(run.stdout.splitlines())
    assert found == _expected(disk)
    assert f"{disk}/meta.properties" in paths
    assert not any("partition.metadata" in path for path in paths)


def test_probe_that_prints_paths_alone_leaves_the_ids_unknown() -> None:
    assert _ids_and_paths(["/d", "/d/orders-0"])[0] is None


def test_incomplete_probe_names_no_folder_without_an_id() -> None:
    lines = ["/d/orders-0", "/d/logs-0", f"/d/orders-0/partition.metadata:topic_id: {A}", "incomplete"]
    assert _ids_and_paths(lines)[0] == PartitionIds(topic_ids={"orders": A}, is_complete=False)
