"""Logs of `bench.log_generator` are logs to Kafka: its own dump tool reads every record of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from tests.lab.harness.storage_tool import StorageToolServer


@pytest.mark.parametrize("elr", [True, False], ids=["elr", "no-elr"])
def test_kafka_reads_every_record(storage_tool: StorageToolServer, tmp_path: Path, elr: bool) -> None:
    expected = write_log(tmp_path / "log", Shape(records=3_000, partitions=300, brokers=5, elr=elr, seed=7))
    segment = tmp_path / "log" / "__cluster_metadata-0" / "00000000000000000000.log"
    dumped = storage_tool.dump("4.3.1", ["--cluster-metadata-decoder", "--files", segment])
    assert dumped.exit_code == 0, dumped.stderr
    assert "isvalid: false" not in dumped.stdout
    assert "Error at" not in dumped.stdout
    assert dumped.stdout.count("isvalid: true") == expected.batches
    found = Counter(re.findall(r'"type":"([A-Z_]+)"', dumped.stdout))
    said = {_constant(name): count for name, count in expected.by_type.items() if name != "LeaderChange"}
    assert found == said


def _constant(name: str) -> str:
    """Return `PartitionChangeRecord` as the tool names it: PARTITION_CHANGE_RECORD."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
