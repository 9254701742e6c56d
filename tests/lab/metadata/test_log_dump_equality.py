"""`log dump` prints every record as Kafka's dump tool does, for logs of clusters that really ran and for any record.

The captures under tests/golden are those of running nodes of several releases. In addition, a log with every record
type at every version that the newest published tool knows, values at random, is written by us and read by both.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message, metadata_record_names
from tests.lab.harness import releases
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.metadata.test_dump_equality import CONTROL_NAMES, shown
from tests.metadata.goldens import GOLDEN
from tests.protocol.random_messages import random_message

CAPTURES = sorted(
    path
    for path in GOLDEN.rglob("*")
    if re.search(r"(\.log|\.checkpoint)(\.bin|\.gz)?$", path.name)
    and path.stat().st_size
    and "__remote_log_metadata" not in str(path)  # a topic of its own: tests/lab/tiered
)
# Record types that the newest published tool does not know, and those that no release since 3.3 reads.
NOT_IN_THE_TOOL = {"UnregisterControllerRecord", "AccessControlRecord"}


def by_kafka(text: str) -> list[tuple[Any, ...]]:
    return [record[1:] for record in shown(text) if record[0] == "record"]


def as_kafka(line: dict[str, Any]) -> tuple[Any, ...]:
    kind = (
        str(CONTROL_NAMES[line["type"]])
        if line["kind"] == "control"
        else f"{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', line['type']).upper()} {line['version']}"
    )
    return line["offset"], line["timestamp_ms"], kind, line["data"]


def compare(kafkactl: Any, storage_tool: StorageToolServer, file: Path) -> int:
    printed = storage_tool.dump(releases.NEWEST_WITH_TOOLS, ["--cluster-metadata-decoder", "--files", file])
    run = kafkactl("log", "dump", file, "--show-secrets")
    assert run.code == 0, run.stderr
    ours = [as_kafka(json.loads(line)) for line in run.stdout.splitlines()]
    assert ours == by_kafka(printed.stdout), printed.stderr
    return len(ours)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_captures(kafkactl, storage_tool: StorageToolServer, tmp_path: Path, path: Path):
    name = path.name.removesuffix(".bin").removesuffix(".gz")
    is_segment = name.endswith(".log")
    known = re.fullmatch(r"\d{20}\.log|\d{20}-\d{10}\.checkpoint", name)
    copy = tmp_path / (
        name if known else "00000000000000000000.log" if is_segment else "00000000000000000025-0000000001.checkpoint"
    )
    data = path.read_bytes()
    copy.write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)
    assert compare(kafkactl, storage_tool, copy) > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_every_record_is_dumped_as_by_kafka_at_every_version(
    kafkactl, storage_tool: StorageToolServer, tmp_path: Path, seed: int
):
    rng = random.Random(seed)
    values = []
    for name in metadata_record_names():
        spec = message(name)
        for version in spec.valid_versions if name not in NOT_IN_THE_TOOL else ():
            for _ in range(12):
                value = random_message(rng, spec, version)
                value.pop("_tags", None)
                values.append(encode_record(spec, version, value))
    rng.shuffle(values)
    file = tmp_path / "00000000000000000000.log"
    at, out = 0, []
    while at < len(values):
        some = values[at : at + rng.randrange(1, 100)]
        out.append(encode_batch([(None, value) for value in some], base_offset=at, timestamp_ms=1_700_000_000_000 + at))
        at += len(some)
    file.write_bytes(b"".join(out))
    assert compare(kafkactl, storage_tool, file) == len(values) > 400
