"""A base offset below 0: no log of Kafka has one, and no command passes over its batch in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.metadata.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.schema.definitions import message
from tests.metadata.records import TOPIC, VERSION


@pytest.mark.parametrize("offsets", [(-5,), (0, -5)])
@pytest.mark.parametrize(("words", "code"), [(("log", "image"), 7), (("log", "lint"), 7), (("dryrun", "replay"), 6)])
def test_a_negative_offset_is_reported(kafkactl, tmp_path: Path, offsets: tuple[int, ...], words, code: int):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    values = [(None, encode_record(message(one.type), one.version, one.data)) for one in (VERSION, TOPIC)]
    made = (encode_batch(values, base_offset=0, timestamp_ms=1) for _ in offsets)
    # The base offset is not under the checksum.
    content = b"".join(at.to_bytes(8, "big", signed=True) + one[8:] for at, one in zip(offsets, made, strict=True))
    (folder / "00000000000000000000.log").write_bytes(content)
    run = kafkactl(*words, folder, "-o", "json")
    assert run.code == code
    found = [one for one in run.json["findings"] if one["id"] == "offset-gap" and one["severity"] == "blocker"]
    assert "-5" in found[0]["message"]
