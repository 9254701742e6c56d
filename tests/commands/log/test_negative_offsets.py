"""A base offset below 0: no log of Kafka has one, and no command passes over its batch in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.metadata.records import TOPIC, VERSION


@pytest.mark.parametrize("offsets", [(-5,), (0, -5)])
@pytest.mark.parametrize(("words", "code"), [(("log", "image"), 7), (("log", "lint"), 7), (("dryrun", "replay"), 6)])
def test_negative_offset_is_reported(kafkactl, tmp_path: Path, offsets: tuple[int, ...], words, code: int):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    values = [(None, encode_record(message(record.type), record.version, record.data)) for record in (VERSION, TOPIC)]
    made = (encode_batch(values, base_offset=0, timestamp_ms=1) for _ in offsets)
    # The base offset is not under the checksum.
    content = b"".join(
        at.to_bytes(8, "big", signed=True) + offset[8:] for at, offset in zip(offsets, made, strict=True)
    )
    (folder / "00000000000000000000.log").write_bytes(content)
    run = kafkactl(*words, folder, "-o", "json")
    assert run.code == code
    found = [
        finding
        for finding in run.json["findings"]
        if finding["id"] == "offset-gap" and finding["severity"] == "blocker"
    ]
    assert "-5" in found[0]["message"]
