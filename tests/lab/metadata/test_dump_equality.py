"""Files that Kafka wrote, read by us and by Kafka's own dump tool: the same batches, records, fields.

Every release formats directories in each of its layouts; the checkpoints in them are dumped by the release's tool
(4.4.0 has none published: that of 4.3.1). Segments and snapshots of running nodes are those of `tests/golden/`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.record_batch import BatchHeader, Record, decode_batches
from kafkactl.protocol.schema.definitions import control_record, message
from tests.campaigns.goldens.formats import CLUSTER_ID, FIRST, SCRAM, VOTERS
from tests.lab.harness import config, releases
from tests.lab.harness.node import write_config
from tests.lab.harness.storage_tool import StorageToolServer
from tests.metadata.goldens import BATCH_FILES, GOLDEN

# (who the node is, what else is asked of the tool), by the first release that knows it.
WAYS: list[tuple[tuple[int, ...], bool, tuple[str, ...]]] = [
    ((3, 3), False, ()),
    ((3, 6), False, SCRAM),
    ((3, 9), True, ("--standalone",)),
    ((3, 9), True, ("--no-initial-controllers",)),
    ((3, 9), True, ("--initial-controllers", VOTERS, *SCRAM)),
]
CASES = [
    pytest.param(release, dynamic, arguments, id=f"{release}-{'dynamic' if dynamic else 'static'}-{len(arguments)}")
    for release in releases.VERSIONS
    for since, dynamic, arguments in WAYS
    if releases.release(release).number >= since
]
BATCH_LINE = re.compile(
    r"baseOffset: (?P<base>-?\d+) lastOffset: (?P<last>-?\d+) count: (?P<count>\d+) .*"
    r"partitionLeaderEpoch: (?P<epoch>-?\d+) .*isControl: (?P<control>\w+) .*position: (?P<position>\d+) "
    r"CreateTime: (?P<time>-?\d+) size: (?P<size>\d+) magic: 2 compresscodec: (?:none|NONE) crc: (?P<crc>\d+) "
    r"isvalid: true"
)
RECORD_LINE = re.compile(r"\| offset: (?P<offset>\d+) CreateTime: (?P<time>\d+) .*?headerKeys: \[\] ?(?P<rest>.*)")
# What the tool calls control records. A release that does not know a type prints none of its content.
CONTROL_NAMES = {
    "LeaderChange": 2, "SnapshotHeader": 3, "SnapshotFooter": 4, "KRaftVersion": 5, "KRaftVoters": 6,
}  # fmt: skip


def shown(text: str) -> Iterator[tuple[Any, ...]]:
    """Yield what the tool printed, in the form of `ours`."""
    for line in text.splitlines():
        if found := BATCH_LINE.match(line):
            numbers = {name: int(value) for name, value in found.groupdict().items() if name != "control"}
            yield "batch", numbers, found["control"] == "true"
        elif found := RECORD_LINE.match(line):
            yield "record", int(found["offset"]), int(found["time"]), *_content(found["rest"])


def _content(rest: str) -> tuple[str, Any]:
    if rest.startswith("payload: "):
        payload = json.loads(rest.removeprefix("payload: "))
        return f"{payload['type']} {payload['version']}", payload["data"]
    word, _, value = rest.partition(" ")
    return str(CONTROL_NAMES[word.rstrip(":")]), json.loads(value)


def ours(data: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the same file as we read it."""
    for found in decode_batches(data):
        yield "batch", _numbers(found.header), found.header.is_control
        for record in found.records:
            content = _control(record) if found.header.is_control else _metadata(record)
            yield "record", record.offset, record.timestamp_ms, *content


def _numbers(header: BatchHeader) -> dict[str, int]:
    return {
        "base": header.base_offset, "last": header.last_offset, "count": header.record_count,
        "epoch": header.partition_leader_epoch, "position": header.position, "time": header.max_timestamp_ms,
        "size": header.size_bytes, "crc": header.crc,
    }  # fmt: skip


def _control(record: Record) -> tuple[str, Any]:
    control = decode_control_record(record.key, record.value)
    return str(control.type.value), to_json(control_record(control.type), 0, control.data)


def _metadata(record: Record) -> tuple[str, Any]:
    assert record.value is not None
    decoded = decode_record(record.value)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", decoded.type).upper()
    return f"{name} {decoded.version}", to_json(message(decoded.type), decoded.version, decoded.data)


def check(storage_tool: StorageToolServer, release: str, file: Path, tmp_path: Path, name: str) -> None:
    """Dump a file under the name that the tool requires, and compare."""
    copy = tmp_path / name
    shutil.copyfile(file, copy)
    result = storage_tool.dump(release, ["--cluster-metadata-decoder", "--files", copy])
    assert list(shown(result.stdout)) == list(ours(copy.read_bytes())), result.stdout + result.stderr


@pytest.mark.parametrize(("release", "dynamic", "arguments"), CASES)
def test_dump_of_checkpoints_equals_the_tools_of_every_release(
    storage_tool: StorageToolServer, tmp_path: Path, release: str, dynamic: bool, arguments: tuple[str, ...]
):
    quorum = config.dynamic_quorum([9093]) if dynamic else config.static_quorum({1: 9093})
    disk, file = tmp_path / "disk", tmp_path / "server.properties"
    write_config(
        file, config.combined(node_id=1, log_dirs=[disk], broker_port=9092, controller_port=9093, quorum=quorum)
    )
    formatted = storage_tool.run(release, ["format", "-t", CLUSTER_ID, "-c", file, *arguments])
    assert formatted.exit_code == 0, formatted.stdout + formatted.stderr
    made = [path for path in (disk / "bootstrap.checkpoint", disk / FIRST) if path.exists()]
    assert made
    for path in made:
        check(storage_tool, release, path, tmp_path, Path(FIRST).name)
        assert decode_checkpoint(path.read_bytes(), file=str(path)).problems == ()


@pytest.mark.parametrize("name", [name for name in BATCH_FILES if not name.startswith("bootstrap")])
def test_golden_files_are_dumped_as_by_kafka(storage_tool: StorageToolServer, tmp_path: Path, name: str):
    as_named = (
        "00000000000000000000.log" if name.startswith("segment") else "00000000000000000025-0000000001.checkpoint"
    )
    check(storage_tool, releases.VERSIONS[-1], GOLDEN / name, tmp_path, as_named)
